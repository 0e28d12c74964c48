"""`slackquery logs` shows the audit file, filtered, as a table or as JSON."""

import csv
import io
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.audit import AuditEntry, AuditEvent, AuditFile
from bot.audit_reader import AuditTail, LogFilter
from bot.cli import main
from bot.settings import QueryText
from retrieval import Filters

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An audit folder with four entries, an hour apart, and a search of just now."""
    now = [NOON]
    audit = AuditFile(
        tmp_path, query_text=QueryText.FULL, key=b"k", max_bytes=10_000, keep_days=10_000, clock=lambda: now[0]
    )
    for entry in (
        AuditEntry(event=AuditEvent.START),
        AuditEntry(
            event=AuditEvent.SEARCH,
            user_id="U1",
            channel_id="C1",
            query="rate [bold]limit\x1b[31m 429",
            mode="hybrid",
            route="mixed",
            filters=Filters(has=("link",)),
            hits=5,
            offset=0,
            degraded=True,
            timings_ms={"total": 12.4},
        ),
        AuditEntry(event=AuditEvent.REFUSED, user_id="U2", reason="guest"),
        AuditEntry(event=AuditEvent.PAGE, user_id="U1", query="rate limit 429", hits=3, offset=5),
    ):
        audit.write(entry)
        now[0] += timedelta(hours=1)
        # Each is on disk before the clock goes on, because the writer reads the clock for the day.
        while not any(entry.event.value in path.read_text() for path in tmp_path.glob("*.jsonl")):
            pass
    now[0] = datetime.now(UTC)
    audit.write(AuditEntry(event=AuditEvent.STOP))
    audit.close()
    return tmp_path


def run(folder: Path | None, *arguments: str) -> Result:
    where = ("--audit-dir", str(folder)) if folder else ()
    return CliRunner().invoke(main, ["logs", *where, *arguments])


def events(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [entry["event"] for entry in json.loads(result.stdout)["entries"]]


def test_the_table_tells_who_searched_how_and_what_was_found(folder: Path) -> None:
    result = run(folder)

    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if "search" in line)
    for word in ("2026-05-04 13:00:00", "U1", "C1", "hybrid mixed degraded", "5 from 1", "12", "rate [bold]limit"):
        assert word in line
    assert "guest" in result.stdout


def test_what_was_typed_cannot_command_the_terminal(folder: Path) -> None:
    assert "\x1b" not in run(folder).stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["start", "search", "refused", "page", "stop"]),
        (("--user", "U1"), ["search", "page"]),
        (("--user", "U1", "--user", "U2"), ["search", "refused", "page"]),
        (("--event", "refused", "--event", "start"), ["start", "refused"]),
        (("--since", "2026-05-04T13:00", "--until", "2026-05-04T15:00"), ["search", "refused"]),
        (("--since", "2026-05-04T15:00+02:00", "--until", "2026-05-05"), ["search", "refused", "page"]),
        (("--since", "1h"), ["stop"]),
        (("--limit", "2"), ["page", "stop"]),
        (("--user", "U9"), []),
    ],
)
def test_filters_narrow(folder: Path, arguments: tuple[str, ...], expected: list[str]) -> None:
    assert events(run(folder, "--json", *arguments)) == expected


def test_json_holds_every_field(folder: Path) -> None:
    (entry,) = json.loads(run(folder, "--json", "--event", "search").stdout)["entries"]

    assert entry["filters"] == {"has": ["link"]}
    assert entry["timings_ms"] == {"total": 12.4}
    assert entry["at"].startswith("2026-05-04T13:00:00")


def test_the_folder_comes_from_the_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKQUERY_AUDIT_DIR", str(folder))

    assert events(run(None, "--json", "--event", "stop")) == ["stop"]


def test_a_folder_that_is_not_there_and_a_time_that_is_none(tmp_path: Path) -> None:
    missing = run(tmp_path / "nowhere")
    assert (missing.exit_code, "There is no folder" in missing.stderr) == (1, True)

    wrong = run(tmp_path, "--since", "teatime")

    assert (wrong.exit_code, "'teatime' is no time" in wrong.stderr) == (2, True)


def test_nothing_that_fits_is_said(folder: Path) -> None:
    assert "No entry fits." in run(folder, "--user", "U9").stdout


def test_an_artifact_and_a_request_narrow_too(tmp_path: Path) -> None:
    audit = AuditFile(
        tmp_path, query_text=QueryText.NONE, key=b"k", max_bytes=10_000, keep_days=9_999, clock=lambda: NOON
    )
    for request_id, search_id, artifact_id in (("r1", "r1", "a"), ("r2", "r1", "b"), ("r3", "r3", "b")):
        audit.write(
            AuditEntry(
                event=AuditEvent.PAGE, request_id=request_id, search_id=search_id, artifact_id=artifact_id, hits=1
            )
        )
    audit.close()

    def ids(*arguments: str) -> list[str]:
        return [entry["request_id"] for entry in json.loads(run(tmp_path, "--json", *arguments).stdout)["entries"]]

    assert ids("--artifact", "b") == ["r2", "r3"]
    assert ids("--request", "r1") == ["r1", "r2"]


def test_csv_has_one_row_an_entry(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(folder, "--format", "csv").stdout)))

    assert [row["event"] for row in rows] == ["start", "search", "refused", "page", "stop"]
    assert (rows[1]["hits"], rows[1]["total_ms"], rows[1]["degraded"]) == ("5", "12.4", "True")
    assert rows[1]["query"] == "rate [bold]limit [31m 429"


@pytest.mark.parametrize(
    "arguments", [("summary", "--follow"), ("summary", "--limit", "3"), ("--json", "--format", "csv"), ("sums",)]
)
def test_what_has_no_meaning_together_is_refused(folder: Path, arguments: tuple[str, ...]) -> None:
    assert run(folder, *arguments).exit_code == 2


def entry_line(number: int) -> str:
    return json.dumps(
        {"at": (NOON + timedelta(seconds=number)).isoformat(), "event": "page", "request_id": str(number)}
    )


def test_following_goes_on_across_files_days_and_replaced_files(tmp_path: Path) -> None:
    tail = AuditTail(tmp_path / "audit", wanted=LogFilter())
    new = lambda: [record.request_id for record in tail.read_new()]  # noqa: E731 - short, and used at once.

    assert new() == []
    (tmp_path / "audit").mkdir()
    first, second, third = (
        tmp_path / "audit" / name
        for name in ("audit-2026-05-04.0001.jsonl", "audit-2026-05-04.0002.jsonl", "audit-2026-05-05.0001.jsonl")
    )
    first.write_text(entry_line(1) + "\n" + entry_line(2)[:20])
    assert new() == ["1"]
    with first.open("a") as file:
        file.write(entry_line(2)[20:] + "\n" + entry_line(3) + "\n")
    second.write_text(entry_line(4) + "\n")
    assert new() == ["2", "3", "4"]
    first.unlink()
    third.write_text(entry_line(5) + "\n")
    assert new() == ["5"]
    third.write_text("")
    assert new() == []
    third.write_text(entry_line(6) + "\n")
    assert new() == ["6"]
    assert new() == []


def test_follow_prints_what_another_process_writes(folder: Path) -> None:
    command = [sys.executable, "-m", "bot", "logs", "--audit-dir", str(folder), "--follow", "--json", "--limit", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "stop"
        (folder / "audit-2026-05-06.0001.jsonl").write_text(entry_line(7) + "\n")
        assert json.loads(process.stdout.readline())["request_id"] == "7"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0, process.stderr
