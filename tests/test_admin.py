"""The word `admin`: the logs for those who are listed as admins, and one plain sentence for everybody else."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot import texts
from bot.audit import read_audit
from bot.limits import MESSAGE_BLOCKS, MESSAGE_CHARACTERS
from tests.bot_harness import ADA, BEN, GENERAL, GUS, ROBO, TEAM_ID, Office, build_archive, eventually, running_bot
from tests.log_capture import captured_log


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("admin") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(
        archive, audit_dir=tmp_path / "audit", audit_query_text="full", admins=frozenset({ADA})
    ) as office:
        yield office


def write_entries(folder: Path, count: int) -> None:
    """Write entries of the last hours into a file of their own, the newest last."""
    begin = datetime.now(UTC) - timedelta(hours=3)
    lines = []
    for number in range(count):
        entry = {
            "at": (begin + timedelta(seconds=number)).isoformat(),
            "event": "search",
            "request_id": f"{number:012x}",
            "user_id": BEN,
            "team_id": TEAM_ID,
            "mode": "hybrid",
            "route": "mixed",
            "hits": number % 6,
            "query": f"<!channel> *old* search {number} & {'long ' * 30}",
            "timings_ms": {"total": 20.0 + number},
        }
        lines.append(json.dumps(entry) + "\n")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / f"audit-{begin.date()}.0000.jsonl").write_text("".join(lines))


async def test_the_last_day_is_summed_up_for_an_admin(office: Office) -> None:
    await office.ask("rate limit 429")
    await office.ask("xylophone mode:lexical", user=BEN)
    answer = await office.ask("admin")

    assert texts.ADMIN_TITLES["summary"] in answer.plain_text
    for words in ("2 searches, 2 people", "p95 ms", "hybrid", "lexical", "100.0%", "xylophone mode:lexical"):
        assert words in answer.plain_text
    assert [control.text for control in answer.controls] == ["✓ Summary", "Last entries", "Archives"]


async def test_the_last_entries_are_paged_and_stay_where_they_are(office: Office, tmp_path: Path) -> None:
    write_entries(tmp_path / "audit", 35)
    first = await office.press(await office.ask("admin"), "Last entries")
    assert "ben" in first.plain_text
    await office.ask("lunch", user=BEN)
    second = await office.press(first, "Older")
    third = await office.press(second, "Older")
    back = await office.press(await office.press(third, "Newer"), "Newer")

    assert back.plain_text == first.plain_text
    shown = [number for number in range(35) if f"search {number} &" in second.plain_text + third.plain_text]
    assert len(shown) == 20
    assert "lunch" not in second.plain_text
    newest = await office.press(back, texts.marked("Last entries"))
    assert "lunch" in newest.plain_text


async def test_starts_and_archives_are_listed(office: Office) -> None:
    answer = await office.press(await office.ask("admin"), "Archives")
    info = office.bot.services.watch.state.info

    assert info is not None
    assert info.artifact_id in answer.plain_text
    assert "start" in answer.plain_text


@pytest.mark.parametrize("user", [BEN, GUS])
async def test_others_get_one_sentence_that_tells_nothing(office: Office, tmp_path: Path, user: str) -> None:
    await office.ask("rate limit 429")
    answer = await office.ask("admin", user=user)

    assert answer.plain_text == texts.ADMIN_REFUSED
    assert answer.controls == ()
    await eventually(lambda: any(one.reason == "not_admin" for one in read_audit(tmp_path / "audit")))


async def test_who_is_not_served_is_refused_as_ever(office: Office) -> None:
    assert (await office.ask("admin", user=ROBO)).plain_text == texts.REFUSED_BOT


async def test_the_word_in_quotes_or_among_others_is_searched_for(office: Office) -> None:
    for command in ('"admin"', "admin rights"):
        answer = await office.ask(command)
        assert texts.ADMIN_TITLES["summary"] not in answer.plain_text
        assert "archive of" in answer.plain_text


async def test_who_is_no_admin_any_more_is_refused_at_the_next_press(archive: Path, tmp_path: Path) -> None:
    settings = {"audit_dir": tmp_path / "audit", "secret": "the same for both"}
    async with running_bot(archive, admins=frozenset({ADA}), **settings) as office:
        answer = await office.ask("admin")
        object.__setattr__(office.bot.services, "admins", frozenset())
        after = await office.press(answer, "Last entries")

        assert after.plain_text == texts.ADMIN_REFUSED


async def test_without_an_audit_file_it_says_so(archive: Path) -> None:
    async with running_bot(archive, admins=frozenset({ADA})) as office:
        assert (await office.ask("admin")).plain_text == texts.ADMIN_OFF


async def test_much_to_show_stays_within_a_message(office: Office, tmp_path: Path) -> None:
    write_entries(tmp_path / "audit", 400)
    summary = await office.ask("admin")
    await office.press(summary, "Last entries")

    for call in (one for one in office.slack.recorder.calls_to("response_url") if one.arguments):
        assert len(call.arguments["blocks"]) <= MESSAGE_BLOCKS
        assert len(json.dumps(call.arguments["blocks"])) < 3 * MESSAGE_CHARACTERS
    page = office.newest()
    for _ in range(19):
        page = await office.press(page, "Older")
    assert texts.ADMIN_ENDS in page.plain_text
    assert "Older" not in [control.text for control in page.controls]


async def test_looking_at_the_logs_is_kept_too(office: Office, tmp_path: Path) -> None:
    await office.press(await office.ask("admin"), "Archives")

    kept = lambda: [(one.user_id, one.reason) for one in read_audit(tmp_path / "audit") if one.event == "admin"]  # noqa: E731
    await eventually(lambda: kept() == [(ADA, "summary"), (ADA, "served")])


async def test_what_the_logs_lost_and_alerts_are_told_to_admins_alone(office: Office) -> None:
    office.bot.services.audit._file._drop("OSError", count=3)  # type: ignore[union-attr]
    mine, others = await office.ask("status"), await office.ask("status", user=BEN)

    assert texts.audit_losses(3, is_failing=False) in mine.plain_text
    assert "audit" not in others.plain_text
    assert office.slack.person(ADA).messages(GENERAL)


async def test_an_alert_is_logged_kept_and_told_to_admins_while_it_holds(archive: Path, tmp_path: Path) -> None:
    settings = {"audit_dir": tmp_path / "audit", "admins": frozenset({ADA}), "alert_searches": 3, "alert_minutes": 10}
    with captured_log() as log:
        async with running_bot(archive, **settings) as office:
            for _ in range(3):
                await office.ask("xylophone mode:lexical", user=BEN)
            during = await office.ask("status")
            others = await office.ask("status", user=BEN)
            for number in range(6):
                await office.ask(f"rate limit {number}", user=BEN)
            after = await office.ask("status")

    assert "Alert: no_hit all 100%" in during.plain_text
    assert "Alert" not in others.plain_text
    assert "Alert" not in after.plain_text
    kept = [one.reason for one in read_audit(tmp_path / "audit") if one.event == "alert"]
    assert kept.count("no_hit all 100%") == kept.count("over: no_hit all") == 1
    assert log.events().count("segment_alert") == log.events().count("segment_alert_over") == len(kept) / 2
