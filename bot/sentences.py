"""What the operating system refuses, as sentences."""

import errno
from typing import Final

_PLAIN: Final = {
    errno.ENOSPC: "The disk is full",
    errno.EROFS: "The file system is read-only",
    errno.EACCES: "Permission is denied",
    errno.ENOENT: "There is no such file or folder",
}


def os_sentence(error: OSError) -> str:
    """Return *error* as one sentence with the file it is about."""
    reason = _PLAIN.get(error.errno or 0, error.strerror or type(error).__name__)
    place = f": {error.filename}" if error.filename else ""
    return f"{reason}{place}."
