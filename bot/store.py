"""The small store that bot processes of one machine share: votes, recent searches, and which envelopes were taken.

Everything in it is a convenience: where it fails, searches go on without it.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import structlog

from bot.store_file import MAX_BYTES, NewerStoreError, StoreFile
from bot.store_records import RecentSearch, Verdict, Vote, query_key

__all__ = ["RecentSearch", "Store", "Verdict", "Vote", "query_key"]

_log = structlog.get_logger(__name__)

SHOWN_RECENTS: Final = 20
_WAITING: Final = 1_000
# An ack has three seconds; a person who waits for a list has more.
_ENVELOPE_SECONDS: Final = 0.5
_ANSWER_SECONDS: Final = 1.5
# After a failure nothing is tried for that long, so that a disk that hangs costs one wait and not one a payload.
_PAUSE_SECONDS: Final = 2.0

T = TypeVar("T")
Other = TypeVar("Other")
_Work = Callable[[], None]


class _StoreError(Exception):
    """Something was left out; counted and logged where that was found."""


@dataclass(slots=True)
class _Batch:
    """Envelopes that came while the thread was busy, for one transaction.

    Of fifty that come together, the last would otherwise wait for forty-nine transactions, each of which has to get
    hold of the interpreter's lock again and again.
    """

    deliveries: list[tuple[str, ...]] = field(default_factory=list)
    answer: Future[list[bool]] | None = None


class Store:
    """Reads and writes the file in one thread of its own, with a short limit on every wait.

    No method raises because the file is corrupt, locked, read-only, full or gone: what it was to do is left out and
    counted, and the first time of a spell is logged. For one event loop.

    Args:
        path: The file; made where it does not exist.
        keeps_votes: Whether votes are taken; else every vote is refused.
        keeps_recents: Whether recent searches are kept; else there are none.
        clock: Tells the time, Unix seconds.
        monotonic: A clock in seconds that never goes back.
        max_bytes: How large the file may become.

    Attributes:
        failures: How many calls were left out.
    """

    def __init__(
        self,
        path: Path,
        *,
        keeps_votes: bool,
        keeps_recents: bool,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.keeps_votes = keeps_votes
        self.keeps_recents = keeps_recents
        self.failures = 0
        self._file = StoreFile(path, max_bytes=max_bytes)
        self._clock = clock
        self._monotonic = monotonic
        self._state = threading.Lock()
        self._problem: str | None = None
        self._batch: _Batch | None = None
        self._tries_again = float("-inf")
        self._waiting: queue.Queue[_Work | None] = queue.Queue(maxsize=_WAITING)
        self._thread = threading.Thread(target=self._work_all, name="store", daemon=True)
        self._thread.start()
        self._submit(self._file.open)

    @property
    def problem(self) -> str | None:
        """Why the store does not work now, an error's name; None where it does."""
        return self._problem

    async def vote(self, vote: Vote) -> bool:
        """Keep a vote in the place of the same person's on the same query and document.

        Returns:
            Whether it is kept; False also where votes are switched off.
        """
        return self.keeps_votes and await self._done(lambda: self._file.put_vote(vote))

    async def withdraw(self, team_id: str, user_id: str, *, query_key: str, document_id: str) -> bool:
        """Forget a person's vote.

        Returns:
            Whether there is none any more.
        """
        return await self._done(
            lambda: self._file.drop_vote(team_id, user_id, query_key=query_key, document_id=document_id)
        )

    async def vote_of(self, team_id: str, user_id: str, *, query_key: str, document_id: str) -> Verdict | None:
        """Return a person's vote; None where there is none or it cannot be read."""
        if not self.keeps_votes:
            return None
        return await self._ask(
            lambda: self._file.find_verdict(team_id, user_id, query_key=query_key, document_id=document_id),
            otherwise=None,
        )

    def remember(self, team_id: str, user_id: str, *, command: str, shown: str) -> None:
        """Keep a search as the person's newest, soon; a `recents` asked afterwards finds it."""
        if self.keeps_recents and command.strip():
            now_us = int(self._clock() * 1_000_000)
            recent = RecentSearch(command=command.strip(), shown=shown.strip(), searched_us=now_us)
            self._submit(lambda: self._file.put_recent(team_id, user_id, recent))

    async def recents(
        self, team_id: str, user_id: str, *, limit: int = SHOWN_RECENTS
    ) -> tuple[RecentSearch, ...] | None:
        """Return a person's searches, newest first, each text once; None where they cannot be read."""
        if not self.keeps_recents:
            return ()
        return await self._ask(lambda: self._file.recents(team_id, user_id, limit=limit), otherwise=None)

    async def forget_recents(self, team_id: str, user_id: str) -> bool:
        """Erase a person's searches.

        Returns:
            Whether they are gone.
        """
        return await self._done(lambda: self._file.drop_recents(team_id, user_id))

    async def take_envelopes(self, *ids: str) -> bool:
        """Return whether no process took one of these ids before, and remember them for an hour.

        Where the store cannot say, they count as new: twice answered is better than not at all.
        """
        with self._state:
            batch = self._batch = self._batch or _Batch()
            place = len(batch.deliveries)
            batch.deliveries.append(ids)
        if place == 0:
            batch.answer = self._submit(lambda: self._take_batch(batch))
        if batch.answer is None:
            self._leave(batch)
            return True
        # One that gives up must not cancel what the others wait for.
        shared = asyncio.shield(asyncio.wrap_future(batch.answer))
        taken = await self._in_time(shared, otherwise=None, seconds=_ENVELOPE_SECONDS)
        if taken is None:
            self._leave(batch)
        return taken is None or taken[place]

    def _take_batch(self, batch: "_Batch") -> list[bool]:
        self._leave(batch)
        return self._file.take_envelopes(batch.deliveries, now_s=self._clock())

    def _leave(self, batch: "_Batch") -> None:
        """Let nothing more join a batch."""
        with self._state:
            if self._batch is batch:
                self._batch = None

    def close(self, *, timeout_seconds: float = 2.0) -> None:
        """Write what waits, and stop; gives up after the timeout. Whatever is asked afterwards is left out."""
        with self._state:
            self._tries_again = float("inf")
        try:
            self._waiting.put(None, timeout=timeout_seconds)
        except queue.Full:
            return
        self._thread.join(timeout_seconds)

    async def _done(self, work: Callable[[], None]) -> bool:
        def act() -> bool:
            work()
            return True

        return await self._ask(act, otherwise=False)

    async def _ask(self, work: Callable[[], T], *, otherwise: T, seconds: float = _ANSWER_SECONDS) -> T:
        answer = self._submit(work)
        if answer is None:
            return otherwise
        return await self._in_time(asyncio.wrap_future(answer), otherwise=otherwise, seconds=seconds)

    async def _in_time(self, answer: Awaitable[T], *, otherwise: Other, seconds: float) -> T | Other:
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self._fail("timeout")
        except _StoreError:
            return otherwise
        return otherwise

    def _submit(self, work: Callable[[], T]) -> Future[T] | None:
        """Queue work for the thread; None where the store is not to be tried now."""
        if self._monotonic() < self._tries_again:
            with self._state:
                self.failures += 1
            return None
        answer: Future[T] = Future()

        def run() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except Exception as exc:  # noqa: BLE001 - the thread must live on, and an answer must not wait for it.
                self._fail(type(exc).__name__, error=exc)
                answer.set_exception(_StoreError())
            else:
                self._succeed()
                answer.set_result(result)

        try:
            self._waiting.put_nowait(run)
        except queue.Full:
            self._fail("queue full")
            return None
        return answer

    def _work_all(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()
        self._file.close()

    def _fail(self, reason: str, *, error: Exception | None = None) -> None:
        with self._state:
            self.failures += 1
            is_first, self._problem = self._problem is None, reason
            self._tries_again = self._monotonic() + _PAUSE_SECONDS
        if is_first:
            # SQLite's sentences may name a file or a column, never what stands in one.
            expected = error is None or isinstance(error, (sqlite3.Error, OSError, NewerStoreError))
            _log.error(
                "store_not_working", reason=reason, detail=str(error or ""), exc_info=None if expected else error
            )

    def _succeed(self) -> None:
        with self._state:
            was, self._problem = self._problem, None
        if was is not None:
            _log.info("store_works_again", failures=self.failures)
