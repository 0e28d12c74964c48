"""What a person in Slack lives through: the real bot over real sockets against the local Slack."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot import texts
from bot.audit import read_audit
from bot.form_blocks import SEARCH_FORM
from bot.form_fields import FormBlock
from bot.listeners.shortcuts import FIND_SIMILAR, SHOW_IN_ARCHIVE
from localslack.driver import Person
from localslack.seen import SeenMessage
from tests.blockkit_referee import slack_types
from tests.bot_harness import (
    ADA,
    BEN,
    CLEO,
    EVE,
    GENERAL,
    GUS,
    PAYMENTS,
    RATE_LIMITS,
    ROBO,
    SECRET,
    SHARED,
    THREAD_REPLIES,
    Office,
    assert_structure,
    build_archive,
    eventually,
    running_bot,
)

HALF_AN_HOUR = 31 * 60


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenarios") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, audit_dir=tmp_path / "audit", admins=frozenset({ADA})) as office:
        yield office


async def test_a_search_answers_the_asker_alone(office: Office) -> None:
    """B39: nothing is posted to the channel."""
    answer = await office.ask("rate limit 429")

    assert answer.is_ephemeral
    assert "rate limit 429" in answer.plain_text
    assert "results 1 to 5" in answer.plain_text
    assert "why: exact 429" in answer.plain_text
    assert not any(seen.by_app for seen in office.slack.person(BEN).messages(GENERAL))


async def test_next_leads_to_the_end_and_previous_back(office: Office) -> None:
    message = await office.ask("rate limit 429 in:#payments mode:lexical")
    seen: list[str] = []
    pages = 1
    while True:
        seen += [word for word in message.plain_text.split() if word.isdigit()]
        if "Next" not in message.button_texts():
            break
        message = await office.press(message, "Next")
        pages += 1

    assert pages == -(-RATE_LIMITS // 5)
    assert all(str(number) in seen for number in range(RATE_LIMITS))
    assert texts.END_OF_RESULTS in message.plain_text
    assert texts.NOT_SEARCHED in message.plain_text
    message = await office.press(message, "Previous")
    assert "results 16 to 20" in message.plain_text
    assert len([one for one in office.slack.person(ADA).messages(GENERAL) if one.by_app]) == 1


async def test_next_six_times_on_one_message_uses_six_response_urls(office: Office) -> None:
    """B37: a response_url is good for five uses; every press brings its own."""
    message = await office.ask("rate limit 429 in:#payments mode:lexical")
    for label in ("Next", "Next", "Next", "Next", "Previous", "Previous", "Next"):
        message = await office.press(message, label)

    assert "results 16 to 20" in message.plain_text
    assert all(call.status == 200 for call in office.slack.recorder.calls_to("response_url"))


async def test_a_thread_is_expanded_under_the_hit_and_left_again(office: Office) -> None:
    results = await office.ask("checkout outage E4392")
    before = results.plain_text
    thread = await office.press(results, "Expand thread")
    assert f"messages 1 to 10 of {THREAD_REPLIES + 1}" in thread.plain_text
    assert texts.THE_HIT in thread.plain_text

    later = await office.press(thread, "Later")
    assert f"messages 11 to 20 of {THREAD_REPLIES + 1}" in later.plain_text
    last = await office.press(later, "Later")
    assert "Later" not in last.button_texts()
    earlier = await office.press(last, "Earlier")
    assert f"messages 11 to 20 of {THREAD_REPLIES + 1}" in earlier.plain_text
    back = await office.press(earlier, texts.BACK_TO_RESULTS)

    assert before.splitlines()[0] == back.plain_text.splitlines()[0]
    assert back.button_texts() == results.button_texts()


async def test_a_hit_late_in_a_thread_opens_the_page_that_holds_it(office: Office) -> None:
    results = await office.ask('"Reply number 17 about"')
    thread = await office.press(results, "Expand thread")

    assert f"messages 11 to 20 of {THREAD_REPLIES + 1}" in thread.plain_text
    assert texts.THE_HIT in thread.plain_text


async def test_a_message_without_a_thread_shows_its_neighbours(office: Office) -> None:
    results = await office.ask("lunch harbour Friday mode:lexical")
    context = await office.press(results, "Context")
    assert "The harbour place has no terrace" in context.plain_text
    assert texts.NEIGHBOURS in context.plain_text

    back = await office.press(context, texts.BACK_TO_RESULTS)

    assert back.button_texts() == results.button_texts()


async def test_what_was_understood_stands_first_and_names_become_ids(office: Office) -> None:
    answer = await office.ask("429 in:#payments from:@ben after:2025-10-01 sort:oldest")

    first_line = answer.plain_text.splitlines()[0]
    for words in ("429", "#payments", "ben", "after 1 Oct 2025", "oldest first"):
        assert words in first_line


async def test_an_unknown_name_is_said_with_the_nearest_that_one_may_see(office: Office) -> None:
    near = await office.ask("429 in:paymnts")
    assert "payments" in near.plain_text

    hidden = await office.ask("merger in:secret-plans")
    missing = await office.ask("merger in:nowhere-land")

    assert hidden.plain_text.replace("secret-plans", "X") == missing.plain_text.replace("nowhere-land", "X")
    assert hidden.text.replace("secret-plans", "X") == missing.text.replace("nowhere-land", "X")
    assert hidden.button_texts() == missing.button_texts()


async def test_a_search_that_cannot_be_made_is_said_again_and_opens_the_form_with_it(office: Office) -> None:
    """Slack clears the line that a command was typed into."""
    told = await office.ask("latency spikes in:paymnts from:@ben")
    person = office.slack.person(ADA)
    assert texts.you_typed("latency spikes in:paymnts from:@ben") in told.plain_text
    assert texts.you_typed("latency spikes in:paymnts from:@ben") in told.text

    await person.click(told, text=texts.EDIT_SEARCH)
    form = await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM)
    entered = {control.block_id: control.element for control in form.controls}
    assert entered["form_text"]["initial_value"] == "latency spikes in:paymnts"
    assert entered["form_people"]["initial_users"] == [BEN]


async def test_whoever_is_not_served_is_offered_no_search(office: Office) -> None:
    told = await office.ask("rate limit", user=ROBO)

    assert told.plain_text == texts.REFUSED_BOT
    assert told.button_texts() == []


async def test_what_the_asker_may_not_see_is_never_found_or_counted(office: Office) -> None:
    """B44: a private channel that the bot is not in is not served, not even to its members."""
    for user in (ADA, BEN):
        answer = await office.ask('"secret merger"', user=user)
        assert "called" not in answer.plain_text
        assert "Nothing found" in answer.plain_text
    everything = await office.ask("rate limit 429 mode:lexical")
    while "Next" in everything.button_texts():
        assert "secret" not in everything.plain_text
        everything = await office.press(everything, "Next")


async def test_an_archived_public_channel_is_searched(office: Office) -> None:
    answer = await office.ask("archived zebra paper")

    assert "zebra paper is in the drawer" in answer.plain_text


@pytest.mark.parametrize(("user", "sentence", "reason"), [(ROBO, texts.REFUSED_BOT, "bot")])
async def test_who_is_no_person_is_refused(
    office: Office, user: str, sentence: str, reason: str, tmp_path: Path
) -> None:
    answer = await office.ask("rate limit 429", user=user)
    assert answer.plain_text.startswith(sentence)
    assert "429" not in answer.plain_text

    await office.bot.stop()

    assert [entry.reason for entry in read_audit(tmp_path / "audit") if entry.event == "refused"] == [reason]


async def test_who_is_no_person_any_more_is_refused_at_the_very_next_press(office: Office) -> None:
    message = await office.ask("rate limit 429", user=BEN)
    ben = office.slack.person(BEN)
    office.slack.change_user(BEN, is_bot=True)
    await eventually(lambda: all(one.status == "acked" for one in office.slack.recorder.deliveries))

    await office.press(message, "Next", user=BEN)

    assert office.newest(BEN).plain_text.startswith(texts.REFUSED_BOT)
    assert "results 1 to 5" in ben.current_message(message).plain_text


async def test_a_deleted_channel_is_obeyed_at_the_very_next_press(office: Office) -> None:
    message = await office.ask("rate limit 429 mode:lexical")
    office.slack.delete_channel(PAYMENTS)
    await eventually(lambda: all(one.status == "acked" for one in office.slack.recorder.deliveries))

    message = await office.press(message, "Next")

    assert "partner tier" not in message.plain_text
    assert texts.RESTARTED_VISIBILITY in message.plain_text


async def test_results_of_somebody_else_stay_theirs(office: Office) -> None:
    """Ephemeral messages are seen by one; what an external would press in a shared message is the same press."""
    message = await office.ask("rate limit 429")
    value = next(one.value for one in message.controls if one.text == "Next")
    mine = await office.ask("zebra", user=BEN)

    await press_value(office, mine, value, user=BEN)

    assert office.newest(BEN).plain_text.startswith(texts.BUTTON_FOREIGN)
    assert "zebra" in office.slack.person(BEN).current_message(mine).plain_text


async def press_value(office: Office, message: SeenMessage, value: str | None, *, user: str = ADA) -> None:
    """Press Next (or what there is) with another value than the message's, as only a forger could."""
    person = office.slack.person(user)
    place = person.current_message(message)
    control = next(one for one in place.controls if one.text in ("Next", texts.NEW_SEARCH))
    for block in office.slack.core.store.find(message.channel_id, message.ts).blocks:
        for element in block.get("elements", ()):
            if element.get("action_id") == control.action_id:
                element["value"] = value
    payloads = len(office.slack.recorder.payloads)
    outcome = await person.click(place, action_id=control.action_id)
    assert outcome.acked
    await eventually(lambda: len(office.slack.recorder.payloads) > payloads)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda value: value[:-30], texts.BUTTON_FORGED),
        (lambda value: value[:40] + ("A" if value[40] != "A" else "B") + value[41:], texts.BUTTON_FORGED),
        (lambda value: "nonsense", texts.BUTTON_FORGED),
        (lambda value: "v0" + value[2:], texts.BUTTON_OLD),
        (lambda value: "v99" + value[2:], texts.BUTTON_OLD),
    ],
    ids=["truncated", "altered", "nonsense", "older", "newer"],
)
async def test_a_button_that_is_not_ours_as_it_stands_says_so(office: Office, change: object, sentence: str) -> None:
    message = await office.ask("rate limit 429")
    value = next(one.value for one in message.controls if one.text == "Next")
    assert callable(change)

    await press_value(office, message, change(value))

    shown = office.slack.person(ADA).current_message(message)
    assert sentence in shown.plain_text
    assert texts.NEW_SEARCH in shown.button_texts()


async def test_after_half_an_hour_the_same_search_is_run_afresh(office: Office) -> None:
    """B37: an old button is a sentence and a fresh search."""
    message = await office.ask("rate limit 429")
    message = await office.press(message, "Next")
    office.clock.ahead = HALF_AN_HOUR

    message = await office.press(message, "Next")

    assert texts.RESTARTED_EXPIRED in message.plain_text
    assert "results 1 to 5" in message.plain_text
    message = await office.press(message, "Next")
    assert "results 6 to 10" in message.plain_text


async def test_an_old_expand_button_says_so_and_offers_the_search(office: Office) -> None:
    message = await office.ask("checkout outage E4392")
    office.clock.ahead = HALF_AN_HOUR

    message = await office.press(message, "Expand thread")
    assert texts.BUTTON_EXPIRED in message.plain_text
    message = await office.press(message, texts.SEARCH_AGAIN)

    assert "E4392" in message.plain_text
    assert "Expand thread" in message.button_texts()


async def test_a_link_button_is_acked_and_nothing_else(office: Office) -> None:
    message = await office.ask("rate limit 429")
    sent = len(office.slack.recorder.payloads)
    person = office.slack.person(ADA)
    link = next(one for one in message.controls if one.text == texts.OPEN_IN_SLACK)

    outcome = await person.click(message, action_id=link.action_id, block_id=link.block_id)

    assert outcome.acked
    assert person.opened_urls == [link.url]
    assert str(link.url).startswith("https://example.slack.com/archives/C2/p")
    assert len(office.slack.recorder.payloads) == sent


async def test_help_and_status(office: Office) -> None:
    assert "in:#channel" in (await office.ask("help")).plain_text
    assert "HELP" not in (await office.ask('"help"')).plain_text
    mine = await office.ask("status")
    theirs = await office.ask("status", user=BEN)

    assert "documents" in mine.plain_text or "messages" in mine.plain_text
    assert mine.plain_text != theirs.plain_text


async def test_hostile_text_is_shown_as_it_is_and_pings_nobody(office: Office) -> None:
    """B42: the harness also checks every payload, and that nobody would have been notified."""
    answer = await office.ask("hostile")
    assert "@channel" in answer.plain_text or "<!channel>" in answer.plain_text
    giant = await office.ask("giant mode:lexical")
    assert "giant" in giant.plain_text

    context = await office.press(giant, "Context")
    rtl = await office.ask("rtl fence")

    assert "giant" in context.plain_text
    assert "שלום" in rtl.plain_text


async def test_mentions_in_a_query_ping_nobody_either(office: Office) -> None:
    answer = await office.ask("<!channel> <@U2> &amp; *bold* hostile")

    assert answer.by_app


async def test_show_in_archive_opens_at_once_and_fills(office: Office) -> None:
    """B38: a trigger is good for three seconds."""
    person = office.slack.person(ADA)
    message = await seeded(office, person, "1760500000.000100", "The checkout outage E4392 began at noon")

    outcome = await person.shortcut(SHOW_IN_ARCHIVE, message=message)
    assert outcome.acked
    view = await person.wait_for_view(lambda seen: "E4392" in seen.plain_text)
    assert f"of {THREAD_REPLIES + 1}" in view.plain_text
    outcome = await person.click(view, text=texts.LATER)
    assert outcome.acked

    await person.wait_for_view(lambda seen: f"messages 11 to 20 of {THREAD_REPLIES + 1}" in seen.plain_text)
    assert [call.method for call in office.slack.recorder.calls if call.method.startswith("views.")] == [
        "views.open",
        "views.update",
        "views.update",
    ]


async def seeded(office: Office, person: Person, ts: str, text: str) -> SeenMessage:
    """Put a message with an archived timestamp into the channel and return it as the person sees it."""
    store = office.slack.core.store
    written = await person.type(text, channel=GENERAL)
    assert written.acked
    mine = person.messages(GENERAL)[-1]
    found = store.find(GENERAL, mine.ts)
    store.delete(found)
    found.ts = ts
    store.add(found)
    return replace(mine, ts=ts)


async def test_show_in_archive_on_a_message_that_is_not_there_says_so(office: Office) -> None:
    person = office.slack.person(ADA)
    await person.type("something quite new", channel=GENERAL)
    message = person.messages(GENERAL)[-1]

    await person.shortcut(SHOW_IN_ARCHIVE, message=message)

    await person.wait_for_view(lambda seen: texts.NOT_IN_ARCHIVE in seen.plain_text)


async def test_show_in_archive_of_a_private_message_is_as_if_it_were_not_there(office: Office) -> None:
    person = office.slack.person(ADA)
    await person.type("The secret merger is called rate limit 429", channel=SECRET)
    message = replace(person.messages(SECRET)[-1])

    await person.shortcut(SHOW_IN_ARCHIVE, message=message)

    await person.wait_for_view(lambda seen: texts.NOT_IN_ARCHIVE in seen.plain_text)


async def test_show_in_archive_refuses_a_bot_in_the_modal(office: Office) -> None:
    await office.slack.person(CLEO).type("hello there", channel=GENERAL)
    robot = office.slack.person(ROBO)
    message = robot.messages(GENERAL)[-1]

    await robot.shortcut(SHOW_IN_ARCHIVE, message=message)

    await robot.wait_for_view(lambda seen: texts.REFUSED_BOT in seen.plain_text)


async def test_an_external_member_cannot_use_it_at_all(office: Office) -> None:
    outcome = await office.slack.person(EVE).type("/slackquery rate limit", channel=SHARED)

    assert not outcome.acked
    assert office.slack.recorder.payloads == []


async def test_the_audit_file_tells_who_did_what_without_the_words(office: Office, tmp_path: Path) -> None:
    message = await office.ask('rate limit "partner tier" in:#payments')
    message = await office.press(message, "Next")
    await office.press(message, "Context")
    await office.bot.stop()

    entries = list(read_audit(tmp_path / "audit"))
    assert [entry.event for entry in entries] == ["swap", "start", "search", "page", "context", "stop"]
    search, page = entries[2], entries[3]
    assert (search.user_id, search.team_id, search.channel_id) == (ADA, "T1TEST", GENERAL)
    assert (search.mode, search.hits, search.offset, page.offset) == ("hybrid", 5, 0, 5)
    assert search.query_hash == page.query_hash
    assert search.query is None
    assert search.timings_ms["total"] > 0
    assert search.model_extra is not None
    assert len(search.model_extra["document_ids"]) == 5
    assert search.model_extra["filters"] == {"channel_ids": ["C2"], "phrases": 1}
    written = "".join(path.read_text() for path in (tmp_path / "audit").iterdir())
    assert "partner" not in written


async def test_a_button_of_another_version_is_acked_and_says_so(office: Office) -> None:
    message = await office.ask("rate limit 429")
    for block in office.slack.core.store.find(message.channel_id, message.ts).blocks:
        for element in block.get("elements", ()):
            if element.get("action_id") == "results_next":
                element["action_id"] = "a_button_of_long_ago"
    person = office.slack.person(ADA)

    outcome = await person.click(person.current_message(message), action_id="a_button_of_long_ago")

    assert outcome.acked
    await eventually(lambda: office.newest().plain_text.startswith(texts.BUTTON_OLD))


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("zebra mode:lexical in:#payments", texts.THE_CHANNELS),
        ("zebra mode:lexical from:@ben", texts.THE_PEOPLE),
        ("zebra mode:lexical before:2020-01-01", texts.THE_PERIOD),
        ("zebra mode:lexical has:link", texts.THE_KINDS),
        ('"rate 429 limit" mode:lexical', texts.THE_PHRASES),
        ("zebra mode:lexical -drawer", texts.THE_EXCLUSIONS),
    ],
)
async def test_where_nothing_is_found_the_filter_that_excluded_the_most_is_named(
    office: Office, query: str, what: str
) -> None:
    answer = await office.ask(query)

    assert "Nothing found" in answer.plain_text
    assert texts.leave_out(what) in answer.plain_text


async def test_no_suggestion_comes_from_what_the_asker_may_not_see(office: Office) -> None:
    answer = await office.ask("merger mode:lexical in:#payments")

    assert "Leave out" not in answer.plain_text


@pytest.mark.node
async def test_a_session_through_every_surface_has_the_structure_that_slack_publishes(office: Office) -> None:
    types = slack_types()
    results = await office.ask("checkout outage E4392")
    thread = await office.press(results, "Expand thread")
    await office.press(await office.press(thread, "Later"), texts.BACK_TO_RESULTS)
    await office.press(await office.ask("hostile"), "Context")
    for text in ("help", "status", "giant", "rtl fence", '"nothing like it"', "x in:nowhere", "before:teatime x"):
        await office.ask(text)
    await office.ask("x", user=GUS)
    person = office.slack.person(ADA)
    await person.type("something quite new", channel=GENERAL)
    await person.shortcut(SHOW_IN_ARCHIVE, message=person.messages(GENERAL)[-1])
    await person.wait_for_view(lambda seen: texts.NOT_IN_ARCHIVE in seen.plain_text)
    await person.shortcut(FIND_SIMILAR, message=person.messages(GENERAL)[-1])
    await person.wait_for_view(lambda seen: "similar to" in seen.plain_text)
    await person.type("/slackquery", channel=GENERAL)
    form = await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM)
    await person.fill(form, {FormBlock.TEXT.value: "rate limit", FormBlock.CHANNELS.value: [GENERAL]}).submit()
    await person.wait_for_view(lambda seen: "in #general" in seen.plain_text)

    assert len(office.slack.recorder.payloads) > 15
    assert_structure(office.slack, types)


async def test_a_denied_channel_person_and_message_are_gone_everywhere(archive: Path, tmp_path: Path) -> None:
    deny = tmp_path / "deny.txt"
    deny.write_text("")
    async with running_bot(archive, deny=deny) as office:
        outage = await office.ask("checkout outage E4392")
        assert "began at noon" in outage.plain_text
        deny.write_text(f"{PAYMENTS}\n{ADA}\n")

        await office.press(outage, "Expand thread")
        gone = office.newest()
        fresh = await office.ask("checkout outage E4392")
        channel = await office.ask("partner tier")

        assert gone.plain_text.startswith(texts.NOT_FOUND)
        assert "began at noon" not in fresh.plain_text
        assert "partner tier hit" not in channel.plain_text
        deny.unlink()
        assert texts.ARCHIVE_UNUSABLE in (await office.ask("lunch")).plain_text
