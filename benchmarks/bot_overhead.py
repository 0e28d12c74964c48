"""What the bot adds to a search, and how it holds up when many ask at once, on the local Slack.

    python -m benchmarks.bot_overhead [--export ZIP --artifacts DIR] [--users 50] [--searches 200] [--json FILE]

Without `--export` the sample archive. One asker first: from the envelope's way out of the local Slack to the answer's
arrival at its response_url, less what the engine's search took. Then so many at once, each asking again as soon as
the answer is there. The local Slack lives in the same process; its checks of answers, 10 ms of processor time each, are
left out while many ask: they would be most of what is measured.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

# First, before anything loads numpy: it says how many threads numpy's products take.
from bot.settings import EngineSettings, Settings

# isort: split
import numpy as np
import yaml
from aiohttp import web

import bot.archive
from bot.app import start_bot
from bot.demo import ROOT, prepare_demo
from bot.log import configure_logging
from localslack.export_workspace import describe_export
from localslack.server import LocalSlack
from localslack.workspace import Channel, User, Workspace
from retrieval import Artifact
from retrieval.builder import SilentProgress

QUERIES: Final = (
    "deploy failed last night",
    "who owns the checkout service",
    "rate limit 429",
    "timeout",
    "how do I reset the staging database",
    "E4392",
    "release notes",
    "error in the build",
)
CHANNEL: Final = "CBENCH"


class Watch:
    """When envelopes left and answers arrived, by response_url; what the engine took. Seconds of one clock."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        self.arrived: dict[str, float] = {}
        self.engine: list[float] = []
        # Of the event loop's thread, in which the bot and the local Slack are, from envelope to answer.
        self.processor: list[float] = []
        self._used: dict[str, float] = {}
        self.unchecked = False
        self.bytes = 0
        self._newest: dict[str, str] = {}
        self._answered: dict[str, asyncio.Event] = {}

    def attach(self, application: web.Application, slack: LocalSlack) -> None:
        """Note what goes by the local Slack."""
        deliver = slack.core.hub.deliver

        async def noted(envelope: Any, **more: Any) -> Any:  # noqa: ANN401 - passed on as it is
            path = _path(envelope.payload["response_url"])
            self._newest[envelope.payload["user_id"]] = path
            self._answered[path] = asyncio.Event()
            self.sent[path], self._used[path] = time.perf_counter(), time.thread_time()
            return await deliver(envelope, **more)

        slack.core.hub.deliver = noted  # type: ignore[method-assign]  # A benchmark looks on from outside.

        @web.middleware
        async def note(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            path = request.path
            if path in self.sent and path not in self.arrived:
                self.arrived[path] = time.perf_counter()
                self.processor.append(time.thread_time() - self._used[path])
                self._answered[path].set()
                if self.unchecked:
                    self.bytes += len(await request.read())
                    return web.Response(text="ok")
            return await handler(request)

        application.middlewares.append(note)

    @contextmanager
    def timing_engine(self) -> Iterator[None]:
        """Time the engine's searches while the block runs."""
        search = bot.archive.search_slack

        def timed(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - passed on as it is
            started = time.perf_counter()
            try:
                return search(*given, **more)
            finally:
                self.engine.append(time.perf_counter() - started)

        bot.archive.search_slack = timed
        try:
            yield
        finally:
            bot.archive.search_slack = search

    async def ask(self, slack: LocalSlack, user: str, text: str) -> float:
        """Search as a person does; return the seconds from the envelope to its answer."""
        outcome = await slack.person(user).type(f"/slackquery {text}", channel=CHANNEL)
        assert outcome.acked, outcome
        path = self._newest[user]
        async with asyncio.timeout(60):
            await self._answered[path].wait()
        return self.arrived[path] - self.sent[path]


def _path(address: str) -> str:
    return "/" + address.split("://", 1)[1].split("/", 1)[1]


def with_users(workspace: Workspace, count: int) -> tuple[Workspace, list[str]]:
    """Return a workspace with so many people more, who share a channel, and their ids."""
    people = [f"UBENCH{number}" for number in range(count)]
    users = tuple(User(id=one, name=one.lower(), real_name=one, team_id=workspace.team.id) for one in people)
    channel = Channel(id=CHANNEL, name="bench", members=tuple(people))
    return (
        replace(workspace, users=(*workspace.users, *users), channels=(*workspace.channels, channel)),
        people,
    )


async def measure(workspace: Workspace, settings: Mapping[str, Any], *, users: int, searches: int) -> dict[str, Any]:
    """Start the local Slack and the bot, ask, and return what was seen."""
    workspace, people = with_users(workspace, users)
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))
    watch = Watch()
    async with LocalSlack(workspace, manifest, extend=(watch.attach,)) as slack:
        own = Settings.of(
            slack_bot_token=slack.bot_token,
            slack_app_token=slack.app_token,
            slack_api_url=slack.api_url,
            **settings,
        )
        with watch.timing_engine():
            running = await start_bot(own)
            try:
                await slack.wait_connected()
                single = await _one_asker(watch, slack, people[0], searches)
                many = await _many_askers(watch, slack, people, searches)
            finally:
                await running.stop()
        assert slack.recorder.rejected == []
    return {"one asker": single, f"{users} at once": many}


async def _one_asker(watch: Watch, slack: LocalSlack, user: str, searches: int) -> dict[str, Any]:
    # The first search reads the person and the channels from Slack; the next ones know them.
    for text in QUERIES:
        await watch.ask(slack, user, text)
    watch.processor.clear()
    whole, beyond = [], []
    for number in range(searches):
        watch.engine.clear()
        whole.append(await watch.ask(slack, user, QUERIES[number % len(QUERIES)]))
        beyond.append(whole[-1] - sum(watch.engine))
    return {
        "envelope to answer": _row(whole),
        "beyond the engine (p50 <= 10 ms)": _row(beyond),
        "of it the event loop's processor time": _row(watch.processor),
    }


async def _many_askers(watch: Watch, slack: LocalSlack, people: list[str], searches: int) -> dict[str, Any]:
    each = max(4, searches // len(people))
    for user in people:
        await watch.ask(slack, user, QUERIES[0])
    slack.recorder.clear()
    watch.unchecked = True

    async def ask_on(number: int) -> list[float]:
        return [await watch.ask(slack, people[number], QUERIES[(number + turn) % len(QUERIES)]) for turn in range(each)]

    started = time.perf_counter()
    answers = [one for row in await asyncio.gather(*(ask_on(number) for number in range(len(people)))) for one in row]
    seconds = time.perf_counter() - started
    acks = [one.seconds for one in slack.recorder.deliveries if one.seconds is not None]
    return {
        "answers per second": round(len(answers) / seconds, 1),
        "envelope to answer": _row(answers),
        "acks (p99 < 300 ms)": _row(acks),
        "bytes of an answer": round(watch.bytes / len(answers)),
    }


def _row(seconds: list[float]) -> dict[str, float]:
    milliseconds = np.array(seconds) * 1e3
    marks = {name: float(np.percentile(milliseconds, mark)) for name, mark in (("p50", 50), ("p95", 95), ("p99", 99))}
    return {"count": len(seconds), **{f"{name}_ms": round(value, 1) for name, value in marks.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", type=Path, help="The export that the archive was built from.")
    parser.add_argument("--artifacts", type=Path, help="The folder of its published artifact.")
    parser.add_argument("--cache", type=Path, default=Path(".cache/speed/demo"))
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    configure_logging(level="ERROR", stream=sys.stderr)
    if arguments.export is None:
        demo = prepare_demo(
            None, cache=arguments.cache, settings=EngineSettings(), progress=SilentProgress(), say=lambda _: None
        )
        workspace, artifacts = demo.workspace, demo.folder
    else:
        workspace, artifacts = describe_export(arguments.export), arguments.artifacts
    with Artifact(artifacts / "current.duckdb") as artifact:
        teams = dict.fromkeys(artifact.info.workspace_ids, workspace.team.id)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "artifacts": artifacts,
            "teams": teams,
            "audit_dir": Path(folder) / "audit",
            "store": Path(folder) / "store.sqlite3",
            "memory_mb": 256,
            "log_level": "ERROR",
        }
        report = asyncio.run(measure(workspace, settings, users=arguments.users, searches=arguments.searches))
    print(json.dumps(report, indent=1))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
