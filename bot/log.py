"""JSON lines on one stream: events and facts, never query text, message text, tokens or socket tickets."""

import logging
import re
import sys
import traceback
from collections.abc import MutableMapping
from io import TextIOBase
from types import TracebackType
from typing import Any, Final, TextIO, TypeAlias

import structlog

EventDict: TypeAlias = MutableMapping[str, Any]

_SECRETS: Final = re.compile(r"\b(xox[a-z]|xapp)-[\w.-]+|(?<=ticket=)[^&\s'\"]+", re.IGNORECASE)
# Libraries whose debug lines hold whole payloads, and with them what people typed.
_TALKATIVE: Final = ("slack_bolt", "slack_sdk", "aiohttp", "asyncio", "httpx", "httpcore")
# Libraries that report every step of what the bot reports itself.
_CHATTY: Final = ("apscheduler",)
_FRAMES: Final = 12


def configure_logging(*, level: str, stream: TextIO | TextIOBase | None = None) -> None:
    """Send structlog's and the standard library's records to `stream`, one JSON object a line.

    An exception is written as its type and where it was raised: its message may quote what a user typed or
    what an archived message says. At level DEBUG the message is written too.

    Args:
        level: `DEBUG`, `INFO`, `WARNING` or `ERROR`.
        stream: Standard output unless given.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]
    handler = logging.StreamHandler(stream or sys.stdout)
    handler.setFormatter(_formatter(shared, with_message=level == "DEBUG"))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.INFO, logging.getLevelNamesMapping()[level]))
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _formatter(shared: list[structlog.typing.Processor], *, with_message: bool) -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _ExceptionDescriber(with_message=with_message),
            redact,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ],
    )


def redact(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Return the event with every token and socket ticket in its texts replaced; a structlog processor."""
    for key, value in event.items():
        event[key] = _redacted(value)
    return event


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return _SECRETS.sub("[secret]", value)
    if isinstance(value, dict):
        return {_SECRETS.sub("[secret]", str(key)): _redacted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    # The renderer would write it as this text.
    return _SECRETS.sub("[secret]", str(value))


class _ExceptionDescriber:
    """Turns exc_info into the exception's type and the places it passed through."""

    def __init__(self, *, with_message: bool) -> None:
        self._with_message = with_message

    def __call__(self, _logger: object, _method: str, event: EventDict) -> EventDict:
        raised = event.pop("exc_info", None)
        if raised is True:
            raised = sys.exc_info()
        if isinstance(raised, tuple):
            raised = raised[1]
        if isinstance(raised, BaseException):
            event["error"] = type(raised).__name__
            event["raised_at"] = describe_places(raised.__traceback__)
            if self._with_message:
                event["error_message"] = str(raised)
        return event


def describe_places(trace: TracebackType | None) -> list[str]:
    """Return `file:line function` of the last frames of a traceback, outermost first, without values."""
    frames = traceback.extract_tb(trace)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
