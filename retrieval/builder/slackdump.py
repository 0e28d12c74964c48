"""slackdump's archive: its SQLite database, with uploads in `__uploads` beside it.

Source of the schema: https://github.com/rusq/slackdump, internal/chunk/backend/dbase (its AGENTS.md and
migrations): nothing is ever updated, so of rows with the same id the one of the highest CHUNK_ID counts; DATA is
Slack's own JSON; broadcasts stand in the channel's chunk (TYPE_ID 0) and in the thread's (1); memberships of an
earlier session stay in the table. Canvas discussions (TYPE_ID 12 and 13) are hidden channels and are not read.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from retrieval.builder.export_reader import Row, parse_row
from retrieval.builder.json_text import read_json
from retrieval.builder.members import FolderMembers
from retrieval.builder.report import Ledger
from retrieval.builder.rows import ChannelRow, MessageRow, UserRow
from retrieval.builder.source import Attachment, Conversation
from retrieval.builder.timestamps import DAY_US
from retrieval.errors import SourceError

HEADER: Final = b"SQLite format 3\0"
# What a query returns; each query's own columns, read where it is written.
Record = tuple[Any, ...]

UPLOADS: Final = "__uploads"

_TABLES: Final = {"MESSAGE", "CHUNK", "CHANNEL", "S_USER"}
_FILE_ID: Final = re.compile(r"F[A-Z0-9]{6,}")
_LATEST: Final = """
SELECT T.ID, T.DATA FROM {table} T JOIN (SELECT ID, MAX(CHUNK_ID) CHUNK_ID FROM {table} GROUP BY ID) L
ON L.ID = T.ID AND L.CHUNK_ID = T.CHUNK_ID ORDER BY T.ID
"""
_CONVERSATIONS: Final = """
SELECT M.CHANNEL_ID, SUM(LENGTH(M.DATA)) FROM MESSAGE M JOIN CHUNK C ON C.ID = M.CHUNK_ID
WHERE C.TYPE_ID IN (0, 1) GROUP BY M.CHANNEL_ID ORDER BY M.CHANNEL_ID
"""
_MESSAGES: Final = """
SELECT M.ID, M.DATA FROM MESSAGE M JOIN CHUNK C ON C.ID = M.CHUNK_ID
WHERE M.CHANNEL_ID = ? AND C.TYPE_ID IN (0, 1) ORDER BY M.ID, M.CHUNK_ID
"""
# A membership page can span several chunks, so the newest session decides, not the newest chunk.
_MEMBERS: Final = """
SELECT U.CHANNEL_ID, U.{user} FROM CHANNEL_USER U JOIN CHUNK C ON C.ID = U.CHUNK_ID
JOIN (SELECT V.CHANNEL_ID, MAX(D.SESSION_ID) SESSION_ID FROM CHANNEL_USER V JOIN CHUNK D ON D.ID = V.CHUNK_ID
      GROUP BY V.CHANNEL_ID) L ON L.CHANNEL_ID = U.CHANNEL_ID AND L.SESSION_ID = C.SESSION_ID
ORDER BY U.CHANNEL_ID, U.{user}
"""


class SlackdumpSource:
    """One database; opened read-only and never changed, not even its journal."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self._path = path
        self._ledger = ledger
        self._connection = _connect(path)
        self._workspace = self._read_workspace()
        self._users = self._rows("S_USER", UserRow)
        self._channels = [self._with_members(row) for row in self._rows("CHANNEL", ChannelRow)]

    @property
    def label(self) -> str:
        """The folder's and the database's name."""
        return f"{self._path.parent.name}/{self._path.name}"

    @property
    def workspace_name(self) -> str | None:
        """The team's name."""
        return self._workspace.get("name") or None

    @property
    def workspace_url(self) -> str | None:
        """The team's URL."""
        return self._workspace.get("url") or None

    @property
    def team_ids(self) -> tuple[str, ...]:
        """The team that was archived."""
        team_id = self._workspace.get("team_id")
        return (team_id,) if team_id else ()

    def users(self) -> list[UserRow]:
        """Return its people."""
        return self._users

    def channels(self) -> list[ChannelRow]:
        """Return its conversations with the members of the newest session."""
        return self._channels

    def conversations(self) -> list[Conversation]:
        """Return the channels with messages."""
        names = {row.id: row.name for row in self._channels}
        return [
            Conversation(key=key, channel_id=key, name=names.get(key) or key, bytes=int(size))
            for key, size in self._select(_CONVERSATIONS)
        ]

    def messages(self, conversation: Conversation) -> Iterator[MessageRow]:
        """Yield each message as its newest chunk holds it, in time order."""
        pending: Record | None = None
        for message_id, data in self._select(_MESSAGES, conversation.key):
            if pending is not None and pending[0] != message_id:
                yield from self._parsed(pending, MessageRow, "MESSAGE")
            pending = (message_id, data)
        if pending is not None:
            yield from self._parsed(pending, MessageRow, "MESSAGE")

    def newest_day(self) -> int:
        """Return the day of its newest message."""
        newest = self._select("SELECT MAX(ID) FROM MESSAGE")[0][0]
        return int(newest or 0) // DAY_US

    def covers_channels(self) -> bool:
        """A dump can be of single threads, and a resumed one keeps what was deleted: absence says nothing."""
        return False

    def attachments(self) -> Iterator[Attachment]:
        """Yield the uploads beside the database."""
        folder = self._path.parent / UPLOADS
        if not folder.is_dir():
            return
        members = FolderMembers(folder)
        for name in members.names():
            if found := _FILE_ID.search(name):
                title = name.split("/")[-1]
                yield Attachment(file_id=found.group(), name=title, size=members.size(name), source=members, path=name)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _rows(self, table: str, model: type[Row]) -> list[Row]:
        return [
            row for record in self._select(_LATEST.format(table=table)) for row in self._parsed(record, model, table)
        ]

    def _parsed(self, record: Record, model: type[Row], table: str) -> Iterator[Row]:
        key, data = record
        label = f"{self.label}/{table} {key}"
        content = data if isinstance(data, bytes) else str(data).encode()
        value = read_json(content, label, self._ledger)
        if value is not None and (row := parse_row(value, model, label, 0, self._ledger)) is not None:
            yield row

    def _with_members(self, row: ChannelRow) -> ChannelRow:
        members = {*self._members.get(row.id, ()), *row.members}
        if row.is_im:
            members |= {row.user, self._workspace.get("user_id", "")} - {""}
        return row.model_copy(update={"members": sorted(members)})

    @cached_property
    def _members(self) -> Mapping[str, list[str]]:
        columns = {str(column[1]) for column in self._select("PRAGMA table_info(CHANNEL_USER)")}
        lists: dict[str, list[str]] = {}
        if columns:
            user = "USER_ID" if "USER_ID" in columns else "ID"
            for channel_id, user_id in self._select(_MEMBERS.format(user=user)):
                lists.setdefault(channel_id, []).append(user_id)
        return lists

    def _read_workspace(self) -> dict[str, str]:
        if not self._select("PRAGMA table_info(WORKSPACE)"):
            return {}
        rows = self._select("SELECT TEAM, TEAM_ID, URL, USER_ID FROM WORKSPACE ORDER BY ID DESC LIMIT 1")
        return dict(zip(("name", "team_id", "url", "user_id"), map(str, rows[0]), strict=True)) if rows else {}

    def _select(self, sql: str, *values: str) -> list[Record]:
        try:
            with closing(self._connection.execute(sql, values)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise SourceError(f"{self.label} is not a slackdump archive that can be read: {error}.") from error


def is_slackdump(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False


def _connect(path: Path) -> sqlite3.Connection:
    """Open a database read-only and check that it is slackdump's.

    Raises:
        SourceError: It cannot be opened, or lacks slackdump's tables.
    """
    # Without write access SQLite cannot use a journal in WAL mode; a file that nobody writes is safe as immutable.
    last: sqlite3.Error | None = None
    for options in ("mode=ro", "mode=ro&immutable=1"):
        connection = None
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.Error as error:
            last = error
            if connection is not None:
                connection.close()
            continue
        if missing := sorted(_TABLES - tables):
            connection.close()
            raise SourceError(f"{path.name} is not a slackdump archive: it has no table {', '.join(missing)}.")
        return connection
    raise SourceError(f"{path.name} cannot be opened: {last}.") from last
