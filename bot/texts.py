"""Every sentence that a person reads in Slack, in one place: plain, short, and without jargon.

Constants are whole sentences or labels; functions fill in what differs. All of them are literal text:
whoever puts one into marked-up text escapes it there.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from bot.action_state import (
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    OldStateError,
    StateTooLargeError,
)
from retrieval.errors import (
    AmbiguousNameError,
    ArtifactClosedError,
    ArtifactError,
    ArtifactMissingError,
    ArtifactReplacedError,
    CursorError,
    CursorRangeError,
    CursorVisibilityError,
    EmbeddingError,
    NotFoundError,
    QueryTextError,
    RequestError,
    StaleCursorError,
    UnknownNameError,
)
from retrieval.models import Mode, QueryClass, Retriever

COMMAND: Final = "/slackquery"

# Labels of buttons and modals.
OPEN_IN_SLACK: Final = "Open in Slack"
EXPAND_THREAD: Final = "Expand thread"
CONTEXT: Final = "Context"
MORE: Final = "More"
PREVIOUS: Final = "Previous"
NEXT: Final = "Next"
NEW_SEARCH: Final = "New search"
SEARCH_AGAIN: Final = "Search again"
BACK_TO_RESULTS: Final = "Back to results"
EARLIER: Final = "Earlier"
LATER: Final = "Later"
CLOSE: Final = "Close"
ARCHIVE_VIEW_TITLE: Final = "Show in archive"

# What stands where the archive has nothing.
UNKNOWN_AUTHOR: Final = "Unknown author"
UNKNOWN_CHANNEL: Final = "unknown channel"
UNKNOWN_TIME: Final = "unknown time"
NO_TEXT: Final = "(No text. The message may hold a file or an attachment.)"

# Answers to a search.
DEGRADED: Final = (
    "Searching by meaning did not answer in time, so these are keyword results only. Try again in a minute."
)
RESTARTED_NEW_ARCHIVE: Final = "The archive was renewed since that page, so the results start again from page 1."
RESTARTED_VISIBILITY: Final = "What you can see has changed since that page, so the results start again from page 1."
UNCONFIRMED_CHANNELS: Final = (
    "Slack did not confirm all of your channels just now, so only the confirmed ones were searched."
)
TOO_LONG_TO_PAGE: Final = (
    "This search is too long to page through: a button cannot hold it. A shorter one can be paged."
)
TOO_LONG_TO_RETURN: Final = "This search is too long for a way back; run it again to see its results."
END_OF_RESULTS: Final = "That is the end of the results."
ABSENCE_IS_NO_PROOF: Final = (
    "Nothing found here does not prove that nobody wrote it: it may be worded differently, lie in a"
    " channel that was not searched, or be newer than the archive."
)
NOT_SEARCHED_PUBLIC_ONLY: Final = (
    "Not searched: private channels, direct messages, deleted messages, and anything newer than the archive."
)
TRY_FEWER_WORDS: Final = "Try fewer or other words."
TRY_WITHOUT_FILTERS: Final = "Try without the filters, or with a longer period."
TRY_MEANING: Final = "Try mode:hybrid, which also finds messages by meaning."
TRY_KEYWORDS: Final = "Try mode:lexical, which looks for the words themselves."
NEIGHBOURS: Final = (
    "Neighbouring messages are what else was written in the channel; they may belong to another discussion."
)
THE_HIT: Final = "this is the hit"
THE_MESSAGE: Final = "this is the message"
CUT_MESSAGE: Final = "cut here; open it in Slack for the rest"
ROOT_MISSING: Final = "The thread's first message is not in the archive."

# The modal of "Show in archive".
LOADING: Final = "Looking in the archive…"
NOT_IN_ARCHIVE: Final = (
    "This message is not in the archive, or it is not one that I can show you."
    " A message written since the last archive is not there yet."
)
ITS_THREAD: Final = "Its thread"
ITS_NEIGHBOURS: Final = "Around it in the channel"

# Buttons that cannot do what they say.
BUTTON_FORGED: Final = "I cannot read that button. Please search again."
BUTTON_OLD: Final = "That button was made before I was updated. Please search again."
BUTTON_FOREIGN: Final = "Those results were made for somebody else. Search for yourself and I show you yours."
BUTTON_EXPIRED: Final = "Those results are more than 30 minutes old. Please search again."

# Why somebody is not served; none of them says what exists.
REFUSED_GUEST: Final = "Guest accounts cannot search the archive yet."
REFUSED_OTHER_TEAM: Final = "Only members of the workspace that installed me can search its archive."
REFUSED_BOT: Final = "Apps and bots cannot search the archive."
REFUSED_DELETED: Final = "This account is deactivated, so it cannot search the archive."
REFUSED_UNKNOWN: Final = "Slack did not tell me who you are, so I cannot search for you. Please try again."
NO_CHANNELS: Final = "Slack did not confirm any channel that I can search for you. Please try again in a minute."

# Trouble.
BUSY: Final = "Many people are searching right now. Please try again in a few seconds."
STOPPING: Final = "I am just restarting. Please try again in a minute."
TOOK_TOO_LONG: Final = "The search took too long, so I stopped it. Please try again, or narrow it down."
SOMETHING_WRONG: Final = "Something went wrong on my side, and it has been logged. Please try again."
SLACK_DID_NOT_ANSWER: Final = "Slack did not answer my question about your channels. Please try again in a minute."
NO_ARCHIVE: Final = "There is no archive to search yet. Whoever runs me has to build one first."
ARCHIVE_UNUSABLE: Final = "The archive cannot be searched just now. Whoever runs me has been told."
ARCHIVE_REPLACED: Final = "The archive is being replaced right now. Please try again in a minute."
MEANING_OFF: Final = "Searching by meaning does not work right now. Keywords do: add mode:lexical."
BUTTON_OUTDATED_PAGE: Final = "I cannot find that page any more. Please search again."
NOT_FOUND: Final = "I cannot show that: it is not in the archive, or it is not one that you can see."
NOTHING_TO_SEARCH: Final = "There is nothing to search for in that. Add a word or two."
SYNTAX_HINT: Final = "“/slackquery help” shows what can be typed."

_RETRIEVERS: Final = {
    Retriever.LEXICAL: "keyword",
    Retriever.SEMANTIC: "meaning",
    Retriever.CONTEXT: "thread",
    Retriever.EXACT: "exact",
}
_MODES: Final = {
    Mode.LEXICAL: "keyword search",
    Mode.SEMANTIC: "search by meaning",
    Mode.HYBRID: "hybrid search",
}
_LEANINGS: Final = {
    QueryClass.EXACT: "leaning on exact words",
    QueryClass.CONCEPTUAL: "leaning on meaning",
    QueryClass.MIXED: "words and meaning alike",
}
_SENTENCES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ForgedStateError, BUTTON_FORGED),
    (OldStateError, BUTTON_OLD),
    (ForeignStateError, BUTTON_FOREIGN),
    (ExpiredStateError, BUTTON_EXPIRED),
    (StateTooLargeError, TOO_LONG_TO_PAGE),
    (QueryTextError, NOTHING_TO_SEARCH),
    (StaleCursorError, RESTARTED_NEW_ARCHIVE),
    (CursorVisibilityError, RESTARTED_VISIBILITY),
    (NotFoundError, NOT_FOUND),
    (EmbeddingError, MEANING_OFF),
    (ArtifactMissingError, NO_ARCHIVE),
    (ArtifactReplacedError, ARCHIVE_REPLACED),
    (ArtifactClosedError, ARCHIVE_REPLACED),
    (ArtifactError, ARCHIVE_UNUSABLE),
    (TimeoutError, TOOK_TOO_LONG),
)


def sentence_for(error: BaseException) -> str:
    """Return what to tell a person about an error; never a file name, a traceback or a secret.

    Args:
        error: Any error. The engine's request errors keep their own sentence, which says what to change.

    Returns:
        One or two sentences; for an unknown error a general one.
    """
    if isinstance(error, UnknownNameError):
        return unknown_name(error.kind, error.name, suggestions=error.suggestions)
    if isinstance(error, AmbiguousNameError):
        return ambiguous_name(error.kind, error.name, matches=error.matches)
    if isinstance(error, CursorRangeError):
        return end_of_paging(error.maximum)
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return sentence
    if isinstance(error, CursorError):
        return BUTTON_OUTDATED_PAGE
    if isinstance(error, RequestError):
        return str(error) or SOMETHING_WRONG
    return SOMETHING_WRONG


def unknown_name(kind: str, name: str, *, suggestions: Sequence[str] = ()) -> str:
    """Return that no channel or person of that name can be searched, with the nearest names."""
    sentence = f"I know no {kind} called “{name}” that I can search for you."
    return f"{sentence} Did you mean {_listed(suggestions, 'or')}?" if suggestions else sentence


def ambiguous_name(kind: str, name: str, *, matches: Sequence[str]) -> str:
    """Return that a name fits several channels or people, and ask which; names ten at most."""
    plural = "people" if kind == "person" else f"{kind}s"
    shown = list(matches[:10]) + ([f"{len(matches) - 10} more"] if len(matches) > 10 else [])
    return f"“{name}” fits several {plural}: {_listed(shown, 'and')}. Which one do you mean?"


def end_of_paging(maximum: int) -> str:
    """Return that paging ends there, and what to do instead."""
    return f"Paging ends after {maximum:,} results. Add a word, a channel or a period to narrow the search."


def too_many_searches(wait_s: float) -> str:
    """Return that this person searched too often, and when they can again."""
    seconds = max(1, round(wait_s))
    return f"That was a lot of searches at once. Please wait {seconds} {_plural(seconds, 'second')}."


def age(built_at_us: int, now_us: int) -> str:
    """Return how old the archive is, such as `12 min ago`."""
    minutes = max(0, (now_us - built_at_us) // 60_000_000)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // (24 * 60)} days ago"


def moment(ts_us: int) -> str:
    """Return a time in words and in UTC, for where Slack cannot show the reader's own zone.

    Returns:
        Such as `3 Mar 2026, 09:12 UTC`; `UNKNOWN_TIME` outside the years 1970 to 9999.
    """
    if not is_moment(ts_us):
        return UNKNOWN_TIME
    then = datetime.fromtimestamp(ts_us // 1_000_000, UTC)
    return f"{then.day} {then:%b %Y, %H:%M} UTC"


def is_moment(ts_us: int) -> bool:
    """Return whether a time in Unix microseconds is one that can be shown: after 1970, before 10000."""
    return 0 < ts_us < 253_402_300_800_000_000


def mode_words(mode: Mode, route: QueryClass, *, degraded: bool) -> str:
    """Return how was searched, such as `hybrid search, leaning on exact words`."""
    if degraded:
        return f"{_MODES[Mode.LEXICAL]} only"
    return f"{_MODES[mode]}, {_LEANINGS[route]}" if mode is Mode.HYBRID else _MODES[mode]


def results_range(first: int, last: int) -> str:
    """Return which results stand on the page, such as `results 6 to 10`; ranks from 1."""
    return f"result {first}" if first == last else f"results {first} to {last}"


def rank_words(retriever: Retriever, rank: int, *, exact_words: Sequence[str] = ()) -> str:
    """Return one reason why a hit stands where it does, such as `keyword #1` or `exact 429`."""
    if retriever is Retriever.EXACT:
        return f"exact {', '.join(exact_words)}" if exact_words else f"exact #{rank}"
    return f"{_RETRIEVERS[retriever]} #{rank}"


def why(reasons: Sequence[str]) -> str:
    """Return the line that says why a hit stands where it does; ranks only, never scores."""
    return f"why: {', '.join(reasons)}"


def more_in_thread(count: int) -> str:
    """Return that further hits stand in the same thread."""
    return f"{count} more in this thread"


def thread_size(messages: int) -> str:
    """Return a thread's size, given its messages with the first one."""
    replies = max(0, messages - 1)
    return f"thread, {replies} {'reply' if replies == 1 else 'replies'}"


def position(number: int, total: int) -> str:
    """Return a message's place in its thread."""
    return f"{number} of {total}"


def nothing_found(understood: str) -> str:
    """Return that a search found nothing, and what was searched."""
    return f"Nothing found for: {understood}"


def understood(
    text: str,
    *,
    channels: Sequence[str] = (),
    people: Sequence[str] = (),
    period: str | None = None,
    conditions: Sequence[str] = (),
    without: Sequence[str] = (),
) -> str:
    """Return how a command was understood, for the first line of its answer.

    Args:
        text: The words that are searched for; empty where filters stand alone.
        channels: Names without `#`; any of them.
        people: Names without `@`; any of them.
        period: Such as `after 1 Mar 2026`.
        conditions: Such as `with a link`, `in threads`, `newest first`.
        without: What must not be there, as typed: `-word`, `#channel`, `@name`.
    """
    head = " ".join(
        part
        for part in (
            text,
            f"in {_listed([f'#{name}' for name in channels], 'or')}" if channels else "",
            f"from {_listed([f'@{name}' for name in people], 'or')}" if people else "",
        )
        if part
    )
    parts = [head, period or "", *conditions, f"without {_listed(without, 'and')}" if without else ""]
    return ", ".join(part for part in parts if part)


def _listed(names: Sequence[str], word: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
