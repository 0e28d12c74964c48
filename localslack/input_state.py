"""The values that people gave in a view's or message's inputs, in the shapes that payloads carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localslack.blockkit.walk import blocks_within, elements_of
from localslack.json_types import JsonObject, JsonView

# Which key of the state holds the value, which key of the element its start, and the empty value.
_KEYS: dict[str, tuple[str, str, Any]] = {
    "plain_text_input": ("value", "initial_value", None),
    "email_text_input": ("value", "initial_value", None),
    "url_text_input": ("value", "initial_value", None),
    "number_input": ("value", "initial_value", None),
    "rich_text_input": ("rich_text_value", "initial_value", None),
    "file_input": ("files", "initial_files", []),
    "static_select": ("selected_option", "initial_option", None),
    "external_select": ("selected_option", "initial_option", None),
    "radio_buttons": ("selected_option", "initial_option", None),
    "checkboxes": ("selected_options", "initial_options", []),
    "multi_static_select": ("selected_options", "initial_options", []),
    "multi_external_select": ("selected_options", "initial_options", []),
    "users_select": ("selected_user", "initial_user", None),
    "multi_users_select": ("selected_users", "initial_users", []),
    "conversations_select": ("selected_conversation", "initial_conversation", None),
    "multi_conversations_select": ("selected_conversations", "initial_conversations", []),
    "channels_select": ("selected_channel", "initial_channel", None),
    "multi_channels_select": ("selected_channels", "initial_channels", []),
    "datepicker": ("selected_date", "initial_date", None),
    "timepicker": ("selected_time", "initial_time", None),
    "datetimepicker": ("selected_date_time", "initial_date_time", None),
}
_OPTION_KEYS = frozenset({"selected_option", "selected_options"})


def initial_state(blocks: Sequence[JsonView], earlier: Mapping[str, JsonView] | None = None) -> JsonObject:
    """Return ``state.values``: ``{block_id: {action_id: {"type", <value key>}}}``.

    An input whose block_id, action_id and type stand in ``earlier`` keeps what was entered there.
    """
    values: JsonObject = {}
    for block_id, element in _inputs(blocks):
        kind, action_id = str(element["type"]), str(element["action_id"])
        kept = (earlier or {}).get(block_id, {}).get(action_id)
        key, start, empty = _KEYS[kind]
        fresh = {"type": kind, key: element.get(start, empty)}
        same = isinstance(kept, dict) and kept.get("type") == kind
        values.setdefault(block_id, {})[action_id] = kept if same else fresh
    return values


def entered(element: JsonView, value: object) -> JsonObject:
    """Return the state of one element after a person entered ``value``.

    For menus the value is an option's value or text (a list of them where several may be chosen); for
    users, channels, dates and texts the value itself. None and "" clear the element.

    Raises:
        ValueError: the menu offers no such option, or the element takes no value.
    """
    kind = str(element["type"])
    if kind not in _KEYS:
        raise ValueError(f"a {kind} takes no value")
    key, _, empty = _KEYS[kind]
    if value is None or value == "":
        return {"type": kind, key: empty}
    if key in _OPTION_KEYS and "external" not in kind:
        if key == "selected_options":
            chosen = value if isinstance(value, list | tuple) else [value]
            return {"type": kind, key: [find_option(element, str(item)) for item in chosen]}
        return {"type": kind, key: find_option(element, str(value))}
    return {"type": kind, key: list(value) if isinstance(value, tuple) else value}


def find_option(element: JsonView, wanted: str) -> JsonObject:
    """Return the element's option with this value, else with this text.

    Raises:
        ValueError: there is none.
    """
    groups = element.get("option_groups") or []
    offered: list[JsonObject] = [*element.get("options", []), *(o for g in groups for o in g["options"])]
    for option in offered:
        if option["value"] == wanted:
            return option
    for option in offered:
        if option["text"]["text"] == wanted:
            return option
    raise ValueError(f"no option {wanted!r} in {[option['text']['text'] for option in offered]}")


def refusals(blocks: Sequence[JsonView], values: JsonView) -> dict[str, str]:
    """Return what Slack's client itself refuses at submit, a sentence by block_id."""
    found: dict[str, str] = {}
    for block in blocks:
        if block["type"] == "input":
            element = block["element"]
            state = values[block["block_id"]][element["action_id"]]
            if sentence := _refusal(block, element, state[_KEYS[element["type"]][0]]):
                found[block["block_id"]] = sentence
    return found


def unknown_error_blocks(errors: JsonView, blocks: Sequence[JsonView]) -> list[str]:
    """Return the keys of a ``response_action: errors`` that name no input block."""
    inputs = {block["block_id"] for block in blocks if block["type"] == "input"}
    return [key for key in errors if key not in inputs]


def _inputs(blocks: Sequence[JsonView]) -> Iterator[tuple[str, JsonObject]]:
    for block in blocks_within(blocks):
        for element in elements_of(block):
            if element.get("type") in _KEYS:
                yield str(block["block_id"]), element


def _refusal(block: JsonView, element: JsonView, value: object) -> str | None:
    if value in (None, "", []):
        return None if block.get("optional") else "Please complete this required field."
    if element["type"] != "plain_text_input" or not isinstance(value, str):
        return None
    if len(value) < element.get("min_length", 0):
        return f"This field needs at least {element['min_length']} characters."
    if len(value) > element.get("max_length", 3000):
        return f"This field takes at most {element.get('max_length', 3000)} characters."
    return None
