"""Which words are looked up by their exact string."""

import pytest

from retrieval.identifiers import find_identifiers

IDENTIFIERS = (
    "E4392", "429", "#1234", "#7", "PROJ-17", "DEC-0054", "v1.2.3", "2.3.1-rc.1", "10.0.0.1", "10.0.0.1:8080",
    "NullReferenceException", "HTTPServer", "camelCase", "snake_case", "apply_secrets()", "_private", "foo.bar_baz",
    "std::vector", "os.path.join", "https://example.org/a?b=c", "example.org/a/b", "/etc/hosts", "src/app/main.py",
    r"C:\logs\today", "report.csv", "4f2a9c1d", "ERR_TIMEOUT", "--dry-run", "utf-8", "main.lean",
)  # fmt: skip
PROSE = (
    "what's", "John's", "URGENT", "sign-in", "e.g.", "i.e.", "multi-agent", "hello", "A", "42", "co-operate", "don't",
    "well-known", "p.m.", "ASAP", "...", "-", "naïve", "上海", "🎉",
)  # fmt: skip


@pytest.mark.parametrize("word", IDENTIFIERS)
def test_shapes_of_identifiers(word: str) -> None:
    assert find_identifiers(f"look at {word} please") == (word,)


@pytest.mark.parametrize("word", PROSE)
def test_prose_is_no_identifier(word: str) -> None:
    assert find_identifiers(f"look at {word} please") == ()


@pytest.mark.parametrize("written", ["(E4392)", "“E4392”", "`E4392`", "E4392,", "*E4392*", "E4392?"])
def test_punctuation_around_an_identifier_is_dropped(written: str) -> None:
    assert find_identifiers(f"was it {written}") == ("E4392",)


def test_a_call_keeps_its_parentheses() -> None:
    assert find_identifiers("does apply_secrets(), or load(), fail?") == ("apply_secrets()", "load()")


def test_identifiers_stand_once_in_the_order_of_the_text() -> None:
    assert find_identifiers("PROJ-17 blocks E4392, see PROJ-17") == ("PROJ-17", "E4392")


def test_no_text_has_no_identifiers() -> None:
    assert find_identifiers("") == ()
