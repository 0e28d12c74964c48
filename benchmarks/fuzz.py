"""100,000 inputs of any kind against every door that bytes of others come in by: `make fuzz`.

    python -m benchmarks.fuzz [--seed 1] [--inputs 100000] [--only grammar,button] [--case grammar:1:4711]

Each input has a name, `target:seed:number`, and is the same every time; `--case` tries one again and raises what it
raises. Anything raised outside the documented errors is a failure, printed with its name and its input. Prints counts
and times for each target; exits 1 if anything failed. docs/faults.md has the last full run; inputs that failed once
are tests of their module.
"""

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

import structlog

from benchmarks.fuzz_targets import Target, targets

ALL: Final = 100_000
_SHOWN: Final = 3
_SHOWN_CHARACTERS: Final = 2_000


@dataclass
class _Tally:
    """What became of one target's inputs."""

    taken: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    faulthandler.enable()
    warnings.simplefilter("error")
    structlog.configure(processors=[lambda *_: (_ for _ in ()).throw(structlog.DropEvent)])
    with tempfile.TemporaryDirectory(prefix="slackquery-fuzz-") as name:
        doors = targets(Path(name))
        if options.case:
            return _again(doors, options.case)
        wanted = set(options.only.split(",")) if options.only else {door.name for door in doors}
        failed = [_run(door, seed=options.seed, inputs=options.inputs) for door in doors if door.name in wanted]
    return 1 if any(failed) else 0


def _run(door: Target, *, seed: int, inputs: int) -> int:
    """Try one target's share of the inputs, print what became of them, return how many failed."""
    tally, began = _Tally(), time.monotonic()
    count = max(1, door.share * inputs // ALL)
    for number in range(count):
        started = time.process_time()
        _try(door, f"{door.name}:{seed}:{number}", tally)
        tally.slowest_s = max(tally.slowest_s, time.process_time() - started)
    spent = f"{time.monotonic() - began:.1f} s, slowest {tally.slowest_s * 1000:.0f} ms of processor time"
    print(
        f"{door.name}: seed {seed}, {count:,} inputs, {tally.taken:,} taken, {tally.refused:,} refused, "
        f"{len(tally.failed):,} failed, {spent}",
        flush=True,
    )
    for told in tally.failed[:_SHOWN]:
        print(told, file=sys.stderr, flush=True)
    return len(tally.failed)


def _try(door: Target, case: str, tally: _Tally) -> None:
    seen: list[object] = []
    try:
        door.attempt(Random(case), seen.append)  # noqa: S311 - the same input every time is the point.
    except door.allowed:
        tally.refused += 1
    except Exception:  # noqa: BLE001 - whatever else is raised is what is looked for.
        shown = repr(seen[-1])[:_SHOWN_CHARACTERS] if seen else "(while making the input)"
        tally.failed.append(f"{case}\n  input: {shown}\n{traceback.format_exc()}")
    else:
        tally.taken += 1


def _again(doors: Sequence[Target], case: str) -> int:
    door = next(one for one in doors if one.name == case.split(":", maxsplit=1)[0])
    try:
        door.attempt(Random(case), lambda told: print(repr(told)[:_SHOWN_CHARACTERS]))  # noqa: S311 - as above.
    except door.allowed as error:
        print(f"refused: {type(error).__name__}: {error}")
    else:
        print("taken")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=ALL, help="how many in all; each target has its share")
    parser.add_argument("--only", default="", help="targets, separated by commas")
    parser.add_argument("--case", default="", help="one input again, by its name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
