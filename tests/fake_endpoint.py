"""A stand-in for an embedding service: a handler for `httpx.MockTransport` and a real server on loopback.

Both speak Ollama's `/api/embed` and the OpenAI-compatible `/v1/embeddings`, and both can misbehave on demand:

    with FakeEndpoint() as endpoint:
        endpoint.fault = Fault.STATUS_503
        EmbedderFactory(endpoint.ollama_url, "nomic-embed-text")

Vectors are bags of hashed words: texts that share words are near, the same text always has the same vector.
"""

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import httpx

# Prefixes are part of what a real model reads, but toy vectors should tell texts apart, not prefixes.
_PREFIX = re.compile(r"^(search_query|search_document|query|passage): ")


class Fault(StrEnum):
    """How the service misbehaves; `NONE` answers properly."""

    NONE = "none"
    HANG = "hang"
    TRICKLE_HEADERS = "trickle-headers"
    TRICKLE_BODY = "trickle-body"
    STATUS_503 = "503"
    STATUS_404 = "404"
    REDIRECT = "redirect"
    HTML = "html"
    NOT_JSON = "not-json"
    MISSING_KEYS = "missing-keys"
    NOT_NUMBERS = "not-numbers"
    ONE_TOO_FEW = "one-too-few"
    ONE_TOO_MANY = "one-too-many"
    NAN = "nan"
    INFINITY = "infinity"
    ZEROS = "zeros"
    ZEROS_AT_THE_START = "zeros-at-the-start"
    REVERSED = "reversed"
    REPEATED_INDEX = "repeated-index"
    OTHER_MODEL = "other-model"


STATUS_FAULTS = {Fault.STATUS_503: 503, Fault.STATUS_404: 404, Fault.REDIRECT: 307}


@dataclass(frozen=True)
class EmbedCall:
    """One request as it arrived."""

    path: str
    model: str
    texts: tuple[str, ...]
    headers: dict[str, str]
    keys: tuple[str, ...]


def toy_vector(text: str, dimensions: int, *, salt: str = "") -> list[float]:
    """Return `dimensions` numbers: a bag of hashed words, each word spread over the whole length."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", _PREFIX.sub("", text).lower()) or [text]:
        digest = hashlib.sha256(f"{salt}{word}".encode()).digest()
        for place in range(0, 32, 2):
            at = int.from_bytes(digest[place : place + 2], "big") % dimensions
            vector[at] += 1.0 if digest[place] % 2 else -1.0
    # Never all zeros, also not in the first part.
    vector[0] += 0.01
    return vector


@dataclass
class FakeService:
    """The service's behaviour, without a network.

    Attributes:
        dimensions: Length of its vectors.
        fault: How it misbehaves now.
        calls: The requests so far, oldest first.
    """

    dimensions: int = 768
    fault: Fault = Fault.NONE
    calls: list[EmbedCall] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """Every text that arrived, oldest first."""
        return [text for call in self.calls for text in call.texts]

    def answer(self, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for one request, and record it."""
        body = json.loads(content)
        texts = body["input"]
        self.calls.append(EmbedCall(path, body["model"], tuple(texts), headers, tuple(body)))
        if self.fault in STATUS_FAULTS:
            return STATUS_FAULTS[self.fault], {"Location": "/elsewhere"}, b"sorry"
        if self.fault is Fault.HTML:
            return 200, {"Content-Type": "text/html"}, b"<html><body>Please log in</body></html>"
        if self.fault is Fault.NOT_JSON:
            return 200, {}, b'{"embeddings": [[0.1, 0.2'
        if self.fault is Fault.MISSING_KEYS:
            return 200, {}, b'{"error": "the model is loading"}'
        return 200, {"Content-Type": "application/json"}, self._vectors(path, texts)

    def _vectors(self, path: str, texts: Sequence[str]) -> bytes:
        salt = "other" if self.fault is Fault.OTHER_MODEL else ""
        rows: list[list[object]] = [list(toy_vector(text, self.dimensions, salt=salt)) for text in texts]
        last = rows[-1]
        if self.fault is Fault.ONE_TOO_FEW:
            rows.pop()
        elif self.fault is Fault.ONE_TOO_MANY:
            rows.append(last)
        elif self.fault is Fault.NAN:
            last[3] = float("nan")
        elif self.fault is Fault.INFINITY:
            last[3] = float("inf")
        elif self.fault is Fault.NOT_NUMBERS:
            last[3] = "0.25"
        elif self.fault is Fault.ZEROS:
            last[:] = [0.0] * len(last)
        elif self.fault is Fault.ZEROS_AT_THE_START:
            last[:] = [0.0] * (len(last) - 1) + [1.0]
        if path.endswith("/api/embed"):
            return json.dumps({"embeddings": rows}).encode()
        items = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        if self.fault is Fault.REVERSED:
            items.reverse()
        if self.fault is Fault.REPEATED_INDEX:
            items[-1]["index"] = 0
        return json.dumps({"object": "list", "data": items}).encode()

    def transport(self) -> httpx.MockTransport:
        """Return a transport that answers from here; it cannot hang or trickle."""

        def handle(request: httpx.Request) -> httpx.Response:
            headers = {name.lower(): value for name, value in request.headers.items()}
            status, extra, body = self.answer(request.url.path, request.content, headers)
            return httpx.Response(status, headers=extra, content=body)

        return httpx.MockTransport(handle)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        endpoint: FakeEndpoint = self.server.endpoint  # type: ignore[attr-defined]
        content = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = endpoint.fault
        status, extra, body = endpoint.service.answer(self.path, content, headers)
        try:
            if fault is Fault.HANG:
                endpoint.stopped.wait(30)
            elif fault is Fault.TRICKLE_HEADERS:
                self._trickle(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"z" * 600)
            elif fault is Fault.TRICKLE_BODY:
                self._trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n", at_once=True)
                self._trickle(b" " * 600)
            else:
                self._send(status, extra, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, status: int, extra: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**extra, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self, content: bytes, *, at_once: bool = False) -> None:
        """Send a byte every 50 ms, for up to 30 s, never the whole of what was announced."""
        endpoint: FakeEndpoint = self.server.endpoint  # type: ignore[attr-defined]
        self.close_connection = True
        step = len(content) if at_once else 1
        for at in range(0, len(content), step):
            self.wfile.write(content[at : at + step])
            self.wfile.flush()
            if not at_once and endpoint.stopped.wait(0.05):
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that gave up: that is what these tests are about."""


class FakeEndpoint:
    """A `FakeService` behind a real HTTP server on a free port of 127.0.0.1; a context manager."""

    def __init__(self, *, dimensions: int = 768, port: int = 0) -> None:
        self.service = FakeService(dimensions=dimensions)
        self.stopped = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.endpoint = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ollama_url(self) -> str:
        """The URL of the Ollama shape."""
        return f"{self.base_url}/api/embed"

    @property
    def openai_url(self) -> str:
        """The URL of the OpenAI-compatible shape."""
        return f"{self.base_url}/v1/embeddings"

    @property
    def fault(self) -> Fault:
        """How it misbehaves now."""
        return self.service.fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        self.service.fault = fault

    @property
    def dimensions(self) -> int:
        """Length of its vectors."""
        return self.service.dimensions

    @dimensions.setter
    def dimensions(self, dimensions: int) -> None:
        self.service.dimensions = dimensions

    @property
    def calls(self) -> list[EmbedCall]:
        """The requests so far, oldest first."""
        return self.service.calls

    @property
    def texts(self) -> list[str]:
        """Every text that arrived, oldest first."""
        return self.service.texts

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Release what hangs and close the port."""
        self.stopped.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
