"""Reading the audit files: as a stream from the beginning, the newest entries alone, or as they are written."""

import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

_log = structlog.get_logger(__name__)

_NAME: Final = re.compile(r"^audit-(\d{4}-\d{2}-\d{2})\.(\d{4,6})\.jsonl$")
# The file's day is that of the writing, which may be a little later than the entry's own time, also by clocks.
_SLACK: Final = timedelta(hours=1)


class AuditRecord(BaseModel):
    """One entry as read back from the file; fields of a later version are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")

    at: datetime
    event: str
    request_id: str | None = None
    search_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    channel_id: str | None = None
    query: str | None = None
    query_hash: str | None = None
    mode: str | None = None
    route: str | None = None
    language: str | None = None
    hits: int | None = None
    offset: int | None = None
    degraded: bool | None = None
    artifact_id: str | None = None
    reason: str | None = None
    timings_ms: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which entries are wanted; what is empty or None does not narrow.

    Attributes:
        since: No entry before this moment.
        until: No entry from this moment on.
        users: Only these users'.
        events: Only these kinds.
        artifacts: Only over these artifacts.
        requests: Only what belongs to these requests: the request itself, and presses in its answer.
    """

    since: datetime | None = None
    until: datetime | None = None
    users: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()

    def admits(self, record: AuditRecord) -> bool:
        """Return whether an entry is wanted."""
        return (
            (self.since is None or record.at >= self.since)
            and (self.until is None or record.at < self.until)
            and (not self.users or record.user_id in self.users)
            and (not self.events or record.event in self.events)
            and (not self.artifacts or record.artifact_id in self.artifacts)
            and (not self.requests or record.request_id in self.requests or record.search_id in self.requests)
        )

    def may_hold(self, day: date) -> bool:
        """Return whether a file of that day may hold what is wanted."""
        return (self.since is None or day >= (self.since.astimezone(UTC) - _SLACK).date()) and (
            self.until is None or day <= (self.until.astimezone(UTC) + _SLACK).date()
        )


def audit_files(folder: Path) -> list[tuple[date, int, Path]]:
    """Return the audit files of a folder with their day and number, oldest first; none where there is no folder."""
    return sorted(
        (date.fromisoformat(match[1]), int(match[2]), path)
        for path in folder.glob("audit-*.jsonl")
        if (match := _NAME.match(path.name))
    )


def read_audit(
    folder: Path,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    wanted: LogFilter | None = None,
) -> Iterator[AuditRecord]:
    """Yield the entries of a folder, oldest file first, in the order written, one line in memory at a time.

    A line that is not an entry (cut by a full disk, say) is left out and reported on the log.

    Args:
        folder: Where the audit files are.
        since: No entry before this moment.
        until: No entry from this moment on.
        wanted: Which entries, in the place of `since` and `until`.
    """
    wanted = wanted if wanted is not None else LogFilter(since=since, until=until)
    for day, _, path in audit_files(folder):
        if wanted.may_hold(day):
            yield from (record for record in _records_of(path) if wanted.admits(record))


def newest_records(folder: Path, count: int, *, wanted: LogFilter) -> list[AuditRecord]:
    """Return the newest so many wanted entries, newest first; reads no older file than it needs."""
    found: list[AuditRecord] = []
    for day, _, path in reversed(audit_files(folder)):
        if len(found) >= count:
            break
        if wanted.may_hold(day):
            newest = deque((one for one in _records_of(path) if wanted.admits(one)), maxlen=count - len(found))
            found.extend(reversed(newest))
    return found


class AuditTail:
    """Reads what is new in a folder since it was read last, across new files, days and files that were replaced.

    A line is read once it is whole. For one thread.

    Args:
        folder: Where the audit files are; it need not be there yet.
        wanted: Which entries.
    """

    def __init__(self, folder: Path, *, wanted: LogFilter) -> None:
        self._folder = folder
        self._wanted = wanted
        self._read: dict[tuple[int, int], int] = {}

    def read_new(self) -> Iterator[AuditRecord]:
        """Yield the wanted entries that came since the last call, all of them at the first, in the order written."""
        for day, _, path in audit_files(self._folder):
            if self._wanted.may_hold(day):
                with suppress(FileNotFoundError), path.open("rb") as file:
                    yield from self._rest_of(file, path)

    def _rest_of(self, file: io.BufferedReader, path: Path) -> Iterator[AuditRecord]:
        status = path.stat()
        identity = (status.st_dev, status.st_ino)
        place = self._read.get(identity, 0)
        # A file that became shorter is another one that took its place.
        place = self._read[identity] = place if place <= status.st_size else 0
        file.seek(place)
        for line in file:
            if not line.endswith(b"\n"):
                break
            place += len(line)
            self._read[identity] = place
            record = _record_of(line, path)
            if record is not None and self._wanted.admits(record):
                yield record


def follow(tail: AuditTail, *, pause: Callable[[], None]) -> Iterator[AuditRecord]:
    """Yield what comes, without end.

    Args:
        tail: Reads it.
        pause: Waits a moment; called whenever there is nothing new.
    """
    while True:
        yield from tail.read_new()
        pause()


def _records_of(path: Path) -> Iterator[AuditRecord]:
    # Retention may have removed the file since the folder was listed.
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if (record := _record_of(line, path)) is not None:
                yield record


def _record_of(line: bytes, path: Path) -> AuditRecord | None:
    if not line.strip():
        return None
    try:
        return AuditRecord.model_validate_json(line.decode("utf-8", "replace"))
    except ValidationError:
        _log.warning("audit_line_unreadable", file=path.name)
        return None
