"""Response URLs: five answers in thirty minutes to what one person did.

The error bodies after the fifth use and after the thirtieth minute are not documented; ``used_url`` and
``expired_url`` with status 404 is what people report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from localslack.ids import new_secret
from localslack.json_types import Clock

USES = 5
SECONDS = 30 * 60.0
Source: TypeAlias = Literal["command", "message", "shortcut", "view"]
_PATHS: dict[Source, str] = {
    "command": "commands",
    "message": "actions",
    "shortcut": "app-actions",
    "view": "app-actions",
}


@dataclass(slots=True, kw_only=True)
class ResponseURL:
    """One response URL and what it answers.

    Attributes:
        source: What the person did: typed a command, pressed something in a message, used a message
            shortcut, or chose a conversation in a modal.
        message_ts: The message that ``replace_original`` and ``delete_original`` mean (source
            ``message`` only).
        command_text: The typed command that ``in_channel`` makes visible, once (source ``command``).
        thread_ts: The thread of that message, where an ephemeral answer appears too.
    """

    path: str
    source: Source
    channel_id: str
    user_id: str
    given_at: float
    message_ts: str | None = None
    command_text: str | None = None
    thread_ts: str | None = None
    uses: int = 0


class ResponseURLs:
    """Gives out response URLs and finds them again by path."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._given: dict[str, ResponseURL] = {}

    def give(
        self,
        source: Source,
        *,
        channel_id: str,
        user_id: str,
        message_ts: str | None = None,
        command_text: str | None = None,
        thread_ts: str | None = None,
    ) -> ResponseURL:
        """Return a fresh response URL, valid from now."""
        path = f"/{_PATHS[source]}/TLOCALTEST/{new_secret(12)}/{new_secret()}"
        self._given[path] = ResponseURL(
            path=path,
            source=source,
            channel_id=channel_id,
            user_id=user_id,
            given_at=self._clock(),
            message_ts=message_ts,
            command_text=command_text,
            thread_ts=thread_ts,
        )
        return self._given[path]

    def refusal(self, path: str) -> str | None:
        """Return why a path cannot be used (``no_service``, ``expired_url``, ``used_url``), or None."""
        url = self._given.get(path)
        if url is None:
            return "no_service"
        if self._clock() - url.given_at > SECONDS:
            return "expired_url"
        return "used_url" if url.uses >= USES else None

    def use(self, path: str) -> ResponseURL:
        """Count a use and return the URL's record; ask ``refusal`` first."""
        url = self._given[path]
        url.uses += 1
        return url
