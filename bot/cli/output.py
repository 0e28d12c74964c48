"""What commands print: JSON for machines, text for people, progress for those who wait."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from bot.rich_text import harmless

# How often a stage reports where nobody can see a bar move.
_PLAIN_SECONDS: Final = 10.0


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def say(text: str) -> None:
    """Print a line for people on stderr, without what could steer a terminal."""
    click.echo(harmless(text), err=True)


def result_console(*, width: int | None = None) -> Console:
    """Return the console for results; colours only on a terminal, long lines folded at words.

    Args:
        width: Characters a line may have; None for the terminal's, 80 where there is none.
    """
    return Console(file=sys.stdout, highlight=False, emoji=False, width=width)


def iso_time(ts_us: int) -> str:
    """Return Unix microseconds as ISO 8601 in UTC, with microseconds where there are any."""
    seconds, micros = divmod(ts_us, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros).isoformat()


class _RateColumn(ProgressColumn):
    """Steps a second."""

    def render(self, task: Task) -> Text:
        """Return the rate, or nothing before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="dim")


class ConsoleProgress:
    """A build's progress on stderr: bars on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a stage of *total* steps, None where unknown; the value is called with steps done."""
        if self._console.is_terminal:
            with self._bar(name, total) as advance:
                yield advance
        else:
            with _lines(name, total) as advance:
                yield advance

    @contextmanager
    def _bar(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(name, total=total)
            yield lambda steps: progress.advance(task, steps)
            if total is None:
                done = progress.tasks[0].completed
                progress.update(task, total=done, completed=done)


@contextmanager
def _lines(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    started = last = time.monotonic()
    done = 0
    of = f" of {total:,}" if total is not None else ""

    def advance(steps: int) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last >= _PLAIN_SECONDS:
            last = now
            rate = done / (now - started)
            left = f", {(total - done) / rate:.0f} s left" if total is not None and rate > 0 else ""
            say(f"{name}: {done:,}{of}, {rate:,.0f}/s{left}")

    yield advance
    say(f"{name}: {done:,}{of} in {time.monotonic() - started:.1f} s")
