"""Alerts about a part of the searches: a route, a workspace or a language where much is not found, degraded or slow."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from bot.audit import AuditEntry, AuditEvent
from bot.summary import percentile

_log = structlog.get_logger(__name__)

# An alert ends only this far below its limit, so that figures around the limit do not start it again and again.
_RELIEF: Final = 0.9
# Enough for any share to be sure of, and few enough to be counted anew at each search.
_KEPT_SEARCHES: Final = 2_000
# With fewer searches than this share of what an alert needs, it is over: nothing can be said any more.
_SILENCE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLimits:
    """When to alert.

    Attributes:
        window_seconds: How far back searches count; of more than 2,000, the newest.
        searches: How many searches a segment must have had in that time.
        no_hit: Share of searches that found nothing, 0 to 1.
        degraded: Share of searches that keywords alone answered, 0 to 1.
        p95_ms: Milliseconds that 95 of 100 searches should take at most.
    """

    window_seconds: float
    searches: int
    no_hit: float
    degraded: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class _Seen:
    at: float
    segments: tuple[str, ...]
    is_missed: bool
    is_degraded: bool
    total_ms: float


class SegmentAlerts:
    """Watches shares and times of each segment over a sliding window; says once that one began and once that it ended.

    Segments are `route=...`, `workspace=...`, `language=...` and `all`. Thread-safe.

    Args:
        limits: When to alert.
        monotonic: A clock in seconds that never goes back.
    """

    def __init__(self, limits: AlertLimits, *, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._seen: deque[_Seen] = deque(maxlen=_KEPT_SEARCHES)
        self._active: dict[tuple[str, str], float] = {}

    @property
    def active(self) -> tuple[str, ...]:
        """The alerts that hold now, such as `no_hit route=exact 62%`, sorted."""
        with self._lock:
            return tuple(
                f"{measure} {segment} {_figure(measure, value)}"
                for (segment, measure), value in sorted(self._active.items())
            )

    def add(self, entry: AuditEntry) -> list[AuditEntry]:
        """Take in a search and return what begins or ends by it, as entries of their own; logged too."""
        if entry.event is not AuditEvent.SEARCH:
            return []
        seen = _Seen(
            at=self._monotonic(),
            segments=tuple(_segments_of(entry)),
            is_missed=entry.hits == 0,
            is_degraded=bool(entry.degraded),
            total_ms=entry.timings_ms.get("total", 0.0),
        )
        with self._lock:
            self._seen.append(seen)
            return self._judge(seen.segments)

    def look(self) -> list[AuditEntry]:
        """Return what begins or ends because time has passed."""
        with self._lock:
            return self._judge({segment for segment, _ in self._active})

    def _judge(self, segments: Iterable[str]) -> list[AuditEntry]:
        oldest = self._monotonic() - self._limits.window_seconds
        while self._seen and self._seen[0].at < oldest:
            self._seen.popleft()
        told = []
        for segment in sorted(segments):
            mine = [seen for seen in self._seen if segment in seen.segments]
            for measure, value, limit in self._figures(mine):
                if (changed := self._change(segment, measure, value, limit=limit, searches=len(mine))) is not None:
                    told.append(changed)
        return told

    def _figures(self, mine: list[_Seen]) -> Iterator[tuple[str, float, float]]:
        count = max(1, len(mine))
        yield "no_hit", sum(seen.is_missed for seen in mine) / count, self._limits.no_hit
        yield "degraded", sum(seen.is_degraded for seen in mine) / count, self._limits.degraded
        yield "p95_ms", percentile((seen.total_ms for seen in mine), 0.95) or 0.0, self._limits.p95_ms

    def _change(self, segment: str, measure: str, value: float, *, limit: float, searches: int) -> AuditEntry | None:
        key = (segment, measure)
        is_enough = searches >= self._limits.searches
        if key not in self._active:
            if not (is_enough and value > limit):
                return None
            self._active[key] = value
            _log.warning(
                "segment_alert", segment=segment, measure=measure, value=round(value, 3), limit=limit, searches=searches
            )
            return AuditEntry(event=AuditEvent.ALERT, reason=f"{measure} {segment} {_figure(measure, value)}")
        if value > limit * _RELIEF and searches >= self._limits.searches * _SILENCE:
            self._active[key] = value
            return None
        del self._active[key]
        _log.info(
            "segment_alert_over",
            segment=segment,
            measure=measure,
            value=round(value, 3),
            limit=limit,
            searches=searches,
        )
        return AuditEntry(event=AuditEvent.ALERT, reason=f"over: {measure} {segment}")


def _segments_of(entry: AuditEntry) -> Iterator[str]:
    yield "all"
    for name, value in (("route", entry.route), ("workspace", entry.team_id), ("language", entry.language)):
        if value:
            yield f"{name}={value}"


def _figure(measure: str, value: float) -> str:
    return f"{value:,.0f} ms" if measure == "p95_ms" else f"{100 * value:.0f}%"
