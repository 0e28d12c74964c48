"""Threads and neighbours, as messages and in the modal."""

import json
import secrets
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import texts
from bot.action_state import NewSearchState, PageState, State, ThreadState, decode_state
from bot.elements import Block, RenderedMessage
from bot.entries import fair_shares
from bot.message_blocks import error_view, loading_view, thread_view
from bot.thread_blocks import ContextView, ThreadView, render_context, render_thread, thread_page_offset
from localslack.blockkit.check import check_view
from retrieval.models import Document, DocumentKind, Thread
from tests.block_examples import (
    HERE,
    NOON_S,
    SECRET,
    TEAM,
    USER,
    WORKSPACE_URL,
    make_context,
    make_document,
    make_empty_document,
    make_signer,
    make_thread,
    views,
)
from tests.blockkit_referee import assert_legal_message, assert_legal_view, texts_of


def render(thread: Thread, **changes: object) -> RenderedMessage:
    view = ThreadView(thread=thread, marked_id=None, signer=make_signer(), back=HERE, workspace_url=WORKSPACE_URL)
    message = render_thread(replace(view, **changes))
    assert_legal_message(message.arguments())
    return message


def lines(blocks: object) -> list[str]:
    return ["  ".join(texts_of(block)) for block in blocks if block["type"] == "context"]


def buttons(blocks: object) -> dict[str, Block]:
    return {
        element["text"]["text"]: element
        for block in blocks
        if block["type"] == "actions"
        for element in block["elements"]
    }


def state_of(button: Block) -> State:
    return decode_state(button["value"], SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM)


def with_messages(*documents: Document, **changes: object) -> Thread:
    return replace(make_thread(), messages=documents, total=len(documents), **changes)


def test_a_thread_says_who_began_it_where_when_and_what_is_shown() -> None:
    heading = lines(render(make_thread(10, offset=10)).blocks)[0]

    assert heading == (
        f"*Thread by Mara Lind*  #payments  <!date^{NOON_S}^{{date_short_pretty}} at {{time}}|3 Mar 2026, 12:00 UTC>"
        "  messages 11 to 20 of 34"
    )


def test_messages_stand_oldest_first_each_with_its_place() -> None:
    message = render(make_thread(3, offset=0, total=3))

    assert message.shown == 3
    assert [line.rsplit("  ", 1)[1] for line in lines(message.blocks)[1:4]] == ["1 of 3", "2 of 3", "3 of 3"]
    passages = [next(texts_of(block)) for block in message.blocks if block["type"] == "rich_text"]
    assert passages == ["Message 1.", "Message 2.", "Message 3."]


def test_the_hit_is_marked_and_no_other_message() -> None:
    thread = make_thread(10, offset=10)

    message = render(thread, marked_id=thread.messages[3].document_id)

    marked = [line for line in lines(message.blocks) if texts.THE_HIT in line]
    assert len(marked) == 1
    assert marked[0].startswith(f"*▶ {texts.THE_HIT}*  *Mara Lind*")
    assert marked[0].endswith("14 of 34")
    assert f"({texts.THE_HIT})" in message.text


def test_the_hit_stands_between_two_lines() -> None:
    thread = make_thread(10, offset=10)

    kinds = [block["type"] for block in render(thread, marked_id=thread.messages[3].document_id).blocks]

    assert kinds[7:11] == ["divider", "context", "rich_text", "divider"]
    assert kinds.count("divider") == 2


def test_a_middle_page_leads_back_earlier_later_and_into_slack() -> None:
    thread = make_thread(10, offset=10)

    found = buttons(render(thread, marked_id=thread.messages[3].document_id).blocks)

    assert list(found) == ["Back to results", "Earlier", "Later", "Open in Slack"]
    back = state_of(found["Back to results"])
    assert isinstance(back, PageState)
    assert back.page == HERE
    earlier, later = state_of(found["Earlier"]), state_of(found["Later"])
    assert isinstance(earlier, ThreadState)
    assert isinstance(later, ThreadState)
    assert (earlier.offset, later.offset) == (0, 20)
    assert earlier.back == later.back == HERE
    assert earlier.document_id == thread.messages[3].document_id
    assert found["Open in Slack"]["url"] == thread.messages[3].permalink


def test_the_first_page_has_no_earlier_and_the_last_no_later() -> None:
    assert "Earlier" not in buttons(render(make_thread(10, offset=0)).blocks)
    assert "Later" not in buttons(render(make_thread(4, offset=30)).blocks)
    assert list(buttons(render(make_thread(3, total=3)).blocks)) == ["Back to results", "Open in Slack"]


def test_a_page_shows_ten_messages_and_later_goes_on_after_them() -> None:
    message = render(make_thread(14, offset=0))

    assert message.shown == 10
    assert state_of(buttons(message.blocks)["Later"]).offset == 10


def test_earlier_never_starts_before_the_thread() -> None:
    assert state_of(buttons(render(make_thread(10, offset=4)).blocks)["Earlier"]).offset == 0


@pytest.mark.parametrize(("position", "offset"), [(0, 0), (9, 0), (10, 10), (19, 10), (34, 30)])
def test_pages_begin_at_multiples_of_ten(position: int, offset: int) -> None:
    assert thread_page_offset(position) == offset


def test_a_missing_root_is_said() -> None:
    message = render(make_thread(2, total=2, root=None))

    assert texts.ROOT_MISSING in lines(message.blocks)
    assert lines(message.blocks)[0].startswith("*Thread*")


def test_the_engines_own_warning_is_not_doubled() -> None:
    message = render(make_thread(2, total=2, root=None, warnings=("The root is not here.",)))

    assert "The root is not here." in lines(message.blocks)
    assert texts.ROOT_MISSING not in message.text


def test_without_a_way_back_a_new_search_is_offered_and_the_reason_said() -> None:
    message = render(make_thread(), back=None)

    assert isinstance(state_of(buttons(message.blocks)["New search"]), NewSearchState)
    assert texts.TOO_LONG_TO_RETURN in message.text


def test_a_way_back_that_does_not_fit_is_replaced_by_a_new_search() -> None:
    long = HERE.model_copy(update={"command": secrets.token_hex(3_000)})

    found = buttons(render(make_thread(10, offset=10), back=long).blocks)

    assert "Back to results" not in found
    assert state_of(found["Later"]).back is None


def test_ids_too_long_for_a_button_leave_the_link() -> None:
    found = buttons(render(replace(make_thread(10, offset=10), thread_id=secrets.token_hex(3_000))).blocks)

    assert list(found) == ["Back to results", "Open in Slack"]


def test_a_long_message_is_cut_and_says_so_and_short_ones_are_whole() -> None:
    thread = with_messages(make_document(1, "short"), make_document(2, "word " * 9_000))

    message = render(thread)

    assert texts.CUT_MESSAGE not in lines(message.blocks)[1]
    assert texts.CUT_MESSAGE in lines(message.blocks)[2]
    passages = ["".join(texts_of(block)) for block in message.blocks if block["type"] == "rich_text"]
    assert passages[0] == "short"
    assert 1_400 < len(passages[1]) <= 1_500


def test_a_row_that_lacks_everything_has_placeholders() -> None:
    message = render(with_messages(make_empty_document(), root=make_empty_document()), workspace_url=None)

    assert lines(message.blocks)[0].startswith("*Thread by Unknown author*  unknown channel")
    assert texts.NO_TEXT in message.text
    assert list(buttons(message.blocks)) == ["Back to results"]


def test_a_file_passage_in_a_thread_names_its_file() -> None:
    document = make_document(document_kind=DocumentKind.FILE_CHUNK, metadata={"files": [{"name": "limits.md"}]})

    assert lines(render(with_messages(document)).blocks)[1].endswith("1 of 1  from the file limits.md")


def test_a_screen_reader_gets_every_message_of_the_page() -> None:
    message = render(make_thread(2, total=2))

    assert message.text.split("\n") == [
        "Thread by Mara Lind in #payments, all 2 messages",
        "1 of 2. Mara Lind in #payments, 3 Mar 2026, 12:00 UTC: Message 1.",
        "2 of 2. Mara Lind in #payments, 3 Mar 2026, 12:00 UTC: Message 2.",
    ]


def test_neighbours_stand_around_the_message_and_are_said_to_be_the_channels() -> None:
    message = render_context(ContextView(context=make_context(), signer=make_signer(), back=HERE))

    assert_legal_message(message.arguments())
    passages = [next(texts_of(block)) for block in message.blocks if block["type"] == "rich_text"]
    assert passages == [
        *(f"Before {number}." for number in range(46, 50)),
        "Which key does the retry use?",
        *(f"After {number}." for number in range(51, 56)),
    ]
    assert sum(texts.THE_HIT in line for line in lines(message.blocks)) == 1
    assert texts.NEIGHBOURS in message.text
    assert list(buttons(message.blocks)) == ["Back to results", "Open in Slack"]


def test_a_message_alone_in_its_channel_still_has_a_context() -> None:
    alone = replace(make_context(), before=(), after=())

    assert render_context(ContextView(context=alone, signer=make_signer(), back=HERE)).shown == 1


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=10), st.integers(2_000, 9_000))
def test_fair_shares_stay_within_the_total_and_cut_nothing_needlessly(lengths: list[int], total: int) -> None:
    shares = fair_shares(lengths, total)

    used = [min(length, share) for length, share in zip(lengths, shares, strict=True)]
    assert sum(used) <= total
    if sum(lengths) <= total and max(lengths) <= 1_500:
        assert used == lengths


_TEXT = st.one_of(st.text(max_size=40), st.sampled_from(["&" * 900, "<" * 40_000, "👩‍👩‍👧" * 900, "```" + "a\n" * 900]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=12))
def test_no_thread_ever_breaks_slacks_limits(rows: list[tuple[str, str]]) -> None:
    documents = [make_document(number, text, author_name=name) for number, (text, name) in enumerate(rows, 1)]

    message = render(with_messages(*documents, warnings=tuple(text for text, _ in rows)))

    assert message.shown == min(10, len(rows))
    assert_legal_view(
        thread_view(
            thread=with_messages(*documents),
            context=replace(make_context(), before=tuple(documents), after=tuple(documents)),
            marked_id=documents[0].document_id,
            signer=make_signer(),
        )
    )


@pytest.mark.parametrize("name", list(views()))
def test_every_modal_is_legal(name: str) -> None:
    assert_legal_view(views()[name])


@pytest.mark.parametrize("name", list(views()))
def test_the_local_slack_takes_every_modal(name: str) -> None:
    assert check_view(json.loads(json.dumps(views()[name]))) == []


def test_the_loading_modal_is_small_enough_to_open_at_once() -> None:
    assert list(texts_of(loading_view()["blocks"])) == [texts.LOADING]


def test_the_modal_shows_the_thread_and_then_the_neighbours() -> None:
    view = views()["thread and neighbours"]

    headers = [block["text"]["text"] for block in view["blocks"] if block["type"] == "header"]
    assert headers == [texts.ITS_THREAD, texts.ITS_NEIGHBOURS]
    assert texts.NEIGHBOURS in lines(view["blocks"])
    assert sum(texts.THE_MESSAGE in line for line in lines(view["blocks"])) == 1


def test_the_modals_buttons_page_without_a_way_back() -> None:
    found = buttons(views()["thread and neighbours"]["blocks"])

    assert list(found) == ["Earlier", "Later", "Open in Slack"]
    state = state_of(found["Later"])
    assert isinstance(state, ThreadState)
    assert state.back is None
    assert state.offset == 20


def test_nothing_to_show_is_said_in_the_same_words_as_not_found() -> None:
    assert views()["nothing"] == views()["not found"]
    assert list(texts_of(views()["nothing"]["blocks"])) == [texts.NOT_IN_ARCHIVE]


def test_an_endless_error_still_opens() -> None:
    assert_legal_view(error_view("x" * 9_000))
    assert_legal_view(error_view(""))
