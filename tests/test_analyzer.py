"""Text to tokens, and that DuckDB's folding leaves them as they are."""

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retrieval.analyzer import MAX_TOKEN_CHARS, fold, token_spans, tokenize

TABLE = (
    ("foo.bar_baz", "foo.bar_baz foo bar_baz bar baz"),
    ("PROJ-17", "proj-17 proj 17"),
    ("DEC-0054", "dec-0054 dec 0054"),
    ("v1.2.3", "v1.2.3 1.2.3"),
    ("10.0.0.1", "10.0.0.1"),
    ("E4392", "e4392"),
    ("NullReferenceException", "nullreferenceexception null reference exception"),
    ("HTTPServer", "httpserver http server"),
    ("https://x.io/a-b", "x.io/a-b x.io io a-b"),
    ("#1234", "#1234 1234"),
    ("#general", "general"),
    ("what's", "what"),
    ("don't", "dont"),
    ("O'Brien", "obrien brien"),
    ("multi-agent", "multi-agent multi agent"),
    ("-foo", "foo"),
    ("apply_secrets()", "apply_secrets apply secrets"),
    ("1,234,567", "1234567"),
    ("C++ and C#", "c++ and c#"),
    ("我家在上海", "我家 家在 在上 上海"),
    ("東", "東"),
    ("日本語test", "日本 本語 test"),
    (":tada:", "tada"),
    ("🎉", "tada"),
    ("👍🏽", "thumbsup"),
    ("Straße ÖFFNUNG café", "straße offnung cafe"),
    ("Ｅ４３９２", "e4392"),
    ("“rate limit”", "rate limit"),
    ("a@example.org", "a@example.org example.org example org"),
    ("  \n\t", ""),
    ("!?…", ""),
)


@pytest.mark.parametrize(("text", "tokens"), TABLE)
def test_tokens_of_a_text(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens.split()


@pytest.mark.parametrize("word", ["foo.bar_baz", "PROJ-17", "v1.2.3", "E4392", "10.0.0.1", "report.csv", "#1234"])
def test_an_identifier_stays_whole_whatever_stands_around_it(word: str) -> None:
    whole = tokenize(word)[0]

    for written in (f"({word})", f"`{word}`", f"{word}, then", f"“{word}”", f"see {word}."):
        assert whole in tokenize(written)


def test_a_token_stands_once_within_a_run_and_again_in_the_next() -> None:
    assert tokenize("a-a tick tick") == ["a-a", "tick", "tick"]


def test_what_is_longer_than_any_word_gives_no_whole_token() -> None:
    assert tokenize("x" * (MAX_TOKEN_CHARS + 1)) == []
    assert tokenize("x" * MAX_TOKEN_CHARS) == ["x" * MAX_TOKEN_CHARS]


def test_spans_say_where_the_tokens_come_from() -> None:
    text = "see PROJ-17, now"

    assert [(text[span.start : span.end], span.tokens) for span in token_spans(text)] == [
        ("see", ("see",)),
        ("PROJ-17", ("proj-17", "proj", "17")),
        ("now", ("now",)),
    ]


@given(st.text(max_size=200))
def test_spans_and_tokens_agree(text: str) -> None:
    assert [token for span in token_spans(text) for token in span.tokens] == tokenize(text)


@given(st.text(max_size=200))
def test_tokens_hold_no_white_space_and_are_folded(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert token.split() == [token]
        assert fold(token) == token


@settings(deadline=None)
@given(st.text(max_size=100))
@example("Ⅷ ﬀ İ ß ẞ ǅ ŉ ͅ")
@example("ёлка й が ぱ 한국어 각")
def test_duckdbs_folding_leaves_tokens_as_they_are(text: str) -> None:
    """The index folds with lower(strip_accents()); a token that it changed could never be found."""
    tokens = tokenize(text)
    rows = duckdb.execute("SELECT [lower(strip_accents(t)) FOR t IN ?::VARCHAR[]]", [tokens]).fetchone()

    assert rows is not None
    assert rows[0] == tokens


@given(st.text(alphabet="aBz9é上_.-'’#:/ \n\t(),;!?\"`*[]{}<>+©", max_size=60))
def test_tokens_are_those_of_the_runs(text: str) -> None:
    """Plain words take a short way, which gives the same."""
    assert tokenize(text) == [token for span in token_spans(text) for token in span.tokens]


def test_a_plain_word_that_is_too_long_gives_nothing() -> None:
    assert tokenize("a" * 100) == ["a" * 100]
    assert tokenize("a" * 101) == []
