"""The context ranked list: windows of a discussion, each mapped back to its best message.

A window's words say what a message is about when the message itself does not. It stands for the message in it
that matches best by itself (its first, where none does); mapping to the thread's root instead ruins the search
for identifiers (docs/design.md).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval import schema
from retrieval.filters import Predicate
from retrieval.lexical import rank_lexical, ranked_list
from retrieval.models import Candidate, RankedList, Retriever

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KIND: Final = Predicate("d.document_kind = 'thread_context'")
# Contract artifacts do not say which messages a window covers: all of its thread's.
_MAPPED_SQL: Final = f"SELECT m.document_id AS window_id, m.message_id FROM {schema.DOCUMENT_MESSAGES} m"
_THREAD_SQL: Final = (
    f"SELECT w.document_id AS window_id, t.document_id AS message_id FROM {schema.DOCUMENTS} w "
    f"JOIN {schema.DOCUMENTS} t ON t.document_kind = 'message' AND t.workspace_id = w.workspace_id "
    "AND (t.thread_id = w.thread_id OR t.document_id = w.thread_root_id) WHERE w.document_kind = 'thread_context'"
)


def rank_context(
    cursor: "DuckDBPyConnection",
    windows: Predicate,
    messages: Predicate,
    *,
    limit: int,
    mapped: bool,
) -> tuple[RankedList, int]:
    """Return the messages that the best windows stand for, and how many windows had no message left.

    Args:
        cursor: A cursor whose `lexical_scores` hold the query's scores.
        windows: What a window must satisfy.
        messages: What the message that it stands for must satisfy.
        limit: How many windows to look at.
        mapped: Whether the artifact says which messages a window covers.

    Returns:
        The ranked list, a message once, at its best window's rank and score; and the count of windows among
        those looked at that belong to a thread of which no message exists in the artifact at all.
    """
    best = rank_lexical(cursor, windows & _KIND, limit=limit, retriever=Retriever.CONTEXT)
    if not best.candidates:
        return best, 0
    window_ids = [candidate.document_id for candidate in best.candidates]
    pairs = _MAPPED_SQL if mapped else _THREAD_SQL
    rows = cursor.execute(
        f"SELECT p.window_id, p.message_id, l.score FROM ({pairs}) p "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = p.message_id "
        "LEFT JOIN lexical_scores l ON l.document_id = p.message_id "
        f"WHERE p.window_id IN (SELECT unnest(?::VARCHAR[])) AND ({messages.sql}) "
        "ORDER BY p.window_id, l.score DESC NULLS LAST, d.ts_us, p.message_id",
        [window_ids, *messages.parameters],
    ).fetchall()
    first: dict[str, str] = {}
    for window_id, message_id, _ in rows:
        first.setdefault(window_id, message_id)
    return _mapped(best, first), _orphans(cursor, window_ids, pairs)


def with_lone_messages(windows: RankedList, lone: Sequence[Candidate], *, limit: int) -> RankedList:
    """Return the context list with messages outside threads among it, each standing for itself.

    Such a message is its own whole discussion. Were only windows listed, every message of a thread would gain by
    the mere existence of the list: on an archive of few threads that cost a third of nDCG@10 (docs/evaluation.md).

    Args:
        windows: The messages that windows stand for; where there are none, no list is made.
        lone: Messages outside threads with BM25 scores, best first.
        limit: How many candidates at most.
    """
    if not windows.candidates:
        return windows
    best = {one.document_id: one.score for one in (*lone, *windows.candidates)}
    ordered = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return ranked_list(Retriever.CONTEXT, ordered)


def window_scores(
    cursor: "DuckDBPyConnection", message_ids: Sequence[str], windows: Predicate, *, mapped: bool
) -> dict[str, float]:
    """Return each message's best score of any window that covers it; messages without one are left out.

    Args:
        cursor: A cursor whose `lexical_scores` hold the query's scores.
        message_ids: The messages.
        windows: What a window must satisfy.
        mapped: Whether the artifact says which messages a window covers.
    """
    allowed = windows & _KIND
    pairs = _MAPPED_SQL if mapped else _THREAD_SQL
    rows = cursor.execute(
        f"SELECT p.message_id, max(l.score) FROM ({pairs}) p JOIN lexical_scores l ON l.document_id = p.window_id "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = p.window_id "
        f"WHERE p.message_id IN (SELECT unnest(?::VARCHAR[])) AND ({allowed.sql}) GROUP BY p.message_id",
        [list(message_ids), *allowed.parameters],
    ).fetchall()
    return dict(rows)


def _mapped(best: RankedList, first: dict[str, str]) -> RankedList:
    seen: set[str] = set()
    candidates: list[Candidate] = []
    for window in best.candidates:
        message_id = first.get(window.document_id)
        if message_id is None or message_id in seen:
            continue
        seen.add(message_id)
        candidates.append(Candidate(document_id=message_id, rank=len(candidates) + 1, score=window.score))
    return RankedList(retriever=Retriever.CONTEXT, candidates=tuple(candidates))


def _orphans(cursor: "DuckDBPyConnection", window_ids: list[str], pairs: str) -> int:
    row = cursor.execute(
        f"SELECT count(*) FROM (SELECT unnest(?::VARCHAR[]) AS window_id) w WHERE NOT EXISTS "
        f"(SELECT 1 FROM ({pairs}) p JOIN {schema.DOCUMENTS} d ON d.document_id = p.message_id "
        "WHERE p.window_id = w.window_id)",
        [window_ids],
    ).fetchone()
    return int(row[0]) if row else 0
