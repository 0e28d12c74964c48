"""Recent searches, through the real bot: listed for their owner alone, made again, cleared, and switched off."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import texts
from bot.audit import read_audit
from localslack.seen import SeenMessage
from tests.bot_harness import BEN, CLEO, EVE, GENERAL, PAYMENTS, SHARED, Office, build_archive, running_bot
from tests.log_capture import captured_log


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recents") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, store=tmp_path / "store.sqlite3", audit_dir=tmp_path / "audit") as office:
        yield office


def listed(message: SeenMessage) -> list[str]:
    """The searches that a list shows, in order."""
    return [block["fields"][0]["text"] for block in message.blocks if "fields" in block]


async def test_ones_searches_are_listed_newest_first_each_once(office: Office) -> None:
    for text in ("rate limit in:#payments", "outage E4392", "lunch", "OUTAGE  e4392"):
        await office.ask(text)

    answer = await office.ask("recent")

    assert listed(answer) == ["OUTAGE e4392", "lunch", "rate limit in:#payments"]
    assert answer.is_ephemeral
    for text in ("rate limit in:#payments", "lunch"):
        assert text in answer.text, "a screen reader hears all of it"


async def test_nobody_is_shown_the_searches_of_another(office: Office) -> None:
    await office.ask("rate limit")
    await office.ask("zebra", user=BEN)

    assert listed(await office.ask("recent", user=BEN)) == ["zebra"]
    answer = await office.ask("recent", user=CLEO)
    assert texts.RECENTS_NONE in answer.plain_text


async def test_a_search_is_made_again_with_todays_days_and_becomes_the_newest(office: Office) -> None:
    await office.ask("rate limit from:@ben")
    await office.ask("lunch")
    answer = await office.ask("recent")

    again = await office.press(answer, texts.SEARCH, nth=1)

    assert "rate limit from @ben" in again.plain_text.replace("*", "")
    assert "results 1 to 5" in again.plain_text
    assert listed(await office.ask("recent")) == ["rate limit from:@ben", "lunch"]


async def test_paging_does_not_make_a_recent_search(office: Office) -> None:
    answer = await office.ask("rate limit")
    await office.ask("lunch")
    await office.press(answer, texts.NEXT)

    assert listed(await office.ask("recent")) == ["lunch", "rate limit"]


@pytest.mark.parametrize("text", ["help", "status", "recent", "in:#nowhere rate"])
async def test_what_is_no_search_is_not_listed(office: Office, text: str) -> None:
    await office.ask(text)

    assert texts.RECENTS_NONE in (await office.ask("recent")).plain_text


async def test_recent_in_quotes_or_with_more_words_is_a_search(office: Office) -> None:
    await office.ask('"recent"')
    await office.ask("recent outage")

    assert listed(await office.ask(" Recent ")) == ["recent outage", '"recent"']


async def test_clear_asks_first_and_then_erases(office: Office, tmp_path: Path) -> None:
    await office.ask("rate limit")
    await office.ask("zebra", user=BEN)
    answer = await office.ask("recent")
    clear = next(one for one in answer.controls if one.text == texts.CLEAR_RECENTS)
    assert clear.element["confirm"]["text"]["text"] == texts.CLEAR_RECENTS_QUESTION

    cleared = await office.press(answer, texts.CLEAR_RECENTS)

    assert texts.RECENTS_CLEARED in cleared.plain_text
    assert texts.RECENTS_NONE in (await office.ask("recent")).plain_text
    assert listed(await office.ask("recent", user=BEN)) == ["zebra"]


async def test_a_search_too_long_for_a_button_is_listed_without_one(office: Office) -> None:
    words = " ".join(f"word{number}x{number * 7919}" for number in range(400))
    await office.ask(words)

    answer = await office.ask("recent")

    assert listed(answer)[0].startswith("word0x0 word1x7919")
    assert [one.text for one in answer.controls] == [texts.CLEAR_RECENTS]


async def test_twenty_are_shown(office: Office) -> None:
    for number in range(22):
        await office.ask(f"lunch {number}", user=BEN)

    assert listed(await office.ask("recent", user=BEN)) == [f"lunch {number}" for number in range(21, 1, -1)]


async def test_a_list_of_before_an_upgrade_says_so(office: Office) -> None:
    await office.ask("rate limit")
    answer = await office.ask("recent")
    office.clock.ahead += 3600

    await office.press(answer, texts.SEARCH)

    assert texts.BUTTON_EXPIRED in office.newest().plain_text


async def test_somebody_of_another_workspace_is_refused_and_leaves_nothing(office: Office, tmp_path: Path) -> None:
    person = office.slack.person(EVE)
    await person.type("/slackquery recent", channel=SHARED)
    assert not [seen for seen in person.messages(SHARED) if seen.by_app]


async def test_when_they_are_switched_off_there_are_none(archive: Path, tmp_path: Path) -> None:
    async with running_bot(archive, store=tmp_path / "store.sqlite3", recents=False) as office:
        await office.ask("rate limit")
        assert texts.RECENTS_OFF in (await office.ask("recent")).plain_text
    async with running_bot(archive, store=None) as office:
        await office.ask("rate limit")
        assert texts.RECENTS_OFF in (await office.ask("recent")).plain_text


async def test_with_a_broken_store_searches_go_on_and_recent_says_so(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(b"no database" * 1000)
    with captured_log() as log:
        async with running_bot(archive, store=path) as office:
            assert "results 1 to 5" in (await office.ask("rate limit")).plain_text
            assert texts.RECENTS_UNREADABLE in (await office.ask("recent")).plain_text
    assert log.events().count("store_not_working") == 1


async def test_the_audit_file_tells_of_a_search_made_again_as_of_any(office: Office, tmp_path: Path) -> None:
    await office.ask("rate limit", channel=PAYMENTS)
    answer = await office.ask("recent", channel=GENERAL)
    await office.press(answer, texts.SEARCH)
    await office.bot.stop()

    events = [record.event for record in read_audit(tmp_path / "audit")]
    assert events.count("search") == 2
