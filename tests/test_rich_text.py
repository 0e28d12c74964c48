"""Archived text as rich_text."""

import itertools
import json

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from bot import texts
from bot.elements import Block
from bot.rich_text import cut, harmless, message_block, one_line, passage_block, passage_runs, plain_words
from retrieval.passages import Passage, Segment, make_passage
from tests.block_examples import FAMILY, HEBREW, HOSTILE
from tests.blockkit_referee import assert_legal_message, texts_of, units


def message(text: str, maximum: int = 1_000) -> list[Block]:
    block = message_block(text, maximum=maximum)
    legal(block)
    return block["elements"]


def passage(text: str, *terms: str, max_chars: int = 300) -> list[Block]:
    block = passage_block(make_passage(text, terms=terms, max_chars=max_chars))
    legal(block)
    return block["elements"]


def legal(block: Block) -> None:
    assert_legal_message({"text": "x", "blocks": [block], "unfurl_links": False, "unfurl_media": False})


def section(*elements: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def word(text: str, **style: bool) -> Block:
    return {"type": "text", "text": text} | ({"style": style} if style else {})


def test_matched_words_are_bold() -> None:
    assert passage("the tier answers 429 now", "429") == [
        section(word("the tier answers "), word("429", bold=True), word(" now"))
    ]


def test_mentions_and_links_of_an_archived_message_are_literal() -> None:
    assert passage(HOSTILE) == [section(word(HOSTILE))]
    assert message(HOSTILE) == [section(word(HOSTILE))]


def test_formatting_characters_are_literal() -> None:
    assert message("*bold* _italic_ ~struck~") == [section(word("*bold* _italic_ ~struck~"))]


def test_a_fence_becomes_preformatted_between_its_neighbours() -> None:
    assert message("before\n```\nx = 1\n\ty\n```\nafter") == [
        section(word("before")),
        {"type": "rich_text_preformatted", "elements": [word("x = 1\n\ty")]},
        section(word("after")),
    ]


def test_a_fence_of_a_passage_becomes_preformatted_too() -> None:
    assert passage("see\n```\nlimit = 429\nraise\n```\nthere", "429") == [
        section(word("see")),
        {"type": "rich_text_preformatted", "elements": [word("limit = 429\nraise")]},
        section(word("there")),
    ]


def test_inline_code_of_a_passage_stays_inline_and_keeps_its_match() -> None:
    assert passage("set `limit = 429` here", "429") == [
        section(word("set "), word("limit = 429", bold=True, code=True), word(" here"))
    ]


def test_an_unclosed_fence_still_ends_as_code() -> None:
    assert message("```" + "x" * 2_000, maximum=100) == [
        {"type": "rich_text_preformatted", "elements": [word("x" * 96 + "…")]}
    ]


def test_nothing_in_code_becomes_an_emoji_or_a_quote() -> None:
    assert message("```\n> :tada:\n```") == [{"type": "rich_text_preformatted", "elements": [word("> :tada:")]}]


def test_inline_code_keeps_its_text() -> None:
    assert message("run `make demo` first") == [section(word("run "), word("make demo", code=True), word(" first"))]


def test_quoted_lines_become_one_quote() -> None:
    assert message("she said\n> it is down\n> for all\nand left") == [
        section(word("she said")),
        {"type": "rich_text_quote", "elements": [word("it is down\nfor all")]},
        section(word("and left")),
    ]


def test_an_empty_quote_is_left_out() -> None:
    assert message("a\n>\nb") == [section(word("a")), section(word("b"))]


def test_many_empty_lines_become_one() -> None:
    assert message("a\n\n\n\nb") == [section(word("a\n\nb"))]


def test_known_emoji_names_become_emoji_and_others_stay() -> None:
    assert message("done :tada: at 10:30:45 :our_own_logo:") == [
        section(word("done "), {"type": "emoji", "name": "tada"}, word(" at 10:30:45 :our_own_logo:"))
    ]


def test_emoji_names_may_touch_and_lose_their_skin_tone() -> None:
    assert message(":wave::skin-tone-3::tada: std::b::c :skin-tone-2:") == [
        section(
            {"type": "emoji", "name": "wave"},
            {"type": "emoji", "name": "tada"},
            word(" std::b::c :skin-tone-2:"),
        )
    ]


def test_a_text_may_end_with_an_emoji() -> None:
    assert message("done :tada:") == [section(word("done "), {"type": "emoji", "name": "tada"})]


def test_entities_are_not_unescaped_a_second_time() -> None:
    assert message("&lt;@U2&gt; &amp;amp;") == [section(word("&lt;@U2&gt; &amp;amp;"))]


@pytest.mark.parametrize("text", ["", "   \n\t ", "\x00\x1b", "``````", "> ", "```\n  \n```"])
def test_a_message_without_visible_text_gets_a_placeholder(text: str) -> None:
    assert message(text) == [section(word(texts.NO_TEXT, italic=True))]


def test_a_passage_says_where_it_was_cut() -> None:
    block = passage_block(Passage((Segment("middle", matched=False, code=False),), cut_start=True, cut_end=True))

    assert "".join(texts_of(block)) == "… middle …"


def test_right_to_left_text_is_kept_and_overrides_are_removed() -> None:
    assert message(HEBREW) == [section(word(HEBREW))]
    assert harmless("a\u202eb\u2066c\u2069\u202a") == "abc"
    assert harmless("\u200fא\u200e") == "\u200fא\u200e"


def test_control_characters_go_and_line_breaks_are_newlines() -> None:
    assert harmless("a\x00b\x1b[31m\x7f\x9b\r\nc\rd\u2028e\tf\x0bg") == "ab[31m\nc\nd\ne\tf g"


def test_half_characters_can_be_sent() -> None:
    assert harmless("\ud83d x \uffff") == "\ufffd x \ufffd"
    json.dumps(message("\ud83d x \ud800"), ensure_ascii=False).encode()


def test_stacked_marks_are_thinned() -> None:
    assert len(harmless("e" + "\u0301" * 500)) == 7


def test_an_emoji_at_the_cut_is_kept_whole_or_left_out() -> None:
    """B42: an emoji of several characters is one thing."""
    clusters = regex.findall(r"\X", cut("ab" + FAMILY * 40, 100))

    assert clusters[-1] == "…"
    assert set(clusters[2:-1]) == {FAMILY}


def test_a_cut_prefers_the_end_of_a_word() -> None:
    assert cut("one two three four five six seven", 22) == "one two three four…"


def test_one_endless_cluster_cannot_break_the_limit() -> None:
    assert units(cut("x" + "\u200d👩" * 5_000, 300)) <= 300


@given(st.text(max_size=400), st.integers(2, 100))
def test_a_cut_text_fits_and_ends_at_a_grapheme(text: str, maximum: int) -> None:
    text = harmless(text)

    shorter = cut(text, maximum)

    assert units(shorter) <= maximum
    assert shorter == text or shorter.endswith("…")
    kept = shorter if shorter == text else shorter.removesuffix("…")
    clusters = regex.findall(r"\X", text)
    assume(all(len(cluster) <= 64 for cluster in clusters))
    assert text.startswith(kept)
    assert len(kept) in {0, *itertools.accumulate(len(cluster) for cluster in clusters)}


@given(st.text(max_size=500))
def test_any_message_is_legal(text: str) -> None:
    message(text, maximum=300)


@given(st.text("ab `\n>:*429🎉\u0301\u200d", max_size=200), st.integers(1, 60))
def test_any_passage_is_legal(text: str, max_chars: int) -> None:
    passage(text, "429", max_chars=max_chars)


def test_a_name_stands_on_one_line() -> None:
    assert one_line(" Ada\n\tLovelace\u202e ", maximum=80) == "Ada Lovelace"


def test_words_for_screen_readers_keep_everything_on_one_line() -> None:
    runs = passage_runs(make_passage("see\n```\nlimit = 429\nraise\n```\n`x` there", terms=["429"]))

    assert plain_words(runs) == "see limit = 429 raise x there"


def test_inline_code_that_matches_in_part_stays_one_piece() -> None:
    """Slack boxes each piece of inline code: `partner_tier.yaml` must not fall into three boxes."""
    passage = make_passage("it lives in `partner_tier.yaml` today", terms=("tier",))
    code = [run for run in passage_runs(passage) if run.code]

    assert [(run.text, run.bold) for run in code] == [("partner_tier.yaml", True)]
