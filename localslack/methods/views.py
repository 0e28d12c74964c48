"""views.*: opening, stacking and changing modals, and publishing the Home tab."""

from __future__ import annotations

from localslack.arguments import Arguments
from localslack.changes import Change
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonObject
from localslack.methods.method import Method
from localslack.views import View


def open_view(core: Core, arguments: Arguments) -> JsonObject:
    """Open a modal for the person whose trigger id it is."""
    trigger = core.triggers.redeem(_trigger_id(arguments))
    spec = core.views.checked(_view(arguments), method="views.open")
    return _shown(core, core.views.open(trigger.user_id, spec))


def push(core: Core, arguments: Arguments) -> JsonObject:
    """Open a modal over the one in which the trigger was given."""
    trigger = core.triggers.redeem(_trigger_id(arguments))
    spec = core.views.checked(_view(arguments), method="views.push")
    return _shown(core, core.views.push(trigger.user_id, spec))


def update(core: Core, arguments: Arguments) -> JsonObject:
    """Change an open view, by id or external id, if the hash given is still its hash."""
    spec = core.views.checked(_view(arguments), method="views.update", kinds=("modal", "home"))
    view = core.views.find_open(view_id=arguments.find_text("view_id"), external_id=arguments.find_text("external_id"))
    if spec["type"] != view.kind:
        raise ApiError("invalid_arguments", messages=["the view is of another type"])
    return _shown(core, core.views.update(view, spec, expected_hash=arguments.find_text("hash")))


def publish(core: Core, arguments: Arguments) -> JsonObject:
    """Set a person's Home tab."""
    user_id = arguments.text("user_id")
    if user_id not in core.world.users:
        raise ApiError("invalid_arguments", messages=["invalid user_id"])
    if not core.manifest.home_tab:
        raise ApiError("not_enabled")
    spec = core.views.checked(_view(arguments), method="views.publish", kinds=("home",))
    return _shown(core, core.views.publish(user_id, spec, expected_hash=arguments.find_text("hash")))


def _trigger_id(arguments: Arguments) -> str:
    # slack_sdk also knows interactivity pointers; only workflows have them.
    return arguments.text("trigger_id")


def _view(arguments: Arguments) -> object:
    view = arguments.json_value("view", error="invalid_arguments")
    if view is None:
        raise ApiError("invalid_arguments", messages=["missing required field: view"])
    return view


def _shown(core: Core, view: View) -> JsonObject:
    change = Change(kind="home" if view.kind == "home" else "view", view_id=view.id)
    core.feed.publish(change, [view.user_id])
    return {"view": core.views.json(view)}


METHODS = {
    "views.open": Method(run=open_view),
    "views.push": Method(run=push),
    "views.update": Method(run=update),
    "views.publish": Method(run=publish),
}
