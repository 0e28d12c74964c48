"""The Home tab, through the real bot: what it shows to whom, its search box, recent searches, and broken days."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot import texts
from bot.audit import read_audit
from bot.buttons import HOME_CLEAR_ACTION, HOME_FORM_ACTION, HOME_RECENT_ACTION, HOME_SEARCH_ACTION
from localslack.driver import Person
from localslack.seen import SeenView
from tests.bot_harness import (
    ADA,
    BEN,
    DORA,
    GUS,
    ROBO,
    Office,
    build_archive,
    copy_archive,
    eventually,
    newer_export,
    running_bot,
)
from tests.log_capture import captured_log


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
def archive(built: Path, tmp_path: Path) -> Path:
    return copy_archive(built, tmp_path / "archive")


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    settings = {"store": tmp_path / "store.sqlite3", "audit_dir": tmp_path / "audit", "admins": frozenset({ADA})}
    async with running_bot(archive, **settings) as office:
        yield office


def published(office: Office) -> int:
    """How often a Home tab was published."""
    return len(office.slack.recorder.calls_to("views.publish"))


async def opened(office: Office, user: str = BEN) -> SeenView:
    """Open the tab and wait until it stands."""
    person = office.slack.person(user)
    await person.open_home()
    await person.wait_until(lambda: person.home is not None)
    await settled(office)
    return home_of(person)


async def settled(office: Office) -> None:
    """Wait until every event is acked and its work done; the work may begin a moment after the ack."""
    await office.slack.events.settled()
    await asyncio.sleep(0.1)
    await done(office)


def home_of(person: Person) -> SeenView:
    seen = person.home
    assert seen is not None
    return seen


def rows(home: SeenView) -> list[str]:
    """The searches that it lists."""
    return [block["fields"][0]["text"] for block in home.blocks if "fields" in block]


async def done(office: Office) -> None:
    await eventually(lambda: office.bot.services.guard.running == 0, seconds=15)


def modal(office: Office, user: str = BEN) -> SeenView:
    return office.slack.person(user).views[-1]


async def test_it_shows_freshness_a_search_box_recent_searches_and_help(office: Office) -> None:
    home = await opened(office)

    assert "Archive of" in home.plain_text
    assert texts.HOME_TEXT in home.plain_text
    assert texts.RECENTS_NONE in home.plain_text
    assert "has:link" in home.plain_text
    assert [one.text for one in home.controls if one.type == "button"] == [texts.SEARCH, texts.HOME_FORM]


async def test_health_and_swaps_are_for_admins_alone(office: Office) -> None:
    assert "For admins" not in (await opened(office)).plain_text

    home = await opened(office, ADA)

    assert "For admins" in home.plain_text
    assert texts.STORE_WORKS in home.plain_text
    assert "58 documents" in home.plain_text


async def test_admins_see_why_a_newcomer_is_not_served_and_what_was_served_before(
    office: Office, archive: Path, tmp_path: Path
) -> None:
    build_archive(archive, made=newer_export())
    await office.bot.services.watch.check()
    (archive / "current.duckdb").unlink()
    (archive / "current.duckdb").write_bytes(b"no archive")
    state = await office.bot.services.watch.check()
    assert state.problem is not None

    home = await opened(office, ADA)

    assert state.problem.split(":")[0] in home.plain_text
    assert home.plain_text.index("59 documents") < home.plain_text.index("58 documents")
    assert texts.NEW_ARCHIVE_REFUSED in (await opened(office)).plain_text
    assert state.problem not in (await opened(office)).plain_text


async def test_a_search_from_the_box_opens_its_results_and_joins_the_recent_ones(office: Office) -> None:
    home = await opened(office)
    person = office.slack.person(BEN)

    await person.fill(home, {"home_text": "rate limit in:#payments"}).enter()
    await done(office)

    assert "results 1 to 5" in modal(office).plain_text
    assert "in #payments" in modal(office).plain_text
    assert rows(home_of(person)) == ["rate limit in:#payments"]


async def test_the_search_button_takes_what_stands_in_the_box(office: Office) -> None:
    home = await opened(office)
    person = office.slack.person(BEN)
    person.enter(home, next(one for one in home.controls if one.action_id == "home_text"), "zebra")

    await person.click(home, action_id=HOME_SEARCH_ACTION)
    await done(office)

    assert "zebra" in modal(office).plain_text


@pytest.mark.parametrize(("action_id", "typed"), [(HOME_SEARCH_ACTION, ""), (HOME_FORM_ACTION, "zebra in:#payments")])
async def test_more_options_and_an_empty_box_open_the_form(office: Office, action_id: str, typed: str) -> None:
    home = await opened(office)
    person = office.slack.person(BEN)
    if typed:
        person.enter(home, next(one for one in home.controls if one.action_id == "home_text"), typed)

    await person.click(home, action_id=action_id)
    await done(office)

    form = modal(office)
    assert form.title == texts.FORM_TITLE
    assert any(one.block_id == "form_text" for one in form.controls)


async def test_results_page_in_the_modal_that_the_tab_opened(office: Office) -> None:
    home = await opened(office)
    person = office.slack.person(BEN)
    await person.fill(home, {"home_text": "rate limit"}).enter()
    await done(office)

    await person.click(modal(office), text=texts.NEXT)
    await done(office)

    assert "results 6 to 10" in modal(office).plain_text


async def test_a_recent_search_is_run_again(office: Office) -> None:
    await office.ask("rate limit", user=BEN)
    await office.ask("zebra", user=BEN)
    home = await opened(office)
    assert rows(home) == ["zebra", "rate limit"]
    person = office.slack.person(BEN)

    await person.click(home, action_id=HOME_RECENT_ACTION, index=1)
    await done(office)

    assert "results 1 to 5" in modal(office).plain_text
    assert rows(home_of(person)) == ["rate limit", "zebra"]


async def test_clear_erases_ones_own_searches_from_the_tab(office: Office) -> None:
    await office.ask("rate limit", user=BEN)
    await office.ask("lunch", user=ADA)
    home = await opened(office)
    person = office.slack.person(BEN)

    await person.click(home, action_id=HOME_CLEAR_ACTION)
    await done(office)

    assert rows(home_of(person)) == []
    assert texts.RECENTS_NONE in home_of(person).plain_text
    assert rows(await opened(office, ADA)) == ["lunch"]


async def test_what_is_wrong_with_a_search_stands_in_the_form_where_it_can_be_mended(office: Office) -> None:
    home = await opened(office)
    person = office.slack.person(BEN)

    await person.fill(home, {"home_text": "lunch in:#nowhere"}).enter()
    await done(office)

    form = modal(office)
    assert "nowhere" in form.plain_text
    assert any(one.block_id == "form_text" for one in form.controls)


async def test_a_tab_that_shows_the_same_is_not_published_again(office: Office) -> None:
    await opened(office)
    assert published(office) == 1

    await opened(office)

    assert published(office) == 1
    await office.ask("rate limit", user=BEN)
    await opened(office)
    assert published(office) == 2


async def test_the_messages_tab_is_not_the_home_tab(office: Office) -> None:
    office.slack.events.send({"type": "app_home_opened", "user": BEN, "channel": "D1", "tab": "messages"})
    await settled(office)

    assert published(office) == 0


@pytest.mark.parametrize(("user", "sentence"), [(DORA, texts.REFUSED_DELETED), (ROBO, texts.REFUSED_BOT)])
async def test_whoever_is_not_served_gets_a_plain_tab(office: Office, tmp_path: Path, user: str, sentence: str) -> None:
    home = await opened(office, user)

    assert home.plain_text.strip() == sentence
    assert home.controls == ()
    assert published(office) == 1
    await office.bot.stop()
    assert [record.user_id for record in read_audit(tmp_path / "audit") if record.event == "refused"] == [user]


async def test_a_guest_has_a_tab_of_their_own(office: Office) -> None:
    await office.ask("harbour", user=GUS)

    assert rows(await opened(office, GUS)) == ["harbour"]


async def test_when_slack_does_not_say_who_it_is_an_empty_tab_says_so_and_a_full_one_stays(office: Office) -> None:
    office.slack.fault("error", method="users.info", times=1)
    home = await opened(office)
    assert texts.SLACK_DID_NOT_ANSWER in home.plain_text

    home = await opened(office)
    assert "Archive of" in home.plain_text
    office.bot.services.workspace.drop_person(BEN)
    office.slack.fault("error", method="users.info", times=1)
    assert "Archive of" in (await opened(office)).plain_text


async def test_a_publication_that_slack_refuses_is_logged_and_the_next_works(office: Office) -> None:
    office.slack.fault("rate_limited", method="views.publish")
    with captured_log() as log:
        await office.slack.person(BEN).open_home()
        await eventually(lambda: "home_not_published" in log.events())
    await done(office)

    assert "Archive of" in (await opened(office)).plain_text


async def test_when_the_window_cannot_be_opened_the_tab_says_so(office: Office) -> None:
    home = await opened(office)
    office.slack.fault("error", method="views.open", error="expired_trigger_id")
    person = office.slack.person(BEN)

    await person.fill(home, {"home_text": "rate limit"}).enter()
    await done(office)

    assert texts.HOME_NOT_OPENED in home_of(person).plain_text
    assert texts.HOME_NOT_OPENED not in (await opened(office)).plain_text


async def test_a_button_of_before_an_upgrade_says_so_and_the_tab_is_drawn_afresh(office: Office) -> None:
    await office.ask("rate limit", user=BEN)
    home = await opened(office)
    person = office.slack.person(BEN)
    office.clock.ahead += 40 * 86_400

    await person.click(home, action_id=HOME_RECENT_ACTION)
    await done(office)

    assert texts.BUTTON_EXPIRED in modal(office).plain_text
    await person.click(home_of(person), action_id=HOME_RECENT_ACTION)
    await done(office)
    assert "results 1 to 5" in modal(office).plain_text


async def test_a_button_that_nobody_knows_any_more_says_so_in_a_modal(office: Office) -> None:
    await opened(office)
    label = {"type": "plain_text", "text": "Old", "emoji": False}
    old: dict[str, Any] = {"type": "button", "text": label, "action_id": "of_before", "value": "old"}
    view = {"type": "home", "blocks": [{"type": "actions", "elements": [old]}]}
    await office.bot.services.client.views_publish(user_id=BEN, view=view)
    person = office.slack.person(BEN)

    await person.click(home_of(person), action_id="of_before")
    await done(office)

    assert texts.BUTTON_OLD in modal(office).plain_text
    assert "Archive of" in home_of(person).plain_text


async def test_without_recent_searches_the_tab_says_so(archive: Path) -> None:
    async with running_bot(archive, store=None) as office:
        home = await opened(office)
        assert texts.RECENTS_OFF in home.plain_text
        person = office.slack.person(BEN)
        await person.fill(home, {"home_text": "rate limit"}).enter()
        await done(office)
        assert "results 1 to 5" in modal(office).plain_text


async def test_with_a_broken_store_the_tab_stands_and_admins_are_told(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(b"no database" * 1000)
    async with running_bot(archive, store=path, admins=frozenset({ADA})) as office:
        assert texts.RECENTS_UNREADABLE in (await opened(office)).plain_text
        assert texts.STORE_FAILS in (await opened(office, ADA)).plain_text


async def test_without_an_archive_the_tab_says_so(tmp_path: Path) -> None:
    async with running_bot(tmp_path / "none") as office:
        assert texts.STATUS_NO_ARCHIVE in (await opened(office)).plain_text


async def test_many_open_it_at_once(office: Office) -> None:
    people = [one.id for one in office.slack.workspace.users if not one.deleted and not one.is_bot][:12]

    await asyncio.gather(*(office.slack.person(user).open_home() for user in people))
    await eventually(lambda: all(office.slack.person(user).home is not None for user in people))
