"""Share, through the real bot in a local Slack: asked first, posted once, only where everybody may read it anyway."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot import sharing, texts
from bot.app import start_bot
from bot.audit import read_audit
from bot.buttons import SHARE_CONFIRM_ACTION
from localslack.seen import SeenMessage
from localslack.workspace import Channel
from tests.bot_harness import (
    ADA,
    BEN,
    CLEO,
    CROWD,
    EVE,
    GENERAL,
    GUS,
    OLD,
    PAYMENTS,
    SECRET,
    SHARED,
    Office,
    bot_settings,
    build_archive,
    eventually,
    running_bot,
)

BOT, TEAM_ROOM = "UBOT", "C8TEAM"
LUNCH = "1760600000.000100"
NO_FIGURES = "lunch harbour friday"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharing") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, store=tmp_path / "store.sqlite3", audit_dir=tmp_path / "audit") as office:
        office.slack.create_channel(Channel(id=TEAM_ROOM, name="team-room", members=(ADA, BEN, BOT), is_private=True))
        yield office


async def ask_to_share(
    office: Office, *, into: str = PAYMENTS, command: str = NO_FIGURES, user: str = ADA
) -> SeenMessage:
    """Search where the sharer stands, and press More and Share to channel on the first hit."""
    answer = await office.ask(command, channel=into, user=user)
    more = await office.press(answer, texts.MORE, user=user)
    return await office.press(more, texts.SHARE_TO_CHANNEL, user=user)


async def confirm(office: Office, question: SeenMessage, *, user: str = ADA) -> SeenMessage:
    """Press Share in a question, and return what it became once that is there."""
    person = office.slack.person(user)
    await office.press(question, texts.SHARE, user=user)
    await person.wait_until(lambda: person.current_message(question).plain_text != question.plain_text, timeout=15)
    return person.current_message(question)


def public(office: Office, channel: str, *, user: str = BEN) -> list[SeenMessage]:
    """Return what the bot has posted for everybody, as another person sees it."""
    return [one for one in office.slack.person(user).messages(channel) if one.by_app and not one.is_ephemeral]


def posted(office: Office) -> list[dict[str, Any]]:
    """Return everything that went out for everybody, in any channel."""
    calls = office.slack.recorder.calls_to("response_url")
    return [one.arguments for one in calls if one.arguments.get("response_type") == "in_channel"]


async def test_it_asks_first_with_what_would_be_posted(office: Office) -> None:
    question = await ask_to_share(office)

    assert question.is_ephemeral
    assert question.plain_text.startswith(texts.share_question("payments"))
    assert "Lunch is at the harbour on Friday" in question.plain_text
    assert "Shared by ada" in question.plain_text
    assert question.button_texts() == [texts.SHARE, texts.CANCEL]
    assert "Lunch is at the harbour" in question.text
    assert posted(office) == []


async def test_everybody_there_sees_a_quote_with_its_link_and_who_shared_it(office: Office) -> None:
    question = await ask_to_share(office)
    after = await confirm(office, question)
    [seen] = public(office, PAYMENTS)

    blocks = json.dumps(seen.blocks)
    quotes = [part for one in seen.blocks if one["type"] == "rich_text" for part in one["elements"]]
    assert quotes[0]["type"] == "rich_text_quote"
    assert "Lunch is at the harbour on Friday" in quotes[0]["elements"][0]["text"]
    assert f"https://example.slack.com/archives/{GENERAL}/p{LUNCH.replace('.', '')}" in blocks
    assert "Shared by ada from the archive of" in seen.plain_text
    assert "*cleo* #general" in seen.plain_text
    assert seen.controls == ()
    assert texts.shared_in("payments") in after.plain_text
    assert texts.BACK_TO_RESULTS in after.button_texts()
    assert "Lunch is at the harbour" in seen.text
    assert "Shared by ada" in seen.text


async def test_links_do_not_unfurl_and_nothing_is_replaced(office: Office) -> None:
    await confirm(office, await ask_to_share(office))

    [sent] = posted(office)
    assert (sent["unfurl_links"], sent["unfurl_media"], sent["replace_original"]) == (False, False, False)


async def test_cancel_leads_back_to_the_hit_and_posts_nothing(office: Office) -> None:
    more = await office.press(await ask_to_share(office), texts.CANCEL)

    assert texts.SHARE_TO_CHANNEL in more.button_texts()
    assert texts.GOOD_RESULT in more.button_texts()
    assert posted(office) == []


async def test_what_is_in_the_message_pings_nobody(office: Office) -> None:
    """B42: the recorder would have noted a mention; what was typed as one stands there as text."""
    after = await confirm(office, await ask_to_share(office, into=GENERAL, command="hostile"))
    [seen] = public(office, GENERAL)

    assert texts.shared_in("general") in after.plain_text
    assert "hostile" in seen.plain_text
    assert not [block for block in seen.blocks if block["type"] == "section"]
    assert office.slack.recorder.notifications == []


async def test_code_and_other_scripts_survive(office: Office) -> None:
    await confirm(office, await ask_to_share(office, into=GENERAL, command="rtl fence"))
    [seen] = public(office, GENERAL)

    code = [part for one in seen.blocks if one["type"] == "rich_text" for part in one["elements"] if "border" in part]
    assert code[0]["elements"][0]["text"] == "code <b>&</b>"
    assert "שלום" in seen.plain_text


async def test_a_giant_message_is_cut(office: Office) -> None:
    await confirm(office, await ask_to_share(office, into=GENERAL, command="giant"))
    [seen] = public(office, GENERAL)

    assert len(seen.plain_text) < 2_000
    assert "…" in seen.plain_text


Prepare = Callable[[Office], object]


def nothing(_: Office) -> None:
    """Leave the workspace as it is."""


REFUSED: list[tuple[str, str, Prepare, str]] = [
    ("guests", GENERAL, nothing, texts.SHARE_GUESTS),
    ("external", SHARED, nothing, texts.SHARE_EXTERNAL),
    ("became shared", PAYMENTS, lambda office: office.slack.share(PAYMENTS), texts.SHARE_EXTERNAL),
    (
        "invitation pending",
        PAYMENTS,
        lambda office: office.slack.world.change_channel(PAYMENTS, is_pending_ext_shared=True),
        texts.SHARE_EXTERNAL,
    ),
    (
        "external person inside",
        PAYMENTS,
        lambda office: office.slack.join(PAYMENTS, EVE),
        texts.SHARE_EXTERNAL,
    ),
    ("guest joined", PAYMENTS, lambda office: office.slack.join(PAYMENTS, GUS), texts.SHARE_GUESTS),
    ("archived", PAYMENTS, lambda office: office.slack.archive(PAYMENTS), texts.SHARE_ARCHIVED),
    ("read-only", PAYMENTS, lambda office: office.slack.make_read_only(PAYMENTS), texts.SHARE_READ_ONLY),
    ("left", PAYMENTS, lambda office: office.slack.leave(PAYMENTS, ADA), texts.SHARE_LEFT),
    ("gone", PAYMENTS, lambda office: office.slack.delete_message(OLD, "1760620000.000100"), texts.SHARE_DELETED),
    (
        "bot not there",
        TEAM_ROOM,
        lambda office: office.slack.leave(TEAM_ROOM, BOT),
        texts.SHARE_UNKNOWN_CHANNEL,
    ),
]


@pytest.mark.parametrize(("name", "into", "prepare", "sentence"), REFUSED, ids=[one[0] for one in REFUSED])
async def test_it_is_refused_and_says_why(
    office: Office, name: str, into: str, prepare: Prepare, sentence: str
) -> None:
    answer = await office.ask("archived zebra", channel=into)
    more = await office.press(answer, texts.MORE)
    prepare(office)
    await asyncio.sleep(0.1)
    refused = await office.press(more, texts.SHARE_TO_CHANNEL)

    assert refused.plain_text.startswith(sentence), name
    assert texts.BACK_TO_RESULTS in refused.button_texts()
    assert posted(office) == []


CHANGED = [one for one in REFUSED if one[2] is not nothing]


@pytest.mark.parametrize(("name", "into", "prepare", "sentence"), CHANGED, ids=[one[0] for one in CHANGED])
async def test_it_is_looked_at_again_right_before_posting(
    office: Office, name: str, into: str, prepare: Prepare, sentence: str
) -> None:
    question = await ask_to_share(office, into=into, command="archived zebra")
    assert texts.SHARE in question.button_texts(), name
    prepare(office)
    await asyncio.sleep(0.1)
    refused = await confirm(office, question)

    assert refused.plain_text.startswith(sentence), name
    assert posted(office) == []


async def test_a_channel_that_is_too_large_to_look_through_is_refused_early(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "MOST_MEMBERS", 10)
    refused = await ask_to_share(office)

    assert refused.plain_text.startswith(texts.SHARE_TOO_MANY)
    assert office.slack.recorder.calls_to("conversations.members") == []


async def test_members_are_read_page_by_page_and_no_further_than_needed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.slack.core.page_items = 4
    question = await ask_to_share(office)
    pages = len(office.slack.recorder.calls_to("conversations.members"))
    count = len([ADA, BEN, CLEO, *CROWD])

    assert texts.SHARE in question.button_texts()
    assert pages == -(-count // 4)
    members = await office.bot.services.workspace.members_now(PAYMENTS, most=5, deadline=office.bot.services.deadline())
    assert members is None
    assert len(office.slack.recorder.calls_to("conversations.members")) == pages + 2


async def test_a_private_channels_message_is_shared_only_where_it_was_written(office: Office) -> None:
    """B39: a private answer never becomes public."""
    office.slack.join(SECRET, BOT)
    elsewhere = await ask_to_share(office, into=TEAM_ROOM, command="secret merger")
    at_home = await ask_to_share(office, into=SECRET, command="secret merger")
    after = await confirm(office, at_home)

    assert elsewhere.plain_text.startswith(texts.SHARE_PRIVATE_SOURCE)
    assert texts.shared_in("secret-plans") in after.plain_text
    assert len(public(office, SECRET, user=ADA)) == 1


async def test_a_source_that_was_made_private_is_private(office: Office) -> None:
    question = await ask_to_share(office, into=TEAM_ROOM)
    office.slack.make_private(GENERAL)
    refused = await confirm(office, question)

    assert refused.plain_text.startswith(texts.SHARE_PRIVATE_SOURCE)
    assert posted(office) == []


async def test_the_same_channel_needs_no_look_at_its_guests(office: Office) -> None:
    after = await confirm(office, await ask_to_share(office, into=GENERAL))

    assert texts.shared_in("general") in after.plain_text
    assert [one.plain_text for one in public(office, GENERAL, user=GUS)] != []
    assert office.slack.recorder.calls_to("conversations.members") == []


async def test_guests_who_are_in_the_source_may_read_it(office: Office) -> None:
    office.slack.join(PAYMENTS, GUS)
    after = await confirm(office, await ask_to_share(office))

    assert texts.shared_in("payments") in after.plain_text


async def test_a_private_channel_with_the_bot_may_get_a_public_message(office: Office) -> None:
    after = await confirm(office, await ask_to_share(office, into=TEAM_ROOM))

    assert texts.shared_in("team-room") in after.plain_text
    assert len(public(office, TEAM_ROOM)) == 1


async def test_direct_messages_get_nothing(office: Office) -> None:
    direct = office.slack.world.open_dm({ADA, BEN}, created=0)
    refused = await ask_to_share(office, into=direct.id)

    assert refused.plain_text.startswith(texts.SHARE_UNKNOWN_CHANNEL)
    assert posted(office) == []


async def test_a_guest_may_share_what_everybody_there_may_read(office: Office) -> None:
    office.slack.join(PAYMENTS, GUS)
    await asyncio.sleep(0.1)
    question = await ask_to_share(office, user=GUS)
    await confirm(office, question, user=GUS)
    [seen] = public(office, PAYMENTS)

    assert "Shared by gus" in seen.plain_text


async def test_a_double_press_posts_once(office: Office) -> None:
    question = await ask_to_share(office)
    person = office.slack.person(ADA)
    sent = len(office.slack.recorder.calls_to("response_url"))
    presses = [person.click(question, action_id=SHARE_CONFIRM_ACTION) for _ in range(2)]
    await asyncio.gather(*presses)
    await eventually(lambda: len(office.slack.recorder.calls_to("response_url")) == sent + 3)

    assert len(public(office, PAYMENTS)) == 1
    assert len(posted(office)) == 1


async def test_two_processes_with_one_store_post_once(archive: Path, tmp_path: Path) -> None:
    """Slack gives each press to any connection: the second press may reach the other process."""
    store = tmp_path / "store.sqlite3"
    async with running_bot(archive, store=store, secret="one secret of two processes") as office:
        other = await start_bot(
            bot_settings(office.slack, archive, store=store, secret="one secret of two processes"), clock=office.clock
        )
        try:
            await office.slack.wait_connected(2)
            question = await ask_to_share(office)
            person = office.slack.person(ADA)
            sent = len(office.slack.recorder.calls_to("response_url"))
            await asyncio.gather(*(person.click(question, action_id=SHARE_CONFIRM_ACTION) for _ in range(6)))
            await eventually(lambda: len(office.slack.recorder.calls_to("response_url")) == sent + 7)
        finally:
            await other.stop()

        assert len(public(office, PAYMENTS)) == 1


async def test_another_question_may_share_it_again(office: Office) -> None:
    for _ in range(2):
        await confirm(office, await ask_to_share(office))

    assert len(public(office, PAYMENTS)) == 2


@pytest.mark.parametrize(
    ("fault", "method"),
    [
        ("status_500", "conversations.info"),
        ("status_500", "conversations.members"),
        ("rate_limited", "conversations.members"),
        ("malformed_json", "chat.getPermalink"),
        ("error", "users.list"),
        ("error", "users.conversations"),
    ],
)
async def test_what_slack_does_not_confirm_is_not_shared(office: Office, fault: Any, method: str) -> None:
    more = await office.press(await office.ask(NO_FIGURES, channel=PAYMENTS), texts.MORE)
    office.bot.services.workspace.drop_channels()
    office.slack.fault(fault, method=method, times=-1)
    refused = await office.press(more, texts.SHARE_TO_CHANNEL)
    office.slack.faults.clear()
    asked = await office.press(refused, texts.SHARE_TO_CHANNEL)

    assert refused.plain_text.startswith(texts.SHARE_UNCONFIRMED)
    if fault != "rate_limited":
        assert texts.SHARE in asked.button_texts()
    assert posted(office) == []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [("response_url_404", texts.SHARE_NOT_TAKEN), ("status_500", texts.SHARE_NOT_CONFIRMED)],
)
async def test_what_slack_does_not_post_is_said(office: Office, tmp_path: Path, fault: Any, sentence: str) -> None:
    question = await ask_to_share(office)
    office.slack.fault(fault, method="response_url", times=1)
    after = await confirm(office, question)

    assert after.plain_text.startswith(sentence)
    assert public(office, PAYMENTS) == []
    await eventually(lambda: any(one.event == "error" for one in read_audit(tmp_path / "audit")))


async def test_refusals_are_audited_with_their_reason(office: Office, tmp_path: Path) -> None:
    await ask_to_share(office, into=GENERAL, command="archived zebra")
    await eventually(lambda: any(one.event == "refused" for one in read_audit(tmp_path / "audit")))
    [entry] = [one for one in read_audit(tmp_path / "audit") if one.event == "refused"]

    assert (entry.user_id, entry.channel_id, entry.reason) == (ADA, GENERAL, "share_guests")


async def test_shares_are_audited_without_anybodys_words(office: Office, tmp_path: Path) -> None:
    await confirm(office, await ask_to_share(office))
    await eventually(lambda: any(one.event == "share" for one in read_audit(tmp_path / "audit")))
    [entry] = [one for one in read_audit(tmp_path / "audit") if one.event == "share"]

    assert (entry.user_id, entry.channel_id, entry.reason) == (ADA, PAYMENTS, None)
    assert "harbour" not in entry.model_dump_json()
    assert LUNCH in entry.model_dump_json()


async def test_the_scopes_stay_as_they_are(office: Office) -> None:
    """A share is posted by the press's own response_url: the bot can write nowhere by itself."""
    await confirm(office, await ask_to_share(office))

    assert "chat:write" not in office.slack.manifest.bot_scopes
    assert office.slack.recorder.calls_to("chat.postMessage") == []
