"""Half an hour of people asking while archives are swapped and sockets refreshed: do memory and open files stay flat?

    python -m benchmarks.soak [--minutes 30] [--users 50] [--think 5,15] [--swap-every 60] [--refresh-every 60]
                              [--endpoint] [--json FILE] [--figure docs/pictures/soak.svg]

The real bot as a process of its own against a local Slack. Every five seconds its resident memory, open files and
threads are read from /proc. Two artifacts of the same archive are published in turn; the bot looks for a new one every
five seconds. The first sixth of the time is warm-up. The verdict: by least squares over the rest, memory may grow by 2%
of its mean in ten minutes at most and open files by one, and the mean of the last third may lie above that of the
first third after warm-up by 5% and by two files at most. Exit code 1 where that does not hold, or an answer was
wrong, another's, double, or lost. The figure needs matplotlib, installed by hand.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.load import bot_environment, endpoint_if, local_slack

# isort: split
import numpy as np
from numpy.typing import NDArray

from benchmarks.asking_users import Crowd, percentiles
from benchmarks.bot_process import BotProcess
from benchmarks.planted import Planted, build_planted
from localslack.server import LocalSlack
from retrieval import EmbedderFactory, publish
from tests.fake_endpoint import FakeEndpoint

SAMPLE_SECONDS: Final = 5.0
SWAP_CHECK_SECONDS: Final = 5
WARM_UP: Final = 1 / 6
MEMORY_SLOPE: Final = 0.02
FILES_SLOPE: Final = 1.0
MEMORY_STEP: Final = 0.05
FILES_STEP: Final = 2.0
_SLOPE_MINUTES: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the bot took at one moment, seconds from the start."""

    at: float
    memory_mib: float
    files: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatness:
    """How one series went after warm-up.

    Attributes:
        per_ten_minutes: The slope of its least squares line.
        step: The mean of its last third less that of its first.
        is_flat: Whether both are within their bounds.
    """

    lowest: float
    highest: float
    mean: float
    per_ten_minutes: float
    step: float
    is_flat: bool


def flatness(at: NDArray[np.float64], values: NDArray[np.float64], *, slope: float, step: float) -> Flatness:
    """Say how flat a series is.

    Args:
        at: Moments, seconds.
        values: The series after warm-up.
        slope: What it may grow by in ten minutes.
        step: What the mean of its last third may lie above that of its first.
    """
    grows = float(np.polyfit(at / 60.0, values, 1)[0]) * _SLOPE_MINUTES
    third = max(1, len(values) // 3)
    rises = float(values[-third:].mean() - values[:third].mean())
    return Flatness(
        lowest=float(values.min()),
        highest=float(values.max()),
        mean=round(float(values.mean()), 2),
        per_ten_minutes=round(grows, 3),
        step=round(rises, 3),
        is_flat=grows <= slope and rises <= step,
    )


def judge(samples: Sequence[Sample]) -> dict[str, Flatness]:
    """Return how flat memory and open files stayed once the first sixth of the time had passed."""
    after = [one for one in samples if one.at >= samples[-1].at * WARM_UP]
    at = np.array([one.at for one in after])
    memory = np.array([one.memory_mib for one in after])
    files = np.array([float(one.files) for one in after])
    return {
        "memory, MiB": flatness(
            at, memory, slope=float(memory.mean()) * MEMORY_SLOPE, step=float(memory.mean()) * MEMORY_STEP
        ),
        "open files": flatness(at, files, slope=FILES_SLOPE, step=FILES_STEP),
    }


class Soak:
    """One run: the people, the indexer, Slack's refreshes and the reader of /proc, side by side."""

    def __init__(self, crowd: Crowd, slack: LocalSlack, bot: BotProcess, *, artifacts: Sequence[Path]) -> None:
        self._crowd = crowd
        self._slack = slack
        self._bot = bot
        self._artifacts = artifacts
        self.samples: list[Sample] = []
        self.swaps = self.refreshes = 0

    async def run(self, *, seconds: float, think: tuple[float, float], swap: float, refresh: float) -> None:
        """Let everything happen for so long."""
        began = time.monotonic()
        beside = [
            asyncio.create_task(work)
            for work in (self._sample(began), self._swap(swap), self._refresh(refresh), self._tell(began))
        ]
        people = self._crowd.planted.people
        await asyncio.gather(
            *(self._crowd.work(one, until=began + seconds, think=think, seed=at) for at, one in enumerate(people))
        )
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        for task in beside:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _sample(self, began: float) -> None:
        while True:
            bot = self._bot
            self.samples.append(
                Sample(
                    at=time.monotonic() - began,
                    memory_mib=bot.memory_mib(),
                    files=bot.open_files(),
                    threads=bot.threads(),
                )
            )
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _swap(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            await asyncio.to_thread(publish, self._artifacts[0].parent, self._artifacts[self.swaps % 2])
            self.swaps += 1

    async def _refresh(self, every: float) -> None:
        await asyncio.sleep(every / 2)
        while True:
            await self._slack.disconnect("refresh_requested", close_after=1.0)
            self.refreshes += 1
            await asyncio.sleep(every)

    async def _tell(self, began: float) -> None:
        """Print a line a minute, so that a run that is cut short has said something."""
        while True:
            await asyncio.sleep(60)
            newest = self.samples[-1]
            # The newest may still wait for their answers; judging old ones again and again would cost more and more.
            tally = self._crowd.tally(self._crowd.commands[-260:-60])
            print(
                f"{(time.monotonic() - began) / 60:.0f} min: {newest.memory_mib:.0f} MiB, {newest.files} files, "
                f"{newest.threads} threads, {len(self._crowd.commands)} commands, {self.swaps} swaps, "
                f"{self.refreshes} refreshes; of {tally.sent} recent ones: {json.dumps(tally.counts())}",
                flush=True,
            )
            # The local Slack keeps all it saw, which this does not look at.
            self._slack.recorder.clear()


async def _soak(arguments: argparse.Namespace) -> int:
    planted = Planted.of(arguments.users)
    shortest, longest = (float(one) for one in arguments.think.split(","))
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        endpoint: FakeEndpoint | None = stack.enter_context(endpoint_if(wanted=arguments.endpoint))
        embedders = EmbedderFactory(endpoint.ollama_url, "nomic-embed-text") if endpoint else EmbedderFactory()
        artifacts = await asyncio.to_thread(
            build_planted, planted, folder / "artifacts", embedders=embedders, artifacts=2
        )
        crowd = Crowd(planted)
        async with local_slack(crowd) as slack:
            environment = bot_environment(folder / "artifacts", folder, endpoint)
            environment["SLACKQUERY_SWAP_CHECK_SECONDS"] = str(SWAP_CHECK_SECONDS)
            bot = await BotProcess.start(slack, environment)
            try:
                soak = Soak(crowd, slack, bot, artifacts=artifacts)
                await soak.run(
                    seconds=arguments.minutes * 60,
                    think=(shortest, longest),
                    swap=arguments.swap_every,
                    refresh=arguments.refresh_every,
                )
            finally:
                code = await bot.stop()
    return _report(arguments, soak, crowd, bot=bot, code=code)


def _report(arguments: argparse.Namespace, soak: Soak, crowd: Crowd, *, bot: BotProcess, code: int | None) -> int:
    tally, verdict = crowd.tally(crowd.commands), judge(soak.samples)
    report: dict[str, Any] = {
        "minutes": arguments.minutes,
        "users": arguments.users,
        "swaps": soak.swaps,
        "swaps noticed by the bot": bot.log.events["archive_swapped"],
        "refreshes": soak.refreshes,
        **tally.counts(),
        "ack": percentiles(tally.acks),
        "answer": percentiles(tally.answers),
        "after warm-up": {series: asdict(flat) for series, flat in verdict.items()},
        "exit code": code,
        "errors logged": bot.log.errors[:5],
        "load of the machine": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(report, indent=1))
    is_well = tally.broken == 0 and all(flat.is_flat for flat in verdict.values())
    print("flat after warm-up" if is_well else "NOT flat, or answers went wrong")
    if arguments.json is not None:
        samples = [asdict(sample) for sample in soak.samples]
        arguments.json.write_text(json.dumps(report | {"samples": samples}, indent=1), encoding="utf-8")
    if arguments.figure is not None:
        draw(soak.samples, arguments.figure)
    return 0 if is_well else 1


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Draw memory and open files over time."""
    import matplotlib as mpl  # noqa: PLC0415 - only the figure needs it, and it is no dependency

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    minutes = [one.at / 60 for one in samples]
    plot, (above, below) = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    above.plot(minutes, [one.memory_mib for one in samples], color="#2a6f97", linewidth=1)
    above.set_ylabel("resident memory, MiB")
    below.plot(minutes, [one.files for one in samples], color="#2a6f97", linewidth=1, label="open files")
    below.plot(minutes, [one.threads for one in samples], color="#b5651d", linewidth=1, label="threads")
    below.set_xlabel("minutes")
    below.legend(loc="lower right", frameon=False)
    for axes in (above, below):
        axes.set_ylim(bottom=0)
        axes.axvspan(0, minutes[-1] * WARM_UP, color="#eeeeee")
        axes.spines[["top", "right"]].set_visible(False)
    plot.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--think", default="5,15", help="Shortest and longest pause, seconds.")
    parser.add_argument("--swap-every", type=float, default=60)
    parser.add_argument("--refresh-every", type=float, default=60)
    parser.add_argument("--endpoint", action="store_true", help="Vectors from a service on loopback.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    sys.exit(asyncio.run(_soak(parser.parse_args())))


if __name__ == "__main__":
    main()
