"""Work that follows an ack waits for the acks of whatever has arrived, but not for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

import bot.listeners.commands
from bot.acks import PendingAcks
from bot.guard import Guard, Request
from bot.reply import Reply
from bot.services import Services
from tests.bot_harness import running_bot

BODY = {"user": {"id": "U1", "team_id": "T1"}, "channel": {"id": "C1"}, "type": "block_actions"}


def reply() -> Reply:
    return Reply(AsyncWebClient(), response_url=None, view_id=None, is_press=False)


async def turns(count: int = 20) -> None:
    """Let everything run that can run now."""
    for _ in range(count):
        await asyncio.sleep(0)


def noting(done: list[str]) -> Callable[[Request], Awaitable[None]]:
    async def work(_: Request) -> None:
        done.append("work")

    return work


async def test_work_begins_at_once_where_every_envelope_is_acked() -> None:
    done: list[str] = []
    guard = Guard(audit=None)

    guard.start(BODY, noting(done), reply=reply())
    await turns()

    assert done == ["work"]


async def test_work_waits_until_the_last_of_the_envelopes_is_acked() -> None:
    done: list[str] = []
    guard = Guard(audit=None)

    with guard.acks.one():
        with guard.acks.one():
            guard.start(BODY, noting(done), reply=reply())
            await turns()
            assert done == []
        await turns()
        assert done == [], "one of the two is acked"
    await turns()

    assert done == ["work"]
    assert guard.acks.count == 0


async def test_an_envelope_whose_ack_fails_keeps_nobody_waiting() -> None:
    acks = PendingAcks()
    try:
        with acks.one():
            raise ConnectionError
    except ConnectionError:
        pass

    await asyncio.wait_for(acks.over(patience=60), timeout=5)


async def test_a_stream_of_envelopes_does_not_keep_answers_back() -> None:
    acks = PendingAcks()
    with acks.one():
        await asyncio.wait_for(acks.over(patience=0.01), timeout=5)
        assert acks.count == 1


async def test_a_command_is_acked_before_its_work_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself Bolt looks for an ack only ten milliseconds after it began the work."""
    begun = asyncio.Event()

    async def answer(_services: Services, _request: Request) -> None:
        begun.set()

    monkeypatch.setattr(bot.listeners.commands, "answer_command", answer)
    body = {"command": "/slackquery", "text": "x", "user_id": "U1", "team_id": "T1", "channel_id": "C1"}
    async with running_bot(tmp_path / "archive") as office:
        app = office.bot.connection._app

        response = await app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))

        assert response.status == 200
        assert not begun.is_set()
        await asyncio.wait_for(begun.wait(), timeout=5)
