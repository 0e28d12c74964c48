"""The table of modifiers, form by form: what each means for askers in three zones, around changes of the clocks.

Forms that are typed in ways that nobody planned stand in test_grammar.py and test_dates.py.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot import texts
from retrieval.directory import NamedChannel, NameDirectory, NamedPerson
from retrieval.grammar import parse_query
from retrieval.models import Filters, Mode, Sort
from tests.bot_harness import ADA, BEN, CLEO, Office, build_archive, running_bot

DIRECTORY = NameDirectory(
    [NamedChannel(channel_id="C123", name="general"), NamedChannel(channel_id="C200", name="payments")],
    [
        NamedPerson(user_id="U123", name="ada", display_name="Ada", real_name="Ada Byron"),
        NamedPerson(user_id="W200", name="mlind", display_name="Mara Lind", real_name="Mara Lind"),
    ],
)
ZONES = ("America/Los_Angeles", "Asia/Kolkata", "UTC")
# In Los Angeles clocks go forward on 8 March 2026 at 02:00 and back on 1 November 2026 at 02:00.
NOWS = (
    "2026-03-08T09:59:00+00:00",  # one minute before they go forward
    "2026-03-08T10:01:00+00:00",  # and after
    "2026-03-09T05:30:00+00:00",  # late on that day, the next day in Kolkata
    "2026-11-01T08:30:00+00:00",  # half past one for the first time
    "2026-11-01T09:30:00+00:00",  # and for the second
    "2026-11-02T07:30:00+00:00",  # the last half hour of the day of 25 hours
    "2026-11-30T16:00:00+00:00",
    "2026-12-31T20:00:00+00:00",  # New Year in Kolkata
)
DAY = timedelta(days=1)

Days = tuple[date | None, date | None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is typed and what it means.

    Attributes:
        understood: How it is repeated; `{}` stands for the days in words.
        days: The first and last day searched, given the asker's today; None where open.
        said: The days in words, given the asker's today.
    """

    typed: str
    understood: str
    text: str = "x"
    filters: Filters = field(default_factory=Filters)
    days: Callable[[date], Days] | None = None
    said: Callable[[date], str] = lambda today: ""
    mode: Mode | None = None
    sort: Sort = Sort.RELEVANCE


def words(first: date, last: date | None = None) -> str:
    """A day or a range of days in words, every year named."""
    last = last or first
    if first == last:
        return f"{first.day} {first:%b %Y}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {last.day} {last:%b %Y}"
    year = "" if first.year == last.year else f" {first.year}"
    return f"{first.day} {first:%b}{year} to {last.day} {last:%b %Y}"


def monday(today: date) -> date:
    return today - today.weekday() * DAY


def july(today: date) -> date:
    """The first day of the latest July that has begun."""
    return date(today.year if today.month >= 7 else today.year - 1, 7, 1)


def named(
    typed: str, first: Callable[[date], date], last: Callable[[date], date], label: Callable[[date], str]
) -> list[Row]:
    """The four modifiers over a named day or period: `before:` and `after:` leave it out."""

    def both(today: date) -> Days:
        return first(today), last(today)

    def word(today: date) -> str:
        return "on" if first(today) == last(today) else "during"

    def inside(today: date) -> str:
        return f"{word(today)} {label(today)}"

    return [
        Row(typed=f"x on:{typed}", understood="x {}", days=both, said=inside),
        Row(typed=f"during:{typed} x", understood="x {}", days=both, said=inside),
        Row(
            typed=f"after:{typed} x",
            understood="x {}",
            days=lambda today: (last(today) + DAY, None),
            said=lambda today: f"after {label(today)}",
        ),
        Row(
            typed=f"before:{typed} x",
            understood="x {}",
            days=lambda today: (None, first(today) - DAY),
            said=lambda today: f"before {label(today)}",
        ),
    ]


def a_day(typed: str, day: Callable[[date], date]) -> list[Row]:
    return named(typed, day, day, lambda today: words(day(today)))


GENERAL, PAYMENTS = Filters(channel_ids=("C123",)), Filters(channel_ids=("C123", "C200"))
BY_ADA, BY_MARA = Filters(author_ids=("U123",)), Filters(author_ids=("W200",))
PHRASE = Filters(phrases=("rate limit",))

TABLE = [
    # in:
    *(
        Row(typed=f"x in:{form}", understood="x in #general", filters=GENERAL)
        for form in ("#general", "general", "C123", "<#C123|general>", "<#C123|>", "<#C123>", "GENERAL")
    ),
    Row(typed="in:#general in:payments x", understood="x in #general or #payments", filters=PAYMENTS),
    Row(typed="x -in:#general", understood="x not in #general", filters=Filters(excluded_channel_ids=("C123",))),
    # from:
    *(
        Row(typed=f"x from:{form}", understood="x from @Ada", filters=BY_ADA)
        for form in ("@ada", "ada", "U123", "<@U123>", "<@U123|ada>", "me", "ADA", "Ada Byron")
    ),
    *(
        Row(typed=f"from:{form} x", understood="x from @Mara Lind", filters=BY_MARA)
        for form in ("W200", "<@W200>", "mlind", "@Mara Lind", '"mara lind"')
    ),
    Row(
        typed="from:ada x from:mlind",
        understood="x from @Ada or @Mara Lind",
        filters=Filters(author_ids=("U123", "W200")),
    ),
    Row(typed="-from:me x", understood="x not from @Ada", filters=Filters(excluded_author_ids=("U123",))),
    # before:, after:, on:, during:
    *a_day("2026-03-01", lambda _: date(2026, 3, 1)),
    *a_day("2026-03-08", lambda _: date(2026, 3, 8)),
    *a_day("2026-11-01", lambda _: date(2026, 11, 1)),
    *a_day("yesterday", lambda today: today - DAY),
    *named(
        "last week",
        lambda today: monday(today) - 7 * DAY,
        lambda today: monday(today) - DAY,
        lambda today: words(monday(today) - 7 * DAY, monday(today) - DAY),
    ),
    *named("july", july, lambda today: july(today).replace(day=31), lambda today: f"July {july(today).year}"),
    *named("july 2025", lambda _: date(2025, 7, 1), lambda _: date(2025, 7, 31), lambda _: "July 2025"),
    *named("2025", lambda _: date(2025, 1, 1), lambda _: date(2025, 12, 31), lambda _: "2025"),
    # Seven days back is a day; `during:` it are the seven days that end today.
    Row(
        typed="x on:7d",
        understood="x {}",
        days=lambda today: (today - 7 * DAY, today - 7 * DAY),
        said=lambda today: f"on {words(today - 7 * DAY)}",
    ),
    Row(
        typed="x during:7d",
        understood="x {}",
        days=lambda today: (today - 6 * DAY, today),
        said=lambda today: f"during {words(today - 6 * DAY, today)}",
    ),
    Row(
        typed="x after:7d",
        understood="x {}",
        days=lambda today: (today - 6 * DAY, None),
        said=lambda today: f"after {words(today - 7 * DAY)}",
    ),
    Row(
        typed="x before:7d",
        understood="x {}",
        days=lambda today: (None, today - 8 * DAY),
        said=lambda today: f"before {words(today - 7 * DAY)}",
    ),
    Row(
        typed="after:2026-03-07 x before:2026-03-09",
        understood="x after 7 Mar 2026, before 9 Mar 2026",
        days=lambda _: (date(2026, 3, 8), date(2026, 3, 8)),
    ),
    # mode:
    *(Row(typed=f"mode:{mode.value} x", understood=f"x {mode.value} mode", mode=mode) for mode in Mode),
    Row(typed="x MODE:Lexical", understood="x lexical mode", mode=Mode.LEXICAL),
    # has:, is:
    Row(typed="x has:link", understood="x with a link", filters=Filters(has=("link",))),
    Row(typed="has:file x", understood="x with a file", filters=Filters(has=("file",))),
    Row(typed="x has:code", understood="x with code", filters=Filters(has=("code",))),
    Row(typed="x is:thread", understood="x in a thread", filters=Filters(is_thread=True)),
    # sort:
    Row(typed="x sort:relevance", understood="x best match first"),
    Row(typed="x sort:newest", understood="x newest first", sort=Sort.NEWEST),
    Row(typed="sort:oldest x", understood="x oldest first", sort=Sort.OLDEST),
    # Phrases and exclusions
    *(
        Row(typed=f"{form} x", text="rate limit x", understood="“rate limit” x", filters=PHRASE)
        for form in ('"rate limit"', "“rate limit”")
    ),
    Row(typed="x -draft", understood="x without “draft”", filters=Filters(excluded_words=("draft",))),
    *(
        Row(typed=f"x -{form}", understood="x without “rate limit”", filters=Filters(excluded_phrases=("rate limit",)))
        for form in ('"rate limit"', "“rate limit”")
    ),
    # A word with a colon that is no modifier
    *(Row(typed=form, text=form, understood=form) for form in ("10:30", "http://x.io/a", "foo:bar")),
    # Words that stand alone, in quotes
    *(
        Row(typed=f'"{word}"', text=word, understood=f"“{word}”", filters=Filters(phrases=(word,)))
        for word in ("help", "status", "recent", "admin")
    ),
    # All together, in any order
    Row(
        typed='after:2026-03-01 x -draft in:#general "rate limit" from:me mode:lexical is:thread sort:newest',
        text="x rate limit",
        understood="x “rate limit” in #general, from @Ada, after 1 Mar 2026, in a thread, without “draft”,"
        " lexical mode, newest first",
        filters=Filters(
            channel_ids=("C123",),
            author_ids=("U123",),
            is_thread=True,
            phrases=("rate limit",),
            excluded_words=("draft",),
        ),
        days=lambda _: (date(2026, 3, 2), None),
        mode=Mode.LEXICAL,
        sort=Sort.NEWEST,
    ),
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.typed)
def test_the_table(row: Row, zone: str) -> None:
    there = ZoneInfo(zone)
    for now in (datetime.fromisoformat(moment) for moment in NOWS):
        today = now.astimezone(there).date()
        parsed = parse_query(row.typed, directory=DIRECTORY, now=now, timezone=there, me="U123")

        first, last = row.days(today) if row.days is not None else (None, None)
        without_days = {
            name: getattr(parsed.filters, name)
            for name in Filters.__dataclass_fields__
            if name not in ("start_ts_us", "end_ts_us")
        }
        assert without_days == {name: getattr(row.filters, name) for name in without_days}
        assert (parsed.text, parsed.mode, parsed.sort) == (row.text, row.mode, row.sort), now
        assert parsed.understood == row.understood.format(row.said(today)), now
        assert parsed.filters.start_ts_us == begins(first, there), now
        assert parsed.filters.end_ts_us == ends(last, there), now


def begins(day: date | None, zone: ZoneInfo) -> int | None:
    """The first microsecond of a local day; none of these zones changes its clocks at midnight."""
    if day is None:
        return None
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    return (midnight - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def ends(day: date | None, zone: ZoneInfo) -> int | None:
    """The last microsecond of a local day."""
    following = begins(day + DAY, zone) if day is not None else None
    return following - 1 if following is not None else None


# Every reply begins with how the query was understood: whatever it found, in a message and in a modal.


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("understood") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path) -> AsyncIterator[Office]:
    async with running_bot(archive) as office:
        yield office


REPLIES = [
    ("rate  limit", "rate limit"),
    ("RATE in:<#C2|payments> from:@ben", "RATE in #payments, from @ben"),
    ("rate after:2025-10-09", "rate after 9 Oct 2025"),
    ("on:2026-03-08 nothing", "nothing on 8 Mar 2026"),
    ("rate during:july 2025 sort:oldest", "rate during July 2025, oldest first"),
    ('"rate limit" -case mode:lexical', "“rate limit” without “case”, lexical mode"),
    ("outage is:thread mode:semantic", "outage in a thread, semantic mode"),
    ("in:#general has:code", "everything in #general, with code"),
    ("a & b <@U1|ada> 10:30", "a & b @ada 10:30"),
    ("from:me", "everything from @{me}"),
    ("zzzqqq xxyyzz mode:lexical", "zzzqqq xxyyzz lexical mode"),
    ("rate before:yesterday", "rate before {yesterday}"),
]


@pytest.mark.parametrize(
    ("user", "name", "zone"), [(ADA, "ada", ZONES[0]), (BEN, "ben", ZONES[1]), (CLEO, "cleo", ZONES[2])]
)
async def test_every_reply_begins_with_how_the_query_was_understood(
    office: Office, user: str, name: str, zone: str
) -> None:
    office.slack.change_user(user, tz=zone)
    for typed, said in REPLIES:
        answer = await office.ask(typed, user=user)
        yesterday = datetime.fromtimestamp(office.clock(), ZoneInfo(zone)).date() - DAY

        expected = said.format(me=name, yesterday=words(yesterday))
        assert answer.plain_text.replace("*", "").startswith(expected), typed
        assert expected.replace("&", "&amp;") in answer.text.splitlines()[0], typed


async def test_the_next_page_and_the_way_back_repeat_it_too(office: Office) -> None:
    answer = await office.ask("rate limit in:#payments after:2025-10-08")
    said = "rate limit in #payments, after 8 Oct 2025"

    following = await office.press(answer, texts.NEXT)
    assert following.plain_text.startswith(f"*{said}*")
    context = await office.press(following, texts.CONTEXT)
    back = await office.press(context, texts.BACK_TO_RESULTS)
    assert back.plain_text.startswith(f"*{said}*")
    assert "results 6 to 10" in back.plain_text
