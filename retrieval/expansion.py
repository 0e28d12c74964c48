"""Around a hit: a message with its neighbours, a thread, and the channels of the archive."""

from functools import partial
from typing import TYPE_CHECKING, Final

from retrieval import notices, schema
from retrieval.artifact import Artifact
from retrieval.documents import COLUMNS, count_threads, fetch_documents, row_document, with_thread_sizes
from retrieval.errors import FilterError, NotFoundError
from retrieval.filters import Predicate, place_predicate, visibility_predicate
from retrieval.models import Document, DocumentKind, Filters, MessageContext, Scope, Thread
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_NEIGHBOURS: Final = 100
MAX_THREAD_LIMIT: Final = 500
_MESSAGE: Final = Predicate("d.document_kind = 'message'")


def get_slack_message(
    artifact: Artifact,
    document_id: str,
    *,
    visibility: Visibility,
    context_before: int = 5,
    context_after: int = 5,
) -> MessageContext:
    """Return a message, or a file passage at the message that shares it, with its neighbours in the channel.

    Neighbours are the messages just before and after it in the same channel by time, replies of threads
    included, oldest first; they need not belong to the same discussion.

    Args:
        artifact: Leased by the caller.
        document_id: A message's or file chunk's id.
        visibility: What the asker may see.
        context_before: How many neighbours before, from 0.
        context_after: How many after; together at most 100.

    Raises:
        NotFoundError: No such document, or not for this asker: the same words.
        FilterError: Numbers outside their bounds.
        ArtifactReplacedError: The file was overwritten in place.

    Thread-safe.
    """
    if context_before < 0 or context_after < 0 or context_before + context_after > MAX_NEIGHBOURS:
        raise FilterError(f"Between 0 and {MAX_NEIGHBOURS} neighbours can be shown in all.")
    with artifact.cursor() as cursor:
        message = find_document(artifact, cursor, document_id, visibility)
        if message is None:
            raise NotFoundError(kind="message", identifier=document_id)
        before = _neighbours(cursor, message, visibility, count=context_before, later=False)
        after = _neighbours(cursor, message, visibility, count=context_after, later=True)
    artifact.check_unchanged()
    return MessageContext(message=message, before=before, after=after)


def find_message_id(artifact: Artifact, *, workspace_id: str, channel_id: str, ts: str, visibility: Visibility) -> str:
    """Return the document id of the message that Slack knows by channel and timestamp.

    Args:
        artifact: Leased by the caller.
        workspace_id: The artifact's workspace.
        channel_id: Slack's id of the channel.
        ts: Slack's timestamp, seconds with six decimals, such as `1700000000.000200`.
        visibility: What the asker may see.

    Raises:
        NotFoundError: The archive does not hold it, or not for this asker.
    """
    missing = NotFoundError(kind="message", identifier=f"{channel_id}:{ts}")
    seconds, _, fraction = ts.partition(".")
    if not (seconds.isdigit() and seconds.isascii() and len(seconds) <= 12 and (not fraction or fraction.isdigit())):
        raise missing
    ts_us = int(seconds) * 1_000_000 + int(fraction[:6].ljust(6, "0"))
    visible = place_predicate(Filters(), visibility)
    with artifact.cursor() as cursor:
        row = cursor.execute(
            f"SELECT d.document_id FROM {schema.DOCUMENTS} d WHERE d.workspace_id = ? AND d.channel_id = ? "
            f"AND d.ts_us = ? AND {_MESSAGE.sql} AND ({visible.sql}) ORDER BY d.document_id LIMIT 1",
            [workspace_id, channel_id, ts_us, *visible.parameters],
        ).fetchone()
    artifact.check_unchanged()
    if row is None:
        raise missing
    return str(row[0])


def get_slack_thread(
    artifact: Artifact,
    thread_id: str,
    *,
    visibility: Visibility,
    limit: int = 200,
    offset: int | None = None,
    around: str | None = None,
) -> Thread:
    """Return messages of a thread, oldest first.

    Args:
        artifact: Leased by the caller.
        thread_id: The thread.
        visibility: What the asker may see.
        limit: How many messages at most, 1..500.
        offset: Where to begin, counted from 0; the beginning where None.
        around: A message of the thread to have in the middle, where no offset is given.

    Raises:
        NotFoundError: No such thread, or not for this asker: the same words.
        FilterError: Numbers outside their bounds.
        ArtifactReplacedError: The file was overwritten in place.

    Thread-safe.
    """
    if not 1 <= limit <= MAX_THREAD_LIMIT or (offset is not None and offset < 0):
        raise FilterError(f"1 to {MAX_THREAD_LIMIT} messages of a thread can be shown, from a start of 0 or more.")
    with artifact.cursor() as cursor:
        ids = _thread_message_ids(cursor, thread_id, visibility)
        if not ids:
            raise NotFoundError(kind="thread", identifier=thread_id)
        start = _start(ids, limit=limit, offset=offset, around=around)
        wanted = ids[start : start + limit]
        visible = place_predicate(Filters(), visibility)
        sizes = partial(count_threads, cursor, visible=visible)
        documents = fetch_documents(cursor, [*wanted, ids[0]], sizes=sizes, citing=visible, shares=False)
    artifact.check_unchanged()
    root = next((one for one in documents.values() if _is_root(one)), None)
    return Thread(
        thread_id=thread_id,
        root=root,
        messages=tuple(documents[document_id] for document_id in wanted),
        offset=start,
        total=len(ids),
        warnings=() if root is not None else (notices.ROOT_MISSING,),
    )


def list_slack_scopes(artifact: Artifact, *, visibility: Visibility) -> tuple[Scope, ...]:
    """Return the channels that the asker may see and that hold messages, by workspace and name.

    Thread-safe.
    """
    visible = place_predicate(Filters(), visibility)
    with artifact.cursor() as cursor:
        rows = cursor.execute(
            "SELECT d.workspace_id, d.channel_id, max(d.channel_name), count(*), min(d.ts_us), max(d.ts_us) "
            f"FROM {schema.DOCUMENTS} d WHERE {_MESSAGE.sql} AND ({visible.sql}) GROUP BY ALL "
            "ORDER BY d.workspace_id, max(d.channel_name) NULLS LAST, d.channel_id",
            list(visible.parameters),
        ).fetchall()
    artifact.check_unchanged()
    return tuple(
        Scope(
            workspace_id=row[0],
            channel_id=row[1],
            channel_name=row[2],
            message_count=row[3],
            first_ts_us=row[4],
            last_ts_us=row[5],
        )
        for row in rows
    )


def find_document(
    artifact: Artifact, cursor: "DuckDBPyConnection", document_id: str, visibility: Visibility
) -> Document | None:
    """Return a message or file passage that the asker may see, with its place and the size of its thread, or None."""
    shares = schema.DOCUMENT_MESSAGES in artifact.info.capabilities
    visible = visibility_predicate(visibility, shares=shares and artifact.has_file_chunks)
    row = cursor.execute(
        f"SELECT d.document_id FROM {schema.DOCUMENTS} d WHERE d.document_id = ? "
        f"AND d.document_kind <> '{DocumentKind.THREAD_CONTEXT.value}' AND ({visible.sql})",
        [document_id, *visible.parameters],
    ).fetchone()
    if row is None:
        return None
    seen = place_predicate(Filters(), visibility)
    sizes = partial(count_threads, cursor, visible=seen)
    return fetch_documents(cursor, [document_id], sizes=sizes, citing=seen, shares=shares)[document_id]


def _neighbours(
    cursor: "DuckDBPyConnection", message: Document, visibility: Visibility, *, count: int, later: bool
) -> tuple[Document, ...]:
    if count == 0:
        return ()
    # A file passage stands at the message that shares it, which is then no neighbour of itself.
    anchor = str(message.metadata.get("message_id", message.document_id))
    comparison, direction = (">", "ASC") if later else ("<", "DESC")
    visible = place_predicate(Filters(), visibility)
    rows = cursor.execute(
        f"SELECT {COLUMNS} FROM {schema.DOCUMENTS} d WHERE d.workspace_id = ? AND d.channel_id = ? "
        f"AND (d.ts_us, d.document_id) {comparison} (?, ?) AND d.document_id <> ? AND {_MESSAGE.sql} "
        f"AND ({visible.sql}) "
        f"ORDER BY d.ts_us {direction}, d.document_id {direction} LIMIT ?",
        [
            message.workspace_id,
            message.channel_id,
            message.ts_us,
            anchor,
            anchor,
            *visible.parameters,
            count,
        ],
    ).fetchall()
    documents = {row[0]: row_document(row) for row in rows}
    ordered = list(with_thread_sizes(documents, partial(count_threads, cursor, visible=visible)).values())
    return tuple(ordered if later else reversed(ordered))


def _thread_message_ids(cursor: "DuckDBPyConnection", thread_id: str, visibility: Visibility) -> list[str]:
    visible = place_predicate(Filters(), visibility)
    rows = cursor.execute(
        f"SELECT d.document_id FROM {schema.DOCUMENTS} d WHERE d.thread_id = ? AND {_MESSAGE.sql} AND ({visible.sql}) "
        "ORDER BY d.ts_us, d.document_id",
        [thread_id, *visible.parameters],
    ).fetchall()
    return [row[0] for row in rows]


def _start(ids: list[str], *, limit: int, offset: int | None, around: str | None) -> int:
    if offset is not None:
        return min(offset, max(len(ids) - 1, 0))
    if around is None or around not in ids:
        return 0
    return max(min(ids.index(around) - limit // 2, len(ids) - limit), 0)


def _is_root(document: Document) -> bool:
    if document.is_thread_parent:
        return True
    return document.thread_root_id == document.document_id and not document.is_thread_reply
