"""Writes an artifact's file: tables, vectors, full-text index; complete and checked before it gets its name."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.analyzer import ANALYZER_VERSION
from retrieval.builder.directory import Channel, Person
from retrieval.builder.documents import DocumentRow, MappingRow, clean, column_names
from retrieval.builder.resident_image import store_image
from retrieval.checksum import file_sha256
from retrieval.errors import ArtifactError
from retrieval.fts import config_json, create_index, create_postings, load_fts
from retrieval.manifest import Manifest, ManifestKey, manifest_path
from retrieval.models import DocumentKind, EmbeddingSpec
from retrieval.redaction import holds_token, redact
from retrieval.temporaries import BUILDER_PREFIX, clear_builder_temporaries
from retrieval.validation import validate_file

MEMORY_LIMIT: Final = "1GB"
THREADS: Final = 2

# DuckDB reads arrays far faster than it binds values (measured: 20,000 rows in 0.5 s against 7 s).
_ROWS_AT_ONCE: Final = 20_000
# Without an embedder there is nothing to size the column by; any fixed length keeps the contract's column type.
_NO_DIMENSIONS: Final = 512

_BOOLEANS: Final = frozenset(
    {
        "is_thread_parent", "is_thread_reply", "is_thread_broadcast", "is_private", "is_im", "is_mpim", "is_archived",
        "is_ext_shared", "is_guest", "is_bot", "deleted",
    }
)  # fmt: skip
_INTEGERS: Final = frozenset({"ts_us", "position"})
# The values of a row in the order of its columns.
Record = tuple[object, ...]

_WANTED_KINDS: Final = (DocumentKind.MESSAGE.value, DocumentKind.FILE_CHUNK.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An artifact that has its name.

    Attributes:
        artifact: Its file.
        manifest: Its manifest's file.
        documents: Documents by kind.
        vectors: Vectors in it.
    """

    artifact: Path
    manifest: Path
    documents: Mapping[str, int]
    vectors: int


class ArtifactWriter:
    """One artifact on its way; leaves nothing behind unless `place` was reached."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stem = folder / f"{BUILDER_PREFIX}{secrets.token_hex(8)}"
        self._path = self._stem.with_suffix(".duckdb")
        self._generation = ""
        self._dimensions: int | None = None
        with _readable_errors():
            self._connection = duckdb.connect(
                str(self._path),
                config={
                    "memory_limit": MEMORY_LIMIT,
                    "threads": THREADS,
                    "temp_directory": str(self._stem.with_suffix(".tmp")),
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            for ddl in (
                schema.DOCUMENTS_DDL, schema.METADATA_DDL, schema.CHANNELS_DDL, schema.CHANNEL_MEMBERS_DDL,
                schema.USERS_DDL, schema.EMBEDDING_SPEC_DDL, schema.DOCUMENT_MESSAGES_DDL,
            ):  # fmt: skip
                self._connection.execute(ddl)
            # Its bar would stand on stdout, between what commands print there.
            self._connection.execute("SET enable_progress_bar = false")
            # Arrays of objects hold texts; without this, DuckDB looks through them for what they hold.
            self._connection.execute("SET pandas_analyze_sample = 0")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        clear_builder_temporaries(self._folder, f"{self._stem.name}*")

    def add_documents(self, rows: Sequence[DocumentRow]) -> None:
        """Add documents; ids must be new."""
        columns = column_names()
        derived = {"timestamp": "make_timestamptz(ts_us)"}
        self._insert(schema.DOCUMENTS, columns, map(attrgetter(*columns), rows), derived=derived)

    def add_mappings(self, rows: Sequence[MappingRow]) -> None:
        """Add which messages windows and files belong to."""
        columns = ("document_id", "position", "message_id", "channel_id")
        self._insert(schema.DOCUMENT_MESSAGES, columns, map(attrgetter(*columns), rows))

    def add_directory(self, workspace_id: str, channels: Sequence[Channel], people: Sequence[Person]) -> None:
        """Add channels with their members, and people."""
        flags = ("is_private", "is_im", "is_mpim", "is_archived", "is_ext_shared")
        columns = ("channel_id", "name", *flags)
        records = ((workspace_id, *_fields(channel, columns)) for channel in channels)
        self._insert(schema.CHANNELS, ("workspace_id", *columns), records)
        members = ((workspace_id, channel.channel_id, member) for channel in channels for member in channel.members)
        self._insert(schema.CHANNEL_MEMBERS, ("workspace_id", "channel_id", "user_id"), members)
        columns = ("user_id", "name", "display_name", "real_name", "is_guest", "is_bot", "deleted")
        users = ((workspace_id, *_fields(person, columns)) for person in people)
        self._insert(schema.USERS, ("workspace_id", *columns), users)

    def embedding_texts(self, *, portion: int) -> Iterator[list[tuple[str, str]]]:
        """Yield (document_id, text) of every message and file chunk, in portions, ordered by document_id."""
        sql = (
            f"SELECT document_id, text_embedding FROM {schema.DOCUMENTS} "
            "WHERE document_kind IN (?, ?) AND document_id > ? ORDER BY document_id LIMIT ?"
        )
        last = ""
        while True:
            with _readable_errors():
                rows = self._connection.execute(sql, [*_WANTED_KINDS, last, portion]).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield rows

    def begin_vectors(self, generation: str, spec: EmbeddingSpec | None) -> None:
        """Make the table of vectors, and say which model they are of; None for an artifact without vectors."""
        self._generation = generation
        self._dimensions = None if spec is None else spec.dimensions
        dimensions = _NO_DIMENSIONS if spec is None else spec.dimensions
        with _readable_errors():
            self._connection.execute("CHECKPOINT")
            # Vectors do not compress, and reading them back compressed takes about twice as long.
            self._connection.execute("SET force_compression = 'uncompressed'")
            self._connection.execute(schema.VECTORS_DDL.format(dimensions=dimensions))
            if spec is not None:
                self._connection.execute(
                    f"INSERT INTO {schema.EMBEDDING_SPEC} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        spec.model, spec.revision, spec.query_prefix, spec.document_prefix, spec.native_dimensions,
                        spec.dimensions, list(spec.scripts), spec.probe_text, list(spec.probe_vector),
                    ],
                )  # fmt: skip

    def add_vectors(self, document_ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add vectors, `(n, dims)` float32 of norm 1, in the order of *document_ids*."""
        dimensions = vectors.shape[1]
        columns: dict[str, NDArray[np.generic]] = {
            f"c{index}": np.ascontiguousarray(vectors[:, index]) for index in range(dimensions)
        }
        columns["document_id"] = np.array(document_ids, dtype=object)
        array = f"array_value({', '.join(f'c{index}' for index in range(dimensions))})"
        with _readable_errors():
            self._connection.register("vector_columns", columns)
            self._connection.execute(
                f"INSERT INTO {schema.VECTORS} SELECT document_id, ?, {array} FROM vector_columns", [self._generation]
            )
            self._connection.unregister("vector_columns")

    def finish_index(self) -> None:
        """Make the full-text index over what was added."""
        with _readable_errors():
            self._connection.execute("CHECKPOINT")
            self._connection.execute("SET force_compression = 'auto'")
            load_fts(self._connection)
            create_index(self._connection)
            create_postings(self._connection)
            store_image(self._connection, dimensions=self._dimensions)

    def place(self, built_at: datetime, *, code_version: str, key: ManifestKey | None = None) -> Placed:
        """Write the metadata, check the file through a fresh connection, and give it its name.

        Args:
            built_at: With a time zone.
            code_version: Of this program.
            key: Signs the manifest; None for one that nobody signed.

        Raises:
            ArtifactInvalidError: A check failed; nothing was named.
            ArtifactError: The disk is full, or the folder cannot be written.
        """
        with _readable_errors():
            watermark = self._watermark()
            build_id = f"{built_at:%Y%m%dT%H%M%SZ}-{watermark[:8]}-{secrets.token_hex(4)}"
            kinds = self._counts()
            vectors = self._number(f"SELECT count(*) FROM {schema.VECTORS}")
            total = sum(kinds.values())
            self._finish([build_id, schema.SCHEMA_VERSION, self._generation, watermark, total, vectors, built_at])
        validate_file(self._path, manifest=None)
        artifact = self._folder / f"search-{build_id}.duckdb"
        manifest = Manifest(
            artifact_id=build_id,
            artifact_file=artifact.name,
            schema_version=schema.SCHEMA_VERSION,
            generation_id=self._generation,
            source_watermark=watermark,
            document_count=total,
            vector_count=vectors,
            missing_vector_count=sum(kinds.get(kind, 0) for kind in _WANTED_KINDS) - vectors,
            checksum_sha256=file_sha256(self._path),
            fts_config=json.loads(config_json(ANALYZER_VERSION)),
            built_at=built_at.isoformat(),
            code_version=code_version,
        )
        with _readable_errors():
            self._name(artifact, manifest if key is None else key.sign(manifest))
        return Placed(artifact=artifact, manifest=manifest_path(artifact), documents=kinds, vectors=vectors)

    def _finish(self, facts: Sequence[object]) -> None:
        """Write the metadata's one row and close the file."""
        self._connection.execute(
            f"INSERT INTO {schema.METADATA} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [*facts, config_json(ANALYZER_VERSION)]
        )
        self._connection.execute("CHECKPOINT")
        self._connection.close()

    def _name(self, artifact: Path, manifest: Manifest) -> None:
        """Put the file and its manifest in place, the manifest first: an artifact never stands without one."""
        draft = self._stem.with_suffix(".manifest.json")
        draft.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        for path in (self._path, draft):
            path.chmod(0o444)
            _sync(path)
        draft.rename(manifest_path(artifact))
        self._path.rename(artifact)
        _sync(self._folder)

    def _watermark(self) -> str:
        """Return a digest of every document's version: the same content gives the same watermark."""
        row = self._connection.execute(
            "SELECT sha256(string_agg(document_id || ' ' || source_version, chr(10) ORDER BY document_id)) "
            f"FROM {schema.DOCUMENTS}"
        ).fetchone()
        return str(row[0]) if row else ""

    def _counts(self) -> dict[str, int]:
        rows = self._connection.execute(
            f"SELECT document_kind, count(*) FROM {schema.DOCUMENTS} GROUP BY document_kind ORDER BY document_kind"
        ).fetchall()
        return {str(kind): int(count) for kind, count in rows}

    def _number(self, sql: str) -> int:
        row = self._connection.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def _insert(
        self,
        table: str,
        columns: Sequence[str],
        records: Iterator[Record],
        *,
        derived: Mapping[str, str] | None = None,
    ) -> None:
        """Insert records, some thousand at a time, column by column.

        Args:
            table: The table.
            columns: What a record's values are called.
            records: The records.
            derived: Further columns of the table, each with its SQL over *columns*.
        """
        derived = derived or {}
        sql = (
            f"INSERT INTO {table} ({', '.join([*columns, *derived])}) "
            f"SELECT {', '.join([*columns, *derived.values()])} FROM new_rows"
        )
        with _readable_errors():
            while batch := list(islice(records, _ROWS_AT_ONCE)):
                values = zip(*batch, strict=True)
                arrays = {name: _column(name, column) for name, column in zip(columns, values, strict=True)}
                self._connection.register("new_rows", arrays)
                self._connection.execute(sql)
                self._connection.unregister("new_rows")


def _column(name: str, values: Sequence[object]) -> NDArray[np.generic]:
    """Return a column's values as DuckDB reads them. The last gate: no token passes it, and no half character."""
    if name in _BOOLEANS:
        return np.array(values, dtype=np.bool_)
    if name in _INTEGERS:
        return np.array(values, dtype=np.int64)
    texts = [value for value in set(values) if isinstance(value, str)]
    safe: dict[object, str] = (
        {} if _are_safe(texts) else {text: made for text in texts if (made := _safe(text)) != text}
    )
    return np.array([safe.get(value, value) for value in values] if safe else values, dtype=object)


def _are_safe(texts: Sequence[str]) -> bool:
    """Return whether all of *texts* may stand as they are; looking through them together is several times faster."""
    joined = "\n".join(texts)
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in joined and not holds_token(joined)


def _safe(text: str) -> str:
    """Return *text* as it may stand in an artifact."""
    if holds_token(text):
        text = redact(text)
    return clean(text)


def _fields(record: Channel | Person, names: Sequence[str]) -> Record:
    # Absent names are NULL in the artifact, never empty.
    return tuple(None if value == "" else value for value in attrgetter(*names)(record))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn what the database and the disk say into one sentence."""
    try:
        yield
    except duckdb.Error as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArtifactError(f"The artifact cannot be written: {redact(first_line)}") from error
    except OSError as error:
        raise ArtifactError(f"The artifact cannot be written: {error.strerror or error}.") from error
