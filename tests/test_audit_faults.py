"""Writing the audit file never delays or fails anybody, and loses only what the disk does not take, counted."""

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.audit import AuditEntry, AuditEvent, AuditFile, read_audit
from bot.settings import QueryText
from tests.log_capture import captured_log

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def audit_file(folder: Path, *, max_bytes: int = 1_000_000, keep_days: int = 30) -> AuditFile:
    return AuditFile(
        folder, query_text=QueryText.NONE, key=b"k", max_bytes=max_bytes, keep_days=keep_days, clock=lambda: NOON
    )


def entry(name: str) -> AuditEntry:
    return AuditEntry(event=AuditEvent.SEARCH, request_id=name, hits=1)


def written(folder: Path) -> list[str]:
    return [record.request_id or "" for record in read_audit(folder)]


def wait_until_written(audit: AuditFile) -> None:
    while not audit._waiting.empty():
        time.sleep(0.001)
    time.sleep(0.02)


def write_many(folder: Path, name: str, count: int) -> None:
    audit = audit_file(folder, max_bytes=2_000)
    for number in range(count):
        audit.write(entry(f"{name}-{number}"))
        if number % 50 == 0:
            time.sleep(0.001)
    audit.close(timeout_seconds=60)
    assert audit.dropped == 0


def test_two_processes_on_one_folder_lose_and_double_nothing_while_files_are_rotated(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_many, args=(tmp_path, name, 600)) for name in ("a", "b", "c")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0

    expected = {f"{name}-{number}" for name in "abc" for number in range(600)}
    assert Counter(written(tmp_path)) == Counter(expected)
    assert len(list(tmp_path.iterdir())) > 20


def test_a_full_disk_loses_only_what_it_did_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third line is taken in part, the fourth not at all."""
    write, turn = os.write, iter(range(100))

    def filling(descriptor: int, content: bytes) -> int:
        match next(turn):
            case 2:
                return write(descriptor, content[:7])
            case 3:
                raise OSError(errno.ENOSPC, "No space left on device")
            case _:
                return write(descriptor, content)

    audit = audit_file(tmp_path)
    with captured_log() as log:
        monkeypatch.setattr(os, "write", filling)
        for number in range(6):
            audit.write(entry(str(number)))
        audit.close()
        monkeypatch.undo()

    assert written(tmp_path) == ["0", "1", "4", "5"]
    assert audit.dropped == 2
    assert audit.problem is None
    assert log.events() == ["audit_not_written", "audit_written_again"]


def test_a_really_full_device_is_survived() -> None:
    """/dev/full refuses every write as a full disk does."""
    audit = audit_file(Path("/dev/full"))
    with captured_log() as log:
        for number in range(5):
            audit.write(entry(str(number)))
        audit.close()

    assert audit.dropped == 5
    assert log.events() == ["audit_not_written"]


def test_half_a_line_of_a_killed_process_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "audit-2026-05-04.0001.jsonl").write_text('{"at": "2026-05-04T11:00')
    audit = audit_file(tmp_path)
    audit.write(entry("whole"))
    audit.close()

    assert written(tmp_path) == ["whole"]


def test_a_folder_that_cannot_be_written_costs_its_entries_and_nothing_else(tmp_path: Path) -> None:
    """As another user where the tests run as root, whom no permission holds."""
    program = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from tests.test_audit_faults import audit_file, entry\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "audit = audit_file(Path(sys.argv[1]))\n"
        "for number in range(3): audit.write(entry(str(number)))\n"
        "audit.close()\n"
        "print(json.dumps([audit.dropped, audit.problem]))\n"
    )
    folder = tmp_path / "audit"
    folder.mkdir()
    for parent in (tmp_path, *tmp_path.parents[:2]):
        if os.getuid() == 0 and parent.is_relative_to("/tmp"):
            parent.chmod(0o755)
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True, timeout=60
    )

    assert json.loads(done.stdout.splitlines()[-1]) == [3, "PermissionError"]
    assert list(folder.iterdir()) == []


def test_files_and_folders_that_are_taken_away_are_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    audit = audit_file(folder)
    audit.write(entry("0"))
    wait_until_written(audit)
    (first,) = folder.iterdir()
    first.rename(tmp_path / "rotated.jsonl")
    audit.write(entry("1"))
    wait_until_written(audit)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    audit.write(entry("2"))
    audit.close()

    assert '"0"' in (tmp_path / "rotated.jsonl").read_text()
    assert written(folder) == ["2"]
    assert audit.dropped == 0


def test_old_files_that_cannot_be_removed_do_not_stop_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "audit-2020-01-01.0001.jsonl").write_text("")

    def refuse(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(Path, "unlink", refuse)
    with captured_log() as log:
        audit = audit_file(tmp_path)
        audit.write(entry("new"))
        audit.close()

    assert written(tmp_path) == ["new"]
    assert log.events() == ["audit_not_pruned"]


def test_a_disk_that_hangs_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,500 entries are taken at once; those that no longer fit into the queue are counted."""
    ends = threading.Event()
    monkeypatch.setattr(AuditFile, "_append", lambda self, content: ends.wait(60))
    audit = audit_file(tmp_path)
    began = time.thread_time()
    for number in range(10_500):
        audit.write(entry(str(number)))
    spent = time.thread_time() - began
    audit.close(timeout_seconds=0.05)
    lost = audit.dropped
    ends.set()

    assert spent / 10_500 < 0.001
    assert lost >= 10_498


def test_a_line_waits_for_another_process_only_a_moment(tmp_path: Path) -> None:
    import fcntl  # noqa: PLC0415 - only here.

    path = tmp_path / "audit-2026-05-04.0001.jsonl"
    path.write_text("")
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        audit = audit_file(tmp_path)
        audit.write(entry("patient"))
        audit.close(timeout_seconds=5)

    assert written(tmp_path) == ["patient"]
