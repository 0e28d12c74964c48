"""The page's JSON API and live feed, without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from localslack import page_json
from localslack.page_guard import SOCKET_PROTOCOL
from localslack.page_routes import add_page_routes, page_address
from localslack.server import LocalSlack
from tests.localslack_factory import local_slack
from tests.page_app import form


class Caller:
    """Calls the API as the page does."""

    def __init__(self, slack: LocalSlack, http: aiohttp.ClientSession) -> None:
        self.slack = slack
        self.http = http
        self.headers = {"Authorization": f"Bearer {slack.page_token}", "Origin": slack.url}

    async def get(self, path: str, **query: str) -> tuple[int, Any]:
        address = f"{self.slack.url}/page/api/{path}"
        async with self.http.get(address, params=query, headers=self.headers) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        address = f"{self.slack.url}/page/api/{path}"
        async with self.http.post(address, json=body, headers=self.headers) as response:
            return response.status, await response.json()

    async def messages(self, **query: str) -> Any:
        status, answer = await self.get("messages", user="UADA", channel="C1", **query)
        assert status == 200
        return answer


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with local_slack(extend=[add_page_routes]) as slack, aiohttp.ClientSession() as http:
        yield Caller(slack, http)


async def say(caller: Caller, *texts: str, thread_ts: str | None = None) -> list[str]:
    """Post as Ben and return the timestamps."""
    for text in texts:
        await caller.slack.person("UBEN").type(text, channel="C1", thread_ts=thread_ts)
    return [message.ts for message in caller.slack.person("UBEN").messages("C1")][-len(texts) :]


async def test_address_carries_the_token(caller: Caller) -> None:
    assert page_address(caller.slack) == f"{caller.slack.url}/?token={caller.slack.page_token}"


async def test_workspace_tells_people_and_what_the_app_offers(caller: Caller) -> None:
    _, answer = await caller.get("workspace")

    assert answer["team"] == {"name": "Kiln", "url": "https://kiln.example/"}
    assert {person["id"] for person in answer["people"]} >= {"UADA", "UBOT"}
    assert [one["command"] for one in answer["app"]["commands"]] == ["/clay"]
    assert {one["type"] for one in answer["app"]["shortcuts"]} == {"message", "global"}
    assert answer["acting_user_id"] == "UADA"


async def test_everybody_sees_their_own_channels_only(caller: Caller) -> None:
    seen = {}
    for user in ("UADA", "UBEN", "UGUEST"):
        _, answer = await caller.get("channels", user=user)
        seen[user] = [one["id"] for one in answer["channels"]]

    assert "G2" in seen["UADA"]
    assert "G2" not in seen["UBEN"]
    assert seen["UGUEST"] == ["C1"]


@pytest.mark.parametrize("channel", ["G2", "NONE", ""])
async def test_hidden_channel_cannot_be_read_or_joined(caller: Caller, channel: str) -> None:
    status, answer = await caller.get("messages", user="UBEN", channel=channel)
    _, joined = await caller.post("join", {"user": "UBEN", "channel": channel})

    assert status == 404
    assert "messages" not in answer
    assert joined["ok"] is False


async def test_pages_of_a_channel_join_without_gap(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_json, "PAGE_MESSAGES", 4)
    await say(caller, *(f"number {count}" for count in range(9)))

    newest = await caller.messages()
    middle = await caller.messages(before=newest["messages"][0]["ts"])
    oldest = await caller.messages(before=middle["messages"][0]["ts"])
    texts = [one["text"] for page in (oldest, middle, newest) for one in page["messages"]]

    assert texts == ["the kiln is hot", *(f"number {count}" for count in range(9))]
    assert [page["has_earlier"] for page in (oldest, middle, newest)] == [False, True, True]
    assert not newest["has_later"]


async def test_around_a_message_and_around_a_reply(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_json, "PAGE_MESSAGES", 4)
    stamps = await say(caller, *(f"number {count}" for count in range(9)))
    [reply] = await say(caller, "a reply", thread_ts=stamps[2])

    around = await caller.messages(around=stamps[2])
    around_reply = await caller.messages(around=reply)
    unknown = await caller.messages(around="1.000001")

    assert stamps[2] in [one["ts"] for one in around["messages"]]
    assert around["has_later"]
    assert around_reply["messages"] == around["messages"]
    assert around_reply["thread_ts"] == stamps[2]
    assert unknown["messages"][-1]["ts"] == stamps[-1]


async def test_thread_and_reply_count(caller: Caller) -> None:
    [root] = await say(caller, "root")
    await say(caller, "one", "two", thread_ts=root)

    page = await caller.messages()
    _, thread = await caller.get("thread", user="UADA", channel="C1", ts=root)

    assert page["messages"][-1]["reply_count"] == 2
    assert [one["text"] for one in thread["messages"]] == ["root", "one", "two"]


async def test_action_on_what_is_gone_is_a_sentence(caller: Caller) -> None:
    action = {"type": "button", "block_id": "b", "action_id": "a"}
    bodies = [{"channel": "C1", "ts": "1.000001"}, {"channel": "G2", "ts": "1.000001"}, {"view_id": "V0"}]

    for body in bodies:
        status, answer = await caller.post("action", {"user": "UBEN", "action": action, **body})
        assert (status, answer["error"]["code"]) == (200, "not_visible")
        assert answer["error"]["text"].startswith("That is no longer there.")


async def test_malformed_bodies_are_named(caller: Caller) -> None:
    for body, place in [
        ({}, "user"),
        ({"user": "UADA", "text": "x"}, "channel"),
        ({"user": "UADA", "odd": 1}, "channel"),
    ]:
        status, answer = await caller.post("say", body)
        assert status == 400
        assert place in answer["error"]


async def test_unknown_user_is_not_found(caller: Caller) -> None:
    status, _ = await caller.get("channels", user="UNOBODY")
    posted, _ = await caller.post("reload", {"user": "UNOBODY"})

    assert (status, posted) == (404, 404)


async def test_slack_error_is_passed_on(caller: Caller) -> None:
    _, unknown = await caller.post("say", {"user": "UADA", "channel": "C1", "text": "/nothing"})
    _, undelivered = await caller.post("say", {"user": "UADA", "channel": "C1", "text": "/clay x"})

    assert unknown["error"]["code"] == "unknown_command"
    assert undelivered["error"]["code"] == "dispatch_failed"
    assert "dispatch_failed" in undelivered["error"]["text"]


async def test_view_of_another_person_cannot_be_touched(caller: Caller) -> None:
    view = caller.slack.core.views.open("UADA", form())

    _, mine = await caller.get("views", user="UADA")
    _, theirs = await caller.get("views", user="UBEN")
    _, closed = await caller.post("close", {"user": "UBEN", "view_id": view.id})

    assert [one["id"] for one in mine["views"]] == [view.id]
    assert theirs["views"] == []
    assert closed["ok"] is False


async def test_choice_that_is_not_offered_is_refused(caller: Caller) -> None:
    spec = form()
    spec["blocks"][1]["element"] = {
        "type": "static_select",
        "action_id": "channels",
        "options": [{"text": {"type": "plain_text", "text": "A"}, "value": "a"}],
    }
    view = caller.slack.core.views.open("UADA", spec)
    forged = {"where": {"channels": {"type": "static_select", "selected_option": {"value": "z"}}}}

    _, answer = await caller.post("submit", {"user": "UADA", "view_id": view.id, "values": forged})

    assert answer["error"]["code"] == "not_visible"


async def test_live_feed_tells_messages_and_reply_counts(caller: Caller) -> None:
    [root] = await say(caller, "root")
    protocols = (SOCKET_PROTOCOL, f"token.{caller.slack.page_token}")
    address = f"{caller.slack.url}/page/api/live?user=UADA"

    async with caller.http.ws_connect(address, protocols=protocols, headers={"Origin": caller.slack.url}) as socket:
        assert (await socket.receive_json())["kind"] == "hello"
        await say(caller, "a reply", thread_ts=root)
        reply = await asyncio.wait_for(socket.receive_json(), 5)
        changed = await asyncio.wait_for(socket.receive_json(), 5)
        await caller.slack.person("UADA").reload()
        last = await asyncio.wait_for(socket.receive_json(), 5)

    assert (reply["kind"], reply["message"]["text"]) == ("message", "a reply")
    assert (changed["kind"], changed["ts"], changed["message"]["reply_count"]) == ("message_changed", root, 1)
    assert last["kind"] == "reload"
