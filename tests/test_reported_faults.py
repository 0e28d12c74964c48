"""Faults that people reported of systems like this one and no other module tests; docs/faults.md has them all."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from retrieval import (
    Artifact,
    Filters,
    Mode,
    NamedChannel,
    NameDirectory,
    NamedPerson,
    ParsedQuery,
    SearchRequest,
    Visibility,
    get_slack_message,
    get_slack_thread,
    parse_query,
    search_slack,
)
from tests.artifact_factory import MINUTE_US, START_US, Row, write_artifact

UTC_ZONE, LOS_ANGELES = ZoneInfo("UTC"), ZoneInfo("America/Los_Angeles")
DIRECTORY = NameDirectory(
    [NamedChannel(channel_id="C77", name="harbour")], [NamedPerson(user_id="U77", name="ada", display_name="Ada")]
)
SEE_ALL = Visibility.everything()


def parse(typed: str, *, zone: ZoneInfo = UTC_ZONE) -> ParsedQuery:
    return parse_query(typed, directory=DIRECTORY, now=datetime(2026, 11, 30, 12, tzinfo=UTC), timezone=zone, me="U77")


@pytest.mark.parametrize("typed", ["-lunch", "DEC-0054 -lunch", "--lunch", "- lunch", "lunch -"])
def test_a_hyphen_is_an_exclusion_where_documented_and_never_an_error(typed: str) -> None:
    """B2: `-word` excludes; `--word` and a hyphen alone are text."""
    parsed = parse(typed)

    assert parsed.filters.excluded_words == (("lunch",) if " -lunch" in f" {typed}" else ())


@pytest.mark.parametrize("typed", ["“rate limit”", "„rate limit“", '"rate limit"', "«rate limit»"])
def test_curly_quotes_are_quotes(typed: str) -> None:
    """B10: phones and Slack itself turn straight quotes into curly ones."""
    assert parse(typed).filters.phrases == ("rate limit",)


@pytest.mark.parametrize("typed", ["what's John's deal", "what’s John’s deal", "the teams' plans and 'notes'"])
def test_an_apostrophe_opens_no_phrase(typed: str) -> None:
    """B10: everything typed is searched for."""
    parsed = parse(typed)

    assert parsed.filters == Filters()
    assert parsed.text == typed


@pytest.mark.parametrize("word", ["10:30", "http://x.io/a", "port:8080", "std::vector", "C:\\temp", "in_stock:no"])
def test_a_word_with_a_colon_that_is_no_modifier_stays_in_the_query(word: str) -> None:
    """B11: times, addresses and unknown keys are text."""
    parsed = parse(f"outage {word} again")

    assert parsed.text == f"outage {word} again"
    assert parsed.filters == Filters()


@pytest.mark.parametrize("typed", ["in:#harbour", "in:harbour", "in:<#C77|harbour>", "in:<#C77>", "in:C77"])
def test_every_way_to_name_a_channel_means_the_same(typed: str) -> None:
    """B13: `#` stands once, whoever put it there."""
    parsed = parse(f"{typed} lunch")

    assert parsed.filters.channel_ids == ("C77",)
    assert parsed.understood == "lunch in #harbour"


def test_a_late_evening_belongs_to_the_day_of_who_asks(tmp_path: Path) -> None:
    """B15: 23:30 in Los Angeles on 1 March is 07:30 UTC on 2 March, and each finds it on their own day."""
    moment = datetime(2026, 3, 1, 23, 30, tzinfo=LOS_ANGELES)
    minute = (int(moment.timestamp()) * 1_000_000 - START_US) // MINUTE_US
    path = write_artifact(tmp_path, [Row(key="late", text="lunch", minute=minute, vector=(1, 0, 0))])

    def days(zone: ZoneInfo) -> list[str]:
        found = []
        for day in ("2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03"):
            filters = parse(f"on:{day}", zone=zone).filters
            request = SearchRequest(text="lunch", mode=Mode.LEXICAL, filters=filters)
            if search_slack(artifact, request, visibility=SEE_ALL, embedder=None).hits:
                found.append(day)
        return found

    with Artifact(path) as artifact:
        assert days(LOS_ANGELES) == ["2026-03-01"]
        assert days(UTC_ZONE) == ["2026-03-02"]


def test_a_reply_sent_to_the_channel_too_stands_in_thread_and_channel_once_each(tmp_path: Path) -> None:
    """B30: tools that read only one of the two places lose it."""
    rows = [
        Row(key="root", thread="root", parent=True, text="the outage", vector=(1, 0, 0)),
        Row(key="reply", thread="root", text="it is over", minute=2, broadcast=True, vector=(1, 0, 0)),
        Row(key="next", text="lunch", minute=3, vector=(1, 0, 0)),
    ]
    with Artifact(write_artifact(tmp_path, rows)) as artifact:
        thread = get_slack_thread(artifact, "T1:C1:root", visibility=SEE_ALL)
        around = get_slack_message(artifact, "T1:C1:next", visibility=SEE_ALL)

    assert [one.text for one in thread.messages] == ["the outage", "it is over"]
    assert [one.text for one in around.before] == ["the outage", "it is over"]
