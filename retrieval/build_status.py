"""What the indexer last did, in a small file beside the artifacts: for `artifacts`, for the bot, for monitoring."""

import contextlib
import fcntl
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.locking import folder_lock

STATUS_NAME: Final = "indexer.json"
INDEXER_LOCK: Final = ".indexer.lock"
_TEMPORARY_NAME: Final = ".indexer.json.new"
# A reader of the status holds the lock for a moment.
_LOCK_WAIT_SECONDS: Final = 2.0


class BuildOutcome(StrEnum):
    """How a build ended."""

    PUBLISHED = "published"
    REFUSED = "refused"
    FAILED = "failed"
    STOPPED = "stopped"


class BuildStatus(BaseModel):
    """The indexer's state after its last change. Times are ISO 8601 in UTC.

    Attributes:
        building: Whether a build was under way when this was written.
        started_at: When the last build began.
        ended_at: When it ended; None while it runs.
        outcome: How the last build that ended did; None before the first.
        reason: Why it failed, or why its artifact was not published; empty where all went well.
        artifact_id: What the last build made; None where it made nothing.
        published_at: When a build was last published.
        failures: Builds since then that were not, in a row.
        next_at: When the next begins; None where nobody plans one.
        documents: Documents of the last artifact.
        embedded: Texts that the last build gave to the model.
        seconds: Wall time of the last build by stage.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    building: bool = False
    started_at: str
    ended_at: str | None = None
    outcome: BuildOutcome | None = None
    reason: str = ""
    artifact_id: str | None = None
    published_at: str | None = None
    failures: int = 0
    next_at: str | None = None
    documents: int | None = None
    embedded: int | None = None
    seconds: dict[str, float] = {}


def indexer_lock(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the indexer's lock: one of them works on a folder.

    Raises:
        ArtifactError: The folder cannot be written, or another indexer works there.
    """
    busy = f"Another indexer works on {folder}."
    return folder_lock(folder, INDEXER_LOCK, busy=busy, wait_seconds=_LOCK_WAIT_SECONDS)


def write_status(folder: Path, status: BuildStatus) -> None:
    """Write the status in one step; only for who holds the indexer's lock.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / _TEMPORARY_NAME
    temporary.write_text(status.model_dump_json(indent=2) + "\n", encoding="utf-8")
    temporary.replace(folder / STATUS_NAME)


def read_status(folder: Path) -> BuildStatus | None:
    """Return the indexer's status, None where there is none that can be read."""
    try:
        return BuildStatus.model_validate_json((folder / STATUS_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def indexer_runs(folder: Path) -> bool:
    """Return whether an indexer of this machine works on *folder* now."""
    try:
        with (folder / INDEXER_LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def status_problem(status: BuildStatus, *, running: bool, now: datetime) -> str | None:
    """Return what an operator should know of the indexer, one sentence; None where all is well.

    Args:
        status: The file's content.
        running: Whether an indexer works there now.
        now: The time, with a zone.
    """
    if status.failures and status.reason:
        last = status.published_at or "never"
        times = "The last build" if status.failures == 1 else f"The last {status.failures} builds"
        return f"{times} did not replace the archive (last published: {last}): {status.reason}"
    if status.building and not running:
        return f"The build that began at {status.started_at} ended without a word; it was killed."
    due = _moment(status.next_at)
    if due is not None and not running and now - due > timedelta(0):
        return f"The next build was due at {status.next_at}, and no indexer is running."
    return None


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is not None else None
    return None
