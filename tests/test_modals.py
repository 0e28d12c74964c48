"""Results within a modal: pages, threads, similar messages, and everything that can be wrong with a press there."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import texts
from bot.action_state import PageReference
from bot.asking import signer_for
from bot.buttons import MORE_ACTION, NEXT_ACTION, SIMILAR_ACTION
from bot.form_blocks import SEARCH_FORM
from bot.listeners.shortcuts import FIND_SIMILAR
from bot.modal_blocks import RESULTS_VIEW
from bot.payloads import Asked
from localslack.seen import SeenMessage, SeenView
from retrieval import EmbedderFactory, publish
from tests.bot_harness import (
    ADA,
    BEN,
    GENERAL,
    GUS,
    PAYMENTS,
    SECRET,
    TEAM_ID,
    THREAD_REPLIES,
    Office,
    build_archive,
    copy_archive,
    eventually,
    newer_export,
    running_bot,
)
from tests.fake_endpoint import FakeEndpoint, Fault
from tests.test_form import open_by_command, prefilled, submit
from tests.test_scenarios import seeded

HALF_AN_HOUR = 31 * 60


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modals") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, audit_dir=tmp_path / "audit") as office:
        yield office


async def search(office: Office, text: str, user: str = ADA) -> SeenView:
    """Search by the form and return the modal with the results."""
    return await submit(office, await open_by_command(office, user), user, text=text)


async def press(office: Office, view: SeenView, label: str, *, user: str = ADA, nth: int = 0) -> SeenView:
    """Press a button in a modal and return what became of it."""
    person = office.slack.person(user)
    before = person.current_view(view).hash
    control = [one for one in person.current_view(view).controls if one.text == label][nth]
    outcome = await person.click(view, action_id=control.action_id, block_id=control.block_id)
    assert outcome.acked, outcome
    return await person.wait_for_view(lambda seen: seen.hash != before and texts.LOADING not in seen.plain_text)


async def test_pages_lead_to_the_end_and_back_within_the_modal(office: Office) -> None:
    view = await search(office, "rate limit 429 in:payments mode:lexical")
    seen = [view.plain_text]
    while "Next" in view.button_texts():
        view = await press(office, view, "Next")
        seen.append(view.plain_text)

    assert len(seen) == 5
    assert texts.END_OF_RESULTS in seen[-1]
    for _ in range(4):
        view = await press(office, view, "Previous")
    assert view.plain_text == seen[0]
    assert len(office.slack.person(ADA).views) == 1
    assert not [one for one in office.slack.person(ADA).messages(GENERAL) if one.by_app]


async def test_a_thread_opens_under_the_results_and_leads_back(office: Office) -> None:
    results = await search(office, "checkout outage E4392")
    thread = await press(office, results, "Expand thread")
    assert f"messages 1 to 10 of {THREAD_REPLIES + 1}" in thread.plain_text
    assert texts.THE_HIT in thread.plain_text
    thread = await press(office, thread, "Later")
    assert f"messages 11 to 20 of {THREAD_REPLIES + 1}" in thread.plain_text

    back = await press(office, thread, texts.BACK_TO_RESULTS)

    assert back.plain_text == results.plain_text
    assert back.button_texts() == results.button_texts()


async def test_neighbours_and_more_stay_in_the_modal(office: Office) -> None:
    results = await search(office, "lunch harbour Friday mode:lexical")
    neighbours = await press(office, results, "Context")
    assert "The harbour place has no terrace" in neighbours.plain_text
    back = await press(office, neighbours, texts.BACK_TO_RESULTS)
    more = await press(office, back, texts.MORE)
    assert "Lunch is at the harbour" in more.plain_text

    back = await press(office, more, texts.BACK_TO_RESULTS)

    assert back.plain_text == results.plain_text


async def test_new_search_leads_back_to_the_form_as_it_was_filled_in(office: Office) -> None:
    form = await open_by_command(office)
    results = await submit(office, form, text='"partner tier" -zebra', channels=[PAYMENTS], people=[BEN], sort="newest")
    entered = prefilled(results if results.callback_id == SEARCH_FORM else form)
    view = await press(office, await press(office, results, "Next"), texts.NEW_SEARCH)

    assert view.callback_id == SEARCH_FORM
    assert view.id == form.id
    fields = prefilled(view)
    assert (fields.text, fields.channel_ids, fields.user_ids) == ('"partner tier" -zebra', (PAYMENTS,), (BEN,))
    assert entered is not None
    again = await submit(office, view)
    assert again.plain_text == results.plain_text


async def test_a_search_too_long_for_a_button_is_still_in_the_form(office: Office) -> None:
    text = "".join(chr(0x4E00 + number * 7) for number in range(900))
    view = await search(office, text)
    form = await press(office, view, texts.NEW_SEARCH)

    assert prefilled(form).text == text


async def test_somebody_who_pressed_twice_gets_an_answer_and_no_exception(office: Office) -> None:
    """The second press carries a hash that the first answer has made stale."""
    results = await search(office, "rate limit 429 in:payments mode:lexical")
    person = office.slack.person(ADA)
    view = office.slack.core.views.find(results.id)
    assert view is not None
    shown = view.hash
    await press(office, results, "Next")
    now = person.current_view(results)
    view.hash, fresh = shown, view.hash
    answers = len(office.slack.recorder.calls_to("views.update"))
    clicked = person.click(now, action_id=NEXT_ACTION)
    outcome = await clicked
    view.hash = fresh
    assert outcome.acked

    await person.wait_for_view(lambda seen: "results 11 to 15" in seen.plain_text)
    errors = [one.error for one in office.slack.recorder.calls_to("views.update")[answers:]]
    assert errors == ["hash_conflict", None]


async def test_a_modal_closed_meanwhile_is_logged_and_nothing_more(office: Office) -> None:
    results = await search(office, "rate limit 429")
    person = office.slack.person(ADA)
    office.bot.services.workspace.drop_channels()
    office.slack.faults.order("slow", method="conversations.list", seconds=1.0)
    await person.click(results, action_id=NEXT_ACTION)
    await person.close(person.current_view(results))
    await eventually(lambda: office.slack.recorder.calls_to("views.update")[-1].error == "not_found")

    assert "results 1 to 5" in (await office.ask("rate limit 429")).plain_text


@pytest.mark.parametrize(
    ("value", "sentence"),
    [("v1.forged", texts.BUTTON_FORGED), ("v0.aaaa.bbbb", texts.BUTTON_OLD)],
)
async def test_a_button_that_is_not_ours_says_so_over_the_results(office: Office, value: str, sentence: str) -> None:
    results = await search(office, "rate limit 429")
    alter(office, results, value)
    told = await press(office, results, "Next")

    assert told.plain_text.startswith(sentence)
    assert "results 1 to 5" in told.plain_text
    assert told.callback_id == RESULTS_VIEW
    alter(office, told, value)
    again = await press(office, told, "Next")
    assert again.plain_text.count(sentence) == 1


def alter(office: Office, seen: SeenView, value: str) -> None:
    """Change what the Next button of a modal carries."""
    view = office.slack.core.views.find(seen.id)
    assert view is not None
    for block in view.spec["blocks"]:
        for element in block.get("elements", []):
            if element.get("action_id") == NEXT_ACTION:
                element["value"] = value


async def test_a_button_of_somebody_else_says_so_over_the_results(office: Office) -> None:
    results = await search(office, "rate limit 429")
    signer = signer_for(office.bot.services, Asked(user_id=BEN, team_id=TEAM_ID))
    alter(office, results, signer.page(PageReference(command="rate limit 429")))
    told = await press(office, results, "Next")

    assert told.plain_text.startswith(texts.BUTTON_FOREIGN)
    assert "results 1 to 5" in told.plain_text


async def test_after_half_an_hour_the_same_search_is_run_afresh_in_the_modal(office: Office) -> None:
    results = await search(office, "rate limit 429")
    office.clock.ahead += HALF_AN_HOUR
    fresh = await press(office, results, "Next")

    assert texts.RESTARTED_EXPIRED in fresh.plain_text
    assert "results 1 to 5" in fresh.plain_text


async def test_an_old_thread_button_offers_the_search_in_the_modal(office: Office) -> None:
    results = await search(office, "checkout outage E4392")
    office.clock.ahead += HALF_AN_HOUR
    told = await press(office, results, "Expand thread")
    assert texts.BUTTON_EXPIRED in told.plain_text

    again = await press(office, told, texts.SEARCH_AGAIN)

    assert "E4392" in again.plain_text


async def test_after_a_swap_the_results_restart_in_the_modal_and_say_why(archive: Path, tmp_path: Path) -> None:
    folder = copy_archive(archive, tmp_path / "archive")
    newer = build_archive(tmp_path / "newer", made=newer_export())
    async with running_bot(folder) as office:
        results = await search(office, "rate limit 429")
        publish(folder, newer)
        await office.bot.services.watch.check()
        restarted = await press(office, results, "Next")

        assert texts.RESTARTED_NEW_ARCHIVE in restarted.plain_text
        assert "results 1 to 5" in restarted.plain_text


async def test_a_press_in_a_modal_of_another_version_is_answered_there(office: Office) -> None:
    results = await search(office, "rate limit 429")
    view = office.slack.core.views.find(results.id)
    assert view is not None
    for block in view.spec["blocks"]:
        for element in block.get("elements", []):
            if element.get("action_id") == NEXT_ACTION:
                element["action_id"] = "results_of_long_ago"
    told = await press(office, results, "Next")

    assert told.plain_text.startswith(texts.BUTTON_OLD)
    assert "results 1 to 5" in told.plain_text


async def test_the_largest_hits_fit_into_a_modal(office: Office) -> None:
    for text in ("giant", "rtl fence", "hostile", "rate limit 429 and waits"):
        await search(office, text)

    sent = [one.payload for one in office.slack.recorder.payloads if one.surface == "modal"]
    assert max(len(json.dumps(one).encode()) for one in sent) < 100_000
    assert max(len(one["blocks"]) for one in sent) <= 50


async def find_similar(office: Office, message: SeenMessage, user: str = ADA) -> SeenView:
    """Use Find similar on a message and return the modal once it is filled."""
    person = office.slack.person(user)
    before = {seen.id for seen in person.views}
    outcome = await person.shortcut(FIND_SIMILAR, message=message)
    assert outcome.acked
    return await person.wait_for_view(lambda seen: seen.id not in before and texts.LOADING not in seen.plain_text)


async def test_find_similar_opens_at_once_and_finds_others_without_itself(office: Office) -> None:
    """B38: the modal comes first, what it shows later."""
    person = office.slack.person(ADA)
    message = await seeded(office, person, "1760600000.000100", "Lunch is at the harbour on Friday")
    view = await find_similar(office, message)

    assert view.title == texts.SIMILAR_TITLE
    first_line, *hits = view.plain_text.splitlines()
    assert texts.similar_to("cleo", "#general", "Lunch is at the harbour on Friday") in first_line
    assert "The harbour place has no terrace" in view.plain_text
    assert not any("Lunch is at the harbour" in line for line in hits)
    following = await press(office, view, "Next")
    assert "results 6 to 10" in following.plain_text
    assert texts.similar_to("cleo", "#general", "Lunch is at the harbour on Friday") in following.plain_text


async def test_find_similar_says_at_once_that_it_is_looking(office: Office) -> None:
    person = office.slack.person(ADA)
    message = await seeded(office, person, "1760600000.000100", "Lunch is at the harbour on Friday")
    office.bot.services.workspace.drop_channels()
    office.slack.faults.order("slow", method="conversations.list", seconds=3.5)
    await person.shortcut(FIND_SIMILAR, message=message)
    await person.wait_for_view(lambda seen: texts.LOADING in seen.plain_text, timeout=2)

    await person.wait_for_view(lambda seen: "similar to" in seen.plain_text, timeout=10)


async def test_find_similar_whose_trigger_is_over_says_so(office: Office) -> None:
    person = office.slack.person(ADA)
    await person.type("some words", channel=GENERAL)
    office.slack.faults.order("error", method="views.open", error="expired_trigger_id")
    await person.shortcut(FIND_SIMILAR, message=person.messages(GENERAL)[-1])

    said = texts.view_not_opened(texts.FIND_SIMILAR)
    await person.wait_for_message(GENERAL, lambda seen: seen.plain_text == said)


async def test_find_similar_goes_by_the_text_where_the_archive_has_no_such_message(office: Office) -> None:
    person = office.slack.person(ADA)
    await person.type("the harbour restaurant & its terrace", channel=GENERAL)
    view = await find_similar(office, person.messages(GENERAL)[-1])

    assert view.plain_text.splitlines()[0].startswith("*similar to “the harbour restaurant & its terrace”*")
    assert "The harbour place has no terrace" in view.plain_text
    assert "results 6 to 10" in (await press(office, view, "Next")).plain_text


async def test_find_similar_of_what_one_may_not_see_goes_by_the_text_alone(office: Office) -> None:
    """A private message that the bot may not show is compared as one that the archive does not hold."""
    person = office.slack.person(ADA)
    texts_seen = []
    for ts in ("1760610000.000100", "1760619999.000100"):
        await person.type("The secret merger is called rate limit 429", channel=SECRET)
        message = await moved(office, SECRET, ts)
        texts_seen.append((await find_similar(office, message)).plain_text)

    assert texts_seen[0] == texts_seen[1]
    assert "merger" not in "\n".join(texts_seen[0].splitlines()[1:])


async def moved(office: Office, channel: str, ts: str) -> SeenMessage:
    """Give the newest message of a channel another timestamp and return it."""
    store, person = office.slack.core.store, office.slack.person(ADA)
    found = store.find(channel, person.messages(channel)[-1].ts)
    store.delete(found)
    found.ts = ts
    store.add(found)
    return next(one for one in person.messages(channel) if one.ts == ts)


async def test_find_similar_without_an_embedding_service(tmp_path: Path) -> None:
    """An archived message is compared by its stored vector; of any other there is none."""
    folder = tmp_path / "archive"
    with FakeEndpoint() as endpoint:
        build_archive(folder, embedders=EmbedderFactory(endpoint.ollama_url, "nomic-embed-text"))
        endpoint.fault = Fault.STATUS_503
        async with running_bot(folder, embedding_url=endpoint.ollama_url) as office:
            person = office.slack.person(ADA)
            await person.type("something that nobody wrote before", channel=GENERAL)
            view = await find_similar(office, person.messages(GENERAL)[-1])
            assert view.plain_text == texts.SIMILAR_NOT_NOW

            message = await seeded(office, person, "1760600000.000100", "Lunch is at the harbour on Friday")
            stored = await find_similar(office, message)
            assert "results 1 to 5" in stored.plain_text


async def test_find_similar_of_a_message_without_text_says_so(office: Office) -> None:
    person = office.slack.person(ADA)
    await person.type("some words", channel=GENERAL)
    message = person.messages(GENERAL)[-1]
    office.slack.core.store.find(GENERAL, message.ts).text = ""
    view = await find_similar(office, message)

    assert view.plain_text == texts.SIMILAR_WITHOUT_TEXT


async def test_similar_of_a_hit_and_back_in_a_message(office: Office) -> None:
    results = await office.ask("lunch harbour Friday mode:lexical")
    person = office.slack.person(ADA)
    value = similar_value(office, "T1TEST:C1:1760600000.000100", back="lunch harbour Friday mode:lexical")
    press_as(office, results, value)
    await person.click(results, action_id=SIMILAR_ACTION)
    similar = await person.wait_for_message(GENERAL, lambda seen: "similar to" in seen.plain_text)
    assert texts.BACK_TO_RESULTS in similar.button_texts()
    assert similar.ts == results.ts
    back = await office.press(similar, texts.BACK_TO_RESULTS)

    assert back.plain_text == results.plain_text


def similar_value(office: Office, document_id: str, *, back: str | None = None, user: str = ADA) -> str:
    signer = signer_for(office.bot.services, Asked(user_id=user, team_id=TEAM_ID))
    return signer.similar(document_id, back=PageReference(command=back) if back else None)


def press_as(office: Office, place: SeenMessage | SeenView, value: str) -> None:
    """Make the first More button of a message or modal one that finds similar messages."""
    if isinstance(place, SeenView):
        view = office.slack.core.views.find(place.id)
        assert view is not None
        blocks = view.spec["blocks"]
    else:
        blocks = office.slack.core.store.find(place.channel_id, place.ts).blocks
    elements = [one for block in blocks if block["type"] == "actions" for one in block["elements"]]
    element = next(one for one in elements if one["action_id"] == MORE_ACTION)
    element["action_id"], element["value"] = SIMILAR_ACTION, value


async def test_similar_ones_lie_over_the_results_until_three_lie_on_each_other(office: Office) -> None:
    person = office.slack.person(ADA)
    view = await search(office, "lunch harbour Friday mode:lexical")
    depths = []
    for _ in range(4):
        top = person.views[-1]
        press_as(office, top, similar_value(office, "T1TEST:C1:1760600000.000100", back="lunch"))
        before = len(office.slack.recorder.calls_to("views.update"))
        await person.click(top, action_id=SIMILAR_ACTION)
        await eventually(lambda before=before: len(office.slack.recorder.calls_to("views.update")) > before)
        depths.append(len(person.views))

    assert depths == [2, 3, 3, 3]
    assert office.slack.recorder.calls_to("views.push")[-1].error == "push_limit_reached"
    # Where it lies over its results there is no button back to them, and where it took their place there is.
    assert texts.BACK_TO_RESULTS in person.views[-1].button_texts()
    assert texts.BACK_TO_RESULTS not in person.views[-2].button_texts()
    for _ in range(2):
        await person.close(person.views[-1])
    assert person.views[-1].plain_text == view.plain_text


async def test_similar_to_what_one_may_not_see_is_not_found(office: Office) -> None:
    """Not for a guest who is not in the channel, and in the words for what does not exist."""
    answers = []
    for document_id in ("T1TEST:C2:1760000000.000100", "T1TEST:C2:1999999999.000100"):
        results = await search(office, "harbour", user=GUS)
        press_as(office, results, similar_value(office, document_id, user=GUS))
        person = office.slack.person(GUS)
        await person.click(results, action_id=SIMILAR_ACTION)
        told = await person.wait_for_view(lambda seen: texts.NOT_FOUND in seen.plain_text)
        answers.append(told.plain_text)

    assert answers[0] == answers[1]


async def test_an_expired_similar_button_searches_similar_ones_afresh(office: Office) -> None:
    results = await office.ask("lunch harbour Friday mode:lexical")
    press_as(office, results, similar_value(office, "T1TEST:C1:1760600000.000100"))
    office.clock.ahead += HALF_AN_HOUR
    person = office.slack.person(ADA)
    await person.click(results, action_id=SIMILAR_ACTION)
    fresh = await person.wait_for_message(GENERAL, lambda seen: "similar to" in seen.plain_text)

    assert texts.RESTARTED_EXPIRED in fresh.plain_text
