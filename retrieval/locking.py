"""Locks on a folder of artifacts, and the mark that says that somebody reads one.

All are `flock`s: the kernel drops them when the process ends, however it ends, so nothing stale is ever left. They
hold between the processes of one machine; over network file systems they may not, which is why the retention keeps
what is younger than a day whatever the marks say.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from retrieval.errors import ArtifactError, ArtifactMissingError, FolderBusyError

BUILDER_LOCK: Final = ".builder.lock"
PUBLISHER_LOCK: Final = ".publisher.lock"

_PUBLISHER_WAIT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.05
# What a file system without locks answers.
_UNSUPPORTED: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF})


@contextlib.contextmanager
def folder_lock(folder: Path, name: str, *, busy: str, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold one of a folder's locks for the block; the folder is made where it does not exist.

    Args:
        folder: The folder of artifacts.
        name: The lock's file in it; stays there.
        busy: The sentence where somebody else holds it.
        wait_seconds: How long to wait for them.

    Raises:
        FolderBusyError: The lock is held by somebody else.
        ArtifactError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / name).open("a")
    except OSError as error:
        raise ArtifactError(f"The folder {folder} cannot be written: {error.strerror}.") from error
    with lock:
        deadline = time.monotonic() + wait_seconds
        try:
            while not _try_lock(lock.fileno()):
                if time.monotonic() >= deadline:
                    raise FolderBusyError(busy)
                time.sleep(_POLL_SECONDS)
        except OSError as error:
            raise ArtifactError(f"The folder {folder} has no locks: {error.strerror}.") from error
        yield


def builder_lock(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the builder's lock: one build at a time, and nobody clears another's temporary files.

    Raises:
        FolderBusyError: Another build holds it.
        ArtifactError: The folder cannot be written.
    """
    return folder_lock(folder, BUILDER_LOCK, busy=f"Another build is running in {folder}.")


def publisher_lock(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the publisher's lock: `current.duckdb` and the set of artifacts change in one place at a time.

    Raises:
        FolderBusyError: Somebody else held it for two minutes.
        ArtifactError: The folder cannot be written.
    """
    busy = f"Somebody else is publishing or cleaning in {folder}; try again."
    return folder_lock(folder, PUBLISHER_LOCK, busy=busy, wait_seconds=_PUBLISHER_WAIT_SECONDS)


class ReadMark:
    """Says to every process of the machine that an artifact's file is in use, until `release` or the process's end."""

    def __init__(self, path: Path) -> None:
        """Mark *path*.

        Raises:
            ArtifactMissingError: It is gone, or went while it was being marked.
        """
        try:
            self._descriptor: int | None = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise ArtifactMissingError(f"There is no artifact at {path}.") from error
        try:
            # Whoever removes files holds one for some milliseconds.
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except OSError as error:
            self.release()
            if error.errno not in _UNSUPPORTED:
                raise
            return
        if os.fstat(self._descriptor).st_nlink == 0:
            self.release()
            raise ArtifactMissingError(f"{path.name} was removed while it was being opened.")

    def release(self) -> None:
        """Take the mark away; later calls do nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def unread(path: Path) -> Iterator[bool]:
    """Tell whether nobody reads *path*; while the block runs nobody can begin to.

    False as well where the file system has no locks.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            free = _try_lock(descriptor)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            free = False
        yield free
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
