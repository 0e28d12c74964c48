"""Many people who ask, read and think, against the real bot as a process of its own and a local Slack.

    python -m benchmarks.load [--users 10,50,200] [--seconds 60] [--think 4,12] [--endpoint] [--json FILE]

Each person waits for an answer, thinks for a random time between the two of --think, and asks again. Every answer is
checked against what was planted for that person. Queries get their vectors from the model that comes with the
package; with --endpoint from a service on loopback that costs nothing. Exit code 1 where an answer was wrong,
another's, double, or lost. Driver and local Slack, which takes some 10 ms of processor time to check an answer, are
one process, the bot another: on two processors they share them.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

# First, before anything loads numpy: it says how many threads numpy's products take.
from bot.settings import EngineSettings

# isort: split
import yaml

from benchmarks.asking_users import Crowd, Tally, percentiles
from benchmarks.bot_process import BotProcess
from benchmarks.planted import Planted, build_planted
from bot.demo import ROOT
from localslack.server import LocalSlack
from retrieval import EmbedderFactory
from tests.fake_endpoint import FakeEndpoint

__all__ = ["EngineSettings", "bot_environment", "endpoint_if", "local_slack", "run_users"]

MANIFEST: Final[dict[str, Any]] = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))


def local_slack(crowd: Crowd) -> LocalSlack:
    """Return a local Slack for the crowd's workspace, not started."""
    return LocalSlack(crowd.planted.workspace(), MANIFEST, extend=(crowd.attach,))


def bot_environment(artifacts: Path, folder: Path, endpoint: FakeEndpoint | None) -> dict[str, str]:
    """Return the bot's settings: everything that it writes goes into `folder`."""
    environment = {
        "SLACKQUERY_ARTIFACTS": str(artifacts),
        "SLACKQUERY_AUDIT_DIR": str(folder / "audit"),
        "SLACKQUERY_STORE": str(folder / "store.sqlite3"),
    }
    return environment | ({"SLACKQUERY_EMBEDDING_URL": endpoint.ollama_url} if endpoint is not None else {})


async def run_users(
    artifacts: Path,
    folder: Path,
    *,
    planted: Planted,
    users: int,
    seconds: float,
    think: tuple[float, float],
    endpoint: FakeEndpoint | None,
) -> tuple[Tally, dict[str, Any]]:
    """Let so many users ask for so long; return what became of it, and a report."""
    crowd = Crowd(planted)
    async with local_slack(crowd) as slack:
        bot = await BotProcess.start(slack, bot_environment(artifacts, folder, endpoint))
        try:
            await crowd.ask_and_wait(planted.people[0])
            warm = len(crowd.commands)
            began = time.monotonic()
            people = planted.people[:users]
            await asyncio.gather(
                *(crowd.work(one, until=began + seconds, think=think, seed=number) for number, one in enumerate(people))
            )
            elapsed = time.monotonic() - began
            memory, files = bot.memory_mib(), bot.open_files()
        finally:
            code = await bot.stop()
        rejected = len(slack.recorder.rejected)
    tally = crowd.tally(crowd.commands[warm:])
    report = {
        **tally.counts(),
        "ack": percentiles(tally.acks),
        "answer": percentiles(tally.answers),
        "answers per second": round(len(tally.answers) / elapsed, 1),
        "memory of the bot, MiB": round(memory),
        "open files of the bot": files,
        "refused by the local Slack's checks": rejected,
        "exit code": code,
        "errors logged": bot.log.errors[:5],
    }
    return tally, report


@contextlib.contextmanager
def endpoint_if(*, wanted: bool) -> Iterator[FakeEndpoint | None]:
    """Run an embedding service on loopback for the duration of the block, if wanted."""
    if not wanted:
        yield None
        return
    with FakeEndpoint() as endpoint:
        yield endpoint


async def _run(arguments: argparse.Namespace) -> int:
    counts = [int(count) for count in arguments.users.split(",")]
    shortest, longest = (float(one) for one in arguments.think.split(","))
    planted, broken, reports = Planted.of(max(counts)), 0, {}
    with tempfile.TemporaryDirectory() as name, endpoint_if(wanted=arguments.endpoint) as endpoint:
        folder = Path(name)
        embedders = EmbedderFactory(endpoint.ollama_url, "nomic-embed-text") if endpoint else EmbedderFactory()
        await asyncio.to_thread(build_planted, planted, folder / "artifacts", embedders=embedders)
        for users in counts:
            own = folder / str(users)
            own.mkdir()
            tally, report = await run_users(
                folder / "artifacts",
                own,
                planted=planted,
                users=users,
                seconds=arguments.seconds,
                think=(shortest, longest),
                endpoint=endpoint,
            )
            broken += tally.broken
            reports[f"{users} users"] = report | {"load of the machine": round(os.getloadavg()[0], 1)}
            print(json.dumps({f"{users} users": reports[f"{users} users"]}, indent=1), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(reports, indent=1), encoding="utf-8")
    return 1 if broken else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", default="10,50,200")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", default="4,12", help="Shortest and longest pause, seconds.")
    parser.add_argument("--endpoint", action="store_true", help="Vectors from a service on loopback.")
    parser.add_argument("--json", type=Path)
    sys.exit(asyncio.run(_run(parser.parse_args())))


if __name__ == "__main__":
    main()
