"""What Slack sends, checked at the door: commands, presses, shortcuts and events."""

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

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
        event = _mapping(body, "event")
        return cls(
            user_id=_text(user.get("id")) or _text(body.get("user_id")) or _text(event.get("user")),
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


class ShortcutMessage(_Payload):
    """The message that a shortcut was used on; its text is Slack's markup, empty where it has none."""

    text: str = ""


class MessageShortcut(_Payload):
    """A shortcut used on a message."""

    trigger_id: str
    channel: ChannelReference
    message_ts: str
    message: ShortcutMessage = ShortcutMessage()


class ModalText(_Payload):
    """A modal's plain text."""

    text: str = ""


class Modal(_Payload):
    """The modal that a payload comes from.

    Attributes:
        hash: Says which state of it the person saw.
        private_metadata: What the bot kept in it.
    """

    id: str
    type: Literal["modal"]
    callback_id: str = ""
    hash: str | None = None
    private_metadata: str = ""
    title: ModalText = ModalText()
    submit: ModalText | None = None
    close: ModalText | None = None
    blocks: tuple[dict[str, Any], ...] = ()


class _Entered(_Payload):
    value: str | None = None


class _Entries(_Payload):
    values: dict[str, dict[str, _Entered]] = {}


class Home(_Payload):
    """A Home tab as a payload has it.

    Attributes:
        hash: Says which state of it the person saw.
        private_metadata: What the bot kept in it.
        state: What stands in its inputs.
    """

    type: Literal["home"]
    hash: str | None = None
    private_metadata: str = ""
    state: _Entries = _Entries()

    def entered(self, block_id: str, action_id: str) -> str:
        """Return what stands in one of its text inputs, empty for nothing."""
        entry = self.state.values.get(block_id, {}).get(action_id)
        return (entry.value or "").strip() if entry is not None else ""


def modal_of(body: Body) -> Modal | None:
    """Return the modal that a payload comes from; None outside modals, on the Home tab for one."""
    try:
        return Modal.model_validate(body.get("view"))
    except ValidationError:
        return None


def trigger_of(body: Body) -> str:
    """Return what opens a modal within three seconds of the payload; empty where it has none."""
    return _text(body.get("trigger_id"))


def response_url_of(body: Body) -> str | None:
    """Return the payload's own response_url, None where it has none."""
    return _text(body.get("response_url")) or None


def view_id_of(body: Body) -> str | None:
    """Return the id of the modal that was pressed in, None outside modals, on the Home tab for one."""
    return None if home_of(body) is not None else _text(_mapping(body, "view").get("id")) or None


def home_of(body: Body) -> Home | None:
    """Return the Home tab that a payload comes from, or that the person sees who opened it; None where there is none.

    A press comes with the tab itself; an event holds it among what it tells.
    """
    try:
        return Home.model_validate(body.get("view") or _mapping(body, "event").get("view"))
    except ValidationError:
        return None


def _mapping(body: Body, key: str) -> Body:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
