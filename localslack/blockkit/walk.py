"""Walks over checked blocks: their interactive elements, and their readable text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from localslack.json_types import JsonObject, JsonView

TEXT_KEYS = ("text", "title", "label", "hint", "placeholder", "subtitle", "body", "description", "alt_text")


def elements_of(block: JsonView) -> Iterator[JsonObject]:
    """Yield a block's own elements that can be acted on, in reading order (not those of child blocks)."""
    for key in ("elements", "actions"):
        if isinstance(items := block.get(key), list) and block.get("type") in {
            "actions",
            "context_actions",
            "card",
        }:
            yield from (item for item in items if isinstance(item, dict))
    for key in ("accessory", "element"):
        if isinstance(item := block.get(key), dict) and item.get("type") != "image":
            yield item


def blocks_within(blocks: Sequence[JsonView]) -> Iterator[JsonView]:
    """Yield every block, those inside containers and carousels after their holder."""
    for block in blocks:
        yield block
        for key in ("child_blocks", "elements"):
            if block.get("type") in {"container", "carousel"} and isinstance(items := block.get(key), list):
                yield from blocks_within([item for item in items if isinstance(item, dict)])


def text_length(value: object) -> int:
    """Count the readable characters in blocks: every text, label, title, option and rich text link."""
    if isinstance(value, list):
        return sum(text_length(item) for item in value)
    if not isinstance(value, dict):
        return 0
    total = 0
    for key, item in value.items():
        if isinstance(item, str):
            total += len(item) if key in TEXT_KEYS or (key == "url" and value.get("type") == "link") else 0
        else:
            total += text_length(item)
    return total
