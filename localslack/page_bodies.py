"""What the page may ask for: the bodies of its POST requests, checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from localslack.json_types import JsonObject, JsonView

_ONE = {
    "selected_user",
    "selected_channel",
    "selected_conversation",
    "selected_date",
    "selected_time",
    "selected_date_time",
    "selected_users",
    "selected_channels",
    "selected_conversations",
}


class Body(BaseModel):
    """Somebody does something. ``user`` is the acting person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str


class SayBody(Body):
    """A line typed into the field of a channel or a thread."""

    channel: str
    text: str = Field(min_length=1, max_length=40_000)
    thread_ts: str | None = None


class JoinBody(Body):
    """The button of a channel that the person looks at from outside."""

    channel: str


class ActionBody(Body):
    """A press or choice in a message (``channel`` and ``ts``) or in a view (``view_id``).

    ``action`` is Slack's action object without what the stand-in adds, ``values`` the surface's entries
    in the form of ``view.state.values``.
    """

    action: JsonObject
    values: dict[str, dict[str, JsonObject]] = Field(default_factory=dict)
    channel: str | None = None
    ts: str | None = None
    thread_ts: str | None = None
    view_id: str | None = None


class ShortcutBody(Body):
    """A global shortcut, or with ``channel`` and ``ts`` a message shortcut."""

    callback_id: str
    channel: str | None = None
    ts: str | None = None
    thread_ts: str | None = None


class SubmitBody(Body):
    """The submit button of a modal, with what was entered."""

    view_id: str
    values: dict[str, dict[str, JsonObject]] = Field(default_factory=dict)


class CloseBody(Body):
    """The close button of the top modal, or with ``all`` the cross."""

    view_id: str
    all: bool = False


def entered_value(state: JsonView) -> object:
    """Return what a person chose or typed, in the form that ``Person.choose`` takes.

    ``state`` is one entry of ``view.state.values`` or an action: options become their values.
    """
    if "selected_options" in state:
        return [option["value"] for option in state["selected_options"] or []]
    if "selected_option" in state:
        return (state["selected_option"] or {}).get("value")
    for key in _ONE & state.keys():
        return state[key]
    return state.get("value")
