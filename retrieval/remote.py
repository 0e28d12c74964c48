"""Artifacts from a web server: the manifest at one URL, the artifact beside it, checked before they are used.

A bot asks for the manifest with `If-None-Match`. A new one leads to a download under a temporary name; length and
SHA-256 must be right before the file gets its own, and it is published like any other. What a failing server costs is
time: the artifact that serves stays, and the next question waits longer (30 s, doubled up to an hour).
"""

import contextlib
import hashlib
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypedDict

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.endpoint_address import is_allowed_address, resolve_host
from retrieval.errors import ArtifactError, FolderBusyError, RemoteArtifactError
from retrieval.hold import read_hold
from retrieval.locking import folder_lock
from retrieval.manifest import Manifest, ManifestKey, manifest_path
from retrieval.publication import adopt, current_path, list_artifacts, publish_unless_held
from retrieval.retention import Retention, prune
from retrieval.store import ArtifactStore, RefreshOutcome

FETCHER_LOCK: Final = ".fetcher.lock"
FETCHING_PREFIX: Final = ".fetching-"
STATE_NAME: Final = "remote.json"
MAX_REDIRECTS: Final = 5
FIRST_WAIT_SECONDS: Final = 30.0
LONGEST_WAIT_SECONDS: Final = 3600.0
MANIFEST_SECONDS: Final = 60.0
DOWNLOAD_SECONDS: Final = 3600.0

_MAX_MANIFEST_BYTES: Final = 1_000_000
_TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)
# What the machine needs for itself while a download fills the disk.
_SPARE_BYTES: Final = 256 << 20
_FILE_NAME: Final = re.compile(r"search-[\w.-]+\.duckdb")

Resolver = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """How a server is asked.

    Attributes:
        allow_public: Whether redirects may lead to public addresses.
        resolve: Gives a host's addresses.
        transport: Replaces the network in tests.
        monotonic: A clock in seconds.
        retention: What of the folder is kept after each new artifact.
        key: Fetch only what it signed; None to fetch whatever fits its manifest.
    """

    allow_public: bool = False
    resolve: Resolver = resolve_host
    transport: httpx.BaseTransport | None = None
    monotonic: Callable[[], float] = time.monotonic
    retention: Retention = field(default_factory=Retention)
    key: ManifestKey | None = None


class _State(BaseModel):
    """What was last taken from the server; outlives the process, so that a rollback on this machine does too."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    etag: str = ""
    artifact_id: str = ""
    built_at: str = ""


class _Request(TypedDict):
    url: httpx.URL
    headers: dict[str, str]
    extensions: dict[str, str]


class RemoteArtifacts:
    """Brings the artifact of one manifest URL into one folder; one thread at a time."""

    def __init__(self, url: str, folder: Path, *, options: RemoteOptions | None = None) -> None:
        """Prepare; nothing is asked before `pull`.

        Args:
            url: The manifest's URL, http or https. A query stays part of the artifact's URL, a password is sent as
                basic authentication to this host alone.
            folder: The folder of artifacts; made where it does not exist.
            options: How to ask.

        Raises:
            RemoteArtifactError: That is no such URL.
        """
        self._url = _parsed(url)
        self._folder = folder
        self._options = options or RemoteOptions()
        self._failures = 0
        self._retry_at = 0.0
        self._problem: str | None = None

    def pull(self) -> str | None:
        """Ask the server, and publish what is new; return why that could not be done, None where all is well.

        After a failure the same sentence is returned until it is time to ask again. Never raises for what a server
        or the folder does.
        """
        if self._options.monotonic() < self._retry_at:
            return self._problem
        try:
            self._pull()
        except FolderBusyError:
            # Another bot over the same folder fetches; what it brings serves here too.
            return self._problem
        except (ArtifactError, OSError) as error:
            self._failures += 1
            wait = min(FIRST_WAIT_SECONDS * 2 ** (self._failures - 1), LONGEST_WAIT_SECONDS)
            self._retry_at = self._options.monotonic() + wait
            self._problem = str(error) if isinstance(error, ArtifactError) else f"{error.strerror or error}."
        else:
            self._failures, self._problem = 0, None
        return self._problem

    def _pull(self) -> None:
        busy = f"Another process is fetching into {self._folder}."
        with folder_lock(self._folder, FETCHER_LOCK, busy=busy), _readable_errors(self._url):
            for left in self._folder.glob(f"{FETCHING_PREFIX}*"):
                shutil.rmtree(left)
            state = self._read_state()
            found = self._ask_manifest(state.etag)
            if found is None:
                return
            content, etag = found
            manifest = _parse_manifest(content, self._url)
            if self._options.key is not None:
                self._options.key.check(manifest)
            if manifest.artifact_id != state.artifact_id or current_path(self._folder) is None:
                self._refuse_older(manifest, state)
                self._take(manifest, content)
            self._write_state(_State(etag=etag, artifact_id=manifest.artifact_id, built_at=manifest.built_at))

    def _ask_manifest(self, etag: str) -> tuple[bytes, str] | None:
        headers = {"If-None-Match": etag} if etag and current_path(self._folder) is not None else {}
        with self._get(self._url, headers) as response:
            if response.status_code == httpx.codes.NOT_MODIFIED and headers:
                return None
            _check_status(response, self._url)
            content = bytearray()
            deadline = self._options.monotonic() + MANIFEST_SECONDS
            for chunk in response.iter_bytes():
                content += chunk
                if self._options.monotonic() > deadline:
                    raise RemoteArtifactError(f"{_place(self._url)} did not arrive within {MANIFEST_SECONDS:g} s.")
                if len(content) > _MAX_MANIFEST_BYTES:
                    raise RemoteArtifactError(f"What {_place(self._url)} sends is too large for a manifest.")
            return bytes(content), response.headers.get("ETag", "")

    def _take(self, manifest: Manifest, content: bytes) -> None:
        """Publish the manifest's artifact, downloaded unless the folder has it."""
        present = self._folder / manifest.artifact_file
        hold = read_hold(self._folder)
        if hold is None and present.exists() and manifest_path(present).exists():
            hold = publish_unless_held(self._folder, present)
        elif hold is None:
            self._download(manifest, content)
        if hold is not None:
            raise RemoteArtifactError(hold.reason)
        with contextlib.suppress(ArtifactError):
            # A build on this machine holds its lock; the next artifact cleans.
            prune(self._folder, retention=self._options.retention, now=datetime.now(UTC))

    def _refuse_older(self, manifest: Manifest, state: _State) -> None:
        """Refuse what a stale cache may send: messages deleted since would be found again."""
        current = next((entry for entry in list_artifacts(self._folder) if entry.current), None)
        known = {state.artifact_id: _moment(state.built_at)}
        if current is not None and current.manifest is not None:
            known[current.manifest.artifact_id] = current.built_at
        offered = _moment(manifest.built_at)
        for artifact_id, built_at in known.items():
            if offered is not None and built_at is not None and offered < built_at:
                raise RemoteArtifactError(
                    f"{_place(self._url)} offers {manifest.artifact_id}, which is older than {artifact_id}; "
                    "`slackquery rollback` goes back, if that is meant."
                )

    def _download(self, manifest: Manifest, content: bytes) -> None:
        folder = self._folder / f"{FETCHING_PREFIX}{secrets.token_hex(8)}"
        folder.mkdir()
        try:
            artifact = folder / manifest.artifact_file
            manifest_path(artifact).write_bytes(content)
            url = self._url.join(manifest.artifact_file).copy_with(query=self._url.query or None)
            digest = self._stream(url, artifact)
            if digest != manifest.checksum_sha256:
                raise RemoteArtifactError(
                    f"{_place(url)} does not have the checksum of its manifest; it is damaged or another build's."
                )
            adopt(self._folder, artifact)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _stream(self, url: httpx.URL, target: Path) -> str:
        """Download *url* into *target*; return the SHA-256 of what came."""
        digest = hashlib.sha256()
        room = shutil.disk_usage(target.parent).free - _SPARE_BYTES
        deadline = self._options.monotonic() + DOWNLOAD_SECONDS
        with self._get(url, {}) as response, target.open("wb") as file:
            _check_status(response, url)
            size = int(response.headers.get("Content-Length", "0"))
            if size > room:
                raise RemoteArtifactError(f"There is no room for {_place(url)}, {size / 2**20:,.0f} MiB.")
            for chunk in response.iter_bytes():
                file.write(chunk)
                digest.update(chunk)
                if file.tell() > room:
                    raise RemoteArtifactError(f"There is no room for {_place(url)}.")
                if self._options.monotonic() > deadline:
                    raise RemoteArtifactError(f"{_place(url)} did not arrive within {DOWNLOAD_SECONDS / 60:g} minutes.")
        return digest.hexdigest()

    @contextlib.contextmanager
    def _get(self, url: httpx.URL, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Ask for *url*, following redirects that are allowed."""
        with httpx.Client(
            transport=self._options.transport, timeout=_TIMEOUT, trust_env=False, follow_redirects=False
        ) as client:
            address: str | None = None
            for _ in range(MAX_REDIRECTS + 1):
                with client.stream("GET", **_request(url, address, headers)) as response:
                    if not response.has_redirect_location:
                        yield response
                        return
                    target = url.join(response.headers["Location"])
                address = self._checked_redirect(url, target)
                url = target
        raise RemoteArtifactError(f"{_place(self._url)} redirects more than {MAX_REDIRECTS} times.")

    def _checked_redirect(self, origin: httpx.URL, target: httpx.URL) -> str | None:
        """Refuse a redirect that the operator did not mean: to the internet, or from there into the own network.

        Returns the address to call, None to stay with the host.
        """
        if target.scheme not in {"http", "https"} or (origin.scheme == "https" and target.scheme == "http"):
            raise RemoteArtifactError(f"{_place(origin)} redirects to {target.scheme}:, which is not followed.")
        if (target.host, target.port, target.scheme) == (origin.host, origin.port, origin.scheme):
            return None
        addresses = self._addresses(target)
        public = not all(is_allowed_address(entry) for entry in addresses)
        if public and not self._options.allow_public:
            raise RemoteArtifactError(
                f"{_place(origin)} redirects to the public address of {target.host}, which is refused unless "
                "SLACKQUERY_ARTIFACT_ALLOW_PUBLIC is true."
            )
        if not public and not all(is_allowed_address(entry) for entry in self._addresses(origin)):
            raise RemoteArtifactError(f"{_place(origin)} redirects into a private network, which is not followed.")
        return addresses[0]

    def _addresses(self, url: httpx.URL) -> Sequence[str]:
        """Return a host's addresses.

        Raises:
            RemoteArtifactError: It is not known, or one of its addresses may never be called.
        """
        try:
            found = self._options.resolve(url.host, url.port or (443 if url.scheme == "https" else 80))
        except (OSError, UnicodeError) as error:
            raise RemoteArtifactError(f"The host {url.host} is not known.") from error
        if not found or not all(is_allowed_address(entry, allow_public=True) for entry in found):
            raise RemoteArtifactError(f"The address of {url.host} is none that may be called.")
        return found

    def _read_state(self) -> _State:
        try:
            return _State.model_validate_json((self._folder / STATE_NAME).read_bytes())
        except (OSError, ValidationError):
            return _State()

    def _write_state(self, state: _State) -> None:
        temporary = self._folder / f".{STATE_NAME}.new"
        temporary.write_text(state.model_dump_json() + "\n", encoding="utf-8")
        temporary.replace(self._folder / STATE_NAME)


class PulledStore:
    """A store whose folder is first filled from a server."""

    def __init__(self, store: ArtifactStore, remote: RemoteArtifacts) -> None:
        self._store = store
        self._remote = remote

    def refresh(self) -> RefreshOutcome:
        """Pull, then look at the folder; the folder's own problem comes first."""
        problem = self._remote.pull()
        outcome = self._store.refresh()
        if problem is None or (outcome.problem is not None and outcome.info is not None):
            return outcome
        return replace(outcome, problem=problem)


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        # Without its cause: that quotes the URL, and a URL may hold a password.
        raise RemoteArtifactError("The artifact URL cannot be read as a URL.") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise RemoteArtifactError("The artifact URL must begin with http:// or https:// and a host.")
    return parsed


def _request(url: httpx.URL, address: str | None, headers: Mapping[str, str]) -> _Request:
    """Return what to ask: at the checked address where there is one, since a name may resolve differently next time."""
    given = {"Accept-Encoding": "identity", **headers}
    if address is None:
        return {"url": url, "headers": given, "extensions": {}}
    return {
        "url": url.copy_with(host=address),
        "headers": {**given, "Host": url.netloc.decode("ascii")},
        "extensions": {"sni_hostname": url.raw_host.decode("ascii")},
    }


def _parse_manifest(content: bytes, url: httpx.URL) -> Manifest:
    try:
        manifest = Manifest.model_validate_json(content)
    except ValueError as error:
        raise RemoteArtifactError(f"What {_place(url)} sends is no manifest.") from error
    if _moment(manifest.built_at) is None:
        raise RemoteArtifactError(f"The manifest of {_place(url)} does not say when its artifact was built.")
    if not _FILE_NAME.fullmatch(manifest.artifact_file):
        raise RemoteArtifactError(f"The manifest of {_place(url)} names a file that no artifact can be called.")
    return manifest


def _moment(text: str) -> datetime | None:
    """Return a time in ISO 8601, None where it is none; UTC unless it names a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _check_status(response: httpx.Response, url: httpx.URL) -> None:
    if response.status_code != httpx.codes.OK:
        raise RemoteArtifactError(f"{_place(url)} answered with HTTP status {response.status_code}.")


def _place(url: httpx.URL) -> str:
    """Return where a URL points, without its query and password."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}{f':{url.port}' if url.port else ''}{url.path}"


@contextlib.contextmanager
def _readable_errors(url: httpx.URL) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise RemoteArtifactError(f"{_place(url)} did not answer in time.") from error
    except httpx.RemoteProtocolError as error:
        raise RemoteArtifactError(f"The connection to {_place(url)} broke before everything had come.") from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise RemoteArtifactError(f"{_place(url)} cannot be reached ({type(error).__name__}).") from error
