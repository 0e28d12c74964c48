"""Unit vectors, and the exact nearest of them by DuckDB's own arithmetic.

Vectors in a byte a number say between which two numbers every cosine lies; the few that could be among the best are
computed from the vectors as they are, as DuckDB's `array_cosine_similarity` does: products, then sums from the first to
the last, all in float32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.errors import ArtifactInvalidError, ArtifactReadError
from retrieval.resident.columns import Columns
from retrieval.resident.product import integer_product
from retrieval.resident.quantization import Estimates, Quantized
from retrieval.resident.rows import HeldRows, VectorRows
from retrieval.resident.selection import leading
from retrieval.semantic import COMPARES_BITS, SCORE_DECIMALS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Vectors copied together: 1024 of 512 numbers stay in the processor's cache.
_CHUNK: Final = 1024
# Copying codes costs about twice what multiplying them in place does.
_COPY_BELOW: Final = 0.33
_PORTION: Final = 16_384
# Beyond this a vector is no unit vector, and estimates would say little.
MAX_DEVIATION: Final = 1e-3
_ROUNDING: Final = 1 / 2**24
_ROUNDED_STEP: Final = float(f"1e-{SCORE_DECIMALS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of messages and file chunks; read-only, shared by threads.

    Attributes:
        quantized: Every vector in a byte a number, ascending by row of the document.
        rows: The same vectors as they are, `(n, dims)` float32.
        documents: `(n,)` int32, the documents' rows, None where vector i is of row i.
        deviation: The most by which a vector's length differs from 1.
    """

    quantized: Quantized
    rows: VectorRows
    documents: NDArray[np.int32] | None
    deviation: float

    def __len__(self) -> int:
        """How many there are."""
        return len(self.quantized.scales)

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return self.quantized.nbytes + self.rows.nbytes + (0 if self.documents is None else self.documents.nbytes)

    def nearest(
        self, query: NDArray[np.float32], limit: int, *, mask: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return rows of documents and cosines of the nearest, by (cosine descending, row).

        Args:
            query: `(dims,)`, finite and not zero.
            limit: How many at most.
            mask: `(searchable,)`, the rows that are allowed; None for all.

        Raises:
            ArtifactReplacedError: The file that holds the vectors was cut short.
            ArtifactReadError: It holds others than it did.
        """
        unit = query / np.linalg.norm(query.astype(np.float64))
        vectors, estimates = self._estimates(unit, mask)
        found = estimates.possible(limit)
        chosen = found if vectors is None else vectors[found]
        rows = self.rows.take(chosen) if len(chosen) <= _CHUNK else None
        products = self._products(unit.astype(np.float32), chosen, rows)
        # The vectors lie where others could have written; their codes were compared with a digest when they were read.
        if not (np.abs(products - estimates.values[found]) <= estimates.bounds(found)).all():
            raise ArtifactReadError("The artifact's file holds other vectors than it did.")
        near = leading(products, limit, margin=2 * self._margin, above=-np.inf)
        chosen = chosen[near]
        scores = self.cosines(query, chosen) if rows is None else _cosines(query, rows[near])
        order = np.lexsort((chosen, -_compared(scores)))[:limit]
        return self.documents_of(chosen[order]), scores[order]

    def documents_of(self, vectors: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the documents' rows of some vectors."""
        return vectors if self.documents is None else self.documents[vectors].astype(np.intp)

    def vectors_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the vectors of those of some documents that have one, and those documents' places in *rows*."""
        if self.documents is None:
            return rows, np.arange(len(rows))
        if not len(self.documents):
            # All vectors are of thread windows.
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        found = np.searchsorted(self.documents, rows)
        places = np.flatnonzero(self.documents[np.minimum(found, len(self.documents) - 1)] == rows)
        return found[places], places

    def cosines(self, query: NDArray[np.float32], vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the cosine of *query* with each of *vectors* as DuckDB computes it; raises as `VectorRows` does."""
        cosines = np.empty(len(vectors), dtype=np.float32)
        for part in _parts(len(vectors)):
            cosines[part] = _cosines(query, self.rows.take(vectors[part]))
        return cosines

    def _products(
        self, unit: NDArray[np.float32], vectors: NDArray[np.intp], rows: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Return the product of *unit* with each of *vectors*, summed in any order; *rows* are these, if known."""
        if rows is not None:
            return rows @ unit
        products = np.empty(len(vectors), dtype=np.float32)
        for part in _parts(len(vectors)):
            products[part] = self.rows.take(vectors[part]) @ unit
        return products

    def warm(self) -> None:
        """Do once what the first search would wait for."""
        integer_product(self.quantized.codes[:1], np.zeros((self.quantized.codes.shape[1], 2), dtype=np.int8))

    @property
    def _margin(self) -> float:
        # Dot product and both norms, each summed in another order, and a length that is not 1.
        dimensions: int = self.quantized.codes.shape[1]
        rounding = 0.0 if COMPARES_BITS else _ROUNDED_STEP
        return 3 * (dimensions + 2) * _ROUNDING + 2 * self.deviation + rounding

    def _estimates(
        self, unit: NDArray[np.float64], mask: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.intp] | None, Estimates]:
        """Return which vectors were compared, None for all, and where their cosines with *unit* lie."""
        allowed = mask if mask is None or self.documents is None else mask.take(self.documents)
        if allowed is None:
            return None, self.quantized.estimates(unit, margin=self._margin)
        vectors = np.flatnonzero(allowed)
        if len(vectors) < _COPY_BELOW * len(allowed):
            return vectors, self.quantized.estimates(unit, margin=self._margin, vectors=vectors)
        found = self.quantized.estimates(unit, margin=self._margin)
        np.copyto(found.values, -np.inf, where=~allowed)
        return None, found


def read_vectors(cursor: "DuckDBPyConnection", columns: Columns, *, dimensions: int) -> Vectors:
    """Read the vectors of messages and file chunks.

    Raises:
        ArtifactInvalidError: A number is not finite, or a vector not of length 1.
    """
    found = cursor.execute(
        f"SELECT v.rowid AS vector, d.rowid AS document FROM {schema.VECTORS} v "
        f"JOIN {schema.DOCUMENTS} d USING (document_id)"
    ).fetchnumpy()
    rows = columns.rows[found["document"]]
    kept = rows < columns.searchable
    order = np.argsort(rows[kept], kind="stable")
    rows, vectors = rows[kept][order], found["vector"][kept][order]
    places = np.full(int(found["vector"].max(initial=-1)) + 1, -1, dtype=np.int64)
    places[vectors] = np.arange(len(vectors))
    matrix = np.empty((len(rows), dimensions), dtype=np.float32)
    deviation = 0.0
    for ids, block in _blocks(cursor, len(places), dimensions):
        deviation = max(deviation, _deviation(block))
        targets = places[ids]
        if (targets >= 0).all():
            matrix[targets] = block
        else:
            matrix[targets[targets >= 0]] = block[targets >= 0]
    if deviation > MAX_DEVIATION:
        raise ArtifactInvalidError("A vector is not of length 1.", check="vector_norm")
    identity = np.array_equal(rows, np.arange(columns.searchable))
    return Vectors(
        quantized=Quantized.of(matrix),
        rows=HeldRows(matrix),
        documents=None if identity else rows,
        deviation=deviation,
    )


def _blocks(
    cursor: "DuckDBPyConnection", end: int, dimensions: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield (rowid, vector) in portions."""
    for start in range(0, end, _PORTION):
        between = f"FROM {schema.VECTORS} WHERE rowid >= {start} AND rowid < {start + _PORTION}"
        ids = cursor.execute(f"SELECT rowid AS id {between}").fetchnumpy()["id"]
        # DuckDB hands whole arrays to numpy as objects, one by one; their numbers come as one column.
        numbers = cursor.execute(f"SELECT unnest(embedding) AS number {between}").fetchnumpy()["number"]
        yield ids, np.asarray(numbers, dtype=np.float32).reshape(-1, dimensions)


def _deviation(block: NDArray[np.float32]) -> float:
    norms = np.sqrt(np.einsum("ij,ij->i", block, block))
    deviation = float(np.abs(norms - 1).max(initial=0.0))
    if not np.isfinite(deviation):
        raise ArtifactInvalidError("A vector holds a number that is not finite.", check="vector_norm")
    return deviation


def _parts(count: int) -> Iterator[slice]:
    """Yield what is taken together: where all messages say the same, all of them are candidates."""
    return (slice(start, start + _CHUNK) for start in range(0, count, _CHUNK))


def _cosines(query: NDArray[np.float32], block: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of *query*, `(dims,)`, with each row of *block*, as DuckDB computes it."""
    own = _sums(np.square(query)[np.newaxis])
    cosines: NDArray[np.float32] = _sums(block * query) / np.sqrt(_sums(np.square(block)) * own)
    return np.clip(cosines, np.float32(-1), np.float32(1))


def _compared(scores: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
    return scores if COMPARES_BITS else np.round(scores.astype(np.float64), SCORE_DECIMALS)


def _sums(products: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sum of each row, added from the first to the last in float32; `np.sum` adds pairwise."""
    sums: NDArray[np.float32] = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
    return sums
