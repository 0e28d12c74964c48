"""The modal of "Show in archive": loading, a message's thread and neighbours, or why there is nothing."""

from collections.abc import Sequence
from typing import Final

from bot import texts
from bot.buttons import OPEN_ACTION, Signer
from bot.citations import link_to
from bot.elements import Block, actions, context, header, link_button, plain_text, section
from bot.entries import entry_blocks
from bot.limits import VIEW_CHARACTERS
from bot.notes import note_blocks
from bot.rich_text import harmless
from bot.thread_blocks import (
    context_entries,
    paging_buttons,
    thread_entries,
    thread_heading,
    thread_notes,
)
from retrieval.models import Document, MessageContext, Thread

ARCHIVE_VIEW_CALLBACK: Final = "archive_view"
_FRAME_CHARACTERS: Final = 2_500


def loading_view() -> Block:
    """Return the modal to open at once, before any work: a trigger_id lives 3 seconds."""
    return _modal([section(plain_text(texts.LOADING))])


def thread_view(
    *,
    thread: Thread | None,
    context: MessageContext | None,
    marked_id: str | None,
    signer: Signer,
    workspace_url: str | None = None,
) -> Block:
    """Return the modal with a message's thread and its neighbours in the channel.

    Args:
        thread: The part of the thread to show; None where the message stands alone.
        context: The message and its neighbours; None on a later page of the thread.
        marked_id: The message that the shortcut was used on.
        signer: Makes the buttons' values; Earlier and Later carry `ThreadState` without a way back.
        workspace_url: From auth.test, for messages without a permalink; None where unknown.
    """
    budget = (VIEW_CHARACTERS - _FRAME_CHARACTERS) // (2 if thread and context else 1)
    blocks: list[Block] = []
    if thread is not None:
        blocks += _thread_part(thread, marked_id, signer, budget)
    if context is not None:
        blocks += _context_part(context, budget)
    shown = _marked(thread, context, marked_id)
    link = None if shown is None else link_to(shown, workspace_url)
    if link is not None:
        blocks.append(actions([link_button(texts.OPEN_IN_SLACK, OPEN_ACTION, url=link)]))
    return _modal(blocks) if blocks else not_found_view()


def not_found_view() -> Block:
    """Return the modal that says that the message is not in the archive, or not for this person."""
    return error_view(texts.NOT_IN_ARCHIVE)


def error_view(sentence: str) -> Block:
    """Return the modal that says one sentence, such as `bot.texts.sentence_for(error)`."""
    return _modal([section(plain_text(harmless(sentence)[:3_000] or texts.SOMETHING_WRONG))])


def _thread_part(thread: Thread, marked_id: str | None, signer: Signer, budget: int) -> list[Block]:
    entries = thread_entries(thread, marked_id, mark=texts.THE_MESSAGE)
    blocks = [
        header(texts.ITS_THREAD),
        context(thread_heading(thread)),
        *entry_blocks(entries, budget=budget),
    ]
    blocks += note_blocks(thread_notes(thread))
    if buttons := paging_buttons(thread, marked_id, signer, back=None):
        blocks.append(actions(buttons))
    return blocks


def _context_part(neighbours: MessageContext, budget: int) -> list[Block]:
    entries = context_entries(neighbours, mark=texts.THE_MESSAGE)
    return [
        header(texts.ITS_NEIGHBOURS),
        context([plain_text(texts.NEIGHBOURS)]),
        *entry_blocks(entries, budget=budget),
    ]


def _marked(thread: Thread | None, neighbours: MessageContext | None, marked_id: str | None) -> Document | None:
    """Return the message to link to: the one asked for, else the first there is."""
    if neighbours is not None:
        return neighbours.message
    messages = () if thread is None else thread.messages
    marked = (document for document in messages if document.document_id == marked_id)
    return next(marked, None) or next(iter(messages), None)


def _modal(blocks: Sequence[Block]) -> Block:
    return {
        "type": "modal",
        "callback_id": ARCHIVE_VIEW_CALLBACK,
        "title": plain_text(texts.ARCHIVE_VIEW_TITLE),
        "close": plain_text(texts.CLOSE),
        "blocks": list(blocks),
    }
