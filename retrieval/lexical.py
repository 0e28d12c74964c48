"""The lexical ranked list: BM25 exactly as DuckDB's `match_bm25` defines it.

The index's tables are read with SQL of our own: score = sum over the query's distinct terms t of
log10((N - df_t + 0.5) / (df_t + 0.5) + 1) * tf * (k + 1) / (tf + k * (1 - b + b * len / avgdl)), N, df and avgdl over
the whole artifact, whatever the asker may see (docs/design.md says what that could reveal). Scores are rounded to 9
decimals before they are compared, since `match_bm25` itself sums in no fixed order; ties go by document_id.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retrieval import schema
from retrieval.errors import ArtifactReadError
from retrieval.filters import Predicate
from retrieval.fts import index_tokens
from retrieval.models import Candidate, RankedList, Retriever

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Measured on pasted messages: 32 rare words find more than 64, and nowhere less (docs/evaluation.md).
MAX_QUERY_TOKENS: Final = 32
SCORE_DECIMALS: Final = 9

_SCORES_SQL: Final = f"""
CREATE TEMP TABLE lexical_scores AS
WITH wanted AS (
    SELECT termid, df FROM {schema.FTS_SCHEMA}.dict WHERE term IN (SELECT unnest(?::VARCHAR[]))
), frequencies AS (
    SELECT t.docid, t.termid, count(*) AS tf
    FROM {schema.FTS_SCHEMA}.terms t WHERE t.termid IN (SELECT termid FROM wanted)
    GROUP BY t.docid, t.termid
), parts AS (
    SELECT f.docid, f.termid,
        log((((SELECT num_docs FROM {schema.FTS_SCHEMA}.stats) - w.df) + 0.5) / (w.df + 0.5) + 1)
        * ((f.tf * (? + 1))
           / (f.tf + (? * ((1 - ?) + (? * (s.len / (SELECT avgdl FROM {schema.FTS_SCHEMA}.stats))))))) AS part
    FROM frequencies f JOIN wanted w USING (termid) JOIN {schema.FTS_SCHEMA}.docs s USING (docid)
)
SELECT s.name AS document_id, round(total.score, {SCORE_DECIMALS}) AS score
FROM (SELECT docid, sum(part ORDER BY termid) AS score FROM parts GROUP BY docid) total
JOIN {schema.FTS_SCHEMA}.docs s USING (docid)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """A query's terms with the archive's statistics.

    Attributes:
        tokens: Distinct, as the index holds them, at most `MAX_QUERY_TOKENS`.
        idf: BM25's idf by token; a token that no document holds has that of df 0.
        capped: Whether further tokens were left out.
    """

    tokens: tuple[str, ...]
    idf: Mapping[str, float]
    capped: bool


def read_terms(cursor: "DuckDBPyConnection", words: Sequence[str], *, config: Mapping[str, object]) -> QueryTerms:
    """Return what the index holds of a query's *words*.

    Args:
        cursor: A cursor of the artifact.
        words: Tokens of this project's analyzer; for an artifact of another tool, the query's plain words, which
            the artifact's own way of splitting then cuts.
        config: The artifact's full-text options.
    """
    tokens = index_tokens(cursor, words, config)
    documents, frequencies = _read_frequencies(cursor, tokens)
    kept = rarest_tokens(tokens, frequencies)
    idf = {token: inverse_frequency(documents, frequencies.get(token, 0)) for token in kept}
    return QueryTerms(tokens=kept, idf=idf, capped=len(tokens) > len(kept))


def rarest_tokens(tokens: Sequence[str], frequencies: Mapping[str, int]) -> tuple[str, ...]:
    """Return at most `MAX_QUERY_TOKENS` of a query's *tokens*, in their order: those that fewest documents hold.

    A pasted message says what it is about in its rare words, wherever they stand; taking its first words instead
    costs an eighth of MRR@10 on Japanese chat (docs/evaluation.md). Tokens that no document holds are dropped before
    any other.

    Args:
        tokens: Distinct tokens.
        frequencies: How many documents hold a token, for those that any holds.
    """
    if len(tokens) <= MAX_QUERY_TOKENS:
        return tuple(tokens)
    by_rarity = sorted(range(len(tokens)), key=lambda place: (frequencies.get(tokens[place], math.inf), place))
    return tuple(tokens[place] for place in sorted(by_rarity[:MAX_QUERY_TOKENS]))


def inverse_frequency(documents: int, frequency: int) -> float:
    """Return BM25's idf of a term that *frequency* of *documents* hold.

    Raises:
        ArtifactReadError: No index can say that.
    """
    if not 0 <= frequency <= documents:
        raise ArtifactReadError(f"The keyword index says that {frequency} of {documents} documents hold a word.")
    return math.log10((documents - frequency + 0.5) / (frequency + 0.5) + 1)


def score_documents(cursor: "DuckDBPyConnection", tokens: Sequence[str]) -> None:
    """Score every document that holds any of *tokens* into this cursor's temporary table `lexical_scores`."""
    k, b = schema.BM25_K, schema.BM25_B
    cursor.execute("DROP TABLE IF EXISTS lexical_scores")
    cursor.execute(_SCORES_SQL, [list(tokens), k, k, b, b])


def rank_lexical(
    cursor: "DuckDBPyConnection", predicate: Predicate, *, limit: int, retriever: Retriever = Retriever.LEXICAL
) -> RankedList:
    """Return the best documents of `lexical_scores` that satisfy *predicate*, at most *limit*."""
    rows = cursor.execute(
        f"SELECT l.document_id, l.score FROM lexical_scores l JOIN {schema.DOCUMENTS} d USING (document_id) "
        f"WHERE {predicate.sql} ORDER BY l.score DESC, l.document_id LIMIT ?",
        [*predicate.parameters, limit],
    ).fetchall()
    return ranked_list(retriever, rows)


def lexical_scores(cursor: "DuckDBPyConnection", document_ids: Sequence[str]) -> dict[str, float]:
    """Return the scores of those of some documents that stand in `lexical_scores`."""
    rows = cursor.execute(
        "SELECT document_id, score FROM lexical_scores WHERE document_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(document_ids)],
    ).fetchall()
    return dict(rows)


def ranked_list(retriever: Retriever, rows: Sequence[tuple[str, float]]) -> RankedList:
    """Return *rows* of (document_id, score), best first, as a ranked list."""
    return RankedList(
        retriever=retriever,
        candidates=tuple(
            Candidate(document_id=document_id, rank=rank, score=score)
            for rank, (document_id, score) in enumerate(rows, start=1)
        ),
    )


def coverage(cursor: "DuckDBPyConnection", terms: QueryTerms, document_id: str) -> float:
    """Return the share of the query's idf that *document_id* holds, 0..1.

    About 0.55 for a paraphrase's best document, 0.8 and more for a query made of the document's own words.
    """
    rows = cursor.execute(
        f"SELECT DISTINCT q.term FROM {schema.FTS_SCHEMA}.docs s JOIN {schema.FTS_SCHEMA}.terms t USING (docid) "
        f"JOIN {schema.FTS_SCHEMA}.dict q USING (termid) "
        "WHERE s.name = ? AND q.term IN (SELECT unnest(?::VARCHAR[]))",
        [document_id, list(terms.tokens)],
    ).fetchall()
    return covered_share(terms, [row[0] for row in rows])


def covered_share(terms: QueryTerms, held: Sequence[str]) -> float:
    """Return the share of the query's idf that the tokens *held* have, 0..1."""
    whole = math.fsum(terms.idf.values())
    return math.fsum(terms.idf[token] for token in held) / whole if whole > 0 else 0.0


def _read_frequencies(cursor: "DuckDBPyConnection", tokens: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many documents there are, and how many hold each token that any holds."""
    count = cursor.execute(f"SELECT num_docs FROM {schema.FTS_SCHEMA}.stats").fetchone()
    rows = cursor.execute(
        f"SELECT term, df FROM {schema.FTS_SCHEMA}.dict WHERE term IN (SELECT unnest(?::VARCHAR[]))", [list(tokens)]
    ).fetchall()
    return int(count[0]) if count else 0, {term: int(frequency) for term, frequency in rows}
