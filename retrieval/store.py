"""The current artifact of a folder: leased by queries, swapped when another is published."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval.artifact import Artifact
from retrieval.errors import ArtifactError, ArtifactMissingError
from retrieval.manifest import ManifestKey, read_manifest
from retrieval.models import ArtifactInfo
from retrieval.validation import validate_file

CURRENT_NAME: Final = "current.duckdb"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOutcome:
    """What a look at the folder led to.

    Attributes:
        changed: Whether another artifact serves now.
        info: The artifact that serves, None where none does.
        problem: Why a newcomer does not serve, or why there is none; None when all is well. The same newcomer
            gives the same problem every time, without being read again.
    """

    changed: bool
    info: ArtifactInfo | None
    problem: str | None


class _Lease:
    """An open artifact with the number of queries that use it; closed by the last once it is retired."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.users = 0
        self.retired = False


_Pointer = tuple[str, int, int, int]


class ArtifactStore:
    """Serves the artifact that `current.duckdb` names.

    Thread-safe. A query keeps the artifact it leased, whatever is published meanwhile.
    """

    def __init__(
        self,
        folder: Path,
        *,
        memory_mb: int | None = None,
        resident_mb: int | None = None,
        query_seconds: float | None = None,
        key: ManifestKey | None = None,
    ) -> None:
        """Prepare to serve *folder*; nothing is opened before `refresh`.

        Args:
            folder: The folder of artifacts.
            memory_mb: DuckDB's memory limit in MiB for each open artifact.
            resident_mb: Memory in MiB that an artifact may take so that searches need not ask DuckDB; see
                `Artifact.load`.
            query_seconds: After how long a query is interrupted, seconds; None for never.
            key: Serve only what it signed; None to serve whatever is valid.
        """
        self._folder = folder
        self._memory_mb = memory_mb
        self._resident_mb = resident_mb
        self._query_seconds = query_seconds
        self._key = key
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._current: _Lease | None = None
        self._pointer: _Pointer | None = None
        self._refused: tuple[_Pointer, str] | None = None

    @property
    def info(self) -> ArtifactInfo | None:
        """What serves now, None before the first valid artifact."""
        with self._lock:
            return self._current.artifact.info if self._current is not None else None

    @contextlib.contextmanager
    def lease(self) -> Iterator[Artifact]:
        """Give the current artifact for the duration of the block; it is not closed before the block ends.

        Raises:
            ArtifactMissingError: No valid artifact has been found so far.
        """
        with self._lock:
            lease = self._current
            if lease is None:
                raise ArtifactMissingError(f"There is no valid artifact in {self._folder} yet.")
            lease.users += 1
        try:
            yield lease.artifact
        finally:
            self._return(lease)

    def refresh(self) -> RefreshOutcome:
        """Look at `current.duckdb`; validate, open, warm and swap where it names another artifact.

        An invalid newcomer leaves the one that serves. Never raises for what it finds in the folder.
        """
        with self._refreshing:
            try:
                pointer = self._read_pointer()
            except ArtifactMissingError as error:
                return self._outcome(problem=str(error))
            if pointer == self._pointer:
                self._refused = None
                return self._outcome()
            if self._refused is not None and self._refused[0] == pointer:
                return self._outcome(problem=self._refused[1])
            try:
                artifact = self._open_valid(Path(pointer[0]))
            except (ArtifactError, OSError) as error:
                self._refused = (pointer, str(error))
                return self._outcome(problem=str(error))
            self._swap(artifact, pointer)
            return self._outcome(changed=True)

    def close(self) -> None:
        """Stop serving; the artifact is closed after its last lease."""
        with self._lock:
            old, self._current, self._pointer = self._current, None, None
        self._retire(old)

    def _read_pointer(self) -> _Pointer:
        link = self._folder / CURRENT_NAME
        try:
            target = link.resolve(strict=True)
            status = target.stat()
        except OSError as error:
            raise ArtifactMissingError(f"There is no {CURRENT_NAME} in {self._folder}.") from error
        return (str(target), status.st_ino, status.st_size, status.st_mtime_ns)

    def _open_valid(self, path: Path) -> Artifact:
        manifest = read_manifest(path)
        if self._key is not None:
            self._key.check(manifest)
        validate_file(path, manifest=manifest, memory_mb=self._memory_mb)
        artifact = Artifact(path, memory_mb=self._memory_mb)
        try:
            with artifact.cursor() as cursor:
                # The first query of a file pays for its catalogue; no user should.
                cursor.execute("SELECT count(*) FROM search_documents WHERE text_display IS NOT NULL").fetchone()
            resident = artifact.load(budget_mb=self._resident_mb).resident
            if resident is not None and resident.vectors is not None:
                resident.vectors.warm()
        except BaseException:
            artifact.close()
            raise
        # Only from here on: reading a large archive into memory takes longer than any query may.
        artifact.query_seconds = self._query_seconds
        return artifact

    def _swap(self, artifact: Artifact, pointer: _Pointer) -> None:
        with self._lock:
            old, self._current = self._current, _Lease(artifact)
            self._pointer, self._refused = pointer, None
        self._retire(old)

    def _retire(self, lease: _Lease | None) -> None:
        if lease is None:
            return
        with self._lock:
            lease.retired = True
            idle = lease.users == 0
        if idle:
            lease.artifact.close()

    def _return(self, lease: _Lease) -> None:
        with self._lock:
            lease.users -= 1
            last = lease.retired and lease.users == 0
        if last:
            lease.artifact.close()

    def _outcome(self, *, changed: bool = False, problem: str | None = None) -> RefreshOutcome:
        return RefreshOutcome(changed=changed, info=self.info, problem=problem)
