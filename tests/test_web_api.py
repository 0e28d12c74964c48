"""Reading Slack's lists: whole or not at all, within the time, and never faster than Slack asked."""

from collections.abc import Mapping

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.web_api import SlackUnavailableError, WebAPI


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def response(
    data: dict[str, object], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> AsyncSlackResponse:
    return AsyncSlackResponse(
        client=None,
        http_verb="GET",
        api_url="http://127.0.0.1/api/x",
        req_args={},
        data=data,
        headers=dict(headers or {}),
        status_code=status,
    )


def limited(headers: Mapping[str, str]) -> SlackApiError:
    return SlackApiError("limited", response({"ok": False, "error": "ratelimited"}, status=429, headers=headers))


class Script:
    """Gives its answers one by one, and counts."""

    def __init__(self, *answers: AsyncSlackResponse | Exception) -> None:
        self.answers = list(answers)
        self.cursors: list[str] = []

    async def __call__(self, cursor: str = "") -> AsyncSlackResponse:
        self.cursors.append(cursor)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def page(cursor: str) -> AsyncSlackResponse:
    return response({"ok": True, "response_metadata": {"next_cursor": cursor}})


@pytest.mark.parametrize("name", ["Retry-After", "retry-after"])
async def test_the_pause_that_slack_asks_for_is_kept(name: str) -> None:
    time = Time()
    call = Script(limited({name: "7"}), response({"ok": True}))

    await WebAPI(monotonic=time, sleep=time.sleep).read("x.list", call, deadline=120.0)

    assert time.now == 107.0


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "soon"}])
async def test_a_limit_without_a_usable_time_is_half_a_minute(headers: dict[str, str]) -> None:
    time = Time()
    call = Script(limited(headers), response({"ok": True}))

    await WebAPI(monotonic=time, sleep=time.sleep).read("x.list", call, deadline=140.0)

    assert time.now == 130.0


async def test_a_pause_beyond_the_deadline_is_not_waited_for_and_the_method_is_left_alone_meanwhile() -> None:
    time = Time()
    api = WebAPI(monotonic=time, sleep=time.sleep)
    call = Script(limited({"Retry-After": "60"}), response({"ok": True}))
    for _ in range(3):
        with pytest.raises(SlackUnavailableError, match="ratelimited"):
            await api.read("x.list", call, deadline=110.0)
    assert len(call.cursors) == 1

    assert (await api.read("y.list", Script(response({"ok": True})), deadline=110.0))["ok"]
    time.now = 161.0
    assert (await api.read("x.list", call, deadline=170.0))["ok"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SlackApiError("no", response({"ok": False, "error": "missing_scope"})), "missing_scope"),
        (SlackApiError("no", {"ok": False}), "unreadable"),
        (aiohttp.ClientConnectionError("gone"), "connection"),
        (TimeoutError(), "timeout"),
    ],
)
async def test_every_failure_has_its_reason(error: Exception, reason: str) -> None:
    time = Time()

    with pytest.raises(SlackUnavailableError) as caught:
        await WebAPI(monotonic=time, sleep=time.sleep).read("x.list", Script(error), deadline=110.0)

    assert (caught.value.method, caught.value.reason) == ("x.list", reason)


async def test_pages_are_read_to_the_end() -> None:
    time = Time()
    call = Script(page("a"), page("b"), page(""))

    pages = [one async for one in WebAPI(monotonic=time, sleep=time.sleep).pages("x.list", call, deadline=110.0)]

    assert len(pages) == 3
    assert call.cursors == ["", "a", "b"]


async def test_cursors_that_go_round_in_a_circle_are_an_error() -> None:
    time = Time()
    call = Script(page("a"), page("b"), page("a"), page("b"))

    with pytest.raises(SlackUnavailableError, match="unreadable"):
        async for _ in WebAPI(monotonic=time, sleep=time.sleep).pages("x.list", call, deadline=110.0):
            pass

    assert len(call.cursors) == 3
