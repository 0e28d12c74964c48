"""Which files DuckDB has open in this process, and under which name another is to be opened. Thread-safe."""

import contextlib
import os
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from retrieval.errors import ArtifactInvalidError

Identity = tuple[int, int, int]


def file_identity(path: Path) -> Identity:
    """Return what tells a file from another, and from itself as it was: inode, size, time of change (nanoseconds)."""
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


class OpenFile(NamedTuple):
    """A file that DuckDB has open in this process, and whether with its full-text extension."""

    path: Path
    identity: Identity
    full_text: bool


_open_files_lock: Final = threading.Lock()
_open_files: Final[Counter[OpenFile]] = Counter()


def remember(opened: OpenFile) -> None:
    """Note that DuckDB has a file open, once more."""
    with _open_files_lock:
        _open_files[opened] += 1


def forget(opened: OpenFile) -> None:
    """Note that it was closed, once."""
    with _open_files_lock:
        _open_files[opened] -= 1
        if _open_files[opened] <= 0:
            del _open_files[opened]


@contextlib.contextmanager
def open_name(wanted: OpenFile) -> Iterator[Path]:
    """Give the name under which to open a file: usually its own.

    Within a process DuckDB answers a second open of a path from the instance that already has it, even when
    another file stands there by now, and whatever is loaded into it. Then a hard link gives the file a name that
    DuckDB has not seen.
    """
    path = wanted.path
    with _open_files_lock:
        known = [one for one in _open_files if one.path == path]
    if all(one.identity == wanted.identity and one.full_text >= wanted.full_text for one in known):
        yield path
        return
    link = path.with_name(f".open-{uuid.uuid4().hex}.duckdb")
    try:
        os.link(path, link)
    except OSError as error:
        raise ArtifactInvalidError(
            f"{path.name} was replaced under the same name, or is open without the full-text extension, and its folder "
            "does not allow a second name for it: publish artifacts under names of their own.",
            check="name",
        ) from error
    try:
        yield link
    finally:
        link.unlink(missing_ok=True)
