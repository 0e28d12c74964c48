"""The stand-in as one object: start it, point the bot at it, act as people, look at what happened.

Use::

    async with LocalSlack(workspace, manifest) as slack:
        # SLACK_API_URL=slack.api_url, SLACK_BOT_TOKEN=slack.bot_token, SLACK_APP_TOKEN=slack.app_token
        await slack.wait_connected()
        ada = slack.person("U1")
        outcome = await ada.type("/slackquery rate limit", channel="C1")
        answer = await ada.wait_for_message("C1", lambda seen: "rate limit" in seen.plain_text)
        await ada.click(answer, text="Next")
        assert slack.recorder.notifications == []

Nothing here was ever compared with the real Slack; see the package's docstring.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from localslack.app_manifest import AppManifest
from localslack.auth import Tokens
from localslack.changes import Listener
from localslack.core import new_core
from localslack.driver import Desk, Person
from localslack.events import Events
from localslack.faults import FaultKind
from localslack.interactions import Interactions
from localslack.json_types import Clock, JsonView
from localslack.membership import Membership
from localslack.recorder import Recorder
from localslack.socket_mode import DisconnectReason
from localslack.web_api import WebAPI
from localslack.workspace import Channel, Workspace

HOST = "127.0.0.1"
EVENT_RETRY_SECONDS = (1.0, 60.0, 300.0)
_POLL_SECONDS = 0.01


class LocalSlack:
    """A Slack on loopback for one workspace and one app.

    An async context manager; everything belongs to the event loop it was started in.

    Attributes:
        workspace: The description it was started with.
        world: People, channels and memberships as they are now.
        recorder: What the app called and sent, whom it would have notified, how envelopes went.
        faults: What is going to go wrong, see ``fault``.
        core: The shared state, for the page.
    """

    def __init__(
        self,
        workspace: Workspace,
        manifest: JsonView,
        *,
        clock: Clock = time.time,
        port: int = 0,
        ack_seconds: float = 3.0,
        event_retry_seconds: Sequence[float] = EVENT_RETRY_SECONDS,
        tokens: Tokens | None = None,
        rate_limits: bool = False,
        message_blocks_chars: int = 12_000,
        page_items: int | None = None,
        record_to: Path | None = None,
        extend: Sequence[Callable[[web.Application, LocalSlack], None]] = (),
    ) -> None:
        """Make the stand-in; ``start`` (or ``async with``) opens the port.

        Args:
            workspace: Who and what there is at the start.
            manifest: The app's parsed manifest: it decides scopes, commands, shortcuts and events.
            clock: Unix seconds for timestamps, trigger ids, response URLs and rate limits. Ack
                deadlines run on the event loop's own clock.
            port: The port on 127.0.0.1; 0 for a free one.
            ack_seconds: How long an ack may take.
            event_retry_seconds: The pauses before an event that was not acked is repeated.
            tokens: Tokens to accept; random ones by default.
            rate_limits: Whether to enforce Slack's tiers.
            message_blocks_chars: The readable characters that all blocks of a message may hold.
            page_items: Never answer with more items in a page than this, as Slack may.
            record_to: A file that gets every payload of the app as one JSON line.
            extend: Functions that add further routes, such as the page's.

        Raises:
            ManifestError: the manifest is not one.
        """
        self.workspace = workspace
        self.clock = clock
        self.core = new_core(
            workspace,
            AppManifest.from_mapping(manifest),
            clock=clock,
            tokens=tokens or Tokens(),
            recorder=Recorder(clock, record_to),
            ack_seconds=ack_seconds,
            rate_limits=rate_limits,
            message_blocks_chars=message_blocks_chars,
            page_items=page_items,
        )
        self.world, self.faults, self.recorder = self.core.world, self.core.faults, self.core.recorder
        self._port = port
        self._extend = tuple(extend)
        self._people: dict[str, Person] = {}
        self._runner: web.AppRunner | None = None
        self.events = Events(self.core, retry_seconds=event_retry_seconds)
        self.membership = Membership(self.core, self.events)
        self._desk = Desk(
            core=self.core,
            interactions=Interactions(self.core),
            membership=self.membership,
            events=self.events,
        )

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.stop()

    async def start(self) -> None:
        """Open the port.

        Raises:
            OSError: the port is taken.
        """
        app = web.Application(client_max_size=8 * 1024 * 1024)
        WebAPI(self.core).add_routes(app)
        app.router.add_get("/link/", self.core.hub.handle)
        app.router.add_get("/link", self.core.hub.handle)
        for extend in self._extend:
            extend(app, self)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port).start()
        self._port = int(self._runner.addresses[0][1])
        self.core.base_url = self.url

    async def stop(self) -> None:
        """Cut every connection and close the port; a second call does nothing."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        await self.events.stop()
        await self.core.hub.stop()
        await runner.cleanup()

    @property
    def port(self) -> int:
        """Return the port in use."""
        return self._port

    @property
    def url(self) -> str:
        """Return the server's address, without a slash at the end."""
        return f"http://{HOST}:{self._port}"

    @property
    def api_url(self) -> str:
        """Return the Web API's base address, for ``base_url`` of SDK clients."""
        return f"{self.url}/api/"

    @property
    def bot_token(self) -> str:
        """Return the installed bot's token."""
        return self.core.tokens.bot

    @property
    def app_token(self) -> str:
        """Return the app-level token for Socket Mode."""
        return self.core.tokens.app

    @property
    def page_token(self) -> str:
        """Return the token that the page's address carries."""
        return self.core.tokens.page

    @property
    def manifest(self) -> AppManifest:
        """Return what the app declares."""
        return self.core.manifest

    @property
    def connections(self) -> int:
        """Return how many Socket Mode connections are open."""
        return len(self.core.hub.connections)

    def person(self, user_id: str) -> Person:
        """Return a user to act as; the same object every time.

        Raises:
            KeyError: there is no such user.
        """
        if user_id not in self.world.users:
            raise KeyError(f"no user {user_id} in the workspace")
        return self._people.setdefault(user_id, Person(user_id, self._desk))

    def changes(self, user_id: str) -> Listener:
        """Return a live feed of what this person sees differently from now on, for ``async for``."""
        return self.core.feed.listen(user_id)

    async def wait_connected(self, count: int = 1, *, timeout: float = 10.0) -> None:  # noqa: ASYNC109
        """Wait until the app has at least ``count`` Socket Mode connections.

        Raises:
            TimeoutError: it had not within ``timeout`` seconds.
        """
        async with asyncio.timeout(timeout):
            while self.connections < count:  # noqa: ASYNC110 - a test's wait, no event to miss
                await asyncio.sleep(_POLL_SECONDS)

    def fault(
        self,
        kind: FaultKind,
        *,
        method: str = "*",
        times: int = 1,
        seconds: float = 0.0,
        retry_after: int = 30,
        error: str = "internal_error",
    ) -> None:
        """Order a fault, see ``localslack.faults.Faults.order``."""
        self.faults.order(kind, method=method, times=times, seconds=seconds, retry_after=retry_after, error=error)

    async def disconnect(self, reason: DisconnectReason = "refresh_requested", *, close_after: float = 1.0) -> None:
        """Send every connection a ``disconnect`` message.

        Args:
            reason: ``warning`` only announces; the others close the connection afterwards.
            close_after: Seconds until the CLOSE frame.
        """
        await self.core.hub.disconnect(reason, close_after=close_after)

    async def close_frames(self) -> None:
        """Send every connection a CLOSE frame without notice."""
        await self.core.hub.close_frames()

    def fin(self) -> None:
        """End every connection by TCP FIN, without a CLOSE frame."""
        self.core.hub.fin()

    def rst(self) -> None:
        """Cut every connection by TCP RST."""
        self.core.hub.rst()

    def join(self, channel_id: str, user_id: str) -> None:
        """Add a member to a channel, and send the event."""
        self.membership.join(channel_id, user_id)

    def leave(self, channel_id: str, user_id: str) -> None:
        """Remove a member from a channel, and send the event."""
        self.membership.leave(channel_id, user_id)

    def archive(self, channel_id: str) -> None:
        """Archive a channel, and send the event."""
        self.membership.archive(channel_id)

    def unarchive(self, channel_id: str) -> None:
        """Unarchive a channel, and send the event."""
        self.membership.unarchive(channel_id)

    def rename(self, channel_id: str, name: str) -> None:
        """Rename a channel, and send the event."""
        self.membership.rename(channel_id, name)

    def make_private(self, channel_id: str) -> None:
        """Turn a channel private; Slack tells it in a message of the channel only."""
        self.membership.make_private(channel_id)

    def share(self, channel_id: str) -> None:
        """Share a channel with another workspace, and send the event."""
        self.membership.share(channel_id)

    def unshare(self, channel_id: str) -> None:
        """End a channel's sharing, and send the event."""
        self.membership.unshare(channel_id)

    def change_channel_id(self, channel_id: str, new_channel_id: str) -> None:
        """Give a channel another id, and send the event."""
        self.membership.change_id(channel_id, new_channel_id)

    def delete_channel(self, channel_id: str) -> None:
        """Delete a channel, and send the event."""
        self.membership.delete_channel(channel_id)

    def create_channel(self, channel: Channel) -> None:
        """Add a channel, and send the event."""
        self.membership.create_channel(channel)

    def delete_message(self, channel_id: str, ts: str) -> None:
        """Delete anybody's message, as its author or an admin does."""
        self.membership.delete_message(channel_id, ts)

    def make_read_only(self, channel_id: str) -> None:
        """Let nobody but admins write in a channel; Slack sends no event for that."""
        self.membership.make_read_only(channel_id)

    def change_user(self, user_id: str, **fields: Any) -> None:  # noqa: ANN401 - dataclass fields
        """Change fields of a user's record, and send the event."""
        self.membership.change_user(user_id, **fields)
