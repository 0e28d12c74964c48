"""Acks go first: other work waits while envelopes that have arrived are not acked."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

PATIENCE_SECONDS: Final = 0.1
"""How long other work waits at most, so that a stream of envelopes does not keep answers back."""


class PendingAcks:
    """Counts the envelopes that have arrived and are not acked. For one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    @property
    def count(self) -> int:
        """How many envelopes are not acked now."""
        return self._count

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one envelope while the block runs, which acks it."""
        self._count += 1
        self._none.clear()
        try:
            yield
        finally:
            self._count -= 1
            if self._count == 0:
                self._none.set()

    async def over(self, *, patience: float = PATIENCE_SECONDS) -> None:
        """Wait until every envelope is acked, at most that many seconds."""
        if self._count == 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._none.wait()
