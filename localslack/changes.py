"""A live feed per person: what that person would now see differently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal[
    "message", "message_changed", "message_deleted", "ephemeral", "view", "home", "channel", "error", "reload"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that changed; the ids say where to look again.

    ``view`` means the modal stack, ``channel`` the channel list or a channel's members or name,
    ``error`` that something was added to ``Person.errors``.
    """

    kind: ChangeKind
    channel_id: str | None = None
    ts: str | None = None
    view_id: str | None = None


class Feed:
    """Hands changes to everybody who listens for a person. Belongs to the server's event loop."""

    def __init__(self) -> None:
        self._queues: dict[str, list[asyncio.Queue[Change]]] = {}

    def publish(self, change: Change, user_ids: Iterable[str]) -> None:
        """Hand a change to the listeners of these people; without listeners it is lost."""
        for user_id in set(user_ids):
            for queue in self._queues.get(user_id, []):
                queue.put_nowait(change)

    async def listen(self, user_id: str) -> AsyncIterator[Change]:
        """Yield the person's changes from now on, until the caller stops."""
        queue: asyncio.Queue[Change] = asyncio.Queue()
        self._queues.setdefault(user_id, []).append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues[user_id].remove(queue)
