"""What must be done once: the first to take its key does it, in this process and in those that share the store."""

from collections import OrderedDict
from typing import Final

from bot.store import Store

_KEPT: Final = 10_000


class Once:
    """Remembers the last ten thousand keys, and asks the store about other processes. For one event loop.

    Args:
        store: Shared by processes, which remembers a key for an hour; None where there is none.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._taken: OrderedDict[str, None] = OrderedDict()

    async def take(self, key: str) -> bool:
        """Return whether nobody took this key before; where the store does not work, only this process counts."""
        if key in self._taken:
            return False
        self._taken[key] = None
        while len(self._taken) > _KEPT:
            self._taken.popitem(last=False)
        return self._store is None or await self._store.take_envelopes(key)
