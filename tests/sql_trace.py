"""Records every SQL statement that DuckDB and SQLite are given, without the values bound to it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pytest


@dataclass
class Trace:
    """What was executed.

    Attributes:
        duckdb: Statements as DuckDB was given them.
        sqlite: Statements as SQLite was given them.
        bound: The values that went with them, as text.
    """

    duckdb: list[str] = field(default_factory=list)
    sqlite: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)

    @property
    def statements(self) -> list[str]:
        """All of both."""
        return [*self.duckdb, *self.sqlite]

    def holding(self, *texts: str) -> list[str]:
        """Return the statements that hold any of *texts*, whatever their case."""
        return [one for one in self.statements if any(text.casefold() in one.casefold() for text in texts)]

    def has_bound(self, text: str) -> bool:
        """Return whether *text* came to a database as a value."""
        return any(text in one for one in self.bound)


class _Connection:
    """A connection or cursor of DuckDB; whatever it is called with that begins with a text is recorded."""

    def __init__(self, inner: Any, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "cursor":
            return lambda: _Connection(found(), self._trace)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            # Names of registered columns are the builder's own, and values of theirs never are.
            if arguments and isinstance(arguments[0], str) and name != "register":
                self._trace.duckdb.append(arguments[0])
                self._trace.bound.extend(repr(one) for one in (*arguments[1:], *named.values()))
            return found(*arguments, **named)

        return call

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()


@contextmanager
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trace]:
    """Record what connections execute that are opened within the block."""
    trace = Trace()
    connect_duckdb, connect_sqlite = duckdb.connect, sqlite3.connect

    class SqliteConnection(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            trace.sqlite.append(sql)
            trace.bound.extend(repr(one) for one in values)
            return super().execute(sql, *values)

        def executemany(self, sql: str, values: Any, /) -> sqlite3.Cursor:
            trace.sqlite.append(sql)
            return super().executemany(sql, values)

        def executescript(self, sql: str, /) -> sqlite3.Cursor:
            trace.sqlite.append(sql)
            return super().executescript(sql)

        def cursor(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("a cursor's statements would not be recorded")

    with monkeypatch.context() as patch:
        patch.setattr(duckdb, "connect", lambda *a, **n: _Connection(connect_duckdb(*a, **n), trace))
        patch.setattr(sqlite3, "connect", lambda *a, **n: connect_sqlite(*a, factory=SqliteConnection, **n))
        yield trace
