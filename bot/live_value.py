"""A value that is asked for again after a while, or at once when an event says that it changed."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
KeyT = TypeVar("KeyT", bound=Hashable)


class LiveValue(Generic[T]):
    """Keeps one loaded value for some seconds; however many ask at once, it is loaded once.

    A failed load keeps nothing: neither the error nor the value before it. A value whose load began before a
    `drop` is not given to anybody who asks after it. For one event loop.

    Args:
        load: Loads the value; gets the moment by which it should have given up.
        keep_seconds: How long a value is kept, from when its load began.
        load_seconds: How long a load may take. It goes on when who asked for it has given up.
        monotonic: A clock in seconds.
    """

    def __init__(
        self,
        load: Callable[[float], Awaitable[T]],
        *,
        keep_seconds: float,
        load_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._load = load
        self._keep_seconds = keep_seconds
        self._load_seconds = load_seconds
        self._monotonic = monotonic
        self._kept: tuple[float, T] | None = None
        self._loading: asyncio.Task[T] | None = None

    async def get(self, *, deadline: float) -> T:
        """Return the value, loaded anew where the kept one is too old.

        Raises:
            TimeoutError: It is not there by the deadline.
            Exception: Whatever the load raised.
        """
        now = self._monotonic()
        if self._kept is not None and now < self._kept[0] + self._keep_seconds:
            return self._kept[1]
        if self._loading is None:
            self._loading = asyncio.create_task(self._run(now))
            self._loading.add_done_callback(_look_at_error)
        async with asyncio.timeout(max(0.0, deadline - now)):
            return await asyncio.shield(self._loading)

    def drop(self) -> None:
        """Forget the value, and let a load under way serve only those who already wait for it."""
        self._kept = None
        self._loading = None

    async def _run(self, began: float) -> T:
        me = asyncio.current_task()
        try:
            value = await self._load(began + self._load_seconds)
            if self._loading is me:
                self._kept = (began, value)
            return value
        finally:
            if self._loading is me:
                self._loading = None


class LiveValues(Generic[KeyT, T]):
    """Live values by key, made when first asked for; the least recently asked for go first. For one event loop.

    Args:
        make: Makes the value of a key.
        most: How many are kept.
    """

    def __init__(self, make: Callable[[KeyT], LiveValue[T]], *, most: int) -> None:
        self._make = make
        self._most = most
        self._kept: OrderedDict[KeyT, LiveValue[T]] = OrderedDict()

    def of(self, key: KeyT) -> LiveValue[T]:
        """Return the live value of a key."""
        if key not in self._kept:
            self._kept[key] = self._make(key)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]

    def drop(self, key: KeyT) -> None:
        """Forget the value of a key."""
        if (kept := self._kept.pop(key, None)) is not None:
            kept.drop()

    def drop_all(self) -> None:
        """Forget every value."""
        for kept in self._kept.values():
            kept.drop()
        self._kept.clear()


def _look_at_error(task: asyncio.Task[T]) -> None:
    # Whoever waited has got the error; if nobody waits any more, asyncio must not complain about it.
    if not task.cancelled():
        task.exception()
