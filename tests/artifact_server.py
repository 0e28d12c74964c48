"""A web server on loopback that serves a folder of artifacts, properly or not."""

import hashlib
import threading
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self


class Trouble(StrEnum):
    """How it misbehaves; the manifest is served all the same unless the name says otherwise."""

    NONE = "none"
    DROP = "drop"
    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    OTHER_CONTENT = "other content"
    STATUS_404 = "404"
    STATUS_503 = "503"
    MANIFEST_404 = "manifest 404"
    MANIFEST_503 = "manifest 503"
    MANIFEST_HTML = "manifest html"
    MANIFEST_HUGE = "manifest huge"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server: ArtifactServer = self.server.owner  # type: ignore[attr-defined]
        server.asked.append(self.path)
        if self.path in server.redirects:
            self._send(302, b"", {"Location": server.redirects[self.path]})
            return
        name = self.path.partition("?")[0].rsplit("/", 1)[-1]
        if name == "current.manifest.json":
            self._manifest(server)
        else:
            self._artifact(server, server.folder / name)

    def _manifest(self, server: "ArtifactServer") -> None:
        content = server.manifest.read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        status, body = {
            Trouble.MANIFEST_404: (404, b"nothing here"),
            Trouble.MANIFEST_503: (503, b"later"),
            Trouble.MANIFEST_HTML: (200, b"<html>Please log in</html>"),
            Trouble.MANIFEST_HUGE: (200, b" " * 1_000_001),
        }.get(server.trouble, (200, content))
        if status == 200 and self.headers.get("If-None-Match") == etag:
            server.unchanged += 1
            self._send(304, b"", {"ETag": etag})
            return
        self._send(status, body, {"ETag": etag})

    def _artifact(self, server: "ArtifactServer", path: Path) -> None:
        if server.trouble in {Trouble.STATUS_404, Trouble.STATUS_503} or not path.exists():
            self._send(503 if server.trouble is Trouble.STATUS_503 else 404, b"sorry", {})
            return
        content = path.read_bytes()
        if server.trouble is Trouble.OTHER_CONTENT:
            content = content[:-1] + bytes([content[-1] ^ 1])
        length = len(content) + {Trouble.TOO_SHORT: -4096, Trouble.TOO_LONG: 4096}.get(server.trouble, 0)
        if server.trouble is Trouble.DROP:
            content = content[: len(content) // 2]
        self._send(200, content, {}, length=length)

    def _send(self, status: int, body: bytes, headers: dict[str, str], *, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body) if length is None else length)}.items():
            self.send_header(name, value)
        self.end_headers()
        # Whatever was announced, nothing follows.
        self.close_connection = True
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output quiet."""


class ArtifactServer:
    """Serves one folder; `manifest` says which artifact is the current one. A context manager.

    Attributes:
        folder: What it serves.
        manifest: The file that it gives as `current.manifest.json`.
        trouble: How it misbehaves now.
        redirects: Where paths lead instead.
        asked: The paths so far, oldest first.
        unchanged: How often it said that nothing changed.
    """

    def __init__(self, folder: Path, manifest: Path) -> None:
        self.folder = folder
        self.manifest = manifest
        self.trouble = Trouble.NONE
        self.redirects: dict[str, str] = {}
        self.asked: list[str] = []
        self.unchanged = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The manifest's URL."""
        return f"{self.base}/archive/current.manifest.json"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
