"""One list of messages for a channel out of all sources: newest edit, deletions, duplicates.

A message that several sources hold is kept once, with the content of its newest edit (of equal edits, the newest
source's). Whether it still exists is decided by the newest source that covers its channel and day: an export covers
a channel from the day of its first message there to the day of its newest message anywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from retrieval.builder.report import Ledger
from retrieval.builder.rows import MessageRow
from retrieval.builder.source import Conversation, Source
from retrieval.builder.timestamps import DAY_US, parse_ts


@dataclass(frozen=True, slots=True)
class Portion:
    """What one source holds of one channel.

    Attributes:
        source: The source.
        conversations: Its parts that belong to the channel.
    """

    source: Source
    conversations: tuple[Conversation, ...]


@dataclass(slots=True)
class _Reading:
    rows: dict[int, MessageRow] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    first_day: int | None = None
    last_day: int = 0
    covers: bool = False


def merged_messages(portions: Sequence[Portion], ledger: Ledger) -> list[MessageRow]:
    """Return a channel's messages in time order, each ts once.

    Args:
        portions: The sources that hold the channel, oldest first.
        ledger: Counts duplicates, copies in other sources, and deletions.
    """
    readings = [_read(portion, ledger) for portion in portions]
    merged: dict[int, MessageRow] = {}
    for reading in readings:
        for ts_us, row in reading.rows.items():
            if ts_us in merged:
                ledger.count("merged_messages")
            merged[ts_us] = _newer(merged.get(ts_us), row)
    kept = [row for ts_us, row in sorted(merged.items()) if _exists(ts_us, readings)]
    ledger.count("deleted_messages", len(merged) - len(kept))
    return kept


def _read(portion: Portion, ledger: Ledger) -> _Reading:
    reading = _Reading(covers=portion.source.covers_channels())
    for conversation in portion.conversations:
        _collect(portion.source.messages(conversation), reading, ledger)
    ledger.messages_read[portion.source.label] += len(reading.rows)
    if reading.rows:
        reading.first_day = min(reading.rows) // DAY_US
    reading.last_day = portion.source.newest_day()
    return reading


def _collect(rows: Iterable[MessageRow], reading: _Reading, ledger: Ledger) -> None:
    for row in rows:
        if row.subtype == "message_deleted":
            reading.gone.add(parse_ts(row.deleted_ts) if row.deleted_ts else row.ts_us)
            ledger.count("deleted_messages")
            continue
        ts_us = row.ts_us
        if row.has_odd_ts:
            ledger.count("odd_timestamps")
        known = reading.rows.get(ts_us)
        if known is not None and row.subtype != "thread_broadcast":
            ledger.count("duplicate_messages")
        reading.rows[ts_us] = _newer(known, row)


def _newer(known: MessageRow | None, row: MessageRow) -> MessageRow:
    if known is None or (row.edited_us or 0) >= (known.edited_us or 0):
        return row
    return known


def _exists(ts_us: int, readings: Sequence[_Reading]) -> bool:
    """Return what the newest source that covers the message's day says."""
    day = ts_us // DAY_US
    for reading in reversed(readings):
        if ts_us in reading.gone:
            return False
        if ts_us in reading.rows:
            return True
        if reading.covers and reading.first_day is not None and reading.first_day <= day <= reading.last_day:
            return False
    return False
