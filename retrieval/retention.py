"""Which artifacts of a folder are kept, and the cleaning that removes the others and what crashes left.

Kept are the current artifact, the newest ones, those younger than a day, the newest that a gate refused, and whatever
a process has open. What cannot be published as it stands is nobody's to remove but the operator's.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from retrieval.errors import ArtifactError
from retrieval.locking import builder_lock, publisher_lock, unread
from retrieval.manifest import MANIFEST_SUFFIX, manifest_path
from retrieval.publication import (
    ARTIFACT_PATTERN,
    ArtifactEntry,
    clear_publisher_temporaries,
    current_path,
    list_artifacts,
)
from retrieval.refusal import REFUSAL_SUFFIX, refusal_path
from retrieval.temporaries import clear_builder_temporaries

# A reader's second name for a file stands for the moment of opening it.
_OPENING_PATTERN: Final = ".open-*"
_OPENING_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is kept beside the current artifact and those in use.

    Attributes:
        newest: How many of the newest that were not refused.
        hours: Everything that was built within this time; what claims to be of the future is kept too.
    """

    newest: int = 3
    hours: float = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What a cleaning did.

    Attributes:
        removed: Artifacts that are gone, with their manifests.
        leased: Artifacts whose time is over, kept because somebody has them open.
        leftovers: What crashes had left, gone as well.
    """

    removed: tuple[Path, ...]
    leased: tuple[Path, ...]
    leftovers: tuple[Path, ...]


def prune(folder: Path, *, retention: Retention, now: datetime) -> Pruned:
    """Remove the artifacts that nobody needs, and the temporary files of processes that died.

    Safe to interrupt at any moment: an artifact goes before its manifest, and a manifest alone goes next time.

    Args:
        folder: The folder of artifacts.
        retention: What to keep.
        now: The time, with a zone.

    Raises:
        ArtifactMissingError: There is no such folder.
        ArtifactError: A build is running there, or the folder cannot be written.
    """
    entries = list_artifacts(folder)
    with builder_lock(folder), publisher_lock(folder), _readable_errors(folder):
        leftovers = (*clear_builder_temporaries(folder), *clear_publisher_temporaries(folder), *_clear_openings(folder))
        removed: list[Path] = []
        leased: list[Path] = []
        for entry in surplus(entries, retention=retention, now=now):
            outcome = _remove(folder, entry.path)
            if outcome is not None:
                (removed if outcome else leased).append(entry.path)
        orphans = _clear_orphans(folder)
    return Pruned(removed=tuple(removed), leased=tuple(leased), leftovers=(*leftovers, *orphans))


def surplus(entries: tuple[ArtifactEntry, ...], *, retention: Retention, now: datetime) -> tuple[ArtifactEntry, ...]:
    """Return the artifacts whose time is over, newest first; whether somebody has them open is not asked.

    Args:
        entries: The folder's artifacts, newest first.
        retention: What to keep.
        now: The time, with a zone.
    """
    sound = [entry for entry in entries if entry.problem is None]
    accepted = [entry for entry in sound if entry.refusal is None]
    refused = [entry for entry in sound if entry.refusal is not None]
    kept = {entry.path for entry in (*accepted[: retention.newest], *refused[:1])}
    horizon = now - timedelta(hours=retention.hours)
    return tuple(
        entry
        for entry in sound
        if entry.path not in kept and not entry.current and (built := entry.built_at) is not None and built < horizon
    )


def _remove(folder: Path, artifact: Path) -> bool | None:
    """Remove an artifact and what stands beside it; False where it is in use, None where it must stay or is gone."""
    try:
        with unread(artifact) as free:
            if not free:
                return False
            if artifact.resolve() == current_path(folder):
                return None
            artifact.unlink()
    except FileNotFoundError:
        return None
    manifest_path(artifact).unlink(missing_ok=True)
    refusal_path(artifact).unlink(missing_ok=True)
    return True


def _clear_orphans(folder: Path) -> tuple[Path, ...]:
    """Remove manifests and refusals whose artifact is gone, or never came."""
    artifacts = {path.name.removesuffix(".duckdb") for path in folder.glob(ARTIFACT_PATTERN)}
    orphans = [
        path
        for suffix in (MANIFEST_SUFFIX, REFUSAL_SUFFIX)
        for path in sorted(folder.glob(f"search-*{suffix}"))
        if path.name.removesuffix(suffix) not in artifacts
    ]
    for path in orphans:
        path.unlink(missing_ok=True)
    return tuple(orphans)


def _clear_openings(folder: Path) -> tuple[Path, ...]:
    old = []
    for path in sorted(folder.glob(_OPENING_PATTERN)):
        with contextlib.suppress(FileNotFoundError):
            # Giving a file a further name changes its status, whatever its content's age.
            if time.time() - path.stat().st_ctime > _OPENING_SECONDS:
                path.unlink()
                old.append(path)
    return tuple(old)


@contextlib.contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"The folder {folder} cannot be cleaned: {error.strerror or error}.") from error
