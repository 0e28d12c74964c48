"""The job that looks for a new artifact and swaps it in."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from retrieval.models import ArtifactInfo

_log = structlog.get_logger(__name__)

JOB_ID: Final = "artifact-watch"
# APScheduler drops a run that is a second late, unless told otherwise. A run after a laptop's sleep or a busy
# minute is as good as any: however late, one run for all that were missed, and never two at a time.
MISFIRE_GRACE_SECONDS: Final = None
_KEPT_SWAPS: Final = 5


class Outcome(Protocol):
    """What a look for a new artifact came to: `retrieval.RefreshOutcome`."""

    @property
    def changed(self) -> bool:
        """Whether another artifact serves now."""

    @property
    def info(self) -> ArtifactInfo | None:
        """The artifact that serves now."""

    @property
    def problem(self) -> str | None:
        """Why a newcomer was not taken, one sentence."""


class Refreshable(Protocol):
    """What holds the current artifact: `retrieval.ArtifactStore`."""

    def refresh(self) -> Outcome:
        """Look for a new artifact, validate it and swap it in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """What the watch knows.

    Attributes:
        checked_at: When the last look ended, by the monotonic clock in seconds; None before the first.
        problem: Why the newest artifact is not served; None where it is.
        info: The artifact that serves; None where none does.
    """

    checked_at: float | None
    problem: str | None
    info: ArtifactInfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """That an artifact began to serve.

    Attributes:
        at: When, by the monotonic clock in seconds.
        info: The artifact.
    """

    at: float
    info: ArtifactInfo


class ArtifactWatch:
    """Looks for a new artifact every so often, in a thread of its own, and tells what changed.

    An invalid newcomer leaves the old artifact serving and is reported once, until the problem changes or
    goes away. A look that hangs is reported once too; the next one waits for it. For one event loop.

    Args:
        store: Holds the current artifact.
        interval_seconds: Time between two looks.
        patience_seconds: How long a look may take before it is reported as hanging.
        on_swap: Called in the event loop with the new artifact after each swap.
        on_problem: Called in the event loop with a sentence, once for each new problem.
        monotonic: A clock in seconds.
    """

    def __init__(
        self,
        store: Refreshable,
        *,
        interval_seconds: float,
        on_swap: Callable[[ArtifactInfo], None],
        on_problem: Callable[[str], None],
        patience_seconds: float = 300.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._patience_seconds = patience_seconds
        self._on_swap = on_swap
        self._on_problem = on_problem
        self._monotonic = monotonic
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="artifact-watch")
        self._running: Future[Outcome] | None = None
        self._told: Future[Outcome] | None = None
        self._state = WatchState(checked_at=None, problem=None, info=None)
        self._swaps: deque[Swap] = deque(maxlen=_KEPT_SWAPS)
        self.scheduler = AsyncIOScheduler(timezone="UTC")
        self.scheduler.add_job(
            self.check,
            IntervalTrigger(seconds=interval_seconds, timezone="UTC"),
            id=JOB_ID,
            misfire_grace_time=MISFIRE_GRACE_SECONDS,
            coalesce=True,
            max_instances=1,
        )

    @property
    def state(self) -> WatchState:
        """What the watch knows now."""
        return self._state

    @property
    def swaps(self) -> tuple[Swap, ...]:
        """The artifacts that this process has served, newest first; five at most."""
        return tuple(reversed(self._swaps))

    def start(self) -> None:
        """Begin to look; the first time after one interval."""
        self.scheduler.start()

    def stop(self) -> None:
        """Stop looking; a look under way ends on its own."""
        if self.scheduler.running:
            self.scheduler.shutdown(wait=False)
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def check(self) -> WatchState:
        """Look once and return what is known afterwards; never raises, whatever the store does."""
        if self._running is None or self._running.done():
            self._running = self._executor.submit(self._store.refresh)
        try:
            async with asyncio.timeout(self._patience_seconds):
                outcome = await asyncio.shield(asyncio.wrap_future(self._running))
        except TimeoutError:
            minutes = self._patience_seconds / 60
            self._report(f"Looking for a new archive has taken more than {minutes:g} minutes.", info=self._state.info)
            return self._state
        except Exception as exc:  # noqa: BLE001 - the job must live on; what went wrong is logged and reported.
            _log.error("artifact_check_failed", exc_info=exc)
            self._report(f"Looking for a new archive failed: {type(exc).__name__}.", info=self._state.info)
            return self._state
        if self._told is not self._running:
            # Two checks at once wait for the same look; what it found is told once.
            self._told = self._running
            self._take(outcome)
        return self._state

    def _take(self, outcome: Outcome) -> None:
        if outcome.problem is not None:
            self._report(outcome.problem, info=outcome.info)
        else:
            if self._state.problem is not None:
                _log.info("artifact_problem_over")
            self._state = WatchState(checked_at=self._monotonic(), problem=None, info=outcome.info)
        if outcome.changed and outcome.info is not None:
            self._swaps.append(Swap(at=self._monotonic(), info=outcome.info))
            self._on_swap(outcome.info)

    def _report(self, problem: str, *, info: ArtifactInfo | None) -> None:
        is_new = problem != self._state.problem
        self._state = WatchState(checked_at=self._monotonic(), problem=problem, info=info)
        if is_new:
            self._on_problem(problem)
