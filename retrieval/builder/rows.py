"""The records of an export as they come in: forgiving about keys that are not used, strict about those that are."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from retrieval.builder.timestamps import format_ts, parse_ts

_CONFIG: Final = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


def _records(value: object) -> object:
    """Keep the objects of a list: Slack writes null, `[""]` and `[]` for "none"."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, Mapping)]
    return value


def _record(value: object) -> object:
    return value if isinstance(value, Mapping) else None


def _text(value: object) -> object:
    return "" if value is None else value


def _flag(value: object) -> object:
    return bool(value)


def _count(value: object) -> object:
    """Read a number forgivingly: what is none is unknown, which loses nothing but a detail."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) else None


def _names(value: object) -> object:
    if value is None:
        return []
    return [name for name in value if isinstance(name, str) and name] if isinstance(value, list) else value


Text = Annotated[str, BeforeValidator(_text)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Count = Annotated[int | None, BeforeValidator(_count)]
Names = Annotated[list[str], BeforeValidator(_names)]


class ProfileRow(BaseModel):
    """A person's names as a profile holds them."""

    model_config = _CONFIG

    display_name: Text = ""
    real_name: Text = ""
    team: Text = ""


class UserRow(BaseModel):
    """An entry of users.json."""

    model_config = _CONFIG

    id: str = Field(min_length=1)
    team_id: Text = ""
    name: Text = ""
    real_name: Text = ""
    deleted: Flag = False
    is_bot: Flag = False
    is_restricted: Flag = False
    is_ultra_restricted: Flag = False
    profile: Annotated[ProfileRow | None, BeforeValidator(_record)] = None


class ChannelRow(BaseModel):
    """An entry of channels.json, groups.json, dms.json or mpims.json, or of slackdump's CHANNEL table."""

    model_config = _CONFIG

    id: str = Field(min_length=1)
    name: Text = ""
    members: Names = Field(default_factory=list)
    user: Text = ""
    is_private: Flag = False
    is_im: Flag = False
    is_mpim: Flag = False
    is_archived: Flag = False
    is_ext_shared: Flag = False
    is_shared: Flag = False


class FileRow(BaseModel):
    """An entry of a message's `files`; a stub has only an id and a mode."""

    model_config = _CONFIG

    id: Text = ""
    name: Text = ""
    title: Text = ""
    mimetype: Text = ""
    filetype: Text = ""
    mode: Text = ""
    size: Count = None

    @property
    def is_stub(self) -> bool:
        """Whether nothing but the id is left of the file."""
        return not self.id or not self.name or self.mode in {"hidden_by_limit", "tombstone"}


class ReactionRow(BaseModel):
    """A reaction with the number of people who gave it."""

    model_config = _CONFIG

    name: Text = ""
    count: Count = None
    users: Names = Field(default_factory=list)


class EditedRow(BaseModel):
    """When a message was last edited."""

    model_config = _CONFIG

    ts: Text = ""


class BotProfileRow(BaseModel):
    """The app that posted a message."""

    model_config = _CONFIG

    name: Text = ""


class RootRow(BaseModel):
    """The copy of a thread's root inside a broadcast."""

    model_config = _CONFIG

    ts: Text = ""


Files = Annotated[list[FileRow], BeforeValidator(_records)]
Reactions = Annotated[list[ReactionRow], BeforeValidator(_records)]
Blocks = Annotated[list[Mapping[str, object]], BeforeValidator(_records)]


# Lists come from a factory: a default that is a list is copied deeply, which takes as long as all else of a message.
class MessageRow(BaseModel):
    """A message of an export or of slackdump's MESSAGE table."""

    model_config = _CONFIG

    ts: str
    type: Text = ""
    subtype: Text = ""
    user: Text = ""
    username: Text = ""
    bot_id: Text = ""
    app_id: Text = ""
    text: Text = ""
    thread_ts: Text = ""
    reply_count: Count = None
    deleted_ts: Text = ""
    edited: Annotated[EditedRow | None, BeforeValidator(_record)] = None
    files: Files = Field(default_factory=list)
    file: Annotated[FileRow | None, BeforeValidator(_record)] = None
    reactions: Reactions = Field(default_factory=list)
    blocks: Blocks = Field(default_factory=list)
    attachments: Blocks = Field(default_factory=list)
    bot_profile: Annotated[BotProfileRow | None, BeforeValidator(_record)] = None
    user_profile: Annotated[ProfileRow | None, BeforeValidator(_record)] = None

    @field_validator("ts", "thread_ts", "deleted_ts")
    @classmethod
    def _is_timestamp(cls, value: str) -> str:
        if value:
            parse_ts(value)
        return value

    @field_validator("ts")
    @classmethod
    def _is_there(cls, value: str) -> str:
        if not value:
            raise ValueError("no ts")
        return value

    @cached_property
    def ts_us(self) -> int:
        """Unix microseconds."""
        return parse_ts(self.ts)

    @cached_property
    def thread_ts_us(self) -> int | None:
        """Its thread's ts in Unix microseconds, None outside threads."""
        return parse_ts(self.thread_ts) if self.thread_ts else None

    @property
    def has_odd_ts(self) -> bool:
        """Whether the ts is not written with six digits after the point."""
        return self.ts != format_ts(self.ts_us)

    @property
    def edited_us(self) -> int | None:
        """When it was last edited, Unix microseconds; None where it was not, or the time cannot be read."""
        if self.edited is None or not self.edited.ts:
            return None
        try:
            return parse_ts(self.edited.ts)
        except ValueError:
            return None

    @property
    def all_files(self) -> list[FileRow]:
        """The files shared with it, the old single one included."""
        return [*self.files, self.file] if self.file is not None else self.files

    @property
    def is_bot(self) -> bool:
        """Whether a bot or an app posted it."""
        return bool(self.bot_id) or self.subtype == "bot_message"
