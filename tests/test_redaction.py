"""Secrets that exports carry."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.redaction import REMOVED, holds_token, redact, remove_tokens


@pytest.mark.parametrize("token", ["xoxb-test-1", "xoxe-0-TEST", "XOXP-TEST", "xoxe.xoxp-1-test", "xoxc-"])
def test_a_token_of_any_kind_goes(token: str) -> None:
    text = redact(f"before {token} after")

    assert not holds_token(text)
    assert text.startswith("before ")
    assert text.endswith(" after")


def test_tokens_are_counted() -> None:
    assert remove_tokens("xoxb-test-1 and xoxp-test-2") == (f"{REMOVED} and {REMOVED}", 2)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.png?t=xoxe-test", "https://files.slack.com/files-pri/T1-F1/a.png"),
        ("https://example.slack.com/files/U1/F1/a.txt?pub_secret=1", "https://example.slack.com/files/U1/F1/a.txt"),
        ("https://slack-files.com/T1-F1?x=1#f", "https://slack-files.com/T1-F1"),
    ],
)
def test_file_urls_lose_their_query(url: str, clean: str) -> None:
    assert redact(f"see {url} now") == f"see {clean} now"


def test_a_link_into_a_thread_keeps_its_query() -> None:
    link = "https://example.slack.com/archives/C1/p1?thread_ts=1.2&cid=C1"

    assert redact(link) == link


def test_a_url_whose_token_went_first_still_loses_its_whole_query() -> None:
    text, _ = remove_tokens("see https://files.slack.com/a?t=xoxe-test&pub_secret=1 now")

    assert redact(text) == "see https://files.slack.com/a now"


def test_json_stays_json() -> None:
    value = {"a": 'https://files.slack.com/a?t=xoxe-test"\\', "b": "xoxb-test\n"}

    text, removed = remove_tokens(json.dumps(value))
    assert json.loads(text) == {"a": f'https://files.slack.com/a?t={REMOVED}"\\', "b": f"{REMOVED}\n"}
    assert removed == 2


@given(st.text(alphabet="xoXO abep-1-?/."))
def test_nothing_that_looks_like_a_token_survives(text: str) -> None:
    assert not holds_token(redact(text))
