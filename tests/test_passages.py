"""Passages: the window with the most of the query in it, cut where a reader does not stumble."""

import itertools
import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.analyzer import tokenize
from retrieval.passages import Passage, Segment, make_passage

FILLER = "Nothing to see in this sentence at all. "


def passage(text: str, query: str = "", *, max_chars: int = 300, phrases: tuple[str, ...] = ()) -> Passage:
    return make_passage(text, terms=tokenize(query), phrases=phrases, max_chars=max_chars)


def shown(found: Passage) -> str:
    return "".join(segment.text for segment in found.segments)


def matched(found: Passage) -> list[str]:
    return [segment.text for segment in found.segments if segment.matched]


def code(found: Passage) -> list[str]:
    return [segment.text for segment in found.segments if segment.code]


def test_a_short_text_is_shown_whole_with_its_matches_marked() -> None:
    assert passage("The partner tier answers 429 once more", "429 tier") == Passage(
        segments=(
            Segment("The partner ", matched=False, code=False),
            Segment("tier", matched=True, code=False),
            Segment(" answers ", matched=False, code=False),
            Segment("429", matched=True, code=False),
            Segment(" once more", matched=False, code=False),
        ),
        cut_start=False,
        cut_end=False,
    )


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("RATE Rate rate rated", "rate", ["RATE", "Rate", "rate"]),
        ("café Café", "cafe", ["café", "Café"]),
        ("cafe\u0301 au lait", "cafe", ["cafe\u0301"]),
        ("call foo.bar_baz now", "foo.bar_baz", ["foo.bar_baz"]),
        ("call foo.bar_baz now", "bar", ["bar"]),
        ("call audio.io/io now", "io", ["io", "io"]),
        ("NullReferenceException", "null", ["Null"]),
        ("see https://x.io/errors/E4392?p=1 now", "E4392", ["E4392"]),
        ("我家在上海东边", "上海", ["上海"]),
        ("ship it 🎉 now", "🎉", ["🎉"]),
        ("ship it :tada: now", "🎉", ["tada"]),
        ("ＡＢＣ wide", "abc", ["ＡＢＣ"]),
        ("İstanbul", "istanbul", ["İstanbul"]),
        ("nothing here", "absent", []),
        ("", "absent", []),
        ("  \n ", "absent", []),
    ],
)
def test_marks_what_the_query_means(text: str, query: str, expected: list[str]) -> None:
    assert matched(passage(text, query)) == expected


def test_marks_a_phrase_as_one_stretch_whatever_its_case_and_spacing() -> None:
    found = passage("the Rate\nLimit, and a rate", phrases=("rate limit,",))
    assert matched(found) == ["Rate\nLimit,"]


def test_takes_the_window_with_the_most_distinct_terms() -> None:
    text = f"alpha alpha alpha {FILLER * 10} beta and alpha and gamma {FILLER * 10} beta gamma"
    found = passage(text, "alpha beta gamma", max_chars=100)
    assert matched(found) == ["beta", "alpha", "gamma"]
    assert (found.cut_start, found.cut_end) == (True, True)


def test_takes_the_earliest_of_equal_windows() -> None:
    text = f"{FILLER * 10} one beta {FILLER * 10} two beta {FILLER * 10}"
    assert "one beta" in shown(passage(text, "beta", max_chars=100))


def test_takes_the_earliest_of_equal_windows_where_no_window_has_every_term() -> None:
    text = f"{FILLER * 10} alpha {FILLER * 10} beta {FILLER * 10}"
    assert matched(passage(text, "alpha beta gamma", max_chars=100)) == ["alpha"]


def test_a_match_that_ends_inside_a_grapheme_marks_all_of_it() -> None:
    assert matched(passage("cafe\u0301-bar", "cafe")) == ["cafe\u0301"]
    assert matched(passage("a 👩‍👩‍👧 b", phrases=("👧",))) == ["👩‍👩‍👧"]


def test_a_phrase_draws_the_window() -> None:
    text = f"limit and rate {FILLER * 10} the rate limit is 5 {FILLER * 5}"
    found = passage(text, "rate limit", phrases=("rate limit",), max_chars=80)
    assert matched(found) == ["rate limit"]


def test_the_beginning_is_kept_where_the_match_is_near_it() -> None:
    found = passage(f"Start of it. {FILLER}alpha {FILLER * 10}", "alpha", max_chars=120)
    assert shown(found).startswith("Start of it.")
    assert (found.cut_start, found.cut_end) == (False, True)


def test_without_a_match_the_beginning_is_shown() -> None:
    found = passage(FILLER * 20, "absent", max_chars=60)
    assert shown(found) == "Nothing to see in this sentence at all. Nothing to see in"


def test_cuts_at_words() -> None:
    words = [f"word{number}" for number in range(500)]
    found = passage(" ".join(words), "word250", max_chars=90)
    assert shown(found).split() == words[int(shown(found).split()[0][4:]) :][: len(shown(found).split())]
    assert 70 <= len(shown(found)) <= 90


def test_cuts_a_script_without_blanks_where_it_must() -> None:
    found = passage("東" * 200 + "上海" + "東" * 200, "上海", max_chars=40)
    assert len(shown(found)) == 40
    assert matched(found) == ["上海"]


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "นี้", "❤️", "क्षि"])
def test_never_cuts_inside_a_grapheme(cluster: str) -> None:
    text = cluster * 60
    whole = regex.findall(r"\X", text)
    for length in range(8, 40):
        found = passage(f"{text}beta{text}", "beta", max_chars=length)
        left, right = shown(found).split("beta") if "beta" in shown(found) else (shown(found), "")
        for side in (left, right):
            assert regex.findall(r"\X", side) == whole[: len(regex.findall(r"\X", side))]
        assert 0 < len(shown(found)) <= length


def test_a_grapheme_longer_than_the_passage_is_cut_all_the_same() -> None:
    found = passage("e" + "\u0301" * 40_000, "e", max_chars=50)
    assert len(shown(found)) == 50
    assert found.cut_end


def test_pairs_of_surrogates_become_their_character_and_lone_ones_are_replaced() -> None:
    assert shown(passage("\ud83c\udf89 and \ud83c")) == "🎉 and \ufffd"


def test_inline_code_is_marked_without_its_delimiters() -> None:
    found = passage("run `kubectl get pods` now", "pods")
    assert shown(found) == "run kubectl get pods now"
    assert code(found) == ["kubectl get ", "pods"]
    assert matched(found) == ["pods"]


def test_a_code_block_keeps_its_lines_and_indentation() -> None:
    found = passage("see:\n```\nif x:\n    y  =  1\n```\nand more")
    assert code(found) == ["if x:\n    y  =  1"]
    assert shown(found) == "see:\nif x:\n    y  =  1\nand more"


def test_a_code_block_stands_on_lines_of_its_own() -> None:
    assert shown(passage("see```\na\nb\n```more")) == "see\na\nb\nmore"


def test_a_cut_inside_a_code_block_leaves_code_on_both_sides_of_the_match() -> None:
    """B34: a fence that is cut is closed."""
    found = passage("```\n" + "line of code\n" * 100 + "beta\n" + "line of code\n" * 100 + "```", "beta", max_chars=60)
    assert all(segment.code for segment in found.segments)
    assert "`" not in shown(found)
    assert (found.cut_start, found.cut_end) == (True, True)


@pytest.mark.parametrize("text", ["```never closed", "a ` b", "`", "``", "```", "`a\nb`", "``````"])
def test_unpaired_delimiters_are_text(text: str) -> None:
    found = passage(text)
    assert shown(found) == text
    assert code(found) == []


def test_words_do_not_run_together_across_code() -> None:
    assert matched(passage("two `foo`s", "foo")) == ["foo"]


def test_blank_lines_and_wide_gaps_are_folded() -> None:
    assert shown(passage("a   b \r\n\r\n \t\r\n\r\nc\n  d\n\n")) == "a b\n\nc\n  d"


@pytest.mark.parametrize(
    "text",
    [
        "&&&&" * 1_000,
        "foo word " * 4_500,
        "x" * 40_000,
        "上海东边" * 10_000,
        " " * 40_000,
        "`a" * 20_000,
        "```a" * 10_000,
        "`" * 40_000,
        "a.b" * 13_000,
        "https://x.io/" + "foo/" * 10_000,
        "👩‍👩‍👧" * 8_000,
    ],
)
def test_long_texts_are_cut_quickly(text: str) -> None:
    started = time.perf_counter()
    found = passage(text, "foo a b x 上海", phrases=("foo word",))
    # Generous for a shared machine; what grows with the square would take minutes.
    assert time.perf_counter() - started < 3
    assert len(shown(found)) <= 300


def test_ampersands_are_shown_as_they_are() -> None:
    found = passage("&&&&" * 1_000)
    assert shown(found) == "&" * 300
    assert found.cut_end


def test_an_empty_passage_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="max_chars"):
        passage("x", max_chars=0)


ALPHABET = st.sampled_from(
    [*"abc xyz.-_/\n", "é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "上", "海", "\u200d", "ß", "`", "```", "  "]
)


@given(
    text=st.lists(ALPHABET, max_size=120).map("".join),
    terms=st.lists(st.sampled_from(["a", "b", "abc", "上海", "e", "c"]), max_size=4),
    max_chars=st.integers(1, 60),
)
@settings(max_examples=300, deadline=None)
def test_a_passage_is_a_part_of_the_text(text: str, terms: list[str], max_chars: int) -> None:
    found = make_passage(text, terms=terms, phrases=("b c",), max_chars=max_chars)
    assert _bare(shown(found)) in _bare(text)
    assert len(shown(found)) <= max_chars
    assert all(segment.text for segment in found.segments)
    styles = [(segment.matched, segment.code) for segment in found.segments]
    assert all(before != after for before, after in itertools.pairwise(styles))
    if not found.cut_start and not found.cut_end:
        assert _bare(shown(found)) == _bare(text)


@given(
    clusters=st.lists(
        st.sampled_from(["a", "b", " ", "é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "上", "👍🏽", "น้ำ"]), max_size=120
    ),
    max_chars=st.integers(20, 60),
)
@settings(max_examples=200, deadline=None)
def test_passages_and_segments_consist_of_whole_graphemes(clusters: list[str], max_chars: int) -> None:
    # Single blanks, so that nothing is folded and places can be compared.
    text = " ".join("".join(clusters).split())
    found = make_passage(text, terms=["a", "b", "e", "上"], max_chars=max_chars)
    pieces = [regex.findall(r"\X", segment.text) for segment in found.segments]
    together = regex.findall(r"\X", shown(found))
    assert [grapheme for piece in pieces for grapheme in piece] == together
    whole = regex.findall(r"\X", text)
    assert any(whole[start : start + len(together)] == together for start in range(len(whole) + 1))


def _bare(text: str) -> str:
    return "".join(character for character in text if not character.isspace() and character != "`")
