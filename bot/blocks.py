"""A page of results as one Slack message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.action_state import PageReference
from bot.buttons import Signer
from bot.elements import RenderedMessage, escaped, plain_text, section
from retrieval.models import ResultPage

HITS_PER_PAGE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsView:
    """Everything that a page of results shows.

    Attributes:
        page: What the engine found; at most `HITS_PER_PAGE` of its hits are shown.
        here: This very page, so that a thread can lead back to it.
        understood: How the command was understood, in words, such as `rate limit 429 in #payments`.
        now_us: The present, Unix microseconds, for the archive's age.
        signer: Makes the buttons' values.
        cursor_at: Gives the engine's cursor for a page that starts after so many hits; asked only where
            fewer hits fit than the page has.
        workspace_url: From auth.test, for hits without a permalink; None where unknown.
        notices: Sentences of the bot to put first, such as why the results restarted.
        not_searched: Sentences for the last page: what was not looked at.
        suggestions: Sentences for an answer without hits: what else to try, best first.
        with_more: Whether a hit has a More button.
    """

    page: ResultPage
    here: PageReference
    understood: str
    now_us: int
    signer: Signer
    cursor_at: Callable[[int], str]
    workspace_url: str | None = None
    notices: tuple[str, ...] = ()
    not_searched: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    with_more: bool = False


def render_results(view: ResultsView) -> RenderedMessage:
    """Return a page of results, or the answer that nothing was found.

    A hit that does not fit any more is left for the next page, which Next then starts at.
    """
    text = escaped(view.understood)
    return RenderedMessage(text=text, blocks=(section(plain_text(view.understood)),), shown=0)
