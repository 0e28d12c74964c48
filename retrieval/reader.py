"""What ranking asks of an artifact: one small interface, so that faster readers can stand in for DuckDB's."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.lexical import QueryTerms
from retrieval.models import RankedList


class Reader(Protocol):
    """The ranked lists of one search: its filters and visibility are already part of it.

    `match_bm25` and `array_cosine_similarity` define the lists: lexical order is (round(score, 9) descending,
    document_id), semantic order (float32 score descending, document_id). For one thread, used for one search.
    """

    def read_terms(self, words: Sequence[str]) -> QueryTerms:
        """Return the query's terms as the index holds them, and score every document that holds any.

        Called once, before every method but `semantic`.
        """
        ...

    def lexical(self, *, limit: int) -> RankedList:
        """Return the best allowed documents by BM25."""
        ...

    def coverage(self, document_id: str) -> float:
        """Return the share of the query's idf that a document holds, 0..1."""
        ...

    def context(self, *, limit: int) -> tuple[RankedList, int]:
        """Return the messages that the best *limit* thread windows stand for, and how many windows had none."""
        ...

    def exact(self, wanted: Sequence[str], *, limit: int) -> RankedList:
        """Return the allowed documents that hold every string of *wanted* verbatim, case aside."""
        ...

    def semantic(self, vector: NDArray[np.float32], *, limit: int) -> RankedList:
        """Return the allowed documents nearest to *vector*, `(dims,)`, by exact cosine."""
        ...

    def allows_beside(self) -> bool:
        """Return whether `semantic` may run in another thread while this one asks for the other lists.

        To be asked before that other thread begins: what both need is made here.
        """
        ...

    def lexical_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return BM25's score, rounded to 9 decimals, of those documents that hold any of the query's terms."""
        ...

    def semantic_scores(self, vector: NDArray[np.float32], document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine with *vector*, `(dims,)`, of those documents that have a vector."""
        ...

    def window_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the best BM25 score, rounded to 9 decimals, of any allowed thread window that covers a message.

        Messages that no matching window covers are left out.
        """
        ...

    def threads(self, document_ids: Sequence[str]) -> Mapping[str, str | None]:
        """Return the thread of each document, None where it belongs to none."""
        ...

    def thread_sizes(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """Return how many messages of each thread may be seen, whatever the filters; others are left out."""
        ...

    def times(self, document_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the time of each document, Unix microseconds; a file chunk's is that of the message it is cited by."""
        ...

    def by_time(self, *, newest_first: bool, limit: int) -> list[str]:
        """Return allowed documents by time, ties by document_id."""
        ...
