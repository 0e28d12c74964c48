"""Turns at computing: no more threads at once than there are processors."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Lets so many threads compute at the same time; thread-safe.

    Searches share the interpreter's lock. More of them at once than processors answer no sooner, but each stands
    before the event loop whenever it wants the lock, and with it before the acks. What waits for another machine needs
    neither, and gives its turn up.

    Args:
        count: How many, at least 1.
    """

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._free = count

    @property
    def free(self) -> int:
        """How many turns nobody has now."""
        return self._free

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Run the block once there is a turn for it."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Let another one have the turn while the block waits; for blocks within `taken`, in any thread of it."""
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0)
            self._free -= 1

    def _give_back(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify()
