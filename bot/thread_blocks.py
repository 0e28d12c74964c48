"""A thread, or a message among its neighbours, as one Slack message."""

from dataclasses import dataclass
from typing import Final

from bot.action_state import PageReference
from bot.buttons import Signer
from bot.elements import RenderedMessage, plain_text, section
from retrieval.models import MessageContext, Thread

THREAD_PAGE_MESSAGES: Final = 10
NEIGHBOURS_BEFORE: Final = 4
NEIGHBOURS_AFTER: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """Everything that a page of a thread shows.

    Attributes:
        thread: The part to show, at most `THREAD_PAGE_MESSAGES` of its messages; `offset` and `total`
            give "n of N".
        marked_id: The hit's document id; None for none.
        signer: Makes the buttons' values.
        back: The page of results to go back to, or None.
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
        back: The page of results to go back to, or None.
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
    """Return a page of a thread, oldest first, with the hit marked and the way back."""
    return RenderedMessage(text=view.thread.thread_id, blocks=(section(plain_text(view.thread.thread_id)),))


def render_context(view: ContextView) -> RenderedMessage:
    """Return a message with its neighbours in the channel, in time order, and the way back."""
    identifier = view.context.message.document_id
    return RenderedMessage(text=identifier, blocks=(section(plain_text(identifier)),))
