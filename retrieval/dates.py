"""Dates as people type them, in the asker's own time zone.

Our own small table reads what the grammar promises: ISO dates and times, `2026-03-01..2026-03-05` (both days
included), `today`, `yesterday`, `last week`, `7d`,
`3 days ago`, weekdays, months, years. Only what is left, and consists of words that belong to dates, is put to
dateparser, which otherwise reads a date into almost anything (`10`, `a`, `yesterday 429`).

Days run from one local midnight to the next, 23 or 25 hours where clocks change. Weeks begin on Monday. A date
without its year is the latest one that is not in the future.
"""

import calendar
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from dateparser.date import DateDataParser  # type: ignore[import-untyped]

from retrieval.errors import QuerySyntaxError
from retrieval.periods import (
    Period,
    PeriodKind,
    day_period,
    day_range_label,
    midnight_us,
    moment_period,
    unix_us,
)

# The longest date in words, such as `the day before yesterday`; what follows is text.
MAX_DATE_WORDS: Final = 5
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2999
_MAX_DATE_CHARS: Final = 64

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)

_MONTHS: Final = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_WEEKDAYS: Final = {
    name.lower(): number for names in (calendar.day_name, calendar.day_abbr) for number, name in enumerate(names)
} | {"tues": 1, "thur": 3, "thurs": 3}
_NUMBERS: Final = {"a": 1, "an": 1} | {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
}
_UNITS: Final = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}

_YEAR_FIRST: Final = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_ISO_TIME: Final = re.compile(
    r"""
    (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[t ]
    (?P<clock>[0-9]{2}:[0-9]{2})(?P<second>:[0-9]{2})?(?P<fraction>\.[0-9]{1,6})?[ ]?
    (?P<offset>z|[+-][0-9]{2}:?[0-9]{2})?
    """,
    re.VERBOSE,
)
_YEAR: Final = re.compile(r"(?:19[7-9][0-9]|2[0-9]{3})")
_YEAR_MONTH: Final = re.compile(r"((?:19[7-9][0-9]|2[0-9]{3}))[-/]([0-9]{1,2})")
_SHORT_AGO: Final = re.compile(r"([0-9]{1,4})([hdwmy])")
_LONG_AGO: Final = re.compile(r"([0-9]{1,4}|[a-z]+) (hour|day|week|month|year)s? ago")
_LAST_UNITS: Final = re.compile(r"(?:the )?(?:last|past) (?:([0-9]{1,4}|[a-z]+) )?(day|week|month|year)s?")
_THIS_UNIT: Final = re.compile(r"(?:the )?(this|last|previous) (week|month|year)")
_ORDINAL: Final = re.compile(r"\b([0-9]{1,2})(?:st|nd|rd|th)\b")
_DAY_NUMBER: Final = re.compile(r"[0-9]{1,2}")
# What is worth asking dateparser: `12/25/2024`, and `Mon 3 Mar` with or without a year.
_FOREIGN_FORMS: Final = (["date"], ["day", "month", "weekday"], ["day", "month", "weekday", "year"])
_NUMERIC_DATE: Final = re.compile(r"[0-9]{1,2}([/.\-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})")


def parse_period(text: str, *, now: datetime, timezone: ZoneInfo) -> Period | None:
    """Return what *text* names, or None where it is no date.

    Args:
        text: Such as `2026-03-01`, `last week`, `7d`, `july 2025`; case and spacing do not count.
        now: The present moment, aware.
        timezone: Whose days are meant.
    """
    words = text.lower().split()
    if not words or len(text) > _MAX_DATE_CHARS:
        return None
    reader = _Reader(now=now.astimezone(timezone), timezone=timezone)
    try:
        return reader.read(" ".join(words))
    except OverflowError:
        return None


def parse_instant(text: str, *, timezone: ZoneInfo, end: bool) -> int:
    """Return the Unix microsecond that an ISO time or date on the command line stands for.

    Args:
        text: `2026-03-01`, `2026-03-01T10:30`, `2026-03-01 10:30:05Z`, `2026-03-01T10:30:05.25+05:30`.
        timezone: Read into times without an offset, and the zone of days.
        end: Whether the last microsecond of what *text* names is wanted (of the day, minute or second), so that an
            upper bound includes it, instead of the first.

    Raises:
        QuerySyntaxError: *text* is neither; `modifier` is `--before` with *end*, else `--after`.
    """
    reader = _Reader(now=_EPOCH.astimezone(timezone), timezone=timezone)
    period = reader.iso_time(text.strip().lower()) or reader.iso_date(text.strip())
    if period is None:
        modifier = "--before" if end else "--after"
        message = f"{modifier} takes an ISO date or time such as 2026-03-01 or 2026-03-01T10:30, not “{text}”."
        raise QuerySyntaxError(message, modifier=modifier, value=text)
    return period.end_ts_us if end else period.start_ts_us


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads one lower-case, single-spaced text; *now* stands in *timezone* already."""

    now: datetime
    timezone: tzinfo

    def read(self, text: str) -> Period | None:
        return (
            self.iso_time(text)
            or self.iso_date(text)
            or self._iso_range(text)
            or self._relative_day(text)
            or self._ago(text)
            or self._unit(text)
            or self._calendar(_ORDINAL.sub(r"\1", text).replace(",", " ").split())
            or self._foreign(text)
        )

    def iso_date(self, text: str) -> Period | None:
        match = _YEAR_FIRST.fullmatch(text)
        return self._date(int(match[1]), int(match[3]), int(match[4])) if match else None

    def _iso_range(self, text: str) -> Period | None:
        first, dots, last = text.partition("..")
        days = [_iso_day(first), _iso_day(last)] if dots else []
        if len(days) != 2 or days[0] is None or days[1] is None or days[0] > days[1]:
            return None
        return day_period(days[0], days[1], timezone=self.timezone)

    def iso_time(self, text: str) -> Period | None:
        match = _ISO_TIME.fullmatch(text)
        if match is None:
            return None
        offset = "+00:00" if match["offset"] == "z" else match["offset"] or ""
        typed = f"{match['date']}T{match['clock']}{match['second'] or ''}{match['fraction'] or ''}{offset}"
        try:
            moment = datetime.fromisoformat(typed)
        except ValueError:
            return None
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.timezone)
        length = _MICROSECOND if match["fraction"] else timedelta(seconds=1 if match["second"] else 60)
        return moment_period(moment, timezone=self.timezone, length=length)

    def _relative_day(self, text: str) -> Period | None:
        today = self.now.date()
        days_back = {"today": 0, "yesterday": 1, "tomorrow": -1, "the day before yesterday": 2}.get(text)
        if days_back is not None:
            return self._days(today - days_back * _DAY)
        last, _, name = text.rpartition(" ")
        if name in _WEEKDAYS and last in {"", "last", "on"}:
            back = (today.weekday() - _WEEKDAYS[name]) % 7
            return self._days(today - (back or (7 if last == "last" else 0)) * _DAY)
        return None

    def _ago(self, text: str) -> Period | None:
        if match := _SHORT_AGO.fullmatch(text):
            return self._counted_back(int(match[1]), _UNITS[match[2]])
        if (match := _LONG_AGO.fullmatch(text)) and (count := _number(match[1])) is not None:
            return self._counted_back(count, match[2])
        return None

    def _counted_back(self, count: int, unit: str) -> Period | None:
        today = self.now.date()
        if unit == "hour":
            moment = self.now.astimezone(UTC) - timedelta(hours=count)
            passed = moment_period(moment, timezone=self.timezone, length=_MICROSECOND)
            return self._since(passed, until_us=unix_us(self.now), label=f"{passed.label} to now")
        day = _earlier(today, count=count, unit=unit)
        if day is None or day.year < FIRST_YEAR:
            return None
        return self._since(
            day_period(day, day, timezone=self.timezone),
            until_us=midnight_us(today + _DAY, timezone=self.timezone) - 1,
            label=day_range_label(min(day + _DAY, today), today),
        )

    @staticmethod
    def _since(passed: Period, *, until_us: int, label: str) -> Period:
        return replace(passed, kind=PeriodKind.AGO, now_ts_us=until_us, since_label=label)

    def _unit(self, text: str) -> Period | None:
        if match := _THIS_UNIT.fullmatch(text):
            return self._named_unit(match[2], back=0 if match[1] == "this" else 1)
        match = _LAST_UNITS.fullmatch(text)
        count = _number(match[1] or "one") if match else None
        day = _earlier(self.now.date(), count=count, unit=match[2]) if match and count else None
        return self._days(day + _DAY, self.now.date(), kind=PeriodKind.LAST) if day else None

    def _named_unit(self, unit: str, *, back: int) -> Period | None:
        today = self.now.date()
        if unit == "week":
            monday = today - (today.weekday() + 7 * back) * _DAY
            return self._days(monday, monday + 6 * _DAY)
        if unit == "year":
            return self._year(today.year - back)
        months = today.year * 12 + today.month - 1 - back
        return self._month(months // 12, months % 12 + 1)

    def _calendar(self, words: list[str]) -> Period | None:
        """Read a year, a month, a day of a month, with or without the year."""
        today = self.now.date()
        year = None
        if words and _YEAR.fullmatch(words[-1]):
            year = int(words.pop())
            if not words:
                return self._year(year)
        if len(words) == 1 and (match := _YEAR_MONTH.fullmatch(words[0])) and year is None:
            return self._month(int(match[1]), int(match[2]))
        strictly = words[:1] == ["last"] and len(words) == 2 and year is None
        names = words[1:] if strictly else words
        if len(names) == 1 and names[0] in _MONTHS:
            month = _MONTHS[names[0]]
            past = month < today.month or (month == today.month and not strictly)
            return self._month(year or (today.year if past else today.year - 1), month)
        return self._month_day(words, year=year)

    def _month_day(self, words: list[str], *, year: int | None) -> Period | None:
        if len(words) != 2:
            return None
        day, name = words if words[1] in _MONTHS else reversed(words)
        if name not in _MONTHS or not _DAY_NUMBER.fullmatch(day):
            return None
        if year:
            return self._date(year, _MONTHS[name], int(day))
        today = self.now.date()
        # Eight years back reach every 29 February.
        for candidate in range(today.year, today.year - 9, -1):
            found = self._date(candidate, _MONTHS[name], int(day))
            if found and found.start_ts_us <= unix_us(self.now):
                return found
        return None

    def _foreign(self, text: str) -> Period | None:
        """Ask dateparser about what the table does not know, such as `12/25/2024`."""
        words = [_ORDINAL.sub(r"\1", word) for word in text.replace(",", " ").split()]
        if sorted(map(_part_of_date, words)) not in _FOREIGN_FORMS:
            return None
        parser = DateDataParser(
            languages=["en"],
            settings={
                "RELATIVE_BASE": self.now.replace(tzinfo=None),
                "TIMEZONE": "UTC",
                "TO_TIMEZONE": "UTC",
                "RETURN_AS_TIMEZONE_AWARE": False,
                "PREFER_DATES_FROM": "past",
                "DATE_ORDER": "MDY",
                "REQUIRE_PARTS": ["day", "month"],
            },
        )
        found: datetime | None = parser.get_date_data(" ".join(words)).date_obj
        return self._date(found.year, found.month, found.day) if found else None

    def _year(self, year: int) -> Period | None:
        if not FIRST_YEAR <= year <= LAST_YEAR:
            return None
        return self._days(date(year, 1, 1), date(year, 12, 31), label=str(year))

    def _month(self, year: int, month: int) -> Period | None:
        if not (FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12):
            return None
        last = date(year, month, calendar.monthrange(year, month)[1])
        return self._days(date(year, month, 1), last, label=f"{calendar.month_name[month]} {year}")

    def _date(self, year: int, month: int, day: int) -> Period | None:
        try:
            return self._days(date(year, month, day))
        except ValueError:
            return None

    def _days(
        self, first: date, last: date | None = None, *, label: str = "", kind: PeriodKind = PeriodKind.NAMED
    ) -> Period | None:
        last = last or first
        if not (first.year >= FIRST_YEAR and last.year <= LAST_YEAR):
            return None
        return day_period(first, last, timezone=self.timezone, label=label, kind=kind)


def _part_of_date(word: str) -> str:
    if word in _MONTHS:
        return "month"
    if word in _WEEKDAYS:
        return "weekday"
    patterns = {"date": _NUMERIC_DATE, "day": _DAY_NUMBER, "year": _YEAR}
    return next((part for part, pattern in patterns.items() if pattern.fullmatch(word)), "other")


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else _NUMBERS.get(word)


def _earlier(day: date, *, count: int, unit: str) -> date | None:
    """Return the day *count* units before *day*, on the month's last day where it has no such day."""
    if unit in {"day", "week"}:
        return day - count * (7 if unit == "week" else 1) * _DAY
    months = day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    if year < FIRST_YEAR:
        return None
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _iso_day(text: str) -> date | None:
    match = _YEAR_FIRST.fullmatch(text)
    if match is None or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
        return None
    try:
        return date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        return None
