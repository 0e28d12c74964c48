"""Answers inside a modal: the same blocks as in a message, within a modal's frame."""

from collections.abc import Mapping
from typing import Any, Final

from bot import texts
from bot.elements import Block, RenderedMessage, plain_text, section
from bot.limits import PRIVATE_METADATA_CHARACTERS, VIEW_BLOCKS, text_length
from bot.payloads import Modal
from bot.rich_text import cut, harmless

RESULTS_VIEW: Final = "results_view"
"""The callback_id of a modal with an answer in it."""

NOTE_BLOCK: Final = "modal_note"
_NOTE_CHARACTERS: Final = 2_000


def loading_modal(title: str, *, command: str = "", external_id: str | None = None) -> Block:
    """Return the modal to show at once, before any work.

    Args:
        title: At most 24 characters.
        command: What is searched for, so that the form can be filled with it again; it stays with the modal.
        external_id: By which `Reply.fill` finds it.
    """
    view = _framed([section(plain_text(texts.LOADING))], title=title, command=command)
    return view if external_id is None else {**view, "external_id": external_id}


def message_modal(message: RenderedMessage, *, title: str, command: str = "") -> Block:
    """Return an answer as a modal; arguments as `loading_modal`."""
    return _framed(list(message.blocks), title=title, command=command)


def modal_with_note(modal: Modal, sentence: str) -> Block:
    """Return a modal as it is with a sentence on top, in place of an earlier one; literal."""
    note = {**section(plain_text(cut(harmless(sentence).strip(), _NOTE_CHARACTERS))), "block_id": NOTE_BLOCK}
    kept = [dict(block) for block in modal.blocks if block.get("block_id") != NOTE_BLOCK]
    view: Block = {
        "type": modal.type,
        "callback_id": modal.callback_id,
        "title": plain_text(modal.title.text),
        "private_metadata": modal.private_metadata,
        "blocks": [note, *kept[: VIEW_BLOCKS - 1]],
    }
    for key, label in (("submit", modal.submit), ("close", modal.close)):
        if label is not None:
            view[key] = plain_text(label.text)
    return view


def title_of(view: Mapping[str, Any]) -> str:
    """Return the title of a modal as it is sent."""
    return str(view["title"]["text"])


def _framed(blocks: list[Block], *, title: str, command: str) -> Block:
    view: Block = {
        "type": "modal",
        "callback_id": RESULTS_VIEW,
        "title": plain_text(title),
        "close": plain_text(texts.CLOSE),
        "blocks": blocks,
    }
    fits = 0 < text_length(command) <= PRIVATE_METADATA_CHARACTERS
    return {**view, "private_metadata": command} if fits else view
