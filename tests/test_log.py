"""Log lines are JSON and hold neither tokens nor what people wrote."""

import logging

import pytest
import structlog

from tests.log_capture import captured_log


def test_an_event_is_one_json_object_with_its_facts() -> None:
    with captured_log() as log:
        structlog.get_logger("bot.test").info("searched", hits=3, timings_ms={"total": 1.5})

    (line,) = log.lines()
    assert (line["event"], line["level"], line["hits"]) == ("searched", "info", 3)
    assert str(line["at"]).endswith("Z")


def test_tokens_and_tickets_are_hidden_wherever_they_stand() -> None:
    with captured_log() as log:
        nested = ["xoxb-test-1", {"k": "xapp-test-2"}]
        structlog.get_logger().info("a", url="wss://x/link/?ticket=abc-def&app_id=A1", more=nested)
        logging.getLogger("slack_sdk").error("failed with %s", "xoxe-test-3")

    written = log.getvalue()
    assert "abc-def" not in written
    assert "test-" not in written
    assert "app_id=A1" in written


@pytest.mark.parametrize(("level", "is_said"), [("INFO", False), ("DEBUG", True)])
def test_what_an_exception_quotes_is_said_only_when_debugging(level: str, is_said: bool) -> None:
    with captured_log(level) as log:
        try:
            raise ValueError("quoted message text")
        except ValueError:
            logging.getLogger("bot").exception("it failed")

    (line,) = log.lines()
    assert line["error"] == "ValueError"
    assert ("quoted message text" in log.getvalue()) is is_said


def test_libraries_never_log_payloads_even_when_debugging() -> None:
    with captured_log("DEBUG") as log:
        logging.getLogger("slack_sdk.web.async_client").debug("payload with a person's words")

    assert log.lines() == []
