"""The audit file: who searched for what, where and when, as JSON lines of one file a day."""

import fcntl
import hashlib
import hmac
import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import structlog

from bot.audit_reader import AuditRecord, audit_files, read_audit
from bot.settings import QueryText
from retrieval.models import Filters

__all__ = ["AuditEntry", "AuditEvent", "AuditFile", "AuditRecord", "EntryWriter", "describe_filters", "read_audit"]

_log = structlog.get_logger(__name__)

Clock: TypeAlias = Callable[[], datetime]

_QUOTED: Final = re.compile(r"“[^”]*”")
_WAITING: Final = 10_000
# How long a line waits for another process's line to be whole; then it is written beside it.
_LOCK_SECONDS: Final = 1.0


class AuditEvent(StrEnum):
    """What an entry tells of."""

    SEARCH = "search"
    PAGE = "page"
    EXPAND = "expand"
    CONTEXT = "context"
    SIMILAR = "similar"
    VOTE = "vote"
    SHARE = "share"
    REFUSED = "refused"
    ERROR = "error"
    SWAP = "swap"
    START = "start"
    STOP = "stop"
    ALERT = "alert"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One event; whatever does not apply to it is None or empty.

    Attributes:
        request_id: Which payload of Slack's it answers; for what nobody asked for, which run of the process it is of.
        search_id: The `request_id` of the command whose answer was pressed in; the same as `request_id` for a command.
        query: The text searched for; how much of it is written is the file's setting.
        document_ids: What was shown.
        similar_to: The document that it is similar to.
        language: The script that most of the query's letters are of; a rough word for its language.
        timings_ms: Milliseconds by stage; `total` is what they add up to.
        reason: Why something was refused, failed or swapped; a fixed word or an error's name, never text of
            a user or a message.
    """

    event: AuditEvent
    request_id: str | None = None
    search_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    channel_id: str | None = None
    query: str | None = None
    mode: str | None = None
    route: str | None = None
    language: str | None = None
    filters: Filters | None = None
    sort: str | None = None
    hits: int | None = None
    offset: int | None = None
    document_ids: tuple[str, ...] = ()
    similar_to: str | None = None
    warnings: tuple[str, ...] = ()
    degraded: bool | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    artifact_id: str | None = None
    reason: str | None = None


class EntryWriter(Protocol):
    """Takes entries: an `AuditFile`, or what stands before one."""

    def write(self, entry: AuditEntry) -> None:
        """Take one entry; never raises and never waits."""


class AuditFile:
    """Appends entries to `audit-<day>.<n>.jsonl`, mode 0600, from a thread of its own.

    A day's file that has reached its size is followed by the next number; files of days before the retention
    are deleted. `write` neither raises nor waits for the disk: what the disk does not take is dropped and counted,
    and reported once until it works again. Several processes may share a folder: a line is written whole, under a
    lock on its file, and no file is ever renamed. A file or folder that is gone is made anew. Thread-safe.

    Args:
        folder: Made with mode 0700 where it does not exist.
        query_text: How much of a query's text is kept.
        key: Keys the hash of query texts, so that equal queries can be counted but not guessed from a list.
        max_bytes: Size at which the next file is begun.
        keep_days: Days kept, today not counted.
        clock: Tells the time, time zone aware.
    """

    def __init__(
        self, folder: Path, *, query_text: QueryText, key: bytes, max_bytes: int, keep_days: int, clock: Clock
    ) -> None:
        self._folder = folder
        self._query_text = query_text
        self._key = key
        self._max_bytes = max_bytes
        self._keep_days = keep_days
        self._clock = clock
        self._waiting: queue.Queue[str | None] = queue.Queue(maxsize=_WAITING)
        self._number = 1
        self._day: date | None = None
        self._counting = threading.Lock()
        self._problem: str | None = None
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    @property
    def dropped(self) -> int:
        """How many entries are lost."""
        return self._dropped

    @property
    def problem(self) -> str | None:
        """Why entries are lost now, an error's name; None where they are written."""
        return self._problem

    def write(self, entry: AuditEntry) -> None:
        """Queue one entry; it is on disk shortly after, or dropped and counted."""
        try:
            self._waiting.put_nowait(self._line_of(entry))
        except queue.Full:
            self._drop("queue full")

    def close(self, *, timeout_seconds: float = 3.0) -> None:
        """Write what waits and stop; gives up after the timeout, and counts what is left then."""
        until = time.monotonic() + timeout_seconds
        try:
            self._waiting.put(None, timeout=timeout_seconds)
        except queue.Full:
            self._drop("queue full", count=self._waiting.qsize())
            return
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive() and (left := self._waiting.qsize() - 1) > 0:
            self._drop("not written in time", count=left)

    def _line_of(self, entry: AuditEntry) -> str:
        content: dict[str, object] = {"at": self._clock().astimezone(UTC).isoformat(timespec="milliseconds")}
        for name in AuditEntry.__dataclass_fields__:
            value = getattr(entry, name)
            if value is not None and value not in ((), {}) and name not in ("query", "filters", "warnings"):
                content[name] = value
        content |= self._query_of(entry)
        if entry.filters is not None:
            content["filters"] = describe_filters(entry.filters, in_full=self._query_text is QueryText.FULL)
        if entry.warnings:
            content["warnings"] = [self._warning(text) for text in entry.warnings]
        return json.dumps(content, ensure_ascii=False, default=str) + "\n"

    def _query_of(self, entry: AuditEntry) -> dict[str, object]:
        if entry.query is None or self._query_text is QueryText.NONE:
            return {}
        if self._query_text is QueryText.FULL:
            return {"query": entry.query}
        normal = " ".join(entry.query.casefold().split())
        return {"query_hash": hmac.digest(self._key, normal.encode(), hashlib.sha256).hex()[:16]}

    def _warning(self, text: str) -> str:
        # Warnings quote names and words as typed between curly quotes.
        return text if self._query_text is QueryText.FULL else _QUOTED.sub("“…”", text)

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._append(line.encode("utf-8", "backslashreplace"))
            except OSError as exc:
                self._drop(type(exc).__name__)
            else:
                self._recover()

    def _append(self, content: bytes) -> None:
        today = self._clock().astimezone(UTC).date()
        if self._day != today:
            self._begin_day(today)
        try:
            self._append_to(self._next_path(today, len(content)), content)
        except FileNotFoundError:
            # Somebody removed the folder.
            self._make_folder()
            self._append_to(self._next_path(today, len(content)), content)

    def _append_to(self, path: Path, content: bytes) -> None:
        """Add a line under the file's lock; what a full disk took of it only in part is taken back.

        Raises:
            OSError: The disk did not take it.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            with _locked(descriptor):
                size = os.fstat(descriptor).st_size
                # A process that was killed may have left half a line.
                is_whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
                line = content if is_whole else b"\n" + content
                if os.write(descriptor, line) < len(line):
                    os.ftruncate(descriptor, size)
                    raise OSError("the disk took only a part of a line")
        finally:
            os.close(descriptor)

    def _next_path(self, day: date, length: int) -> Path:
        """Return the day's first file, from the one written last on, that has room."""
        while True:
            path = self._folder / f"audit-{day.isoformat()}.{self._number:04d}.jsonl"
            size = _size_of(path)
            if size == 0 or size + length <= self._max_bytes:
                return path
            self._number += 1

    def _begin_day(self, today: date) -> None:
        self._make_folder()
        self._number = 1
        self._day = today
        oldest = today - timedelta(days=self._keep_days)
        for day, _, path in audit_files(self._folder):
            if day < oldest:
                try:
                    path.unlink(missing_ok=True)
                except OSError as exc:
                    # What is new can be written all the same.
                    _log.error("audit_not_pruned", reason=type(exc).__name__)
                    return

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _drop(self, reason: str, *, count: int = 1) -> None:
        with self._counting:
            self._dropped += count
            is_first, self._problem = self._problem is None, reason
        if is_first:
            _log.error("audit_not_written", reason=reason)

    def _recover(self) -> None:
        with self._counting:
            was, self._problem = self._problem, None
        if was is not None:
            _log.info("audit_written_again", dropped=self._dropped)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold the file's lock, where it can be had within a second: a single appending write stays whole without it."""
    until = time.monotonic() + _LOCK_SECONDS
    held = False
    while not held and time.monotonic() < until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            time.sleep(0.002)
        except OSError:
            # A network file system may have no locks.
            break
    try:
        yield
    finally:
        if held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


TEXT_FILTERS: Final = frozenset({"phrases", "excluded_phrases", "excluded_words"})
"""The conditions that hold what somebody typed, in `Filters`."""


def describe_filters(filters: Filters, *, in_full: bool) -> dict[str, object]:
    """Return the conditions that are set; phrases and excluded words in full, or only how many there are."""
    content: dict[str, object] = {}
    for name in Filters.__dataclass_fields__:
        value = getattr(filters, name)
        if name == "kinds" or value in ((), None, False):
            continue
        content[name] = len(value) if name in TEXT_FILTERS and not in_full else value
    return content
