"""Deadlines of queries: one thread watches them all, and interrupts what runs too long.

DuckDB forgets an interrupt that arrives between two statements, so the watcher repeats it until the query gives up.
"""

import contextlib
import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

_AGAIN_SECONDS: Final = 0.02


class Interruptible(Protocol):
    """A connection of DuckDB."""

    def interrupt(self) -> None:
        """Make the statement that runs now fail."""
        ...


@dataclass(slots=True, eq=False)
class Watched:
    """A query that is watched.

    Attributes:
        overdue: Whether its time was over before it ended.
    """

    connection: Interruptible
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: bool = False
    overdue: bool = False

    def interrupt(self) -> bool:
        """Interrupt the query unless it has ended; return whether it had not."""
        # Under the lock, so that a connection is never interrupted after its query ended.
        with self.lock:
            if not self.done:
                self.overdue = True
                self.connection.interrupt()
            return not self.done

    def end(self) -> None:
        """Watch it no longer."""
        with self.lock:
            self.done = True


class Watcher:
    """Interrupts queries at their deadline. Thread-safe; its own thread starts with the first query."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Watched]] = []
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def limit(self, connection: Interruptible, *, seconds: float) -> Iterator[Watched]:
        """Interrupt whatever *connection* runs within the block once *seconds* are over."""
        watched = Watched(connection)
        self._add(watched, time.monotonic() + seconds)
        try:
            yield watched
        finally:
            watched.end()

    def _add(self, watched: Watched, deadline: float) -> None:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="query-deadlines", daemon=True)
                self._thread.start()
            is_first = not self._waiting or deadline < self._waiting[0][0]
            heapq.heappush(self._waiting, (deadline, next(self._numbers), watched))
            if is_first:
                self._changed.notify()

    def _watch(self) -> None:
        while True:
            watched = self._next()
            if watched.interrupt():
                self._add(watched, time.monotonic() + _AGAIN_SECONDS)

    def _next(self) -> Watched:
        """Wait for the next deadline of a query that has not ended."""
        with self._changed:
            while True:
                while self._waiting and self._waiting[0][2].done:
                    heapq.heappop(self._waiting)
                left = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(left)


WATCHER: Final = Watcher()
"""The process's own."""
