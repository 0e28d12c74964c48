"""The fault matrix: the real bot as a process, one fault after the other, and what became of every command meanwhile.

    python -m benchmarks.fault_matrix [--only WORDS,WORDS] [--json FILE] [--markdown FILE]
    make faults

For each fault a fresh bot and a fresh local Slack; people nobody has seen ask while something is broken, and again
until all is well. Every answer is compared with what was planted for that person. A row counts the commands sent and
acked, and of them: answered rightly; answered rightly by keywords or public channels alone and saying so (degraded);
answered by a sentence; told that too many ask; not delivered because Slack did not take the answer, which the log says.
Slack itself tells the user of a command that is not acked. Exit code 1 where an answer was wrong or another's, came
twice, an acked command was lost without a word, or the bot did not recover within a minute.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.asking_users import Tally, Verdict
from benchmarks.fault_cases import CASES, Case
from benchmarks.fault_scene import PEOPLE, Archives, Scene, scene
from benchmarks.planted import Planted, build_planted
from retrieval import EmbedderFactory
from tests.fake_endpoint import FakeEndpoint

_HEAD: Final = (
    "| fault | sent | acked | right | degraded | sentence | refused | undelivered, logged | not acked | wrong | "
    "another's | twice | lost | recovered after | |"
)
_UNDELIVERED: Final = ("answer_refused", "answer_not_sent", "answer_failed")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one fault came to.

    Attributes:
        recovery: Seconds from its end to the first right answer, None where there was none in time.
        lost: Acked commands that nobody was told about, neither the user nor the log.
        failures: What did not go as it must.
    """

    case: Case
    tally: Tally
    recovery: float | None
    lost: int
    seconds: float
    notes: Sequence[str]
    failures: Sequence[str]
    errors: Sequence[str]

    @property
    def is_well(self) -> bool:
        """Whether everything went as it must."""
        bad = self.tally.verdicts[Verdict.WRONG] + self.tally.verdicts[Verdict.FOREIGN] + self.tally.doubles + self.lost
        return bad == 0 and self.recovery is not None and not self.failures

    def markdown(self) -> str:
        """Return the row of the table."""
        verdicts = self.tally.verdicts
        counts = [
            self.tally.sent,
            self.tally.acked,
            *(verdicts[one] for one in (Verdict.RIGHT, Verdict.DEGRADED, Verdict.SENTENCE, Verdict.REFUSED)),
            verdicts[Verdict.UNDELIVERED] + verdicts[Verdict.LOST] - self.lost,
            verdicts[Verdict.NOT_ACKED],
            verdicts[Verdict.WRONG],
            verdicts[Verdict.FOREIGN],
            self.tally.doubles,
            self.lost,
        ]
        recovered = "**never**" if self.recovery is None else f"{self.recovery:.1f} s"
        said = "; ".join([*self.notes, *(f"**{one}**" for one in self.failures)])
        cells = [f"{self.case.area}: {self.case.name}", *map(str, counts), recovered, said]
        return f"| {' | '.join(cells)} |"

    def facts(self) -> dict[str, object]:
        """Return the row for JSON."""
        return {
            "fault": f"{self.case.area}: {self.case.name}",
            **self.tally.counts(),
            "lost silently": self.lost,
            "recovery": self.recovery,
            "seconds": round(self.seconds, 1),
            "notes": list(self.notes),
            "failures": list(self.failures),
            "errors logged": list(self.errors),
        }


async def play(case: Case, archives: Archives, folder: Path, endpoint: FakeEndpoint) -> Row:
    """Set the scene, let the fault happen, wait for recovery, and count."""
    began = time.monotonic()
    async with scene(archives, folder, settings=case.settings, endpoint=endpoint) as made:
        if not case.own_start:
            for _ in range(case.bots):
                await made.start_bot()
            await made.healthy()
        first = len(made.crowd.commands)
        await case.run(made)
        last = len(made.crowd.commands) if made.counted is None else made.counted
        recovery = made.recovery if made.recovery is not None else await _recovery(made)
        for bot in made.bots:
            if (code := await bot.stop()) != 0:
                made.failures.append(f"a process ended with {code}")
        tally = made.crowd.tally(made.crowd.commands[first:last])
        return Row(
            case=case,
            tally=tally,
            recovery=recovery,
            lost=_lost(tally, made),
            seconds=time.monotonic() - began,
            notes=made.notes,
            failures=made.failures,
            errors=[line for bot in made.bots for line in bot.log.errors][:20],
        )


async def _recovery(made: Scene) -> float | None:
    if not made.bot.running:
        code = await made.bot.wait(seconds=1)
        made.failures.append(f"the process ended by itself with {code}")
        return None
    return await made.recover()


def _lost(tally: Tally, made: Scene) -> int:
    """Return how many acked commands got no answer and no line in the log."""
    logged = sum(bot.log.events[event] for bot in made.bots for event in _UNDELIVERED)
    unanswered = tally.verdicts[Verdict.LOST] + tally.verdicts[Verdict.UNDELIVERED]
    return max(0, unanswered - logged)


def table(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    return "\n".join([_HEAD, "|---" * 15 + "|", *(row.markdown() for row in rows)])


def summary(rows: Sequence[Row]) -> str:
    """Return what all rows together say."""
    total = {
        "faults": len(rows),
        "commands": sum(row.tally.sent for row in rows),
        "acked": sum(row.tally.acked for row in rows),
        "wrong": sum(row.tally.verdicts[Verdict.WRONG] for row in rows),
        "another's": sum(row.tally.verdicts[Verdict.FOREIGN] for row in rows),
        "twice": sum(row.tally.doubles for row in rows),
        "lost without a word": sum(row.lost for row in rows),
        "not recovered": sum(row.recovery is None for row in rows),
        "with something amiss": sum(not row.is_well for row in rows),
    }
    return ", ".join(f"{name} {count}" for name, count in total.items())


async def _run(arguments: argparse.Namespace) -> int:
    wanted = arguments.only.casefold().split(",")
    chosen = [case for case in CASES if any(one in f"{case.area}: {case.name}".casefold() for one in wanted)]
    planted, rows = Planted.of(PEOPLE), []
    with tempfile.TemporaryDirectory() as name, FakeEndpoint() as endpoint:
        built = Path(name) / "built"
        embedders = EmbedderFactory(endpoint.ollama_url, "nomic-embed-text")
        files = await asyncio.to_thread(build_planted, planted, built, embedders=embedders, artifacts=2)
        archives = Archives(planted=planted, folder=built, files=tuple(files))
        print("\n".join([_HEAD, "|---" * 15 + "|"]), flush=True)
        for number, case in enumerate(chosen):
            folder = Path(name) / str(number)
            folder.mkdir()
            try:
                row = await play(case, archives, folder, endpoint)
            except Exception as error:  # noqa: BLE001 - the other faults are still to be played.
                print(f"| {case.area}: {case.name} | not played: {type(error).__name__} {error} |", flush=True)
                continue
            rows.append(row)
            print(row.markdown(), flush=True)
            for line in row.errors if not row.is_well else ():
                print(f"    {line}", file=sys.stderr, flush=True)
    missing = len(chosen) - len(rows)
    said = f"{summary(rows)}, not played {missing}"
    print(f"\n{said}\nload of the machine {os.getloadavg()[0]:.1f}")
    if arguments.markdown is not None:
        command = " ".join(["python -m benchmarks.fault_matrix", *sys.argv[1:]])
        stamp = f"`{command}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        arguments.markdown.write_text(f"{stamp}: {said}.\n\n{table(rows)}\n", encoding="utf-8")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([row.facts() for row in rows], indent=1), encoding="utf-8")
    return 1 if missing or any(not row.is_well for row in rows) else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="Only faults whose name holds this; several, by commas.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    sys.exit(asyncio.run(_run(parser.parse_args())))


if __name__ == "__main__":
    main()
