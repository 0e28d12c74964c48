"""The Socket Mode connection: each envelope taken once, and a new client where the old one does not recover."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
import structlog
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from bot.acks import PendingAcks
from bot.envelopes import SeenEnvelopes
from bot.metrics import Metrics
from bot.store import Store
from bot.web_api import error_code

_log = structlog.get_logger(__name__)

PING_SECONDS: Final = 5.0
CHECK_SECONDS: Final = 2.0
# The client reconnects by itself: at once after a refresh or a CLOSE, after a ping or two when the other end is
# gone. What is still down after this long is not coming back.
PATIENCE_SECONDS: Final = 20.0
_CONNECT_SECONDS: Final = 15.0


class ConnectionRefusedBySlackError(Exception):
    """Slack does not let the app connect; the sentence says which setting to look at."""


class _Handler(AsyncSocketModeHandler):
    """Acks an envelope that came before without handing it to the app again."""

    def __init__(
        self,
        app: AsyncApp,
        *,
        app_token: str,
        seen: SeenEnvelopes,
        store: Store | None,
        metrics: Metrics,
        acks: PendingAcks,
    ) -> None:
        super().__init__(app, app_token, logger=logging.getLogger("slack_sdk"), ping_interval=PING_SECONDS)
        self._seen = seen
        self._store = store
        self._metrics = metrics
        self._acks = acks
        self.client.message_listeners.append(self._count_greeting)

    async def connect(self) -> None:
        """Connect; the client tries again until it is connected or closed."""
        await self.connect_async()  # type: ignore[no-untyped-call] # the adapter publishes no types here.

    async def close(self) -> None:
        """Disconnect for good."""
        await self.close_async()  # type: ignore[no-untyped-call] # the adapter publishes no types here.

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        began = time.perf_counter()
        try:
            with self._acks.one():
                await self._take(client, req)
        finally:
            self._metrics.acked(req.type, time.perf_counter() - began)

    async def _count_greeting(self, _client: object, message: dict[str, Any], _raw: str | None) -> None:
        if message.get("type") == "hello":
            self._metrics.connected()

    async def _take(self, client: SocketModeClient, req: SocketModeRequest) -> None:
        event_id = req.payload.get("event_id") if req.type == "events_api" else None
        ids = (req.envelope_id, str(event_id)) if event_id else (req.envelope_id,)
        if not (self._seen.take(*ids) and (self._store is None or await self._store.take_envelopes(*ids))):
            _log.info("envelope_repeated", envelope_type=req.type, retry=req.retry_attempt)
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
            return
        await super().handle(client, req)


class SocketConnection:
    """Holds the bot's connection to Slack. For one event loop.

    Args:
        app: Gets every payload once.
        app_token: The app-level token.
        seen: Which envelopes came to this process before.
        store: Which of them came to another one; None where nobody else is asked.
        metrics: Counts acks and connections.
        acks: Told of each envelope until it is acked.
        monotonic: A clock in seconds.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        app: AsyncApp,
        *,
        app_token: str,
        seen: SeenEnvelopes,
        store: Store | None,
        metrics: Metrics,
        acks: PendingAcks,
        monotonic: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._app = app
        self._app_token = app_token
        self._seen = seen
        self._store = store
        self._metrics = metrics
        self._acks = acks
        self._monotonic = monotonic
        self._down_since: float | None = None
        self._sleep = sleep
        self._handler: _Handler | None = None
        self._watch: asyncio.Task[None] | None = None
        self.rebuilt = 0

    async def start(self) -> None:
        """Connect, and keep connected until `stop`.

        Raises:
            ConnectionRefusedBySlackError: The app-level token does not work, or Slack cannot be reached.
        """
        try:
            answer = await self._app.client.apps_connections_open(app_token=self._app_token)
        except SlackApiError as exc:
            reason = error_code(exc)
            raise ConnectionRefusedBySlackError(
                f"Slack does not accept SLACK_APP_TOKEN for Socket Mode ({reason})."
            ) from exc
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise ConnectionRefusedBySlackError(f"Slack cannot be reached ({type(exc).__name__}).") from exc
        self._handler = self._make_handler()
        self._handler.client.wss_uri = str(answer["url"])
        await self._handler.connect()
        self._watch = asyncio.create_task(self._keep_connected())

    async def is_connected(self) -> bool:
        """Return whether pings are being answered now."""
        return self._handler is not None and bool(await self._handler.client.is_connected())

    async def stop(self, *, seconds: float) -> None:
        """Take nothing more: wait for acks under way, then close; gives up waiting after that long."""
        if self._watch is not None:
            self._watch.cancel()
        handler, self._handler = self._handler, None
        if handler is None:
            return
        until = self._monotonic() + seconds
        while self._acks.count and self._monotonic() < until:
            await self._sleep(0.01)
        await _close(handler)

    @property
    def down_seconds(self) -> float:
        """For how long there has been no connection; 0 while there is one."""
        return 0.0 if self._down_since is None else self._monotonic() - self._down_since

    async def _keep_connected(self) -> None:
        tried_at: float | None = None
        while True:
            await self._sleep(CHECK_SECONDS)
            if await self.is_connected():
                self._down_since = tried_at = None
                continue
            now = self._monotonic()
            self._down_since = now if self._down_since is None else self._down_since
            tried_at = now if tried_at is None else tried_at
            if now - tried_at >= PATIENCE_SECONDS:
                await self._rebuild()
                tried_at = None

    async def _rebuild(self) -> None:
        """Put a new client in the place of one that does not recover: a closed client is never used again."""
        old, new = self._handler, self._make_handler()
        self.rebuilt += 1
        _log.warning("connection_rebuilt", count=self.rebuilt)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await new.connect()
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            _log.error("connection_not_rebuilt", reason=type(exc).__name__)
            await _close(new)
            return
        self._handler = new
        if old is not None:
            await _close(old)

    def _make_handler(self) -> _Handler:
        return _Handler(
            self._app,
            app_token=self._app_token,
            seen=self._seen,
            store=self._store,
            metrics=self._metrics,
            acks=self._acks,
        )


async def _close(handler: _Handler) -> None:
    try:
        async with asyncio.timeout(2.0):
            await handler.close()
    except (aiohttp.ClientError, TimeoutError, OSError) as exc:
        _log.warning("connection_not_closed", reason=type(exc).__name__)
