"""What every kind of source offers to the builder."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from retrieval.builder.members import Members
from retrieval.builder.rows import ChannelRow, MessageRow, UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A part of a source that holds the messages of one conversation.

    Attributes:
        key: How the source finds it.
        channel_id: Its channel, None where no list names it.
        name: Its folder's name, or its channel's.
        bytes: How much there is to read, for progress; 0 where unknown.
    """

    key: str
    channel_id: str | None
    name: str
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file at hand that may be one that messages share.

    Attributes:
        file_id: Its Slack id, None where only its name can tell.
        name: Its file name.
        size: Bytes.
        source: Where it is read from.
        path: Its path there.
    """

    file_id: str | None
    name: str
    size: int
    source: Members
    path: str


class Source(Protocol):
    """One export or archive."""

    @property
    def label(self) -> str:
        """What to call it in messages."""
        ...

    @property
    def workspace_name(self) -> str | None:
        """The workspace's name, where the source knows it."""
        ...

    @property
    def workspace_url(self) -> str | None:
        """The workspace's URL, where the source knows it."""
        ...

    @property
    def team_ids(self) -> tuple[str, ...]:
        """The teams it is about, most likely first."""
        ...

    def users(self) -> list[UserRow]:
        """Return its people."""
        ...

    def channels(self) -> list[ChannelRow]:
        """Return its listed conversations."""
        ...

    def conversations(self) -> list[Conversation]:
        """Return the conversations that it holds messages of."""
        ...

    def messages(self, conversation: Conversation) -> Iterator[MessageRow]:
        """Yield a conversation's rows in the source's order."""
        ...

    def newest_day(self) -> int:
        """Return the UTC day of its newest message, in days since 1970."""
        ...

    def covers_channels(self) -> bool:
        """Return whether what it lacks, within its days, is known to be gone."""
        ...

    def attachments(self) -> Iterator[Attachment]:
        """Yield the files that lie in the source itself."""
        ...
