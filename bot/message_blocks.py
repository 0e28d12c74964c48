"""The modal of "Show in archive": loading, a message's thread and neighbours, or why there is nothing."""

from typing import Final

from bot.buttons import Signer
from bot.elements import Block, plain_text, section
from retrieval.models import MessageContext, Thread

ARCHIVE_VIEW_CALLBACK: Final = "archive_view"


def loading_view() -> Block:
    """Return the modal to open at once, before any work: a trigger_id lives 3 seconds."""
    return error_view("…")


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
    del thread, context, signer, workspace_url
    return error_view(marked_id or "…")


def not_found_view() -> Block:
    """Return the modal that says that the message is not in the archive, or not for this person."""
    return error_view("…")


def error_view(sentence: str) -> Block:
    """Return the modal that says one sentence, such as `bot.texts.sentence_for(error)`."""
    return {
        "type": "modal",
        "callback_id": ARCHIVE_VIEW_CALLBACK,
        "title": plain_text("Show in archive"),
        "close": plain_text("Close"),
        "blocks": [section(plain_text(sentence))],
    }
