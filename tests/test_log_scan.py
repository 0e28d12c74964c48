"""The search in every test's log finds what it is for."""

import pytest
import structlog

from tests.log_capture import captured_log
from tests.log_scan import indiscretions, type_heard


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('{"event": "searched", "hits": 3}', []),
        ("token xoxb-12345-abc", ["a token: xoxb-123…"]),
        ("The Secret MERGER", ["a message: secret merger"]),
        ("asked: Where do the Geese land?", ["what was typed: where do the geese land"]),
    ],
)
def test_tokens_messages_and_typed_text_are_found(
    monkeypatch: pytest.MonkeyPatch, written: str, found: list[str]
) -> None:
    monkeypatch.setattr("tests.log_scan.TYPED", {"where do the geese land"})

    assert indiscretions(written) == found


def test_what_is_typed_counts_without_the_commands_name_unless_it_is_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: set[str] = set()
    monkeypatch.setattr("tests.log_scan.TYPED", kept)
    for line in ("/slackquery Rate limit 429", "/slackquery status", "Good morning everybody"):
        type_heard(line)

    assert kept == {"rate limit 429", "good morning everybody"}


def test_what_is_captured_within_a_test_is_handed_on() -> None:
    with captured_log() as whole:
        with captured_log() as part:
            structlog.get_logger().info("inner")
        with captured_log("DEBUG"):
            structlog.get_logger().info("debugging")
        structlog.get_logger().info("outer")

    assert part.events() == ["inner"]
    assert whole.events() == ["inner", "outer"]
