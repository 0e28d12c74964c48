"""The bot's log of one block of a test, without leaving the process's logging changed."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from bot.log import configure_logging


class CapturedLog(io.StringIO):
    """What was written."""

    def lines(self) -> list[dict[str, Any]]:
        """Return each line, parsed."""
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def events(self) -> list[str]:
        """Return the events' names, in order."""
        return [str(line["event"]) for line in self.lines()]


@contextmanager
def captured_log(level: str = "INFO") -> Iterator[CapturedLog]:
    """Send the log to the value for the duration of the block."""
    root = logging.getLogger()
    handlers, old_level = root.handlers[:], root.level
    stream = CapturedLog()
    configure_logging(level=level, stream=stream)
    try:
        yield stream
    finally:
        root.handlers[:] = handlers
        root.setLevel(old_level)
        logging.captureWarnings(capture=False)
        structlog.reset_defaults()
