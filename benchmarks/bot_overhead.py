"""What the bot adds to a search, and how it holds up when many ask at once, on the local Slack.

    python -m benchmarks.bot_overhead [--export ZIP --artifacts DIR] [--users 50] [--searches 200] [--json FILE]

Without `--export` the sample archive. The bot is a process of its own, as it is served; the local Slack and whoever
asks are another. One asker first: from the envelope's way out of the local Slack to the answer's arrival at its
response_url, less what the engine's search took (`benchmarks.timed_bot`). Then so many in the same moment, a few
times; then so many without a pause, each asking again as soon as the answer is there. Acks are timed by the local
Slack, its own delays included. Its checks of answers, 10 ms of processor time each, are left out while many ask: they
would be most of what is measured.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

# First, before anything loads numpy: it says how many threads numpy's products take.
from bot.settings import EngineSettings

# isort: split
import numpy as np
import yaml
from aiohttp import web

from benchmarks import timed_bot
from benchmarks.bot_process import BotProcess
from bot.demo import ROOT, prepare_demo
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
BURSTS: Final = 4


class Watch:
    """When envelopes left and answers arrived, by response_url; seconds of one clock."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        self.arrived: dict[str, float] = {}
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
            self.sent[path] = time.perf_counter()
            return await deliver(envelope, **more)

        slack.core.hub.deliver = noted  # type: ignore[method-assign]  # A benchmark looks on from outside.

        @web.middleware
        async def note(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            path = request.path
            if path in self.sent and path not in self.arrived:
                self.arrived[path] = time.perf_counter()
                self._answered[path].set()
                if self.unchecked:
                    self.bytes += len(await request.read())
                    return web.Response(text="ok")
            return await handler(request)

        application.middlewares.append(note)

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


async def measure(
    workspace: Workspace, environment: Mapping[str, str], folder: Path, *, users: int, searches: int
) -> dict[str, Any]:
    """Start the local Slack and the bot, ask, and return what was seen."""
    workspace, people = with_users(workspace, users)
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))
    watch, times = Watch(), folder / "times"
    async with LocalSlack(workspace, manifest, extend=(watch.attach,)) as slack:
        own = {"SLACKQUERY_AUDIT_DIR": str(folder / "audit"), "SLACKQUERY_STORE": str(folder / "store.sqlite3")}
        timing = {timed_bot.FILE: str(times)}
        bot = await BotProcess.start(
            slack, {**environment, **own, **timing}, log_to=folder / "log", module=timed_bot.__name__
        )
        try:
            whole, processor = await _one_asker(watch, slack, bot, people[0], searches)
            engine = [float(line) for line in times.read_text().split()][-len(whole) :]
            single = _single_report(whole, processor, engine)
            many = await _many_askers(watch, slack, people, searches)
        finally:
            await bot.stop()
        assert slack.recorder.rejected == []
    return {"one asker": single, f"{users} at once": many, "load of the machine": round(os.getloadavg()[0], 1)}


async def _one_asker(
    watch: Watch, slack: LocalSlack, bot: BotProcess, user: str, searches: int
) -> tuple[list[float], float]:
    """Return the seconds of each search, and the event loop's processor time of one."""
    # The first search reads the person and the channels from Slack; the next ones know them.
    for text in QUERIES:
        await watch.ask(slack, user, text)
    before = bot.loop_seconds()
    whole = [await watch.ask(slack, user, QUERIES[number % len(QUERIES)]) for number in range(searches)]
    return whole, (bot.loop_seconds() - before) / searches


def _single_report(whole: list[float], processor: float, engine: list[float]) -> dict[str, Any]:
    return {
        "envelope to answer": _row(whole),
        "beyond the engine (p50 <= 10 ms)": _row(
            [all_of_it - its for all_of_it, its in zip(whole, engine, strict=True)]
        ),
        "of it the event loop's processor time, mean_ms": round(processor * 1e3, 1),
    }


async def _many_askers(watch: Watch, slack: LocalSlack, people: list[str], searches: int) -> dict[str, Any]:
    each = max(4, searches // len(people))
    for user in people:
        await watch.ask(slack, user, QUERIES[0])
    watch.unchecked = True

    async def ask_on(number: int, turns: int) -> list[float]:
        return [
            await watch.ask(slack, people[number], QUERIES[(number + turn) % len(QUERIES)]) for turn in range(turns)
        ]

    async def all_ask(turns: int) -> list[float]:
        rows = await asyncio.gather(*(ask_on(number, turns) for number in range(len(people))))
        return [one for row in rows for one in row]

    report: dict[str, Any] = {}
    for name, rounds, turns in (("in the same moment", BURSTS, 1), ("without a pause", 1, each)):
        slack.recorder.clear()
        started, watch.bytes = time.perf_counter(), 0
        answers = [one for _ in range(rounds) for one in await all_ask(turns)]
        seconds = time.perf_counter() - started
        acks = [one.seconds for one in slack.recorder.deliveries if one.seconds is not None]
        report[name] = {
            "answers per second": round(len(answers) / seconds, 1),
            "envelope to answer": _row(answers),
            "acks (p99 < 300 ms)": _row(acks),
            "bytes of an answer": round(watch.bytes / len(answers)),
        }
    return report


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
    if arguments.export is None:
        demo = prepare_demo(
            None, cache=arguments.cache, settings=EngineSettings(), progress=SilentProgress(), say=lambda _: None
        )
        workspace, artifacts = demo.workspace, demo.folder
    else:
        workspace, artifacts = describe_export(arguments.export), arguments.artifacts
    with Artifact(artifacts / "current.duckdb") as artifact:
        teams = ",".join(f"{one}={workspace.team.id}" for one in artifact.info.workspace_ids)
    environment = {"SLACKQUERY_ARTIFACTS": str(artifacts.resolve()), "SLACKQUERY_TEAMS": teams}
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(
            measure(workspace, environment, Path(folder), users=arguments.users, searches=arguments.searches)
        )
    print(json.dumps(report, indent=1))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
