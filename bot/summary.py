"""What a stretch of the audit file comes to: counted entry by entry, without keeping the entries."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bot.audit import AuditEvent
from bot.audit_reader import AuditRecord

ALL_MODES: Final = "all"
_SHOWN_QUERIES: Final = 10
_SHOWN_SWAPS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeFigures:
    """The searches of one mode, or of all.

    Attributes:
        mode: `lexical`, `semantic`, `hybrid`, or `all`.
        searches: How many.
        p50_ms: The time that half of them took at most; None where no time is known.
        p95_ms: The time that 95 of 100 took at most.
        no_hit: Those that found nothing.
        degraded: Those that keywords alone answered because the query's vector was missed.
    """

    mode: str
    searches: int
    p50_ms: float | None
    p95_ms: float | None
    no_hit: int
    degraded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedQuery:
    """A query that found nothing.

    Attributes:
        text: Its text, or `#` and its hash where no text is kept.
        searches: How often.
        people: By how many.
    """

    text: str
    searches: int
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedArtifact:
    """That an artifact began to serve.

    Attributes:
        at: When.
        artifact_id: Which; empty for none.
        event: `swap` or `start`.
    """

    at: datetime
    artifact_id: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a stretch of time.

    Attributes:
        first_at: When the first entry was written; None where there is none.
        last_at: When the last one was.
        people: How many different people searched.
        events: Entries by kind.
        modes: By mode, in the order of their names, and `all` last; empty where nobody searched.
        missed: The queries that found nothing most often, ten at most; those that have no text or hash left out.
        refused: Refusals by reason, most often first.
        errors: Errors by reason, most often first.
        served: Which artifacts began to serve, oldest first, the last twenty.
    """

    first_at: datetime | None
    last_at: datetime | None
    people: int
    events: Mapping[str, int]
    modes: Sequence[ModeFigures]
    missed: Sequence[MissedQuery]
    refused: Mapping[str, int]
    errors: Mapping[str, int]
    served: Sequence[ServedArtifact]

    @property
    def searches(self) -> int:
        """How many searches there were; further pages are not counted."""
        return self.events.get(AuditEvent.SEARCH, 0)


@dataclass(slots=True)
class _Mode:
    searches: int = 0
    no_hit: int = 0
    degraded: int = 0
    totals: "array[float]" = field(default_factory=lambda: array("d"))


class Summariser:
    """Counts entries; of each it keeps a number, and its query's text or hash where that found nothing."""

    def __init__(self) -> None:
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._people: set[tuple[str | None, str]] = set()
        self._events: Counter[str] = Counter()
        self._modes: dict[str, _Mode] = {}
        self._missed: Counter[str] = Counter()
        self._missed_by: dict[str, set[str]] = {}
        self._refused: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._served: list[ServedArtifact] = []

    def add(self, record: AuditRecord) -> None:
        """Count one entry."""
        self._first = record.at if self._first is None else min(self._first, record.at)
        self._last = record.at if self._last is None else max(self._last, record.at)
        self._events[record.event] += 1
        match record.event:
            case AuditEvent.SEARCH:
                self._add_search(record)
            case AuditEvent.REFUSED:
                self._refused[record.reason or "unknown"] += 1
            case AuditEvent.ERROR:
                self._errors[record.reason or "unknown"] += 1
            case AuditEvent.SWAP | AuditEvent.START:
                self._add_served(record)

    def _add_search(self, record: AuditRecord) -> None:
        if record.user_id:
            self._people.add((record.team_id, record.user_id))
        mode = self._modes.setdefault(record.mode or "unknown", _Mode())
        mode.searches += 1
        mode.degraded += bool(record.degraded)
        if "total" in record.timings_ms:
            mode.totals.append(record.timings_ms["total"])
        if record.hits == 0:
            mode.no_hit += 1
            self._add_missed(record)

    def _add_served(self, record: AuditRecord) -> None:
        artifact_id = record.artifact_id or ""
        if record.event == AuditEvent.START and self._served and self._served[-1].artifact_id == artifact_id:
            # A process swaps its first archive in just before it says that it has started.
            return
        served = ServedArtifact(at=record.at, artifact_id=artifact_id, event=record.event)
        self._served = [*self._served, served][-_SHOWN_SWAPS:]

    def _add_missed(self, record: AuditRecord) -> None:
        if record.query is not None:
            text = " ".join(record.query.casefold().split())
        elif record.query_hash is not None:
            text = f"#{record.query_hash}"
        else:
            return
        self._missed[text] += 1
        self._missed_by.setdefault(text, set()).add(record.user_id or "")

    def summary(self) -> Summary:
        """Return what has been counted so far."""
        return Summary(
            first_at=self._first,
            last_at=self._last,
            people=len(self._people),
            events=dict(sorted(self._events.items())),
            modes=self._mode_figures(),
            missed=[
                MissedQuery(text=text, searches=count, people=len(self._missed_by[text]))
                for text, count in _most_often(self._missed)[:_SHOWN_QUERIES]
            ],
            refused=dict(_most_often(self._refused)),
            errors=dict(_most_often(self._errors)),
            served=tuple(self._served),
        )

    def _mode_figures(self) -> list[ModeFigures]:
        if not self._modes:
            return []
        everything = _Mode()
        for mode in self._modes.values():
            everything.searches += mode.searches
            everything.no_hit += mode.no_hit
            everything.degraded += mode.degraded
            everything.totals.extend(mode.totals)
        named = [*sorted(self._modes.items()), (ALL_MODES, everything)]
        return [
            ModeFigures(
                mode=name,
                searches=mode.searches,
                p50_ms=percentile(mode.totals, 0.5),
                p95_ms=percentile(mode.totals, 0.95),
                no_hit=mode.no_hit,
                degraded=mode.degraded,
            )
            for name, mode in named
        ]


def summarise(records: Iterable[AuditRecord]) -> Summary:
    """Return the figures of a stream of entries."""
    summariser = Summariser()
    for record in records:
        summariser.add(record)
    return summariser.summary()


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed; None for no values.

    Source: the nearest-rank definition, so that the answer is always a time that was measured.
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _most_often(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
