"""The bot's log of one block of a test, without leaving the process's logging changed.

What is captured at the levels that an operator sees is also handed on to whoever captures around it, so that the
capture around a whole test holds all of it.
"""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from bot.log import configure_logging

_around: list["CapturedLog"] = []


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
    handlers, old_level, old_config = root.handlers[:], root.level, structlog.get_config()
    was_configured = structlog.is_configured()
    stream = CapturedLog()
    configure_logging(level=level, stream=stream)
    if level != "DEBUG":
        _around.append(stream)
    try:
        yield stream
    finally:
        if level != "DEBUG":
            _around.remove(stream)
            if _around:
                _around[-1].write(stream.getvalue())
        root.handlers[:] = handlers
        root.setLevel(old_level)
        logging.captureWarnings(capture=False)
        if was_configured:
            structlog.configure(**old_config)
        else:
            structlog.reset_defaults()
