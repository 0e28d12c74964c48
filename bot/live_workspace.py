"""The workspace as Slack tells it now: people, the public channels, where a person is in; kept for five minutes.

What must be right at this very moment is asked anew: one channel, its members, whether a message still stands there.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from slack_sdk.web.async_client import AsyncWebClient

from bot.live_value import LiveValue, LiveValues
from bot.web_api import PAGE_SIZE, ChannelRow, SlackUnavailableError, UserRow, WebAPI

T = TypeVar("T")
RowT = TypeVar("RowT", bound=BaseModel)

KEEP_SECONDS: Final = 300.0
_LIST_SECONDS: Final = 120.0
_CALL_SECONDS: Final = 20.0
_MAX_PEOPLE_KEPT: Final = 10_000


class LiveWorkspace:
    """What Slack says about the workspace, asked for at most every five minutes or after an event.

    Nothing partial is ever kept or given: a list whose last page did not come is an error. For one event loop.

    Args:
        client: Slack's Web API with the bot's token.
        web_api: Calls it, with its patience for rate limits.
        monotonic: A clock in seconds; deadlines are moments of it.
    """

    def __init__(self, client: AsyncWebClient, *, web_api: WebAPI, monotonic: Callable[[], float]) -> None:
        self._client = client
        self._web_api = web_api
        self._monotonic = monotonic
        self._channels = self._value(self._load_channels)
        self._people = self._value(self._load_people)
        self._persons = LiveValues(self._person_value, most=_MAX_PEOPLE_KEPT)
        self._memberships = LiveValues(self._membership_value, most=_MAX_PEOPLE_KEPT)

    async def public_channels(self, *, deadline: float) -> tuple[ChannelRow, ...]:
        """Return every channel that is public now, archived ones too.

        Raises:
            SlackUnavailableError: Slack did not give the whole list in time.
        """
        return await self._within(self._channels, "conversations.list", deadline=deadline)

    async def people(self, *, deadline: float) -> tuple[UserRow, ...]:
        """Return every user that Slack lists, deactivated ones too.

        Raises:
            SlackUnavailableError: Slack did not give the whole list in time.
        """
        return await self._within(self._people, "users.list", deadline=deadline)

    async def person(self, user_id: str, *, deadline: float) -> UserRow:
        """Return one user.

        Raises:
            SlackUnavailableError: Slack does not know the user, or did not answer in time.
        """
        return await self._within(self._persons.of(user_id), "users.info", deadline=deadline)

    async def memberships(self, user_id: str, *, deadline: float) -> tuple[ChannelRow, ...]:
        """Return the channels that a user is a member of now, archived ones too; no direct messages.

        Public ones all, private ones only where the bot is a member as well: Slack tells of no others.

        Raises:
            SlackUnavailableError: Slack did not give the whole list in time.
        """
        return await self._within(self._memberships.of(user_id), "users.conversations", deadline=deadline)

    async def channel_now(self, channel_id: str, *, deadline: float) -> ChannelRow:
        """Return a channel as it is at this moment, with the number of its members; never kept.

        Raises:
            SlackUnavailableError: Slack does not show it to the bot (`channel_not_found`, for direct messages
                `missing_scope`), or did not answer in time.
        """
        answer = await self._web_api.read(
            "conversations.info",
            lambda: self._client.conversations_info(channel=channel_id, include_num_members=True),
            deadline=deadline,
        )
        return _read(ChannelRow, answer.get("channel"), "conversations.info")

    async def members_now(self, channel_id: str, *, most: int, deadline: float) -> frozenset[str] | None:
        """Return who is in a channel at this moment, people of other workspaces too; never kept.

        Args:
            channel_id: The channel.
            most: How many members there may be.
            deadline: When to have given up.

        Returns:
            Their user ids; None where there are more than `most`.

        Raises:
            SlackUnavailableError: Slack did not give the whole list in time.
        """
        members: set[str] = set()
        async for page in self._web_api.pages(
            "conversations.members",
            lambda cursor: self._client.conversations_members(
                channel=channel_id, limit=PAGE_SIZE, cursor=cursor or None
            ),
            deadline=deadline,
        ):
            members.update(str(one) for one in page.get("members") or ())
            if len(members) > most:
                return None
        return frozenset(members)

    async def permalink_now(self, channel_id: str, ts: str, *, deadline: float) -> str | None:
        """Return the address that a message has at this moment; None where there is no such message any more.

        Needs no scope.

        Raises:
            SlackUnavailableError: Slack did not answer in time, or does not show the channel to the bot.
        """
        try:
            answer = await self._web_api.read(
                "chat.getPermalink",
                lambda: self._client.chat_getPermalink(channel=channel_id, message_ts=ts),
                deadline=deadline,
            )
        except SlackUnavailableError as exc:
            if exc.reason == "message_not_found":
                return None
            raise
        return str(answer.get("permalink") or "")

    def drop_channels(self) -> None:
        """Forget the channels and who is in them: an event said that one changed."""
        self._channels.drop()
        self._memberships.drop_all()

    def drop_memberships(self, user_id: str) -> None:
        """Forget where one user is a member."""
        self._memberships.drop(user_id)

    def drop_person(self, user_id: str) -> None:
        """Forget what is known of one user, and the list of all."""
        self._people.drop()
        self._persons.drop(user_id)
        self._memberships.drop(user_id)

    async def _load_channels(self, until: float) -> tuple[ChannelRow, ...]:
        rows: list[ChannelRow] = []
        async for page in self._web_api.pages(
            "conversations.list",
            lambda cursor: self._client.conversations_list(
                types="public_channel", exclude_archived=False, limit=PAGE_SIZE, cursor=cursor or None
            ),
            deadline=until,
        ):
            rows += [_read(ChannelRow, row, "conversations.list") for row in page.get("channels") or ()]
        return tuple(row for row in rows if row.is_public)

    async def _load_people(self, until: float) -> tuple[UserRow, ...]:
        rows: list[UserRow] = []
        async for page in self._web_api.pages(
            "users.list",
            lambda cursor: self._client.users_list(limit=PAGE_SIZE, cursor=cursor or None),
            deadline=until,
        ):
            rows += [_read(UserRow, row, "users.list") for row in page.get("members") or ()]
        return tuple(rows)

    async def _load_memberships(self, user_id: str, *, deadline: float) -> tuple[ChannelRow, ...]:
        rows: list[ChannelRow] = []
        async for page in self._web_api.pages(
            "users.conversations",
            lambda cursor: self._client.users_conversations(
                user=user_id,
                types="public_channel,private_channel",
                exclude_archived=False,
                limit=PAGE_SIZE,
                cursor=cursor or None,
            ),
            deadline=deadline,
        ):
            rows += [_read(ChannelRow, row, "users.conversations") for row in page.get("channels") or ()]
        return tuple(row for row in rows if not (row.is_im or row.is_mpim))

    async def _load_person(self, user_id: str, *, deadline: float) -> UserRow:
        answer = await self._web_api.read(
            "users.info", lambda: self._client.users_info(user=user_id), deadline=deadline
        )
        return _read(UserRow, answer.get("user"), "users.info")

    def _person_value(self, user_id: str) -> LiveValue[UserRow]:
        return self._value(lambda until: self._load_person(user_id, deadline=until), load_seconds=_CALL_SECONDS)

    def _membership_value(self, user_id: str) -> LiveValue[tuple[ChannelRow, ...]]:
        return self._value(lambda until: self._load_memberships(user_id, deadline=until), load_seconds=_CALL_SECONDS)

    def _value(self, load: Callable[[float], Awaitable[T]], *, load_seconds: float = _LIST_SECONDS) -> LiveValue[T]:
        return LiveValue(load, keep_seconds=KEEP_SECONDS, load_seconds=load_seconds, monotonic=self._monotonic)

    async def _within(self, value: LiveValue[T], method: str, *, deadline: float) -> T:
        try:
            return await value.get(deadline=deadline)
        except TimeoutError as exc:
            raise SlackUnavailableError(method=method, reason="timeout") from exc


def _read(model: type[RowT], row: object, method: str) -> RowT:
    try:
        return model.model_validate(row)
    except ValidationError as exc:
        raise SlackUnavailableError(method=method, reason="unreadable") from exc
