"""Ranking one query in one mode: retrievers, fusion and folding, over one reader of one artifact."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval import notices
from retrieval.analyzer import ANALYZER_VERSION, tokenize
from retrieval.artifact import Artifact
from retrieval.context import with_lone_messages
from retrieval.errors import ArtifactReadError, EmbeddingError
from retrieval.fusion import Evidence, Scores, fold_threads, fuse, reachable_share
from retrieval.lexical import QueryTerms
from retrieval.models import (
    Contribution,
    FusedCandidate,
    Fusion,
    RankedList,
    Retriever,
    SearchRequest,
    Sort,
)
from retrieval.reader import Reader
from retrieval.recency import days_away
from retrieval.routing import Route
from retrieval.timings import Stopwatch
from retrieval.weights import list_weights

# Candidates of each list in hybrid mode; scores tell more than ranks do, so that their fusion looks deeper.
DEPTH: Final = 100
LINEAR_DEPTH: Final = 300
CONTEXT_WINDOWS: Final = 60
# Folding needs the whole list; nobody pages further through what is merely similar.
SIMILAR_DEPTH: Final = 300

_ADAPTED: Final = (Fusion.RRF, Fusion.LINEAR)

Embedding = Future[NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A ranked list ready to be paged.

    Attributes:
        candidates: Best first; in hybrid mode always the whole list.
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
    """The ranking of one search; for one thread, used once."""

    def __init__(
        self,
        artifact: Artifact,
        reader: Reader,
        request: SearchRequest,
        *,
        route: Route,
        stopwatch: Stopwatch,
    ) -> None:
        """Prepare a search.

        Args:
            artifact: What is searched.
            reader: Its lists, of what this request's filters and its asker's visibility allow.
            request: The request, validated.
            route: The query's class, identifiers and phrases.
            stopwatch: Where stages are timed.
        """
        self._artifact = artifact
        self._reader = reader
        self._request = request
        self._route = route
        self._stopwatch = stopwatch
        self._warnings: list[str] = []

    def lexical(self, *, limit: int) -> Ranking:
        """Rank by BM25 alone; where the index holds no digits, verbatim identifiers stand first."""
        terms = self._read_terms()
        lists = [self._lexical_list(limit)]
        if not self._artifact.info.indexes_digits and self._route.identifiers:
            self._warnings.append(notices.DIGITS)
            lists.insert(0, self._exact_list(limit))
        return self._finish(_concatenated(lists), terms=terms)

    def semantic(self, embedding: Embedding, *, limit: int) -> Ranking:
        """Rank by the vector alone, and fold threads over the nearest 300 where the request asks for it.

        Raises:
            EmbeddingError: The query has no vector.
        """
        with self._stopwatch.stage("embedding"):
            vector = embedding.result()
        folds = self._request.folds_threads
        candidates = _concatenated([self._semantic_list(vector, SIMILAR_DEPTH if folds else limit)])
        if folds:
            threads = self._reader.threads([one.document_id for one in candidates])
            candidates = fold_threads(candidates, threads.get)
        terms = QueryTerms(tokens=tuple(dict.fromkeys(tokenize(self._request.text))), idf={}, capped=False)
        return self._finish(candidates, terms=terms)

    def hybrid(self, embedding: Embedding, *, fusion: Fusion) -> Ranking:
        """Rank by the fusion of all lists and fold threads over the whole list.

        The vector missing, or the keyword index failing, costs its list alone and is said in a warning.
        """
        evidence = self.gather(embedding, fusion=fusion)
        known_script = self._route.known_script
        weights = list_weights(fusion, self._route.query_class, evidence.coverage, known_script=known_script)
        present = {one.retriever for one in evidence.lists} | ({Retriever.RECENCY} if evidence.days else set())
        used = {retriever: weight for retriever, weight in weights.items() if retriever in present}
        with self._stopwatch.stage("fusion"):
            fused = fuse(fusion, evidence, used)
            threads = self._reader.threads([one.document_id for one in fused])
            folded = fold_threads(fused, threads.get)
        ranking = self._finish(folded, terms=evidence.terms)
        named = {retriever.value: weight for retriever, weight in used.items()}
        return replace(ranking, weights=named, degraded=evidence.degraded)

    def gather(self, embedding: Embedding, *, fusion: Fusion) -> Evidence:
        """Return what a fusion works on: `linear` takes the deepest lists, and scores beside them."""
        with self._beside(embedding, _depth(fusion)) as nearest:
            terms, lists, coverage = self._keyword_lists(fusion)
            vector, degraded = self._vector(embedding)
            if vector is not None:
                lists.append(nearest(vector))
        ids = sorted({one.document_id for ranked in lists for one in ranked.candidates})
        scores = self._normalised(ids, lists, terms, vector) if fusion is Fusion.LINEAR else {}
        days = days_away(self._reader.times(ids), self._asked_at_us()) if fusion in _ADAPTED else {}
        return Evidence(lists=tuple(lists), scores=scores, coverage=coverage, terms=terms, degraded=degraded, days=days)

    def _asked_at_us(self) -> int:
        asked_at_us = self._request.asked_at_us
        return self._artifact.info.built_at_us if asked_at_us is None else asked_at_us

    @contextmanager
    def _beside(self, embedding: Embedding, limit: int) -> Iterator[Callable[[NDArray[np.float32]], RankedList]]:
        """Give what returns the list by meaning; where the reader allows it, that is made beside the block's work."""
        wanted = self._route.known_script and self._artifact.info.vector_count > 0
        if not wanted or not self._reader.allows_beside():
            yield lambda vector: self._semantic_list(vector, limit)
            return
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="nearest") as executor:
            found = executor.submit(lambda: self._reader.semantic(embedding.result(), limit=limit))

            def nearest(_: NDArray[np.float32]) -> RankedList:
                # What of it the other lists did not wait for anyway.
                with self._stopwatch.stage("semantic"):
                    return found.result()

            yield nearest

    def newest(self, *, limit: int) -> Ranking:
        """List what satisfies the filters by time, for a request without words."""
        newest_first = self._request.sort is not Sort.OLDEST
        ids = self._reader.by_time(newest_first=newest_first, limit=limit)
        return Ranking(
            candidates=tuple(FusedCandidate(document_id=one, score=0.0, contributions=()) for one in ids),
            weights={},
            warnings=(notices.NEWEST_ONLY if newest_first else notices.OLDEST_ONLY,),
            degraded=False,
            terms=(),
        )

    def _keyword_lists(self, fusion: Fusion) -> tuple[QueryTerms, list[RankedList], float]:
        try:
            with self._artifact.reading():
                terms = self._read_terms()
                lexical = self._lexical_list(_depth(fusion))
                best = lexical.candidates[:1]
                coverage = self._reader.coverage(best[0].document_id) if best else 0.0
                lists = [lexical]
                if fusion in _ADAPTED:
                    lists += [self._context_list(lexical), self._exact_list(_depth(fusion))]
        except ArtifactReadError as error:
            self._warnings.append(notices.NO_KEYWORDS.format(reason=str(error).rstrip(".")))
            return QueryTerms(tokens=(), idf={}, capped=False), [], 0.0
        return terms, lists, coverage

    def _read_terms(self) -> QueryTerms:
        info = self._artifact.info
        words = tokenize(self._request.text) if info.analyzer is not None else self._foreign_words()
        with self._stopwatch.stage("lexical"):
            terms = self._reader.read_terms(list(dict.fromkeys(words)))
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

    def _lexical_list(self, limit: int) -> RankedList:
        with self._stopwatch.stage("lexical"):
            return self._reader.lexical(limit=limit)

    def _semantic_list(self, vector: NDArray[np.float32], limit: int) -> RankedList:
        with self._stopwatch.stage("semantic"):
            return self._reader.semantic(vector, limit=limit)

    def _exact_list(self, limit: int) -> RankedList:
        with self._stopwatch.stage("exact"):
            return self._reader.exact((*self._route.identifiers, *self._route.phrases), limit=limit)

    def _context_list(self, lexical: RankedList) -> RankedList:
        with self._stopwatch.stage("context"):
            windows, orphans = self._reader.context(limit=CONTEXT_WINDOWS)
            shallow = lexical.candidates[:DEPTH]
            threads = self._reader.threads([one.document_id for one in shallow]) if windows.candidates else {}
        if orphans:
            self._warnings.append(notices.ORPHANS)
        lone = [one for one in shallow if threads.get(one.document_id) is None]
        return with_lone_messages(windows, lone, limit=CONTEXT_WINDOWS)

    def _vector(self, embedding: Embedding) -> tuple[NDArray[np.float32] | None, bool]:
        """Return the query's vector, None where it takes no part, and whether it was missed."""
        if not self._route.known_script:
            self._warnings.append(notices.UNKNOWN_SCRIPT)
            return None, False
        if self._artifact.info.vector_count == 0:
            self._warnings.append(notices.NO_VECTORS)
            return None, True
        try:
            with self._stopwatch.stage("embedding"):
                return embedding.result(), False
        except EmbeddingError as error:
            self._warnings.append(notices.DEGRADED.format(reason=str(error).rstrip(".")))
            return None, True

    def _normalised(
        self, ids: list[str], lists: list[RankedList], terms: QueryTerms, vector: NDArray[np.float32] | None
    ) -> Scores:
        """Return every candidate's scores by every retriever, for linear fusion."""
        own = reachable_share(self._reader.lexical_scores(ids), terms) if terms.tokens else {}
        windows = reachable_share(self._reader.window_scores(ids), terms) if terms.tokens else {}
        exact = next((one.candidates for one in lists if one.retriever is Retriever.EXACT), ())
        return {
            Retriever.LEXICAL: own,
            Retriever.SEMANTIC: self._reader.semantic_scores(vector, ids) if vector is not None else {},
            # What the discussion adds to the message's own words, so that a word is not counted twice.
            Retriever.CONTEXT: {one: share - own.get(one, 0.0) for one, share in windows.items()},
            Retriever.EXACT: {one.document_id: 1.0 + one.score for one in exact},
        }

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
        times = self._reader.times([one.document_id for one in candidates])
        sign = -1 if self._request.sort is Sort.NEWEST else 1
        self._warnings.append(notices.SORTED.format(count=len(candidates)))
        return tuple(sorted(candidates, key=lambda one: (sign * times.get(one.document_id, 0), one.document_id)))


def _depth(fusion: Fusion) -> int:
    return LINEAR_DEPTH if fusion is Fusion.LINEAR else DEPTH


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
