"""Keeps everything that tests ask about afterwards: calls, payloads, mentions, deliveries and acks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from localslack.json_types import Clock, JsonObject
from localslack.mentions import Mention


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One Web API call or response_url post: what was asked and how it was answered."""

    method: str
    arguments: JsonObject
    status: int
    error: str | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPayload:
    """One message or view that the app sent, as it sent it.

    Attributes:
        surface: ``message``, ``ephemeral``, ``modal`` or ``home``.
        method: The Web API method, ``response_url`` or ``ack``.
        payload: For messages ``text``, ``blocks`` and what else was given of ``markdown_text``,
            ``response_type``, ``replace_original``, ``thread_ts``, ``unfurl_links``, ``unfurl_media``; for
            views the view.
        problems: Why Slack would refuse it; empty when accepted.
    """

    surface: str
    method: str
    payload: JsonObject
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Somebody would have been notified: a mention in a message that Slack accepted."""

    mention: Mention
    method: str
    channel_id: str
    ts: str


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One envelope's way to the app.

    Attributes:
        kind: ``slash_commands``, ``interactive`` or ``events_api``.
        what: The command, action ids, callback id or event type.
        sent_at: Seconds of the event loop's clock, of the first attempt; ``acked_at`` likewise.
        status: ``waiting``, ``acked``, ``timed_out``, ``late`` (acked after the deadline),
            ``too_large`` (the ack was dropped) or ``undeliverable`` (no connection).
    """

    envelope_id: str
    kind: str
    what: str
    sent_at: float
    attempts: int = 0
    acked_at: float | None = None
    ack_bytes: int = 0
    ack_payload: JsonObject | None = None
    status: str = "waiting"

    @property
    def seconds(self) -> float | None:
        """Return the time from the first attempt to the ack, or None."""
        return None if self.acked_at is None else self.acked_at - self.sent_at


@dataclass(slots=True)
class Recorder:
    """Everything in order of time. Nothing is ever dropped; ``clear`` starts afresh.

    With ``path`` every payload is also appended to that file as one JSON line
    (``surface``, ``method``, ``payload``, ``problems``), for validators that run afterwards.
    """

    clock: Clock
    path: Path | None = None
    calls: list[ApiCall] = field(default_factory=list)
    payloads: list[SentPayload] = field(default_factory=list)
    notifications: list[Notification] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)

    def call(self, method: str, arguments: JsonObject, *, status: int = 200, error: str | None = None) -> None:
        """Note a Web API call."""
        self.calls.append(ApiCall(method=method, arguments=arguments, status=status, error=error, at=self.clock()))

    def payload(self, sent: SentPayload) -> None:
        """Note a message or view."""
        self.payloads.append(sent)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(sent), ensure_ascii=False) + "\n")

    def calls_to(self, method: str) -> list[ApiCall]:
        """Return the calls of one method, oldest first."""
        return [call for call in self.calls if call.method == method]

    @property
    def rejected(self) -> list[SentPayload]:
        """Return the payloads that Slack would have refused."""
        return [sent for sent in self.payloads if sent.problems]

    def clear(self) -> None:
        """Forget everything; the file stays as it is."""
        for kept in (self.calls, self.payloads, self.notifications, self.deliveries):
            kept.clear()
