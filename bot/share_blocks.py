"""A hit on its way into a channel: the question before, and the message that everybody there sees."""

from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import Judged, PageReference
from bot.buttons import SHARE_CANCEL_ACTION, SHARE_CONFIRM_ACTION, Signer
from bot.citations import citation, document_line
from bot.elements import Block, RenderedMessage, actions, button, context, divider, plain_text, section
from bot.fallback import fallback_text
from bot.rich_text import cut, harmless, message_runs, one_line, plain_words, quote_block
from retrieval.models import Document

SHARED_CHARACTERS: Final = 1_500
"""Of the shared text: others did not ask for it, so it is kept shorter than an answer."""

_NAME_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedHit:
    """What is posted.

    Attributes:
        document: The hit.
        permalink: Slack's own for it.
        sharer: The name of who shares it.
        built_at_us: When the archive it is quoted from was made, Unix microseconds.
    """

    document: Document
    permalink: str
    sharer: str
    built_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareQuestion:
    """Everything that the question shows.

    Attributes:
        hit: What would be posted.
        channel_id: Where.
        channel_name: Its name without `#`.
        nonce: Makes this question another one than the next.
        signer: Makes the buttons' values.
        back: The page of results to go back to; None where a button could not hold it.
        judged: What a vote on the hit is about; None where it cannot be voted on.
    """

    hit: SharedHit
    channel_id: str
    channel_name: str
    nonce: str
    signer: Signer
    back: PageReference | None = None
    judged: Judged | None = None


def render_shared(hit: SharedHit) -> RenderedMessage:
    """Return the message that everybody in the channel sees; nothing in it notifies anybody."""
    text = fallback_text(head=[_shared_by(hit)], entries=[(citation(hit.document), _words(hit), "")])
    return RenderedMessage(text=text, blocks=tuple(_shared_blocks(hit)), shown=1)


def render_question(question: ShareQuestion) -> RenderedMessage:
    """Return the question whether to share, with what would be posted.

    Raises:
        StateTooLargeError: A button cannot hold it, however little of it.
    """
    document_id, back, judged = question.hit.document.document_id, question.back, question.judged
    share = question.signer.share(
        document_id, channel_id=question.channel_id, nonce=question.nonce, back=back, judged=judged
    )
    more = question.signer.more(document_id, back=back, judged=judged)
    asked = texts.share_question(one_line(question.channel_name, maximum=_NAME_CHARACTERS))
    buttons = [
        button(texts.SHARE, SHARE_CONFIRM_ACTION, value=share, style="primary"),
        button(texts.CANCEL, SHARE_CANCEL_ACTION, value=more),
    ]
    blocks = [section(plain_text(asked)), divider(), *_shared_blocks(question.hit), divider(), actions(buttons)]
    text = fallback_text(
        head=[asked, _shared_by(question.hit)], entries=[(citation(question.hit.document), _words(question.hit), "")]
    )
    return RenderedMessage(text=text, blocks=tuple(blocks), shown=1)


def _shared_blocks(hit: SharedHit) -> list[Block]:
    link: Block = {"type": "link", "url": hit.permalink, "text": texts.OPEN_IN_SLACK}
    return [
        context([plain_text(_shared_by(hit))]),
        document_line(hit.document, rank=None),
        quote_block(hit.document.text, maximum=SHARED_CHARACTERS),
        {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [link]}]},
    ]


def _shared_by(hit: SharedHit) -> str:
    return texts.shared_by(one_line(hit.sharer, maximum=_NAME_CHARACTERS), texts.day(hit.built_at_us))


def _words(hit: SharedHit) -> str:
    return plain_words(message_runs(cut(harmless(hit.document.text).strip(), SHARED_CHARACTERS))) or texts.NO_TEXT
