"""The reader that asks DuckDB for everything: the definition of every list, and what a small machine uses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.context import rank_context, window_scores
from retrieval.documents import cited_times, count_threads
from retrieval.exact import rank_exact
from retrieval.filters import Predicate, document_predicate, place_predicate, window_predicate
from retrieval.lexical import QueryTerms, coverage, lexical_scores, rank_lexical, read_terms, score_documents
from retrieval.models import DocumentKind, Filters, RankedList
from retrieval.semantic import rank_semantic, semantic_scores
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MESSAGE = Predicate("d.document_kind = 'message'")


class DuckDBReader:
    """Ranked lists by SQL over one cursor, whose temporary table `lexical_scores` is this search's own."""

    def __init__(
        self, artifact: Artifact, cursor: "DuckDBPyConnection", *, filters: Filters, visibility: Visibility
    ) -> None:
        """Prepare one search.

        Raises:
            FilterError: The filters cannot be applied.
        """
        self._artifact = artifact
        self._cursor = cursor
        self._mapped = schema.DOCUMENT_MESSAGES in artifact.info.capabilities
        self._shares = self._mapped and artifact.has_file_chunks
        self._documents = document_predicate(filters, visibility, shares=self._shares)
        self._places = place_predicate(filters, visibility)
        self._windows = window_predicate(filters, visibility)
        self._visible = place_predicate(Filters(), visibility)
        self._terms = QueryTerms(tokens=(), idf={}, capped=False)

    def read_terms(self, words: Sequence[str]) -> QueryTerms:
        """Return the query's terms and fill `lexical_scores`."""
        self._terms = read_terms(self._cursor, words, config=self._artifact.info.fts_config)
        score_documents(self._cursor, self._terms.tokens)
        return self._terms

    def lexical(self, *, limit: int) -> RankedList:
        """Return the best allowed documents by BM25."""
        return rank_lexical(self._cursor, self._documents, limit=limit)

    def coverage(self, document_id: str) -> float:
        """Return the share of the query's idf that a document holds, 0..1."""
        return coverage(self._cursor, self._terms, document_id)

    def context(self, *, limit: int) -> tuple[RankedList, int]:
        """Return the messages that the best windows stand for, and how many windows had none."""
        messages = _MESSAGE & self._documents
        return rank_context(self._cursor, self._windows, messages, limit=limit, mapped=self._mapped)

    def exact(self, wanted: Sequence[str], *, limit: int) -> RankedList:
        """Return the allowed documents that hold every string of *wanted* verbatim."""
        own_text = self._artifact.info.analyzer is not None
        return rank_exact(self._cursor, wanted, self._documents, limit=limit, own_text=own_text)

    def semantic(self, vector: NDArray[np.float32], *, limit: int) -> RankedList:
        """Return the allowed documents nearest to *vector*."""
        return rank_semantic(self._cursor, vector, self._documents, limit=limit)

    def allows_beside(self) -> bool:
        """Return False: a cursor is for one thread, and DuckDB takes all processors for one query."""
        return False

    def lexical_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return BM25's score of those documents that hold any of the query's terms."""
        return lexical_scores(self._cursor, document_ids)

    def semantic_scores(self, vector: NDArray[np.float32], document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine with *vector* of those documents that have a vector."""
        return semantic_scores(self._cursor, vector, document_ids)

    def window_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the best BM25 score of any allowed thread window that covers a message."""
        return window_scores(self._cursor, document_ids, self._windows, mapped=self._mapped)

    def threads(self, document_ids: Sequence[str]) -> Mapping[str, str | None]:
        """Return the thread of each document."""
        return dict(self._column("thread_id", document_ids))

    def thread_sizes(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """Return how many messages of each thread may be seen."""
        return count_threads(self._cursor, thread_ids, self._visible)

    def times(self, document_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the time of each document."""
        times = dict(self._column("ts_us", document_ids))
        if self._shares and times:
            kinds = dict(self._column("document_kind", document_ids))
            chunks = sorted(one for one, kind in kinds.items() if kind == DocumentKind.FILE_CHUNK)
            times |= cited_times(self._cursor, chunks, self._places)
        return times

    def by_time(self, *, newest_first: bool, limit: int) -> list[str]:
        """Return allowed documents by time."""
        direction = "DESC" if newest_first else "ASC"
        rows = self._cursor.execute(
            f"SELECT d.document_id FROM {schema.DOCUMENTS} d WHERE {self._documents.sql} "
            f"ORDER BY d.ts_us {direction}, d.document_id LIMIT ?",
            [*self._documents.parameters, limit],
        ).fetchall()
        return [row[0] for row in rows]

    def _column(self, column: str, document_ids: Sequence[str]) -> list[tuple[str, Any]]:
        return self._cursor.execute(
            f"SELECT document_id, {column} FROM {schema.DOCUMENTS} WHERE document_id IN (SELECT unnest(?::VARCHAR[]))",
            [list(document_ids)],
        ).fetchall()
