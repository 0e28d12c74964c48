"""The one way in which a Web API method says no."""

from __future__ import annotations

from collections.abc import Sequence

from localslack.blockkit.rules import Problem
from localslack.json_types import JsonObject


class ApiError(Exception):
    """A Web API answer of ``{"ok": false}``.

    Attributes:
        code: Slack's name for the error, such as ``channel_not_found``.
        messages: Sentences for ``response_metadata.messages``.
        facts: Further keys of the answer, such as ``needed`` and ``provided``.
    """

    def __init__(self, code: str, *, messages: Sequence[str] = (), facts: JsonObject | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.messages = tuple(messages)
        self.facts = facts or {}

    def body(self) -> JsonObject:
        """Return the answer as JSON."""
        body: JsonObject = {"ok": False, "error": self.code, **self.facts}
        if self.messages:
            body["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
        return body


def invalid_blocks(problems: Sequence[Problem]) -> ApiError:
    """Return the error for a message's blocks."""
    sentences = [str(problem) for problem in problems]
    return ApiError("invalid_blocks", messages=sentences, facts={"errors": sentences})


def invalid_arguments(*messages: str) -> ApiError:
    """Return the error for arguments of the wrong type or form."""
    return ApiError("invalid_arguments", messages=messages)
