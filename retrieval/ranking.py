"""Ranking one query in one mode: retrievers, fusion and folding, over one cursor of one artifact."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import notices, schema
from retrieval.analyzer import ANALYZER_VERSION, tokenize
from retrieval.artifact import Artifact
from retrieval.context import rank_context
from retrieval.errors import ArtifactReadError, EmbeddingError
from retrieval.exact import rank_exact
from retrieval.filters import Predicate, document_predicate, place_predicate, window_predicate
from retrieval.fusion import fold_threads, reciprocal_rank_fusion
from retrieval.lexical import QueryTerms, coverage, rank_lexical, read_terms, score_documents
from retrieval.models import (
    Contribution,
    FusedCandidate,
    Fusion,
    RankedList,
    Retriever,
    SearchRequest,
    Sort,
)
from retrieval.routing import Route
from retrieval.semantic import rank_semantic
from retrieval.timings import Stopwatch
from retrieval.visibility import Visibility
from retrieval.weights import list_weights

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Candidates of each list in hybrid mode.
DEPTH: Final = 100
CONTEXT_WINDOWS: Final = 60

Embedding = Future[NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A ranked list ready to be paged.

    Attributes:
        candidates: Best first, from `start` on; in hybrid mode always the whole list.
        weights: The effective weight of each list in hybrid mode, else empty.
        warnings: Plain sentences.
        degraded: Whether the vector was missed and keyword search answered alone.
        terms: The query's tokens as the index holds them.
    """

    candidates: tuple[FusedCandidate, ...]
    weights: Mapping[str, float]
    warnings: tuple[str, ...]
    degraded: bool
    terms: tuple[str, ...]


class Ranker:
    """The retrievers of one search; one thread, one cursor, used once."""

    def __init__(
        self,
        artifact: Artifact,
        cursor: "DuckDBPyConnection",
        request: SearchRequest,
        *,
        route: Route,
        visibility: Visibility,
        stopwatch: Stopwatch,
    ) -> None:
        """Prepare a search.

        Args:
            artifact: What is searched.
            cursor: A cursor of it; its temporary table `lexical_scores` is this search's own.
            request: The request, validated.
            route: The query's class, identifiers and phrases.
            visibility: What the asker may see.
            stopwatch: Where stages are timed.
        """
        self._artifact = artifact
        self._cursor = cursor
        self._request = request
        self._route = route
        self._stopwatch = stopwatch
        self._warnings: list[str] = []
        self._mapped = schema.DOCUMENT_MESSAGES in artifact.info.capabilities
        shares = self._mapped and artifact.has_file_chunks
        self._documents = document_predicate(request.filters, visibility, shares=shares)
        self._messages = place_predicate(request.filters, visibility)
        self._windows = window_predicate(request.filters, visibility)
        self._own = artifact.info.analyzer is not None

    def lexical(self, *, limit: int) -> Ranking:
        """Rank by BM25 alone; where the index holds no digits, verbatim identifiers stand first."""
        terms = self._score()
        ranked = self._timed_lexical(limit)
        lists = [ranked]
        if not self._artifact.info.indexes_digits and self._route.identifiers:
            self._warnings.append(notices.DIGITS)
            lists.insert(0, self._exact(limit=limit))
        return self._finish(_concatenated(lists), terms=terms)

    def semantic(self, embedding: Embedding, *, limit: int) -> Ranking:
        """Rank by the vector alone.

        Raises:
            EmbeddingError: The query has no vector.
        """
        with self._stopwatch.stage("embedding"):
            vector = embedding.result()
        ranked = self._timed_semantic(vector, limit)
        terms = QueryTerms(tokens=tuple(dict.fromkeys(tokenize(self._request.text))), idf={}, capped=False)
        return self._finish(_concatenated([ranked]), terms=terms)

    def hybrid(self, embedding: Embedding, *, fusion: Fusion) -> Ranking:
        """Rank by the fusion of all lists and fold threads over the whole list.

        The vector missing, or the keyword index failing, costs its list alone and is said in a warning.
        """
        terms, keyword_lists, share = self._keyword_lists(fusion)
        weights = list_weights(fusion, self._route.query_class, share, known_script=self._route.known_script)
        if not self._route.known_script:
            self._warnings.append(notices.UNKNOWN_SCRIPT)
        semantic, degraded = self._semantic_list(embedding, weights)
        lists = [*keyword_lists, *semantic]
        present = {one.retriever for one in lists}
        used = {retriever: weight for retriever, weight in weights.items() if retriever in present}
        with self._stopwatch.stage("fusion"):
            fused = fold_threads(reciprocal_rank_fusion(lists, used), self._thread_lookup(lists))
        ranking = self._finish(fused, terms=terms)
        named = {retriever.value: weight for retriever, weight in used.items()}
        return replace(ranking, weights=named, degraded=degraded)

    def newest(self, *, limit: int) -> Ranking:
        """List what satisfies the filters by time, for a request without words."""
        descending = self._request.sort is not Sort.OLDEST
        direction = "DESC" if descending else "ASC"
        rows = self._cursor.execute(
            f"SELECT d.document_id FROM {schema.DOCUMENTS} d WHERE {self._documents.sql} "
            f"ORDER BY d.ts_us {direction}, d.document_id LIMIT ?",
            [*self._documents.parameters, limit],
        ).fetchall()
        if descending:
            self._warnings.append(notices.NEWEST_ONLY)
        return Ranking(
            candidates=tuple(FusedCandidate(document_id=row[0], score=0.0, contributions=()) for row in rows),
            weights={},
            warnings=tuple(self._warnings),
            degraded=False,
            terms=(),
        )

    def _keyword_lists(self, fusion: Fusion) -> tuple[QueryTerms, list[RankedList], float]:
        try:
            with self._artifact.reading():
                terms = self._score()
                lexical = self._timed_lexical(DEPTH)
                best = lexical.candidates[:1]
                share = coverage(self._cursor, terms, best[0].document_id) if best else 0.0
                lists = [lexical]
                if fusion is not Fusion.RRF_FIXED:
                    lists += [self._context(), self._exact(limit=DEPTH)]
        except ArtifactReadError as error:
            self._warnings.append(notices.NO_KEYWORDS.format(reason=str(error).rstrip(".")))
            return QueryTerms(tokens=(), idf={}, capped=False), [], 0.0
        return terms, lists, share

    def _score(self) -> QueryTerms:
        info = self._artifact.info
        words = tokenize(self._request.text) if self._own else self._foreign_words()
        with self._stopwatch.stage("lexical"):
            terms = read_terms(self._cursor, list(dict.fromkeys(words)), config=info.fts_config)
            score_documents(self._cursor, terms.tokens)
        if terms.capped:
            self._warnings.append(notices.CAPPED.format(count=len(terms.tokens)))
        if info.analyzer not in {None, ANALYZER_VERSION}:
            self._warnings.append(notices.ANALYZER.format(version=info.analyzer))
        return terms

    def _foreign_words(self) -> list[str]:
        """Return the words for an index of another tool, without those that it would cut into wrong ones."""
        words = self._request.text.split()
        if self._artifact.info.indexes_digits:
            return words
        return [word for word in words if not any(character.isdigit() or character == "_" for character in word)]

    def _timed_lexical(self, limit: int) -> RankedList:
        with self._stopwatch.stage("lexical"):
            return rank_lexical(self._cursor, self._documents, limit=limit)

    def _timed_semantic(self, vector: NDArray[np.float32], limit: int) -> RankedList:
        with self._stopwatch.stage("semantic"):
            return rank_semantic(self._cursor, vector, self._documents, limit=limit)

    def _exact(self, *, limit: int) -> RankedList:
        with self._stopwatch.stage("exact"):
            wanted = (*self._route.identifiers, *self._route.phrases)
            return rank_exact(self._cursor, wanted, self._documents, limit=limit, own_text=self._own)

    def _context(self) -> RankedList:
        with self._stopwatch.stage("context"):
            ranked, orphans = rank_context(
                self._cursor, self._windows, self._window_messages(), limit=CONTEXT_WINDOWS, mapped=self._mapped
            )
        if orphans:
            self._warnings.append(notices.ORPHANS)
        return ranked

    def _window_messages(self) -> Predicate:
        return Predicate("d.document_kind = 'message'") & self._documents

    def _semantic_list(self, embedding: Embedding, weights: Mapping[Retriever, float]) -> tuple[list[RankedList], bool]:
        if Retriever.SEMANTIC not in weights:
            return [], False
        if self._artifact.info.vector_count == 0:
            self._warnings.append(notices.NO_VECTORS)
            return [], True
        try:
            with self._stopwatch.stage("embedding"):
                vector = embedding.result()
        except EmbeddingError as error:
            self._warnings.append(notices.DEGRADED.format(reason=str(error).rstrip(".")))
            return [], True
        return [self._timed_semantic(vector, DEPTH)], False

    def _thread_lookup(self, lists: list[RankedList]) -> "ThreadLookup":
        ids = sorted({candidate.document_id for one in lists for candidate in one.candidates})
        rows = self._cursor.execute(
            f"SELECT document_id, thread_id FROM {schema.DOCUMENTS} WHERE document_id IN (SELECT unnest(?::VARCHAR[]))",
            [ids],
        ).fetchall()
        return ThreadLookup(dict(rows))

    def _finish(self, candidates: tuple[FusedCandidate, ...], *, terms: QueryTerms) -> Ranking:
        if self._request.sort is not Sort.RELEVANCE:
            candidates = self._by_time(candidates)
        return Ranking(
            candidates=candidates,
            weights={},
            warnings=tuple(dict.fromkeys(self._warnings)),
            degraded=False,
            terms=terms.tokens,
        )

    def _by_time(self, candidates: tuple[FusedCandidate, ...]) -> tuple[FusedCandidate, ...]:
        times = dict(
            self._cursor.execute(
                f"SELECT document_id, ts_us FROM {schema.DOCUMENTS} WHERE document_id IN (SELECT unnest(?::VARCHAR[]))",
                [[one.document_id for one in candidates]],
            ).fetchall()
        )
        sign = -1 if self._request.sort is Sort.NEWEST else 1
        self._warnings.append(notices.SORTED.format(count=len(candidates)))
        return tuple(sorted(candidates, key=lambda one: (sign * times.get(one.document_id, 0), one.document_id)))


class ThreadLookup:
    """The thread of each of a set of documents."""

    def __init__(self, threads: Mapping[str, str | None]) -> None:
        self._threads = threads

    def __call__(self, document_id: str) -> str | None:
        """Return the thread of *document_id*, None where it belongs to none."""
        return self._threads.get(document_id)


def _concatenated(lists: list[RankedList]) -> tuple[FusedCandidate, ...]:
    """Return the lists one after the other, a document once, each with its own score as its one contribution."""
    candidates: dict[str, FusedCandidate] = {}
    for ranked in lists:
        for one in ranked.candidates:
            contribution = Contribution(
                retriever=ranked.retriever, rank=one.rank, score=one.score, weight=1.0, value=one.score
            )
            candidates.setdefault(
                one.document_id,
                FusedCandidate(document_id=one.document_id, score=one.score, contributions=(contribution,)),
            )
    return tuple(candidates.values())
