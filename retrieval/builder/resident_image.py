"""Stores in an artifact what its readers will hold in memory, so that they need not compute it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.resident.image import FORMAT, MATRIX, WORD_BYTES, Array, image_format, pack, sealed
from retrieval.resident.resident import read_resident
from retrieval.resident.storage import Digest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Words inserted at once, about.
_BATCH_WORDS: Final = 4_000_000


def store_image(connection: "DuckDBPyConnection", *, dimensions: int | None) -> None:
    """Store the arrays of an artifact whose tables, index and postings are complete, and write them to its file.

    Memory: what a reader of this artifact holds, and the vectors once more while their digest is made.

    Args:
        connection: Of an artifact of this project's own making.
        dimensions: Length of a vector, None where there are none.
    """
    with connection.cursor() as cursor:
        resident = read_resident(cursor, mapped=True, presorted=True, own_text=True, dimensions=dimensions)
        parts = {FORMAT: np.frombuffer(image_format(cursor), dtype=np.uint8), **pack(resident)}
    # Read as it is; and compressing it gains little where it is most.
    connection.execute("CHECKPOINT")
    connection.execute("SET force_compression = 'uncompressed'")
    connection.execute(schema.RESIDENT_PARTS_DDL)
    connection.execute(schema.RESIDENT_WORDS_DDL)
    first = 0
    for batch in _batches(parts):
        for name, array in batch.items():
            _add_part(connection, name, array, first_word=first)
            first += _words(array)
        _add_words(connection, batch)
    # Only where a vector's place in its table is that of its document among all that have one.
    if resident.vectors is not None and _in_order(connection):
        codes = resident.vectors.quantized.codes
        connection.execute(
            f"INSERT INTO {schema.RESIDENT_PARTS} VALUES (?, ?, ?, NULL, 0)",
            [MATRIX, np.dtype(np.float32).str, codes.size],
        )
    connection.execute("CHECKPOINT")
    connection.execute("SET force_compression = 'auto'")


def _batches(parts: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    batch: dict[str, Array] = {}
    for name, array in parts.items():
        batch[name] = array
        if sum(map(_words, batch.values())) >= _BATCH_WORDS:
            yield batch
            batch = {}
    if batch:
        yield batch


def _words(array: Array) -> int:
    return -(-array.nbytes // WORD_BYTES)


def _add_part(connection: "DuckDBPyConnection", name: str, array: Array, *, first_word: int | None) -> None:
    digest = Digest(np.ascontiguousarray(array).view(np.uint8).data).value() if len(array) else 0
    kind, length = array.dtype.str, len(array)
    connection.execute(
        f"INSERT INTO {schema.RESIDENT_PARTS} VALUES (?, ?, ?, ?, ?)",
        [name, kind, length, first_word, sealed(name, kind, length, digest)],
    )


def _add_words(connection: "DuckDBPyConnection", batch: Mapping[str, Array]) -> None:
    words = np.zeros(sum(map(_words, batch.values())), dtype=np.uint64)
    content: NDArray[np.uint8] = words.view(np.uint8)
    filled = 0
    for array in batch.values():
        content[filled : filled + array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
        filled += _words(array) * WORD_BYTES
    connection.register("resident_batch", {"word": words})
    connection.execute(f"INSERT INTO {schema.RESIDENT_WORDS} SELECT word FROM resident_batch")
    connection.unregister("resident_batch")


def _in_order(connection: "DuckDBPyConnection") -> bool:
    """Return whether the vectors stand in the order of their documents' ids, and none is of a thread window."""
    row = connection.execute(
        "SELECT coalesce(bool_and(document_kind IN ('message', 'file_chunk') AND (last IS NULL OR last < "
        "document_id)), true) FROM (SELECT v.document_id, d.document_kind, "
        f"lag(v.document_id) OVER (ORDER BY v.rowid) AS last FROM {schema.VECTORS} v "
        f"JOIN {schema.DOCUMENTS} d USING (document_id))"
    ).fetchone()
    return bool(row and row[0])
