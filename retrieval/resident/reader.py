"""The reader that answers from memory, and asks DuckDB only for what needs a document's text."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.documents import cited_times
from retrieval.duckdb_reader import DuckDBReader
from retrieval.exact import grade_exact
from retrieval.filters import place_predicate, text_predicate, validate_filters
from retrieval.fts import index_tokens
from retrieval.lexical import QueryTerms, covered_share, inverse_frequency, ranked_list, rarest_tokens
from retrieval.models import DocumentKind, Filters, RankedList, Retriever
from retrieval.resident.columns import Columns, Kind
from retrieval.resident.masks import Mask, document_mask, visible_rows, window_mask
from retrieval.resident.postings import best_scores, round_scores
from retrieval.resident.resident import Resident
from retrieval.resident.texts import SEPARATOR
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What DuckDB said of characters so far; it says the same whatever is open, and at most a few thousand occur.
_WORD_CHARACTERS: Final[dict[str, bool]] = {}


class ResidentReader:
    """Ranked lists from what is held in memory, equal to those of `DuckDBReader`.

    Thread windows are never results of their own; a search that asks for them is for `DuckDBReader`.
    """

    def __init__(
        self,
        artifact: Artifact,
        resident: Resident,
        cursor: "DuckDBPyConnection",
        *,
        filters: Filters,
        visibility: Visibility,
    ) -> None:
        """Prepare one search.

        Args:
            artifact: What is searched.
            resident: What of it is held in memory.
            cursor: A cursor of it.
            filters: Without `thread_context` among its kinds.
            visibility: What the asker may see.

        Raises:
            FilterError: The filters cannot be applied.
            ValueError: The filters ask for thread windows.
        """
        if DocumentKind.THREAD_CONTEXT in filters.kinds:
            raise ValueError("Thread windows are not held as results of their own.")
        validate_filters(filters)
        self._artifact = artifact
        self._cursor = cursor
        self._filters = filters
        self._visibility = visibility
        self._resident = resident
        self._terms = QueryTerms(tokens=(), idf={}, capped=False)
        self._term_ids: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._document_scores: NDArray[np.float64] | None = None
        self._other_scores: NDArray[np.float64] | None = None

    def read_terms(self, words: Sequence[str]) -> QueryTerms:
        """Return the query's terms."""
        postings = self._resident.postings
        tokens = index_tokens(self._cursor, words, self._artifact.info.fts_config)
        found = {token: term_id for token in tokens if (term_id := postings.term_id(token)) is not None}
        frequencies = {token: int(postings.frequencies[term_id]) for token, term_id in found.items()}
        kept = rarest_tokens(tokens, frequencies)
        self._term_ids = {token: found[token] for token in kept if token in found}
        idf = {token: inverse_frequency(postings.documents, frequencies.get(token, 0)) for token in kept}
        self._document_scores = self._other_scores = None
        self._terms = QueryTerms(tokens=kept, idf=idf, capped=len(tokens) > len(kept))
        return self._terms

    def lexical(self, *, limit: int) -> RankedList:
        """Return the best allowed documents by BM25."""
        rows, scores = best_scores(_allowed(self._scores, self._mask), limit)
        return self._ranked(Retriever.LEXICAL, rows, scores)

    def coverage(self, document_id: str) -> float:
        """Return the share of the query's idf that a document holds, 0..1."""
        row = self._row(document_id)
        postings = self._resident.postings
        held = [token for token, term_id in self._term_ids.items() if row is not None and postings.holds(row, term_id)]
        return covered_share(self._terms, held)

    def context(self, *, limit: int) -> tuple[RankedList, int]:
        """Return the messages that the best windows stand for, and how many windows had none."""
        windows, scores = best_scores(_allowed(self._window_scores, self._window_mask), limit)
        places, rows = self._resident.windows.messages(self._columns, windows)
        orphans = len(windows) - len(np.unique(places))
        usable = np.flatnonzero(rows < self._columns.searchable)
        usable = usable[self._columns.kinds[rows[usable]] == Kind.MESSAGE]
        if self._mask is not None:
            usable = usable[self._mask[rows[usable]]]
        places, rows = places[usable], rows[usable]
        own = round_scores(self._scores[rows])
        order = np.lexsort((rows, self._columns.facts.ts_us[rows], -own, places))
        places, rows = places[order], rows[order]
        _, first = np.unique(places, return_index=True)
        # A message once, at its best window.
        _, once = np.unique(rows[first], return_index=True)
        chosen = first[np.sort(once)]
        return self._ranked(Retriever.CONTEXT, rows[chosen], scores[places[chosen]]), orphans

    def exact(self, wanted: Sequence[str], *, limit: int) -> RankedList:
        """Return the allowed documents that hold every string of *wanted* verbatim."""
        if not wanted:
            return RankedList(retriever=Retriever.EXACT, candidates=())
        rows, borders, same_case = self._grade(wanted)
        if self._mask is not None:
            kept = self._mask[rows]
            rows, borders, same_case = rows[kept], borders[kept], same_case[kept]
        order = np.lexsort((rows, -round_scores(self._scores[rows]), -same_case, -borders))[:limit]
        return self._ranked(Retriever.EXACT, rows[order], (borders + same_case)[order].astype(np.float64))

    def semantic(self, vector: NDArray[np.float32], *, limit: int) -> RankedList:
        """Return the allowed documents nearest to *vector*."""
        vectors = self._resident.vectors
        if vectors is None or not _is_direction(vector):
            # On a cursor of its own, because it may be another thread that asks.
            with self._artifact.cursor() as cursor:
                reader = DuckDBReader(self._artifact, cursor, filters=self._filters, visibility=self._visibility)
                return reader.semantic(vector, limit=limit)
        rows, scores = vectors.nearest(vector, limit, mask=self._mask)
        return self._ranked(Retriever.SEMANTIC, rows, scores)

    def allows_beside(self) -> bool:
        """Return whether there are vectors in memory: matrix products let other threads run."""
        # Made before there are two threads, because it may ask DuckDB.
        _ = self._mask
        return self._resident.vectors is not None

    def lexical_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return BM25's score of those documents that hold any of the query's terms."""
        rows = self._known(document_ids)
        found = np.fromiter(rows.values(), dtype=np.intp, count=len(rows))
        own = found < self._columns.searchable
        scores = np.empty(len(found))
        scores[own] = self._scores[found[own]]
        scores[~own] = self._window_scores[found[~own] - self._columns.searchable]
        return {name: score for name, score in zip(rows, round_scores(scores).tolist(), strict=True) if score > 0}

    def semantic_scores(self, vector: NDArray[np.float32], document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine with *vector* of those documents that have a vector."""
        vectors = self._resident.vectors
        rows = self._known(document_ids)
        if (
            vectors is None
            or not _is_direction(vector)
            or any(row >= self._columns.searchable for row in rows.values())
        ):
            return self._duckdb.semantic_scores(vector, document_ids)
        names = list(rows)
        found, places = vectors.vectors_of(np.fromiter(rows.values(), dtype=np.intp, count=len(rows)))
        cosines = vectors.cosines(vector, found).tolist()
        return {names[place]: cosine for place, cosine in zip(places.tolist(), cosines, strict=True)}

    def window_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the best BM25 score of any allowed thread window that covers a message."""
        rows = self._known(document_ids)
        names = list(rows)
        places, windows = self._resident.windows.windows(
            self._columns, np.fromiter(rows.values(), dtype=np.intp, count=len(rows))
        )
        scores = np.where(self._window_mask[windows], round_scores(self._window_scores[windows]), 0.0)
        best = np.zeros(len(names))
        np.maximum.at(best, places, scores)
        return {name: score for name, score in zip(names, best.tolist(), strict=True) if score > 0}

    def threads(self, document_ids: Sequence[str]) -> Mapping[str, str | None]:
        """Return the thread of each document."""
        threads, names = self._columns.threads, self._columns.thread_ids
        codes = {name: int(threads[row]) for name, row in self._known(document_ids).items()}
        return {name: names[code] if code >= 0 else None for name, code in codes.items()}

    def thread_sizes(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """Return how many messages of each thread may be seen."""
        found = {thread_id: self._columns.thread_ids.find(thread_id) for thread_id in thread_ids}
        codes = {thread_id: code for thread_id, code in found.items() if code is not None}
        places, rows = self._resident.threads.of(np.fromiter(codes.values(), dtype=np.intp, count=len(codes)))
        visible = visible_rows(self._columns, rows, self._visibility)
        counts = np.bincount(places[visible], minlength=len(codes))
        return {thread_id: count for thread_id, count in zip(codes, counts.tolist(), strict=True) if count}

    def times(self, document_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the time of each document."""
        rows = self._known(document_ids)
        times = {name: int(self._columns.facts.ts_us[row]) for name, row in rows.items()}
        if self._columns.maps_chunks:
            chunks = sorted(name for name, row in rows.items() if self._columns.kinds[row] == Kind.FILE_CHUNK)
            times |= cited_times(self._cursor, chunks, place_predicate(self._filters, self._visibility))
        return times

    def by_time(self, *, newest_first: bool, limit: int) -> list[str]:
        """Return allowed documents by time."""
        count = self._columns.searchable
        rows = np.arange(count) if self._mask is None else np.flatnonzero(self._mask)
        times = self._columns.facts.ts_us[rows]
        keys = -times if newest_first else times
        if len(keys) > limit:
            near = np.flatnonzero(keys <= np.partition(keys, limit - 1)[limit - 1])
            rows, keys = rows[near], keys[near]
        order = np.lexsort((rows, keys))[:limit]
        return [self._columns.ids[row] for row in rows[order].tolist()]

    def _grade(self, wanted: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """Return row, strings at borders and strings in the same case of all documents that hold *wanted*."""
        texts = self._resident.texts
        if texts is not None and all(_is_plain(one) for one in wanted):
            graded = texts.grade(wanted, is_word=self._is_word)
            if graded is not None:
                return graded
        own_text = self._artifact.info.analyzer is not None
        ids, borders, same_case = grade_exact(self._cursor, wanted, own_text=own_text)
        return self._columns.rows[ids].astype(np.intp), borders, same_case

    def _is_word(self, character: str) -> bool:
        """Return whether DuckDB's regular expressions take *character* for a letter or digit."""
        known = _WORD_CHARACTERS.get(character)
        if known is None:
            row = self._cursor.execute(r"SELECT regexp_matches(?, '[\p{L}\p{N}]')", [character]).fetchone()
            known = _WORD_CHARACTERS[character] = bool(row and row[0])
        return known

    @property
    def _columns(self) -> Columns:
        return self._resident.columns

    @cached_property
    def _duckdb(self) -> DuckDBReader:
        """The reader for the little that memory cannot answer."""
        return DuckDBReader(self._artifact, self._cursor, filters=self._filters, visibility=self._visibility)

    @cached_property
    def _mask(self) -> Mask | None:
        """Which messages and file chunks are allowed, None where all are."""
        mask = document_mask(self._columns, self._filters, self._visibility)
        conditions = text_predicate(self._filters)
        if conditions.sql == "true":
            return mask
        ids = self._cursor.execute(
            f"SELECT d.rowid AS id FROM {schema.DOCUMENTS} d WHERE {conditions.sql}", list(conditions.parameters)
        ).fetchnumpy()["id"]
        rows = self._columns.rows[ids]
        satisfied = np.zeros(self._columns.searchable, dtype=bool)
        satisfied[rows[rows < self._columns.searchable]] = True
        return satisfied if mask is None else mask & satisfied

    @cached_property
    def _window_mask(self) -> Mask:
        return window_mask(self._columns, self._filters, self._visibility)

    @property
    def _scores(self) -> NDArray[np.float64]:
        """Unrounded scores of messages and file chunks, computed when they are first asked for."""
        if self._document_scores is None:
            self._document_scores = self._resident.postings.score_documents(list(self._term_ids.values()))
        return self._document_scores

    @property
    def _window_scores(self) -> NDArray[np.float64]:
        """Those of windows, which keyword search alone never asks for."""
        if self._other_scores is None:
            self._other_scores = self._resident.postings.score_windows(list(self._term_ids.values()))
        return self._other_scores

    def _ranked(self, retriever: Retriever, rows: NDArray[np.intp], scores: NDArray[np.floating[Any]]) -> RankedList:
        ids = [self._columns.ids[row] for row in rows.tolist()]
        self._rows.update(zip(ids, rows.tolist(), strict=True))
        return ranked_list(retriever, list(zip(ids, scores.tolist(), strict=True)))

    def _row(self, document_id: str) -> int | None:
        row = self._rows.get(document_id)
        return self._columns.find(document_id) if row is None else row

    def _known(self, document_ids: Sequence[str]) -> dict[str, int]:
        """Return the rows of those of some documents that exist."""
        found = {document_id: self._row(document_id) for document_id in document_ids}
        return {document_id: row for document_id, row in found.items() if row is not None}


def _allowed(scores: NDArray[np.float64], mask: Mask | None) -> NDArray[np.float64]:
    return scores if mask is None else scores * mask


def _is_plain(wanted: str) -> bool:
    """Return whether a string can be looked for in the texts in memory."""
    return bool(wanted) and wanted.isascii() and SEPARATOR not in wanted


def _is_direction(vector: NDArray[np.float32]) -> bool:
    """Return whether *vector* points anywhere: all finite, not all zero."""
    squared = float(np.square(vector, dtype=np.float64).sum())
    return 1e-12 < squared < 1e12
