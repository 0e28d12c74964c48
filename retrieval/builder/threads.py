"""Threads of one channel: who belongs to which, which roots are missing, and windows of the discussion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval.builder.report import Ledger
from retrieval.builder.rows import MessageRow

# Windows that keep a question with its answer, and short enough that a hit in one says something about its messages.
WINDOW_MESSAGES: Final = 10
WINDOW_CHARACTERS: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIndex:
    """The threads of one channel, by the ts of their roots in microseconds.

    Attributes:
        replied: Threads that have at least one reply here.
        roots: Messages that say themselves that they are a root.
    """

    replied: frozenset[int]
    roots: frozenset[int]

    def thread_of(self, row: MessageRow) -> int | None:
        """Return the thread that a message belongs to, None outside threads; a root belongs to its own."""
        thread_us = row.thread_ts_us
        if thread_us is not None:
            return thread_us
        return row.ts_us if row.ts_us in self.replied or row.ts_us in self.roots else None


def index_threads(rows: Sequence[MessageRow], ledger: Ledger) -> ThreadIndex:
    """Return the threads of a channel's messages, of every subtype, and count roots that are missing or deleted."""
    replied = {thread for row in rows if (thread := row.thread_ts_us) is not None and thread != row.ts_us}
    roots = {row.ts_us for row in rows if row.thread_ts_us == row.ts_us or (row.reply_count or 0) > 0}
    tombstones = {row.ts_us for row in rows if row.subtype == "tombstone"}
    ledger.count("missing_parents", len(replied - roots))
    ledger.count("deleted_parents", len(replied & roots & tombstones))
    return ThreadIndex(replied=frozenset(replied), roots=frozenset(roots))


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A thread's message as a window takes it: its document id and its readable text."""

    document_id: str
    ts_us: int
    text: str


def windows(utterances: Sequence[Utterance]) -> list[tuple[Utterance, ...]]:
    """Cut a thread into windows that do not overlap; none for fewer than two messages.

    A window holds at most `WINDOW_MESSAGES` messages and `WINDOW_CHARACTERS` characters; a longer message
    stands in a window of its own.

    Args:
        utterances: The thread's messages with text, oldest first.
    """
    if len(utterances) < 2:
        return []
    found: list[tuple[Utterance, ...]] = []
    current: list[Utterance] = []
    characters = 0
    for utterance in utterances:
        full = len(current) == WINDOW_MESSAGES or characters + len(utterance.text) > WINDOW_CHARACTERS
        if current and full:
            found.append(tuple(current))
            current, characters = [], 0
        current.append(utterance)
        characters += len(utterance.text) + 1
    found.append(tuple(current))
    return found


def window_text(window: Sequence[Utterance]) -> str:
    """Return a window's text, one message after the other, cut where a single message is longer than a window."""
    return "\n".join(utterance.text for utterance in window)[:WINDOW_CHARACTERS]
