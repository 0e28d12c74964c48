"""The exact ranked list: documents that hold every identifier and quoted phrase of a query, verbatim."""

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

# Where another tool made the artifact, its lexical text holds the raw markup, URLs included.
_OWN_TEXT: Final = "d.text_display"
_FOREIGN_TEXT: Final = "(d.text_display || ' ' || d.text_lexical)"
_SEARCHABLE: Final = Predicate("d.document_kind IN ('message', 'file_chunk')")
# What may stand beside an identifier without being a part of it; a dot only at a sentence's end.
_BORDER_BEFORE: Final = r"(^|[^\p{L}\p{N}_.\-])"
_BORDER_AFTER: Final = r"($|[^\p{L}\p{N}_.\-]|[.\-]($|[^\p{L}\p{N}_]))"


def rank_exact(
    cursor: "DuckDBPyConnection",
    wanted: Sequence[str],
    predicate: Predicate,
    *,
    limit: int,
    own_text: bool,
) -> RankedList:
    """Return the documents that hold every string of *wanted*, case aside.

    Order: how many stand at token borders, then how many stand in the same case, then BM25, then document_id. The
    score is the number of strings at token borders plus that of strings in the same case, so 0 to 2 * n.

    Args:
        cursor: A cursor whose `lexical_scores` hold the query's scores.
        wanted: Identifiers and phrases; none gives an empty list.
        predicate: What a document must satisfy.
        limit: How many at most.
        own_text: Whether this project's builder made the texts.
    """
    if not wanted:
        return RankedList(retriever=Retriever.EXACT, candidates=())
    graded = _graded(wanted, predicate, own_text=own_text)
    rows = cursor.execute(
        f"{graded.sql} SELECT document_id, CAST(borders + same_case AS DOUBLE) FROM graded "
        "LEFT JOIN lexical_scores l USING (document_id) "
        "ORDER BY borders DESC, same_case DESC, l.score DESC NULLS LAST, document_id LIMIT ?",
        [*graded.parameters, limit],
    ).fetchall()
    return ranked_list(Retriever.EXACT, rows)


def grade_exact(
    cursor: "DuckDBPyConnection", wanted: Sequence[str], *, own_text: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rowid, strings at token borders and strings in the same case, of all that hold *wanted*.

    Of messages and file chunks. For who ranks and filters them by other means; *wanted* must not be empty.
    """
    graded = _graded(wanted, _SEARCHABLE, own_text=own_text)
    found = cursor.execute(
        f"{graded.sql} SELECT id, CAST(borders AS BIGINT) AS borders, CAST(same_case AS BIGINT) AS same_case "
        "FROM graded",
        list(graded.parameters),
    ).fetchnumpy()
    return found["id"], found["borders"], found["same_case"]


def text_sql(*, own_text: bool) -> str:
    """Return the expression of the text in which strings are looked for.

    Args:
        own_text: Whether this project's builder made the texts.
    """
    return _OWN_TEXT if own_text else _FOREIGN_TEXT


def _graded(wanted: Sequence[str], predicate: Predicate, *, own_text: bool) -> Predicate:
    """Return the common table `graded` of the documents that hold *wanted* and satisfy *predicate*."""
    text = text_sql(own_text=own_text)
    contains = " AND ".join(f"contains(lower({text}), lower(CAST(? AS VARCHAR)))" for _ in wanted)
    same_case = " + ".join("CAST(contains(text, CAST(? AS VARCHAR)) AS INTEGER)" for _ in wanted)
    borders = " + ".join(
        f"CAST(regexp_matches(text, '(?i){_BORDER_BEFORE}' || regexp_escape(CAST(? AS VARCHAR)) || '{_BORDER_AFTER}')"
        " AS INTEGER)"
        for _ in wanted
    )
    return Predicate(
        f"WITH found AS MATERIALIZED (SELECT d.document_id, d.rowid AS id, {text} AS text FROM {schema.DOCUMENTS} d "
        f"WHERE {contains} AND ({predicate.sql})), "
        f"graded AS (SELECT document_id, id, {borders} AS borders, {same_case} AS same_case FROM found)",
        (*wanted, *predicate.parameters, *wanted, *wanted),
    )
