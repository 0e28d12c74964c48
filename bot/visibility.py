"""Who is served, and what they may see: decided from Slack's own word, before anything is ranked.

Until private channels are confirmed person by person, only full members of the bot's workspace are served, and
only channels that Slack lists as public now are searched. Where Slack does not answer, nothing is searched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.live_workspace import LiveWorkspace
from bot.web_api import ChannelRow, SlackUnavailableError, UserRow
from retrieval.visibility import Visibility


class Refusal(StrEnum):
    """Why somebody is not served."""

    OTHER_TEAM = "other_team"
    BOT = "bot"
    DELETED = "deleted"
    GUEST = "guest"
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
    """Somebody who is served: a full member of the bot's workspace.

    Attributes:
        timezone: IANA name as Slack has it, `UTC` where it has none.
    """

    user_id: str
    team_id: str
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a person may see, with what Slack says about it.

    Attributes:
        visibility: For the engine.
        channels: The channels it is made of, as Slack has them now; for names.
        is_complete: Whether everything was confirmed; else answers say that a part was not searched.
    """

    visibility: Visibility
    channels: tuple[ChannelRow, ...]
    is_complete: bool = True


class AccessRules:
    """Decides from the live workspace; every method asks anew or from what is at most five minutes old.

    Args:
        workspace: What Slack says now.
        team_id: The bot's own team.
        workspace_ids: The archive's workspace ids that are this team's.
    """

    def __init__(
        self, workspace: LiveWorkspace, *, team_id: str, workspace_ids: Callable[[str], tuple[str, ...]]
    ) -> None:
        self._workspace = workspace
        self._team_id = team_id
        self._workspace_ids = workspace_ids

    async def admit(self, user_id: str, team_id: str, *, deadline: float) -> Person:
        """Return the person behind a payload's user_id and team_id.

        Args:
            user_id: From the payload; names and text are never looked at.
            team_id: The user's team, from the payload.
            deadline: When to have given up, on the event loop's clock.

        Raises:
            RefusedError: Not a full, active, human member of the bot's workspace, or Slack does not know.
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
        return Person(user_id=user_id, team_id=team_id, timezone=user.tz or "UTC")

    def _refusal_of(self, user: UserRow, *, user_id: str) -> Refusal | None:
        if user.id != user_id:
            return Refusal.UNKNOWN
        if user.team_id != self._team_id or user.is_stranger:
            return Refusal.OTHER_TEAM
        if user.deleted:
            return Refusal.DELETED
        if user.is_bot:
            return Refusal.BOT
        return Refusal.GUEST if user.is_guest else None

    async def sight_of(self, person: Person, *, deadline: float) -> Sight:
        """Return what a person may see now.

        Raises:
            SlackUnavailableError: Slack did not confirm the channels in time; nothing may be searched.
        """
        channels = await self._workspace.public_channels(deadline=deadline)
        ids = frozenset(channel.id for channel in channels)
        allowed = dict.fromkeys(self._workspace_ids(person.team_id), ids)
        return Sight(visibility=Visibility.of_channels(allowed), channels=channels)
