"""Each event carries the ids that join command, presses and errors, and stages that add up to its total."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot import texts
from bot.audit import AuditRecord, read_audit
from bot.guard import Request
from bot.payloads import Asked
from tests.bot_harness import ADA, BEN, Office, build_archive, eventually, running_bot
from tests.log_capture import captured_log
from tests.test_guard import HeardReply


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journal") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(
        archive, audit_dir=tmp_path / "audit", store=tmp_path / "store.sqlite3", admins=frozenset({ADA})
    ) as office:
        yield office


async def entries(folder: Path, count: int) -> list[AuditRecord]:
    """Wait for so many entries beside start and swap, and return them."""
    found: list[AuditRecord] = []

    def is_there() -> bool:
        found[:] = [one for one in read_audit(folder) if one.event not in {"start", "swap"}]
        return len(found) >= count

    await eventually(is_there)
    assert len(found) == count
    return found


async def test_presses_carry_the_id_of_their_command(office: Office, tmp_path: Path) -> None:
    with captured_log() as log:
        answer = await office.ask("outage")
        other = await office.ask("rate limit 429", user=BEN)
        thread = await office.press(answer, "Expand thread")
        back = await office.press(thread, "Back to results")
        await office.press(await office.press(back, "More"), texts.GOOD_RESULT)
        await office.press(other, "Next", user=BEN)
        kept = await entries(tmp_path / "audit", 7)

    mine = [one for one in kept if one.user_id == ADA]
    assert [one.event for one in mine] == ["search", "expand", "page", "expand", "vote"]
    assert {one.search_id for one in mine} == {mine[0].request_id}
    assert len({one.request_id for one in kept}) == len(kept)
    theirs = [one for one in kept if one.user_id == BEN]
    assert {one.search_id for one in theirs} == {theirs[0].request_id} != {mine[0].request_id}
    for record in kept[1:]:
        lines = [line for line in log.lines() if line.get("request_id") == record.request_id]
        assert lines, record
        if record.search_id != record.request_id:
            assert {line["search_id"] for line in lines} == {record.search_id}


async def test_an_error_is_joined_to_its_command(office: Office, tmp_path: Path) -> None:
    answer = await office.ask("outage")
    office.slack.fault("error", method="users.info", error="internal_error", times=-1)
    office.bot.services.workspace.drop_person(ADA)
    await office.press_and_tell(answer, "Expand thread", said=texts.SLACK_DID_NOT_ANSWER)
    search, error = await entries(tmp_path / "audit", 2)

    assert (error.event, error.reason) == ("error", "SlackUnavailableError")
    assert error.search_id == search.request_id


async def test_start_swaps_and_stop_of_one_process_share_an_id(archive: Path, tmp_path: Path) -> None:
    async with running_bot(archive, audit_dir=tmp_path / "audit"):
        pass
    kept = list(read_audit(tmp_path / "audit"))

    assert [one.event for one in kept] == ["swap", "start", "stop"]
    assert len({one.request_id for one in kept}) == 1
    assert kept[0].request_id


async def test_the_stages_of_an_answer_add_up(office: Office, tmp_path: Path) -> None:
    answer = await office.ask("rate limit 429")
    await office.press(answer, "Next")
    await office.ask("lunch mode:lexical")
    await office.ask("xylophone mode:lexical")

    for record in await entries(tmp_path / "audit", 4):
        stages = {stage: spent for stage, spent in record.timings_ms.items() if stage != "total"}
        assert sum(stages.values()) == pytest.approx(record.timings_ms["total"], abs=0.05)
        assert stages.keys() >= {"access", "names", "waiting", "lexical", "rows", "rendering", "other"}
        assert all(spent >= 0 for spent in stages.values())


def test_the_engines_stages_stand_in_the_place_of_the_search() -> None:
    request = Request(asked=Asked(), body={}, reply=HeardReply())
    with request.stopwatch.stage("search"):
        pass
    request.stopwatch._stages["search"] = 50.0
    told = request.timings_with({"lexical": 10.0, "other": 2.0, "total": 12.0})

    assert told["lexical"] == 10.0
    assert told["waiting"] == pytest.approx(38.0)
    assert "search" not in told


async def test_a_search_is_answered_although_its_entry_is_lost_and_admins_are_told(
    archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "audit").write_text("a file in the way")
    async with running_bot(archive, audit_dir=tmp_path / "audit", admins=frozenset({ADA})) as office:
        with captured_log() as log:
            answer = await office.ask("rate limit 429")
            audit = office.bot.services.audit
            await eventually(lambda: audit.dropped >= 3)
            status, others = await office.ask("status"), await office.ask("status", user=BEN)

        assert "results 1 to 5" in answer.plain_text
        assert "could not be written. More are being lost now" in status.plain_text
        assert "could not be written" not in others.plain_text
        assert f"slackquery_audit_lines_lost {float(audit.dropped)}" in audit.metrics.render().decode()
        assert log.events().count("audit_not_written") <= 1


FORBIDDEN = ("merger", "secret-plans", "zebra", "xylophone", "payroll")


@pytest.mark.parametrize("setting", ["hashed", "none"])
async def test_neither_log_nor_audit_file_holds_what_was_typed_or_found(
    archive: Path, tmp_path: Path, setting: str
) -> None:
    folder = tmp_path / "audit"
    with captured_log() as log:
        async with running_bot(
            archive, audit_dir=folder, audit_query_text=setting, store=tmp_path / "store.sqlite3", metrics_port=0
        ) as office:
            for command in (
                "merger",
                '"zebra paper" -payroll',
                "xylophone",
                "in:#secret-plans merger",
                "from:@payroll x",
            ):
                await office.ask(command)
                await office.ask(command, user=BEN)
            answer = await office.ask("zebra")
            await office.press(answer, "Context")
            shown = office.bot.services.audit.metrics.render().decode()
            tokens = (office.slack.bot_token, office.slack.app_token)
    written = "".join(path.read_text() for path in folder.iterdir())

    for words in (*FORBIDDEN, *tokens):
        assert words not in log.getvalue().casefold(), words
        assert words not in written.casefold(), words
        assert words not in shown.casefold(), words
    assert ("query_hash" in written) is (setting == "hashed")
    assert all(user not in shown for user in (f'"{ADA}"', f'"{BEN}"'))


async def test_what_is_kept_of_a_refusal_does_not_tell_whether_a_channel_exists(office: Office, tmp_path: Path) -> None:
    with captured_log() as log:
        await office.ask("lunch in:#secret-plans", user=BEN)
        await office.ask("lunch in:#nowhere-plans", user=BEN)
        first, second = await entries(tmp_path / "audit", 2)

    varying = {"at", "request_id", "search_id", "timings_ms"}
    assert first.model_dump(exclude=varying) == second.model_dump(exclude=varying)
    lines = [line for line in log.lines() if line["event"] == "request_not_answered"]
    without: list[dict[str, Any]] = [
        {key: value for key, value in line.items() if key not in {"at", "request_id"}} for line in lines
    ]
    assert without[0] == without[1]
    assert "plans" not in json.dumps(without)
