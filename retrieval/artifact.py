"""One artifact, open for reading: its identity, what it can do, and cursors over it."""

import contextlib
import importlib.util
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb

from retrieval import fts, schema
from retrieval.deadline import WATCHER
from retrieval.errors import (
    ArtifactClosedError,
    ArtifactInvalidError,
    ArtifactMissingError,
    ArtifactReadError,
    ArtifactReplacedError,
    ArtifactTooSlowError,
)
from retrieval.locking import ReadMark
from retrieval.models import ArtifactInfo, EmbeddingSpec
from retrieval.open_files import OpenFile, file_identity, forget, open_name, remember
from retrieval.resident import NOT_LOADED, SHORT_OF_MEMORY, Residency, load_resident

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OPTIONAL_TABLES: Final = (
    schema.CHANNELS,
    schema.CHANNEL_MEMBERS,
    schema.USERS,
    schema.EMBEDDING_SPEC,
    schema.DOCUMENT_MESSAGES,
    schema.LEXICAL_POSTINGS,
    schema.RESIDENT_PARTS,
)
_INDEX_TABLES: Final = ("dict", "docs", "stats", "terms")


class Artifact:
    """A read-only artifact.

    Thread-safe: every query takes a cursor of its own, because DuckDB hands a connection that threads share
    the rows of other threads' queries. Close it only after the last cursor is closed; `ArtifactStore` counts.

    Attributes:
        info: What it is and what it can do.
        has_file_chunks: Whether there is any.
        residency: What of it is held in memory; nothing before `load`.
        query_seconds: How long a query's cursor may be used; None for as long as it takes.
    """

    def __init__(self, path: Path, *, memory_mb: int | None = None, full_text: bool = False) -> None:
        """Open the artifact at *path*, symlinks resolved.

        Args:
            path: A file, or a symlink to one.
            memory_mb: DuckDB's memory limit in MiB, its own default where None.
            full_text: Load DuckDB's full-text extension, which takes longer than all else here: `match_bm25` needs it.
                Searches do not, except in an index of stems, for which it is loaded anyway.

        Raises:
            ArtifactMissingError: There is no such file.
            ArtifactInvalidError: It is not a DuckDB file, or not an artifact of a known schema version.
        """
        self._path = _resolved(path)
        self.query_seconds: float | None = None
        # Nobody cleans the file away while the mark is there, in whatever process.
        self._mark = ReadMark(self._path)
        self._lock = threading.Lock()
        try:
            self._identity = file_identity(self._path)
            self._connection: DuckDBPyConnection | None = None
            self._connect(memory_mb=memory_mb, full_text=full_text)
        except BaseException:
            self._mark.release()
            raise
        try:
            with self.cursor() as cursor:
                self.info = _read_info(cursor, self._path)
                self.has_file_chunks = _has_file_chunks(cursor)
            if fts.holds_stems(self.info.fts_config) and not full_text:
                self._disconnect()
                self._connect(memory_mb=memory_mb, full_text=True)
            self.residency = NOT_LOADED
        except ArtifactReadError as error:
            self.close()
            raise ArtifactInvalidError(str(error), check="readable") from error
        except ArtifactInvalidError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file that is open, symlinks resolved."""
        return self._path

    def load(self, *, budget_mb: int | None = None) -> Residency:
        """Read what searches need into memory, where it fits; for who searches more than once.

        Args:
            budget_mb: How much memory it may take, MiB; 0 for none, None for about a third of the machine's.

        Raises:
            ArtifactReplacedError: The file was overwritten meanwhile.
            ArtifactReadError: DuckDB failed; its memory limit being too low for this is no failure.
        """
        try:
            with self.cursor() as cursor, self._opened_file() as file:
                self.residency = load_resident(cursor, self.info, budget_mb=budget_mb, file=file)
            self.check_unchanged()
        except ArtifactReadError as error:
            if not isinstance(error.__cause__, duckdb.OutOfMemoryException):
                raise
            self.residency = SHORT_OF_MEMORY
        return self.residency

    @contextlib.contextmanager
    def cursor(self) -> Iterator["DuckDBPyConnection"]:
        """Return a cursor for one query in one thread; closed on exit.

        Raises:
            ArtifactClosedError: The artifact was closed.
            ArtifactTooSlowError: DuckDB still ran when the query's time was over, and was interrupted.
            ArtifactReadError: DuckDB failed within the block.
        """
        with self._lock:
            if self._connection is None:
                raise ArtifactClosedError(f"{self._path.name} is closed.")
            cursor = self._connection.cursor()
        try:
            with self.reading(), self._limited(cursor):
                yield cursor
        finally:
            cursor.close()

    @contextlib.contextmanager
    def _limited(self, cursor: "DuckDBPyConnection") -> Iterator[None]:
        if self.query_seconds is None:
            yield
            return
        with WATCHER.limit(cursor, seconds=self.query_seconds) as watched:
            try:
                yield
            except duckdb.InterruptException as error:
                if not watched.overdue:
                    raise
                raise ArtifactTooSlowError(
                    f"{self._path.name} was not read within {self.query_seconds:g} s."
                ) from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Turn DuckDB's errors within the block into ours.

        Raises:
            ArtifactReplacedError: It failed because the file was overwritten in place.
            ArtifactReadError: It failed otherwise.
        """
        try:
            yield
        except duckdb.Error as error:
            self.check_unchanged()
            raise ArtifactReadError(f"{self._path.name} could not be read: {_first_line(error)}") from error

    @contextlib.contextmanager
    def _opened_file(self) -> Iterator[int | None]:
        """Give a descriptor of the very file that is open; None where another one has its name by now, or none."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield None
            return
        try:
            status = os.fstat(descriptor)
            same = (status.st_ino, status.st_size, status.st_mtime_ns) == self._identity
            yield descriptor if same else None
        finally:
            os.close(descriptor)

    def check_unchanged(self) -> None:
        """Make sure that the file is still the one that was opened.

        A file overwritten in place makes DuckDB mix old and new pages; an answer read from it must be thrown
        away. A file that was unlinked still serves, since the open file keeps its content.

        Raises:
            ArtifactReplacedError: Its size, modification time or inode changed.
        """
        try:
            identity = file_identity(self._path)
        except FileNotFoundError:
            return
        if identity[0] == self._identity[0] and identity != self._identity:
            raise ArtifactReplacedError(f"{self._path.name} was overwritten while it was open.")

    def close(self) -> None:
        """Close the file; later calls do nothing."""
        if self._disconnect():
            # Its memory and what is mapped of the file go now, whoever still holds this object.
            self.residency = NOT_LOADED
            self._mark.release()

    def _connect(self, *, memory_mb: int | None, full_text: bool) -> None:
        wanted = OpenFile(self._path, self._identity, full_text)
        with open_name(wanted) as name:
            connection = _connect(name, memory_mb=memory_mb, full_text=full_text)
        with self._lock:
            self._connection, self._open_file = connection, wanted
        remember(wanted)

    def _disconnect(self) -> bool:
        """Close the connection; return whether there was one."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            forget(self._open_file)
        return connection is not None


def _resolved(path: Path) -> Path:
    try:
        resolved = path.resolve(strict=True)
    except OSError as error:
        raise ArtifactMissingError(f"There is no artifact at {path}.") from error
    if not resolved.is_file():
        raise ArtifactMissingError(f"{path} is not a file.")
    return resolved


def _connect(path: Path, *, memory_mb: int | None, full_text: bool) -> "DuckDBPyConnection":
    _spare_lookups()
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        connection = duckdb.connect(str(path), read_only=True, config=config)
    except duckdb.Error as error:
        raise ArtifactInvalidError(
            f"{path.name} is not a DuckDB file that this version can read: {_first_line(error)}", check="readable"
        ) from error
    _harden(connection, memory_mb=memory_mb, full_text=full_text)
    return connection


def _spare_lookups() -> None:
    """Keep DuckDB from looking for pandas on disk before it converts each bound value, where there is none.

    Measured: 0.1 ms a value, 55 ms for a query's vector of 512 numbers. An entry of None says that a module is not
    there, which is what an import finds out otherwise.
    """
    if "pandas" not in sys.modules and importlib.util.find_spec("pandas") is None:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # Documented for this purpose, not typed for it.


def _harden(connection: "DuckDBPyConnection", *, memory_mb: int | None, full_text: bool) -> None:
    """Load the extension where it is wanted, then forbid files, network and further settings.

    DuckDB keeps one instance a file within a process: a second open of the same file finds it hardened. Nothing here
    calls a function: a macro stored in the file stands before DuckDB's own of the same name, and could read files until
    this is done, or say that it is done.
    """
    try:
        connection.execute("SET enable_progress_bar = false")
    except duckdb.InvalidInputException:
        # Only a locked configuration refuses that.
        return
    if full_text:
        fts.load_fts(connection)
    if memory_mb is not None:
        connection.execute(f"SET memory_limit = '{int(memory_mb)}MiB'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _read_info(cursor: "DuckDBPyConnection", path: Path) -> ArtifactInfo:
    tables = _table_names(cursor)
    required = {schema.DOCUMENTS, schema.VECTORS, schema.METADATA} - tables[0]
    if required:
        raise ArtifactInvalidError(f"{path.name} lacks the table {min(required)}.", check="tables")
    if missing := set(_INDEX_TABLES) - tables[1]:
        raise ArtifactInvalidError(f"{path.name} lacks the full-text table {min(missing)}.", check="fts_tables")
    rows = cursor.execute(
        "SELECT build_id, schema_version, generation_id, source_watermark, document_count, vector_count, "
        f"epoch_us(built_at), CAST(fts_config_json AS VARCHAR) FROM {schema.METADATA} LIMIT 2"
    ).fetchall()
    if len(rows) != 1:
        raise ArtifactInvalidError(f"{path.name} must have one metadata row, not {len(rows)}.", check="metadata")
    build_id, version, generation, watermark, documents, vectors, built_at_us, config_text = rows[0]
    if version != schema.SCHEMA_VERSION:
        raise ArtifactInvalidError(
            f"{path.name} has schema version {version}; this program reads {schema.SCHEMA_VERSION}.",
            check="schema_version",
        )
    config = dict(_parse_config(config_text, path))
    if not config.keys() >= fts.OPTIONS:
        # Metadata may leave options out, and the defaults of DuckDB have changed. Asking takes 40 ms.
        config |= fts.stored_options(cursor)
    capabilities = frozenset(name for name in _OPTIONAL_TABLES if name in tables[0])
    return ArtifactInfo(
        artifact_id=build_id,
        path=str(path),
        schema_version=version,
        generation_id=generation,
        source_watermark=watermark,
        document_count=documents,
        vector_count=vectors,
        built_at_us=built_at_us,
        fts_config=config,
        dimensions=_dimensions(cursor),
        embedding_spec=_read_spec(cursor) if schema.EMBEDDING_SPEC in capabilities else None,
        capabilities=capabilities,
        indexes_digits=fts.indexes_digits(config),
        analyzer=str(config["analyzer"]) if "analyzer" in config else None,
        workspace_ids=_workspace_ids(cursor),
    )


def _table_names(cursor: "DuckDBPyConnection") -> tuple[set[str], set[str]]:
    """Return the base tables of the main and of the full-text schema; views do not count."""
    rows = cursor.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary "
        "AND database_name = current_database()"
    ).fetchall()
    return (
        {name for schema_name, name in rows if schema_name == "main"},
        {name for schema_name, name in rows if schema_name == schema.FTS_SCHEMA},
    )


def _parse_config(text: str, path: Path) -> Mapping[str, object]:
    try:
        config: Any = json.loads(text)
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise ArtifactInvalidError(f"{path.name} has an fts_config_json that is no object.", check="fts_config")
    return config


def _dimensions(cursor: "DuckDBPyConnection") -> int | None:
    row = cursor.execute(f"SELECT type FROM pragma_table_info('{schema.VECTORS}') WHERE name = 'embedding'").fetchone()
    kind = str(row[0]) if row else ""
    return int(kind[len("FLOAT[") : -1]) if kind.startswith("FLOAT[") and kind[len("FLOAT[") : -1].isdigit() else None


def _read_spec(cursor: "DuckDBPyConnection") -> EmbeddingSpec | None:
    row = cursor.execute(
        "SELECT model, revision, query_prefix, document_prefix, native_dimensions, dimensions, scripts, probe_text, "
        f"probe_vector FROM {schema.EMBEDDING_SPEC} LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    return EmbeddingSpec(
        model=row[0],
        revision=row[1],
        query_prefix=row[2],
        document_prefix=row[3],
        native_dimensions=row[4],
        dimensions=row[5],
        scripts=tuple(row[6] or ()),
        probe_text=row[7],
        probe_vector=tuple(row[8] or ()),
    )


def _workspace_ids(cursor: "DuckDBPyConnection") -> tuple[str, ...]:
    rows = cursor.execute(f"SELECT DISTINCT workspace_id FROM {schema.DOCUMENTS} ORDER BY workspace_id").fetchall()
    return tuple(row[0] for row in rows)


def _has_file_chunks(cursor: "DuckDBPyConnection") -> bool:
    row = cursor.execute(f"SELECT 1 FROM {schema.DOCUMENTS} WHERE document_kind = 'file_chunk' LIMIT 1").fetchone()
    return row is not None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
