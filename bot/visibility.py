"""Who is served, and what they may see: decided from Slack's own word, before anything is ranked.

| who | what is searched |
|---|---|
| full member | channels that are public now; private ones that Slack says they are in and the bot is in too |
| guest | channels, public ones too, that Slack says they are in; private ones where the bot is in too |
| anybody else | nothing: they are refused |

Direct messages are searched only where a setting allows it, and then for the participants that the archive names:
the one thing that is taken from the archive. What is on the deny list is searched for nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import structlog

from bot.deny_list import DenyList
from bot.live_workspace import LiveWorkspace
from bot.web_api import ChannelRow, SlackUnavailableError, UserRow
from retrieval import NotFoundError, RequestError, UnknownNameError, Visibility

_log = structlog.get_logger(__name__)

CONFIRM_SECONDS: Final = 3.0
"""How long a full member's answer waits for Slack to confirm their private channels."""


class Refusal(StrEnum):
    """Why somebody is not served."""

    OTHER_TEAM = "other_team"
    BOT = "bot"
    DELETED = "deleted"
    UNKNOWN = "unknown"


class RefusedError(Exception):
    """This person is not served.

    Attributes:
        refusal: Why.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who is served: an active member or guest of the bot's workspace.

    Attributes:
        is_guest: Whether they see only channels they are in.
        timezone: IANA name as Slack has it, `UTC` where it has none.
    """

    user_id: str
    team_id: str
    timezone: str
    is_guest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a person may see, with what Slack says about it.

    Attributes:
        visibility: For the engine.
        channels: The channels it is made of, as Slack has them now; for names. Direct messages have none.
        is_complete: Whether everything was confirmed; else answers say that a part was not searched.
        is_guest: Whether it is a guest's.
    """

    visibility: Visibility
    channels: tuple[ChannelRow, ...]
    is_complete: bool = True
    is_guest: bool = False


class UnconfirmedError(Exception):
    """Nothing of that name or id stands in what Slack confirmed, and Slack did not confirm everything.

    Attributes:
        reason: What was raised without that.
    """

    def __init__(self, reason: RequestError) -> None:
        super().__init__(str(reason))
        self.reason = reason


@contextmanager
def telling_unconfirmed(sight: Sight) -> Iterator[None]:
    """Let what is not found within the block be told with the reason that not everything could be looked through.

    Raises:
        UnconfirmedError: Something was not found, and Slack did not confirm everything; whether it exists or not.
    """
    try:
        yield
    except (NotFoundError, UnknownNameError) as exc:
        if sight.is_complete:
            raise
        raise UnconfirmedError(exc) from exc


class DirectMessages(Protocol):
    """Says which direct messages a person takes part in: `bot.archive.Archive`."""

    async def direct_channels(
        self, user_id: str, workspace_ids: tuple[str, ...], *, deadline: float
    ) -> Mapping[str, frozenset[str]]:
        """Return the ids of DMs and group DMs by workspace."""
        ...


_Channels = tuple[ChannelRow, ...]
_Narrowed = tuple[_Channels, frozenset[str], _Channels]


class AccessRules:
    """Decides from the live workspace; every method asks anew or from what is at most five minutes old.

    Args:
        workspace: What Slack says now.
        team_id: The bot's own team.
        workspace_ids: The archive's workspace ids that are this team's.
        denied: What nobody is shown.
        direct: Says who takes part in direct messages; None where they are not searched.
        monotonic: A clock in seconds; deadlines are moments of it.
    """

    def __init__(
        self,
        workspace: LiveWorkspace,
        *,
        team_id: str,
        workspace_ids: Callable[[str], tuple[str, ...]],
        denied: DenyList,
        direct: DirectMessages | None,
        monotonic: Callable[[], float],
    ) -> None:
        self._workspace = workspace
        self._team_id = team_id
        self._workspace_ids = workspace_ids
        self._denied = denied
        self._direct = direct
        self._monotonic = monotonic
        self._last: _Narrowed | None = None

    async def admit(self, user_id: str, team_id: str, *, deadline: float) -> Person:
        """Return the person behind a payload's user_id and team_id.

        Args:
            user_id: From the payload; names and text are never looked at.
            team_id: The user's team, from the payload.
            deadline: When to have given up, on the event loop's clock.

        Raises:
            RefusedError: Not an active, human member or guest of the bot's workspace, or Slack does not know.
            SlackUnavailableError: Slack did not answer in time.
        """
        if team_id != self._team_id:
            raise RefusedError(Refusal.OTHER_TEAM)
        try:
            user = await self._workspace.person(user_id, deadline=deadline)
        except SlackUnavailableError as exc:
            if exc.reason in ("user_not_found", "user_not_visible"):
                raise RefusedError(Refusal.UNKNOWN) from exc
            raise
        if (refusal := self._refusal_of(user, user_id=user_id)) is not None:
            raise RefusedError(refusal)
        return Person(user_id=user_id, team_id=team_id, timezone=user.tz or "UTC", is_guest=user.is_guest)

    def _refusal_of(self, user: UserRow, *, user_id: str) -> Refusal | None:
        if user.id != user_id:
            return Refusal.UNKNOWN
        if user.team_id != self._team_id or user.is_stranger:
            return Refusal.OTHER_TEAM
        if user.deleted:
            return Refusal.DELETED
        return Refusal.BOT if user.is_bot else None

    async def sight_of(self, person: Person, *, deadline: float) -> Sight:
        """Return what a person may see now.

        Where Slack does not confirm a full member's private channels in time, the public ones alone are returned
        and said not to be all.

        Raises:
            SlackUnavailableError: Slack did not confirm a guest's channels, or list the public ones, in time; nothing
                may be searched.
            DenyListError: What is denied is not known; nothing may be searched.
        """
        denied = self._denied.ids()
        workspace_ids = self._workspace_ids(person.team_id)
        channels, is_complete = await self._channels_of(person, denied, deadline=deadline)
        ids = frozenset(channel.id for channel in channels)
        allowed = dict.fromkeys(workspace_ids, ids)
        if self._direct is not None:
            direct = await self._direct.direct_channels(person.user_id, workspace_ids, deadline=deadline)
            allowed = {workspace: ids | (direct.get(workspace, frozenset()) - denied) for workspace in workspace_ids}
        visibility = Visibility.of_channels(allowed, denied_author_ids=denied, denied_document_ids=denied)
        return Sight(visibility=visibility, channels=channels, is_complete=is_complete, is_guest=person.is_guest)

    async def _channels_of(self, person: Person, denied: frozenset[str], *, deadline: float) -> tuple[_Channels, bool]:
        """Return the confirmed channels that are not denied, and whether these are all."""
        if person.is_guest:
            own = await self._workspace.memberships(person.user_id, deadline=deadline)
            return tuple(one for one in own if one.id not in denied), True
        patience = min(deadline, self._monotonic() + CONFIRM_SECONDS)
        listed, confirmed = await asyncio.gather(
            self._workspace.public_channels(deadline=deadline),
            _or_nothing(self._workspace.memberships(person.user_id, deadline=patience)),
        )
        public = self._without(listed, denied)
        known = {channel.id for channel in listed} | denied
        private = tuple(one for one in confirmed or () if not one.is_public and one.id not in known)
        # The very same tuple where there is nothing to add: one directory of names then serves everybody.
        return (*public, *private) if private else public, confirmed is not None

    def _without(self, channels: _Channels, denied: frozenset[str]) -> _Channels:
        """Return the channels that are not denied; the same tuple again while neither changes."""
        if self._last is None or self._last[0] is not channels or self._last[1] is not denied:
            kept = channels if not denied else tuple(one for one in channels if one.id not in denied)
            self._last = (channels, denied, kept)
        return self._last[2]


async def _or_nothing(asked: Awaitable[_Channels]) -> _Channels | None:
    try:
        return await asked
    except SlackUnavailableError as exc:
        _log.warning("memberships_not_confirmed", method=exc.method, slack_error=exc.reason)
        return None
