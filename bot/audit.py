"""The audit file: who searched for what, where and when, as JSON lines of one file a day."""

import hashlib
import hmac
import json
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.settings import QueryText
from retrieval.models import Filters

_log = structlog.get_logger(__name__)

Clock: TypeAlias = Callable[[], datetime]

_NAME: Final = re.compile(r"^audit-(\d{4}-\d{2}-\d{2})\.(\d{4})\.jsonl$")
_QUOTED: Final = re.compile(r"“[^”]*”")
_WAITING: Final = 10_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One event; whatever does not apply to it is None or empty.

    Attributes:
        query: The text searched for; how much of it is written is the file's setting.
        document_ids: What was shown.
        similar_to: The document that it is similar to.
        timings_ms: Milliseconds by stage.
        reason: Why something was refused, failed or swapped; a fixed word or an error's name, never text of
            a user or a message.
    """

    event: AuditEvent
    request_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    channel_id: str | None = None
    query: str | None = None
    mode: str | None = None
    route: str | None = None
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


class AuditRecord(BaseModel):
    """One entry as read back from the file; fields of a later version are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")

    at: datetime
    event: str
    request_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    channel_id: str | None = None
    query: str | None = None
    query_hash: str | None = None
    mode: str | None = None
    route: str | None = None
    hits: int | None = None
    offset: int | None = None
    degraded: bool | None = None
    artifact_id: str | None = None
    reason: str | None = None
    timings_ms: Mapping[str, float] = {}


class AuditFile:
    """Appends entries to `audit-<day>.<n>.jsonl`, mode 0600, from a thread of its own.

    A day's file that has reached its size is followed by the next number; files of days before the retention
    are deleted. `write` neither raises nor waits for the disk: when the disk fails, entries are dropped,
    counted and reported once until it works again. Several processes may share a folder. Thread-safe.

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
        self._pruned: date | None = None
        self._failing = False
        self._torn = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    def write(self, entry: AuditEntry) -> None:
        """Queue one entry; it is on disk shortly after, or dropped and counted."""
        try:
            self._waiting.put_nowait(self._line_of(entry))
        except queue.Full:
            self._drop("queue full")

    def close(self, *, timeout_seconds: float = 3.0) -> None:
        """Write what waits and stop; gives up after the timeout."""
        try:
            self._waiting.put(None, timeout=timeout_seconds)
        except queue.Full:
            self._drop("queue full")
        self._thread.join(timeout_seconds)

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
                self._append(line)
            except OSError as exc:
                self._drop(type(exc).__name__)
            else:
                self._failing = False

    def _append(self, line: str) -> None:
        today = self._clock().astimezone(UTC).date()
        if self._pruned != today:
            self._begin_day(today)
        content = line.encode()
        path = self._path(today)
        while path.exists() and path.stat().st_size + len(content) > self._max_bytes:
            self._number += 1
            path = self._path(today)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # One write to a file opened for appending stays whole beside other processes' writes.
            written = os.write(descriptor, b"\n" + content if self._torn else content)
            self._torn = written < len(content)
        finally:
            os.close(descriptor)

    def _path(self, day: date) -> Path:
        return self._folder / f"audit-{day.isoformat()}.{self._number:04d}.jsonl"

    def _begin_day(self, today: date) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._number = 1
        oldest = today - timedelta(days=self._keep_days)
        for day, _, path in _files(self._folder):
            if day < oldest:
                path.unlink(missing_ok=True)
        self._pruned = today

    def _drop(self, reason: str) -> None:
        self.dropped += 1
        if not self._failing:
            self._failing = True
            _log.error("audit_not_written", reason=reason)


def describe_filters(filters: Filters, *, in_full: bool) -> dict[str, object]:
    """Return the conditions that are set; phrases and excluded words in full, or only how many there are."""
    content: dict[str, object] = {}
    for name in Filters.__dataclass_fields__:
        value = getattr(filters, name)
        if name == "kinds" or value in ((), None, False):
            continue
        is_text = name in ("phrases", "excluded_phrases", "excluded_words")
        content[name] = len(value) if is_text and not in_full else value
    return content


def read_audit(folder: Path, *, since: datetime | None = None, until: datetime | None = None) -> Iterator[AuditRecord]:
    """Yield the entries of a folder, oldest file first, in the order written.

    A line that is not an entry (cut by a full disk, say) is left out and reported on the log.

    Args:
        folder: Where the audit files are.
        since: No entry before this moment.
        until: No entry from this moment on.
    """
    for day, _, path in _files(folder):
        if (since and day < since.astimezone(UTC).date()) or (until and day > until.astimezone(UTC).date()):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            if not line:
                continue
            try:
                record = AuditRecord.model_validate_json(line)
            except ValidationError:
                _log.warning("audit_line_unreadable", file=path.name, line=number)
                continue
            if (since is None or record.at >= since) and (until is None or record.at < until):
                yield record


def _files(folder: Path) -> list[tuple[date, int, Path]]:
    return sorted(
        (date.fromisoformat(match[1]), int(match[2]), path)
        for path in folder.glob("audit-*.jsonl")
        if (match := _NAME.match(path.name))
    )
