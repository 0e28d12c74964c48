"""A page of results as a Slack message."""

import json
import secrets
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import texts
from bot.action_state import ContextState, MoreState, NewSearchState, PageState, State, ThreadState, decode_state
from bot.blocks import render_results
from bot.elements import RenderedMessage, characters
from localslack.blockkit.check import check_message_blocks
from retrieval.models import Contribution, DocumentKind, Filters, Mode, QueryClass, Retriever, SearchRequest
from retrieval.notices import DEGRADED, NEWEST_ONLY, OLDEST_ONLY
from tests.block_examples import (
    FAMILY,
    HERE,
    HOSTILE,
    NOON_S,
    NOON_US,
    SECRET,
    TEAM,
    USER,
    difficult_documents,
    make_document,
    make_empty_document,
    make_hit,
    make_page,
    make_view,
    messages,
)
from tests.blockkit_referee import assert_legal_message, texts_of

LONG_COMMAND = HERE.model_copy(update={"command": "".join(chr(0x4E00 + 7 * n) for n in range(1_500))})


def render(*documents: object, **changes: object) -> RenderedMessage:
    message = render_results(make_view(documents, **changes))
    assert_legal_message(message.arguments())
    return message


def buttons(message: RenderedMessage) -> list[dict[str, object]]:
    return [element for block in message.blocks if block["type"] == "actions" for element in block["elements"]]


def labels(message: RenderedMessage) -> list[str]:
    return [button["text"]["text"] for button in buttons(message)]


def state_of(message: RenderedMessage, label: str) -> State:
    value = next(button["value"] for button in buttons(message) if button["text"]["text"] == label)
    return decode_state(value, SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM)


def lines(message: RenderedMessage) -> list[str]:
    """Every context line as one text, its elements joined as Slack shows them."""
    return ["  ".join(texts_of(block)) for block in message.blocks if block["type"] == "context"]


@pytest.mark.parametrize("name", list(messages()))
def test_every_kind_of_answer_is_legal(name: str) -> None:
    assert_legal_message(messages()[name].arguments())


@pytest.mark.parametrize("name", list(messages()))
def test_the_local_slack_takes_every_kind_of_answer(name: str) -> None:
    assert check_message_blocks(json.loads(json.dumps(messages()[name].blocks))) == []


def test_the_first_line_says_what_was_searched_how_and_how_fresh_it_is() -> None:
    first = lines(render(make_document()))[0]

    assert first == (
        "*rate limit 429 in #payments*  hybrid search, leaning on exact words | result 1"
        f" | archive of <!date^{NOON_S - 720}^{{time}}|11:48 UTC>, 12 min ago"
    )


def test_an_old_archive_shows_its_day() -> None:
    first = lines(render(make_document(), built_at_us=NOON_US - 3 * 86_400_000_000))[0]

    assert "{date_short_pretty} at {time}|28 Feb 2026, 12:00 UTC>, 3 days ago" in first


def test_a_hit_says_who_where_when_and_how_long_its_thread_is() -> None:
    assert lines(render(make_document(2)))[1] == (
        f"*1. Mara Lind*  #payments  <!date^{NOON_S}^{{date_short_pretty}} at {{time}}|3 Mar 2026, 12:00 UTC>"
        "  thread, 12 replies"
    )


def test_matched_words_are_bold_in_the_passage() -> None:
    message = render(make_document(text="The partner tier answers 429 today."))

    passage = next(block for block in message.blocks if block["type"] == "rich_text")
    assert {"type": "text", "text": "429", "style": {"bold": True}} in passage["elements"][0]["elements"]


def test_why_names_ranks_and_never_scores() -> None:
    page = make_page([make_document()], hits=(make_hit(make_document(), more_in_thread=3),))

    message = render_results(replace(make_view([]), page=page))

    assert "why: exact 429, keyword #1, meaning #4 | 3 more in this thread" in lines(message)
    assert not any("0." in line for line in lines(message))


def test_an_exact_match_without_an_identifier_is_called_that() -> None:
    contribution = Contribution(retriever=Retriever.EXACT, rank=2, score=1.0, weight=1.0, value=0.1)
    hit = replace(make_hit(make_document(text="words")), contributions=(contribution,))

    message = render_results(replace(make_view([]), page=make_page([], hits=(hit,))))

    assert "why: exact match" in lines(message)


@pytest.mark.parametrize(("thread_id", "named"), [("T1:C1:1.0", True), (None, False)])
def test_its_thread_is_a_reason_only_where_there_is_one(thread_id: str | None, named: bool) -> None:
    """A message outside any thread stands in the threads' list for itself; that is nothing to tell a reader."""
    contributions = tuple(
        Contribution(retriever=retriever, rank=2, score=1.0, weight=1.0, value=0.1)
        for retriever in (Retriever.LEXICAL, Retriever.CONTEXT)
    )
    hit = replace(make_hit(make_document(thread_id=thread_id)), contributions=contributions)

    message = render_results(replace(make_view([]), page=make_page([], hits=(hit,))))

    assert any("keyword #2, thread #2" in line for line in lines(message)) is named
    assert any("keyword #2" in line for line in lines(message))


@pytest.mark.parametrize(("days", "line"), [(30, "why: keyword #2, recent"), (31, "why: keyword #2")])
def test_a_message_of_the_last_month_is_called_recent(days: int, line: str) -> None:
    contributions = tuple(
        Contribution(retriever=retriever, rank=rank, score=1.0, weight=1.0, value=0.1)
        for retriever, rank in ((Retriever.LEXICAL, 2), (Retriever.RECENCY, days))
    )
    hit = replace(make_hit(make_document()), contributions=contributions)

    message = render_results(replace(make_view([]), page=make_page([], hits=(hit,))))

    assert line in lines(message)


def test_a_hit_without_contributions_has_no_why_line() -> None:
    hit = replace(make_hit(make_document()), contributions=())

    message = render_results(replace(make_view([]), page=make_page([], hits=(hit,))))

    assert not any("why" in line for line in lines(message))


@pytest.mark.parametrize(
    ("mode", "route", "degraded", "words"),
    [
        (Mode.LEXICAL, QueryClass.EXACT, False, "keyword search"),
        (Mode.SEMANTIC, QueryClass.MIXED, False, "search by meaning"),
        (Mode.HYBRID, QueryClass.CONCEPTUAL, False, "hybrid search, leaning on meaning"),
        (Mode.HYBRID, QueryClass.MIXED, False, "hybrid search, words and meaning alike"),
        (Mode.HYBRID, QueryClass.MIXED, True, "keyword search only"),
    ],
)
def test_the_first_line_names_mode_and_class(mode: Mode, route: QueryClass, degraded: bool, words: str) -> None:
    request = SearchRequest(text="x", mode=mode)

    message = render(make_document(), request=request, route=route, degraded=degraded)

    assert f"  {words} | " in lines(message)[0]


def test_a_degraded_answer_says_so_even_if_the_engine_does_not() -> None:
    assert texts.DEGRADED in lines(render(make_document(), degraded=True))


def test_a_degraded_answer_names_no_service() -> None:
    reason = "The embedding service at http://10.0.0.7:11434 answered 503"
    message = render(make_document(), degraded=True, warnings=(DEGRADED.format(reason=reason), "Another one."))

    assert lines(message)[1] == f"{texts.DEGRADED}\nAnother one."
    assert "10.0.0.7" not in repr(message.arguments())


def test_warnings_and_notices_stand_before_the_hits_each_once() -> None:
    message = render(make_document(), warnings=("Only words.", "Only words."), notices=("The archive was renewed.",))

    assert lines(message)[1] == "The archive was renewed.\nOnly words."


def test_a_middle_page_has_all_three_page_buttons() -> None:
    message = render(*difficult_documents()[:5], offset=5, next_cursor="cursor-10", previous_cursor="cursor-0")

    assert labels(message)[-3:] == ["Previous", "Next", "New search"]
    assert state_of(message, "Next").page == HERE.model_copy(update={"cursor": "cursor-10", "offset": 10})
    assert state_of(message, "Previous").page == HERE
    assert "results 6 to 10" in lines(message)[0]


def test_previous_from_the_third_page_keeps_its_cursor() -> None:
    message = render(make_document(), offset=10, previous_cursor="cursor-5")

    assert state_of(message, "Previous").page == HERE.model_copy(update={"cursor": "cursor-5", "offset": 5})


def test_the_last_page_has_no_next_and_says_what_was_not_looked_at() -> None:
    message = render(make_document())

    assert labels(message)[-1:] == ["New search"]
    assert lines(message)[-1].split("\n") == [
        texts.END_OF_RESULTS,
        texts.HYBRID_ENDS,
        texts.NOT_SEARCHED,
    ]


def test_a_single_mode_lists_everything_and_says_nothing_of_hybrid() -> None:
    message = render(make_document(), request=SearchRequest(text="x", mode=Mode.LEXICAL))

    assert texts.HYBRID_ENDS not in message.text


@pytest.mark.parametrize("warning", [NEWEST_ONLY, OLDEST_ONLY])
def test_what_is_only_listed_claims_no_ranking(warning: str) -> None:
    listed = render(make_document(), warnings=(warning,))
    nothing = render(warnings=(warning,))

    assert f"{texts.LISTED} | result 1 | " in lines(listed)[0]
    assert warning in listed.text
    assert texts.HYBRID_ENDS not in listed.text
    assert warning not in nothing.text
    assert "leaning" not in listed.text + nothing.text


def test_a_page_with_a_next_does_not_claim_the_end() -> None:
    assert texts.END_OF_RESULTS not in render(make_document(), next_cursor="c").text


def test_paging_ends_with_a_sentence_at_the_last_offset() -> None:
    message = render(make_document(), offset=10_000, next_cursor="c", previous_cursor="b")

    assert "Next" not in labels(message)
    assert any("Paging ends after 10,000 results." in line for line in lines(message))


def test_hits_that_do_not_fit_are_left_for_next() -> None:
    """B35: fewer hits rather than more than Slack takes in all."""
    documents = [make_document(number, "limit 429 " * 100, author_name="&" * 80) for number in range(1, 6)]
    view = make_view(documents, offset=5, next_cursor="cursor-10", previous_cursor="b")
    whole = render_results(view)
    assert whole.shown == 5

    message = render_results(view, budget=characters(whole.blocks) - 1)

    assert_legal_message(message.arguments())
    assert message.shown == 4
    assert state_of(message, "Next").page == HERE.model_copy(update={"cursor": "cursor-at-9", "offset": 9})
    assert "results 6 to 9" in lines(message)[0]


def test_at_most_five_hits_stand_on_a_page() -> None:
    message = render(*[make_document(number) for number in range(1, 9)])

    assert message.shown == 5
    assert state_of(message, "Next").page.cursor == "cursor-at-5"


def test_a_thread_can_be_expanded_and_leads_back() -> None:
    document = make_document(7)

    state = state_of(render(document), "Expand thread")

    assert isinstance(state, ThreadState)
    assert (state.thread_id, state.document_id, state.offset) == (document.thread_id, document.document_id, None)
    assert state.back == HERE


def test_a_message_without_thread_offers_its_context() -> None:
    message = render(make_document(7, thread_id=None, thread_size=0))

    assert labels(message)[:2] == ["Open in Slack", "Context"]
    assert isinstance(state_of(message, "Context"), ContextState)


def test_more_carries_what_a_vote_would_be_about_only_where_votes_are_kept() -> None:
    assert "More" not in labels(render(make_document(), with_more=False))
    state = state_of(render(make_document(7)), "More")
    voting = state_of(render(make_document(7), with_votes=True), "More")

    assert isinstance(state, MoreState)
    assert isinstance(voting, MoreState)
    assert (state.back, state.judged) == (HERE, None)
    assert voting.judged is not None
    assert (voting.judged.rank, voting.judged.command) == (1, HERE.command)


def test_new_search_remembers_what_was_typed() -> None:
    state = state_of(render(make_document()), "New search")

    assert isinstance(state, NewSearchState)
    assert state.command == HERE.command


def test_every_button_of_a_hit_says_which_hit_to_a_screen_reader() -> None:
    message = render(make_document(1), make_document(2))

    spoken = [button.get("accessibility_label") for button in buttons(message)[:6]]
    assert spoken == [
        "Open in Slack, result 1",
        "Expand thread, result 1",
        "More, result 1",
        "Open in Slack, result 2",
        "Expand thread, result 2",
        "More, result 2",
    ]


def test_a_search_too_long_to_page_says_so_and_keeps_its_other_buttons() -> None:
    message = render(make_document(), here=LONG_COMMAND, next_cursor="c")

    assert labels(message) == ["Open in Slack", "Expand thread", "More", "New search"]
    assert texts.TOO_LONG_TO_PAGE in lines(message)[-1]
    assert state_of(message, "Expand thread").back is None
    assert texts.END_OF_RESULTS not in message.text


def test_an_id_too_long_for_a_button_leaves_the_link() -> None:
    document = make_document(document_id=secrets.token_hex(3_000), thread_id=None, thread_size=0)

    assert labels(render(document)) == ["Open in Slack", "New search"]


def test_without_link_and_buttons_a_hit_has_no_empty_row() -> None:
    document = make_empty_document()

    message = render(replace(document, document_id=secrets.token_hex(3_000)), workspace_url=None)

    assert labels(message) == ["New search"]


def test_missing_fields_have_placeholders_and_no_broken_link() -> None:
    """B33: a file alone, no author, no channel, no link."""
    message = render(make_empty_document())

    assert "Unknown author" in lines(message)[1]
    assert "unknown channel" in lines(message)[1]
    assert texts.NO_TEXT in message.text
    assert labels(message)[0] == "Context"


def test_an_odd_time_has_a_placeholder() -> None:
    assert texts.UNKNOWN_TIME in lines(render(make_document(ts_us=-1, permalink=None)))[1]


@pytest.mark.parametrize(
    ("permalink", "url"),
    [
        (None, f"https://acme.example.test/archives/C0PAY/p{NOON_S}000007?thread_ts={NOON_S}.000001&cid=C0PAY"),
        ("https://acme.example.test/archives/C0PAY/p1", "https://acme.example.test/archives/C0PAY/p1"),
        ("javascript:alert(1)", None),
        ("https://", None),
        ("https://[bad", None),
        ("https://acme.example.test/<x>", "https://acme.example.test/<x>"),
        ("https://acme.example.test/" + "a" * 3_000, None),
    ],
)
def test_links_lead_into_slack_or_are_left_out(permalink: str | None, url: str | None) -> None:
    message = render_results(make_view([make_document(7, permalink=permalink)]))

    assert next((button["url"] for button in buttons(message) if "url" in button), None) == url


def test_a_link_cannot_be_built_without_the_workspace_url() -> None:
    assert "Open in Slack" not in labels(render(make_document(permalink=None), workspace_url=None))


def test_a_file_passage_names_its_file() -> None:
    document = make_document(document_kind=DocumentKind.FILE_CHUNK, metadata={"files": [{"name": "limits.md"}]})

    assert lines(render(document))[1].endswith("from the file limits.md")


@pytest.mark.parametrize("metadata", [{}, {"files": []}, {"files": ["x"]}, {"files": [{"name": 7}]}, {"files": "x"}])
def test_a_file_passage_without_a_name_is_still_said_to_be_one(metadata: dict[str, object]) -> None:
    document = make_document(document_kind=DocumentKind.FILE_CHUNK, metadata=metadata)

    assert lines(render(document))[1].endswith("from a file")


def test_names_are_escaped_once_and_never_parsed() -> None:
    message = render(make_document(author_name="R&D <!here>", channel_name="a<b"))

    first, second, *_ = (element for block in message.blocks[2:3] for element in block["elements"])
    assert first == {"type": "mrkdwn", "text": "*1. R&amp;D &lt;!here&gt;*", "verbatim": True}
    assert second == {"type": "plain_text", "text": "#a<b", "emoji": False}


def test_a_name_with_formatting_characters_is_plain() -> None:
    message = render(make_document(author_name="*ops*_bot_"))

    assert message.blocks[2]["elements"][0] == {"type": "plain_text", "text": "1. *ops*_bot_", "emoji": False}


def test_nothing_archived_pings_in_any_part() -> None:
    message = render(make_document(text=HOSTILE + " @channel", author_name=HOSTILE, channel_name=HOSTILE))

    assert "<!" not in message.text
    assert "@channel" not in message.text
    assert "&lt;!channel&gt; &lt;@U1&gt; &amp;lt;@U2&amp;gt;" in message.text


def test_a_screen_reader_gets_the_whole_answer() -> None:
    message = render(make_document(1, "The tier answers 429."), make_document(2, "Retry later, 429 is fine."))

    assert message.text.split("\n") == [
        (
            "rate limit 429 in #payments: results 1 to 2. Hybrid search, leaning on exact words, archive of"
            " 3 Mar 2026, 11:48 UTC, 12 min ago."
        ),
        (
            "1. Mara Lind in #payments, 3 Mar 2026, 12:00 UTC: The tier answers 429."
            " (why: exact 429, keyword #1, meaning #4)"
        ),
        (
            "2. Mara Lind in #payments, 3 Mar 2026, 12:00 UTC: Retry later, 429 is fine."
            " (why: exact 429, keyword #1, meaning #4)"
        ),
        texts.END_OF_RESULTS,
        texts.HYBRID_ENDS,
        texts.NOT_SEARCHED,
    ]


def test_where_the_spoken_answer_would_be_too_long_every_hit_is_still_in_it() -> None:
    message = render(*[make_document(number, "&<" * 500, author_name="&" * 80) for number in range(1, 6)])

    assert len(message.text) <= 4_000
    for rank in range(1, 6):
        assert f"\n{rank}. " in message.text
    assert texts.END_OF_RESULTS in message.text


def test_no_hit_says_what_was_searched_that_it_proves_nothing_and_what_to_try() -> None:
    request = SearchRequest(text="x", mode=Mode.LEXICAL, filters=Filters(channel_ids=("C1",)))

    message = render(request=request)

    body = next(block for block in message.blocks if block["type"] == "section")["text"]["text"]
    assert body.split("\n") == [
        "Nothing found.",
        f"• {texts.TRY_WITHOUT_FILTERS}",
        f"• {texts.TRY_MEANING}",
        f"• {texts.TRY_FEWER_WORDS}",
    ]
    assert lines(message)[-1] == f"{texts.ABSENCE_IS_NO_PROOF}\n{texts.NOT_SEARCHED}"
    assert labels(message) == ["New search"]
    for sentence in ("Nothing found for: rate limit 429 in #payments\n", texts.TRY_MEANING, texts.ABSENCE_IS_NO_PROOF):
        assert sentence in message.text


def test_suggestions_of_the_caller_come_first() -> None:
    message = render(suggestions=("Did you mean “retry”?",))

    assert "• Did you mean “retry”?" in next(texts_of([b for b in message.blocks if b["type"] == "section"]))


def test_a_page_beyond_the_last_hit_is_an_end_and_not_an_absence() -> None:
    message = render(offset=20)

    assert texts.END_OF_RESULTS in message.text
    assert "Nothing found" not in message.text


def test_no_hit_in_meaning_search_suggests_keywords() -> None:
    assert texts.TRY_KEYWORDS in render(request=SearchRequest(text="x", mode=Mode.SEMANTIC)).text


def test_a_page_state_of_every_page_button_fits_and_decodes() -> None:
    message = render(make_document(), offset=5, next_cursor="n" * 200, previous_cursor="p" * 200)

    assert all(isinstance(state_of(message, label), PageState) for label in ("Previous", "Next"))


_TEXT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["&" * 2_000, "<" * 900, FAMILY * 200, "x" * 40_000, "```" + "&\n" * 3_000, HOSTILE, "a " * 900]),
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(_TEXT, _TEXT, _TEXT), max_size=7),
    understood=_TEXT,
    notices=st.lists(_TEXT, max_size=9),
    with_more=st.booleans(),
)
def test_no_page_ever_breaks_slacks_limits(
    rows: list[tuple[str, str, str]], understood: str, notices: list[str], with_more: bool
) -> None:
    """B34, B35: whatever the hits are, each block and all together are legal."""
    documents = [
        make_document(number, text, author_name=author, channel_name=channel)
        for number, (text, author, channel) in enumerate(rows, start=1)
    ]

    message = render(
        *documents,
        understood=understood,
        notices=tuple(notices),
        warnings=tuple(notices),
        not_searched=tuple(notices),
        with_more=with_more,
        next_cursor="c",
    )

    assert message.shown == min(5, len(rows))
