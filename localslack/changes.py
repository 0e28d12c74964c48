"""A live feed per person: what that person would now see differently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

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


class Listener:
    """One person's changes from the moment it was made; an async iterator without an end.

    Being cancelled while waiting for a change ends it, and so does ``close``.
    """

    def __init__(self, listeners: list[Listener]) -> None:
        self._changes: asyncio.Queue[Change] = asyncio.Queue()
        self._listeners = listeners
        listeners.append(self)

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> Change:
        """Wait for the next change."""
        try:
            return await self._changes.get()
        except asyncio.CancelledError:
            self.close()
            raise

    def hear(self, change: Change) -> None:
        """Keep a change until it is asked for."""
        self._changes.put_nowait(change)

    def close(self) -> None:
        """Listen no more; a second call does nothing."""
        if self in self._listeners:
            self._listeners.remove(self)


class Feed:
    """Hands changes to everybody who listens for a person. Belongs to the server's event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    def publish(self, change: Change, user_ids: Iterable[str]) -> None:
        """Hand a change to the listeners of these people; without listeners it is lost."""
        for user_id in set(user_ids):
            for listener in self._listeners.get(user_id, []):
                listener.hear(change)

    def listen(self, user_id: str) -> Listener:
        """Return the person's changes from now on."""
        return Listener(self._listeners.setdefault(user_id, []))
