"""One hit with everything that can be done with it: its citation, Find similar, Share, votes, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import Judged, PageReference, StateTooLargeError
from bot.buttons import (
    BACK_ACTION,
    GOOD_ACTION,
    NEW_SEARCH_ACTION,
    NOT_RELEVANT_ACTION,
    OPEN_ACTION,
    SHARE_ACTION,
    SIMILAR_ACTION,
    Signer,
)
from bot.citations import citation, document_line, link_to
from bot.elements import Block, RenderedMessage, actions, button, link_button, plain_text, section
from bot.fallback import fallback_text
from bot.limits import text_length
from bot.notes import note_blocks, note_lines
from bot.rich_text import cut, harmless, message_block, message_runs, one_line, plain_words
from bot.store_records import Verdict
from retrieval.models import Document

MORE_CHARACTERS: Final = 3_000
"""Of the hit's text; a longer one is cut and says so."""

_NAME_CHARACTERS: Final = 200
_IDENTIFIER_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreView:
    """Everything that the redrawn hit shows.

    Attributes:
        document: The hit.
        signer: Makes the buttons' values.
        workspace_name: Where it comes from.
        back: The page of results to go back to; None where a button could not hold it.
        judged: What a vote is about; None where the hit cannot be voted on.
        is_cut: Whether it cannot because the search is too long for a button.
        present: The asker's vote on it now; None for none.
        may_share: Whether the asker stands in a conversation.
        notices: Sentences to put first, such as that it was shared.
        workspace_url: From auth.test, for a hit without a permalink; None where unknown.
    """

    document: Document
    signer: Signer
    workspace_name: str
    back: PageReference | None = None
    judged: Judged | None = None
    is_cut: bool = False
    present: Verdict | None = None
    may_share: bool = False
    notices: tuple[str, ...] = ()
    workspace_url: str | None = None


def render_more(view: MoreView) -> RenderedMessage:
    """Return the hit as one message."""
    notices = note_lines(view.notices)
    votes, closing = _vote_buttons(view)
    body = harmless(view.document.text).strip()
    is_long = text_length(body) > MORE_CHARACTERS
    small = note_lines([*([texts.CUT_MESSAGE] if is_long else []), *closing])
    rows = [_doing_buttons(view), votes, _back_buttons(view)]
    blocks = [
        *(section(plain_text(notice)) for notice in notices),
        document_line(view.document, rank=view.judged.rank if view.judged is not None else None),
        message_block(body, maximum=MORE_CHARACTERS),
        _rest_of_citation(view),
        *(actions(row) for row in rows if row),
        *note_blocks(small),
    ]
    return RenderedMessage(text=_spoken(view, notices, small), blocks=tuple(blocks), shown=1)


def _spoken(view: MoreView, notices: Sequence[str], small: Sequence[str]) -> str:
    body = plain_words(message_runs(cut(harmless(view.document.text), MORE_CHARACTERS))) or texts.NO_TEXT
    marked = [texts.vote_now(_LABELS[view.present])] if view.present is not None else []
    tail = [texts.cited_workspace(_workspace(view)), texts.cited_document(view.document.document_id), *marked, *small]
    return fallback_text(head=notices, entries=[(citation(view.document), body, "")], tail=tail)


def _workspace(view: MoreView) -> str:
    return one_line(view.workspace_name, maximum=_NAME_CHARACTERS) or view.document.workspace_id


def _rest_of_citation(view: MoreView) -> Block:
    """Return what the line of who, where and when lacks: the workspace, and the document's id, easy to copy."""
    name: Block = {"type": "text", "text": f"{texts.CITED_WORKSPACE} ", "style": {"bold": True}}
    workspace: Block = {"type": "text", "text": f"{_workspace(view)}\n"}
    label: Block = {"type": "text", "text": f"{texts.CITED_DOCUMENT} ", "style": {"bold": True}}
    shown = one_line(view.document.document_id, maximum=_IDENTIFIER_CHARACTERS)
    identifier: Block = {"type": "text", "text": shown, "style": {"code": True}}
    line: Block = {"type": "rich_text_section", "elements": [name, workspace, label, identifier]}
    return {"type": "rich_text", "elements": [line]}


def _doing_buttons(view: MoreView) -> list[Block]:
    buttons = []
    if (link := link_to(view.document, view.workspace_url)) is not None:
        buttons.append(link_button(texts.OPEN_IN_SLACK, OPEN_ACTION, url=link))
    try:
        similar = view.signer.similar(view.document.document_id, back=view.back)
        buttons.append(button(texts.FIND_SIMILAR, SIMILAR_ACTION, value=similar))
        if view.may_share:
            share = view.signer.share(view.document.document_id, back=view.back, judged=view.judged)
            buttons.append(button(texts.SHARE_TO_CHANNEL, SHARE_ACTION, value=share))
    except StateTooLargeError:
        # Only an id of more than a thousand characters gets here; the link still leads to the message.
        return buttons
    return buttons


_LABELS: Final = {Verdict.GOOD: texts.GOOD_RESULT, Verdict.NOT_RELEVANT: texts.NOT_RELEVANT}
_ACTIONS: Final = {Verdict.GOOD: GOOD_ACTION, Verdict.NOT_RELEVANT: NOT_RELEVANT_ACTION}


def _vote_buttons(view: MoreView) -> tuple[list[Block], list[str]]:
    """Return the two votes, the present one marked, and the sentence that goes under them."""
    if view.judged is None:
        return [], [texts.TOO_LONG_TO_VOTE] if view.is_cut else []
    try:
        return [_vote_button(view, view.judged, verdict) for verdict in Verdict], [texts.VOTES_ARE_KEPT]
    except StateTooLargeError:
        return [], [texts.TOO_LONG_TO_VOTE]


def _vote_button(view: MoreView, judged: Judged, verdict: Verdict) -> Block:
    is_present = verdict is view.present
    said = None if is_present else verdict
    value = view.signer.vote(view.document.document_id, said, judged=judged, back=view.back)
    label = _LABELS[verdict]
    if not is_present:
        return button(label, _ACTIONS[verdict], value=value)
    return button(texts.marked(label), _ACTIONS[verdict], value=value, label=texts.your_vote(label), style="primary")


def _back_buttons(view: MoreView) -> list[Block]:
    """Return Back to results, or New search where a button cannot hold the way back."""
    try:
        if view.back is not None:
            return [button(texts.BACK_TO_RESULTS, BACK_ACTION, value=view.signer.page(view.back))]
    except StateTooLargeError:
        pass
    return [button(texts.NEW_SEARCH, NEW_SEARCH_ACTION, value=view.signer.new_search())]
