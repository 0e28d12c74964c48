"""Rows of an artifact as `Document` records."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from retrieval import schema
from retrieval.filters import Predicate
from retrieval.models import Document, DocumentKind
from retrieval.redaction import redact

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLUMNS: Final = (
    "d.document_id, d.document_kind, d.workspace_id, d.workspace_name, d.channel_id, d.channel_name, d.author_id, "
    "d.author_name, d.ts_us, d.thread_id, d.thread_root_id, d.is_thread_parent, d.is_thread_reply, "
    "d.is_thread_broadcast, d.text_display, d.permalink, CAST(d.metadata_json AS VARCHAR)"
)


def row_document(row: Sequence[Any]) -> Document:
    """Return the record of one row selected by `COLUMNS`."""
    return Document(
        document_id=row[0],
        document_kind=DocumentKind(row[1]),
        workspace_id=row[2],
        workspace_name=row[3],
        channel_id=row[4],
        channel_name=row[5],
        author_id=row[6],
        author_name=row[7],
        ts_us=row[8],
        thread_id=row[9],
        thread_root_id=row[10],
        is_thread_parent=row[11],
        is_thread_reply=row[12],
        is_thread_broadcast=row[13],
        # Artifacts of other tools may hold what our builder takes out.
        text=redact(row[14]),
        permalink=row[15],
        metadata=_parse_metadata(row[16]),
    )


def fetch_documents(
    cursor: "DuckDBPyConnection",
    document_ids: Sequence[str],
    *,
    sizes: Callable[[Sequence[str]], Mapping[str, int]],
    citing: Predicate,
    shares: bool,
) -> dict[str, Document]:
    """Return the documents by id, with the size of their threads.

    Args:
        cursor: A cursor of the artifact.
        document_ids: What to fetch; ids that do not exist are missing from the answer.
        sizes: Counts the messages of threads that may be seen.
        citing: What a message must satisfy to be cited as the place of a file chunk.
        shares: Whether the artifact maps file chunks to messages; a chunk then stands in the place of the first
            message sharing it that satisfies *citing*.
    """
    # Bound one by one, so that DuckDB goes by the ids' index instead of reading every id.
    marks = ", ".join("?" for _ in document_ids) or "NULL"
    rows = cursor.execute(
        f"SELECT {COLUMNS} FROM {schema.DOCUMENTS} d WHERE d.document_id IN ({marks})", list(document_ids)
    ).fetchall()
    documents = {row[0]: row_document(row) for row in rows}
    if shares:
        documents |= _cited_chunks(cursor, documents.values(), citing)
    return with_thread_sizes(documents, sizes)


def with_thread_sizes(
    documents: Mapping[str, Document], sizes: Callable[[Sequence[str]], Mapping[str, int]]
) -> dict[str, Document]:
    """Return *documents* with the number of messages in their threads that may be seen."""
    thread_ids = sorted({document.thread_id for document in documents.values() if document.thread_id is not None})
    if not thread_ids:
        return dict(documents)
    counted = sizes(thread_ids)
    return {
        document_id: replace(document, thread_size=counted.get(document.thread_id or "", 0))
        for document_id, document in documents.items()
    }


def count_threads(cursor: "DuckDBPyConnection", thread_ids: Sequence[str], visible: Predicate) -> dict[str, int]:
    """Return how many messages of each thread satisfy *visible*; threads without any are left out."""
    return dict(
        cursor.execute(
            f"SELECT d.thread_id, count(*) FROM {schema.DOCUMENTS} d "
            "WHERE d.thread_id IN (SELECT unnest(?::VARCHAR[])) "
            f"AND d.document_kind = 'message' AND ({visible.sql}) GROUP BY d.thread_id",
            [list(thread_ids), *visible.parameters],
        ).fetchall()
    )


def cited_times(cursor: "DuckDBPyConnection", chunk_ids: Sequence[str], citing: Predicate) -> dict[str, int]:
    """Return when the message was written in whose place `fetch_documents` puts each file chunk, Unix microseconds.

    A chunk without such a message is left out. The time of a share that the asker may not see is thus told by nothing.
    """
    if not chunk_ids:
        return {}
    rows = cursor.execute(
        f"SELECT m.document_id, arg_min(d.ts_us, m.position) FROM {schema.DOCUMENT_MESSAGES} m "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = m.message_id "
        f"WHERE m.document_id IN (SELECT unnest(?::VARCHAR[])) AND ({citing.sql}) GROUP BY m.document_id",
        [list(chunk_ids), *citing.parameters],
    ).fetchall()
    return {document_id: ts_us for document_id, ts_us in rows if ts_us is not None}


def _cited_chunks(
    cursor: "DuckDBPyConnection", documents: Iterable[Document], citing: Predicate
) -> dict[str, Document]:
    chunks = {one.document_id: one for one in documents if one.document_kind is DocumentKind.FILE_CHUNK}
    if not chunks:
        return {}
    rows = cursor.execute(
        f"SELECT m.document_id, {COLUMNS} FROM {schema.DOCUMENT_MESSAGES} m "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = m.message_id "
        f"WHERE m.document_id IN (SELECT unnest(?::VARCHAR[])) AND ({citing.sql}) ORDER BY m.document_id, m.position",
        [sorted(chunks), *citing.parameters],
    ).fetchall()
    cited: dict[str, Document] = {}
    for row in rows:
        cited.setdefault(row[0], _in_place_of(chunks[row[0]], row_document(row[1:])))
    return cited


def _in_place_of(chunk: Document, message: Document) -> Document:
    return replace(
        chunk,
        workspace_id=message.workspace_id,
        workspace_name=message.workspace_name,
        channel_id=message.channel_id,
        channel_name=message.channel_name,
        author_id=message.author_id,
        author_name=message.author_name,
        ts_us=message.ts_us,
        thread_id=message.thread_id,
        thread_root_id=message.thread_root_id,
        permalink=message.permalink,
        metadata={**chunk.metadata, "message_id": message.document_id},
    )


def _parse_metadata(text: str | None) -> Mapping[str, object]:
    if not text:
        return {}
    parsed = json.loads(text)
    return parsed if isinstance(parsed, dict) else {}
