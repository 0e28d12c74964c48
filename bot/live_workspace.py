"""The workspace as Slack tells it now: one person, all people, the public channels; kept for five minutes."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from slack_sdk.web.async_client import AsyncWebClient

from bot.live_value import LiveValue
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
        self._persons: OrderedDict[str, LiveValue[UserRow]] = OrderedDict()

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
        if user_id not in self._persons:
            self._persons[user_id] = self._value(
                lambda until: self._load_person(user_id, deadline=until), load_seconds=_CALL_SECONDS
            )
        self._persons.move_to_end(user_id)
        while len(self._persons) > _MAX_PEOPLE_KEPT:
            self._persons.popitem(last=False)
        return await self._within(self._persons[user_id], "users.info", deadline=deadline)

    def drop_channels(self) -> None:
        """Forget the channels: an event said that one changed."""
        self._channels.drop()

    def drop_person(self, user_id: str) -> None:
        """Forget what is known of one user, and the list of all."""
        self._people.drop()
        if (kept := self._persons.pop(user_id, None)) is not None:
            kept.drop()

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

    async def _load_person(self, user_id: str, *, deadline: float) -> UserRow:
        answer = await self._web_api.read(
            "users.info", lambda: self._client.users_info(user=user_id), deadline=deadline
        )
        return _read(UserRow, answer.get("user"), "users.info")

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
