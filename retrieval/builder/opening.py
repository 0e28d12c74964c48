"""Tells sources apart by their content and opens them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retrieval.builder.export_reader import ExportSource
from retrieval.builder.members import FolderMembers, ZipMembers
from retrieval.builder.report import Ledger
from retrieval.builder.slackdump import SlackdumpSource, is_slackdump
from retrieval.builder.source import Source
from retrieval.errors import SourceError

_ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_DATABASE_SUFFIXES: Final = {".sqlite", ".sqlite3", ".db"}


def open_source(path: Path, ledger: Ledger) -> Source:
    """Open a Slack export (zip or folder) or a slackdump archive (its folder or its database).

    Raises:
        SourceError: There is nothing, or nothing that can be read as one of these.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist.")
    if path.is_dir():
        databases = _databases(path)
        if len(databases) > 1:
            raise SourceError(f"{path} holds several databases; name one of them: {', '.join(databases)}.")
        if databases:
            return SlackdumpSource(path / databases[0], ledger)
        return ExportSource(FolderMembers(path), ledger)
    if is_slackdump(path):
        return SlackdumpSource(path, ledger)
    return _open_zip(path, ledger)


def oldest_first(sources: Sequence[Source]) -> list[Source]:
    """Return sources by the day of their newest message; of the same day, the later named counts as newer."""
    return sorted(sources, key=lambda source: source.newest_day())


def _databases(folder: Path) -> list[str]:
    entries = sorted(entry for entry in folder.iterdir() if entry.suffix in _DATABASE_SUFFIXES)
    return [entry.name for entry in entries if entry.is_file() and is_slackdump(entry)]


def _open_zip(path: Path, ledger: Ledger) -> Source:
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error
    if start not in _ZIP_STARTS:
        raise SourceError(f"{path.name} is neither a zip archive nor a slackdump database.")
    members = ZipMembers(path)
    if any(name.rsplit(".", 1)[-1] in {"sqlite", "sqlite3"} for name in members.names()):
        raise SourceError(f"{path.name} holds a slackdump database; unpack it and name its folder.")
    return ExportSource(members, ledger)
