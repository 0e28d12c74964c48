"""The description of a workspace: its people, channels, memberships and, if wanted, some messages.

A description is plain JSON and never changes; ``localslack.world.World`` is the living workspace that
starts from it. The JSON has this form (keys after the first line of each object are optional)::

    {"team": {"id": "T0TEST", "name": "Example", "domain": "example", "url": "https://example.slack.com/"},
     "users": [{"id": "U1", "name": "ada",
                "real_name": "Ada Lovelace", "display_name": "ada", "title": "", "image": "",
                "tz": "Europe/London", "deleted": false, "is_bot": false, "is_admin": false,
                "is_owner": false, "is_restricted": false, "is_ultra_restricted": false,
                "team_id": "T0TEST"}],
     "channels": [{"id": "C1", "name": "general", "members": ["U1"],
                   "is_private": false, "is_im": false, "is_mpim": false, "is_archived": false,
                   "is_general": false, "is_ext_shared": false, "is_pending_ext_shared": false,
                   "is_read_only": false, "topic": "", "purpose": "",
                   "created": 1700000000, "creator": "U1"}],
     "messages": [{"channel": "C1", "user": "U1", "ts": "1700000000.000100", "text": "hello",
                   "thread_ts": "1700000000.000100"}],
     "older": {"C1": {"1690000000.000100": ""}},
     "bot_user_id": "UBOT", "acting_user_id": "U1", "app_id": "A0TEST"}

``is_restricted`` is any guest, ``is_ultra_restricted`` a single-channel guest (Slack sets both for
those). A user whose ``team_id`` is not the team's is an external member of a shared channel. A bot user
that is not listed is added, with the manifest's display name. In a DM (``is_im``) and a group DM
(``is_mpim``) the members are the participants. In a read-only channel (``is_read_only``) only admins write.
``older`` names messages that exist beyond those described, by channel and timestamp, each with the thread it
replies in or "": nobody sees them here, but they have an address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from localslack.json_types import JsonObject, JsonView


class WorkspaceError(ValueError):
    """The description does not describe a workspace; the message names the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The workspace itself. ``url`` ends in a slash, as auth.test's does."""

    id: str
    name: str
    domain: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One person or bot, with the flags that users.info tells."""

    id: str
    name: str
    team_id: str
    real_name: str = ""
    display_name: str = ""
    title: str = ""
    image: str = ""
    tz: str = "Etc/UTC"
    deleted: bool = False
    is_bot: bool = False
    is_admin: bool = False
    is_owner: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False

    @property
    def is_guest(self) -> bool:
        """Whether the user is a multi-channel or single-channel guest."""
        return self.is_restricted or self.is_ultra_restricted

    @property
    def label(self) -> str:
        """The name that Slack shows: display name, else real name, else user name."""
        return self.display_name or self.real_name or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One conversation and its members (participants for DMs), in the description's order."""

    id: str
    name: str
    members: tuple[str, ...] = ()
    is_private: bool = False
    is_im: bool = False
    is_mpim: bool = False
    is_archived: bool = False
    is_general: bool = False
    is_ext_shared: bool = False
    is_pending_ext_shared: bool = False
    is_read_only: bool = False
    topic: str = ""
    purpose: str = ""
    created: int = 0
    creator: str = ""

    @property
    def is_public(self) -> bool:
        """Whether every full member of the team may see the channel."""
        return not (self.is_private or self.is_im or self.is_mpim)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedMessage:
    """A message that is already in a channel when the workspace starts; it notifies nobody."""

    channel_id: str
    user_id: str
    ts: str
    text: str
    thread_ts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A whole workspace as described; ids are unique and every member is a listed user."""

    team: Team
    users: tuple[User, ...]
    channels: tuple[Channel, ...]
    bot_user_id: str
    acting_user_id: str
    app_id: str = "A0LOCALTEST"
    messages: tuple[SeedMessage, ...] = field(default=())
    older: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @staticmethod
    def from_json(description: JsonView) -> Workspace:
        """Check a parsed description and make the records.

        Raises:
            WorkspaceError: a key is missing, unknown or of the wrong type, an id is used twice, or a
                member, author or channel is not listed.
        """
        return _from_json(description)

    def to_json(self) -> JsonObject:
        """Return the description as JSON; ``from_json`` makes an equal workspace of it."""
        return _to_json(self)


def load_workspace(path: Path) -> Workspace:
    """Read a workspace description from a JSON file.

    Raises:
        WorkspaceError: the file is not JSON or not a description.
        OSError: the file cannot be read.
    """
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as exc:
        raise WorkspaceError(f"{path}: not JSON: {exc}") from exc
    if not isinstance(description, dict):
        raise WorkspaceError(f"{path}: expected a JSON object")
    return Workspace.from_json(description)


def _value_of(value: object) -> object:
    """Take Slack's ``{"value": ...}`` objects for topic and purpose as well as plain strings."""
    return value.get("value", "") if isinstance(value, dict) else value


_Text = Annotated[str, BeforeValidator(_value_of)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TeamIn(_Strict):
    id: str
    name: str
    domain: str
    url: str


class _UserIn(_Strict):
    id: str
    name: str
    team_id: str = ""
    real_name: str = ""
    display_name: str = ""
    title: str = ""
    image: str = ""
    tz: str = "Etc/UTC"
    deleted: bool = False
    is_bot: bool = False
    is_admin: bool = False
    is_owner: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False


class _ChannelIn(_Strict):
    id: str
    name: str = ""
    members: tuple[str, ...] = ()
    is_private: bool = False
    is_im: bool = False
    is_mpim: bool = False
    is_archived: bool = False
    is_general: bool = False
    is_ext_shared: bool = False
    is_pending_ext_shared: bool = False
    is_read_only: bool = False
    topic: _Text = ""
    purpose: _Text = ""
    created: int = 0
    creator: str = ""


class _MessageIn(_Strict):
    channel: str
    user: str
    ts: str
    text: str
    thread_ts: str | None = None


class _WorkspaceIn(_Strict):
    team: _TeamIn
    users: tuple[_UserIn, ...]
    channels: tuple[_ChannelIn, ...]
    bot_user_id: str
    acting_user_id: str
    app_id: str = "A0LOCALTEST"
    messages: tuple[_MessageIn, ...] = ()
    older: dict[str, dict[str, str]] = {}


def _from_json(description: JsonView) -> Workspace:
    try:
        read = _WorkspaceIn.model_validate(description)
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise WorkspaceError(f"workspace description: {place}: {first['msg']}") from exc
    team = Team(**read.team.model_dump())
    users = tuple(User(**{**user.model_dump(), "team_id": user.team_id or team.id}) for user in read.users)
    workspace = Workspace(
        team=team,
        users=users,
        channels=tuple(Channel(**channel.model_dump()) for channel in read.channels),
        bot_user_id=read.bot_user_id,
        acting_user_id=read.acting_user_id,
        app_id=read.app_id,
        messages=tuple(_seed(message) for message in read.messages),
        older=read.older,
    )
    _check_references(workspace)
    return workspace


def _seed(message: _MessageIn) -> SeedMessage:
    return SeedMessage(
        channel_id=message.channel,
        user_id=message.user,
        ts=message.ts,
        text=message.text,
        thread_ts=message.thread_ts,
    )


def _check_references(workspace: Workspace) -> None:
    """Refuse ids that are used twice or that name nobody."""
    users = _unique([user.id for user in workspace.users], what="user")
    channels = _unique([channel.id for channel in workspace.channels], what="channel")
    known = users | {workspace.bot_user_id}
    if workspace.acting_user_id not in users:
        raise WorkspaceError(f"workspace description: acting_user_id {workspace.acting_user_id} is not a user")
    for channel in workspace.channels:
        if strangers := [member for member in channel.members if member not in known]:
            raise WorkspaceError(f"workspace description: channel {channel.id}: no such users: {strangers}")
    for message in workspace.messages:
        if message.channel_id not in channels or message.user_id not in known:
            raise WorkspaceError(f"workspace description: message {message.ts}: no such channel or user")
    if strangers := sorted(set(workspace.older) - channels):
        raise WorkspaceError(f"workspace description: older: no such channels: {strangers}")


def _unique(ids: list[str], *, what: str) -> set[str]:
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            raise WorkspaceError(f"workspace description: two {what}s have the id {identifier}")
        seen.add(identifier)
    return seen


def _to_json(workspace: Workspace) -> JsonObject:
    messages: list[dict[str, Any]] = [
        {"channel": m.channel_id, "user": m.user_id, "ts": m.ts, "text": m.text, "thread_ts": m.thread_ts}
        for m in workspace.messages
    ]
    return {
        "team": _fields(workspace.team),
        "users": [_fields(user) for user in workspace.users],
        "channels": [{**_fields(channel), "members": list(channel.members)} for channel in workspace.channels],
        "messages": messages,
        "older": {channel_id: dict(stamps) for channel_id, stamps in workspace.older.items()},
        "bot_user_id": workspace.bot_user_id,
        "acting_user_id": workspace.acting_user_id,
        "app_id": workspace.app_id,
    }


def _fields(record: Team | User | Channel) -> JsonObject:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
