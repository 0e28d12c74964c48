"""Help, status, usage, and every answer that is one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.action_state import StateError
from bot.buttons import Signer
from bot.elements import RenderedMessage, escaped, plain_text, section
from retrieval.models import Mode


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
    return render_sentence("help")


def render_usage(reason: str | None = None) -> RenderedMessage:
    """Return a short usage for a command with nothing left to search.

    Args:
        reason: A sentence to put first, or None.
    """
    return render_sentence(reason or "usage")


def render_status(view: StatusView) -> RenderedMessage:
    """Return the archive's age and the modes available; its size for admins only."""
    return render_sentence(str(view.built_at_us))


def render_sentence(sentence: str, *, notes: Sequence[str] = ()) -> RenderedMessage:
    """Return an answer that is one sentence of `bot.texts`, without buttons.

    Args:
        sentence: What to say; literal.
        notes: Further sentences, in small print.
    """
    del notes
    return RenderedMessage(text=escaped(sentence), blocks=(section(plain_text(sentence)),))


def render_error(error: BaseException, *, signer: Signer, command: str | None = None) -> RenderedMessage:
    """Return an error as a sentence, with New search.

    Args:
        error: Any error; one that `bot.texts.sentence_for` does not know gets a general sentence.
        signer: Makes the buttons' values.
        command: What was typed, to start the new search from; None where it is not known.
    """
    del signer, command
    return render_sentence(str(error))


def render_state_error(error: StateError, *, signer: Signer, now_s: int) -> RenderedMessage:
    """Return why a button did not work, with a way to a fresh search.

    An expired button of the presser's own leads to the same search at its first page.

    Args:
        error: What `decode_state` raised.
        signer: For the presser, with a new expiry.
        now_s: Unix seconds of the press, unused where the button's own search is offered again.
    """
    del signer, now_s
    return render_sentence(str(error))
