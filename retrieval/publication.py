"""Publishing artifacts in a folder: validation, the atomic pointer, rollback, and what is there."""

import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval.errors import ArtifactError, ArtifactInvalidError, ArtifactMissingError
from retrieval.manifest import Manifest, manifest_path, read_manifest
from retrieval.models import ArtifactInfo
from retrieval.store import CURRENT_NAME
from retrieval.validation import validate_file

ARTIFACT_PATTERN: Final = "search-*.duckdb"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEntry:
    """One artifact of a folder.

    Attributes:
        path: Its file.
        manifest: None where it has none or an unreadable one; then `problem` says so.
        size_bytes: Of the file.
        current: Whether `current.duckdb` names it.
        problem: Why it could not be published as it stands; only its manifest was read for this.
    """

    path: Path
    manifest: Manifest | None
    size_bytes: int
    current: bool
    problem: str | None


def publish(folder: Path, artifact: Path) -> ArtifactInfo:
    """Make *artifact* the current one of *folder*, once it is valid.

    A file from elsewhere is first copied in, with its manifest. Everything is on disk before the pointer is
    replaced, in one step; readers see the old artifact or the new one.

    Raises:
        ArtifactMissingError: There is no such file, or it has no manifest.
        ArtifactInvalidError: A check failed; the current artifact stays.
        OSError: The folder cannot be written.
    """
    source = artifact.resolve()
    manifest = read_manifest(source)
    info = validate_file(source, manifest=manifest)
    target = source if source.parent == folder.resolve() else _copy_in(folder, source, manifest)
    _sync(target)
    _sync(manifest_path(target))
    _point(folder, target.name)
    return info


def rollback(folder: Path, build_id: str | None = None) -> ArtifactInfo:
    """Make an earlier artifact of *folder* the current one again.

    Args:
        folder: The folder of artifacts.
        build_id: Which one; where None, the newest valid one built before the current.

    Raises:
        ArtifactMissingError: There is no such artifact, or none before the current one.
        ArtifactInvalidError: The named one is not valid.
    """
    entries = list_artifacts(folder)
    if build_id is not None:
        named = [entry for entry in entries if entry.manifest is not None and entry.manifest.artifact_id == build_id]
        if not named:
            raise ArtifactMissingError(f"There is no artifact {build_id} in {folder}.")
        return publish(folder, named[0].path)
    position = next((index for index, entry in enumerate(entries) if entry.current), -1)
    for entry in entries[position + 1 :]:
        try:
            return publish(folder, entry.path)
        except ArtifactError:
            continue
    raise ArtifactMissingError(f"There is no valid artifact in {folder} before the current one.")


def list_artifacts(folder: Path) -> tuple[ArtifactEntry, ...]:
    """Return the artifacts of *folder*, newest build first, ties by file name.

    Raises:
        ArtifactMissingError: There is no such folder.
    """
    if not folder.is_dir():
        raise ArtifactMissingError(f"There is no folder {folder}.")
    current = current_path(folder)
    entries = [_entry(path, current) for path in sorted(folder.glob(ARTIFACT_PATTERN), reverse=True)]
    return tuple(sorted(entries, key=lambda entry: entry.manifest.built_at if entry.manifest else "", reverse=True))


def current_path(folder: Path) -> Path | None:
    """Return the file that `current.duckdb` names, None where there is none."""
    try:
        return (folder / CURRENT_NAME).resolve(strict=True)
    except OSError:
        return None


def _entry(path: Path, current: Path | None) -> ArtifactEntry:
    manifest: Manifest | None = None
    problem: str | None = None
    try:
        manifest = read_manifest(path)
    except (ArtifactInvalidError, ArtifactMissingError) as error:
        problem = str(error)
    return ArtifactEntry(
        path=path,
        manifest=manifest,
        size_bytes=path.stat().st_size,
        current=current is not None and path.resolve() == current,
        problem=problem,
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


def _point(folder: Path, name: str) -> None:
    temporary = folder / f".pointing-{uuid.uuid4().hex}"
    try:
        temporary.symlink_to(name)
        temporary.replace(folder / CURRENT_NAME)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_files(folder: Path) -> Iterator[Path]:
    """Yield what an interrupted build or publish left in *folder*."""
    for pattern in (".building-*", ".publishing-*", ".pointing-*", ".open-*"):
        yield from folder.glob(pattern)
