"""The indexer: a build every so often, one at a time, with its state in a file for whoever asks."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.sentences import os_sentence
from retrieval import RetrievalError
from retrieval.build_status import BuildOutcome, BuildStatus, read_status, write_status
from retrieval.builder import Advance, DocumentEmbedder, Progress
from retrieval.builder.cycle import Plan, Turn, run_turn

_log = structlog.get_logger(__name__)

JOB_ID: Final = "index"
# However late (a laptop's sleep, a busy minute), one run for all that were missed; never two at a time: what falls
# due while a build runs is left out, and the next comes at its own time.
MISFIRE_GRACE_SECONDS: Final = None


class BuildStoppedError(Exception):
    """The indexer was told to stop while it built."""


class StoppableProgress:
    """Another progress, which ends the build at its next step once told to."""

    def __init__(self, inner: Progress) -> None:
        self._inner = inner
        self._stop = threading.Event()

    def stop(self) -> None:
        """End the build at its next step."""
        self._stop.set()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        """Begin a stage.

        Raises:
            BuildStoppedError: It was told to stop, then or at any step.
        """
        self._check()
        with self._inner.stage(name, total) as advance:

            def step(steps: int) -> None:
                self._check()
                advance(steps)

            yield step

    def _check(self) -> None:
        if self._stop.is_set():
            raise BuildStoppedError


class Indexer:
    """Runs turns and keeps their status; for who holds the folder's indexer lock.

    Args:
        plan: What each turn does.
        embedder: Called for each turn, because a service may be away at one and back at the next.
        progress: Shows how far a build is.
        clock: The time, with a zone.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        embedder: Callable[[], DocumentEmbedder | None],
        progress: Progress,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._plan = plan
        self._embedder = embedder
        self._progress = StoppableProgress(progress)
        self._clock = clock
        self._status = read_status(plan.folder)
        self.next_at: Callable[[], datetime | None] = lambda: None

    def stop(self) -> None:
        """End the build under way at its next step, and every later one at once."""
        self._progress.stop()

    def run(self) -> BuildStatus:
        """Run one turn and return what became of it; never raises for what a build can meet."""
        started = self._now()
        before = self._status or BuildStatus(started_at=started)
        self._keep(before.model_copy(update={"building": True, "started_at": started, "ended_at": None}))
        _log.info("build_started")
        began = time.monotonic()
        try:
            turn = run_turn(self._plan, embedder=self._embedder(), progress=self._progress, clock=self._clock)
        except BuildStoppedError:
            return self._end(started, BuildOutcome.STOPPED, "The indexer was told to stop.", before=before)
        except RetrievalError as error:
            return self._fail(started, str(error), before=before)
        except OSError as error:
            return self._fail(started, os_sentence(error), before=before)
        except Exception as error:  # noqa: BLE001 - the next turn must come; what went wrong is logged and kept.
            _log.critical("build_broke", exc_info=error)
            return self._fail(started, f"The build broke off: {type(error).__name__}.", before=before)
        return self._finish(started, turn, before=before, seconds=time.monotonic() - began)

    def _finish(self, started: str, turn: Turn, *, before: BuildStatus, seconds: float) -> BuildStatus:
        report = turn.result.report
        facts: dict[str, object] = {
            "artifact_id": turn.artifact_id,
            "documents": sum(report.documents.values()),
            "embedded": report.embedded,
            "seconds": {stage: round(spent, 3) for stage, spent in turn.seconds.items()},
        }
        if turn.cleaning_problem is not None:
            _log.warning("cleaning_postponed", reason=turn.cleaning_problem)
        elif turn.pruned is not None:
            _log.info("cleaned", removed=len(turn.pruned.removed), leased=len(turn.pruned.leased))
        if turn.refusal is not None:
            reason = " ".join(turn.refusal.reasons)
            _log.error("build_not_published", reason=reason, total_seconds=round(seconds, 1), **facts)
            return self._end(started, BuildOutcome.REFUSED, reason, before=before, facts=facts)
        _log.info("build_published", total_seconds=round(seconds, 1), **facts)
        return self._end(started, BuildOutcome.PUBLISHED, "", before=before, facts=facts)

    def _fail(self, started: str, reason: str, *, before: BuildStatus) -> BuildStatus:
        _log.error("build_failed", reason=reason)
        return self._end(started, BuildOutcome.FAILED, reason, before=before)

    def _end(
        self,
        started: str,
        outcome: BuildOutcome,
        reason: str,
        *,
        before: BuildStatus,
        facts: dict[str, object] | None = None,
    ) -> BuildStatus:
        ended = self._now()
        good = outcome is BuildOutcome.PUBLISHED
        failed = outcome in {BuildOutcome.FAILED, BuildOutcome.REFUSED}
        following = self.next_at()
        status = BuildStatus(
            started_at=started,
            ended_at=ended,
            outcome=outcome,
            reason=reason,
            published_at=ended if good else before.published_at,
            failures=0 if good else before.failures + failed,
            next_at=following.astimezone(UTC).isoformat(timespec="seconds") if following is not None else None,
        )
        self._keep(BuildStatus.model_validate({**status.model_dump(), **(facts or {})}))
        return self._status or status

    def _keep(self, status: BuildStatus) -> None:
        self._status = status
        try:
            write_status(self._plan.folder, status)
        except OSError as error:
            # A full disk must not hide what the build said about it.
            _log.error("status_not_written", reason=os_sentence(error))

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")


async def run_every(indexer: Indexer, seconds: int, *, stop: asyncio.Event) -> None:
    """Run a turn at once and then every so many seconds, until *stop* is set; the build under way then ends early."""
    scheduler = AsyncIOScheduler(timezone="UTC")
    running = asyncio.Lock()

    async def turn() -> None:
        async with running:
            await asyncio.to_thread(indexer.run)

    job = scheduler.add_job(
        turn,
        IntervalTrigger(seconds=seconds, timezone="UTC"),
        id=JOB_ID,
        next_run_time=datetime.now(UTC),
        misfire_grace_time=MISFIRE_GRACE_SECONDS,
        coalesce=True,
        max_instances=1,
    )
    indexer.next_at = lambda: job.next_run_time
    scheduler.start()
    await stop.wait()
    indexer.next_at = lambda: None
    scheduler.pause()
    indexer.stop()
    # The build's thread ends at its next step; its temporary files go with it.
    async with running:
        scheduler.shutdown(wait=False)
