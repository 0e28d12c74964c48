"""Who wrote a message, where and when, and the link to it: for blocks and for screen readers."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import regex

from bot import texts
from bot.elements import Block, context, escaped, mrkdwn, plain_text
from bot.limits import BUTTON_URL_CHARACTERS, text_length
from bot.rich_text import one_line
from retrieval.models import Document, DocumentKind
from retrieval.permalinks import message_permalink

NAME_CHARACTERS: Final = 80
_CLOCK_ALONE_US: Final = 20 * 3600 * 1_000_000
_LINK: Final = regex.compile(r"https?://[\x21-\x7e]+")
_CHANNEL_ID: Final = regex.compile(r"[CDG][A-Z0-9]{1,20}")
_THREAD_TS: Final = regex.compile(r".*[:/](\d{10}\.\d{6})")
# Slack's mrkdwn has no escape for these; a name that holds one is shown as plain text instead.
_FORMATTING: Final = regex.compile(r"[*_~`:]")
# A mention typed as text; in top-level text a client might still parse it.
_BROADCAST: Final = regex.compile(r"@(?=here\b|channel\b|everyone\b|group\b)", regex.IGNORECASE)


def author_name(document: Document) -> str:
    """Return the author's name on one line, or a placeholder."""
    return one_line(document.author_name or "", maximum=NAME_CHARACTERS) or texts.UNKNOWN_AUTHOR


def channel_name(document: Document) -> str:
    """Return the channel's name with `#`, or a placeholder."""
    name = one_line(document.channel_name or "", maximum=NAME_CHARACTERS).lstrip("#")
    return f"#{name}" if name else texts.UNKNOWN_CHANNEL


def file_words(document: Document) -> str | None:
    """Return which file a passage comes from, such as `from the file notes.md`; None for messages."""
    if document.document_kind is not DocumentKind.FILE_CHUNK:
        return None
    files = document.metadata.get("files")
    first = files[0] if isinstance(files, Sequence) and files else None
    name = first.get("name") if isinstance(first, Mapping) else None
    return texts.from_file(one_line(name, maximum=NAME_CHARACTERS) if isinstance(name, str) else "")


def bold_element(name: str) -> Block:
    """Return literal text in bold where Slack's markup allows, else as it is; nothing in it is parsed."""
    return plain_text(name) if _FORMATTING.search(name) else mrkdwn(f"*{escaped(name)}*")


def document_line(document: Document, *, rank: int | None) -> Block:
    """Return a line of small print that says who, where and when, with the size of its thread and its file."""
    name = author_name(document)
    elements = [
        bold_element(name if rank is None else f"{rank}. {name}"),
        plain_text(channel_name(document)),
        time_element(document.ts_us),
    ]
    if document.thread_size > 1:
        elements.append(plain_text(texts.thread_size(document.thread_size)))
    if (file := file_words(document)) is not None:
        elements.append(plain_text(file))
    return context(elements)


def time_element(ts_us: int) -> Block:
    """Return a time that Slack shows in the reader's own zone, with UTC for clients that cannot."""
    return mrkdwn(local_time(ts_us)) if texts.is_moment(ts_us) else plain_text(texts.UNKNOWN_TIME)


def local_time(ts_us: int) -> str:
    """Return Slack's date markup: the day and the time in the reader's zone.

    Source: https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    return f"<!date^{ts_us // 1_000_000}^{{date_short_pretty}} at {{time}}|{texts.moment(ts_us)}>"


def clock_time(ts_us: int) -> str:
    """Return Slack's date markup for the time of day alone, in the reader's zone."""
    return f"<!date^{ts_us // 1_000_000}^{{time}}|{texts.clock(ts_us)}>"


def archive_freshness(built_at_us: int, now_us: int) -> str:
    """Return the archive's time and age in Slack's markup, with the day where it is not a fresh one."""
    fresh = now_us - built_at_us < _CLOCK_ALONE_US
    time = clock_time(built_at_us) if fresh else local_time(built_at_us)
    return texts.freshness(time, texts.age(built_at_us, now_us))


def link_to(document: Document, workspace_url: str | None) -> str | None:
    """Return the link into Slack: the artifact's, else built from the workspace's URL, else None.

    Only http(s) links of plain characters that fit a button are given; anything else would be a broken link.
    """
    link = document.permalink or _built_link(document, workspace_url)
    return link if link is not None and is_link(link) else None


def message_ts(document: Document) -> str:
    """Return Slack's timestamp of a message, such as `1700000000.000200`; of a file passage, its message's."""
    seconds, rest = divmod(document.ts_us, 1_000_000)
    return f"{seconds}.{rest:06d}"


def is_link(link: str) -> bool:
    """Return whether a link can be followed: http(s), plain characters, a host, short enough for a button."""
    return bool(_LINK.fullmatch(link)) and text_length(link) <= BUTTON_URL_CHARACTERS and bool(_host(link))


def citation(document: Document) -> str:
    """Return who, where and when in words, for screen readers; literal text."""
    where = f"{author_name(document)} in {channel_name(document)}, {texts.moment(document.ts_us)}"
    file = file_words(document)
    return where if file is None else f"{where}, {file}"


def inert(text: str) -> str:
    """Return literal text for a message's top-level `text`: escaped, and no mention of everybody in it.

    A word joiner stands after the `@` of `@here`, `@channel` and `@everyone`.
    """
    return escaped(_BROADCAST.sub("@\u2060", text))


def _built_link(document: Document, workspace_url: str | None) -> str | None:
    if not _CHANNEL_ID.fullmatch(document.channel_id) or not texts.is_moment(document.ts_us):
        return None
    thread = _THREAD_TS.fullmatch(document.thread_id or "")
    return message_permalink(workspace_url, document.channel_id, message_ts(document), thread[1] if thread else None)


def _host(link: str) -> str | None:
    try:
        return urlsplit(link).hostname
    except ValueError:
        return None
