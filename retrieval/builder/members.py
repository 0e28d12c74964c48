"""The files of a source, in a folder or a zip archive, read in place and with limits."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from retrieval.errors import SourceError

# Slack's JSON packs about 20 to 1; nothing honest comes near these.
MAX_RATIO: Final = 250
MIN_RATIO_BYTES: Final = 1 << 20
MAX_MEMBER_BYTES: Final = 2 << 30
MAX_TOTAL_BYTES: Final = 200 << 30
MAX_MEMBERS: Final = 2_000_000


class Members(Protocol):
    """The files of one source by their path inside it."""

    @property
    def label(self) -> str:
        """What to call the source in messages."""
        ...

    def names(self) -> Sequence[str]:
        """Return the paths of all files, `/` between folders, sorted."""
        ...

    def size(self, name: str) -> int:
        """Return a file's size in bytes."""
        ...

    def read(self, name: str) -> bytes:
        """Return a file's content.

        Raises:
            SourceError: The file cannot be read.
        """
        ...


class FolderMembers:
    """A folder; links inside it are refused, because they could lead anywhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = tuple(sorted(self._walk()))

    @property
    def label(self) -> str:
        """The folder's name."""
        return self._folder.name

    def names(self) -> Sequence[str]:
        """Return the paths of all files below the folder."""
        return self._names

    def size(self, name: str) -> int:
        """Return a file's size in bytes."""
        return (self._folder / name).stat().st_size

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise SourceError(f"{self.label}/{name} cannot be read: {error.strerror}.") from error

    def _walk(self) -> list[str]:
        found = []
        pending = [self._folder]
        while pending:
            try:
                entries = sorted(pending.pop().iterdir())
            except OSError as error:
                raise SourceError(f"The folder {error.filename} cannot be read: {error.strerror}.") from error
            for entry in entries:
                name = entry.relative_to(self._folder).as_posix()
                if entry.is_symlink():
                    raise SourceError(f"{self.label}/{name} is a link; a source must hold its files itself.")
                if entry.is_dir():
                    pending.append(entry)
                elif not _is_litter(name):
                    found.append(name)
        return found


class ZipMembers:
    """A zip archive, checked whole before anything is read from it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, struct.error) as error:
            raise SourceError(f"{path.name} is not a zip archive that can be read: {error}.") from error
        entries = self._archive.infolist()
        if len(entries) > MAX_MEMBERS:
            raise SourceError(f"{path.name} holds {len(entries):,} files; at most {MAX_MEMBERS:,} are read.")
        for entry in entries:
            _check_entry(entry, self.label)
        total = sum(entry.file_size for entry in entries)
        if total > MAX_TOTAL_BYTES:
            raise SourceError(f"{path.name} would unpack to {total:,} bytes; at most {MAX_TOTAL_BYTES:,} are read.")
        self._entries = {e.filename: e for e in entries if not e.is_dir() and not _is_litter(e.filename)}

    @property
    def label(self) -> str:
        """The archive's file name."""
        return self._path.name

    def names(self) -> Sequence[str]:
        """Return the paths of all files in the archive."""
        return tuple(sorted(self._entries))

    def size(self, name: str) -> int:
        """Return a file's unpacked size in bytes."""
        return self._entries[name].file_size

    def read(self, name: str) -> bytes:
        """Return a file's content; at most the size that the archive states is unpacked."""
        try:
            return self._archive.read(self._entries[name])
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError) as error:
            raise SourceError(f"{self.label}/{name} cannot be unpacked: {error}.") from error


def _check_entry(entry: zipfile.ZipInfo, label: str) -> None:
    """Refuse an entry that could reach outside the archive or blow up.

    Raises:
        SourceError: Saying which entry, and why.
    """
    # zipfile cuts names at NUL and turns backslashes around only on Windows; the name as stored is what counts.
    name = entry.orig_filename
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name or name[1:2] == ":":
        raise SourceError(f"{label} holds {name!r}, a path that leads outside the archive.")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise SourceError(f"{label} holds {name!r}, which is a link.")
    if entry.flag_bits & 0x1:
        raise SourceError(f"{label} holds {name!r}, which is encrypted.")
    packed = max(entry.compress_size, 1)
    bomb = entry.file_size > MIN_RATIO_BYTES and entry.file_size / packed > MAX_RATIO
    if bomb or entry.file_size > MAX_MEMBER_BYTES:
        raise SourceError(f"{label} holds {name!r}, which would unpack from {packed:,} to {entry.file_size:,} bytes.")


def _is_litter(name: str) -> bool:
    """Return whether a file is what macOS leaves in archives and folders."""
    parts = name.split("/")
    return "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1] == ".DS_Store"
