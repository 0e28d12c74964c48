"""What Slack adds to accepted blocks: ids for blocks and actions that have none, and defaults."""

from __future__ import annotations

from copy import deepcopy

from localslack.blockkit.walk import blocks_within, elements_of
from localslack.ids import new_short_id
from localslack.json_types import JsonObject


def finished_blocks(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return a copy with ids everywhere and ``verbatim``/``emoji`` spelled out, as Slack returns it.

    A markdown block's own block_id is not kept.
    """
    finished = deepcopy(blocks)
    for block in blocks_within(finished):
        if isinstance(block, dict):
            if block.get("type") == "markdown" or "block_id" not in block:
                block["block_id"] = new_short_id()
            for element in elements_of(block):
                element.setdefault("action_id", new_short_id())
    _spell_out(finished)
    return finished


def _spell_out(value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _spell_out(item)
    elif isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            value.setdefault("verbatim", False)
        elif value.get("type") == "plain_text":
            value.setdefault("emoji", True)
        for item in list(value.values()):
            _spell_out(item)
