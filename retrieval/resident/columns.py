"""Document ids and the columns that filters ask for, one entry a document.

A document's row is its place in the order of ids, so that ties by document_id are ties by row: first messages and
file chunks, rows 0 to `searchable - 1`, then thread windows and whatever else there is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.models import DocumentKind
from retrieval.resident.strings import StringTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Kind(IntEnum):
    """The kind of a document as a small number."""

    MESSAGE = 0
    FILE_CHUNK = 1
    THREAD_CONTEXT = 2
    OTHER = 3


_SEARCHABLE: Final = f"('{DocumentKind.MESSAGE.value}', '{DocumentKind.FILE_CHUNK.value}')"
_KIND_SQL: Final = (
    f"CASE d.document_kind WHEN '{DocumentKind.MESSAGE.value}' THEN {Kind.MESSAGE:d} "
    f"WHEN '{DocumentKind.FILE_CHUNK.value}' THEN {Kind.FILE_CHUNK:d} "
    f"WHEN '{DocumentKind.THREAD_CONTEXT.value}' THEN {Kind.THREAD_CONTEXT:d} ELSE {Kind.OTHER:d} END"
)
_PLACES_SQL: Final = f"""
CREATE TEMP TABLE resident_places AS
SELECT workspace_id, channel_id, row_number() OVER (ORDER BY workspace_id, channel_id) - 1 AS code
FROM (SELECT DISTINCT workspace_id, channel_id FROM {schema.DOCUMENTS})
"""
_AUTHORS_SQL: Final = f"""
CREATE TEMP TABLE resident_authors AS
SELECT author_id, row_number() OVER (ORDER BY author_id) - 1 AS code
FROM (SELECT DISTINCT author_id FROM {schema.DOCUMENTS} WHERE author_id IS NOT NULL)
"""
_THREADS_SQL: Final = f"""
CREATE TEMP TABLE resident_threads AS
SELECT thread_id, row_number() OVER (ORDER BY thread_id) - 1 AS code
FROM (SELECT DISTINCT thread_id FROM {schema.DOCUMENTS} WHERE thread_id IS NOT NULL)
"""
_FACTS_SQL: Final = f"""
SELECT d.rowid AS id, coalesce(p.code, -1) AS place, coalesce(a.code, -1) AS author, coalesce(t.code, -1) AS thread,
    d.ts_us AS ts_us, CAST({_KIND_SQL} AS UTINYINT) AS kind,
    coalesce(d.is_thread_parent OR d.is_thread_reply, false) AS in_thread
FROM {schema.DOCUMENTS} d
LEFT JOIN resident_places p ON p.workspace_id = d.workspace_id AND p.channel_id = d.channel_id
LEFT JOIN resident_authors a ON a.author_id = d.author_id
LEFT JOIN resident_threads t ON t.thread_id = d.thread_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What conditions of place, author and time look at, of some documents.

    Attributes:
        row: `(n,)` int32, the documents' rows.
        place: `(n,)` intp, index into `Columns.places`; a table is looked up four times faster by intp than by
            smaller integers.
        author: `(n,)` intp, index into `Columns.authors`, its length where there is no author.
        ts_us: `(n,)` int64, Unix microseconds.
        in_thread: `(n,)` bool, whether it belongs to a thread of two or more.
    """

    row: NDArray[np.int32]
    place: NDArray[np.intp]
    author: NDArray[np.intp]
    ts_us: NDArray[np.int64]
    in_thread: NDArray[np.bool_]

    def take(self, rows: "NDArray[np.integer[Any]] | slice") -> "Facts":
        """Return the facts of *rows*, in their order."""
        return Facts(
            row=self.row[rows],
            place=self.place[rows],
            author=self.author[rows],
            ts_us=self.ts_us[rows],
            in_thread=self.in_thread[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Every document's columns; read-only, shared by threads.

    Attributes:
        ids: Ids of messages and file chunks, sorted; index is row.
        window_ids: Ids of all others, sorted; index is row - `searchable`.
        facts: Of every row.
        kinds: `(rows,)` uint8, `Kind`.
        threads: `(rows,)` int32, index into `thread_ids`, -1 where there is none.
        thread_ids: Distinct ids of threads, sorted.
        places: Codes by workspace_id and channel_id.
        workspaces: `(places,)` int32, which places are of the same workspace.
        authors: Codes by author_id.
        rows: `(largest rowid + 1,)` int32, DuckDB's rowid to row.
        maps_chunks: Whether there are file chunks and the artifact says which messages share them.
        shared: Rows of file chunks, one for each message that shares one; `sharing` are those messages' facts.
        sharing: As long as `shared`.
    """

    ids: StringTable
    window_ids: StringTable
    facts: Facts
    kinds: NDArray[np.uint8]
    threads: NDArray[np.int32]
    thread_ids: StringTable
    places: Mapping[str, Mapping[str, int]]
    workspaces: NDArray[np.int32]
    authors: Mapping[str, int]
    rows: NDArray[np.int32]
    maps_chunks: bool
    shared: NDArray[np.int32]
    sharing: Facts

    @property
    def searchable(self) -> int:
        """How many messages and file chunks there are."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes; the few thousand names of places and authors not counted."""
        arrays: tuple[NDArray[Any], ...] = (
            self.kinds, self.threads, self.rows, self.shared, self.facts.row, self.facts.place, self.facts.author,
            self.facts.ts_us, self.facts.in_thread,
        )  # fmt: skip
        tables = (self.ids, self.window_ids, self.thread_ids)
        return sum(one.nbytes for one in arrays) + sum(one.nbytes for one in tables)

    def document_id(self, row: int) -> str:
        """Return the id of the document at *row*."""
        return self.ids[row] if row < self.searchable else self.window_ids[row - self.searchable]

    def find(self, document_id: str) -> int | None:
        """Return the row of a document, None where there is none of that id."""
        row = self.ids.find(document_id)
        if row is not None:
            return row
        window = self.window_ids.find(document_id)
        return None if window is None else self.searchable + window


def read_columns(cursor: "DuckDBPyConnection", *, mapped: bool) -> Columns:
    """Read the columns of every document.

    Args:
        cursor: A cursor of the artifact; temporary tables `resident_*` are left in it.
        mapped: Whether the artifact maps file chunks to the messages that share them.
    """
    for statement in (_PLACES_SQL, _AUTHORS_SQL, _THREADS_SQL):
        cursor.execute(statement)
    places = cursor.execute("SELECT workspace_id, channel_id FROM resident_places ORDER BY code").fetchall()
    authors = cursor.execute("SELECT author_id, code FROM resident_authors").fetchall()
    ids, window_ids, rows = _read_ids(cursor)
    found = cursor.execute(_FACTS_SQL).fetchnumpy()
    order = np.empty(len(found["id"]), dtype=np.intp)
    order[rows[found["id"]]] = np.arange(len(order))
    author = found["author"][order].astype(np.intp)
    author[author < 0] = len(authors)
    facts = Facts(
        row=np.arange(len(order), dtype=np.int32),
        place=found["place"][order].astype(np.intp),
        author=author,
        ts_us=found["ts_us"][order],
        in_thread=found["in_thread"][order],
    )
    kinds = found["kind"][order]
    maps_chunks = mapped and bool((kinds == Kind.FILE_CHUNK).any())
    none = np.empty(0, dtype=np.int32)
    shared, sharing = _read_shares(cursor, rows) if maps_chunks else (none, none)
    names = {name: number for number, name in enumerate(dict.fromkeys(workspace for workspace, _ in places))}
    return Columns(
        ids=ids,
        window_ids=window_ids,
        facts=facts,
        kinds=kinds,
        threads=found["thread"][order].astype(np.int32),
        thread_ids=_read_threads(cursor),
        places=nested_places(places),
        workspaces=np.fromiter((names[workspace] for workspace, _ in places), dtype=np.int32, count=len(places)),
        authors=dict(authors),
        rows=rows,
        maps_chunks=maps_chunks,
        shared=shared,
        sharing=facts.take(sharing),
    )


def _read_ids(cursor: "DuckDBPyConnection") -> tuple[StringTable, StringTable, NDArray[np.int32]]:
    found: list[NDArray[np.int64]] = []
    tables: list[StringTable] = []
    for condition in (f"IN {_SEARCHABLE}", f"NOT IN {_SEARCHABLE}"):
        columns = cursor.execute(
            f"SELECT rowid AS id, document_id, strlen(document_id) AS length FROM {schema.DOCUMENTS} "
            f"WHERE document_kind {condition} ORDER BY document_id"
        ).fetchnumpy()
        found.append(columns["id"])
        tables.append(StringTable.of(columns["document_id"].tolist(), columns["length"]))
    order = np.concatenate(found)
    rows = np.full(int(order.max(initial=-1)) + 1, -1, dtype=np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    return tables[0], tables[1], rows


def _read_shares(cursor: "DuckDBPyConnection", rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    found = cursor.execute(
        f"SELECT d.rowid AS chunk, s.rowid AS message FROM {schema.DOCUMENT_MESSAGES} m "
        f"JOIN {schema.DOCUMENTS} d ON d.document_id = m.document_id AND d.document_kind = 'file_chunk' "
        f"JOIN {schema.DOCUMENTS} s ON s.document_id = m.message_id"
    ).fetchnumpy()
    return rows[found["chunk"]], rows[found["message"]]


def nested_places(places: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Return the code of each place, its index in *places*, by workspace_id and channel_id."""
    nested: dict[str, dict[str, int]] = {}
    for code, (workspace, channel) in enumerate(places):
        nested.setdefault(workspace, {})[channel] = code
    return nested


def _read_threads(cursor: "DuckDBPyConnection") -> StringTable:
    found = cursor.execute(
        "SELECT thread_id, strlen(thread_id) AS length FROM resident_threads ORDER BY code"
    ).fetchnumpy()
    return StringTable.of(found["thread_id"].tolist(), found["length"])
