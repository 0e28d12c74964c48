"""What Slack sends, checked at the door: commands, presses, shortcuts and events."""

from collections.abc import Mapping
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict

Body: TypeAlias = Mapping[str, Any]
"""A payload as Bolt hands it over."""


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Asked(_Payload):
    """Who asks, and where: what every payload has in one form or another.

    Attributes:
        user_id: Empty where the payload names nobody.
        team_id: The **user's** team where the payload tells it, else the team it was sent from; in a shared
            channel the two differ. Empty where there is none.
        channel_id: None for the Home tab, global shortcuts and modals.
    """

    user_id: str = ""
    team_id: str = ""
    channel_id: str | None = None

    @classmethod
    def from_body(cls, body: Body) -> Self:
        """Read any payload; never raises, whatever is missing from it."""
        user, team, channel = _mapping(body, "user"), _mapping(body, "team"), _mapping(body, "channel")
        return cls(
            user_id=_text(user.get("id")) or _text(body.get("user_id")),
            team_id=_text(user.get("team_id")) or _text(team.get("id")) or _text(body.get("team_id")),
            channel_id=_text(channel.get("id")) or _text(body.get("channel_id")) or None,
        )


class Command(_Payload):
    """A slash command."""

    text: str = ""


class Action(_Payload):
    """One pressed button."""

    action_id: str
    value: str | None = None


class Press(_Payload):
    """A press in a message or in a modal."""

    actions: tuple[Action, ...]

    @property
    def action(self) -> Action:
        """What was pressed; Slack sends one at a time."""
        return self.actions[0]


class ChannelReference(_Payload):
    """A channel of a payload."""

    id: str


class MessageShortcut(_Payload):
    """A shortcut used on a message."""

    trigger_id: str
    channel: ChannelReference
    message_ts: str


def response_url_of(body: Body) -> str | None:
    """Return the payload's own response_url, None where it has none."""
    return _text(body.get("response_url")) or None


def view_id_of(body: Body) -> str | None:
    """Return the id of the modal that was pressed in, None outside modals."""
    return _text(_mapping(body, "view").get("id")) or None


def _mapping(body: Body, key: str) -> Body:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
