"""Slack's own export, as a zip archive or a folder: standard (public channels) or full (with private ones).

Source of the layout: https://slack.com/help/articles/220556107 (how to read Slack data exports). slackdump's
export form has the same layout.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from retrieval.builder.json_text import read_json
from retrieval.builder.members import Members
from retrieval.builder.report import Ledger
from retrieval.builder.rows import ChannelRow, MessageRow, UserRow
from retrieval.builder.source import Attachment, Conversation
from retrieval.errors import SourceError

Row = TypeVar("Row", bound=BaseModel)

LISTS: Final[Mapping[str, Mapping[str, bool]]] = {
    "channels.json": {},
    "groups.json": {"is_private": True},
    "dms.json": {"is_private": True, "is_im": True},
    "mpims.json": {"is_private": True, "is_mpim": True},
}
_DAY: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})\.json")
_FILE_ID: Final = re.compile(r"F[A-Z0-9]{6,}")
# slackdump's export form keeps uploads in one of these places.
_UPLOADS: Final = ("attachments", "__uploads")


class ExportSource:
    """One export; reads a conversation at a time and holds none of its messages."""

    def __init__(self, members: Members, ledger: Ledger) -> None:
        self._members = members
        self._ledger = ledger
        self._root = _root_folder(members)
        self._day_files = self._find_day_files()
        self._users = self._rows("users.json", UserRow)
        self._channels = [
            row.model_copy(update=flags) for name, flags in LISTS.items() for row in self._rows(name, ChannelRow)
        ]
        self._count_empty_lists()

    @property
    def label(self) -> str:
        """The archive's or folder's name."""
        return self._members.label

    @property
    def workspace_name(self) -> str | None:
        """Not known to an export."""
        return None

    @property
    def workspace_url(self) -> str | None:
        """Not known to an export."""
        return None

    @property
    def team_ids(self) -> tuple[str, ...]:
        """The teams of its people, most frequent first."""
        teams = [user.team_id or (user.profile.team if user.profile else "") for user in self._users]
        counts = {team: teams.count(team) for team in sorted(set(teams)) if team}
        return tuple(sorted(counts, key=lambda team: (-counts[team], team)))

    def users(self) -> list[UserRow]:
        """Return its people."""
        return self._users

    def channels(self) -> list[ChannelRow]:
        """Return its conversations as its four lists name them."""
        return self._channels

    def conversations(self) -> list[Conversation]:
        """Return the folders that hold messages, with the listed channel of that name or id."""
        by_name = {unicodedata.normalize("NFC", row.name): row.id for row in self._channels if row.name}
        ids = {row.id for row in self._channels}
        found = []
        for folder, files in self._day_files.items():
            name = unicodedata.normalize("NFC", folder)
            channel_id = by_name.get(name) or (folder if folder in ids else None)
            size = sum(self._members.size(file) for file in files)
            found.append(Conversation(key=folder, channel_id=channel_id, name=name, bytes=size))
        return found

    def messages(self, conversation: Conversation) -> Iterator[MessageRow]:
        """Yield a folder's messages in the order of its files; what is not a message is counted."""
        for name in self._day_files[conversation.key]:
            label = f"{self.label}/{name}"
            value = self._value(name, label)
            if isinstance(value, Mapping):
                self._ledger.count("canvas_objects")
            elif isinstance(value, list):
                yield from self._list_messages(value, label)
            elif value is not None:
                self._ledger.skip_row(label, 0, "neither a list nor an object")

    def newest_day(self) -> int:
        """Return the newest day that a day file is named for, in days since 1970."""
        names = (posixpath.basename(file) for files in self._day_files.values() for file in files)
        return max((day for name in names if (day := _day_number(name)) is not None), default=0)

    def covers_channels(self) -> bool:
        """An export holds its channels whole, from their first day on."""
        return True

    def attachments(self) -> Iterator[Attachment]:
        """Yield the uploads that lie in the export itself, with their Slack file id."""
        for name in self._members.names():
            parts = name.split("/")
            if any(part in _UPLOADS for part in parts[:-1]) and (found := _FILE_ID.search(name)):
                yield Attachment(
                    file_id=found.group(),
                    name=parts[-1],
                    size=self._members.size(name),
                    source=self._members,
                    path=name,
                )

    def _list_messages(self, values: list[object], label: str) -> Iterator[MessageRow]:
        for index, value in enumerate(values):
            if isinstance(value, Mapping) and "ts" not in value and "id" in value:
                self._ledger.count("canvas_objects")
            elif value == "" and len(values) == 1:
                self._ledger.count("empty_lists")
            elif (row := parse_row(value, MessageRow, label, index, self._ledger)) is not None:
                yield row

    def _rows(self, name: str, model: type[Row]) -> list[Row]:
        path = posixpath.join(self._root, name)
        if path not in self._members.names():
            return []
        label = f"{self.label}/{path}"
        values = self._value(path, label)
        if values is None or values == [""]:
            return []
        if not isinstance(values, list):
            self._ledger.skip_row(label, 0, "not a list")
            return []
        rows = (parse_row(value, model, label, index, self._ledger) for index, value in enumerate(values))
        return [row for row in rows if row is not None]

    def _value(self, name: str, label: str) -> object | None:
        """Return a file's JSON, or None with the ledger saying why; a damaged file costs only itself."""
        try:
            content = self._members.read(name)
        except SourceError as error:
            self._ledger.skip_file(label, None, str(error).removeprefix(f"{label} ").rstrip("."))
            return None
        return read_json(content, label, self._ledger)

    def _find_day_files(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        prefix = f"{self._root}/" if self._root else ""
        for name in self._members.names():
            parts = name.removeprefix(prefix).split("/")
            if name.startswith(prefix) and len(parts) == 2 and parts[1].endswith(".json") and parts[0] not in _UPLOADS:
                folders.setdefault(parts[0], []).append(name)
        return folders

    def _count_empty_lists(self) -> None:
        prefix = f"{self._root}/" if self._root else ""
        for name in self._members.names():
            top = "/" not in name.removeprefix(prefix) and name.endswith(".json")
            if top and self._members.size(name) <= 8 and self._members.read(name).strip() in {b"[]", b'[""]'}:
                self._ledger.count("empty_lists")


def parse_row(value: object, model: type[Row], label: str, index: int, ledger: Ledger) -> Row | None:
    """Return a record as a row, or None, with the ledger saying which row and why."""
    if not isinstance(value, Mapping):
        ledger.skip_row(label, index, f"{type(value).__name__} instead of an object")
        return None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        ledger.skip_row(label, index, f"{place}: {first['msg']}")
        return None


def _day_number(name: str) -> int | None:
    """Return the day that a file is named for, in days since 1970; None where the name is no day."""
    try:
        return (date.fromisoformat(name.removesuffix(".json")) - date(1970, 1, 1)).days
    except ValueError:
        return None


def _root_folder(members: Members) -> str:
    """Return the folder that the export's lists lie in, `` for the top; archives often wrap it in one folder.

    Raises:
        SourceError: Nothing in the source looks like a Slack export.
    """
    known = {*LISTS, "users.json"}
    roots = [posixpath.dirname(name) for name in members.names() if posixpath.basename(name) in known]
    if not roots:
        days = [name for name in members.names() if _DAY.fullmatch(posixpath.basename(name)) and "/" in name]
        roots = [posixpath.dirname(posixpath.dirname(name)) for name in days]
    if not roots:
        raise SourceError(
            f"{members.label} does not look like a Slack export: it has no channels.json, users.json or day files."
        )
    return min(roots, key=lambda root: (root.count("/") + bool(root), root))
