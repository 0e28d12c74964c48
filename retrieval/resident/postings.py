"""The keyword index in memory: for each term the documents that hold it, each with its finished part of BM25.

A document's score is the sum of its parts over the query's terms, added in ascending termid as
`retrieval.lexical` has DuckDB do it, so that both give the same number to the last bit. What needs a logarithm is
computed by DuckDB when the index is read: numpy's differs in the last bit for some values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import fts, schema
from retrieval.errors import ArtifactInvalidError
from retrieval.lexical import SCORE_DECIMALS
from retrieval.resident.columns import Columns
from retrieval.resident.selection import Values, leading
from retrieval.resident.strings import StringTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Two scores that are equal after rounding can differ by up to 1e-9 before it.
_MARGIN: Final = 2e-9
_PORTION: Final = 2_000_000
_SCALE: Final = 10.0**SCORE_DECIMALS

_IDF_SQL: Final = f"""
SELECT df AS df, log((((SELECT num_docs FROM {schema.FTS_SCHEMA}.stats) - df) + 0.5) / (df + 0.5) + 1) AS idf
FROM (SELECT DISTINCT df FROM {schema.FTS_SCHEMA}.dict) ORDER BY df
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """The index; read-only, shared by threads.

    Attributes:
        documents: How many documents BM25's statistics count.
        searchable: Length of the scores of messages and file chunks.
        windows: Length of the scores of all other documents.
        terms: The terms, sorted.
        term_ids: `(terms,)` int64, DuckDB's termid by place in `terms`.
        frequencies: `(largest termid + 1,)` int64, documents that hold the term.
        starts: As long, where a term's postings begin; messages and file chunks first.
        splits: As long, where those of all other documents begin.
        ends: As long, where they end.
        rows: `(postings,)` int32: the document's row, of others than messages and file chunks row - searchable.
        impacts: `(postings,)` float64, what the term adds to the document's score.
    """

    documents: int
    searchable: int
    windows: int
    terms: StringTable
    term_ids: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    starts: NDArray[np.int64]
    splits: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int32]
    impacts: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        arrays = (self.term_ids, self.frequencies, self.starts, self.splits, self.ends, self.rows, self.impacts)
        return sum(one.nbytes for one in arrays) + self.terms.nbytes

    def term_id(self, token: str) -> int | None:
        """Return DuckDB's termid of *token*, None where no document holds it."""
        index = self.terms.find(token)
        return None if index is None else int(self.term_ids[index])

    def score_documents(self, term_ids: Sequence[int]) -> NDArray[np.float64]:
        """Return the unrounded BM25 score of every message and file chunk, `(searchable,)`, 0 where no term is."""
        return self._scores(term_ids, self.starts, self.splits, size=self.searchable)

    def score_windows(self, term_ids: Sequence[int]) -> NDArray[np.float64]:
        """Return the unrounded BM25 score of every other document, `(windows,)`."""
        return self._scores(term_ids, self.splits, self.ends, size=self.windows)

    def holds(self, row: int, term_id: int) -> bool:
        """Return whether the document at *row* holds a term."""
        if row < self.searchable:
            return bool((self.rows[self.starts[term_id] : self.splits[term_id]] == row).any())
        return bool((self.rows[self.splits[term_id] : self.ends[term_id]] == row - self.searchable).any())

    def _scores(
        self, term_ids: Sequence[int], starts: NDArray[np.int64], ends: NDArray[np.int64], *, size: int
    ) -> NDArray[np.float64]:
        scores = np.zeros(size)
        for term_id in sorted(term_ids):
            part = slice(int(starts[term_id]), int(ends[term_id]))
            np.add.at(scores, self.rows[part], self.impacts[part])
        return scores


def best_scores(scores: NDArray[np.float64], limit: int) -> tuple[NDArray[np.intp], Values]:
    """Return the indices and rounded scores of the best, by (rounded score descending, index); 0 is no score."""
    found = leading(scores, limit, margin=_MARGIN, above=0.0)
    rounded = round_scores(scores[found])
    order = np.lexsort((found, -rounded))[:limit]
    return found[order], rounded[order]


def round_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return *scores* rounded to 9 decimals as DuckDB's `round` does: halves away from 0, not to even."""
    scaled = scores * _SCALE
    whole: NDArray[np.float64] = np.floor(scaled)
    rounded: NDArray[np.float64] = (whole + (scaled - whole >= 0.5)) / _SCALE
    return rounded


def count_postings(cursor: "DuckDBPyConnection") -> int:
    """Return how many postings the index of an artifact has."""
    row = cursor.execute(f"SELECT coalesce(sum(df), 0) FROM {schema.FTS_SCHEMA}.dict").fetchone()
    return int(row[0]) if row else 0


def read_postings(cursor: "DuckDBPyConnection", columns: Columns, *, presorted: bool) -> Postings:
    """Read the index.

    Args:
        cursor: A cursor of the artifact.
        columns: Of the same artifact.
        presorted: Whether the artifact has the table `lexical_postings`; else DuckDB's own tables are sorted.

    Raises:
        ArtifactInvalidError: The index contradicts itself.
    """
    dictionary = cursor.execute(
        f"SELECT term, strlen(term) AS length, termid, df FROM {schema.FTS_SCHEMA}.dict ORDER BY term"
    ).fetchnumpy()
    term_ids = dictionary["termid"].astype(np.int64)
    size = int(term_ids.max(initial=-1)) + 1
    frequencies = np.zeros(size, dtype=np.int64)
    frequencies[term_ids] = dictionary["df"]
    ends = np.cumsum(frequencies)
    rows, impacts = _read_impacts(cursor, columns, frequencies, ends, presorted=presorted)
    starts = ends - frequencies
    splits = _split(rows, columns.searchable, starts, ends)
    return Postings(
        documents=_statistics(cursor)[0],
        searchable=columns.searchable,
        windows=len(columns.window_ids),
        terms=StringTable.of(dictionary["term"].tolist(), dictionary["length"]),
        term_ids=term_ids,
        frequencies=frequencies,
        starts=starts,
        splits=splits,
        ends=ends,
        rows=rows,
        impacts=impacts,
    )


def _read_impacts(
    cursor: "DuckDBPyConnection",
    columns: Columns,
    frequencies: NDArray[np.int64],
    ends: NDArray[np.int64],
    *,
    presorted: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    total = int(ends[-1]) if len(ends) else 0
    rows, impacts = np.empty(total, dtype=np.int32), np.empty(total)
    by_document, lengths = _read_documents(cursor, columns)
    idf = _read_idf(cursor, frequencies)
    filled = 0
    for documents, counts in _portions(cursor, presorted=presorted):
        part = slice(filled, filled + len(documents))
        filled += len(documents)
        if filled > total:
            break
        rows[part] = by_document[documents]
        first, last = np.searchsorted(ends, (part.start, part.stop - 1), side="right")
        inside = np.minimum(ends[first : last + 1], part.stop)
        share = np.diff(inside, prepend=part.start)
        # The order of these operations is that of the SQL in retrieval.lexical.
        times = counts.astype(np.float64)
        impacts[part] = np.repeat(idf[first : last + 1], share) * (
            (times * (schema.BM25_K + 1)) / (times + lengths[documents])
        )
    if filled != total or (total and not (impacts.min() > 0 and rows.min() >= 0)):
        raise ArtifactInvalidError("The full-text index is not consistent.", check="fts_tables")
    return rows, impacts


def _portions(
    cursor: "DuckDBPyConnection", *, presorted: bool
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.integer]]]:
    """Yield (docid, tf) of all postings by ascending termid, within a term messages and file chunks first."""
    if not presorted:
        cursor.execute(f"CREATE TEMP TABLE resident_postings AS {fts.POSTINGS_SQL}")
    table = schema.LEXICAL_POSTINGS if presorted else "resident_postings"
    start = 0
    while True:
        found = cursor.execute(
            f"SELECT docid, tf FROM {table} WHERE rowid >= ? AND rowid < ?", [start, start + _PORTION]
        ).fetchnumpy()
        if not len(found["docid"]):
            return
        yield found["docid"], found["tf"]
        start += _PORTION


def _read_documents(cursor: "DuckDBPyConnection", columns: Columns) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return, by the index's own docid, a document's row and what its length adds to BM25's denominator."""
    found = cursor.execute(
        f"SELECT s.docid AS docid, d.rowid AS id, s.len AS len FROM {schema.FTS_SCHEMA}.docs s "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = s.name"
    ).fetchnumpy()
    size = int(found["docid"].max(initial=-1)) + 1
    rows = np.full(size, -1, dtype=np.int32)
    rows[found["docid"]] = columns.rows[found["id"]]
    lengths = np.zeros(size)
    k, b = schema.BM25_K, schema.BM25_B
    # Where no document has a token there is nothing to divide, and nothing to score either.
    average = _statistics(cursor)[1] or 1.0
    lengths[found["docid"]] = k * ((1 - b) + (b * (found["len"].astype(np.float64) / average)))
    return rows, lengths


def _read_idf(cursor: "DuckDBPyConnection", frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
    found = cursor.execute(_IDF_SQL).fetchnumpy()
    if not len(found["df"]):
        return np.zeros(len(frequencies))
    places = np.searchsorted(found["df"], frequencies)
    return np.asarray(found["idf"], dtype=np.float64)[np.minimum(places, len(found["df"]) - 1)]


def _statistics(cursor: "DuckDBPyConnection") -> tuple[int, float]:
    row = cursor.execute(f"SELECT num_docs, avgdl FROM {schema.FTS_SCHEMA}.stats").fetchone()
    return (int(row[0]), float(row[1] or 0.0)) if row else (0, 0.0)


def _split(
    rows: NDArray[np.int32], searchable: int, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where each term's postings of windows begin, and count *rows* of windows from 0.

    Raises:
        ArtifactInvalidError: A message stands behind a window.
    """
    if not len(rows):
        return ends.copy()
    other = rows >= searchable
    descents = np.flatnonzero(other[:-1] & ~other[1:]) + 1
    if not np.isin(descents, starts).all():
        raise ArtifactInvalidError("The table of postings is not sorted.", check="postings")
    held = np.flatnonzero(ends > starts)
    splits = ends.copy()
    splits[held] -= np.add.reduceat(other, starts[held], dtype=np.int64)
    np.subtract(rows, np.int32(searchable), out=rows, where=other)
    return splits
