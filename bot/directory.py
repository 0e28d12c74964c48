"""The names that one asker may use in a query: Slack's people and the channels that they may see."""

from collections.abc import Awaitable, Callable, Sequence

from bot.live_workspace import LiveWorkspace
from bot.visibility import Sight
from bot.web_api import ChannelRow, UserRow
from retrieval.directory import NamedChannel, NameDirectory, NamedPerson


class NameSource:
    """Makes directories from what Slack says now; people are asked for only where a query names any.

    Args:
        workspace: What Slack says now.
    """

    def __init__(self, workspace: LiveWorkspace) -> None:
        self._workspace = workspace
        self._last: tuple[Sequence[ChannelRow], Sequence[UserRow], NameDirectory] | None = None

    async def directory_for(
        self, text: str, sight: Sight, *, met: Callable[[], Awaitable[frozenset[str]]], deadline: float
    ) -> NameDirectory:
        """Return the names for one query of one asker.

        Args:
            text: The query as typed.
            sight: What the asker may see; no other channel gets into the directory.
            met: Says who wrote anything that the asker may see. A guest's directory holds only those: Slack
                does not show guests everybody.
            deadline: When to have given up.

        Raises:
            SlackUnavailableError: The query names a person, and Slack did not list the people in time.
        """
        people: Sequence[UserRow] = ()
        if "from:" in text.casefold():
            people = await self._workspace.people(deadline=deadline)
            if sight.is_guest:
                known = await met()
                people = [one for one in people if one.id in known]
        return self._directory_of(sight.channels, people)

    def _directory_of(self, channels: Sequence[ChannelRow], people: Sequence[UserRow]) -> NameDirectory:
        # Everybody who may see the same channels gets the same tuples while they are kept: one directory
        # serves them all. Other tuples, equal or not, get another one.
        if self._last is None or self._last[0] is not channels or self._last[1] is not people:
            directory = NameDirectory(
                [NamedChannel(channel_id=one.id, name=one.name) for one in channels],
                [_named(one) for one in people],
            )
            self._last = (channels, people, directory)
        return self._last[2]


def _named(user: UserRow) -> NamedPerson:
    return NamedPerson(
        user_id=user.id,
        name=user.name,
        display_name=user.profile.display_name,
        real_name=user.profile.real_name or user.real_name,
        deleted=user.deleted,
    )
