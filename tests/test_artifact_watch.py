"""The watch looks on time, swaps, and reports each problem once."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.artifact_watch import JOB_ID, ArtifactWatch
from retrieval import ArtifactInfo, RefreshOutcome

INFO = ArtifactInfo(
    artifact_id="20260504T120000Z-aaaaaaaa-bbbbbbbb",
    path="/srv/search.duckdb",
    schema_version=2,
    generation_id="g",
    source_watermark="w",
    document_count=3,
    vector_count=3,
    built_at_us=1,
    fts_config={},
    dimensions=None,
    embedding_spec=None,
    capabilities=frozenset(),
    indexes_digits=True,
    analyzer=None,
    workspace_ids=("T1",),
)
NEWER = replace(INFO, artifact_id="20260504T130000Z-aaaaaaaa-cccccccc")


class ScriptedStore:
    """Gives the outcomes of its list one by one, the last one for ever."""

    def __init__(self, *outcomes: RefreshOutcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()

    def refresh(self) -> RefreshOutcome:
        self.calls += 1
        self.gate.wait(5)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Reports:
    """What the watch told."""

    def __init__(self) -> None:
        self.swaps: list[str] = []
        self.problems: list[str] = []


@contextmanager
def watching(
    store: ScriptedStore, *, interval_seconds: float = 60, patience_seconds: float = 5
) -> Iterator[tuple[ArtifactWatch, Reports]]:
    reports = Reports()
    watch = ArtifactWatch(
        store,
        interval_seconds=interval_seconds,
        on_swap=lambda info: reports.swaps.append(info.artifact_id),
        on_problem=reports.problems.append,
        patience_seconds=patience_seconds,
    )
    try:
        yield watch, reports
    finally:
        store.gate.set()
        watch.stop()


def outcome(info: ArtifactInfo | None = INFO, *, changed: bool = False, problem: str | None = None) -> RefreshOutcome:
    return RefreshOutcome(changed=changed, info=info, problem=problem)


async def test_a_new_artifact_is_told_once() -> None:
    store = ScriptedStore(outcome(changed=True), outcome(), outcome(NEWER, changed=True), outcome(NEWER))
    with watching(store) as (watch, reports):
        for _ in range(4):
            await watch.check()

        assert reports.swaps == [INFO.artifact_id, NEWER.artifact_id]
        assert watch.state.info == NEWER
        assert reports.problems == []


async def test_an_invalid_newcomer_is_reported_once_and_the_old_one_goes_on() -> None:
    bad, worse = outcome(problem="The checksum differs."), outcome(problem="It is empty.")
    store = ScriptedStore(outcome(changed=True), bad, bad, bad, worse, worse, outcome(), bad)
    with watching(store) as (watch, reports):
        for _ in range(8):
            await watch.check()

        assert reports.problems == ["The checksum differs.", "It is empty.", "The checksum differs."]
        assert watch.state.info == INFO


async def test_a_store_that_raises_is_reported_and_looked_at_again() -> None:
    store = ScriptedStore(RuntimeError("disk"), outcome(changed=True))
    with watching(store) as (watch, reports):
        await watch.check()
        assert reports.problems == ["Looking for a new archive failed: RuntimeError."]

        state = await watch.check()

    assert state.problem is None
    assert reports.swaps == [INFO.artifact_id]


async def test_a_look_that_hangs_is_reported_once_and_never_runs_twice_at_a_time() -> None:
    """B46: a hung run is told."""
    store = ScriptedStore(outcome(changed=True))
    store.gate.clear()
    with watching(store, patience_seconds=0.05) as (watch, reports):
        await watch.check()
        await watch.check()
        assert len(reports.problems) == 1
        assert store.calls == 1

        store.gate.set()
        state = await watch.check()

        assert state.problem is None
        assert reports.swaps == [INFO.artifact_id]


async def test_two_checks_at_once_are_one_look_and_tell_once() -> None:
    store = ScriptedStore(outcome(changed=True))
    store.gate.clear()
    with watching(store) as (watch, reports):
        both = asyncio.gather(watch.check(), watch.check())
        await asyncio.sleep(0.02)
        store.gate.set()
        await both

        assert store.calls == 1
        assert reports.swaps == [INFO.artifact_id]


async def test_the_time_of_the_last_look_is_known() -> None:
    with watching(ScriptedStore(outcome())) as (watch, _):
        assert watch.state.checked_at is None

        await watch.check()

        assert watch.state.checked_at is not None


async def test_the_job_runs_late_rather_than_never_once_for_all_and_never_twice_at_a_time() -> None:
    """B46, B47: APScheduler's defaults would drop a run that is a second late."""
    with watching(ScriptedStore(outcome()), interval_seconds=60) as (watch, _):
        watch.start()
        job = watch.scheduler.get_job(JOB_ID)

        assert job.misfire_grace_time is None
        assert job.coalesce is True
        assert job.max_instances == 1
        assert job.trigger.interval == timedelta(seconds=60)


async def test_runs_missed_while_the_machine_slept_become_one() -> None:
    """B46: late rather than never, once for all."""
    store = ScriptedStore(outcome())
    with watching(store, interval_seconds=60) as (watch, _):
        watch.start()
        # As after five minutes of sleep: five runs are due, all of them late.
        watch.scheduler.modify_job(JOB_ID, next_run_time=datetime.now(UTC) - timedelta(minutes=5))
        watch.scheduler.wakeup()
        for _ in range(100):
            if store.calls:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)

        assert store.calls == 1
        assert watch.scheduler.get_job(JOB_ID).next_run_time > datetime.now(UTC)


async def test_it_looks_again_every_interval() -> None:
    store = ScriptedStore(outcome())
    with watching(store, interval_seconds=0.05) as (watch, _):
        assert isinstance(watch.scheduler, AsyncIOScheduler)
        watch.start()
        for _ in range(200):
            if store.calls >= 2:
                break
            await asyncio.sleep(0.01)

        assert store.calls >= 2
