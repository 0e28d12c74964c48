"""Unit vectors in memory, and the exact nearest of them by DuckDB's own arithmetic.

A matrix product estimates every cosine; the few that could be among the best are computed again as DuckDB's
`array_cosine_similarity` computes them: products, then sums from the first to the last, all in float32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.errors import ArtifactInvalidError
from retrieval.resident.columns import Columns
from retrieval.resident.selection import leading
from retrieval.semantic import COMPARES_BITS, SCORE_DECIMALS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows copied together, when only some are compared: 1024 of 512 numbers stay in the processor's cache.
_CHUNK: Final = 1024
# Copying a row costs about twice what multiplying it in place does.
_COPY_BELOW: Final = 0.33
_PORTION: Final = 16_384
# Beyond this a vector is no unit vector, and estimates would say little.
_MAX_DEVIATION: Final = 1e-3
_ROUNDING: Final = 1 / 2**24
_ROUNDED_STEP: Final = float(f"1e-{SCORE_DECIMALS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of messages and file chunks; read-only, shared by threads.

    Attributes:
        matrix: `(n, dims)` float32, C-contiguous, ascending by row of the document.
        rows: `(n,)` int32, the documents' rows, None where vector i is of row i.
        deviation: The most by which a vector's length differs from 1.
    """

    matrix: NDArray[np.float32]
    rows: NDArray[np.int32] | None
    deviation: float

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return self.matrix.nbytes + (0 if self.rows is None else self.rows.nbytes)

    def nearest(
        self, query: NDArray[np.float32], limit: int, *, mask: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return rows of documents and cosines of the nearest, by (cosine descending, row).

        Args:
            query: `(dims,)`, finite and not zero.
            limit: How many at most.
            mask: `(searchable,)`, the rows that are allowed; None for all.
        """
        vectors, estimates = self._estimates(query, mask)
        found = leading(estimates, limit, margin=self._margin, above=-np.inf)
        chosen = found if vectors is None else vectors[found]
        scores = self.cosines(query, chosen)
        order = np.lexsort((chosen, -_compared(scores)))[:limit]
        return self.rows_of(chosen[order]), scores[order]

    def rows_of(self, vectors: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the documents' rows of some vectors."""
        return vectors if self.rows is None else self.rows[vectors].astype(np.intp)

    def vectors_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the vectors of those of some documents that have one, and those documents' places in *rows*."""
        if self.rows is None:
            return rows, np.arange(len(rows))
        found = np.searchsorted(self.rows, rows)
        places = np.flatnonzero(self.rows[np.minimum(found, len(self.rows) - 1)] == rows)
        return found[places], places

    def cosines(self, query: NDArray[np.float32], vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the cosine of *query* with each of *vectors* as DuckDB computes it."""
        own = _sums(np.square(query)[np.newaxis])
        parts = [np.empty(0, dtype=np.float32)]
        for start in range(0, len(vectors), _CHUNK):
            block = self.matrix[vectors[start : start + _CHUNK]]
            cosines = _sums(block * query) / np.sqrt(_sums(np.square(block)) * own)
            parts.append(np.clip(cosines, np.float32(-1), np.float32(1)))
        return np.concatenate(parts)

    @property
    def _margin(self) -> float:
        # Of each of two scores: dot product and both norms, summed in any two orders, and a length that is not 1.
        dimensions: int = self.matrix.shape[1]
        rounding = 0.0 if COMPARES_BITS else _ROUNDED_STEP
        return 2.0 * (3 * (dimensions + 2) * _ROUNDING + 2 * self.deviation + rounding)

    def _estimates(
        self, query: NDArray[np.float32], mask: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.intp] | None, NDArray[np.float32]]:
        """Return which vectors were compared, None for all, and their estimated cosines."""
        unit = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
        if mask is None:
            return None, self.matrix @ unit
        allowed = mask if self.rows is None else mask[self.rows]
        vectors = np.flatnonzero(allowed)
        if len(vectors) >= _COPY_BELOW * len(allowed):
            estimates = self.matrix @ unit
            estimates[~allowed] = -np.inf
            return None, estimates
        estimates = np.empty(len(vectors), dtype=np.float32)
        for start in range(0, len(vectors), _CHUNK):
            part = vectors[start : start + _CHUNK]
            np.dot(self.matrix[part], unit, out=estimates[start : start + len(part)])
        return vectors, estimates


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
    if deviation > _MAX_DEVIATION:
        raise ArtifactInvalidError("A vector is not of length 1.", check="vector_norm")
    identity = np.array_equal(rows, np.arange(columns.searchable))
    return Vectors(matrix=matrix, rows=None if identity else rows, deviation=deviation)


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


def _compared(scores: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
    return scores if COMPARES_BITS else np.round(scores.astype(np.float64), SCORE_DECIMALS)


def _sums(products: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sum of each row, added from the first to the last in float32; `np.sum` adds pairwise."""
    sums: NDArray[np.float32] = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
    return sums
