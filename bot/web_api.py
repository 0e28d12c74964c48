"""Reading Slack's Web API: pages, rate limits and a deadline, with what comes back checked at the door."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

import aiohttp
from pydantic import BaseModel, ConfigDict
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

Monotonic: TypeAlias = Callable[[], float]

PAGE_SIZE: Final = 999
"""Slack allows up to 999 a page and advises 200; large pages are what a method of 20 calls a minute needs."""

_MAX_PAGES: Final = 1_000
_DEFAULT_RETRY_SECONDS: Final = 30.0


class SlackUnavailableError(Exception):
    """Slack did not give the whole answer in time; nothing partial may be used.

    Attributes:
        method: The Web API method.
        reason: Slack's error code, or `timeout`, `ratelimited`, `connection`, `unreadable`.
    """

    def __init__(self, *, method: str, reason: str) -> None:
        super().__init__(f"{method}: {reason}")
        self.method = method
        self.reason = reason


class ChannelRow(BaseModel):
    """A channel as conversations.list and conversations.info tell it; the flags decide, never the id's first letter.

    Attributes:
        is_shared: With another workspace, of the same organisation or of another one.
        is_pending_ext_shared: Whether another organisation was invited.
        is_frozen: Whether it is what is left of a channel that was shared; nobody writes there.
        num_members: How many are in it, where Slack was asked for that.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    name: str = ""
    is_private: bool
    is_im: bool = False
    is_mpim: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False
    is_org_shared: bool = False
    is_shared: bool = False
    is_pending_ext_shared: bool = False
    is_read_only: bool = False
    is_thread_only: bool = False
    is_frozen: bool = False
    num_members: int | None = None

    @property
    def is_public(self) -> bool:
        """Whether every full member of the workspace may open it."""
        return not (self.is_private or self.is_im or self.is_mpim)


class ProfileRow(BaseModel):
    """The names in a user's profile."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    display_name: str = ""
    real_name: str = ""


class UserRow(BaseModel):
    """A user as users.info and users.list tell it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    team_id: str = ""
    name: str = ""
    deleted: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    tz: str | None = None
    real_name: str = ""
    profile: ProfileRow = ProfileRow()

    @property
    def is_guest(self) -> bool:
        """Whether the account sees only the channels it was invited to."""
        return self.is_restricted or self.is_ultra_restricted


def open_session(*, seconds: float) -> aiohttp.ClientSession:
    """Return the one session for whatever is sent to Slack: what is sent next finds the connection still open.

    Without it each answer began with a lookup of Slack's name and the handshakes of TCP and TLS. Must be closed by
    whoever opened it; for the running event loop.

    Args:
        seconds: How long each request may take.
    """
    return aiohttp.ClientSession(
        # As many connections as there are answers: one that waits must not keep another back.
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=seconds),
    )


class WebAPI:
    """Calls methods that read, waits out rate limits that fit the deadline, and remembers those that do not.

    While Slack has asked for a pause, a method is not called at all: a call would only lengthen it. For one
    event loop.

    Args:
        monotonic: A clock in seconds; deadlines are moments of it.
        sleep: Waits that many seconds.
    """

    def __init__(self, *, monotonic: Monotonic, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._not_before: dict[str, float] = {}

    async def read(
        self, method: str, call: Callable[[], Awaitable[AsyncSlackResponse]], *, deadline: float
    ) -> AsyncSlackResponse:
        """Return the answer of one call.

        Args:
            method: Its name, such as `users.info`.
            call: Makes the call; it is made again after a pause that Slack asked for.
            deadline: When to have given up.

        Raises:
            SlackUnavailableError: Slack refused, failed, or would answer only after the deadline.
        """
        while True:
            await self._wait_turn(method, deadline=deadline)
            try:
                async with asyncio.timeout(max(0.0, deadline - self._monotonic())):
                    return await call()
            except TimeoutError as exc:
                raise SlackUnavailableError(method=method, reason="timeout") from exc
            except SlackApiError as exc:
                if not is_rate_limit(exc):
                    raise SlackUnavailableError(method=method, reason=error_code(exc)) from exc
                self._not_before[method] = self._monotonic() + _retry_seconds(exc)
            except (aiohttp.ClientError, SlackClientError, OSError, ValueError) as exc:
                raise SlackUnavailableError(method=method, reason="connection") from exc

    async def pages(
        self, method: str, call: Callable[[str], Awaitable[AsyncSlackResponse]], *, deadline: float
    ) -> AsyncIterator[AsyncSlackResponse]:
        """Yield every page of a list; a caller that does not reach the end must use nothing of it.

        Args:
            method: Its name, such as `conversations.list`.
            call: Makes the call for a cursor, which is empty for the first page.
            deadline: When to have given up.

        Raises:
            SlackUnavailableError: As `read`; or Slack's cursors go round in a circle.
        """
        cursor = ""
        seen = {cursor}
        for _ in range(_MAX_PAGES):
            page = await self.read(method, lambda cursor=cursor: call(cursor), deadline=deadline)  # type: ignore[misc]
            yield page
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return
            if cursor in seen:
                break
            seen.add(cursor)
        raise SlackUnavailableError(method=method, reason="unreadable")

    async def _wait_turn(self, method: str, *, deadline: float) -> None:
        turn = self._not_before.get(method, 0.0)
        if turn >= deadline:
            raise SlackUnavailableError(method=method, reason="ratelimited")
        if (wait := turn - self._monotonic()) > 0:
            await self._sleep(wait)


def error_code(error: SlackApiError) -> str:
    """Return Slack's error code, else the HTTP status, else `unreadable`.

    Where the body was no JSON, the SDK puts the HTTP library's response in the place of its own.
    """
    if not isinstance(error.response, AsyncSlackResponse):
        return "unreadable"
    return str(error.response.get("error") or error.response.status_code)


def is_rate_limit(error: SlackApiError) -> bool:
    """Return whether Slack asked for a pause."""
    return isinstance(error.response, AsyncSlackResponse) and error.response.status_code == 429


def _retry_seconds(error: SlackApiError) -> float:
    value = {str(name).lower(): text for name, text in error.response.headers.items()}.get("retry-after")
    try:
        return max(0.1, float(value)) if value is not None else _DEFAULT_RETRY_SECONDS
    except ValueError:
        return _DEFAULT_RETRY_SECONDS
