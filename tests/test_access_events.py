"""What people may see changes, or Slack does not say: the bot obeys at the next press, and says what it left out."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot import texts
from bot.app import start_bot
from bot.demo import SAMPLE
from localslack.server import LocalSlack
from localslack.workspace import load_workspace
from retrieval import EmbedderFactory, publish
from retrieval.builder import WorkspaceIdentity, build_artifact
from tests.artifact_rows import BUILT_AT
from tests.bot_harness import (
    ADA,
    BEN,
    GENERAL,
    GUS,
    MANIFEST,
    PAYMENTS,
    SECRET,
    SHARED,
    Office,
    bot_settings,
    build_archive,
    eventually,
    running_bot,
    workspace,
)
from tests.bot_harness import Clock as OfficeClock

BOT = "UBOT"
MERGER = "The secret merger"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path) -> AsyncIterator[Office]:
    """An office whose bot was invited to the secret channel after it had answered somebody."""
    async with running_bot(archive) as office:
        assert "Nothing found" in (await office.ask('"secret merger"')).plain_text
        office.slack.join(SECRET, BOT)
        await settled(office)
        yield office


async def settled(office: Office) -> None:
    """Wait until the bot acknowledged whatever was sent."""
    await asyncio.sleep(0.05)
    await eventually(lambda: all(one.status == "acked" for one in office.slack.recorder.deliveries))


async def test_a_private_channel_is_searched_for_its_members_once_the_bot_is_in_it(office: Office) -> None:
    assert MERGER in (await office.ask("secret merger")).plain_text
    assert MERGER in (await office.ask("merger in:#secret-plans")).plain_text
    assert MERGER not in (await office.ask("secret merger", user=BEN)).plain_text
    refused = await office.ask("merger in:#secret-plans", user=BEN)
    assert refused.plain_text.startswith("I know no channel called “secret-plans”")


async def test_a_guest_is_answered_from_their_own_channels(office: Office) -> None:
    assert "checkout outage E4392" in (await office.ask("checkout outage E4392", user=GUS)).plain_text
    assert "partner tier hit" not in (await office.ask("partner tier", user=GUS)).plain_text
    office.slack.join(SECRET, GUS)
    await settled(office)
    assert MERGER in (await office.ask("secret merger", user=GUS)).plain_text


async def leave(office: Office) -> None:
    office.slack.leave(SECRET, ADA)


async def delete(office: Office) -> None:
    office.slack.delete_channel(SECRET)


async def uninvite(office: Office) -> None:
    office.slack.leave(SECRET, BOT)


async def move(office: Office) -> None:
    office.slack.change_channel_id(SECRET, "C99SHARED")


@pytest.mark.parametrize("change", [leave, delete, uninvite, move])
async def test_what_is_not_theirs_any_more_is_gone_at_the_very_next_press(
    office: Office, change: Callable[[Office], AsyncIterator[None]]
) -> None:
    results = await office.ask("secret merger")
    assert MERGER in results.plain_text
    await change(office)  # type: ignore[misc]
    await settled(office)

    await office.press(results, "Context")

    assert office.newest().plain_text.startswith(texts.NOT_FOUND)
    assert MERGER not in (await office.ask("secret merger")).plain_text


async def test_a_channel_made_private_is_gone_within_five_minutes_though_no_event_tells_it(archive: Path) -> None:
    ahead = 0.0
    async with LocalSlack(workspace(), MANIFEST) as slack:
        bot = await start_bot(bot_settings(slack, archive), monotonic=lambda: time.monotonic() + ahead)
        office = Office(slack=slack, bot=bot, clock=OfficeClock(), artifacts=archive)
        try:
            results = await office.ask("partner tier", user=BEN)
            assert "partner tier" in results.plain_text.split("\n", 1)[1]
            office.slack.leave(PAYMENTS, BEN)
            await settled(office)
            assert "partner tier" in (await office.ask("partner tier", user=BEN)).plain_text.split("\n", 1)[1]
            office.slack.make_private(PAYMENTS)
            await settled(office)

            ahead = 301.0
            again = await office.ask("partner tier", user=BEN)
            await office.press_and_tell(results, "Context", said=texts.NOT_FOUND, user=BEN)
            unknown = await office.ask("tier in:#payments", user=BEN)
        finally:
            await bot.stop()

    assert "partner tier" not in again.plain_text.split("\n", 1)[1]
    assert unknown.plain_text.startswith("I know no channel")


async def test_a_renamed_private_channel_goes_by_its_new_name_at_once(office: Office) -> None:
    await office.ask("secret merger")
    office.slack.rename(SECRET, "open-plans")
    await settled(office)

    assert MERGER in (await office.ask("merger in:#open-plans")).plain_text
    assert (await office.ask("merger in:#secret-plans")).plain_text.startswith("I know no channel")


async def test_archiving_and_sharing_take_nothing_from_members(office: Office) -> None:
    await office.ask("secret merger")
    office.slack.archive(SECRET)
    office.slack.share(PAYMENTS)
    await settled(office)

    assert MERGER in (await office.ask("secret merger")).plain_text
    assert "partner tier" in (await office.ask("partner tier")).plain_text
    assert "partner tier" not in (await office.ask("partner tier", user=GUS)).plain_text.split("\n", 1)[1]


async def test_a_channel_that_stops_being_shared_stays_with_its_members(office: Office) -> None:
    office.slack.unshare(SHARED)
    await settled(office)

    assert "Nothing found" in (await office.ask("nothing like this in:#shared-eve mode:lexical")).plain_text


@pytest.mark.parametrize(("fault", "details"), [("status_500", {}), ("rate_limited", {"retry_after": 60})])
async def test_what_slack_does_not_confirm_is_left_out_and_told(
    office: Office, fault: str, details: dict[str, int]
) -> None:
    office.slack.fault(fault, method="users.conversations", times=-1, **details)  # type: ignore[arg-type]
    answers = {}
    for user in (ADA, BEN):
        person = office.slack.person(user)
        outcome = await person.type("/slackquery secret merger mode:lexical", channel=GENERAL)
        assert outcome.acked
        assert outcome.seconds < 1
        answers[user] = await person.wait_for_message(
            GENERAL, lambda seen: texts.UNCONFIRMED_CHANNELS in seen.plain_text, timeout=15
        )
    unknown = {user: await office.ask("merger in:#secret-plans", user=user) for user in (ADA, BEN)}

    assert MERGER not in answers[ADA].plain_text
    assert answers[ADA].plain_text == answers[BEN].plain_text
    # Slack writes the channel's id for those who see it, and leaves the typed name to others.
    sent = unknown[ADA].plain_text.replace(f"<#{SECRET}>", "#secret-plans")
    assert sent.replace(SECRET, "secret-plans") == unknown[BEN].plain_text
    assert texts.UNCONFIRMED_CHANNELS in unknown[ADA].plain_text
    assert "partner tier" in (await office.ask("partner tier")).plain_text


async def test_five_seconds_of_slack_are_not_waited_for_but_serve_the_next_search(office: Office) -> None:
    office.slack.fault("slow", method="users.conversations", seconds=5)
    person = office.slack.person(ADA)
    outcome = await person.type("/slackquery secret merger mode:lexical", channel=GENERAL)
    assert outcome.acked
    assert outcome.seconds < 1
    answer = await person.wait_for_message(
        GENERAL, lambda seen: texts.UNCONFIRMED_CHANNELS in seen.plain_text, timeout=15
    )
    assert MERGER not in answer.plain_text
    await asyncio.sleep(3)

    again = await office.ask("secret merger mode:lexical")

    assert MERGER in again.plain_text
    assert texts.UNCONFIRMED_CHANNELS not in again.plain_text


async def test_a_guest_whom_slack_does_not_confirm_is_told_to_try_again(office: Office) -> None:
    office.slack.fault("status_500", method="users.conversations", times=-1)

    assert (await office.ask("outage", user=GUS)).plain_text.startswith(texts.SLACK_DID_NOT_ANSWER)


MARA, YUKI, NICO, ANA = "U0LWMARA001", "U0LWYUKI001", "U0LWNICO001", "U0LWANA0001"
PENTEST, HIRING, HONEST, SDK = "pentest report is in", "T.S. was very good", "honest word", "certificate"


@pytest.fixture(scope="module")
def sample_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "archive"
    result = build_artifact(
        [SAMPLE / "export"],
        folder,
        workspace=WorkspaceIdentity(workspace_id="T0LINDWERK", name="Lindwerk", url=None),
        embedder=EmbedderFactory().for_build("none"),
        clock=lambda: BUILT_AT,
    )
    publish(folder, result.artifact)
    return folder


@pytest.mark.parametrize("dms", [False, True])
async def test_the_sample_shows_everybody_their_own(sample_archive: Path, *, dms: bool) -> None:
    described = load_workspace(SAMPLE / "workspace.json")
    async with LocalSlack(described, MANIFEST) as slack:
        bot = await start_bot(bot_settings(slack, sample_archive, dms=dms))
        office = Office(slack=slack, bot=bot, clock=OfficeClock(), artifacts=sample_archive)
        try:
            found = {
                (user, text): text
                in (await office.ask(f'"{text}" mode:lexical', user=user, channel=place)).plain_text.split("\n", 1)[1]
                for user, place in (
                    (MARA, "C0LWGENERAL"),
                    (YUKI, "C0LWGENERAL"),
                    (NICO, "C0LWPAYMENT"),
                    (ANA, "C0LWMOBILE1"),
                )
                for text in (PENTEST, HIRING, HONEST, SDK)
            }
        finally:
            await bot.stop()

    seen = {pair for pair, is_found in found.items() if is_found}
    assert seen == {(MARA, PENTEST), (MARA, SDK), (YUKI, SDK), (NICO, SDK), (ANA, SDK)} | (
        {(MARA, HONEST)} if dms else set()
    )
