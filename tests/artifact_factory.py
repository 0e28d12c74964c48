"""Small artifacts written row by row, without the builder: of this project's kind and of the bare contract's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from retrieval import fts, schema
from retrieval.analyzer import ANALYZER_VERSION, tokenize
from retrieval.builder.resident_image import store_image
from retrieval.checksum import file_sha256
from retrieval.errors import EmbeddingUnavailableError
from retrieval.manifest import Manifest, manifest_path
from retrieval.models import EmbeddingSpec

GENERATION = "toy-3"
START_US = 1_760_000_000_000_000
MINUTE_US = 60_000_000


@dataclass(frozen=True, kw_only=True)
class Row:
    """One document, with values a test need not repeat."""

    key: str
    text: str = ""
    channel: str = "C1"
    author: str | None = "U1"
    minute: int = 0
    thread: str | None = None
    kind: str = "message"
    parent: bool = False
    broadcast: bool = False
    vector: tuple[float, ...] | None = None
    lexical: str | None = None
    workspace: str = "T1"
    covers: tuple[str, ...] = ()
    root: str | None = None
    permalink: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    channel_name: str | None = "general"
    author_name: str | None = "Ada"

    @property
    def document_id(self) -> str:
        """The id: the key itself where it is a full one, else made from the channel."""
        return self.key if ":" in self.key else f"{self.workspace}:{self.channel}:{self.key}"


class ToyEmbedder:
    """Gives the vector that a test wrote down for a text; one that is not known has no vector."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = {text: unit(vector) for text, vector in vectors.items()}

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the written-down vector."""
        if text not in self._vectors:
            raise EmbeddingUnavailableError("The toy service knows no vector for this text.")
        return self._vectors[text]


def unit(vector: Sequence[float]) -> NDArray[np.float32]:
    """Return *vector* with norm 1."""
    array = np.asarray(vector, dtype=np.float64)
    return (array / np.linalg.norm(array)).astype(np.float32)


def write_artifact(
    folder: Path,
    rows: Sequence[Row],
    *,
    build_id: str = "20261101T000000Z-aaaaaaaa-bbbbbbbb",
    contract: bool = False,
    publish: bool = False,
    built_at: datetime = datetime(2026, 11, 1, tzinfo=UTC),
    spec: EmbeddingSpec | None = None,
    stemmer: str = "none",
    postings: bool = True,
    image: bool = False,
) -> Path:
    """Write an artifact of *rows* and its manifest into *folder*; return the file.

    With *contract*, only what the schema_version 2 contract lists: no table of ours, DuckDB's default `ignore`, and
    *stemmer*. Without *postings*, as builders made them before there was that table. With *image*, what readers hold
    in memory is stored in it, as builders do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"search-{build_id}.duckdb"
    connection = duckdb.connect(str(path), config={"autoinstall_known_extensions": False})
    fts.load_fts(connection)
    dims = next((len(row.vector) for row in rows if row.vector is not None), 3)
    for statement in (schema.DOCUMENTS_DDL, schema.VECTORS_DDL.format(dimensions=dims), schema.METADATA_DDL):
        connection.execute(statement)
    if not contract:
        connection.execute(schema.DOCUMENT_MESSAGES_DDL)
    if image:
        connection.execute("SET force_compression = 'uncompressed'")
    connection.begin()
    for row in rows:
        _insert(connection, row, contract=contract)
    connection.commit()
    if spec is not None:
        _insert_spec(connection, spec)
    if contract:
        connection.execute(
            f"PRAGMA create_fts_index('{schema.DOCUMENTS}', 'document_id', 'text_lexical', stemmer='{stemmer}', "
            "stopwords='none')"
        )
        config = json.dumps({"stemmer": stemmer, "stopwords": "none", "ignore": fts.DEFAULT_IGNORE})
    else:
        fts.create_index(connection)
        if postings:
            fts.create_postings(connection)
        if image:
            has_vectors = any(row.vector is not None for row in rows)
            store_image(connection, dimensions=dims if has_vectors else None)
        config = fts.config_json(ANALYZER_VERSION)
    vectors = sum(row.vector is not None for row in rows)
    connection.execute(
        f"INSERT INTO {schema.METADATA} VALUES (?, 2, ?, 'watermark', ?, ?, ?, ?)",
        [build_id, GENERATION, len(rows), vectors, built_at, config],
    )
    connection.execute("CHECKPOINT")
    connection.close()
    write_manifest(path, rows, build_id=build_id, config=config, built_at=built_at)
    if publish:
        (folder / "current.duckdb").unlink(missing_ok=True)
        (folder / "current.duckdb").symlink_to(path.name)
    return path


def write_manifest(path: Path, rows: Sequence[Row], *, build_id: str, config: str, built_at: datetime) -> None:
    """Write the manifest of the artifact at *path*."""
    searchable = [row for row in rows if row.kind != "thread_context"]
    vectors = sum(row.vector is not None for row in rows)
    manifest = Manifest(
        artifact_id=build_id,
        artifact_file=path.name,
        schema_version=2,
        generation_id=GENERATION,
        source_watermark="watermark",
        document_count=len(rows),
        vector_count=vectors,
        missing_vector_count=sum(row.vector is None for row in searchable) if vectors else 0,
        checksum_sha256=file_sha256(path),
        fts_config=json.loads(config),
        built_at=built_at.isoformat(),
        code_version="test",
    )
    manifest_path(path).write_text(manifest.model_dump_json())


def _insert_spec(connection: duckdb.DuckDBPyConnection, spec: EmbeddingSpec) -> None:
    connection.execute(schema.EMBEDDING_SPEC_DDL)
    connection.execute(
        f"INSERT INTO {schema.EMBEDDING_SPEC} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            spec.model,
            spec.revision,
            spec.query_prefix,
            spec.document_prefix,
            spec.native_dimensions,
            spec.dimensions,
            list(spec.scripts),
            spec.probe_text,
            list(spec.probe_vector),
        ],
    )


def _insert(connection: duckdb.DuckDBPyConnection, row: Row, *, contract: bool) -> None:
    thread_id = f"{row.workspace}:{row.channel}:{row.thread}" if row.thread is not None else None
    root = row.root if row.root is not None else thread_id
    ts_us = START_US + row.minute * MINUTE_US
    lexical = row.lexical
    if lexical is None:
        lexical = row.text if contract else " ".join(tokenize(row.text))
    connection.execute(
        f"INSERT INTO {schema.DOCUMENTS} VALUES (?, ?, ?, 'Work', 'work', ?, ?, ?, ?, ?, make_timestamptz(?), ?, ?, "
        "?, ?, ?, ?, ?, ?, 'v1', ?, ?)",
        [
            row.document_id,
            row.kind,
            row.workspace,
            row.channel,
            row.channel_name,
            row.author,
            row.author_name,
            ts_us,
            ts_us,
            thread_id,
            root,
            row.parent,
            row.thread is not None and not row.parent and row.kind == "message",
            row.broadcast,
            row.text,
            lexical,
            row.text,
            json.dumps(dict(row.metadata)),
            row.permalink,
        ],
    )
    if row.vector is not None:
        connection.execute(
            f"INSERT INTO {schema.VECTORS} VALUES (?, ?, ?)", [row.document_id, GENERATION, unit(row.vector).tolist()]
        )
    for position, key in enumerate(row.covers):
        message_id = key if ":" in key else f"{row.workspace}:{row.channel}:{key}"
        connection.execute(
            f"INSERT INTO {schema.DOCUMENT_MESSAGES} VALUES (?, ?, ?, ?)",
            [row.document_id, position, message_id, message_id.split(":")[1]],
        )
