"""What a person can see, and waiting until it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from localslack.core import Core, UserError
from localslack.messages import Message
from localslack.seen import SeenMessage, SeenView, seen_message, seen_view
from localslack.views import View
from localslack.workspace import Channel, User

_POLL_SECONDS = 0.01


class NotVisibleError(LookupError):
    """The person does not see what the action was meant for."""


class Reader:
    """One user of the workspace, looking. Belongs to the server's event loop."""

    def __init__(self, user_id: str, core: Core) -> None:
        self.user_id = user_id
        self._core = core

    @property
    def user(self) -> User:
        """Return the person's record as it is now."""
        return self._core.world.users[self.user_id]

    @property
    def errors(self) -> list[UserError]:
        """Return what Slack itself told the person, oldest first."""
        return self._core.errors.setdefault(self.user_id, [])

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Return the conversations that the person may open, in the description's order."""
        world = self._core.world
        return tuple(c for c in world.channels.values() if world.person_sees(self.user_id, c))

    @property
    def views(self) -> tuple[SeenView, ...]:
        """Return the person's open modals, top last."""
        return tuple(seen_view(view, self._core.world) for view in self._core.views.stack(self.user_id))

    @property
    def home(self) -> SeenView | None:
        """Return the app's Home tab as published for the person, or None."""
        view = self._core.views.home(self.user_id)
        return None if view is None else seen_view(view, self._core.world)

    def messages(self, channel: str, *, thread_ts: str | None = None) -> list[SeenMessage]:
        """Return what the person sees in a channel now, oldest first, ephemeral messages too.

        Args:
            channel: The channel's id.
            thread_ts: Only this thread: its first message and its replies.

        Raises:
            NotVisibleError: the person may not open the channel.
        """
        self._visible_channel(channel)
        seen = self._core.store.seen_by(self.user_id, channel)
        kept = [m for m in seen if thread_ts is None or thread_ts in {m.ts, m.thread_ts}]
        return [seen_message(message, self._core.world) for message in kept]

    async def wait_until(self, condition: Callable[[], bool], *, timeout: float = 5.0) -> None:  # noqa: ASYNC109
        """Wait until a condition holds.

        Raises:
            TimeoutError: it did not within ``timeout`` seconds.
        """
        async with asyncio.timeout(timeout):
            while not condition():  # noqa: ASYNC110 - the condition may be about anything
                await asyncio.sleep(_POLL_SECONDS)

    async def wait_for_message(
        self,
        channel: str,
        wanted: Callable[[SeenMessage], bool] = lambda seen: seen.by_app,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109
    ) -> SeenMessage:
        """Wait for a message that the person sees, and return the newest such one.

        Raises:
            TimeoutError: none came within ``timeout`` seconds.
        """
        await self.wait_until(lambda: any(map(wanted, self.messages(channel))), timeout=timeout)
        return [message for message in self.messages(channel) if wanted(message)][-1]

    async def wait_for_view(
        self,
        wanted: Callable[[SeenView], bool] = lambda view: view.type == "modal",
        *,
        timeout: float = 5.0,  # noqa: ASYNC109
    ) -> SeenView:
        """Wait for an open modal, topmost first, and return it.

        Raises:
            TimeoutError: none came within ``timeout`` seconds.
        """
        await self.wait_until(lambda: any(map(wanted, self.views)), timeout=timeout)
        return next(view for view in reversed(self.views) if wanted(view))

    def current_message(self, message: SeenMessage) -> SeenMessage:
        """Return what became of a message.

        Raises:
            NotVisibleError: the person does not see it any more.
        """
        return seen_message(self._post(message), self._core.world)

    def current_view(self, view: SeenView) -> SeenView:
        """Return what became of a view.

        Raises:
            NotVisibleError: it is not open any more.
        """
        return seen_view(self._view(view), self._core.world)

    def _visible_channel(self, channel_id: str) -> Channel:
        channel = self._core.world.channels.get(channel_id)
        if channel is None or not self._core.world.person_sees(self.user_id, channel):
            raise NotVisibleError(f"{self.user_id} does not see channel {channel_id}")
        return channel

    def _post(self, message: SeenMessage) -> Message:
        self._visible_channel(message.channel_id)
        found = self._core.store.find(message.channel_id, message.ts)
        if found is None or found.ephemeral_for not in {None, self.user_id}:
            raise NotVisibleError(f"{self.user_id} does not see message {message.ts}")
        return found

    def _view(self, view: SeenView) -> View:
        found = self._core.views.find(view.id)
        if found is None or found.user_id != self.user_id:
            raise NotVisibleError(f"{self.user_id} does not see view {view.id}")
        return found
