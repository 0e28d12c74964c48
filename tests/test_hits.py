"""More and votes, through the real bot in a local Slack: one hit redrawn in place, and what its reader says of it."""

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot import texts
from bot.action_state import MoreState, decode_state, encode_state
from bot.asking import signer_for
from bot.audit import read_audit
from bot.buttons import GOOD_ACTION, MORE_ACTION
from bot.payloads import Asked
from localslack.seen import SeenMessage
from tests.bot_harness import (
    ADA,
    BEN,
    GENERAL,
    PAYMENTS,
    SECRET,
    Office,
    build_archive,
    copy_archive,
    eventually,
    export,
    running_bot,
)
from tests.export_factory import TEAM_ID
from tests.test_form import open_by_command, submit
from tests.test_modals import press as press_in_modal

GOOD, MARKED_GOOD = texts.GOOD_RESULT, texts.marked(texts.GOOD_RESULT)
BAD, MARKED_BAD = texts.NOT_RELEVANT, texts.marked(texts.NOT_RELEVANT)
Row = dict[str, object]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hits") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
async def office(archive: Path, file: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, store=file, audit_dir=tmp_path / "audit") as office:
        yield office


async def more_of(office: Office, command: str = "rate limit 429", *, nth: int = 0, user: str = ADA) -> SeenMessage:
    answer = await office.ask(command, user=user)
    return await office.press(answer, texts.MORE, user=user, nth=nth)


def votes(file: Path) -> list[Row]:
    with sqlite3.connect(file) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM votes ORDER BY voted_us")]


async def test_more_redraws_the_hit_in_place_with_its_citation(office: Office) -> None:
    more = await more_of(office)

    assert more.button_texts() == [
        texts.OPEN_IN_SLACK,
        texts.FIND_SIMILAR,
        texts.SHARE_TO_CHANNEL,
        GOOD,
        BAD,
        texts.BACK_TO_RESULTS,
    ]
    assert "*1. ben* #payments 9 Oct 2025, 08:53 UTC" in more.plain_text
    assert "Workspace Example" in more.plain_text
    assert f"{texts.CITED_DOCUMENT} {TEAM_ID}:{PAYMENTS}:1760000000.000100" in more.plain_text
    assert len([one for one in office.slack.person(ADA).messages(GENERAL) if one.by_app]) == 1


async def test_the_time_is_the_readers_own(office: Office) -> None:
    more = await more_of(office)

    assert "<!date^1760000000^{date_short_pretty} at {time}|" in json.dumps(more.blocks)


async def test_the_document_id_stands_alone_and_can_be_copied(office: Office) -> None:
    more = await more_of(office)

    runs = [run for block in more.blocks if block["type"] == "rich_text" for run in block["elements"][0]["elements"]]
    code = [run["text"] for run in runs if run.get("style", {}).get("code")]
    assert code == [f"{TEAM_ID}:{PAYMENTS}:1760000000.000100"]


async def test_screen_readers_get_the_whole_hit(office: Office) -> None:
    more = await more_of(office)
    voted = await office.press(more, BAD)

    for said in ("ben in #payments", "hit rate limit 429 again, case 0", "Workspace: Example", "Document: T1TEST:C2:"):
        assert said in more.text
    assert texts.VOTE_KEPT in voted.text
    assert texts.vote_now(BAD) in voted.text
    labels = [one.element.get("accessibility_label") for one in voted.controls if one.text == MARKED_BAD]
    assert labels == [texts.your_vote(BAD)]


async def test_find_similar_leads_to_its_results_and_back(office: Office) -> None:
    more = await more_of(office)
    similar = await office.press(more, texts.FIND_SIMILAR)
    back = await office.press(similar, texts.BACK_TO_RESULTS)

    assert "case 1" in similar.plain_text
    assert "case 0" in back.plain_text
    assert "results 1 to 5" in back.plain_text


async def test_back_leads_to_the_very_page(office: Office) -> None:
    answer = await office.ask("rate limit 429 in:#payments mode:lexical")
    second = await office.press(answer, texts.NEXT)
    more = await office.press(second, texts.MORE, nth=2)
    back = await office.press(more, texts.BACK_TO_RESULTS)

    assert "results 6 to 10" in back.plain_text
    assert back.plain_text == second.plain_text


async def test_a_vote_is_kept_marked_changed_and_withdrawn(office: Office, file: Path) -> None:
    more = await more_of(office, nth=1)

    good = await office.press(more, GOOD)
    assert [texts.VOTE_KEPT in good.plain_text, MARKED_GOOD in good.button_texts()] == [True, True]
    [kept] = votes(file)
    bad = await office.press(good, BAD)
    assert [GOOD in bad.button_texts(), MARKED_BAD in bad.button_texts()] == [True, True]
    [changed] = votes(file)
    none = await office.press(bad, MARKED_BAD)

    assert texts.VOTE_WITHDRAWN in none.plain_text
    assert {GOOD, BAD} <= set(none.button_texts())
    assert votes(file) == []
    assert (kept["verdict"], changed["verdict"]) == ("good", "not_relevant")
    assert (kept["rank"], kept["mode"], kept["text"]) == (2, "hybrid", "rate limit 429")
    assert kept["artifact_id"] == office.bot.services.watch.state.info.artifact_id  # type: ignore[union-attr]


async def test_the_present_vote_is_marked_when_the_hit_is_met_again(office: Office) -> None:
    await office.press(await more_of(office), GOOD)

    again = await more_of(office, "  RATE limit   429 ")
    elsewhere = await more_of(office, "partner tier")

    assert MARKED_GOOD in again.button_texts()
    assert MARKED_GOOD not in elsewhere.button_texts()


async def test_votes_are_each_persons_own(office: Office, file: Path) -> None:
    await office.press(await more_of(office), GOOD)
    of_ben = await more_of(office, user=BEN)
    await office.press(of_ben, BAD, user=BEN)

    assert MARKED_GOOD not in of_ben.button_texts()
    assert {(row["user_id"], row["verdict"]) for row in votes(file)} == {(ADA, "good"), (BEN, "not_relevant")}


async def test_a_second_press_of_the_same_button_changes_nothing(office: Office, file: Path) -> None:
    """Whoever presses twice does not withdraw what the first press said: the button says what it does."""
    more = await more_of(office)
    person = office.slack.person(ADA)
    sent = len(office.slack.recorder.calls_to("response_url"))
    await asyncio.gather(person.click(more, action_id=GOOD_ACTION), person.click(more, action_id=GOOD_ACTION))
    await eventually(lambda: len(office.slack.recorder.calls_to("response_url")) == sent + 2)

    assert [row["verdict"] for row in votes(file)] == ["good"]
    assert MARKED_GOOD in person.current_message(more).button_texts()


@pytest.mark.parametrize("setting", [{"store": None}, {"votes": False}])
async def test_without_votes_there_are_no_vote_buttons(archive: Path, file: Path, setting: dict[str, object]) -> None:
    async with running_bot(archive, **{"store": file, **setting}) as office:
        more = await more_of(office)

    assert not {GOOD, BAD} & set(more.button_texts())
    assert texts.TOO_LONG_TO_VOTE not in more.plain_text
    assert texts.BACK_TO_RESULTS in more.button_texts()


async def test_where_the_store_fails_a_sentence_says_so_and_nothing_else_is_lost(archive: Path, tmp_path: Path) -> None:
    async with running_bot(archive, store=tmp_path) as office:
        more = await more_of(office)
        voted = await office.press(more, GOOD)
        back = await office.press(voted, texts.BACK_TO_RESULTS)

    assert texts.VOTE_NOT_KEPT in voted.plain_text
    assert GOOD in voted.button_texts()
    assert "results 1 to 5" in back.plain_text


async def test_a_search_too_long_for_a_vote_says_so_and_keeps_its_way_back(office: Office) -> None:
    answer = await longest(office, lambda state: state.is_cut and state.back is not None)
    more = await office.press(answer, texts.MORE)
    back = await office.press(more, texts.BACK_TO_RESULTS)

    assert texts.TOO_LONG_TO_VOTE in more.plain_text
    assert not {GOOD, BAD} & set(more.button_texts())
    assert texts.OPEN_IN_SLACK in more.button_texts()
    assert "results 1 to" in back.plain_text


async def test_a_search_too_long_for_a_way_back_offers_a_new_one(office: Office) -> None:
    answer = await longest(office, lambda state: state.back is None)
    more = await office.press(answer, texts.MORE)

    assert texts.TOO_LONG_TO_VOTE in more.plain_text
    assert texts.BACK_TO_RESULTS not in more.button_texts()
    assert texts.NEW_SEARCH in more.button_texts()


async def longest(office: Office, wanted: Callable[[MoreState], bool]) -> SeenMessage:
    """Search by texts of many lengths until a hit's More button is as wanted, and return that answer."""
    for length in range(1_700, 3_000, 50):
        answer = await office.ask(f"429 {noise(length)}")
        if wanted(carried(office, answer)):
            return answer
    raise AssertionError("no length gave such a button")


def carried(office: Office, answer: SeenMessage) -> MoreState:
    """Return what the first More button of an answer carries."""
    value = next(one.value for one in answer.controls if one.action_id == MORE_ACTION)
    state = decode_state(value, office.bot.services.state_key, now_s=0, user_id=ADA, team_id=TEAM_ID)
    assert isinstance(state, MoreState)
    return state


def noise(length: int) -> str:
    """Return words that cannot be packed."""
    letters = random.Random(7)  # noqa: S311 - no secret
    return " ".join("".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=12)) for _ in range(length // 13))


async def test_a_hit_that_a_newer_archive_no_longer_holds_is_not_found(archive: Path, tmp_path: Path) -> None:
    folder = copy_archive(archive, tmp_path / "archive")
    async with running_bot(folder) as office:
        answer = await office.ask("lunch harbour friday")
        made = export()
        made._messages[GENERAL] = [one for one in made._messages[GENERAL] if "Lunch" not in str(one["text"])]
        build_archive(folder, made=made)
        await office.bot.services.watch.check()
        await office.press_and_tell(answer, texts.MORE, said=texts.NOT_FOUND)


async def test_a_hit_of_a_channel_that_the_asker_has_left_is_not_found(office: Office) -> None:
    office.slack.join(SECRET, "UBOT")
    answer = await office.ask("secret merger")
    office.slack.leave(SECRET, ADA)
    await asyncio.sleep(0.2)

    await office.press_and_tell(answer, texts.MORE, said=texts.NOT_FOUND)


async def test_votes_are_audited_without_anybodys_words(archive: Path, file: Path, tmp_path: Path) -> None:
    async with running_bot(archive, store=file, audit_dir=tmp_path / "audit", audit_query_text="full") as office:
        good = await office.press(await more_of(office), GOOD)
        await office.press(good, MARKED_GOOD)
    entries = [one for one in read_audit(tmp_path / "audit") if one.event == "vote"]

    assert [(one.reason, one.user_id, one.channel_id, one.query) for one in entries] == [
        ("good", ADA, GENERAL, None),
        ("withdrawn", ADA, GENERAL, None),
    ]
    assert all("429" not in one.model_dump_json() for one in entries)


async def test_old_and_strange_buttons_of_a_hit_get_a_sentence(office: Office) -> None:
    """Before an upgrade, of somebody else, forged, too old: never an exception, never a dead button."""
    more = await more_of(office)
    office.clock.ahead += 31 * 60
    expired = await office.press(more, GOOD)

    assert texts.BUTTON_EXPIRED in expired.plain_text
    assert texts.SEARCH_AGAIN in expired.button_texts()
    again = await office.press(expired, texts.SEARCH_AGAIN)
    assert "results 1 to 5" in again.plain_text


async def test_a_more_button_made_before_votes_were_carried_still_works(office: Office) -> None:
    answer = await office.ask("rate limit 429")
    button = next(one for one in answer.controls if one.action_id == MORE_ACTION)
    state = carried(office, answer).model_copy(update={"judged": None})
    button.element["value"] = encode_state(state, office.bot.services.state_key)
    more = await office.press(answer, texts.MORE)

    assert "*ben* #payments" in more.plain_text
    assert not {GOOD, BAD} & set(more.button_texts())


@pytest.mark.parametrize("label", [texts.MORE, GOOD, texts.SHARE_TO_CHANNEL])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda value: value[:-30], texts.BUTTON_FORGED),
        (lambda value: "v0" + value[2:], texts.BUTTON_OLD),
        (lambda _: "hit:12", texts.BUTTON_FORGED),
    ],
    ids=["cut", "older", "of another app"],
)
async def test_a_button_of_a_hit_that_is_not_ours_as_it_stands_says_so(
    office: Office, label: str, change: Callable[[str], str], sentence: str
) -> None:
    place = await (office.ask("rate limit 429") if label == texts.MORE else more_of(office))
    button = next(one for one in place.controls if one.text == label)
    button.element["value"] = change(str(button.value))
    answered = await office.press(place, label)

    assert sentence in answered.plain_text
    assert texts.NEW_SEARCH in answered.button_texts()


async def test_a_button_of_a_hit_made_for_somebody_else_says_so_and_leaves_the_hit(office: Office) -> None:
    of_ben = await more_of(office, user=BEN)
    more = await more_of(office)
    value = next(one.value for one in of_ben.controls if one.text == GOOD)
    next(one for one in more.controls if one.text == GOOD).element["value"] = value
    await office.press_and_tell(more, GOOD, said=texts.BUTTON_FOREIGN)


async def test_in_a_modal_a_hit_is_voted_on_and_not_shared(office: Office, file: Path) -> None:
    """A modal stands in no channel: there is no Share, and a press of one from elsewhere says why."""
    results = await submit(office, await open_by_command(office, ADA), ADA, text="rate limit 429")
    more = await press_in_modal(office, results, texts.MORE)
    voted = await press_in_modal(office, more, GOOD)
    share = signer_for(office.bot.services, Asked(user_id=ADA, team_id=TEAM_ID)).share(
        f"{TEAM_ID}:{PAYMENTS}:1760000000.000100", channel_id=GENERAL, nonce="1"
    )
    next(one for one in voted.controls if one.text == BAD).element["value"] = share
    refused = await press_in_modal(office, voted, BAD)

    assert texts.SHARE_TO_CHANNEL not in more.button_texts()
    assert MARKED_GOOD in voted.button_texts()
    assert [row["verdict"] for row in votes(file)] == ["good"]
    assert texts.SHARE_NO_CHANNEL in refused.plain_text
    assert not [one for one in office.slack.person(BEN).messages(GENERAL) if one.by_app]
