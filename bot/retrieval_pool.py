"""A bounded thread pool for the engine's synchronous calls, with a queue limit and a limit a user."""

import asyncio
import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class PoolError(Exception):
    """The pool takes no more work of this kind now; nothing was started."""


class PoolFullError(PoolError):
    """The queue is full."""


class UserBusyError(PoolError):
    """This user already has as much running and waiting as one user may have."""


class PoolClosedError(PoolError):
    """The pool was closed."""


class RetrievalPool:
    """Runs blocking work in a fixed number of threads.

    A piece of work holds its place until its thread is done with it, also when nobody waits for it any more:
    a caller that gives up frees a waiting place, never a running thread. Thread-safe.

    Args:
        workers: Threads.
        queue_limit: Pieces of work that may wait for a thread.
        user_limit: Pieces of work of one user that may run or wait.
    """

    def __init__(self, *, workers: int, queue_limit: int, user_limit: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="retrieval")
        self._workers = workers
        self._capacity = workers + queue_limit
        self._user_limit = user_limit
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def load(self) -> int:
        """How many pieces of work run or wait."""
        with self._lock:
            return self._taken.total()

    @property
    def waiting(self) -> int:
        """How many pieces of work wait for a thread."""
        return max(0, self.load - self._workers)

    async def run(self, user: str, work: Callable[[], T], *, timeout_seconds: float) -> T:
        """Run `work` in a thread and return what it returns, or raise what it raises.

        Args:
            user: Whose limit it counts against.
            work: Called once, in a thread of the pool.
            timeout_seconds: How long to wait for it, queueing included.

        Raises:
            PoolFullError: Too much is waiting.
            UserBusyError: Too much of this user is running or waiting.
            PoolClosedError: The pool is closed.
            TimeoutError: It did not finish in time; where it had already started, its result is dropped.
        """
        future = self._submit(user, work)
        async with asyncio.timeout(timeout_seconds):
            return await asyncio.wrap_future(future)

    def _submit(self, user: str, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._closed:
                raise PoolClosedError("The pool is closed.")
            if self._taken[user] >= self._user_limit:
                raise UserBusyError("This user has too many searches under way.")
            if self._taken.total() >= self._capacity:
                raise PoolFullError("Too many searches are waiting.")
            self._taken[user] += 1
            # The thread's log lines carry the request's id too.
            future = self._executor.submit(contextvars.copy_context().run, work)
        future.add_done_callback(lambda _: self._give_back(user))
        return future

    def _give_back(self, user: str) -> None:
        with self._lock:
            self._taken[user] -= 1
            if self._taken[user] <= 0:
                del self._taken[user]

    def close(self) -> None:
        """Take no more work and drop what still waits; running threads end on their own."""
        with self._lock:
            self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)
