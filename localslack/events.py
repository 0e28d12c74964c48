"""Events API: what happens in the workspace, told to the app if it subscribed and may know."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from localslack.core import Core
from localslack.ids import new_id
from localslack.json_types import JsonObject
from localslack.socket_mode import Envelope

MESSAGE_EVENTS = {
    "public_channel": "message.channels",
    "private_channel": "message.groups",
    "mpim": "message.mpim",
    "im": "message.im",
}


class Events:
    """Sends events and repeats those that were not acked, with the same envelope id.

    ``retry_seconds`` are the pauses before each repetition, counted from the missed deadline.
    """

    def __init__(self, core: Core, *, retry_seconds: Sequence[float]) -> None:
        self._core = core
        self._retry_seconds = tuple(retry_seconds)
        self._running: set[asyncio.Task[None]] = set()

    def send(self, event: JsonObject, *, subscription: str | None = None) -> None:
        """Send an event in the background if the manifest subscribes to it.

        Args:
            event: The inner event with its ``type``; ``event_ts`` is added.
            subscription: Its name in the manifest where that is not the type (``message.channels``).
        """
        name = subscription or str(event["type"])
        if name not in self._core.manifest.events:
            return
        envelope = Envelope(kind="events_api", what=name, payload=self._payload(event), answers=False)
        task = asyncio.create_task(self._deliver(envelope))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def settled(self) -> None:
        """Wait until every event was acked or given up."""
        while self._running:
            await asyncio.gather(*self._running)

    async def stop(self) -> None:
        """Give up whatever is still being sent."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _deliver(self, envelope: Envelope) -> None:
        delivery = await self._core.hub.deliver(envelope)
        for attempt, pause in enumerate(self._retry_seconds, start=1):
            if delivery.status == "acked":
                return
            await asyncio.sleep(pause)
            await self._core.hub.deliver(envelope, attempt=attempt, delivery=delivery)

    def _payload(self, event: JsonObject) -> JsonObject:
        core, world = self._core, self._core.world
        return {
            "token": "test-verification",
            "team_id": world.team.id,
            "context_team_id": world.team.id,
            "context_enterprise_id": None,
            "api_app_id": world.app_id,
            "event": {**event, "event_ts": core.store.next_ts()},
            "type": "event_callback",
            "event_id": new_id("Ev"),
            "event_time": int(core.clock()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": world.team.id,
                    "user_id": world.bot_user_id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": new_id("EC"),
        }
