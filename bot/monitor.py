"""What a monitoring system asks the bot on loopback: `/metrics`, `/healthz`, `/readyz`."""

import json
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from bot.metrics import CONTENT_TYPE, Metrics

HOST: Final = "127.0.0.1"
_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})

Problems = Callable[[], Awaitable[tuple[str, ...]]]
"""Gives sentences about what is wrong; none where all is well."""


class MonitorError(Exception):
    """The port cannot be used; the sentence says which."""


class Monitor:
    """Serves the three addresses on one port of 127.0.0.1, to GET alone. For one event loop.

    Args:
        metrics: The figures.
        sick: What only a restart helps against: `/healthz` answers 503 with it.
        unready: Why searches cannot be answered now: `/readyz` answers 503 with it.
    """

    def __init__(self, metrics: Metrics, *, sick: Problems, unready: Problems) -> None:
        self._metrics = metrics
        app = web.Application(middlewares=[_loopback_names_only])
        app.router.add_get("/metrics", self._show_metrics)
        app.router.add_get("/healthz", _handler_of(sick))
        app.router.add_get("/readyz", _handler_of(unready))
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.5)

    @property
    def port(self) -> int:
        """The port that it listens on; 0 before `start`."""
        addresses = self._runner.addresses
        return int(addresses[0][1]) if addresses else 0

    async def start(self, port: int) -> None:
        """Listen; on any free port for 0.

        Raises:
            MonitorError: The port is taken.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, port).start()
        except OSError as exc:
            await self._runner.cleanup()
            raise MonitorError(f"SLACKQUERY_METRICS_PORT: port {port} cannot be used ({exc.strerror}).") from exc

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _handler_of(problems: Problems) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        found = await problems()
        content = json.dumps({"ok": not found, "problems": list(found)}) + "\n"
        return web.Response(status=503 if found else 200, text=content, content_type="application/json")

    return handle


@web.middleware
async def _loopback_names_only(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    # A page in a browser of this machine could otherwise read it under a name of its own that leads here.
    name, _, port = request.host.rpartition(":")
    if (name if port.isdigit() and name else request.host) not in _NAMES:
        raise web.HTTPForbidden(text="Only by the name of this machine.\n")
    return await handler(request)
