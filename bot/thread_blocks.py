"""A thread, or a message among its neighbours, as one Slack message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import PageReference, StateTooLargeError
from bot.buttons import (
    BACK_ACTION,
    EARLIER_ACTION,
    LATER_ACTION,
    NEW_SEARCH_ACTION,
    OPEN_ACTION,
    Signer,
)
from bot.citations import author_name, bold_element, channel_name, link_to, time_element
from bot.elements import Block, RenderedMessage, actions, button, context, link_button, plain_text
from bot.entries import Entry, entry_blocks, spoken_entries
from bot.fallback import fallback_text
from bot.limits import MESSAGE_CHARACTERS
from bot.notes import note_blocks, note_lines
from retrieval.models import Document, MessageContext, Thread

THREAD_PAGE_MESSAGES: Final = 10
NEIGHBOURS_BEFORE: Final = 4
NEIGHBOURS_AFTER: Final = 5
_FRAME_CHARACTERS: Final = 2_500


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """Everything that a page of a thread shows.

    Attributes:
        thread: The part to show, at most `THREAD_PAGE_MESSAGES` of its messages; `offset` and `total`
            give "n of N".
        marked_id: The hit's document id; None for none.
        signer: Makes the buttons' values.
        back: The page of results to go back to; None where a button could not hold it.
        workspace_url: From auth.test, for messages without a permalink; None where unknown.
    """

    thread: Thread
    marked_id: str | None
    signer: Signer
    back: PageReference | None = None
    workspace_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """Everything that a message among its neighbours shows.

    Attributes:
        context: The message and its neighbours; the nearest `NEIGHBOURS_BEFORE` and `NEIGHBOURS_AFTER`
            are shown.
        signer: Makes the buttons' values.
        back: The page of results to go back to; None where a button could not hold it.
        workspace_url: From auth.test, for messages without a permalink; None where unknown.
    """

    context: MessageContext
    signer: Signer
    back: PageReference | None = None
    workspace_url: str | None = None


def thread_page_offset(position: int) -> int:
    """Return how many messages stand before the page that holds the message at `position`, from 0."""
    return position - position % THREAD_PAGE_MESSAGES


def render_thread(view: ThreadView) -> RenderedMessage:
    """Return a page of a thread, oldest first, with the hit marked and the way back.

    Returns:
        `shown` says how many messages stand in it.
    """
    entries = thread_entries(view.thread, view.marked_id, mark=texts.THE_HIT)
    notes = thread_notes(view.thread)
    buttons = [
        *_back_buttons(view.signer, view.back),
        *paging_buttons(view.thread, view.marked_id, view.signer, back=view.back),
        *_open_button(_linked(view.thread, view.marked_id), view.workspace_url),
    ]
    heading = [context(thread_heading(view.thread)), *note_blocks(notes)]
    spoken = [_spoken_title(view.thread), *notes]
    return _composed(heading, entries, buttons, spoken=spoken, closing=_way_back_note(view.back))


def render_context(view: ContextView) -> RenderedMessage:
    """Return a message with its neighbours in the channel, in time order, and the way back.

    Returns:
        `shown` says how many messages stand in it.
    """
    message = view.context.message
    names = [bold_element(texts.AROUND_MESSAGE), plain_text(channel_name(message)), time_element(message.ts_us)]
    heading = [context(names), *note_blocks([texts.NEIGHBOURS])]
    spoken = [texts.in_channel(texts.AROUND_MESSAGE, channel_name(message)), texts.NEIGHBOURS]
    entries = context_entries(view.context, mark=texts.THE_HIT)
    buttons = [*_back_buttons(view.signer, view.back), *_open_button(message, view.workspace_url)]
    return _composed(heading, entries, buttons, spoken=spoken, closing=_way_back_note(view.back))


def thread_entries(thread: Thread, marked_id: str | None, *, mark: str) -> list[Entry]:
    """Return a page of a thread as entries with their place; the marked one carries `mark`."""
    return [
        Entry(
            document=document,
            place=texts.position(thread.offset + number, max(thread.total, thread.offset + number)),
            mark=mark if document.document_id == marked_id else None,
        )
        for number, document in enumerate(thread.messages[:THREAD_PAGE_MESSAGES], start=1)
    ]


def context_entries(context: MessageContext, *, mark: str) -> list[Entry]:
    """Return a message and its nearest neighbours as entries, in time order; the message carries `mark`."""
    return [
        *(Entry(document=document) for document in context.before[-NEIGHBOURS_BEFORE:]),
        Entry(document=context.message, mark=mark),
        *(Entry(document=document) for document in context.after[:NEIGHBOURS_AFTER]),
    ]


def thread_heading(thread: Thread) -> list[Block]:
    """Return who started a thread, where and when, and which of its messages are shown."""
    shown = len(thread.messages[:THREAD_PAGE_MESSAGES])
    first = thread.root or next(iter(thread.messages), None)
    by = texts.thread_of(author_name(thread.root)) if thread.root is not None else texts.THREAD
    elements = [bold_element(by)]
    if first is not None:
        elements += [plain_text(channel_name(first)), time_element(first.ts_us)]
    if shown:
        elements.append(plain_text(_range_words(thread)))
    return elements


def _range_words(thread: Thread) -> str:
    last = thread.offset + len(thread.messages[:THREAD_PAGE_MESSAGES])
    return texts.messages_range(thread.offset + 1, last, max(thread.total, last))


def _spoken_title(thread: Thread) -> str:
    first = thread.root or next(iter(thread.messages), None)
    if first is None:
        return texts.THREAD
    return texts.in_channel(f"{texts.thread_of(author_name(first))}", f"{channel_name(first)}, {_range_words(thread)}")


def thread_notes(thread: Thread) -> list[str]:
    """Return what to know about a thread: the engine's warnings, that it has no root, that there is nothing."""
    notes = list(thread.warnings)
    if thread.root is None and not notes:
        notes.append(texts.ROOT_MISSING)
    if not thread.messages:
        notes.append(texts.EMPTY_THREAD)
    return note_lines(notes)


def paging_buttons(thread: Thread, marked_id: str | None, signer: Signer, *, back: PageReference | None) -> list[Block]:
    """Return Earlier and Later where there is something earlier and later."""
    last = thread.offset + len(thread.messages[:THREAD_PAGE_MESSAGES])
    offsets = []
    if thread.offset > 0:
        offsets.append((texts.EARLIER, EARLIER_ACTION, max(0, thread.offset - THREAD_PAGE_MESSAGES)))
    if thread.messages and last < thread.total:
        offsets.append((texts.LATER, LATER_ACTION, last))
    try:
        return [
            button(label, action_id, value=signer.thread(thread.thread_id, marked_id, offset=offset, back=back))
            for label, action_id, offset in offsets
        ]
    except StateTooLargeError:
        # Only ids of more than a thousand characters get here; Open in Slack still leads to the thread.
        return []


def _back_buttons(signer: Signer, back: PageReference | None) -> list[Block]:
    """Return Back to results, or New search where a button cannot hold the way back."""
    try:
        if back is not None:
            return [button(texts.BACK_TO_RESULTS, BACK_ACTION, value=signer.page(back))]
    except StateTooLargeError:
        pass
    return [button(texts.NEW_SEARCH, NEW_SEARCH_ACTION, value=signer.new_search())]


def _way_back_note(back: PageReference | None) -> list[str]:
    return [] if back is not None else [texts.TOO_LONG_TO_RETURN]


def _open_button(document: Document | None, workspace_url: str | None) -> list[Block]:
    link = None if document is None else link_to(document, workspace_url)
    return [] if link is None else [link_button(texts.OPEN_IN_SLACK, OPEN_ACTION, url=link)]


def _linked(thread: Thread, marked_id: str | None) -> Document | None:
    """Return the message that Open in Slack leads to: the hit, else the root, else the first shown."""
    marked = (document for document in thread.messages if document.document_id == marked_id)
    return next(marked, None) or thread.root or next(iter(thread.messages), None)


def _composed(
    heading: Sequence[Block],
    entries: Sequence[Entry],
    buttons: Sequence[Block],
    *,
    spoken: Sequence[str],
    closing: Sequence[str],
) -> RenderedMessage:
    messages = entry_blocks(entries, budget=MESSAGE_CHARACTERS - _FRAME_CHARACTERS)
    blocks = [*heading, *messages, *note_blocks(closing), actions(buttons)]
    text = fallback_text(head=spoken, entries=spoken_entries(entries), tail=closing)
    return RenderedMessage(text=text, blocks=tuple(blocks), shown=len(entries))
