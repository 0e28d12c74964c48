"""The query grammar: what is typed, what is understood, and that nothing gets lost on the way.

The table of modifiers, form by form, stands in test_grammar_table.py.
"""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retrieval.directory import NamedChannel, NameDirectory, NamedPerson
from retrieval.errors import (
    AmbiguousNameError,
    FilterError,
    QuerySyntaxError,
    RequestError,
    UnknownNameError,
)
from retrieval.grammar import ParsedQuery, parse_query
from retrieval.models import Filters, Sort

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
KOLKATA = ZoneInfo("Asia/Kolkata")
GREENWICH = ZoneInfo("UTC")
# A Monday.
NOW = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)
DIRECTORY = NameDirectory(
    [
        NamedChannel(channel_id="C123", name="general"),
        NamedChannel(channel_id="C200", name="payments"),
        NamedChannel(channel_id="C201", name="payments-eu"),
    ],
    [
        NamedPerson(user_id="U123", name="ada", display_name="Ada", real_name="Ada Byron"),
        NamedPerson(user_id="U200", name="mlind", display_name="Mara Lind"),
        NamedPerson(user_id="U201", name="mvos", display_name="Mara Vos"),
        NamedPerson(user_id="W300", name="noor", display_name="نور"),
    ],
)


def parse(text: str, *, zone: ZoneInfo = GREENWICH, now: datetime = NOW, me: str | None = "U123") -> ParsedQuery:
    return parse_query(text, directory=DIRECTORY, now=now, timezone=zone, me=me)


def outcome_of(text: str, *, zone: ZoneInfo = GREENWICH) -> ParsedQuery | RequestError:
    try:
        return parse(text, zone=zone)
    except RequestError as error:
        return error


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


GENERAL = Filters(channel_ids=("C123",))
ADA = Filters(author_ids=("U123",))

# typed, text that is ranked, filters, how it is repeated
GRAMMAR = [
    # Words
    ("", "", Filters(), ""),
    ("   \n ", "", Filters(), ""),
    ("rate  limit\n429", "rate limit 429", Filters(), "rate limit 429"),
    ("what's John's deal", "what's John's deal", Filters(), "what's John's deal"),
    ("what’s ‘up’", "what’s ‘up’", Filters(), "what’s ‘up’"),
    ("DEC-0054 multi-agent apply_secrets", "DEC-0054 multi-agent apply_secrets", Filters(), None),
    ("outage at 10:30 http://x.io/a", "outage at 10:30 http://x.io/a", Filters(), None),
    (r"foo:bar C:\dir into: mailto:a@b.c", r"foo:bar C:\dir into: mailto:a@b.c", Filters(), None),
    ("begin:general login:ada", "begin:general login:ada", Filters(), None),
    ("a - b -- c -> d --force -!!! :-) (in:general", "a - b -- c -> d --force -!!! :-) (in:general", Filters(), None),
    ("我家在上海 🎉", "我家在上海 🎉", Filters(), None),
    # Phrases
    ('"rate limit"', "rate limit", Filters(phrases=("rate limit",)), "“rate limit”"),
    ("“rate limit” now", "rate limit now", Filters(phrases=("rate limit",)), "“rate limit” now"),
    ("„rate limit“", "rate limit", Filters(phrases=("rate limit",)), "“rate limit”"),
    ("«rate limit»", "rate limit", Filters(phrases=("rate limit",)), "“rate limit”"),
    ('“rate limit" x', "rate limit x", Filters(phrases=("rate limit",)), "“rate limit” x"),
    ('a "b  c" d "e"', "a b c d e", Filters(phrases=("b c", "e")), "a “b c” d “e”"),
    ('("rate limit")', "( rate limit )", Filters(phrases=("rate limit",)), "( “rate limit” )"),
    ('"what\'s up"', "what's up", Filters(phrases=("what's up",)), "“what's up”"),
    ('"help"', "help", Filters(phrases=("help",)), "“help”"),
    ('"in:general -x"', "in:general -x", Filters(phrases=("in:general -x",)), "“in:general -x”"),
    ('5" disk', '5" disk', Filters(), None),
    ('"unfinished business', '"unfinished business', Filters(), None),
    ('"" x', '"" x', Filters(), None),
    # Exclusions
    ("-foo", "", Filters(excluded_words=("foo",)), "everything without “foo”"),
    ("bar -Foo,", "bar", Filters(excluded_words=("Foo",)), "bar without “Foo,”"),
    ("bar -E4392", "bar", Filters(excluded_words=("E4392",)), "bar without “E4392”"),
    ("bar -🎉", "bar", Filters(excluded_phrases=("🎉",)), "bar without “🎉”"),
    ("-我家在上海 x", "x", Filters(excluded_phrases=("我家在上海",)), "x without “我家在上海”"),
    ("x -http://x.io/a", "x", Filters(excluded_phrases=("http://x.io/a",)), "x without “http://x.io/a”"),
    ('x -"a b" -c', "x", Filters(excluded_phrases=("a b",), excluded_words=("c",)), "x without “a b” or “c”"),
    ("x -“a b”", "x", Filters(excluded_phrases=("a b",)), "x without “a b”"),
    # Channels
    ("in:#general x", "x", GENERAL, "x in #general"),
    ("in:general x", "x", GENERAL, "x in #general"),
    ("x in:C123", "x", GENERAL, "x in #general"),
    ("in:<#C123|general> x", "x", GENERAL, "x in #general"),
    ("in:<#C123|> x", "x", GENERAL, "x in #general"),
    ("in:<#C123> x", "x", GENERAL, "x in #general"),
    ("In:GENERAL, x", "x", GENERAL, "x in #general"),
    ('in:"general" x', "x", GENERAL, "x in #general"),
    ("in:gener x", "x", GENERAL, "x in #general"),
    ("in:<#C123|renamed-since> x", "x", GENERAL, "x in #general"),
    ("in:general in:C123", "", GENERAL, "everything in #general"),
    (
        "in:general x in:payments",
        "x",
        Filters(channel_ids=("C123", "C200")),
        "x in #general or #payments",
    ),
    ("-in:general x", "x", Filters(excluded_channel_ids=("C123",)), "x not in #general"),
    ("-in:<#C123|general> x", "x", Filters(excluded_channel_ids=("C123",)), "x not in #general"),
    ("see #general", "see #general", Filters(), None),
    ("see <#C123|old> <#C999|gone> <#C998>", "see #general #gone #C998", Filters(), "see #general #gone #C998"),
    # People
    ("from:@ada x", "x", ADA, "x from @Ada"),
    ("from:ada x", "x", ADA, "x from @Ada"),
    ("from:U123 x", "x", ADA, "x from @Ada"),
    ("from:<@U123> x", "x", ADA, "x from @Ada"),
    ("from:<@U123|ada> x", "x", ADA, "x from @Ada"),
    ("from:me x", "x", ADA, "x from @Ada"),
    ("from:@Me x", "x", ADA, "x from @Ada"),
    ("FROM:ADA x", "x", ADA, "x from @Ada"),
    ('from:"Ada Byron" x', "x", ADA, "x from @Ada"),
    ("from:“Ada Byron” x", "x", ADA, "x from @Ada"),
    ("from:Ada Byron x", "x", ADA, "x from @Ada"),
    ("from:@Mara Lind, x", "x", Filters(author_ids=("U200",)), "x from @Mara Lind"),
    ("from:W300 x", "x", Filters(author_ids=("W300",)), "x from @نور"),
    ("from:U777 x", "x", Filters(author_ids=("U777",)), "x from @U777"),
    ("from:<@U777|kit> x", "x", Filters(author_ids=("U777",)), "x from @kit"),
    ("from:ada from:noor", "", Filters(author_ids=("U123", "W300")), "everything from @Ada or @نور"),
    ("x -from:me", "x", Filters(excluded_author_ids=("U123",)), "x not from @Ada"),
    ("ask <@U200|mlind> or <@U777|kit>", "ask @Mara Lind or @kit", Filters(), "ask @Mara Lind or @kit"),
    # has, is
    ("x has:link has:code", "x", Filters(has=("link", "code")), "x with a link, with code"),
    ("x has:FILE", "x", Filters(has=("file",)), "x with a file"),
    ("is:thread x", "x", Filters(is_thread=True), "x in a thread"),
    # Slack's escaping and forms
    ("a &amp; b &lt;c&gt; &amp;amp;", "a & b <c> &amp;", Filters(), "a & b <c> &amp;"),
    ("&lt;@U123&gt; &lt;#C123&gt;", "<@U123> <#C123>", Filters(), None),
    ("-&gt; x", "-> x", Filters(), None),
    ("<https://x.io/a>", "https://x.io/a", Filters(), None),
    ("<http://x.io|x.io> down", "x.io down", Filters(), "x.io down"),
    ("<https://x.io/a?b=1&amp;c=2>", "https://x.io/a?b=1&c=2", Filters(), None),
    ("<https://evil.example|the docs>", "the docs https://evil.example", Filters(), None),
    ("<mailto:a@b.c|a@b.c>", "a@b.c", Filters(), None),
    ("<!here> <!subteam^S1|@oncall> <!subteam^S2>", "@here @oncall @subteam", Filters(), None),
    ("if a<b or b>c", "if a<b or b>c", Filters(), None),
    # Any order
    (
        'rate limit 429 in:#payments from:"Mara Lind" after:2026-03-01',
        "rate limit 429",
        Filters(
            channel_ids=("C200",), author_ids=("U200",), start_ts_us=micros("2026-03-02T00:00:00+00:00")
        ),
        "rate limit 429 in #payments, from @Mara Lind, after 1 Mar 2026",
    ),
    (
        'after:2026-03-01 rate from:mlind limit -"a b" in:#payments 429',
        "rate limit 429",
        Filters(
            channel_ids=("C200",),
            author_ids=("U200",),
            start_ts_us=micros("2026-03-02T00:00:00+00:00"),
            excluded_phrases=("a b",),
        ),
        "rate limit 429 in #payments, from @Mara Lind, after 1 Mar 2026, without “a b”",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "text", "filters", "understood"), GRAMMAR)
def test_grammar(typed: str, text: str, filters: Filters, understood: str | None) -> None:
    parsed = parse(typed)
    assert (parsed.text, parsed.filters) == (text, filters)
    assert parsed.understood == (text if understood is None else understood)
    assert (parsed.mode, parsed.sort) == (None, Sort.RELEVANCE)


# Each asker's own days: in the winter, on the day of 23 hours, on the day of 25 hours.
DAYS = [
    (LOS_ANGELES, "2026-03-01", "2026-03-01T08:00:00+00:00", "2026-03-02T08:00:00+00:00"),
    (LOS_ANGELES, "2026-03-08", "2026-03-08T08:00:00+00:00", "2026-03-09T07:00:00+00:00"),
    (LOS_ANGELES, "2026-11-01", "2026-11-01T07:00:00+00:00", "2026-11-02T08:00:00+00:00"),
    (KOLKATA, "2026-03-01", "2026-02-28T18:30:00+00:00", "2026-03-01T18:30:00+00:00"),
    (KOLKATA, "2026-03-08", "2026-03-07T18:30:00+00:00", "2026-03-08T18:30:00+00:00"),
    (KOLKATA, "2026-11-01", "2026-10-31T18:30:00+00:00", "2026-11-01T18:30:00+00:00"),
    (GREENWICH, "2026-03-01", "2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"),
    (GREENWICH, "2026-03-08", "2026-03-08T00:00:00+00:00", "2026-03-09T00:00:00+00:00"),
    (GREENWICH, "2026-11-01", "2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00"),
]


@pytest.mark.parametrize(("zone", "day", "midnight", "next_midnight"), DAYS)
def test_days_are_the_askers_own(zone: ZoneInfo, day: str, midnight: str, next_midnight: str) -> None:
    first, last = micros(midnight), micros(next_midnight) - 1
    expected = {
        "on": (first, last),
        "during": (first, last),
        "after": (last + 1, None),
        "before": (None, first - 1),
    }
    for modifier, bounds in expected.items():
        filters = parse(f"x {modifier}:{day}", zone=zone).filters
        assert (filters.start_ts_us, filters.end_ts_us) == bounds, modifier


# typed, who asks, first and last second that is searched, as they read there; text left to rank
DATES = [
    ("on:yesterday x", LOS_ANGELES, "2026-11-29T00:00:00", "2026-11-29T23:59:59", "x"),
    ("on:today x", KOLKATA, "2026-11-30T00:00:00", "2026-11-30T23:59:59", "x"),
    ("during:last week rollout", LOS_ANGELES, "2026-11-23T00:00:00", "2026-11-29T23:59:59", "rollout"),
    ("during:July 2025 outage", KOLKATA, "2025-07-01T00:00:00", "2025-07-31T23:59:59", "outage"),
    ("during:july outage 2025", GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", "outage 2025"),
    ("outage during:july", GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", "outage"),
    ("during:july 429 errors", GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", "429 errors"),
    ('during:"july 2025" x', GREENWICH, "2025-07-01T00:00:00", "2025-07-31T23:59:59", "x"),
    ('during:"july" 2025', GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", "2025"),
    ("during:2025 x", LOS_ANGELES, "2025-01-01T00:00:00", "2025-12-31T23:59:59", "x"),
    ("on:3 days ago x", LOS_ANGELES, "2026-11-27T00:00:00", "2026-11-27T23:59:59", "x"),
    ("during:7d x", KOLKATA, "2026-11-24T00:00:00", "2026-11-30T23:59:59", "x"),
    ("during:july 2025, x", GREENWICH, "2025-07-01T00:00:00", "2025-07-31T23:59:59", "x"),
    ("on:march 1, 2025 x", GREENWICH, "2025-03-01T00:00:00", "2025-03-01T23:59:59", "x"),
    ("on:12/25/2024 x", GREENWICH, "2024-12-25T00:00:00", "2024-12-25T23:59:59", "x"),
    ("on:july -2025x", GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", ""),
    ("after:june before:august x", GREENWICH, "2026-07-01T00:00:00", "2026-07-31T23:59:59", "x"),
    ("during:2026 after:2026-03-07 before:2026-03-09", LOS_ANGELES, "2026-03-08T00:00:00", "2026-03-08T23:59:59", ""),
    ("after:2026-03-01 after:2025 before:2026-03-03", GREENWICH, "2026-03-02T00:00:00", "2026-03-02T23:59:59", ""),
    ("on:2026-03-01T10:30 x", KOLKATA, "2026-03-01T10:30:00", "2026-03-01T10:30:59", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "zone", "first", "last", "text"), DATES)
def test_dates_in_words(typed: str, zone: ZoneInfo, first: str, last: str, text: str) -> None:
    parsed = parse(typed, zone=zone)

    def local(moment: str) -> int:
        aware = datetime.fromisoformat(moment).replace(tzinfo=zone)
        return micros(aware.isoformat())

    assert parsed.text == text
    assert parsed.filters.start_ts_us == local(first)
    assert parsed.filters.end_ts_us == local(last) + 999_999


@pytest.mark.parametrize(
    ("typed", "modifier", "value"),
    [
        ("in: general", "in:", ""),
        ("from: ada", "from:", ""),
        ("x after:", "after:", ""),
        ("after:soon x", "after:", "soon"),
        ("on:2026-02-30", "on:", "2026-02-30"),
        ("on:click", "on:", "click"),
        ("mode:fuzzy", "mode:", "fuzzy"),
        ("mode:lexical mode:hybrid", "mode:", "hybrid"),
        ("sort:best", "sort:", "best"),
        ("sort:newest sort:oldest", "sort:", "oldest"),
        ("has:pin", "has:", "pin"),
        ("is:saved", "is:", "saved"),
        ("-has:link", "-has:", "link"),
        ("-on:2026-03-01", "-on:", "2026-03-01"),
        ("in:<@U123>", "in:", "<@U123>"),
        ("from:<#C123|general>", "from:", "<#C123|general>"),
        ("x in:#", "in:", "#"),
        ("from:@ x", "from:", "@"),
    ],
)
def test_a_value_that_cannot_be_understood_is_named(typed: str, modifier: str, value: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(typed)
    assert (caught.value.modifier, caught.value.value) == (modifier, value)
    assert modifier in str(caught.value)


def test_a_value_that_cannot_be_understood_can_be_searched_in_quotes() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("on:click handler")
    assert '"on:click"' in str(caught.value)
    assert parse('"on:click" handler').text == "on:click handler"


@pytest.mark.parametrize(
    ("typed", "said"),
    [("from:<#C123|general>", '"from:#general"'), ("in:<@U123|ada>", '"in:@ada"'), ("in:<@U123>", '"in:@U123"')],
)
def test_a_value_that_cannot_be_understood_is_repeated_as_it_was_seen(typed: str, said: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(typed)
    assert said in str(caught.value)
    assert "<" not in str(caught.value)


def test_from_me_needs_somebody() -> None:
    with pytest.raises(QuerySyntaxError, match="from:me"):
        parse("from:me", me=None)


def test_from_me_works_for_somebody_the_directory_does_not_hold() -> None:
    parsed = parse("x from:me", me="U999")
    assert parsed.filters.author_ids == ("U999",)
    assert parsed.understood == "x from @me"


def test_a_near_miss_is_offered() -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse("x in:#genral")
    assert caught.value.suggestions == ("general",)


def test_a_part_of_several_names_asks_which() -> None:
    with pytest.raises(AmbiguousNameError, match="Mara Lind, Mara Vos"):
        parse("x from:mara")


@pytest.mark.parametrize("typed", ["in:{0}", "in:#{0}", "in:<#C999|{0}>", "-in:<#C999|{0}>"])
def test_a_channel_that_may_not_be_seen_is_refused_like_one_that_does_not_exist(typed: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse(typed.format("secret-plans"))
    assert str(caught.value) == "There is no channel called “secret-plans” here."


def test_a_channel_id_without_a_label_is_refused_in_the_same_words() -> None:
    for typed in ("in:C999", "in:<#C999>", "in:<#C999|>"):
        with pytest.raises(UnknownNameError) as caught:
            parse(typed)
        assert str(caught.value) == "There is no channel called “C999” here."


def test_a_label_never_leads_to_another_channel() -> None:
    with pytest.raises(UnknownNameError):
        parse("in:<#C999|general>")


@pytest.mark.parametrize(
    "typed", ["after:2026-03-01 before:2026-02-01", "on:2026-03-01 on:2026-03-02", "after:2025 during:2025"]
)
def test_dates_that_leave_nothing_are_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(FilterError, match="No time fits all of these dates"):
        parse(typed)


@pytest.mark.parametrize(
    "typed",
    [
        " ".join(f"from:U0{number}" for number in range(101)),
        " ".join(f'"p{number}"' for number in range(101)),
        " ".join(f"-w{number}" for number in range(101)),
        "on:2026-03-01 " * 21,
    ],
)
def test_too_many_values_are_refused(typed: str) -> None:
    with pytest.raises(FilterError, match="at most"):
        parse(typed)


def test_a_naive_now_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="aware"):
        parse("x", now=datetime(2026, 11, 30))


@pytest.mark.parametrize(
    "typed",
    [
        "word " * 8_000,
        "<" * 40_000,
        '"' * 39_999,
        '"a ' * 10_000,
        "in:<" * 10_000,
        "<@U1 " * 8_000,
        "<https://a" * 4_000,
        "-" * 40_000,
        '(("' * 10_000,
        " " * 40_000,
        "&amp;" * 8_000,
        "after:" + "1" * 40_000,
        "in:" + "x" * 40_000,
        "on:3 " * 8_000,
        "from:Mara Vos " * 3_000,
    ],
)
def test_long_texts_are_read_quickly(typed: str) -> None:
    started = time.perf_counter()
    outcome = outcome_of(typed)
    # Generous for a shared machine; what grows with the square would take minutes.
    assert time.perf_counter() - started < 3
    assert isinstance(outcome, ParsedQuery) or len(str(outcome)) < 600


PIECES = st.sampled_from(
    [
        *("in:", "from:", "before:", "after:", "on:", "during:", "mode:", "has:", "is:", "sort:", "-", "--", ":", "|"),
        *('"', "“", "”", "«", "'", "<", ">", "<@", "<#", "<!", "<https://x.io|", "&lt;", "&amp;", " ", "\n", "\x1c"),
        *("general", "C123", "ada", "me", "U123", "last week", "2025", "july", "7d", "12/25/2024", "lexical", "link"),
        *("\ud800", "👩‍👩‍👧", "é", "上海", "٣", "²", "\x00", "\u202e", "İ"),
    ]
)


@given(
    pieces=st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=20),
    zone=st.sampled_from([LOS_ANGELES, KOLKATA, GREENWICH]),
)
@example(pieces=['-in:"', "\x1c", '"'], zone=GREENWICH)
@settings(max_examples=300, deadline=None)
def test_any_text_is_understood_or_refused_with_a_sentence(pieces: list[str], zone: ZoneInfo) -> None:
    outcome = outcome_of("".join(pieces), zone=zone)
    if isinstance(outcome, RequestError):
        assert str(outcome)
    else:
        assert outcome.understood or not outcome.text
        assert "\n" not in outcome.understood


@given(words=st.lists(st.text(alphabet="abcxyz012éß上.,_/#@%'’", min_size=1, max_size=8), max_size=12))
@settings(max_examples=150, deadline=None)
def test_plain_words_come_back_as_they_were_typed(words: list[str]) -> None:
    parsed = parse(" ".join(words))
    assert parsed.text == parsed.understood == " ".join(words)
    assert parsed.filters == Filters()


@given(
    order=st.permutations(
        ["rate", "in:general", "limit", "from:ada", "after:2025", "-draft", '"exact match"', "is:thread"]
    )
)
@settings(max_examples=60, deadline=None)
def test_modifiers_mean_the_same_in_any_order(order: list[str]) -> None:
    parsed = parse(" ".join(order))
    assert parsed.filters == parse('in:general from:ada after:2025 -draft "exact match" is:thread').filters
    assert parsed.text.split() == [word for piece in order for word in _ranked(piece)]


def _ranked(piece: str) -> list[str]:
    return [] if ":" in piece or piece.startswith("-") else piece.strip('"').split()


def test_half_characters_are_replaced_and_pairs_joined() -> None:
    assert parse('caf\udce9 "\ud83d\ude00 x"').text == "caf\ufffd \U0001f600 x"
