"""What nobody is shown: channels, people and single documents that an admin listed in a file."""

import re
from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger(__name__)

_Identity = tuple[int, int, int]
NOTHING: Final[frozenset[str]] = frozenset()
# A comment has a space after its `#`: `#payments` alone was meant as a channel, and must not pass for a comment.
_NAME: Final = re.compile(r"[#@]\w\S*")


class DenyListError(Exception):
    """The file cannot be read or understood, so that nothing may be shown; the sentence names file and line."""


class DenyList:
    """Ids, one a line; what follows a `#` and a space, and empty lines, do not count. For one event loop.

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
            DenyListError: There is such a setting, but no such file, or it cannot be read, or a line is no id.
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
        DenyListError: It cannot be read as text in UTF-8, or a line is a name or several words instead of an id.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise _unreadable(path, exc) from exc
    read = (_id_in(line, path, number) for number, line in enumerate(text.splitlines(), start=1))
    return frozenset(found for found in read if found)


def _unreadable(path: Path, error: Exception) -> DenyListError:
    return DenyListError(f"SLACKQUERY_DENY: {path} cannot be read ({type(error).__name__}).")


def _id_in(line: str, path: Path, number: int) -> str:
    """Return the id that a line holds, "" for an empty line or a comment."""
    line = line.strip()
    if _NAME.fullmatch(line.partition(" #")[0].rstrip()):
        raise DenyListError(
            f"SLACKQUERY_DENY: {path}, line {number}: {line[:80]!r} is a name; write the id, such as C0123456."
            " A comment has a space after its #."
        )
    found = line.partition("#")[0].strip()
    if len(found.split()) > 1:
        raise DenyListError(f"SLACKQUERY_DENY: {path}, line {number}: {found[:80]!r} is not one id; write one a line.")
    return found
