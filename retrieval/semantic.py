"""The semantic ranked list: exact cosine against every allowed vector."""

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.filters import Predicate
from retrieval.lexical import ranked_list
from retrieval.models import RankedList, Retriever

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COMPARES_BITS: Final = platform.machine().lower() in {"x86_64", "amd64"}
SCORE_DECIMALS: Final = 6
_ORDER_SQL: Final = "score" if COMPARES_BITS else f"round(score, {SCORE_DECIMALS})"


def rank_semantic(
    cursor: "DuckDBPyConnection", query: NDArray[np.float32], predicate: Predicate, *, limit: int
) -> RankedList:
    """Return the documents nearest to *query* that satisfy *predicate*, at most *limit*.

    The score is DuckDB's float32 `array_cosine_similarity`, higher is nearer; ties by document_id. On processors
    other than x86-64 it is compared after rounding to 6 decimals, since compilers there fuse operations. No
    approximation: every vector that the predicate leaves is compared.

    Args:
        cursor: A cursor of the artifact.
        query: `(dims,)` float32, of the artifact's own length.
        predicate: What a document must satisfy.
        limit: How many at most.
    """
    dimensions = int(query.shape[0])
    rows = cursor.execute(
        f"SELECT v.document_id, array_cosine_similarity(v.embedding, ?::FLOAT[{dimensions}]) AS score "
        f"FROM {schema.VECTORS} v JOIN {schema.DOCUMENTS} d USING (document_id) WHERE {predicate.sql} "
        f"ORDER BY {_ORDER_SQL} DESC, v.document_id LIMIT ?",
        [query.tolist(), *predicate.parameters, limit],
    ).fetchall()
    return ranked_list(Retriever.SEMANTIC, rows)


def semantic_scores(
    cursor: "DuckDBPyConnection", query: NDArray[np.float32], document_ids: Sequence[str]
) -> dict[str, float]:
    """Return the cosine with *query*, `(dims,)` float32, of those of some documents that have a vector."""
    rows = cursor.execute(
        f"SELECT document_id, array_cosine_similarity(embedding, ?::FLOAT[{int(query.shape[0])}]) "
        f"FROM {schema.VECTORS} WHERE document_id IN (SELECT unnest(?::VARCHAR[]))",
        [query.tolist(), list(document_ids)],
    ).fetchall()
    return dict(rows)
