"""Who and what is where: people and channels of all sources together."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.builder.markup import Names
from retrieval.builder.merging import Portion
from retrieval.builder.report import Ledger
from retrieval.builder.rows import ChannelRow, UserRow
from retrieval.builder.source import Conversation, Source
from retrieval.permalinks import UNLISTED_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One person or bot; names may be empty."""

    user_id: str
    name: str
    display_name: str
    real_name: str
    is_guest: bool
    is_bot: bool
    deleted: bool

    @property
    def label(self) -> str:
        """The name that Slack shows, empty where there is none at all."""
        return self.display_name or self.real_name or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One conversation.

    Attributes:
        channel_id: Its id, or `dir:NAME` where no list names its folder.
        name: Its name; for direct messages the people's names.
        members: User ids, sorted.
    """

    channel_id: str
    name: str
    is_private: bool
    is_im: bool
    is_mpim: bool
    is_archived: bool
    is_ext_shared: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """Everybody and every conversation, with where its messages are.

    Attributes:
        people: By user id.
        channels: By channel id.
        portions: By channel id, the sources that hold messages of it, oldest first.
    """

    people: dict[str, Person]
    channels: dict[str, Channel]
    portions: dict[str, tuple[Portion, ...]]

    def names(self) -> Names:
        """Return what ids are called in other people's messages."""
        return Names(
            people={key: person.label for key, person in self.people.items() if person.label},
            channels={key: channel.name for key, channel in self.channels.items() if channel.name},
            private_channel_ids=frozenset(
                key
                for key, channel in self.channels.items()
                if channel.is_private and not key.startswith(UNLISTED_PREFIX)
            ),
        )


def read_directory(sources: Sequence[Source], ledger: Ledger) -> Directory:
    """Join what the sources know; of people and channels the newest source's word counts.

    Args:
        sources: Oldest first.
        ledger: Counts unlisted channels, deleted users, and users without names.
    """
    people = {row.id: _person(row) for source in sources for row in source.users()}
    channels = {row.id: _channel(row) for source in sources for row in source.channels()}
    channels = {key: _named(channel, people) for key, channel in channels.items()}
    placed: dict[str, dict[int, list[Conversation]]] = {}
    by_name = {channel.name: key for key, channel in channels.items() if channel.name and not channel.is_im}
    for position, source in enumerate(sources):
        for conversation in source.conversations():
            channel_id = conversation.channel_id or by_name.get(conversation.name)
            if channel_id is None:
                channel_id = UNLISTED_PREFIX + conversation.name
            if channel_id not in channels:
                channels[channel_id] = _unlisted(channel_id, conversation.name)
                ledger.count("unlisted_channels")
            placed.setdefault(channel_id, {}).setdefault(position, []).append(conversation)
    ledger.count("deleted_users", sum(person.deleted for person in people.values()))
    nameless = sum(not person.display_name and not person.real_name for person in people.values())
    ledger.count("users_without_names", nameless)
    portions = {
        key: tuple(Portion(sources[position], tuple(found)) for position, found in sorted(by_source.items()))
        for key, by_source in sorted(placed.items())
    }
    return Directory(people=people, channels=dict(sorted(channels.items())), portions=portions)


def _person(row: UserRow) -> Person:
    profile = row.profile
    return Person(
        user_id=row.id,
        name=row.name,
        display_name=(profile.display_name if profile else "").strip(),
        real_name=(row.real_name or (profile.real_name if profile else "")).strip(),
        is_guest=row.is_restricted or row.is_ultra_restricted,
        is_bot=row.is_bot or row.id == "USLACKBOT",
        deleted=row.deleted,
    )


def _channel(row: ChannelRow) -> Channel:
    return Channel(
        channel_id=row.id,
        name=unicodedata.normalize("NFC", row.name),
        is_private=row.is_private or row.is_im or row.is_mpim,
        is_im=row.is_im,
        is_mpim=row.is_mpim,
        is_archived=row.is_archived,
        is_ext_shared=row.is_ext_shared or row.is_shared,
        members=tuple(sorted(set(row.members))),
    )


def _named(channel: Channel, people: dict[str, Person]) -> Channel:
    """Give a direct message its people's names; Slack gives it none."""
    if channel.name and not channel.is_im:
        return channel
    if not (channel.is_im or channel.is_mpim):
        return channel
    labels = (people[member].label or member if member in people else member for member in channel.members)
    return replace(channel, name=", ".join(labels))


def _unlisted(channel_id: str, name: str) -> Channel:
    # Nothing says who may see it (it may have turned private, or be deleted), so it counts as private.
    return Channel(
        channel_id=channel_id,
        name=name,
        is_private=True,
        is_im=False,
        is_mpim=False,
        is_archived=False,
        is_ext_shared=False,
        members=(),
    )
