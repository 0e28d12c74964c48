"""Publishing artifacts in a folder: validation, the atomic pointer, rollback, and what is there."""

import os
import shutil
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from retrieval.errors import ArtifactError, ArtifactInvalidError, ArtifactMissingError
from retrieval.hold import Hold, end_hold, read_hold, write_hold
from retrieval.locking import publisher_lock, unread
from retrieval.manifest import Manifest, ManifestKey, manifest_path, read_manifest
from retrieval.models import ArtifactInfo
from retrieval.refusal import Refusal, read_refusal, refusal_path
from retrieval.store import CURRENT_NAME
from retrieval.validation import validate_file

ARTIFACT_PATTERN: Final = "search-*.duckdb"
CURRENT_MANIFEST_NAME: Final = "current.manifest.json"
PUBLISHER_TEMPORARIES: Final = (".publishing-*", ".pointing-*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEntry:
    """One artifact of a folder.

    Attributes:
        path: Its file.
        manifest: None where it has none or an unreadable one; then `problem` says so.
        size_bytes: Of the file.
        current: Whether `current.duckdb` names it.
        problem: Why it could not be published as it stands; only its manifest was read for this.
        leased: Whether a process of this machine has it open, or the file system cannot tell.
        refusal: Why it was kept and not published; None where nobody refused it.
    """

    path: Path
    manifest: Manifest | None
    size_bytes: int
    current: bool
    problem: str | None
    leased: bool = False
    refusal: Refusal | None = None

    @property
    def built_at(self) -> datetime | None:
        """When it was built; None where its manifest does not say it in ISO 8601, UTC unless it names a zone."""
        try:
            moment = datetime.fromisoformat(self.manifest.built_at if self.manifest is not None else "")
        except ValueError:
            return None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def publish(folder: Path, artifact: Path, *, key: ManifestKey | None = None) -> ArtifactInfo:
    """Make *artifact* the current one of *folder*, once it is valid.

    A file from elsewhere is first copied in, with its manifest. Everything is on disk before the pointer is
    replaced, in one step; readers see the old artifact or the new one. `current.manifest.json` follows it.

    Args:
        folder: The folder of artifacts.
        artifact: A file beside its manifest.
        key: Publish only what it signed.

    Raises:
        ArtifactMissingError: There is no such file, or it has no manifest.
        ArtifactInvalidError: A check failed; the current artifact stays.
        ArtifactError: The folder cannot be written, or somebody else publishes there for minutes.
        OSError: The disk is full.
    """
    with publisher_lock(folder):
        clear_publisher_temporaries(folder)
        info = _publish(folder, artifact, key=key)
        # Whoever publishes by hand has decided: about a rollback, and about a refusal of this artifact.
        end_hold(folder)
        return info


def publish_unless_held(folder: Path, artifact: Path) -> Hold | None:
    """Do what `publish` does, for who works without a person: not while a rollback holds the folder.

    Returns the rollback that holds, None where the artifact is the current one now.

    Raises:
        ArtifactError: As `publish`.
        OSError: As `publish`.
    """
    with publisher_lock(folder):
        clear_publisher_temporaries(folder)
        hold = read_hold(folder)
        if hold is None:
            _publish(folder, artifact)
        return hold


def adopt(folder: Path, artifact: Path) -> ArtifactInfo:
    """Do what `publish_unless_held` does, and move the file and its manifest instead of copying them.

    Args:
        folder: The folder of artifacts.
        artifact: A file on the same file system, beside its manifest.

    Raises:
        ArtifactMissingError: There is no such file, or it has no manifest.
        ArtifactInvalidError: A check failed; the current artifact and the file stay.
        ArtifactError: A rollback holds, the folder cannot be written, or somebody else publishes there for minutes.
        OSError: The files cannot be moved.
    """
    with publisher_lock(folder):
        clear_publisher_temporaries(folder)
        if (hold := read_hold(folder)) is not None:
            raise ArtifactError(hold.reason)
        validate_file(artifact, manifest=read_manifest(artifact))
        for origin in (manifest_path(artifact), artifact):
            origin.chmod(0o444)
            _sync(origin)
            origin.replace(folder / origin.name)
        return _publish(folder, folder / artifact.name)


def _publish(folder: Path, artifact: Path, *, key: ManifestKey | None = None) -> ArtifactInfo:
    source = artifact.resolve()
    manifest = read_manifest(source)
    if key is not None:
        key.check(manifest)
    info = validate_file(source, manifest=manifest)
    target = source if source.parent == folder.resolve() else _copy_in(folder, source, manifest)
    _sync(target)
    _sync(manifest_path(target))
    _point(folder, CURRENT_NAME, target.name)
    # For web servers over the folder; after the artifact, so that what it names is there.
    _point(folder, CURRENT_MANIFEST_NAME, manifest_path(target).name)
    refusal_path(target).unlink(missing_ok=True)
    return info


def rollback(folder: Path, build_id: str | None = None, *, key: ManifestKey | None = None) -> ArtifactInfo:
    """Make an earlier artifact of *folder* the current one again; it stays so until somebody publishes by hand.

    Args:
        folder: The folder of artifacts.
        build_id: Which one; where None, the newest valid one built before the current that no gate refused.
        key: Go only to what it signed.

    Raises:
        ArtifactMissingError: There is no such artifact, or none before the current one.
        ArtifactInvalidError: The named one is not valid.
        ArtifactError: The folder cannot be written, or somebody else publishes there for minutes.
    """
    entries = list_artifacts(folder)
    if build_id is not None:
        named = [entry for entry in entries if entry.manifest is not None and entry.manifest.artifact_id == build_id]
        if not named:
            raise ArtifactMissingError(f"There is no artifact {build_id} in {folder}.")
        return _roll_back_to(folder, named[0].path, key=key)
    position = next((index for index, entry in enumerate(entries) if entry.current), -1)
    for entry in entries[position + 1 :]:
        if entry.refusal is not None:
            continue
        try:
            return _roll_back_to(folder, entry.path, key=key)
        except (ArtifactInvalidError, ArtifactMissingError):
            continue
    raise ArtifactMissingError(f"There is no valid artifact in {folder} before the current one.")


def _roll_back_to(folder: Path, artifact: Path, *, key: ManifestKey | None) -> ArtifactInfo:
    with publisher_lock(folder):
        clear_publisher_temporaries(folder)
        info = _publish(folder, artifact, key=key)
        write_hold(folder, info.artifact_id)
        return info


def list_artifacts(folder: Path) -> tuple[ArtifactEntry, ...]:
    """Return the artifacts of *folder*, newest build first, ties by file name.

    Raises:
        ArtifactMissingError: There is no such folder.
    """
    if not folder.is_dir():
        raise ArtifactMissingError(f"There is no folder {folder}.")
    current = current_path(folder)
    found = (_entry(path, current) for path in sorted(folder.glob(ARTIFACT_PATTERN), reverse=True))
    entries = [entry for entry in found if entry is not None]
    return tuple(sorted(entries, key=lambda entry: entry.manifest.built_at if entry.manifest else "", reverse=True))


def current_path(folder: Path) -> Path | None:
    """Return the file that `current.duckdb` names, None where there is none."""
    try:
        return (folder / CURRENT_NAME).resolve(strict=True)
    except OSError:
        return None


def _entry(path: Path, current: Path | None) -> ArtifactEntry | None:
    """Return what is known of one file, None where it went meanwhile."""
    manifest: Manifest | None = None
    problem: str | None = None
    try:
        manifest = read_manifest(path)
    except (ArtifactInvalidError, ArtifactMissingError) as error:
        problem = str(error)
    try:
        size = path.stat().st_size
        with unread(path) as free:
            leased = not free
    except OSError:
        return None
    return ArtifactEntry(
        path=path,
        manifest=manifest,
        size_bytes=size,
        current=current is not None and path.resolve() == current,
        problem=problem,
        leased=leased,
        refusal=read_refusal(path),
    )


def _copy_in(folder: Path, source: Path, manifest: Manifest) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    if target.exists():
        validate_file(target, manifest=manifest)
        return target
    for origin in (manifest_path(source), source):
        temporary = folder / f".publishing-{uuid.uuid4().hex}"
        try:
            shutil.copyfile(origin, temporary)
            temporary.chmod(0o444)
            _sync(temporary)
            temporary.replace(folder / origin.name)
        finally:
            temporary.unlink(missing_ok=True)
    validate_file(target, manifest=manifest)
    return target


def _point(folder: Path, link: str, name: str) -> None:
    temporary = folder / f".pointing-{uuid.uuid4().hex}"
    try:
        temporary.symlink_to(name)
        temporary.replace(folder / link)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear_publisher_temporaries(folder: Path) -> tuple[Path, ...]:
    """Remove what an interrupted publisher left in *folder*; only for who holds the publisher's lock."""
    left = tuple(path for pattern in PUBLISHER_TEMPORARIES for path in sorted(folder.glob(pattern)))
    for path in left:
        path.unlink(missing_ok=True)
    return left
