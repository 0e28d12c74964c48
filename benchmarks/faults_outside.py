"""Faults around the bot: of Slack's Web API, of the socket, and of the embedding service."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from benchmarks.fault_scene import Run, Scene, wait_until
from localslack.faults import FaultKind
from tests.fake_endpoint import FakeEndpoint, Fault


def web(kind: FaultKind, method: str, *, times: int = -1, forget: bool = False, **more: float) -> Run:
    """Let a method of Slack fail while people ask, then no more."""

    async def run(scene: Scene) -> None:
        if forget:
            await scene.forget_channels()
        scene.fault(kind, method=method, times=times, **more)
        await scene.ask()
        scene.slack.faults.clear()
        scene.cleared()

    return run


def cut(act: Callable[[Scene], Awaitable[None]], *, fault: FaultKind | None = None, times: int = -1) -> Run:
    """Do something to the socket while people ask."""

    async def run(scene: Scene) -> None:
        if fault is not None:
            scene.fault(fault, times=times)

        async def hurt() -> None:
            await act(scene)
            scene.cleared()

        await scene.ask_during(hurt)
        scene.slack.faults.clear()

    return run


async def refresh(scene: Scene) -> None:
    await scene.slack.disconnect("refresh_requested", close_after=0.5)


async def refresh_five_times(scene: Scene) -> None:
    for _ in range(5):
        await refresh(scene)
        await asyncio.sleep(0.3)


async def warn_and_refresh(scene: Scene) -> None:
    await scene.slack.disconnect("warning")
    await asyncio.sleep(0.5)
    await refresh(scene)


async def disable_link(scene: Scene) -> None:
    await scene.slack.disconnect("link_disabled", close_after=0.2)


async def close(scene: Scene) -> None:
    await scene.slack.close_frames()


async def fin(scene: Scene) -> None:
    scene.slack.fin()


async def rst(scene: Scene) -> None:
    scene.slack.rst()


async def no_pongs(scene: Scene) -> None:
    """The other end is there and answers no ping: half open, as after a lost network."""
    scene.fault("pong_blackout")
    before = scene.slack.core.hub.total_connections
    await wait_until(lambda: scene.slack.core.hub.total_connections > before)
    scene.slack.faults.clear()
    scene.cleared()
    await scene.ask()


async def pending_acks(scene: Scene) -> None:
    """A refresh in the very moment in which forty commands come."""
    asking = asyncio.create_task(scene.ask(40, apart=0.0))
    await asyncio.sleep(0)
    await refresh(scene)
    scene.cleared()
    await asking


def reconnect_refused(kind: FaultKind, *, times: int, **more: float) -> Run:
    """Cut the socket, and let Slack refuse new ones so many times."""

    async def run(scene: Scene) -> None:
        scene.fault(kind, method="apps.connections.open", times=times, **more)
        scene.slack.rst()
        scene.cleared()
        await asyncio.sleep(0.5)
        await scene.ask(4)

    return run


async def lookups_fail(scene: Scene) -> None:
    """The socket is cut and Slack's name cannot be looked up three times."""
    address = f"http://localhost:{scene.slack.port}"
    scene.slack.core.base_url = address
    scene.environment["SLACK_API_URL"] = f"{address}/api/"
    await scene.start_bot()
    await scene.healthy()
    # Until then it needs no lookup: aiohttp remembers addresses for 10 s, and keeps connections open for 15.
    await asyncio.sleep(16)
    scene.control.fail_lookups(3)
    scene.slack.rst()
    scene.cleared()
    await asyncio.sleep(0.5)
    await scene.ask(4)
    await wait_until(lambda: not scene.control.lookups_left and scene.slack.connections > 0)


async def duplicates(scene: Scene) -> None:
    """Every envelope comes twice."""
    scene.fault("duplicate_envelope")
    await scene.ask(20)
    scene.slack.faults.clear()
    scene.cleared()


async def slow_start(scene: Scene) -> None:
    """auth.test takes five seconds when the bot starts."""
    scene.fault("slow", method="auth.test", times=1, seconds=5.0)
    await scene.start_bot()
    scene.cleared()
    await scene.ask()


def embedding(fault: Fault) -> Run:
    """Let the embedding service misbehave while people ask."""

    async def run(scene: Scene) -> None:
        scene.endpoint.fault = fault
        await scene.ask()
        scene.endpoint.fault = Fault.NONE
        scene.cleared()

    return run


async def wrong_length(scene: Scene) -> None:
    """The service answers with vectors of another length, as after a change of model."""
    scene.endpoint.dimensions = 512
    await scene.ask()
    scene.endpoint.dimensions = 768
    scene.cleared()


async def service_gone(scene: Scene) -> None:
    """Nothing listens where the service was; later it is there again."""
    with FakeEndpoint() as gone:
        scene.environment["SLACKQUERY_EMBEDDING_URL"] = gone.ollama_url
        await scene.start_bot()
        await scene.healthy()
        port = gone.port
    await scene.ask()
    with FakeEndpoint(port=port):
        scene.cleared()
        # The bot leaves a service that failed alone for a while; recovery is awaited while it is there.
        await scene.recover_here()


SLACK: Final = (
    ("users.info answers 429, once, for 1 s", web("rate_limited", "users.info", times=1, retry_after=1)),
    ("users.info answers 429 for 15 s", web("rate_limited", "users.info", times=1, retry_after=15)),
    ("users.info answers 500", web("status_500", "users.info")),
    ("users.info names an error", web("error", "users.info")),
    ("users.info takes 2 s", web("slow", "users.info", seconds=2.0)),
    ("users.info takes 12 s, longer than an answer may", web("slow", "users.info", seconds=12.0)),
    ("users.conversations answers 503", web("status_503", "users.conversations")),
    ("users.conversations answers half a document", web("malformed_json", "users.conversations")),
    ("users.conversations is cut off (RST)", web("drop", "users.conversations")),
    ("conversations.list answers 503", web("status_503", "conversations.list", forget=True)),
    ("conversations.list answers half a document", web("malformed_json", "conversations.list", forget=True)),
    (
        "conversations.list answers 429 for 3 s",
        web("rate_limited", "conversations.list", times=1, forget=True, retry_after=3),
    ),
    ("every method takes 1 s", web("slow", "*", forget=True, seconds=1.0)),
    ("every method answers 500", web("status_500", "*", forget=True)),
    ("response_url says 404", web("response_url_404", "response_url")),
    ("response_url answers 500 once", web("status_500", "response_url", times=1)),
    ("response_url answers 500 always", web("status_500", "response_url")),
    ("response_url answers 429, once, for 1 s", web("rate_limited", "response_url", times=1, retry_after=1)),
    ("response_url is cut off (RST) once", web("drop", "response_url", times=1)),
    ("response_url takes 3 s", web("slow", "response_url", seconds=3.0)),
)
SOCKET: Final = (
    ("refresh", cut(refresh)),
    ("refresh as forty commands come", pending_acks),
    ("five refreshes in two seconds", cut(refresh_five_times)),
    ("warning, then refresh", cut(warn_and_refresh)),
    ("link_disabled", cut(disable_link)),
    ("CLOSE without a word", cut(close)),
    ("FIN without CLOSE", cut(fin)),
    ("RST", cut(rst)),
    ("the other end ignores our CLOSE", cut(refresh, fault="ignore_close")),
    ("no ping is answered", no_pongs),
    ("every envelope twice", duplicates),
    ("RST, and a new socket is refused with 500 three times", reconnect_refused("status_500", times=3)),
    ("RST, and a new socket is refused with 429 for 3 s", reconnect_refused("rate_limited", times=1, retry_after=3)),
)
EMBEDDING: Final = (
    ("hangs", embedding(Fault.HANG)),
    ("sends its answer byte by byte", embedding(Fault.TRICKLE_BODY)),
    ("answers 503", embedding(Fault.STATUS_503)),
    ("answers with a web page", embedding(Fault.HTML)),
    ("gives not-a-number", embedding(Fault.NAN)),
    ("gives zeros", embedding(Fault.ZEROS)),
    ("gives one vector too many", embedding(Fault.ONE_TOO_MANY)),
    ("gives vectors of another length", wrong_length),
)
