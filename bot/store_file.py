"""The SQLite file of the small store: its tables, their versions, and every statement.

Several processes of one machine may use one file: it is in WAL mode, and every change is one short transaction.
Not for a network drive, where WAL does not work.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bot.store_records import RecentSearch, Verdict, Vote, folded
from retrieval.lexemes import whole_characters

SCHEMA_VERSION: Final = 1
KEPT_RECENTS: Final = 50
"""Recent searches kept of one person."""

ENVELOPE_SECONDS: Final = 3600
"""How long an envelope id is remembered."""

MAX_BYTES: Final = 1 << 30
_BUSY_MS: Final = 250
_PAGE_BYTES: Final = 4096
_PRUNE_SECONDS: Final = 60

# Version n comes of version n - 1 by the n-th script. A version that is out is never edited: a change is one more
# script, and one that only adds, because during an upgrade a process of the version before runs beside.
_MIGRATIONS: Final = (
    """
    CREATE TABLE votes (
        team_id TEXT NOT NULL, user_id TEXT NOT NULL, query_key TEXT NOT NULL, document_id TEXT NOT NULL,
        verdict TEXT NOT NULL, text TEXT NOT NULL, understood TEXT NOT NULL, command TEXT NOT NULL,
        mode TEXT NOT NULL, rank INTEGER NOT NULL, artifact_id TEXT NOT NULL, voted_us INTEGER NOT NULL,
        PRIMARY KEY (team_id, user_id, query_key, document_id)
    );
    CREATE TABLE recents (
        team_id TEXT NOT NULL, user_id TEXT NOT NULL, folded TEXT NOT NULL,
        command TEXT NOT NULL, shown TEXT NOT NULL, searched_us INTEGER NOT NULL,
        PRIMARY KEY (team_id, user_id, folded)
    );
    CREATE TABLE envelopes (id TEXT PRIMARY KEY, taken_s REAL NOT NULL) WITHOUT ROWID;
    CREATE INDEX envelopes_by_age ON envelopes (taken_s);
    """,
)
_VOTE_COLUMNS: Final = tuple(Vote.__dataclass_fields__)


class NewerStoreError(Exception):
    """The file was made by a later version of slackquery."""


class StoreFile:
    """One process's use of the file: opened where it is needed, and again after an error. For one thread.

    Every method raises `sqlite3.Error`, `OSError` or `NewerStoreError` where the file cannot be used, and leaves it
    as it was.

    Args:
        path: Made with mode 0600 where it does not exist, its folder with 0700.
        max_bytes: Above that it takes nothing more.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_pages = max(1, max_bytes // _PAGE_BYTES)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._pruned_s = 0.0

    def open(self) -> None:
        """Open the file now, and make or migrate its tables."""
        with self._using():
            pass

    def close(self) -> None:
        """Close the file; it is opened again where it is needed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def put_vote(self, vote: Vote) -> None:
        """Keep a vote in the place of the same person's on the same query and document."""
        marks = ", ".join("?" * len(_VOTE_COLUMNS))
        values = _bound(*(getattr(vote, name) for name in _VOTE_COLUMNS))
        with self._changing() as connection:
            connection.execute(f"INSERT OR REPLACE INTO votes ({', '.join(_VOTE_COLUMNS)}) VALUES ({marks})", values)

    def drop_vote(self, team_id: str, user_id: str, *, query_key: str, document_id: str) -> None:
        """Forget a person's vote; nothing where there is none."""
        with self._changing() as connection:
            connection.execute(
                "DELETE FROM votes WHERE team_id = ? AND user_id = ? AND query_key = ? AND document_id = ?",
                _bound(team_id, user_id, query_key, document_id),
            )

    def find_verdict(self, team_id: str, user_id: str, *, query_key: str, document_id: str) -> Verdict | None:
        """Return a person's vote on a query's document, None where there is none."""
        with self._using() as connection:
            row = connection.execute(
                "SELECT verdict FROM votes WHERE team_id = ? AND user_id = ? AND query_key = ? AND document_id = ?",
                _bound(team_id, user_id, query_key, document_id),
            ).fetchone()
        return Verdict(row[0]) if row is not None else None

    def votes(self) -> tuple[Vote, ...]:
        """Return every vote, oldest first; ties by person, query and document."""
        order = "voted_us, team_id, user_id, query_key, document_id"
        with self._using() as connection:
            rows = connection.execute(f"SELECT {', '.join(_VOTE_COLUMNS)} FROM votes ORDER BY {order}").fetchall()
        made = (dict(zip(_VOTE_COLUMNS, row, strict=True)) for row in rows)
        return tuple(Vote(**{**values, "verdict": Verdict(values["verdict"])}) for values in made)

    def put_recent(self, team_id: str, user_id: str, recent: RecentSearch) -> None:
        """Keep a search as the person's newest; the same text only once, the newest 50."""
        person = _bound(team_id, user_id)
        with self._changing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO recents (team_id, user_id, folded, command, shown, searched_us)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*person, *_bound(folded(recent.command), recent.command, recent.shown, recent.searched_us)),
            )
            connection.execute(
                "DELETE FROM recents WHERE team_id = ? AND user_id = ? AND rowid NOT IN ("
                " SELECT rowid FROM recents WHERE team_id = ? AND user_id = ?"
                " ORDER BY searched_us DESC, rowid DESC LIMIT ?)",
                (*person, *person, KEPT_RECENTS),
            )

    def recents(self, team_id: str, user_id: str, *, limit: int) -> tuple[RecentSearch, ...]:
        """Return a person's searches, newest first."""
        with self._using() as connection:
            rows = connection.execute(
                "SELECT command, shown, searched_us FROM recents WHERE team_id = ? AND user_id = ?"
                " ORDER BY searched_us DESC, rowid DESC LIMIT ?",
                _bound(team_id, user_id, limit),
            ).fetchall()
        return tuple(
            RecentSearch(command=command, shown=shown, searched_us=searched_us) for command, shown, searched_us in rows
        )

    def drop_recents(self, team_id: str, user_id: str) -> None:
        """Erase a person's searches; nothing of them is left in the file."""
        with self._changing() as connection:
            connection.execute("DELETE FROM recents WHERE team_id = ? AND user_id = ?", _bound(team_id, user_id))
        with self._using() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def take_envelopes(self, deliveries: Sequence[tuple[str, ...]], *, now_s: float) -> list[bool]:
        """Return of each delivery whether no process took one of its ids within the last hour; remember them all.

        One transaction for all of them, and a delivery counts as taken by the ones before it.
        """
        with self._changing() as connection:
            if abs(now_s - self._pruned_s) >= _PRUNE_SECONDS:
                connection.execute("DELETE FROM envelopes WHERE taken_s < ?", (now_s - ENVELOPE_SECONDS,))
                self._pruned_s = now_s
            taken = [
                [
                    connection.execute("INSERT OR IGNORE INTO envelopes VALUES (?, ?)", _bound(one, now_s)).rowcount
                    for one in ids
                ]
                for ids in deliveries
            ]
        return [all(rows) for rows in taken]

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._opened()
        except UnicodeDecodeError as error:
            # What SQLite says of a damaged file may quote its bytes.
            self.close()
            raise sqlite3.DatabaseError("the file is damaged") from error
        except (sqlite3.Error, OSError):
            self.close()
            raise

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Make the block one transaction; one that fails changes nothing."""
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        # A file that was deleted, or put back from a copy, is not the one that is open.
        if self._connection is not None and self._identity != _identity(self._path):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
            self._identity = _identity(self._path)
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its other two files the mode of this one.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self._path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.execute(f"PRAGMA max_page_count = {self._max_pages}").fetchall()
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _bound(*values: str | float) -> tuple[str | float, ...]:
    """Return values as SQLite can hold them: half a character, which JSON can hold, becomes a replacement."""
    return tuple(whole_characters(str(value)) if isinstance(value, str) else value for value in values)


def _migrate(connection: sqlite3.Connection) -> None:
    if _version(connection) == SCHEMA_VERSION:
        return
    # Two processes may start at once: the second finds the tables made.
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > SCHEMA_VERSION:
            raise NewerStoreError(f"The store has version {version}; this slackquery knows {SCHEMA_VERSION}.")
        for script in _MIGRATIONS[version:]:
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
