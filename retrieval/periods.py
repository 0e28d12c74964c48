"""A stretch of time that somebody named, and what `before:`, `after:`, `on:` and `during:` make of it."""

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)


class DateModifier(StrEnum):
    """The modifiers that take a date."""

    BEFORE = "before"
    AFTER = "after"
    ON = "on"
    DURING = "during"


class PeriodKind(StrEnum):
    """What kind of stretch it is, which decides how modifiers read it."""

    NAMED = "named"  # A day, week, month or year.
    AGO = "ago"  # One day, that many days back; with `during`, the days since.
    LAST = "last"  # The days up to today.
    MOMENT = "moment"  # A time of day.


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What a date text names.

    Attributes:
        start_ts_us: Its first microsecond, Unix microseconds.
        end_ts_us: Its last one, inclusive.
        label: How it reads with its year, such as `1 Mar 2026`, `23 to 29 Nov 2026`, `July 2025`.
        single_day: Whether it is one day.
        kind: How modifiers read it.
        now_ts_us: The end of what has passed, for periods that count back from today.
        since_label: How the time since then reads, for the same.
    """

    start_ts_us: int
    end_ts_us: int
    label: str
    single_day: bool = False
    kind: PeriodKind = PeriodKind.NAMED
    now_ts_us: int = 0
    since_label: str = ""

    def bounds(self, modifier: DateModifier) -> tuple[int | None, int | None]:
        """Return (first, last) Unix microseconds, both inclusive; None where open.

        `before:` and `after:` leave out the whole named day, week, month or year. A time of day is left out alone,
        and `after:` the last 7 days begins with them.
        """
        if modifier is DateModifier.BEFORE:
            return None, self.start_ts_us - 1
        if modifier is DateModifier.AFTER:
            return self._after(), None
        if modifier is DateModifier.DURING and self.kind is PeriodKind.AGO:
            return self._after(), self.now_ts_us
        return self.start_ts_us, self.end_ts_us

    def describe(self, modifier: DateModifier) -> str:
        """Return how *modifier* with this period reads, such as `after 1 Mar 2026`."""
        if modifier is DateModifier.AFTER and self.kind is PeriodKind.LAST:
            return f"during {self.label}"
        if modifier in {DateModifier.BEFORE, DateModifier.AFTER}:
            return f"{modifier.value} {self.label}"
        if modifier is DateModifier.DURING and self.kind is PeriodKind.AGO:
            return f"during {self.since_label}"
        return f"on {self.label}" if self.single_day else f"during {self.label}"

    def _after(self) -> int:
        if self.kind is PeriodKind.LAST:
            return self.start_ts_us
        if self.kind is PeriodKind.MOMENT:
            return self.start_ts_us + 1
        return self.end_ts_us + 1


def day_period(
    first: date, last: date, *, timezone: tzinfo, label: str = "", kind: PeriodKind = PeriodKind.NAMED
) -> Period:
    """Return the days *first* to *last*, both inclusive, from local midnight to local midnight less 1 µs."""
    return Period(
        start_ts_us=midnight_us(first, timezone=timezone),
        end_ts_us=midnight_us(last + _DAY, timezone=timezone) - 1,
        label=label or day_range_label(first, last),
        single_day=first == last,
        kind=kind,
    )


def moment_period(moment: datetime, *, timezone: tzinfo, length: timedelta) -> Period:
    """Return the stretch of *length* that begins at the aware *moment*, labelled in *timezone*."""
    start = unix_us(moment)
    local = moment.astimezone(timezone)
    seconds = f":{local:%S}" if local.second else ""
    return Period(
        start_ts_us=start,
        end_ts_us=start + length // _MICROSECOND - 1,
        label=f"{day_range_label(local.date(), local.date())} at {local:%H:%M}{seconds}",
        kind=PeriodKind.MOMENT,
    )


def midnight_us(day: date, *, timezone: tzinfo) -> int:
    """Return the first instant of *day* in *timezone*, Unix microseconds."""
    # Where clocks skip midnight, fold=0 reads it with the offset before, which is the day's first instant.
    return unix_us(datetime(day.year, day.month, day.day, tzinfo=timezone))


def unix_us(moment: datetime) -> int:
    """Return the aware *moment* as Unix microseconds, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def day_range_label(first: date, last: date) -> str:
    """Return how *first* to *last* reads, such as `1 Mar 2026` or `28 Sep to 4 Oct 2026`."""
    if first == last:
        return _day_label(first)
    if first.year != last.year:
        return f"{_day_label(first)} to {_day_label(last)}"
    if first.month != last.month:
        return f"{first.day} {calendar.month_abbr[first.month]} to {_day_label(last)}"
    return f"{first.day} to {_day_label(last)}"


def _day_label(day: date) -> str:
    return f"{day.day} {calendar.month_abbr[day.month]} {day.year}"
