"""Larger archives out of one: the same documents again under new ids, with random unit vectors."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from retrieval import fts, schema
from retrieval.builder.resident_image import store_image

GENERATION: Final = "random"
_PORTION: Final = 10_000
_INDEX: Final = schema.FTS_SCHEMA


def scaled_artifact(source: Path, target: Path, *, copies: int, vectors: int, dimensions: int = 512) -> Path:
    """Write an artifact of *copies* times the documents of *source*, unless it is there already.

    The full-text index is copied row by row with its statistics, as making it anew would give them.

    Args:
        source: An artifact without vectors, or whose vectors are not wanted.
        target: The new file.
        copies: How often each document stands in it, at least once.
        vectors: How many messages get a random vector of norm 1.
        dimensions: Their length.
    """
    if target.exists():
        return target
    unfinished = target.with_suffix(".unfinished")
    shutil.copyfile(source, unfinished)
    unfinished.chmod(0o644)
    with duckdb.connect(str(unfinished), config={"autoinstall_known_extensions": False}) as connection:
        fts.load_fts(connection)
        for copy in range(1, copies):
            _add_copy(connection, f"~{copy}", copy)
        connection.execute(f"UPDATE {_INDEX}.dict SET df = df * {copies}")
        connection.execute(f"UPDATE {_INDEX}.stats SET num_docs = num_docs * {copies}")
        connection.execute(f"DROP TABLE IF EXISTS {schema.LEXICAL_POSTINGS}")
        fts.create_postings(connection)
        _write_vectors(connection, vectors, dimensions)
        connection.execute(f"DROP TABLE IF EXISTS {schema.RESIDENT_PARTS}")
        connection.execute(f"DROP TABLE IF EXISTS {schema.RESIDENT_WORDS}")
        store_image(connection, dimensions=dimensions)
        connection.execute(
            f"UPDATE {schema.METADATA} SET build_id = build_id || '-x{copies}', generation_id = '{GENERATION}', "
            f"document_count = (SELECT count(*) FROM {schema.DOCUMENTS}), "
            f"vector_count = (SELECT count(*) FROM {schema.VECTORS})"
        )
        connection.execute(f"DELETE FROM {schema.EMBEDDING_SPEC}")
        connection.execute("CHECKPOINT")
    unfinished.rename(target)
    return target


def _add_copy(connection: duckdb.DuckDBPyConnection, suffix: str, copy: int) -> None:
    original = "NOT contains(document_id, '~')"
    new = f"|| '{suffix}'"
    connection.execute(
        f"INSERT INTO {schema.DOCUMENTS} SELECT * REPLACE (document_id {new} AS document_id, thread_id {new} AS "
        f"thread_id, thread_root_id {new} AS thread_root_id) FROM {schema.DOCUMENTS} WHERE {original}"
    )
    connection.execute(
        f"INSERT INTO {schema.DOCUMENT_MESSAGES} SELECT * REPLACE (document_id {new} AS document_id, "
        f"message_id {new} AS message_id) FROM {schema.DOCUMENT_MESSAGES} WHERE {original}"
    )
    count = f"{copy} * (SELECT max(docid) + 1 FROM {_INDEX}.docs WHERE NOT contains(name, '~'))"
    own = f"docid < (SELECT max(docid) + 1 FROM {_INDEX}.docs WHERE NOT contains(name, '~'))"
    connection.execute(
        f"INSERT INTO {_INDEX}.terms SELECT * REPLACE (docid + {count} AS docid) FROM {_INDEX}.terms WHERE {own}"
    )
    connection.execute(
        f"INSERT INTO {_INDEX}.docs SELECT * REPLACE (docid + {count} AS docid, name {new} AS name) "
        f"FROM {_INDEX}.docs WHERE NOT contains(name, '~')"
    )


def _write_vectors(connection: duckdb.DuckDBPyConnection, count: int, dimensions: int) -> None:
    connection.execute(f"DROP TABLE {schema.VECTORS}")
    connection.execute("SET force_compression = 'uncompressed'")
    connection.execute(schema.VECTORS_DDL.format(dimensions=dimensions))
    ids = connection.execute(
        f"SELECT document_id FROM {schema.DOCUMENTS} WHERE document_kind = 'message' ORDER BY document_id LIMIT {count}"
    ).fetchnumpy()["document_id"]
    array = f"array_value({', '.join(f'c{index}' for index in range(dimensions))})"
    for start, block in random_vectors(len(ids), dimensions):
        columns: dict[str, NDArray[np.generic]] = {
            f"c{i}": np.ascontiguousarray(block[:, i]) for i in range(dimensions)
        }
        columns["document_id"] = np.array(ids[start : start + len(block)], dtype=object)
        connection.register("portion", columns)
        connection.execute(f"INSERT INTO {schema.VECTORS} SELECT document_id, '{GENERATION}', {array} FROM portion")
        connection.unregister("portion")
    connection.execute("CHECKPOINT")
    connection.execute("SET force_compression = 'auto'")


def random_vectors(count: int, dimensions: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield random unit vectors in portions, each with the number of those before it."""
    generator = np.random.default_rng(20261130)
    for start in range(0, count, _PORTION):
        block = generator.standard_normal((min(_PORTION, count - start), dimensions))
        yield start, (block / np.linalg.norm(block, axis=1, keepdims=True)).astype(np.float32)
