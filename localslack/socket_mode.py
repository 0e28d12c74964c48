"""Socket Mode: tickets, connections, envelopes, acks and their deadlines, and the faults of sockets.

Facts: docs.slack.dev "Using Socket Mode"; slack-go ``maxResponseSize`` for the size of an ack. Each
payload goes to any one of the connections; its ack may come over any of them, as SDK clients do while
they refresh.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import struct
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from aiohttp import WSMessage, WSMsgType, web

from localslack.errors import ApiError
from localslack.faults import Faults
from localslack.ids import new_envelope_id, new_secret
from localslack.json_types import JsonObject
from localslack.recorder import Delivery, Recorder

ACK_BYTES = 20_480
MOST_CONNECTIONS = 10
PING_SECONDS = 10.0
DisconnectReason: TypeAlias = Literal["warning", "refresh_requested", "link_disabled", "too_many_websockets"]


@dataclass(slots=True, kw_only=True)
class Envelope:
    """What is sent to the app. ``answers`` says whether the ack may carry a payload."""

    kind: str
    what: str
    payload: JsonObject
    answers: bool
    envelope_id: str = field(default_factory=new_envelope_id)

    def frame(self, *, attempt: int, reason: str) -> str:
        """Return the text frame of one attempt (events also say which attempt and why)."""
        body: JsonObject = {
            "envelope_id": self.envelope_id,
            "payload": self.payload,
            "type": self.kind,
            "accepts_response_payload": self.answers,
        }
        if self.kind == "events_api":
            body |= {"retry_attempt": attempt, "retry_reason": reason}
        return json.dumps(body)


@dataclass(eq=False, slots=True, kw_only=True)
class Connection:
    """One open WebSocket. ``draining`` ones are about to be closed and are chosen last."""

    socket: web.WebSocketResponse
    request: web.Request
    number: int
    draining: bool = False

    async def send(self, frame: str) -> bool:
        """Send a text frame; False when the connection is gone."""
        try:
            await self.socket.send_str(frame)
        except (ConnectionError, RuntimeError):
            return False
        return True


@dataclass(eq=False, slots=True)
class _Waiting:
    delivery: Delivery
    answers: bool
    acked: asyncio.Event = field(default_factory=asyncio.Event)


class SocketHub:
    """All Socket Mode connections of the app. Belongs to the server's event loop."""

    def __init__(self, *, recorder: Recorder, faults: Faults, ack_seconds: float, app_id: str) -> None:
        self._recorder = recorder
        self._faults = faults
        self._ack_seconds = ack_seconds
        self._app_id = app_id
        self._tickets: set[str] = set()
        self._waiting: dict[str, _Waiting] = {}
        self._number = 0
        self._closings: set[asyncio.Task[None]] = set()
        self.connections: list[Connection] = []
        self.total_connections = 0

    def open_ticket(self, base_url: str) -> str:
        """Return a WebSocket address that admits one connection."""
        ticket = new_secret()
        self._tickets.add(ticket)
        return f"{base_url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={self._app_id}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one WebSocket until it ends."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403, text="invalid ticket")
        self._tickets.discard(ticket)
        ws = web.WebSocketResponse(autoping=False, autoclose=False, max_msg_size=4 * 1024 * 1024)
        await ws.prepare(request)
        self._number += 1
        connection = Connection(socket=ws, request=request, number=self._number)
        if len(self.connections) >= MOST_CONNECTIONS:
            await connection.send(_disconnect_frame("too_many_websockets"))
            await ws.close()
            return ws
        self.connections.append(connection)
        self.total_connections += 1
        pinger = asyncio.create_task(self._ping(connection))
        try:
            await connection.send(self._hello())
            await self._read(connection)
        finally:
            pinger.cancel()
            self._drop(connection)
        return ws

    async def deliver(self, envelope: Envelope, *, attempt: int = 0, delivery: Delivery | None = None) -> Delivery:
        """Send an envelope to any one connection and wait for its ack, 3 s at most.

        Args:
            envelope: What to send.
            attempt: 0 first, then the number of the retry (events only).
            delivery: The record of the first attempt, when this is a retry.

        Returns:
            The delivery's record; see its ``status``.
        """
        now = asyncio.get_running_loop().time()
        if delivery is None:
            delivery = Delivery(envelope_id=envelope.envelope_id, kind=envelope.kind, what=envelope.what, sent_at=now)
            self._recorder.deliveries.append(delivery)
        waiting = _Waiting(delivery, envelope.answers)
        self._waiting[envelope.envelope_id] = waiting
        delivery.attempts += 1
        delivery.status = "waiting"
        if not await self._send(envelope.frame(attempt=attempt, reason="timeout" if attempt else "")):
            delivery.status = "undeliverable"
            return delivery
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(waiting.acked.wait(), self._ack_seconds)
        if not waiting.acked.is_set() and delivery.status == "waiting":
            delivery.status = "timed_out"
        return delivery

    async def disconnect(self, reason: DisconnectReason, *, close_after: float = 1.0) -> None:
        """Tell every connection that it will end; all but ``warning`` then close it after a while."""
        for connection in list(self.connections):
            if reason != "warning":
                connection.draining = True
            await connection.send(_disconnect_frame(reason))
            if reason != "warning":
                self._later(self._close_soon(connection, close_after))

    async def close_frames(self) -> None:
        """Send every connection a CLOSE frame, without a word before."""
        for connection in list(self.connections):
            self._drop(connection)
            self._later(self._close_soon(connection, 0.0))

    def fin(self) -> None:
        """End every TCP connection with FIN, without a CLOSE frame."""
        for connection in list(self.connections):
            self._drop(connection)
            if connection.request.transport is not None:
                connection.request.transport.close()

    def rst(self) -> None:
        """Cut every TCP connection with RST."""
        for connection in list(self.connections):
            self._drop(connection)
            transport = connection.request.transport
            if transport is None:
                continue
            raw = transport.get_extra_info("socket")
            # A zero linger time makes the kernel answer with RST instead of FIN.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()

    async def stop(self) -> None:
        """Close everything at once, without waiting for the other side."""
        for task in list(self._closings):
            task.cancel()
        for connection in list(self.connections):
            self._drop(connection)
            if connection.request.transport is not None:
                connection.request.transport.close()

    def _hello(self) -> str:
        return json.dumps(
            {
                "type": "hello",
                "connection_info": {"app_id": self._app_id},
                "num_connections": len(self.connections),
                "debug_info": {
                    "host": "localslack",
                    "started": "2026-01-01 00:00:00.000",
                    "build_number": 1,
                    "approximate_connection_time": 18060,
                },
            }
        )

    async def _send(self, frame: str) -> bool:
        """Send to a random live connection; draining ones only when there is no other."""
        while self.connections:
            fresh = [connection for connection in self.connections if not connection.draining]
            chosen = random.choice(fresh or self.connections)  # noqa: S311 - a load balancer, not a secret
            if await chosen.send(frame):
                if self._faults.take_socket("duplicate_envelope"):
                    await random.choice(self.connections).send(frame)  # noqa: S311 - as above
                return True
            self._drop(chosen)
        return False

    async def _read(self, connection: Connection) -> None:
        async for message in _frames(connection.socket):
            if message.type is WSMsgType.PING:
                if not self._blackout():
                    await connection.socket.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledge(message.data)
            elif message.type is WSMsgType.CLOSE:
                if not self._faults.take_socket("ignore_close"):
                    await connection.socket.close()
                    return
                self._drop(connection)
                await asyncio.sleep(PING_SECONDS)
                return

    def _blackout(self) -> bool:
        return self._faults.is_on("pong_blackout")

    async def _ping(self, connection: Connection) -> None:
        while True:
            if not self._blackout():
                with contextlib.suppress(ConnectionError, RuntimeError):
                    await connection.socket.ping(b"Ping from localslack")
            await asyncio.sleep(PING_SECONDS)

    def _acknowledge(self, text: str) -> None:
        """Match an ack with its envelope; what is no ack of a known envelope is ignored."""
        try:
            ack = json.loads(text)
        except json.JSONDecodeError:
            return
        waiting = self._waiting.get(ack.get("envelope_id", "")) if isinstance(ack, dict) else None
        if waiting is None or waiting.acked.is_set():
            return
        delivery = waiting.delivery
        delivery.ack_bytes = len(text.encode())
        if delivery.status == "timed_out":
            delivery.acked_at = asyncio.get_running_loop().time()
            delivery.status = "late"
        elif delivery.ack_bytes >= ACK_BYTES:
            delivery.status = "too_large"
        elif delivery.status == "waiting":
            delivery.acked_at = asyncio.get_running_loop().time()
            delivery.status = "acked"
            if waiting.answers and isinstance(payload := ack.get("payload"), dict):
                delivery.ack_payload = payload
            waiting.acked.set()

    def _drop(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)

    async def _close_soon(self, connection: Connection, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._drop(connection)
        with contextlib.suppress(ConnectionError, RuntimeError):
            await connection.socket.close()


async def _frames(ws: web.WebSocketResponse) -> AsyncIterator[WSMessage]:
    """Yield frames until the connection ends, CLOSE frames included."""
    while True:
        message = await ws.receive()
        if message.type in {WSMsgType.CLOSED, WSMsgType.CLOSING, WSMsgType.ERROR}:
            return
        yield message


def _disconnect_frame(reason: DisconnectReason) -> str:
    return json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "localslack"}})


def check_socket_mode(*, enabled: bool) -> None:
    """Refuse apps.connections.open when the manifest leaves Socket Mode off.

    Raises:
        ApiError: ``access_denied`` (Slack's own name for this case is not documented).
    """
    if not enabled:
        raise ApiError("access_denied", messages=["Socket Mode is not enabled in the manifest"])
