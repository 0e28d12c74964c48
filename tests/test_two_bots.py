"""Two bots side by side on one machine: they share the load and the small store, and answer nothing twice."""

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot import texts
from bot.app import start_bot
from bot.store_file import StoreFile
from localslack.server import LocalSlack
from tests.bot_harness import (
    ADA,
    BEN,
    CROWD,
    GENERAL,
    MANIFEST,
    Clock,
    Office,
    assert_all_legal,
    bot_settings,
    build_archive,
    eventually,
    workspace,
)
from tests.log_capture import captured_log


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two") / "archive"
    build_archive(folder)
    return folder


@asynccontextmanager
async def two_bots(archive: Path, store: Path | None) -> AsyncIterator[tuple[Office, Office]]:
    """Run two bots for one local Slack, each with its own settings, over one store."""
    clock = Clock()
    async with LocalSlack(workspace(), MANIFEST, clock=clock) as slack:
        bots = [await start_bot(bot_settings(slack, archive, store=store), clock=clock) for _ in range(2)]
        try:
            await slack.wait_connected(2)
            first, second = (Office(slack=slack, bot=bot, clock=clock, artifacts=archive) for bot in bots)
            yield first, second
        finally:
            for bot in bots:
                await bot.stop()
        assert_all_legal(slack)


def answers(office: Office, user: str) -> int:
    return len([seen for seen in office.slack.person(user).messages(GENERAL) if seen.by_app])


async def quiet(*offices: Office) -> None:
    """Wait until no bot works any more; a payload that came twice has then been taken or left."""
    await asyncio.sleep(0.3)
    for office in offices:
        await eventually(lambda office=office: office.bot.services.guard.running == 0, seconds=15)


async def test_a_command_that_comes_to_both_is_answered_once(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = iter(range(10_000))
    # The first of a pair goes to one bot and its double to the other.
    monkeypatch.setattr(random, "choice", lambda connections: connections[next(turn) % len(connections)])
    async with two_bots(archive, tmp_path / "store.sqlite3") as (first, second):
        with captured_log() as log:
            for number in range(5):
                first.slack.fault("duplicate_envelope")
                await first.ask(f"rate limit {number}")
            await quiet(first, second)

        assert answers(first, ADA) == 5
        assert log.events().count("envelope_repeated") == 5


async def test_without_a_store_the_double_is_answered_by_the_other_bot(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the store is for: without it, two bots do not know of each other."""
    turn = iter(range(10_000))
    monkeypatch.setattr(random, "choice", lambda connections: connections[next(turn) % len(connections)])
    async with two_bots(archive, None) as (first, second):
        first.slack.fault("duplicate_envelope")
        await first.ask("rate limit")
        await quiet(first, second)

        assert answers(first, ADA) == 2


async def test_forty_people_at_once_get_one_answer_each_although_all_comes_twice(archive: Path, tmp_path: Path) -> None:
    async with two_bots(archive, tmp_path / "store.sqlite3") as (first, second):
        first.slack.fault("duplicate_envelope", times=-1)
        people = [ADA, BEN, *CROWD]

        await asyncio.gather(*(first.ask("rate limit 429", user=user) for user in people))
        await quiet(first, second)

        assert {answers(first, user) for user in people} == {1}


async def test_what_one_bot_was_told_the_other_knows(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = iter(range(10_000))
    monkeypatch.setattr(random, "choice", lambda connections: connections[next(turn) % len(connections)])
    async with two_bots(archive, tmp_path / "store.sqlite3") as (first, _):
        answer = await first.ask("harbour")
        await first.ask("zebra")
        more = await first.press(answer, texts.MORE)
        await first.press(more, texts.GOOD_RESULT)
        listed = [await first.ask("recent"), await first.ask("recent")]

        assert all("harbour" in one.plain_text and "zebra" in one.plain_text for one in listed)
    file = StoreFile(tmp_path / "store.sqlite3")
    assert len(file.votes()) == 1
    file.close()


async def test_a_locked_store_loses_no_command(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    async with two_bots(archive, path) as (first, second):
        await first.ask("lunch")
        other = StoreFile(path)
        with other._changing():
            answered = await asyncio.gather(*(first.ask("rate limit", user=user) for user in (ADA, BEN, *CROWD)))
        other.close()
        await quiet(first, second)

        assert all("results 1 to 5" in one.plain_text for one in answered)
        assert max(one.seconds for one in first.slack.recorder.deliveries if one.seconds) < 1.5


SERVE = """
import asyncio, sys
from pathlib import Path
from bot.settings import Settings
from bot.serving import serve

url, bot_token, app_token, artifacts, store = sys.argv[1:]
settings = Settings.of(
    slack_bot_token=bot_token, slack_app_token=app_token, slack_api_url=url, artifacts=Path(artifacts),
    store=Path(store), audit_dir=None,
)
asyncio.run(serve(settings, on_ready=lambda notices: print("ready", flush=True)))
"""


async def test_two_processes_share_the_store(archive: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    async with LocalSlack(workspace(), MANIFEST) as slack:
        arguments = (slack.api_url, slack.bot_token, slack.app_token, str(archive), str(store))
        bots = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", SERVE, *arguments, stdout=asyncio.subprocess.DEVNULL
            )
            for _ in range(2)
        ]
        try:
            await slack.wait_connected(2, timeout=60)
            slack.fault("duplicate_envelope", times=-1)
            person = slack.person(ADA)
            for number in range(12):
                seen = len(person.messages(GENERAL))
                outcome = await person.type(f"/slackquery rate limit {number}", channel=GENERAL)
                assert outcome.acked, outcome
                await person.wait_until(lambda seen=seen: len(person.messages(GENERAL)) > seen, timeout=20)
            await asyncio.sleep(1)
            assert len(person.messages(GENERAL)) == 12
        finally:
            for bot in bots:
                bot.send_signal(signal.SIGTERM)
            assert [await bot.wait() for bot in bots] == [0, 0]
    file = StoreFile(store)
    assert len(file.recents("T1TEST", ADA, limit=99)) == 12
    file.close()
