"""A person's recent searches: each with a button that makes it again, and one that erases them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import StateTooLargeError
from bot.buttons import CLEAR_RECENTS_ACTION, RECENT_ACTION, Signer
from bot.citations import time_element
from bot.elements import Block, RenderedMessage, actions, button, context, fields, header, plain_text, section
from bot.fallback import fallback_text
from bot.limits import ACCESSIBILITY_LABEL_CHARACTERS
from bot.rich_text import one_line
from bot.store import RecentSearch

_COMMAND_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentsView:
    """What is known of a person's recent searches.

    Attributes:
        recents: Newest first; None where they cannot be read now.
        signer: Makes the buttons' values.
        are_kept: Whether anybody's are kept at all.
    """

    recents: Sequence[RecentSearch] | None
    signer: Signer
    are_kept: bool = True


def render_recents(view: RecentsView, *, were_cleared: bool = False) -> RenderedMessage:
    """Return the answer to `recent`, or to Clear.

    Args:
        view: What to show.
        were_cleared: Whether they have just been erased, which is then said.
    """
    sentence = texts.RECENTS_CLEARED if were_cleared else recents_sentence(view)
    blocks: list[Block] = [header(texts.RECENTS_TITLE)]
    if sentence is not None:
        blocks.append(section(plain_text(sentence)))
        return RenderedMessage(text=fallback_text(head=[texts.RECENTS_TITLE, sentence]), blocks=tuple(blocks))
    recents = view.recents or ()
    blocks += [context([plain_text(texts.RECENTS_HINT)]), *recent_rows(recents, view.signer)]
    blocks.append(actions([clear_button(view.signer)]))
    said = [f"{shown_command(one)} ({texts.moment(one.searched_us)})" for one in recents]
    head = [texts.RECENTS_TITLE, texts.RECENTS_HINT, *said]
    return RenderedMessage(text=fallback_text(head=head), blocks=tuple(blocks))


def recents_sentence(view: RecentsView) -> str | None:
    """Return why there is no search to show, None where there is one."""
    if not view.are_kept:
        return texts.RECENTS_OFF
    if view.recents is None:
        return texts.RECENTS_UNREADABLE
    return None if view.recents else texts.RECENTS_NONE


def recent_rows(recents: Sequence[RecentSearch], signer: Signer, *, action_id: str = RECENT_ACTION) -> list[Block]:
    """Return one row a search: its text, when, and Search; without the button where it does not fit into one."""
    return [_row(one, signer, action_id) for one in recents]


def clear_button(signer: Signer, *, action_id: str = CLEAR_RECENTS_ACTION) -> Block:
    """Return the button that erases all of the owner's searches, which is asked once more first."""
    confirm: Block = {
        "title": plain_text(texts.CLEAR_RECENTS),
        "text": plain_text(texts.CLEAR_RECENTS_QUESTION),
        "confirm": plain_text(texts.CLEAR),
        "deny": plain_text(texts.KEEP),
    }
    value = signer.clear_recents()
    return {**button(texts.CLEAR_RECENTS, action_id, value=value), "confirm": confirm}


def shown_command(recent: RecentSearch) -> str:
    """Return a search as one would type it, on one line of at most 300 characters; literal."""
    return one_line(recent.shown, maximum=_COMMAND_CHARACTERS) or "…"


def _row(recent: RecentSearch, signer: Signer, action_id: str) -> Block:
    shown = shown_command(recent)
    row = fields([plain_text(shown), time_element(recent.searched_us)])
    try:
        value = signer.recent(recent.command)
    except StateTooLargeError:
        return row
    label = one_line(texts.search_for(shown), maximum=ACCESSIBILITY_LABEL_CHARACTERS)
    return {**row, "accessory": button(texts.SEARCH, action_id, value=value, label=label)}
