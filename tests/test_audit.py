"""The audit file keeps who searched for what, and no more of the text than was asked for."""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.audit import AuditEntry, AuditEvent, AuditFile, read_audit
from bot.settings import QueryText
from retrieval.models import Filters
from tests.log_capture import captured_log

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SEARCH = AuditEntry(
    event=AuditEvent.SEARCH,
    request_id="r1",
    user_id="U1",
    query="Payroll  spreadsheet",
    filters=Filters(channel_ids=("C1",), phrases=("secret plan",), excluded_words=("budget",)),
    hits=2,
    document_ids=("d1", "d2"),
    warnings=("There is no word “payroll” here.",),
    timings_ms={"total": 12.5},
)


@contextmanager
def audit_file(
    folder: Path,
    *,
    query_text: QueryText = QueryText.HASHED,
    max_bytes: int = 1_000_000,
    keep_days: int = 30,
    now: list[datetime] | None = None,
) -> Iterator[AuditFile]:
    moments = now or [NOON]
    audit = AuditFile(
        folder,
        query_text=query_text,
        key=b"k" * 32,
        max_bytes=max_bytes,
        keep_days=keep_days,
        clock=lambda: moments[0],
    )
    yield audit
    audit.close()


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def test_an_entry_is_one_line_with_what_was_shown(tmp_path: Path) -> None:
    with audit_file(tmp_path) as audit:
        audit.write(SEARCH)

    (line,) = lines(tmp_path)
    assert line["at"] == "2026-05-04T12:00:00.000+00:00"
    assert (line["event"], line["user_id"], line["hits"]) == ("search", "U1", 2)
    assert line["document_ids"] == ["d1", "d2"]
    assert line["timings_ms"] == {"total": 12.5}
    assert "mode" not in line


@pytest.mark.parametrize("setting", [QueryText.HASHED, QueryText.NONE])
def test_without_full_text_no_typed_word_is_on_disk(tmp_path: Path, setting: QueryText) -> None:
    with audit_file(tmp_path, query_text=setting) as audit:
        audit.write(SEARCH)

    written = next(tmp_path.iterdir()).read_text().casefold()
    assert not any(word in written for word in ("payroll", "spreadsheet", "secret", "budget"))
    (line,) = lines(tmp_path)
    assert line["filters"] == {"channel_ids": ["C1"], "phrases": 1, "excluded_words": 1}
    assert ("query_hash" in line) is (setting is QueryText.HASHED)


def test_full_text_is_kept_when_asked_for(tmp_path: Path) -> None:
    with audit_file(tmp_path, query_text=QueryText.FULL) as audit:
        audit.write(SEARCH)

    (line,) = lines(tmp_path)
    assert line["query"] == "Payroll  spreadsheet"
    assert line["warnings"] == ["There is no word “payroll” here."]


def test_equal_queries_have_equal_hashes_only_under_the_same_key(tmp_path: Path) -> None:
    with audit_file(tmp_path / "a") as audit:
        audit.write(SEARCH)
        audit.write(AuditEntry(event=AuditEvent.SEARCH, query="payroll spreadsheet"))
        audit.write(AuditEntry(event=AuditEvent.SEARCH, query="payroll"))
    other = AuditFile(
        tmp_path / "b",
        query_text=QueryText.HASHED,
        key=b"other",
        max_bytes=10_000,
        keep_days=1,
        clock=lambda: NOON,
    )
    other.write(SEARCH)
    other.close()

    first, same, different = (line["query_hash"] for line in lines(tmp_path / "a"))
    assert first == same != different
    assert lines(tmp_path / "b")[0]["query_hash"] != first


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    with audit_file(tmp_path / "audit") as audit:
        audit.write(SEARCH)

    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o700
    assert stat.S_IMODE(next((tmp_path / "audit").iterdir()).stat().st_mode) == 0o600


def test_a_full_file_is_followed_by_the_next_number(tmp_path: Path) -> None:
    with audit_file(tmp_path, max_bytes=600) as audit:
        for _ in range(5):
            audit.write(SEARCH)

    names = [path.name for path in sorted(tmp_path.iterdir())]
    assert names[:2] == ["audit-2026-05-04.0001.jsonl", "audit-2026-05-04.0002.jsonl"]
    assert all(path.stat().st_size <= 600 for path in tmp_path.iterdir())
    assert len(list(read_audit(tmp_path))) == 5


def test_days_before_the_retention_are_deleted_when_a_day_begins(tmp_path: Path) -> None:
    now = [NOON]
    with audit_file(tmp_path, keep_days=2, now=now) as audit:
        for _ in range(5):
            audit.write(SEARCH)
            while not list(tmp_path.glob(f"*{now[0].date()}*")):
                pass
            now[0] += timedelta(days=1)

    days = [path.name[6:16] for path in sorted(tmp_path.iterdir())]
    assert days == ["2026-05-06", "2026-05-07", "2026-05-08"]


def test_a_disk_that_fails_is_reported_once_and_never_raised(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with captured_log() as log, audit_file(blocked) as audit:
        audit.write(SEARCH)
        audit.write(SEARCH)

    assert audit.dropped == 2
    assert log.events().count("audit_not_written") == 1


def test_reading_filters_by_time_and_survives_a_broken_line(tmp_path: Path) -> None:
    now = [NOON]
    with audit_file(tmp_path, now=now) as audit:
        audit.write(SEARCH)
        now[0] = NOON + timedelta(hours=2)
        audit.write(AuditEntry(event=AuditEvent.STOP))
    with next(tmp_path.iterdir()).open("a") as file:
        file.write('{"at": "2026-05-0\n')

    assert [record.event for record in read_audit(tmp_path)] == ["search", "stop"]
    assert [record.event for record in read_audit(tmp_path, since=NOON + timedelta(hours=1))] == ["stop"]
    assert [record.event for record in read_audit(tmp_path, until=NOON + timedelta(hours=1))] == ["search"]
