"""Which messages a thread window stands for, as `retrieval.context` reads it from DuckDB."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.resident.columns import Columns, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAPPED_SQL: Final = (
    f"SELECT w.rowid AS window_id, t.rowid AS message FROM {schema.DOCUMENT_MESSAGES} m "
    f"JOIN {schema.DOCUMENTS} w ON w.document_id = m.document_id AND w.document_kind = 'thread_context' "
    f"JOIN {schema.DOCUMENTS} t ON t.document_id = m.message_id"
)
_ROOTS_SQL: Final = (
    f"SELECT w.rowid AS window_id, t.rowid AS message FROM {schema.DOCUMENTS} w "
    f"JOIN {schema.DOCUMENTS} t ON t.document_id = w.thread_root_id AND t.document_kind = 'message' "
    "AND t.workspace_id = w.workspace_id WHERE w.document_kind = 'thread_context'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Rows by group.

    Attributes:
        starts: `(groups + 1,)` int64, where a group's rows begin, and the end.
        rows: int32.
    """

    starts: NDArray[np.int64]
    rows: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return self.starts.nbytes + self.rows.nbytes

    def of(self, groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return every pair of place in *groups* and row of that group."""
        begins, lengths = self.starts[groups], np.diff(self.starts)[groups]
        places = np.repeat(np.arange(len(groups)), lengths)
        within = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, self.rows[begins[places] + within].astype(np.intp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The messages of each window; read-only, shared by threads.

    Attributes:
        groups: Documents by window, where the artifact maps them; else messages by thread.
        covering: Windows by document, where the artifact maps them; else windows by thread.
        roots: `(windows,)` int32, the row of the message a window's thread begins with, -1 where there is none;
            None where the artifact maps windows.
        rooted: Windows by the message their thread begins with; not used where the artifact maps windows.
    """

    groups: Groups
    covering: Groups
    roots: NDArray[np.int32] | None
    rooted: Groups

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        roots = 0 if self.roots is None else self.roots.nbytes
        return self.groups.nbytes + self.covering.nbytes + self.rooted.nbytes + roots

    def messages(self, columns: Columns, windows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return every pair of place in *windows* and row of a document that the window stands for.

        Args:
            columns: Of the same artifact.
            windows: Rows of windows, counted from `columns.searchable`.
        """
        if self.roots is None:
            return self.groups.of(windows)
        places, rows = self.groups.of(_thread_groups(columns, columns.searchable + windows))
        roots = self.roots[windows]
        rooted = np.flatnonzero(roots >= 0)
        places, rows = np.concatenate((places, rooted)), np.concatenate((rows, roots[rooted].astype(np.intp)))
        same = _same_workspace(columns, rows, columns.searchable + windows[places])
        return places[same], rows[same]

    def windows(self, columns: Columns, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return every pair of place in *rows* and window that stands for that document.

        Args:
            columns: Of the same artifact.
            rows: Rows of documents.
        """
        if self.roots is None:
            return self.covering.of(rows)
        messages = np.flatnonzero(columns.kinds[rows] == Kind.MESSAGE)
        by_thread = self.covering.of(_thread_groups(columns, rows[messages]))
        by_root = self.rooted.of(rows[messages])
        places = messages[np.concatenate((by_thread[0], by_root[0]))]
        windows = np.concatenate((by_thread[1], by_root[1]))
        same = _same_workspace(columns, rows[places], columns.searchable + windows)
        return places[same], windows[same]


def read_windows(cursor: "DuckDBPyConnection", columns: Columns, threads: Groups, *, mapped: bool) -> Windows:
    """Read which messages windows stand for.

    Args:
        cursor: A cursor of the artifact.
        columns: Of the same artifact.
        threads: `message_threads` of the same artifact.
        mapped: Whether the artifact says it; else a window stands for its thread's messages and its root.
    """
    count = len(columns.window_ids)
    found = cursor.execute(_MAPPED_SQL if mapped else _ROOTS_SQL).fetchnumpy()
    windows = columns.rows[found["window_id"]] - columns.searchable
    messages = columns.rows[found["message"]]
    by_message = _grouped(messages, windows, groups=len(columns.kinds))
    if mapped:
        groups = _grouped(windows, messages, groups=count)
        return Windows(groups=groups, covering=by_message, roots=None, rooted=by_message)
    roots = np.full(count, -1, dtype=np.int32)
    roots[windows] = messages
    return Windows(
        groups=threads,
        covering=_by_thread(columns, Kind.THREAD_CONTEXT, start=columns.searchable),
        roots=roots,
        rooted=by_message,
    )


def message_threads(columns: Columns) -> Groups:
    """Return the messages of each thread; the last group, of no thread, is empty."""
    return _by_thread(columns, Kind.MESSAGE, start=0)


def _by_thread(columns: Columns, kind: Kind, *, start: int) -> Groups:
    """Group documents of a kind by thread, counted from *start*; the last group, of no thread, is empty."""
    rows = np.flatnonzero((columns.kinds == kind) & (columns.threads >= 0)).astype(np.int32)
    return _grouped(columns.threads[rows], rows - np.int32(start), groups=len(columns.thread_ids) + 1)


def _thread_groups(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    threads = columns.threads[rows].astype(np.intp)
    return np.where(threads < 0, len(columns.thread_ids), threads)


def _same_workspace(columns: Columns, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
    places = columns.facts.place
    same: NDArray[np.bool_] = columns.workspaces[places[rows]] == columns.workspaces[places[others]]
    return same


def _grouped(keys: NDArray[np.int32], rows: NDArray[np.int32], *, groups: int) -> Groups:
    order = np.argsort(keys, kind="stable")
    starts = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=groups), out=starts[1:])
    return Groups(starts=starts, rows=rows[order])
