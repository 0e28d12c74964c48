"""The pool bounds what runs and waits, in all and for one user."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from bot.retrieval_pool import PoolClosedError, PoolFullError, RetrievalPool, UserBusyError


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def pool() -> Iterator[RetrievalPool]:
    pool = RetrievalPool(workers=2, queue_limit=3, user_limit=4)
    yield pool
    pool.close()


async def hold(pool: RetrievalPool, gate: threading.Event, user: str, count: int) -> list[asyncio.Task[bool]]:
    tasks = [asyncio.create_task(pool.run(user, gate.wait, timeout_seconds=5)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_work_runs_outside_the_event_loop_and_its_value_comes_back(pool: RetrievalPool) -> None:
    name = await pool.run("U1", lambda: threading.current_thread().name, timeout_seconds=5)

    assert name.startswith("retrieval")
    assert pool.load == 0


async def test_an_error_of_the_work_is_raised(pool: RetrievalPool) -> None:
    with pytest.raises(ZeroDivisionError):
        await pool.run("U1", lambda: 1 // 0, timeout_seconds=5)

    assert pool.load == 0


async def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room(
    pool: RetrievalPool, gate: threading.Event
) -> None:
    held = await hold(pool, gate, "U1", 3) + await hold(pool, gate, "U2", 2)

    with pytest.raises(PoolFullError):
        await pool.run("U3", lambda: 1, timeout_seconds=5)

    gate.set()
    await asyncio.gather(*held)
    assert await pool.run("U3", lambda: 1, timeout_seconds=5) == 1


async def test_one_user_cannot_take_every_place(pool: RetrievalPool, gate: threading.Event) -> None:
    held = await hold(pool, gate, "U1", 4)

    with pytest.raises(UserBusyError):
        await pool.run("U1", lambda: 1, timeout_seconds=5)

    last = asyncio.create_task(pool.run("U2", lambda: 2, timeout_seconds=5))
    await asyncio.sleep(0)
    gate.set()
    assert await last == 2
    await asyncio.gather(*held)


async def test_work_that_nobody_waits_for_keeps_its_place_until_its_thread_is_done(
    pool: RetrievalPool, gate: threading.Event
) -> None:
    with pytest.raises(TimeoutError):
        await pool.run("U1", gate.wait, timeout_seconds=0.02)

    assert pool.load == 1
    gate.set()
    await pool.run("U1", lambda: None, timeout_seconds=5)
    while pool.load:  # noqa: ASYNC110 - a thread ends it, and has no event to tell of it.
        await asyncio.sleep(0.001)


async def test_work_that_timed_out_while_it_waited_never_starts(pool: RetrievalPool, gate: threading.Event) -> None:
    held = await hold(pool, gate, "U1", 2)
    started = threading.Event()
    with pytest.raises(TimeoutError):
        await pool.run("U2", started.set, timeout_seconds=0.02)

    gate.set()
    await asyncio.gather(*held)
    await pool.run("U3", lambda: None, timeout_seconds=5)

    assert not started.is_set()
    assert pool.load == 0


async def test_a_closed_pool_takes_nothing(pool: RetrievalPool) -> None:
    pool.close()

    with pytest.raises(PoolClosedError):
        await pool.run("U1", lambda: 1, timeout_seconds=5)
