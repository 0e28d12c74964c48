"""Every sentence that a person reads in Slack, in one place: plain, short, and without jargon.

Constants are whole sentences or labels; functions fill in what differs. All of them are literal text:
whoever puts one into marked-up text escapes it there.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from bot.action_state import (
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    OldStateError,
    StateTooLargeError,
)
from retrieval.directory import Directory
from retrieval.errors import (
    AmbiguousNameError,
    ArtifactClosedError,
    ArtifactError,
    ArtifactMissingError,
    ArtifactReplacedError,
    ArtifactTooSlowError,
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
from retrieval.lexemes import SlackForm, readable
from retrieval.models import Mode, QueryClass, Retriever, Sort

COMMAND: Final = "/slackquery"

# Labels of buttons and modals.
OPEN_IN_SLACK: Final = "Open in Slack"
EXPAND_THREAD: Final = "Expand thread"
CONTEXT: Final = "Context"
MORE: Final = "More"
PREVIOUS: Final = "Previous"
NEXT: Final = "Next"
EDIT_SEARCH: Final = "Edit this search"
NEW_SEARCH: Final = "New search"
SEARCH_AGAIN: Final = "Search again"
BACK_TO_RESULTS: Final = "Back to results"
EARLIER: Final = "Earlier"
LATER: Final = "Later"
CLOSE: Final = "Close"
ARCHIVE_VIEW_TITLE: Final = "Show in archive"
FIND_SIMILAR: Final = "Find similar"
SEARCH: Final = "Search"

# What is similar to a message.
SIMILAR_TITLE: Final = "Similar messages"
SIMILAR_ENDS: Final = "Only the 300 nearest messages were looked at, each thread listed once."
SIMILAR_WITHOUT_TEXT: Final = "There is no text in this message that others could be compared with."
SIMILAR_NOT_NOW: Final = (
    "This message is not in the archive, or not one that I can show you, and new text cannot be compared by meaning"
    " right now. Please try again in a minute."
)
SIMILAR_NO_MEANING: Final = "Searching by meaning does not work in this archive, so nothing can be compared."

# The search form.
FORM_TITLE: Final = "Search the archive"
FORM_TEXT: Final = "What do you look for?"
FORM_TEXT_PLACEHOLDER: Final = "rate limit 429"
FORM_TEXT_HINT: Final = 'Words or a sentence. "Exact words" in quotes must be there, -word must not.'
FORM_CHANNELS: Final = "In these channels"
FORM_ANY_CHANNEL: Final = "Any channel that I can search for you"
FORM_PEOPLE: Final = "From these people"
FORM_ANYBODY: Final = "Anybody"
FORM_FIRST_DAY: Final = "From date"
FORM_LAST_DAY: Final = "To date"
FORM_ANY_DAY: Final = "Any day"
FORM_KINDS: Final = "Only messages"
FORM_KIND_LABELS: Final = {
    "link": "with a link",
    "file": "with a file",
    "code": "with code",
    "thread": "in a thread",
}
FORM_MODE: Final = "Search by"
FORM_MODES: Final = {
    Mode.HYBRID: "Words and meaning",
    Mode.LEXICAL: "Words only",
    Mode.SEMANTIC: "Meaning only",
}
FORM_SORT: Final = "Order"
FORM_SORTS: Final = {
    Sort.RELEVANCE: "Best match first",
    Sort.NEWEST: "Newest first",
    Sort.OLDEST: "Oldest first",
}
FORM_EMPTY: Final = "Enter a word, or choose a channel, a person or a day."
FORM_DAYS_SWAPPED: Final = "This date is before the “From” date."
FORM_CHANNEL_UNKNOWN: Final = (
    "I cannot search one of these channels for you. Private ones I search only where I was invited too."
)
FORM_NOT_OPENED: Final = "Slack did not let me open the search form in time. Please try once more."

# One hit with what can be done with it.
SHARE_TO_CHANNEL: Final = "Share to channel"
GOOD_RESULT: Final = "Good result"
NOT_RELEVANT: Final = "Not relevant"
CITED_WORKSPACE: Final = "Workspace"
CITED_DOCUMENT: Final = "Document"
VOTES_ARE_KEPT: Final = (
    "A vote is kept with your search, to measure how well I find things. Press it again to withdraw it."
)
VOTE_KEPT: Final = "Thank you. Your vote is kept."
VOTE_WITHDRAWN: Final = "Your vote is withdrawn."
VOTE_NOT_KEPT: Final = "I could not keep your vote just now. Please try again in a minute."
TOO_LONG_TO_VOTE: Final = "This search is too long to vote on its results: a button cannot hold it."

# Sharing a hit. A refusal says only what the asker sees in Slack anyway.
SHARE: Final = "Share"
CANCEL: Final = "Cancel"
ALREADY_SHARED: Final = "I already got that press, so nothing was posted a second time."
SHARE_NOT_CONFIRMED: Final = (
    "Slack did not tell me whether it posted the message. Please look into the channel before you share it again."
)
SHARE_NOT_TAKEN: Final = "Slack did not take the message, so nothing was posted. Please try again in a minute."
SHARE_NO_CHANNEL: Final = (
    f"I can share only into a channel that you stand in. Search with {COMMAND} there and share from that answer."
)
SHARE_UNKNOWN_CHANNEL: Final = (
    "I cannot look into this conversation, so I cannot tell who would read it, and nothing was posted."
    " Direct messages are never looked into; into a private channel you can invite me."
)
SHARE_LEFT: Final = "You are not in this channel, so nothing was posted."
SHARE_ARCHIVED: Final = "This channel is archived, so nothing can be posted in it."
SHARE_READ_ONLY: Final = "Not everybody may write in this channel, so I post nothing in it."
SHARE_EXTERNAL: Final = (
    "This channel is shared with another workspace, whose people cannot open the message's own channel. Nothing was"
    " posted."
)
SHARE_PRIVATE_SOURCE: Final = (
    "This message does not come from a public channel, so it can be shared only in the channel it was written in."
    " Nothing was posted."
)
SHARE_GUESTS: Final = (
    "There are guests in this channel who cannot open the channel that the message comes from. Nothing was posted."
)
SHARE_TOO_MANY: Final = (
    "There are too many people in this channel for me to make sure that all of them may read the message. Nothing was"
    " posted; Open in Slack leads to it, and you can share it from there."
)
SHARE_DELETED: Final = "This message is not in Slack any more, so it is not shared."
SHARE_UNCONFIRMED: Final = (
    "Slack did not confirm in time that everybody in this channel may read the message. Nothing was posted. Please try"
    " again in a minute."
)

# What stands where the archive has nothing.
UNKNOWN_AUTHOR: Final = "Unknown author"
UNKNOWN_CHANNEL: Final = "unknown channel"
UNKNOWN_TIME: Final = "unknown time"
NO_TEXT: Final = "(No text. The message may hold a file or an attachment.)"

# Answers to a search.
DEGRADED: Final = (
    "Searching by meaning does not work right now, so these are keyword results only. Try again in a minute."
)
RESTARTED_NEW_ARCHIVE: Final = "The archive was renewed since that page, so the results start again from page 1."
RESTARTED_VISIBILITY: Final = "What you can see has changed since that page, so the results start again from page 1."
RESTARTED_UNDERSTANDING: Final = (
    "That page no longer fits how your search is understood, so the results start again from page 1."
)
RESTARTED_EXPIRED: Final = "Those results were more than 30 minutes old, so here is page 1 of the same search, afresh."
UNCONFIRMED_CHANNELS: Final = (
    "Slack did not say in time which private channels you are in, so only public ones were searched. Try again in a"
    " minute."
)
TOO_LONG_TO_PAGE: Final = (
    "This search is too long to page through: a button cannot hold it. A shorter one can be paged."
)
TOO_LONG_TO_RETURN: Final = "This search is too long for a way back; run it again to see its results."
NOTHING_FOUND: Final = "Nothing found."
NO_RESULTS: Final = "no results"
EVERYTHING: Final = "everything"
END_OF_RESULTS: Final = "That is the end of the results."
LISTED: Final = "listed by time"
"""In the place of the mode, where there were no words to rank by."""

HYBRID_ENDS: Final = (
    "Hybrid search lists only what stands first by words, by meaning or by discussion."
    " mode:lexical and mode:semantic go on further."
)
ABSENCE_IS_NO_PROOF: Final = (
    "Nothing found here does not prove that nobody wrote it: it may be worded differently, lie in a"
    " channel that was not searched, or be newer than the archive."
)
NOT_SEARCHED: Final = (
    "Not searched: channels that you cannot open, private channels that I am not in, direct messages unless whoever"
    " runs me allows it, deleted messages, and anything newer than the archive."
)
TRY_FEWER_WORDS: Final = "Try fewer or other words."
TRY_WITHOUT_FILTERS: Final = "Try without the filters, or with a longer period."
THE_CHANNELS: Final = "the channel"
THE_PEOPLE: Final = "the person"
THE_PERIOD: Final = "the period"
THE_KINDS: Final = "has: and is:"
THE_PHRASES: Final = "the quotes"
THE_EXCLUSIONS: Final = "the excluded words"
TRY_MEANING: Final = "Try mode:hybrid, which also finds messages by meaning."
TRY_KEYWORDS: Final = "Try mode:lexical, which looks for the words themselves."
NEIGHBOURS: Final = (
    "Neighbouring messages are what else was written in the channel; they may belong to another discussion."
)
THREAD: Final = "Thread"
AROUND_MESSAGE: Final = "A message and what stands around it"
THE_HIT: Final = "this is the hit"
THE_MESSAGE: Final = "this is the message"
EMPTY_THREAD: Final = "There is nothing to show in this part of the thread."
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

# Help, usage and status. The lines of help are Slack's markup, our own words only.
HELP_TITLE: Final = "Search your Slack archive"
HELP_START: Final = (
    f"Type `{COMMAND}` and what you look for. Messages are found by their words and by their meaning."
    " Only you see the answer."
)
HELP_EXAMPLES: Final = (
    f"`{COMMAND} rate limit 429`",
    f"`{COMMAND} why did the deploy fail in:#payments after:2026-03-01`",
    f'`{COMMAND} "connection reset" from:@ada -staging`',
)
HELP_NARROW: Final = "*Narrow it down*, in any order"
HELP_MODIFIERS: Final = (
    "`in:#channel` only in that channel. Write it twice for two channels.",
    "`from:@name` or `from:me` only from that person.",
    "`on:` `during:` `after:` `before:` a day or period, in your time zone: `2026-03-01`, `last week`, `7d`.",
    '`"exact words"` must be in the message, `-word` must not. `-in:` and `-from:` leave out a channel or a person.',
    "`has:link` `has:file` `has:code` only messages with one, `is:thread` only from threads.",
    "`sort:newest` or `sort:oldest` instead of the best first.",
    "`mode:lexical` looks for your words only, `mode:semantic` for their meaning only. Without it, both count.",
)
HELP_READING: Final = "*Read the answer*"
HELP_RANKS: Final = (
    "Each result says why it stands where it does: “keyword #1” is first by its words, “meaning #4” fourth by its"
    " meaning, “thread #2” second by the discussion around it, and “exact” holds your exact words."
    " Ranks only put messages in order. A rank or score is not a probability, and a high one does not prove"
    " that two messages mean the same."
)
HELP_ABSENCE: Final = (
    "When nothing is found, that is no proof that nobody wrote it. The archive is renewed at regular times: what was"
    " written since is not in it yet. You are shown only what you can open in Slack, and"
    " of private channels only those that I was invited to as well: `/invite` me where I should search."
)
HELP_MORE: Final = "*More*"
HELP_OTHERS: Final = (
    f"`{COMMAND}` alone opens a search form, and so does the shortcut *Search the archive*.",
    "*More* under a result has *Find similar*, *Share to channel* (it asks first), *Good result* and *Not relevant*.",
    "A message's own menu has *Show in archive*, its thread and what was written around it, and *Find similar*.",
    f"`{COMMAND} recent` lists your own last searches, `{COMMAND} status` says how fresh the archive is.",
    f'To search for the word help, recent or status itself, put it in quotes: `{COMMAND} "help"`.',
    "The buttons under an answer work for 30 minutes.",
)
USAGE_START: Final = f"Type what you look for after the command, for example `{COMMAND} rate limit 429`."
USAGE_HELP: Final = f"`{COMMAND} help` shows how to narrow a search down."
STATUS_TITLE: Final = "The archive"
NEW_ARCHIVE_REFUSED: Final = "A newer archive could not be used, so this one stays until a good one arrives."
STATUS_NO_ARCHIVE: Final = "There is no archive to search at the moment."

# Recent searches.
RECENTS_TITLE: Final = "Your recent searches"
RECENTS_HINT: Final = "Newest first. Only you see them."
RECENTS_NONE: Final = "You have not searched yet. What you search for is listed here, for you alone."
RECENTS_OFF: Final = "Recent searches are not kept here."
RECENTS_UNREADABLE: Final = "I cannot read your recent searches right now. Please try again in a minute."
RECENTS_CLEARED: Final = "Your recent searches are erased."
RECENTS_NOT_CLEARED: Final = "I could not erase your recent searches right now. Please try again in a minute."
CLEAR_RECENTS: Final = "Clear the list"
CLEAR_RECENTS_QUESTION: Final = "This erases all of your recent searches. Your votes on results stay."
CLEAR: Final = "Clear"
KEEP: Final = "Keep"

# The Home tab.
HOME_TITLE: Final = "Search your Slack archive"
HOME_TEXT: Final = "What do you look for?"
HOME_FORM: Final = "More options"
HOME_HELP: Final = "*How to search*"
HOME_HELP_LINES: Final = (
    f"Here, or with `{COMMAND}` in any channel. Only you see the answers.",
    "Narrow it down with `in:#channel`, `from:@name`, `after:2026-03-01`, `has:link`, in any order.",
    '`"exact words"` must be in the message, `-word` must not.',
    f"`{COMMAND} help` tells more. What is not found here may still have been written.",
)
HOME_NOT_OPENED: Final = "Slack did not let me open the window in time. Please press once more."
HOME_ADMINS: Final = "*For admins*"
HOME_SWAPS: Final = "Archives that this process has served, newest first:"
STORE_FAILS: Final = "Votes and recent searches are not kept right now: the store does not work."
STORE_WORKS: Final = "Votes and recent searches are kept."
STORE_OFF: Final = "Votes and recent searches are switched off."

# The logs, for admins.
ADMIN_REFUSED: Final = "That is for those who look after me. To search for the word itself, put it in quotes."
ADMIN_OFF: Final = (
    "No audit file is kept here, so there is nothing to show. SLACKQUERY_AUDIT_DIR says where to keep one."
)
ADMIN_UNREADABLE: Final = (
    "I cannot read the audit file right now. On my machine, slackquery doctor says what is wrong with it."
)
ADMIN_TITLES: Final = {
    "summary": "The last 24 hours",
    "events": "The last entries of the audit file",
    "served": "Starts, stops and archives served",
}
ADMIN_LABELS: Final[Mapping[Literal["summary", "events", "served"], str]] = {
    "summary": "Summary",
    "events": "Last entries",
    "served": "Archives",
}
ADMIN_HINT: Final = "Only you see this. On my machine, slackquery logs shows more."
ADMIN_NEWER: Final = "Newer"
ADMIN_OLDER: Final = "Older"
ADMIN_NOTHING: Final = "There is no entry."
ADMIN_DEGRADED: Final = "keywords only"
ADMIN_ENDS: Final = "Only the newest 200 are shown here."

# Why somebody is not served; none of them says what exists.
REFUSED_OTHER_TEAM: Final = "Only members of the workspace that installed me can search its archive."
REFUSED_BOT: Final = "Apps and bots cannot search the archive."
REFUSED_DELETED: Final = "This account is deactivated, so it cannot search the archive."
REFUSED_UNKNOWN: Final = "Slack did not tell me who you are, so I cannot search for you. Please try again."

# Trouble.
BUSY: Final = "Many people are searching right now. Please try again in a few seconds."
USER_BUSY: Final = "Your earlier searches are still running. Please wait for their answers first."
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

_RETRIEVERS: Final = {
    Retriever.LEXICAL: "keyword",
    Retriever.SEMANTIC: "meaning",
    Retriever.CONTEXT: "thread",
    Retriever.EXACT: "exact",
    Retriever.RECENCY: "recent",
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
    (CursorError, BUTTON_OUTDATED_PAGE),
    (NotFoundError, NOT_FOUND),
    (EmbeddingError, MEANING_OFF),
    (ArtifactMissingError, NO_ARCHIVE),
    (ArtifactReplacedError, ARCHIVE_REPLACED),
    (ArtifactClosedError, ARCHIVE_REPLACED),
    (ArtifactTooSlowError, TOOK_TOO_LONG),
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
    match error:
        case UnknownNameError():
            sentence = unknown_name(error.kind, error.name, suggestions=error.suggestions)
        case AmbiguousNameError():
            sentence = ambiguous_name(error.kind, error.name, matches=error.matches)
        case CursorRangeError():
            sentence = end_of_paging(error.maximum)
        case _:
            own = str(error) if isinstance(error, RequestError) else ""
            known = (said for kind, said in _SENTENCES if isinstance(error, kind))
            sentence = next(known, own or SOMETHING_WRONG)
    return sentence


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


def search_for(command: str) -> str:
    """Return what a screen reader says for the button that makes a recent search again."""
    return f"Search for {command}"


def audit_losses(count: int, *, is_failing: bool) -> str:
    """Return how many entries of the audit file are lost, and whether more are being lost now, for admins."""
    lost = f"{count:,} {'entry' if count == 1 else 'entries'} of the audit file could not be written."
    return f"{lost} More are being lost now: is the disk full?" if is_failing else lost


def admin_hits(count: int) -> str:
    """Return how many results an entry tells of, for admins."""
    return f"{count} {_plural(count, 'hit')}"


def admin_milliseconds(spent_ms: float) -> str:
    """Return how long an answer took, for admins."""
    return f"{spent_ms:,.0f} ms"


def alert_holds(alert: str) -> str:
    """Return that an alert about a part of the searches holds now, for admins."""
    return f"Alert: {alert}"


def served_since(time: str, documents: int) -> str:
    """Return since when an archive was served and what it holds, for admins."""
    return f"{time}: {documents:,} {_plural(documents, 'document')}"


def too_many_searches(wait_s: float) -> str:
    """Return that this person searched too often, and when they can again."""
    seconds = max(1, round(wait_s))
    return f"That was a lot of searches at once. Please wait {seconds} {_plural(seconds, 'second')}."


def view_not_opened(shortcut: str) -> str:
    """Return that a shortcut's window could not be opened, and what to do."""
    return f"Slack did not let me open the window in time. Please choose “{shortcut}” once more."


def similar_to(who: str, where: str, text: str) -> str:
    """Return what results are similar to, such as `similar to “Rate limits are back” by Mara in #payments`."""
    return f"similar to “{text}” by {who} in {where}"


def similar_to_text(text: str) -> str:
    """Return what results are similar to, of a message that the archive does not hold."""
    return f"similar to “{text}”"


def form_text_too_long(maximum: int) -> str:
    """Return that the form's text is too long, and how long it may be."""
    return f"That is too long to search for at once: {maximum:,} characters at most."


def leave_out(what: str) -> str:
    """Return that a search finds something without one of its filters."""
    return f"Leave out {what}: without that there are results."


def you_typed(typed: str) -> str:
    """Return what a search that was not made had been typed as."""
    return f"You typed: {typed}"


def typed_again(command: str, *, directory: Directory | None = None) -> str:
    """Return a command as one would type it: `in:#payments` for `in:<#C123|payments>`, `&` for `&amp;`.

    Args:
        command: As Slack sent it, without the command's name.
        directory: Gives the names for ids that come without one; None to leave those as they are.
    """
    return readable(command, name_form=lambda form: _typed_form(form, directory))


def _typed_form(form: SlackForm, directory: Directory | None) -> str:
    if form.sigil in {"#", "@"}:
        name = form.label or _name_of(form, directory)
        return f"{form.sigil}{name}" if name else f"<{form.sigil}{form.target}>"
    if form.sigil == "!":
        return form.label or f"@{form.target.partition('^')[0]}"
    # Slack sends a typed `x.io` as `<http://x.io|x.io>`.
    address = form.target.removeprefix("mailto:")
    return form.label if form.label and form.label in address else address


def _name_of(form: SlackForm, directory: Directory | None) -> str | None:
    if directory is None:
        return None
    if form.sigil == "#":
        channel = directory.channel_by_id(form.target)
        return channel.label if channel is not None else None
    person = directory.person_by_id(form.target)
    return person.label if person is not None else None


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


def clock(ts_us: int) -> str:
    """Return a time of day in UTC, for where Slack cannot show the reader's own zone."""
    if not is_moment(ts_us):
        return UNKNOWN_TIME
    return f"{datetime.fromtimestamp(ts_us // 1_000_000, UTC):%H:%M} UTC"


def freshness(time: str, age_words: str) -> str:
    """Return how fresh the archive is, such as `archive of 14:00, 12 min ago`."""
    return f"archive of {time}, {age_words}"


def of_result(label: str, rank: int) -> str:
    """Return what a screen reader says for a button of a hit, such as `Expand thread, result 3`."""
    return f"{label}, result {rank}"


def from_file(name: str) -> str:
    """Return that a passage comes from a file; its name may be empty."""
    return f"from the file {name}" if name else "from a file"


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital first letter, the rest as it is."""
    return sentence[:1].upper() + sentence[1:]


def mode_words(mode: Mode, route: QueryClass, *, degraded: bool) -> str:
    """Return how was searched, such as `hybrid search, leaning on exact words`."""
    if degraded:
        return f"{_MODES[Mode.LEXICAL]} only"
    return f"{_MODES[mode]}, {_LEANINGS[route]}" if mode is Mode.HYBRID else _MODES[mode]


def results_range(first: int, last: int) -> str:
    """Return which results stand on the page, such as `results 6 to 10`; ranks from 1."""
    return f"result {first}" if first == last else f"results {first} to {last}"


def rank_words(retriever: Retriever, rank: int, *, exact_words: Sequence[str] = ()) -> str:
    """Return one reason why a hit stands where it does, such as `keyword #1`, `exact 429` or `recent`."""
    if retriever is Retriever.EXACT:
        return f"exact {', '.join(exact_words)}" if exact_words else "exact match"
    if retriever is Retriever.RECENCY:
        return _RETRIEVERS[retriever]
    return f"{_RETRIEVERS[retriever]} #{rank}"


def why(reasons: Sequence[str]) -> str:
    """Return the line that says why a hit stands where it does; ranks only, never scores."""
    return f"why: {', '.join(reasons)}"


def more_in_thread(count: int) -> str:
    """Return that further hits stand in the same thread."""
    return f"{count} more in this thread"


def mode_status(mode: Mode, *, works: bool) -> str:
    """Return whether a mode works now, such as `Keyword search: available`."""
    if works:
        return f"{capitalised(_MODES[mode])}: available"
    missing = "keywords only for now" if mode is Mode.HYBRID else "not available right now"
    return f"{capitalised(_MODES[mode])}: {missing}"


def archive_name(artifact_id: str) -> str:
    """Return an archive's id for admins."""
    return f"Archive {artifact_id}"


def archive_size(documents: int, vectors: int, file_bytes: int | None) -> str:
    """Return an archive's size for admins."""
    size = "" if file_bytes is None else f", {file_bytes / 1_000_000:,.1f} MB"
    return f"{documents:,} {_plural(documents, 'document')}, {vectors:,} found by meaning{size}"


def thread_of(name: str) -> str:
    """Return the headline of a thread, given who started it."""
    return f"Thread by {name}"


def in_channel(what: str, channel: str) -> str:
    """Return a headline with its channel, such as `Thread by Mara Lind in #payments`."""
    return f"{what} in {channel}"


def marked(label: str) -> str:
    """Return a button's label with the mark of what was chosen."""
    return f"✓ {label}"


def your_vote(label: str) -> str:
    """Return what a screen reader says for the button that holds the present vote."""
    return f"{label}, your vote. Press to withdraw it."


def vote_now(label: str) -> str:
    """Return what the present vote is."""
    return f"Your vote: {label}"


def cited_workspace(name: str) -> str:
    """Return the workspace of a citation in words."""
    return f"{CITED_WORKSPACE}: {name}"


def cited_document(document_id: str) -> str:
    """Return the document id of a citation in words."""
    return f"{CITED_DOCUMENT}: {document_id}"


def share_question(channel: str) -> str:
    """Return the question before a hit is posted, given the channel's name without `#`."""
    return f"Share this in #{channel}? Everybody there will see it, and that you shared it. Nobody is notified."


def shared_in(channel: str) -> str:
    """Return that a hit was posted."""
    return f"Shared in #{channel}."


def shared_by(name: str, day_words: str) -> str:
    """Return who shared a hit, and from which archive: an edit made since is not in it."""
    return f"Shared by {name} from the archive of {day_words}"


def day(ts_us: int) -> str:
    """Return a day in words, in UTC, such as `3 Mar 2026`; `UNKNOWN_TIME` outside the years 1970 to 9999."""
    if not is_moment(ts_us):
        return UNKNOWN_TIME
    then = datetime.fromtimestamp(ts_us // 1_000_000, UTC)
    return f"{then.day} {then:%b %Y}"


def messages_range(first: int, last: int, total: int) -> str:
    """Return which messages of a thread are shown, such as `messages 11 to 20 of 34`."""
    if (first, last) == (1, total):
        return "1 message" if total == 1 else f"all {total} messages"
    if first == last:
        return f"message {first} of {total}"
    return f"messages {first} to {last} of {total}"


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


def _listed(names: Sequence[str], word: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
