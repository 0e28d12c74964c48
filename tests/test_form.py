"""The search form, from every place that opens it to the results within the same modal."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from bot import texts
from bot.form_blocks import SEARCH_FORM, form_view, read_form
from bot.form_fields import TEXT_CHARACTERS, FormBlock, FormFields, fields_of
from bot.listeners.forms import SEARCH_ARCHIVE
from bot.modal_blocks import RESULTS_VIEW
from localslack.seen import SeenView
from retrieval import Mode, Sort
from tests.blockkit_referee import assert_legal_view
from tests.bot_harness import (
    ADA,
    BEN,
    GENERAL,
    GUS,
    PAYMENTS,
    ROBO,
    SECRET,
    Office,
    build_archive,
    eventually,
    running_bot,
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("form") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path) -> AsyncIterator[Office]:
    async with running_bot(archive) as office:
        yield office


async def open_by_command(office: Office, user: str = ADA) -> SeenView:
    """Type the bare command and return the form."""
    person = office.slack.person(user)
    before = {seen.id for seen in person.views}
    outcome = await person.type("/slackquery", channel=GENERAL)
    assert outcome.acked
    return await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM and seen.id not in before)


async def submit(office: Office, view: SeenView, user: str = ADA, **values: Any) -> SeenView:
    """Fill in the form, submit it, and return the modal once it has results or an error."""
    person = office.slack.person(user)
    outcome = await person.fill(view, {FormBlock[key.upper()].value: value for key, value in values.items()}).submit()
    assert outcome.acked, outcome
    assert outcome.error is None
    return await person.wait_for_view(
        lambda seen: seen.id == view.id and (bool(seen.errors) or texts.LOADING not in seen.plain_text)
    )


def prefilled(view: SeenView) -> FormFields:
    """Return what stands in a form as it is."""
    return read_form({"view": {"state": {"values": view.values}}})


async def test_the_bare_command_opens_the_form_and_results_come_into_it(office: Office) -> None:
    form = await open_by_command(office)
    assert prefilled(form) == FormFields()
    results = await submit(office, form, text="rate limit 429")

    assert results.callback_id == RESULTS_VIEW
    assert "results 1 to 5" in results.plain_text
    assert "why: exact 429" in results.plain_text
    assert [one.method for one in office.slack.recorder.calls if one.method.startswith("views.")] == [
        "views.open",
        "views.update",
    ]


async def test_the_global_shortcut_opens_the_form(office: Office) -> None:
    person = office.slack.person(ADA)
    outcome = await person.global_shortcut(SEARCH_ARCHIVE)

    assert outcome.acked
    await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM)


async def test_every_field_narrows_and_is_repeated(office: Office) -> None:
    form = await open_by_command(office)
    results = await submit(
        office,
        form,
        text="429 -zebra",
        channels=[PAYMENTS],
        people=[BEN],
        first_day="2025-10-01",
        last_day="2025-12-31",
        mode="lexical",
        sort="oldest",
    )

    first_line = results.plain_text.splitlines()[0]
    for words in (
        "429",
        "in #payments",
        "from @ben",
        "during 1 Oct to 31 Dec 2025",
        "without “zebra”",
        "lexical mode",
        "oldest first",
        "keyword search",
    ):
        assert words in first_line, first_line


async def test_kinds_narrow_without_any_words(office: Office) -> None:
    form = await open_by_command(office)
    results = await submit(office, form, kinds=["code", "thread"])

    assert "everything with code, in a thread" in results.plain_text.splitlines()[0]


async def test_the_form_and_the_command_find_the_same(office: Office) -> None:
    typed = await office.ask("429 in:#payments from:@ben mode:lexical sort:oldest")
    form = await open_by_command(office)
    results = await submit(office, form, text="429", channels=[PAYMENTS], people=[BEN], mode="lexical", sort="oldest")

    assert results.plain_text == typed.plain_text


@pytest.mark.parametrize(
    ("values", "block", "sentence"),
    [
        ({}, FormBlock.TEXT, texts.FORM_EMPTY),
        ({"mode": "lexical"}, FormBlock.TEXT, texts.FORM_EMPTY),
        ({"text": "…!"}, FormBlock.TEXT, texts.FORM_EMPTY),
        ({"text": "x" * (TEXT_CHARACTERS + 1)}, FormBlock.TEXT, texts.form_text_too_long(TEXT_CHARACTERS)),
        (
            {"text": "a", "first_day": "2026-03-02", "last_day": "2026-03-01"},
            FormBlock.LAST_DAY,
            texts.FORM_DAYS_SWAPPED,
        ),
        ({"text": "a", "channels": [SECRET]}, FormBlock.CHANNELS, texts.FORM_CHANNEL_UNKNOWN),
        ({"text": "a", "channels": [PAYMENTS, "C0NOWHERE"]}, FormBlock.CHANNELS, texts.FORM_CHANNEL_UNKNOWN),
        (
            {"text": "a in:nowhere-land"},
            FormBlock.TEXT,
            texts.unknown_name("channel", "nowhere-land"),
        ),
        ({"text": "a in:secret-plans"}, FormBlock.TEXT, texts.unknown_name("channel", "secret-plans")),
    ],
)
async def test_errors_stand_at_their_field(
    office: Office, values: dict[str, Any], block: FormBlock, sentence: str
) -> None:
    form = await open_by_command(office)
    refused = await submit(office, form, **values)

    assert dict(refused.errors) == {block.value: sentence}
    assert refused.callback_id == SEARCH_FORM
    assert office.slack.recorder.calls_to("views.update") == []


async def test_what_the_text_says_twice_stands_at_the_field_that_says_it_again(office: Office) -> None:
    form = await open_by_command(office)
    refused = await submit(office, form, text="a mode:semantic", mode="lexical")
    assert list(refused.errors) == [FormBlock.MODE.value]

    form = await open_by_command(office)
    refused = await submit(office, form, text="a after:2026-03-01", last_day="2026-02-01")
    assert list(refused.errors) == [FormBlock.LAST_DAY.value]


async def test_an_error_keeps_what_was_entered_and_can_be_mended(office: Office) -> None:
    form = await open_by_command(office)
    refused = await submit(office, form, text="rate limit", channels=[SECRET])
    assert prefilled(refused).text == "rate limit"

    results = await submit(office, refused, channels=[PAYMENTS])

    assert "rate limit in #payments" in results.plain_text


async def test_a_slow_slack_is_waited_for_in_the_modal_that_says_so(office: Office) -> None:
    """What is asked of Slack takes longer than a submission may wait: the ack still comes in time."""
    office.bot.services.workspace.drop_channels()
    form = await open_by_command(office)
    office.slack.faults.order("slow", method="conversations.list", seconds=3.5)
    person = office.slack.person(ADA)
    outcome = await person.fill(form, {FormBlock.TEXT.value: "rate limit 429"}).submit()

    assert outcome.acked
    assert outcome.seconds < 3
    assert texts.LOADING in person.current_view(form).plain_text
    await person.wait_for_view(lambda seen: "results 1 to 5" in seen.plain_text, timeout=10)


async def test_an_error_that_came_too_late_for_its_field_stands_over_the_form(office: Office) -> None:
    office.bot.services.workspace.drop_channels()
    form = await open_by_command(office)
    office.slack.faults.order("slow", method="conversations.list", seconds=2.0)
    person = office.slack.person(ADA)
    await person.fill(form, {FormBlock.TEXT.value: "rate in:nowhere-land"}).submit()
    again = await person.wait_for_view(lambda seen: "nowhere-land" in seen.plain_text, timeout=10)

    assert again.callback_id == SEARCH_FORM
    assert texts.unknown_name("channel", "nowhere-land") in again.plain_text
    assert prefilled(again).text == "rate in:nowhere-land"


async def test_a_form_whose_trigger_is_over_says_so(office: Office) -> None:
    office.slack.faults.order("error", method="views.open", error="expired_trigger_id")

    answer = await office.ask("")

    assert answer.plain_text == texts.FORM_NOT_OPENED


async def test_a_closed_modal_loses_nothing_else(office: Office) -> None:
    form = await open_by_command(office)
    office.bot.services.workspace.drop_channels()
    office.slack.faults.order("slow", method="conversations.list", seconds=2.0)
    person = office.slack.person(ADA)
    await person.fill(form, {FormBlock.TEXT.value: "rate limit 429"}).submit()
    await person.close(person.current_view(form))
    await eventually(lambda: bool(office.slack.recorder.calls_to("views.update")), seconds=8)

    assert [one.error for one in office.slack.recorder.calls_to("views.update")] == ["not_found"]
    assert "results 1 to 5" in (await office.ask("rate limit 429")).plain_text


async def test_new_search_opens_the_form_with_the_last_one(office: Office) -> None:
    message = await office.ask('rate "limit" in:#payments from:@ben after:2025-10-01 sort:newest -in:#general')
    person = office.slack.person(ADA)
    await person.click(message, text=texts.NEW_SEARCH)
    form = await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM)

    fields = prefilled(form)
    assert fields.channel_ids == (PAYMENTS,)
    assert fields.user_ids == (BEN,)
    assert fields.first_day == date(2025, 10, 2)
    assert fields.sort is Sort.NEWEST
    assert fields.text.startswith('rate "limit" -in:<#C1')
    assert "results 1 to 5" in person.current_message(message).plain_text
    results = await submit(office, form)
    assert results.plain_text.splitlines()[0] == message.plain_text.splitlines()[0]


async def test_a_guest_is_told_of_channels_they_are_not_in_as_of_none(office: Office) -> None:
    errors = []
    for channel in (PAYMENTS, "C0NOWHERE"):
        form = await open_by_command(office, user=GUS)
        errors.append(dict((await submit(office, form, user=GUS, text="rate", channels=[channel])).errors))

    assert errors[0] == errors[1] == {FormBlock.CHANNELS.value: texts.FORM_CHANNEL_UNKNOWN}


async def test_who_is_no_person_is_refused_and_the_ack_does_not_paint_over_it(office: Office) -> None:
    """An ack goes through the socket and an answer through a call: Slack may meet this quick answer first."""
    person = office.slack.person(ROBO)
    form = await open_by_command(office, user=ROBO)
    await person.fill(form, {FormBlock.TEXT.value: "rate limit"}).submit()
    await person.wait_for_view(lambda seen: seen.plain_text.startswith(texts.REFUSED_BOT))
    await asyncio.sleep(0.3)

    assert [seen for seen in person.views if seen.plain_text.startswith(texts.LOADING)] == []


async def test_new_search_opens_the_form_at_once_however_slow_slack_is(office: Office) -> None:
    """A trigger lives three seconds, so nothing is asked of Slack before."""
    message = await office.ask("rate limit 429")
    office.bot.services.workspace.drop_channels()
    for method in ("conversations.list", "users.info", "users.conversations"):
        office.slack.faults.order("slow", method=method, seconds=3.5)
    person = office.slack.person(ADA)
    await person.click(message, text=texts.NEW_SEARCH)

    await person.wait_for_view(lambda seen: seen.callback_id == SEARCH_FORM, timeout=2)


async def test_a_form_of_another_version_comes_back_with_a_sentence(office: Office) -> None:
    form = await open_by_command(office)
    view = office.slack.core.views.find(form.id)
    assert view is not None
    view.values["form_mode"]["value"]["selected_option"]["value"] = "telepathy"
    person = office.slack.person(ADA)
    await person.submit(form)
    again = await person.wait_for_view(lambda seen: texts.NOTHING_TO_SEARCH in seen.plain_text)

    assert again.callback_id == SEARCH_FORM


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("", FormFields()),
        ("rate &amp; limit", FormFields(text="rate & limit")),
        (
            "in:<#C2|payments> from:<@U2> x has:link is:thread mode:semantic",
            FormFields(
                text="x", channel_ids=("C2",), user_ids=("U2",), has=("link",), is_thread=True, mode=Mode.SEMANTIC
            ),
        ),
        (
            "x after:2026-03-01 before:2026-03-09",
            FormFields(text="x", first_day=date(2026, 3, 2), last_day=date(2026, 3, 8)),
        ),
        ("on:2026-03-01 x", FormFields(text="x", first_day=date(2026, 3, 1), last_day=date(2026, 3, 1))),
        (
            "x during:2026-03-01..2026-03-08",
            FormFields(text="x", first_day=date(2026, 3, 1), last_day=date(2026, 3, 8)),
        ),
        # What no field can hold stays as it was typed.
        ("x during:last week", FormFields(text="x during:last week")),
        ("x after:2026-03-01 10:30", FormFields(text="x after:2026-03-01 10:30")),
        ("x in:general -from:me", FormFields(text="x in:general -from:me")),
        ('-"a b" "c d" from:"Mara Lind"', FormFields(text='-"a b" "c d" from:"Mara Lind"')),
        ("x has:wings mode:lexical mode:semantic", FormFields(text="x has:wings mode:semantic", mode=Mode.LEXICAL)),
    ],
)
def test_a_command_as_a_form(command: str, fields: FormFields) -> None:
    assert fields_of(command) == fields


@pytest.mark.parametrize(
    "fields",
    [
        FormFields(text="rate limit"),
        FormFields(text='a & b <c> "d e" -f in:general'),
        FormFields(text="x", first_day=date(2026, 3, 1)),
        FormFields(text="x", last_day=date(2026, 3, 1), mode=Mode.LEXICAL, sort=Sort.OLDEST),
        FormFields(channel_ids=("C1", "C2"), user_ids=("U1",), has=("link", "code"), is_thread=True),
        FormFields(text="see <@U1|ada> and -in:<#C9>"),
        FormFields(text="x", first_day=date(2026, 3, 1), last_day=date(2026, 3, 1)),
        FormFields(text="x", first_day=date(2026, 3, 1), last_day=date(2027, 3, 1)),
    ],
)
def test_a_form_as_a_command_and_back(fields: FormFields) -> None:
    assert fields_of(fields.command()) == fields


@pytest.mark.parametrize("fields", [FormFields(first_day=date.min), FormFields(last_day=date.max)])
def test_the_first_and_the_last_day_that_there_is_narrow_nothing(fields: FormFields) -> None:
    """Found by benchmarks.fuzz, form:1:24: the day before the first one overflowed."""
    assert fields.command() == ""


@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_first_or_last_day_alone_is_a_day_like_others(day: date) -> None:
    command = FormFields(text="lunch", first_day=day, last_day=day).command()

    assert command == f"lunch on:{day.isoformat()}"


def test_a_kind_that_the_form_does_not_have_is_no_submission_of_it() -> None:
    """Found by benchmarks.fuzz, form:1:21: it was read, and then could not be shown again."""
    values = {FormBlock.KINDS.value: {"value": {"selected_options": [{"value": "wings"}]}}}

    with pytest.raises(ValueError, match="'wings' is no kind"):
        read_form({"view": {"state": {"values": values}}})


def test_typed_markup_stays_text() -> None:
    assert FormFields(text="<!channel> <https://x.io|y>").command() == "&lt;!channel&gt; &lt;https://x.io|y&gt;"


def test_the_largest_form_is_legal() -> None:
    fields = FormFields(
        text="漢" * 5_000,
        channel_ids=tuple(f"C{number}" for number in range(40)),
        user_ids=tuple(f"U{number}" for number in range(40)),
        first_day=date(2026, 1, 1),
        last_day=date(2026, 1, 2),
        has=("link", "file", "code"),
        is_thread=True,
    )

    assert_legal_view(form_view(fields, note="why " * 2_000))
    assert read_form({"view": {"state": {"values": {}}}}) == FormFields()
