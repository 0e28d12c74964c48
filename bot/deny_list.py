"""What nobody is shown: channels, people and single documents that an admin listed in a file."""

from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger(__name__)

_Identity = tuple[int, int, int]
NOTHING: Final[frozenset[str]] = frozenset()


class DenyListError(Exception):
    """The file cannot be read, so that nothing may be shown; the sentence names it."""


class DenyList:
    """Ids, one a line; what follows a `#` and empty lines do not count. For one event loop.

    The file is looked at for every request and read again when it changed, so that an id is obeyed from the
    next command or press on. An id may be a channel's, a person's or a document's: no two kinds share one.

    Args:
        path: The file; None where nothing is denied.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read: tuple[_Identity, frozenset[str]] | None = None

    def ids(self) -> frozenset[str]:
        """Return the ids as the file has them now.

        Raises:
            DenyListError: There is such a setting, but no such file, or it cannot be read.
        """
        if self._path is None:
            return NOTHING
        try:
            status = self._path.stat()
        except OSError as exc:
            raise _unreadable(self._path, exc) from exc
        identity = (status.st_ino, status.st_size, status.st_mtime_ns)
        if self._read is None or self._read[0] != identity:
            self._read = (identity, read_denied_ids(self._path))
            _log.info("deny_list_read", count=len(self._read[1]))
        return self._read[1]


def read_denied_ids(path: Path) -> frozenset[str]:
    """Return the ids that the file at *path* holds.

    Raises:
        DenyListError: It cannot be read as text in UTF-8.
    """
    try:
        return _ids_in(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise _unreadable(path, exc) from exc


def _unreadable(path: Path, error: Exception) -> DenyListError:
    return DenyListError(f"SLACKQUERY_DENY: {path} cannot be read ({type(error).__name__}).")


def _ids_in(text: str) -> frozenset[str]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)
