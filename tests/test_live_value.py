"""A live value is loaded once, kept for its time, and never kept half."""

import asyncio

import pytest

from bot.live_value import LiveValue


class Source:
    """Counts its loads; waits for `go` where it is cleared."""

    def __init__(self) -> None:
        self.loads = 0
        self.now = 0.0
        self.go = asyncio.Event()
        self.go.set()
        self.error: Exception | None = None

    async def load(self, _until: float) -> int:
        self.loads += 1
        number = self.loads
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return number


def live(source: Source) -> LiveValue[int]:
    return LiveValue(source.load, keep_seconds=300, load_seconds=20, monotonic=lambda: source.now)


async def test_it_is_loaded_once_however_many_ask_at_once() -> None:
    source = Source()
    value = live(source)

    assert await asyncio.gather(*(value.get(deadline=5) for _ in range(20))) == [1] * 20
    assert source.loads == 1


async def test_it_is_kept_for_its_time() -> None:
    source = Source()
    value = live(source)
    await value.get(deadline=5)
    source.now = 299.0
    assert await value.get(deadline=304) == 1
    source.now = 301.0

    assert await value.get(deadline=306) == 2


async def test_an_error_keeps_nothing() -> None:
    source = Source()
    value = live(source)
    await value.get(deadline=5)
    source.now, source.error = 301.0, RuntimeError("away")

    with pytest.raises(RuntimeError):
        await value.get(deadline=306)

    source.error = None
    assert await value.get(deadline=306) == 3


async def test_a_dropped_value_is_loaded_anew() -> None:
    source = Source()
    value = live(source)
    await value.get(deadline=5)
    value.drop()

    assert await value.get(deadline=5) == 2


async def test_what_was_loading_when_it_was_dropped_is_not_kept() -> None:
    source = Source()
    source.go.clear()
    value = live(source)
    early = asyncio.create_task(value.get(deadline=5))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    value.drop()
    late = asyncio.create_task(value.get(deadline=5))
    await asyncio.sleep(0)
    source.go.set()

    assert (await early, await late) == (1, 2)
    assert await value.get(deadline=5) == 2


async def test_who_asks_gives_up_at_the_deadline_and_the_load_goes_on_for_the_next() -> None:
    source = Source()
    source.go.clear()
    value = live(source)

    with pytest.raises(TimeoutError):
        await value.get(deadline=0.01)

    source.go.set()
    assert await value.get(deadline=5) == 1
