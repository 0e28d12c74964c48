"""Small typed builders of Block Kit objects, and the message that a renderer returns.

Everything here is pure. Archived text and names never become markup: they are plain text or escaped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bot.limits import text_length

Block = dict[str, object]
"""A block, an element of one, or a composition object, as Slack's JSON has it."""

_TEXT_KEYS: Final = frozenset({"text", "url", "alt_text", "accessibility_label"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedMessage:
    """A message ready to send.

    Attributes:
        text: The whole answer in words, for notifications and screen readers; at most 4,000 characters,
            escaped, mentions made inert.
        blocks: At most 50, at most 10,000 characters in all.
        shown: How many of the hits or messages offered stand in it; the rest are for the next page.
    """

    text: str
    blocks: tuple[Block, ...]
    shown: int = 0

    def arguments(self) -> dict[str, object]:
        """Return the keyword arguments for `respond` or a Web API call; links never unfurl."""
        return {
            "text": self.text,
            "blocks": list(self.blocks),
            "unfurl_links": False,
            "unfurl_media": False,
        }


def plain_text(text: str) -> Block:
    """Return literal text: no mentions, no formatting, no emoji names."""
    return {"type": "plain_text", "text": text, "emoji": False}


def mrkdwn(text: str) -> Block:
    """Return marked-up text of our own; whatever comes from the archive must be escaped before."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def escaped(text: str) -> str:
    """Return `text` with the three characters escaped that Slack's markup gives a meaning.

    Source: Slack's "Formatting message text": exactly `&`, `<` and `>`.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def section(text: Block) -> Block:
    """Return a section that shows one text object whole, without "see more"."""
    return {"type": "section", "text": text, "expand": True}


def fields(texts: Sequence[Block]) -> Block:
    """Return short texts in two columns; 1 to 10."""
    return {"type": "section", "fields": list(texts)}


def context(elements: Sequence[Block]) -> Block:
    """Return a line of small print; 1 to 10 text objects."""
    return {"type": "context", "elements": list(elements)}


def actions(elements: Sequence[Block]) -> Block:
    """Return a row of buttons; 1 to 25."""
    return {"type": "actions", "elements": list(elements)}


def divider() -> Block:
    """Return a thin line."""
    return {"type": "divider"}


def header(text: str) -> Block:
    """Return a headline; at most 150 characters."""
    return {"type": "header", "text": plain_text(text)}


def button(
    text: str,
    action_id: str,
    *,
    value: str,
    label: str | None = None,
    style: Literal["primary", "danger"] | None = None,
) -> Block:
    """Return a button that carries signed state.

    Args:
        text: What it says.
        action_id: One of the ids in `bot.buttons`.
        value: The signed state.
        label: What a screen reader says instead, at most 75 characters; None to read the text.
        style: `primary` or `danger` for the one button that stands out; None for an ordinary one.
    """
    more: Block = {"value": value} if style is None else {"value": value, "style": style}
    return _button(text, action_id, more, label)


def link_button(text: str, action_id: str, *, url: str, label: str | None = None) -> Block:
    """Return a button that opens `url`; its press still has to be acked."""
    return _button(text, action_id, {"url": url}, label)


def _button(text: str, action_id: str, more: Block, label: str | None) -> Block:
    block: Block = {"type": "button", "text": plain_text(text), "action_id": action_id, **more}
    if label is not None:
        block["accessibility_label"] = label
    return block


def characters(content: object) -> int:
    """Return how long all texts in blocks are together, as sent: escaped, in `text_length`'s units.

    Texts are what a person may read or a link leads to; ids and signed values are not.
    """
    # The very types: asking for their abstract kinds took longer than counting.
    if isinstance(content, dict):
        return sum(
            text_length(value) if key in _TEXT_KEYS and isinstance(value, str) else characters(value)
            for key, value in content.items()
        )
    if isinstance(content, list | tuple):
        return sum(characters(item) for item in content)
    return 0
