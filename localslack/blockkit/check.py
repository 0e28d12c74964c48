"""The validator's front: whole messages and whole views, with the rules that span blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from localslack.blockkit.blocks import MESSAGE_BLOCKS, VIEW_BLOCKS
from localslack.blockkit.composition import plain
from localslack.blockkit.rules import Bool, ByType, Items, Obj, Problem, Rule, Str
from localslack.blockkit.walk import blocks_within, elements_of
from localslack.json_types import JsonView

MESSAGE_BLOCK_COUNT = 50
VIEW_BLOCK_COUNT = 100
VIEW_BYTES = 250_000
MARKDOWN_CHARS = 12_000
_FOCUSABLE = "focus_on_load"

_COMMON: dict[str, Rule] = {
    "private_metadata": Str(3000, least=0),
    "callback_id": Str(255, least=0),
    "external_id": Str(255, least=0),
}
_MODAL = Obj(
    {
        "type": Str(choices=("modal",)),
        "title": plain(24),
        "blocks": Items(VIEW_BLOCKS, most=VIEW_BLOCK_COUNT),
    },
    {
        **_COMMON,
        "submit": plain(24),
        "close": plain(24),
        "clear_on_close": Bool(),
        "notify_on_close": Bool(),
        "submit_disabled": Bool(),
    },
)
_HOME = Obj(
    {"type": Str(choices=("home",)), "blocks": Items(VIEW_BLOCKS, most=VIEW_BLOCK_COUNT)},
    _COMMON,
)
_VIEW = ByType({"modal": _MODAL, "home": _HOME})


def check_message_blocks(blocks: object) -> list[Problem]:
    """Judge the ``blocks`` of a message; an empty list means that Slack would take them."""
    found: list[Problem] = []
    Items(MESSAGE_BLOCKS, most=MESSAGE_BLOCK_COUNT).check(blocks, "/blocks", found)
    if not found:
        found.extend(_spanning(blocks))
        found.extend(_message_only(blocks))
    return found


def check_view(view: object) -> list[Problem]:
    """Judge a modal or Home view, size apart (``view_is_too_large``)."""
    found: list[Problem] = []
    _VIEW.check(view, "/view", found)
    if found or not isinstance(view, dict):
        return found
    blocks = view["blocks"]
    found.extend(Problem(problem.message, f"/view{problem.pointer}") for problem in _spanning(blocks))
    if view["type"] == "modal" and "submit" not in view and any(b["type"] == "input" for b in blocks):
        found.append(Problem("missing required field: submit (the view has inputs)", "/view"))
    focused = [e for b in blocks for e in elements_of(b) if e.get(_FOCUSABLE)]
    if len(focused) > 1:
        found.append(Problem("only one element may set focus_on_load", "/view/blocks"))
    return found


def view_is_too_large(view: JsonView) -> bool:
    """Return whether the view is over 250 KB as compact JSON in UTF-8."""
    return len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode()) > VIEW_BYTES


def _message_only(blocks: object) -> Iterator[Problem]:
    listed = blocks if isinstance(blocks, list) else []
    markdown = sum(len(block["text"]) for block in listed if block["type"] == "markdown")
    if markdown > MARKDOWN_CHARS:
        yield Problem(f"markdown blocks must hold less than {MARKDOWN_CHARS + 1} characters in all", "/blocks")
    if sum(block["type"] == "table" for block in blocks_within(listed)) > 1:
        yield Problem("only_one_table_allowed", "/blocks")


def _spanning(blocks: object) -> Iterator[Problem]:
    listed: Sequence[JsonView] = blocks if isinstance(blocks, list) else []
    yield from _duplicates([block.get("block_id") for block in listed], "block_id", "/blocks")
    for index, block in enumerate(listed):
        elements = list(elements_of(block))
        at = f"/blocks/{index}"
        yield from _duplicates([element.get("action_id") for element in elements], "action_id", at)
        for element in elements:
            yield from _initial_choices(element, at)


def _duplicates(ids: Sequence[str | None], what: str, at: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for identifier in ids:
        if identifier is not None and identifier in seen:
            yield Problem(f"duplicate {what}: {identifier}", at)
        seen.add(identifier or "")


def _initial_choices(element: JsonView, at: str) -> Iterator[Problem]:
    """An initial option must be one of the options, word for word."""
    groups = element.get("option_groups") or []
    offered = [*element.get("options", []), *(option for group in groups for option in group["options"])]
    chosen = [*element.get("initial_options", [])]
    if "initial_option" in element:
        chosen.append(element["initial_option"])
    if offered and any(option not in offered for option in chosen):
        yield Problem("initial option must exactly match one of the options", at)
    values = [option["value"] for option in offered]
    if len(set(values)) != len(values):
        yield Problem("options must have different values", at)
