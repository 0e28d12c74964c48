"""Whether a hit may be posted where the asker stands: only if everybody who would read it there may open its source.

| where it comes from | where it may be posted |
|---|---|
| any channel | that same channel |
| a channel that is public now | a channel of this workspace alone, whose guests, if any, are all in the source |
| a private channel, a direct message | nowhere else |

Nothing is taken from the archive: channels, their members and the message itself are asked of Slack at that moment, and
what Slack does not confirm is not shared. Only who is a guest, and which channels the sharer is in, may be known for up
to five minutes, as `bot.live_workspace` keeps it and events drop it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.citations import is_link, message_ts
from bot.live_workspace import LiveWorkspace
from bot.visibility import Person
from bot.web_api import ChannelRow, SlackUnavailableError
from retrieval.models import Document

MOST_MEMBERS: Final = 5_000
"""Members of a channel that are looked through one by one, six calls of Slack's; in a larger one nothing is shared."""

_NOT_SHOWN: Final = frozenset({"channel_not_found", "missing_scope", "method_not_supported_for_channel_type"})


class ShareRefusal(StrEnum):
    """Why a hit is not shared."""

    NO_CHANNEL = "no_channel"
    UNKNOWN_CHANNEL = "unknown_channel"
    LEFT = "left"
    ARCHIVED = "archived"
    READ_ONLY = "read_only"
    EXTERNAL = "external"
    PRIVATE_SOURCE = "private_source"
    GUESTS = "guests"
    TOO_MANY = "too_many"
    DELETED = "deleted"
    UNCONFIRMED = "unconfirmed"


class ShareRefusedError(Exception):
    """The hit is not shared there.

    Attributes:
        refusal: Why.
    """

    def __init__(self, refusal: ShareRefusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Shareable:
    """A hit that may be posted now.

    Attributes:
        channel_name: Of the channel to post in, without `#`.
        permalink: Slack's own for the message.
    """

    channel_name: str
    permalink: str


async def confirm_share(
    workspace: LiveWorkspace, document: Document, channel_id: str | None, *, sharer: Person, deadline: float
) -> Shareable:
    """Return the leave to post a hit; to be asked for again right before posting.

    Args:
        workspace: What Slack says now.
        document: The hit, which the sharer may see.
        channel_id: Where the sharer stands; None where that is no channel.
        sharer: Who asks.
        deadline: When to have given up.

    Raises:
        ShareRefusedError: It is not shared there, or Slack did not confirm in time that it may be.
    """
    try:
        target = await _target(workspace, channel_id, sharer=sharer, deadline=deadline)
        if document.channel_id != target.id:
            await _check_readers(workspace, document, target, sharer=sharer, deadline=deadline)
        permalink = await workspace.permalink_now(document.channel_id, message_ts(document), deadline=deadline)
    except SlackUnavailableError as exc:
        raise ShareRefusedError(ShareRefusal.UNCONFIRMED) from exc
    if permalink is None or not is_link(permalink):
        raise ShareRefusedError(ShareRefusal.DELETED)
    return Shareable(channel_name=target.name, permalink=permalink)


async def _target(workspace: LiveWorkspace, channel_id: str | None, *, sharer: Person, deadline: float) -> ChannelRow:
    """Return the channel that the sharer stands in, if one can write there."""
    if channel_id is None:
        raise ShareRefusedError(ShareRefusal.NO_CHANNEL)
    target = await _channel(workspace, channel_id, otherwise=ShareRefusal.UNKNOWN_CHANNEL, deadline=deadline)
    if target.is_archived:
        raise ShareRefusedError(ShareRefusal.ARCHIVED)
    if target.is_read_only or target.is_thread_only or target.is_frozen:
        raise ShareRefusedError(ShareRefusal.READ_ONLY)
    own = await workspace.memberships(sharer.user_id, deadline=deadline)
    if target.id not in {channel.id for channel in own}:
        raise ShareRefusedError(ShareRefusal.LEFT)
    return target


async def _check_readers(
    workspace: LiveWorkspace, document: Document, target: ChannelRow, *, sharer: Person, deadline: float
) -> None:
    """Refuse what somebody in the target may not open."""
    source = await _channel(workspace, document.channel_id, otherwise=ShareRefusal.PRIVATE_SOURCE, deadline=deadline)
    if not source.is_public:
        raise ShareRefusedError(ShareRefusal.PRIVATE_SOURCE)
    if target.is_shared or target.is_ext_shared or target.is_org_shared or target.is_pending_ext_shared:
        raise ShareRefusedError(ShareRefusal.EXTERNAL)
    members = await _members(workspace, target, deadline=deadline)
    if sharer.user_id not in members:
        raise ShareRefusedError(ShareRefusal.LEFT)
    guests = await _guests_among(workspace, members, team_id=sharer.team_id, deadline=deadline)
    if guests and not guests <= await _members(workspace, source, deadline=deadline):
        raise ShareRefusedError(ShareRefusal.GUESTS)


async def _channel(
    workspace: LiveWorkspace, channel_id: str, *, otherwise: ShareRefusal, deadline: float
) -> ChannelRow:
    """Return a channel as it is now; one that Slack does not show to the bot is refused for the given reason."""
    try:
        channel = await workspace.channel_now(channel_id, deadline=deadline)
    except SlackUnavailableError as exc:
        if exc.reason in _NOT_SHOWN:
            raise ShareRefusedError(otherwise) from exc
        raise
    if channel.id != channel_id or channel.is_im or channel.is_mpim:
        raise ShareRefusedError(otherwise)
    return channel


async def _members(workspace: LiveWorkspace, channel: ChannelRow, *, deadline: float) -> frozenset[str]:
    if channel.num_members is not None and channel.num_members > MOST_MEMBERS:
        raise ShareRefusedError(ShareRefusal.TOO_MANY)
    members = await workspace.members_now(channel.id, most=MOST_MEMBERS, deadline=deadline)
    if members is None:
        raise ShareRefusedError(ShareRefusal.TOO_MANY)
    return members


async def _guests_among(
    workspace: LiveWorkspace, members: frozenset[str], *, team_id: str, deadline: float
) -> frozenset[str]:
    """Return the guests among members, all of whom must be known and of this workspace."""
    people = {person.id: person for person in await workspace.people(deadline=deadline)}
    if not members <= people.keys():
        raise ShareRefusedError(ShareRefusal.UNCONFIRMED)
    present = [person for user_id in members if not (person := people[user_id]).deleted]
    if any(person.team_id != team_id or person.is_stranger for person in present):
        raise ShareRefusedError(ShareRefusal.EXTERNAL)
    return frozenset(person.id for person in present if person.is_guest)
