"""Dates in words, in the asker's zone, across changes of the clocks."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.dates import parse_instant, parse_period
from retrieval.errors import QuerySyntaxError
from retrieval.periods import DateModifier, Period

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
KOLKATA = ZoneInfo("Asia/Kolkata")
GREENWICH = ZoneInfo("UTC")
HOUR = 3_600_000_000
# A Monday.
NOW = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)


def micros(text: str) -> int:
    return int((datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))


def period(text: str, *, now: datetime = NOW, zone: ZoneInfo = GREENWICH) -> Period:
    found = parse_period(text, now=now, timezone=zone)
    assert found is not None, text
    return found


def days(found: Period) -> tuple[str, str]:
    """First and last day, in UTC; also shows that the period is whole days."""
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.start_ts_us)
    end = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.end_ts_us + 1)
    assert (start.hour, start.minute, end.hour, end.minute) == (0, 0, 0, 0)
    return start.date().isoformat(), (end.date() - timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        ("2026-03-01..2026-03-05", "2026-03-01", "2026-03-05"),
        ("2026-3-1..2026-3-1", "2026-03-01", "2026-03-01"),
        ("today", "2026-11-30", "2026-11-30"),
        ("Yesterday", "2026-11-29", "2026-11-29"),
        ("tomorrow", "2026-12-01", "2026-12-01"),
        ("the day before yesterday", "2026-11-28", "2026-11-28"),
        ("this week", "2026-11-30", "2026-12-06"),
        ("last week", "2026-11-23", "2026-11-29"),
        ("Last  Week", "2026-11-23", "2026-11-29"),
        ("this month", "2026-11-01", "2026-11-30"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("previous year", "2025-01-01", "2025-12-31"),
        ("this year", "2026-01-01", "2026-12-31"),
        ("7d", "2026-11-23", "2026-11-23"),
        ("2w", "2026-11-16", "2026-11-16"),
        ("3m", "2026-08-30", "2026-08-30"),
        ("9m", "2026-02-28", "2026-02-28"),
        ("1y", "2025-11-30", "2025-11-30"),
        ("3 days ago", "2026-11-27", "2026-11-27"),
        ("two weeks ago", "2026-11-16", "2026-11-16"),
        ("a month ago", "2026-10-30", "2026-10-30"),
        ("last 7 days", "2026-11-24", "2026-11-30"),
        ("past two weeks", "2026-11-17", "2026-11-30"),
        ("past month", "2026-10-31", "2026-11-30"),
        ("monday", "2026-11-30", "2026-11-30"),
        ("last monday", "2026-11-23", "2026-11-23"),
        ("Sun", "2026-11-29", "2026-11-29"),
        ("july", "2026-07-01", "2026-07-31"),
        ("november", "2026-11-01", "2026-11-30"),
        ("last november", "2025-11-01", "2025-11-30"),
        ("december", "2025-12-01", "2025-12-31"),
        ("sept", "2026-09-01", "2026-09-30"),
        ("July 2025", "2025-07-01", "2025-07-31"),
        ("feb 2024", "2024-02-01", "2024-02-29"),
        ("2025-07", "2025-07-01", "2025-07-31"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("march 3", "2026-03-03", "2026-03-03"),
        ("3rd march", "2026-03-03", "2026-03-03"),
        ("December 24", "2025-12-24", "2025-12-24"),
        ("march 1, 2025", "2025-03-01", "2025-03-01"),
        ("1 mar 2025", "2025-03-01", "2025-03-01"),
        ("feb 29", "2024-02-29", "2024-02-29"),
        # What dateparser is asked for.
        ("12/25/2024", "2024-12-25", "2024-12-25"),
        ("25.12.2024", "2024-12-25", "2024-12-25"),
        ("2024/12/25", "2024-12-25", "2024-12-25"),
        ("Mon 3 Mar 2025", "2025-03-03", "2025-03-03"),
        ("Tue, March 3rd", "2026-03-03", "2026-03-03"),
    ],
)
def test_reads_whole_days(text: str, first: str, last: str) -> None:
    assert days(period(text)) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "foo", "10", "429", "a", "m", "10:30", "now", "yesterday 429", "july 429", "march 3 429",
        "2025 outage", "2025/25/12", "2026-02-30", "2026-13-01", "0001-01-01", "9999-12-31", "1969", "3000",
        "2026-03-01T25:00", "31 february 2025", "feb 30", "9999y", "9999d 1", "999999d", "²d", "٣d", "-3d", "last",
        "ago", "first of march", "in 3 days", "3/4", "99/99/2025", "x" * 5_000, "<#C1|general>", "may sunday",
        "march 2025 15",
    ],
)  # fmt: skip
def test_does_not_read_a_date_into_anything_else(text: str) -> None:
    assert parse_period(text, now=NOW, timezone=GREENWICH) is None


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours"),
    [
        (LOS_ANGELES, "2026-03-01", "2026-03-01T08:00:00+00:00", 24),
        (LOS_ANGELES, "2026-03-08", "2026-03-08T08:00:00+00:00", 23),
        (LOS_ANGELES, "2026-11-01", "2026-11-01T07:00:00+00:00", 25),
        (KOLKATA, "2026-03-08", "2026-03-07T18:30:00+00:00", 24),
        (GREENWICH, "2026-03-08", "2026-03-08T00:00:00+00:00", 24),
        (ZoneInfo("Europe/Berlin"), "2026-03-29", "2026-03-28T23:00:00+00:00", 23),
        # Clocks skip midnight: the day begins at 01:00. The day before ends where they are turned.
        (ZoneInfo("America/Santiago"), "2025-09-07", "2025-09-07T04:00:00+00:00", 23),
        (ZoneInfo("America/Santiago"), "2025-09-06", "2025-09-06T04:00:00+00:00", 24),
        # Clocks go back at midnight to 23:00: the day before has 25 hours.
        (ZoneInfo("America/Santiago"), "2025-04-05", "2025-04-05T03:00:00+00:00", 25),
        (ZoneInfo("Australia/Lord_Howe"), "2026-04-05", "2026-04-04T13:00:00+00:00", 24.5),
    ],
)
def test_a_day_runs_from_local_midnight_to_the_next(zone: ZoneInfo, day: str, start: str, hours: float) -> None:
    found = period(day, zone=zone)
    assert found.start_ts_us == micros(start)
    assert found.end_ts_us == micros(start) + int(hours * HOUR) - 1


def test_a_late_evening_message_falls_on_the_day_of_who_asks() -> None:
    message = micros("2026-03-01T23:30:00-08:00")
    there, utc = period("2026-03-01", zone=LOS_ANGELES), period("2026-03-01")
    assert there.start_ts_us <= message <= there.end_ts_us
    assert not utc.start_ts_us <= message <= utc.end_ts_us


def test_today_is_the_askers_day() -> None:
    early = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
    assert period("today", now=early, zone=LOS_ANGELES).label == "28 Feb 2026"
    assert period("today", now=early, zone=KOLKATA).label == "1 Mar 2026"
    late = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
    assert period("today", now=late, zone=KOLKATA).label == "2 Mar 2026"


def test_modifiers_leave_the_named_day_out_except_on() -> None:
    day = period("2026-03-01", zone=LOS_ANGELES)
    first, last = micros("2026-03-01T08:00:00+00:00"), micros("2026-03-02T08:00:00+00:00") - 1
    assert day.bounds(DateModifier.ON) == (first, last)
    assert day.bounds(DateModifier.DURING) == (first, last)
    assert day.bounds(DateModifier.AFTER) == (last + 1, None)
    assert day.bounds(DateModifier.BEFORE) == (None, first - 1)


def test_modifiers_leave_the_whole_named_month_out() -> None:
    month = period("july 2025")
    assert month.bounds(DateModifier.AFTER)[0] == micros("2025-08-01T00:00:00+00:00")
    assert month.bounds(DateModifier.BEFORE)[1] == micros("2025-07-01T00:00:00+00:00") - 1


def test_during_and_after_seven_days_are_the_last_seven_days_with_today() -> None:
    start, tomorrow = micros("2026-11-24T00:00:00+00:00"), micros("2026-12-01T00:00:00+00:00")
    assert period("7d").bounds(DateModifier.DURING) == (start, tomorrow - 1)
    assert period("7d").bounds(DateModifier.AFTER) == (start, None)
    assert period("last 7 days").bounds(DateModifier.DURING) == (start, tomorrow - 1)
    assert period("last 7 days").bounds(DateModifier.AFTER) == (start, None)
    assert period("7d").bounds(DateModifier.ON)[1] == micros("2026-11-24T00:00:00+00:00") - 1


def test_seven_days_across_a_change_of_clocks_are_seven_local_days() -> None:
    start, end = period("7d", now=datetime(2026, 3, 10, 20, tzinfo=UTC), zone=LOS_ANGELES).bounds(DateModifier.DURING)
    assert start is not None
    assert end is not None
    assert start == micros("2026-03-04T08:00:00+00:00")
    assert end + 1 - start == (7 * 24 - 1) * HOUR


def test_hours_count_real_hours_across_a_change_of_clocks() -> None:
    now = datetime(2026, 3, 8, 18, 0, tzinfo=UTC)
    assert period("24h", now=now, zone=LOS_ANGELES).bounds(DateModifier.DURING) == (
        micros("2026-03-07T18:00:00+00:00") + 1,
        micros("2026-03-08T18:00:00+00:00"),
    )


def test_a_time_of_day_is_the_askers_unless_it_has_an_offset() -> None:
    assert period("2026-03-01T10:30", zone=LOS_ANGELES).start_ts_us == micros("2026-03-01T18:30:00+00:00")
    assert period("2026-03-01 10:30:05Z", zone=LOS_ANGELES).start_ts_us == micros("2026-03-01T10:30:05+00:00")
    assert period("2026-03-01T10:30+0530").start_ts_us == micros("2026-03-01T05:00:00+00:00")


def test_before_and_after_a_time_of_day_leave_out_that_instant_alone() -> None:
    moment = period("2026-03-01T10:30")
    at = micros("2026-03-01T10:30:00+00:00")
    assert moment.bounds(DateModifier.AFTER) == (at + 1, None)
    assert moment.bounds(DateModifier.BEFORE) == (None, at - 1)
    assert moment.bounds(DateModifier.ON) == (at, at + 60_000_000 - 1)


@pytest.mark.parametrize(
    ("modifier", "text", "expected"),
    [
        ("after", "yesterday", "after 29 Nov 2026"),
        ("on", "yesterday", "on 29 Nov 2026"),
        ("during", "last week", "during 23 to 29 Nov 2026"),
        ("during", "2025-11-01..2026-06-30", "during 1 Nov 2025 to 30 Jun 2026"),
        ("after", "2026-03-01..2026-03-05", "after 1 to 5 Mar 2026"),
        ("during", "this week", "during 30 Nov to 6 Dec 2026"),
        ("on", "july 2025", "during July 2025"),
        ("before", "2025", "before 2025"),
        ("during", "7d", "during 24 to 30 Nov 2026"),
        ("during", "1y", "during 1 Dec 2025 to 30 Nov 2026"),
        ("after", "last 7 days", "during 24 to 30 Nov 2026"),
        ("after", "2026-03-01T10:30:05", "after 1 Mar 2026 at 10:30:05"),
        ("during", "2h", "during 30 Nov 2026 at 14:00 to now"),
    ],
)
def test_describes_what_was_understood_with_its_year(modifier: str, text: str, expected: str) -> None:
    assert period(text).describe(DateModifier(modifier)) == expected


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [
        ("2026-03-08", False, "2026-03-08T08:00:00+00:00"),
        ("2026-03-08", True, "2026-03-09T06:59:59.999999+00:00"),
        ("2026-03-01T10:30", False, "2026-03-01T18:30:00+00:00"),
        ("2026-03-01T10:30", True, "2026-03-01T18:30:59.999999+00:00"),
        ("2026-03-01 10:30:05Z", True, "2026-03-01T10:30:05.999999+00:00"),
        ("2026-03-01T10:30:05.25+05:30", True, "2026-03-01T05:00:05.250000+00:00"),
    ],
)
def test_an_instant_includes_what_it_names(text: str, end: bool, expected: str) -> None:
    assert parse_instant(text, timezone=LOS_ANGELES, end=end) == micros(expected)


@pytest.mark.parametrize(("end", "modifier"), [(False, "--after"), (True, "--before")])
def test_an_instant_that_is_no_iso_time_is_refused_by_name(end: bool, modifier: str) -> None:
    with pytest.raises(QuerySyntaxError, match="soon") as caught:
        parse_instant("soon", timezone=GREENWICH, end=end)
    assert (caught.value.modifier, caught.value.value) == (modifier, "soon")


@given(
    day=st.dates(date(1970, 1, 2), date(2999, 12, 30)),
    zone=st.sampled_from(["America/Los_Angeles", "Asia/Kolkata", "UTC", "America/Santiago", "Australia/Lord_Howe"]),
)
@settings(max_examples=60, deadline=None)
def test_days_follow_each_other_without_gap_or_overlap(day: date, zone: str) -> None:
    today = period(day.isoformat(), zone=ZoneInfo(zone))
    tomorrow = period((day + timedelta(days=1)).isoformat(), zone=ZoneInfo(zone))
    assert today.end_ts_us + 1 == tomorrow.start_ts_us
    assert today.start_ts_us < today.end_ts_us


@pytest.mark.parametrize(
    "text",
    ["2026-03-05..2026-03-01", "2026-03-01..", "..2026-03-01", "2026-02-30..2026-03-01", "1000-01-01..2026-03-01"],
)
def test_a_range_that_is_none_is_no_date(text: str) -> None:
    assert parse_period(text, now=NOW, timezone=GREENWICH) is None
