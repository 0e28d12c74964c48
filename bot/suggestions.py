"""What to try where nothing was found: first to leave out the filter that excluded the most."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import structlog

from bot import texts
from bot.retrieval_pool import PoolError
from retrieval import Filters, Mode, ResultPage, RetrievalError, SearchRequest

_log = structlog.get_logger(__name__)

_COUNTED: Final = 50
_NOTHING: Final = Filters()
# What a user thinks of as one filter, with the fields it fills.
_GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (texts.THE_CHANNELS, ("channel_ids", "excluded_channel_ids")),
    (texts.THE_PEOPLE, ("author_ids", "excluded_author_ids")),
    (texts.THE_PERIOD, ("start_ts_us", "end_ts_us")),
    (texts.THE_KINDS, ("has", "is_thread")),
    (texts.THE_PHRASES, ("phrases",)),
    (texts.THE_EXCLUSIONS, ("excluded_phrases", "excluded_words")),
)


async def suggestions_for(
    request: SearchRequest, search: Callable[[SearchRequest], Awaitable[ResultPage]]
) -> tuple[str, ...]:
    """Return sentences for an answer without hits, best first.

    Each filter is left out in turn, and what is then found is counted, up to fifty; ties go to the first.

    Args:
        request: The search that found nothing.
        search: Searches as the asker may, so that nothing is suggested from what they may not see.
    """
    found: dict[str, int] = {}
    for label, fields in _GROUPS:
        relaxed = replace(request.filters, **{name: getattr(_NOTHING, name) for name in fields})
        if relaxed == request.filters or (relaxed == _NOTHING and not request.text):
            continue
        try:
            page = await search(replace(request, filters=relaxed, limit=_COUNTED, cursor=None))
        except (RetrievalError, PoolError, TimeoutError) as exc:
            # The answer that nothing was found is complete without it.
            _log.info("suggestion_given_up", reason=type(exc).__name__)
            break
        found[label] = len(page.hits)
    best = max(found, key=lambda label: found[label], default=None)
    sentences = [texts.leave_out(best)] if best is not None and found[best] else []
    return (*sentences, *_by_mode(request.mode), texts.TRY_FEWER_WORDS)


def _by_mode(mode: Mode) -> tuple[str, ...]:
    if mode is Mode.LEXICAL:
        return (texts.TRY_MEANING,)
    return (texts.TRY_KEYWORDS,) if mode is Mode.SEMANTIC else ()
