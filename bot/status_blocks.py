"""Help, status, usage, and every answer that is one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import (
    ContextState,
    ExpiredStateError,
    MoreState,
    PageReference,
    PageState,
    ShareState,
    StateError,
    StateTooLargeError,
    ThreadState,
    VoteState,
)
from bot.buttons import AGAIN_ACTION, NEW_SEARCH_ACTION, Signer
from bot.citations import archive_freshness
from bot.elements import (
    Block,
    RenderedMessage,
    actions,
    button,
    header,
    mrkdwn,
    plain_text,
    section,
)
from bot.fallback import fallback_text
from bot.notes import note_blocks, note_lines
from bot.rich_text import cut, harmless
from retrieval.models import Mode

_SENTENCE_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSize:
    """What only admins see of the archive.

    Attributes:
        documents: Rows, files and thread windows included.
        vectors: Rows that meaning search can find.
        file_bytes: The artifact's size on disk; None where unknown.
        artifact_id: Its id.
    """

    documents: int
    vectors: int
    file_bytes: int | None
    artifact_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """Everything that `status` shows.

    Attributes:
        built_at_us: When the archive was built, Unix microseconds; None where none is being served.
        now_us: The present, Unix microseconds.
        modes: The modes that work now.
        size: For admins only; None for everyone else.
        notices: Sentences, such as that the archive is being replaced.
    """

    built_at_us: int | None
    now_us: int
    modes: tuple[Mode, ...]
    size: ArchiveSize | None = None
    notices: tuple[str, ...] = ()


def render_help() -> RenderedMessage:
    """Return what can be typed, with examples, and what scores and ranks are not."""
    paragraphs = [
        "\n".join([texts.HELP_START, *texts.HELP_EXAMPLES]),
        "\n".join([texts.HELP_NARROW, *_bulleted(texts.HELP_MODIFIERS)]),
        "\n".join([texts.HELP_READING, texts.HELP_RANKS, texts.HELP_ABSENCE]),
        "\n".join([texts.HELP_MORE, *_bulleted(texts.HELP_OTHERS)]),
    ]
    blocks = [header(texts.HELP_TITLE), *(section(mrkdwn(paragraph)) for paragraph in paragraphs)]
    text = fallback_text(head=[texts.HELP_TITLE, *(_unmarked(paragraph) for paragraph in paragraphs)])
    return RenderedMessage(text=text, blocks=tuple(blocks))


def render_usage(reason: str | None = None) -> RenderedMessage:
    """Return a short usage for a command with nothing left to search.

    Args:
        reason: A sentence to put first, or None; literal.
    """
    usage = "\n".join([texts.USAGE_START, texts.USAGE_HELP])
    first = _sentence(reason) if reason else None
    blocks = [section(plain_text(first))] if first else []
    blocks.append(section(mrkdwn(usage)))
    text = fallback_text(head=[*([first] if first else []), _unmarked(usage)])
    return RenderedMessage(text=text, blocks=tuple(blocks))


def render_status(view: StatusView) -> RenderedMessage:
    """Return the archive's age and the modes available; its size for admins only."""
    if view.built_at_us is None:
        return render_sentence(texts.STATUS_NO_ARCHIVE, notes=view.notices)
    modes = [texts.mode_status(mode, works=mode in view.modes) for mode in Mode]
    fresh = texts.capitalised(archive_freshness(view.built_at_us, view.now_us))
    blocks = [
        header(texts.STATUS_TITLE),
        section(mrkdwn("\n".join([fresh, *_bulleted(modes)]))),
    ]
    spoken = texts.freshness(texts.moment(view.built_at_us), texts.age(view.built_at_us, view.now_us))
    head = [texts.capitalised(spoken), *modes]
    small = note_lines([*_size_lines(view.size), *view.notices])
    blocks += note_blocks(small)
    return RenderedMessage(text=fallback_text(head=[*head, *small]), blocks=tuple(blocks))


def render_sentence(sentence: str, *, notes: Sequence[str] = ()) -> RenderedMessage:
    """Return an answer that is one sentence of `bot.texts`, without buttons.

    Args:
        sentence: What to say; literal.
        notes: Further sentences, in small print; literal.
    """
    return _answer(sentence, notes, [])


def render_problem(sentence: str, *, typed: str, command: str, signer: Signer) -> RenderedMessage:
    """Return why a typed search was not made, with what was typed and a button that opens the form with it.

    Slack clears the line that a command was typed into, so that it would have to be typed anew.

    Args:
        sentence: What is wrong; literal.
        typed: The command's text as its asker reads it; literal.
        command: The same as Slack sent it.
        signer: For the asker.
    """
    edit = button(texts.EDIT_SEARCH, NEW_SEARCH_ACTION, value=signer.new_search(command))
    return _answer(sentence, [texts.you_typed(typed)], [edit])


def render_state_error(error: StateError, *, signer: Signer, now_s: int) -> RenderedMessage:
    """Return why a button did not work, with a way to a fresh search.

    An expired button of the presser's own leads to the same search at its first page, counted from now.

    Args:
        error: What `decode_state` raised.
        signer: For the presser, with a new expiry.
        now_s: Unix seconds of the press: `yesterday` in the offered search is counted from here.
    """
    page = _expired_page(error)
    buttons = [_new_search_button(signer, None if page is None else page.command)]
    if page is not None:
        buttons = [*_again_buttons(signer, page, now_s), *buttons]
    return _answer(texts.sentence_for(error), (), buttons)


def _expired_page(error: StateError) -> PageReference | None:
    if not isinstance(error, ExpiredStateError):
        return None
    match error.state:
        case PageState(page=page):
            return page
        case ThreadState(back=page) | ContextState(back=page):
            return page
        case MoreState(back=page) | VoteState(back=page) | ShareState(back=page):
            return page
        case _:
            return None


def _again_buttons(signer: Signer, page: PageReference, now_s: int) -> list[Block]:
    fresh = page.first_page().model_copy(update={"now_s": now_s})
    try:
        return [button(texts.SEARCH_AGAIN, AGAIN_ACTION, value=signer.page(fresh))]
    except StateTooLargeError:
        return []


def _new_search_button(signer: Signer, command: str | None) -> Block:
    return button(texts.NEW_SEARCH, NEW_SEARCH_ACTION, value=signer.new_search(command))


def _answer(sentence: str, notes: Sequence[str], buttons: Sequence[Block]) -> RenderedMessage:
    said = _sentence(sentence)
    small = note_lines(notes)
    blocks = [section(plain_text(said)), *note_blocks(small)]
    if buttons:
        blocks.append(actions(buttons))
    return RenderedMessage(text=fallback_text(head=[said, *small]), blocks=tuple(blocks))


def _sentence(sentence: str) -> str:
    return cut(harmless(sentence).strip(), _SENTENCE_CHARACTERS) or texts.SOMETHING_WRONG


def _size_lines(size: ArchiveSize | None) -> list[str]:
    if size is None:
        return []
    return [texts.archive_size(size.documents, size.vectors, size.file_bytes), texts.archive_name(size.artifact_id)]


def _bulleted(lines: Sequence[str]) -> list[str]:
    return [f"• {line}" for line in lines]


def _unmarked(paragraph: str) -> str:
    """Return a paragraph of our own markup as plain words, for screen readers."""
    return paragraph.replace("*", "").replace("`", "")
