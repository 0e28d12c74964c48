"""Links into Slack."""

import pytest

from retrieval.permalinks import message_permalink

URL = "https://example.slack.com/"


def test_a_plain_message_and_a_root_link_without_thread() -> None:
    plain = message_permalink(URL, "C1", "1700000000.000100", None)
    root = message_permalink(URL, "C1", "1700000000.000100", "1700000000.000100")

    assert plain == root == "https://example.slack.com/archives/C1/p1700000000000100"


def test_a_reply_names_its_thread_and_channel() -> None:
    link = message_permalink(URL, "C1", "1700000060.000200", "1700000000.000100")

    assert link == "https://example.slack.com/archives/C1/p1700000060000200?thread_ts=1700000000.000100&cid=C1"


@pytest.mark.parametrize("url", [None, "", "example.slack.com", "javascript:alert(1)", "https://"])
def test_an_unknown_url_gives_no_link(url: str | None) -> None:
    assert message_permalink(url, "C1", "1700000000.000100", None) is None


def test_an_unlisted_channel_has_no_link() -> None:
    assert message_permalink(URL, "dir:old", "1700000000.000100", None) is None
