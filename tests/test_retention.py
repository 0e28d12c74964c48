"""What is kept, what is cleaned away, and what a crash may leave for a moment."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retrieval import Artifact, ArtifactError, ArtifactMissingError, Retention, list_artifacts, prune, publish, rollback
from retrieval.locking import builder_lock, publisher_lock
from retrieval.manifest import manifest_path
from retrieval.refusal import Refusal, read_refusal, refusal_path, write_refusal
from tests.artifact_factory import Row, write_artifact
from tests.artifact_rows import build
from tests.export_factory import ExportFactory

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
KEEP = Retention(newest=3, hours=24)


def add(folder: Path, *, hours_ago: float, refused: bool = False) -> Path:
    """Write an artifact of some age."""
    built = NOW - timedelta(hours=hours_ago)
    rows = [Row(key="1.000001", text="something", vector=(1, 0, 0))]
    path = write_artifact(folder, rows, build_id=f"{built:%Y%m%dT%H%M%SZ}-aaaaaaaa-bbbbbbbb", built_at=built)
    if refused:
        write_refusal(path, Refusal(at=NOW.isoformat(), reasons=("It is too small.",)))
    return path


def names(folder: Path) -> list[str]:
    """The artifacts of a folder, oldest first."""
    return sorted(path.name for path in folder.glob("search-*.duckdb"))


def test_the_newest_the_young_and_the_current_stay(tmp_path: Path) -> None:
    ages = (100, 90, 80, 70, 60, 23)
    old, second, *rest = [add(tmp_path, hours_ago=age) for age in ages]
    publish(tmp_path, old)
    pruned = prune(tmp_path, retention=KEEP, now=NOW)

    assert pruned.removed == (rest[0], second)
    assert names(tmp_path) == [path.name for path in (old, *rest[1:])]
    assert not manifest_path(second).exists()


def test_everything_of_the_last_day_stays_however_many(tmp_path: Path) -> None:
    for age in (0, 1, 2, 5, 10, 23.9, 24.1):
        add(tmp_path, hours_ago=age)
    prune(tmp_path, retention=KEEP, now=NOW)

    assert len(names(tmp_path)) == 6


def test_what_is_of_the_future_stays(tmp_path: Path) -> None:
    """A clock that was set back makes nothing old."""
    for age in (-1, -2, -3, -4, -5):
        add(tmp_path, hours_ago=age)

    assert prune(tmp_path, retention=Retention(newest=1, hours=1), now=NOW).removed == ()


def test_refused_builds_do_not_push_out_what_one_can_go_back_to(tmp_path: Path) -> None:
    good = [add(tmp_path, hours_ago=age) for age in (100, 99, 98)]
    refused = [add(tmp_path, hours_ago=age, refused=True) for age in (97, 96, 95)]
    publish(tmp_path, good[2])
    prune(tmp_path, retention=KEEP, now=NOW)

    assert names(tmp_path) == [path.name for path in (*good, refused[2])]
    assert sorted(path.name for path in tmp_path.glob("*.refusal.json")) == [refusal_path(refused[2]).name]
    assert rollback(tmp_path).path == str(good[1])


def test_publishing_by_hand_overrules_a_refusal(tmp_path: Path) -> None:
    path = add(tmp_path, hours_ago=1, refused=True)
    publish(tmp_path, path)

    assert read_refusal(path) is None


def test_an_unreadable_refusal_is_one(tmp_path: Path) -> None:
    path = add(tmp_path, hours_ago=1, refused=True)
    refusal_path(path).write_text("{")
    refusal = read_refusal(path)

    assert refusal is not None
    assert "cannot be read" in refusal.reasons[0]


def test_invalid_artifacts_are_left_to_the_operator(tmp_path: Path) -> None:
    manifest_path(add(tmp_path, hours_ago=99)).write_text("{")
    for age in (1, 2, 3, 4):
        add(tmp_path, hours_ago=age)
    prune(tmp_path, retention=KEEP, now=NOW)

    assert len(names(tmp_path)) == 5


def test_an_open_artifact_stays_until_it_is_closed(tmp_path: Path) -> None:
    path = add(tmp_path, hours_ago=99)
    for age in (1, 2, 3):
        add(tmp_path, hours_ago=age)
    with Artifact(path):
        assert prune(tmp_path, retention=KEEP, now=NOW).leased == (path,)
        assert [entry.path for entry in list_artifacts(tmp_path) if entry.leased] == [path]

    assert prune(tmp_path, retention=KEEP, now=NOW).removed == (path,)


READER = """
import sys, time
from pathlib import Path
from retrieval import Artifact
artifact = Artifact(Path(sys.argv[1]))
print("open", flush=True)
time.sleep(60)
"""


def test_another_processs_lease_counts_and_ends_with_its_death(tmp_path: Path) -> None:
    path = add(tmp_path, hours_ago=99)
    for age in (1, 2, 3):
        add(tmp_path, hours_ago=age)
    with subprocess.Popen([sys.executable, "-c", READER, str(path)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"open\n"
        assert prune(tmp_path, retention=KEEP, now=NOW).leased == (path,)
        reader.send_signal(signal.SIGKILL)

    assert prune(tmp_path, retention=KEEP, now=NOW).removed == (path,)


def test_leftovers_go_and_living_processes_keep_theirs(tmp_path: Path) -> None:
    add(tmp_path, hours_ago=1)
    (tmp_path / ".building-1.duckdb").touch()
    (tmp_path / ".building-1.tmp").mkdir()
    (tmp_path / ".publishing-1").touch()
    (tmp_path / ".pointing-1").symlink_to("nowhere")
    (tmp_path / ".open-1.duckdb").touch()
    (tmp_path / "search-gone.manifest.json").touch()
    with builder_lock(tmp_path), pytest.raises(ArtifactError, match="Another build is running"):
        prune(tmp_path, retention=KEEP, now=NOW)
    assert (tmp_path / ".building-1.duckdb").exists()
    pruned = prune(tmp_path, retention=KEEP, now=NOW)

    assert len(pruned.leftovers) == 5
    # A reader may be opening this very moment.
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".open")] == [".open-1.duckdb"]


def test_an_old_second_name_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, hours_ago=1)
    (tmp_path / ".open-1.duckdb").touch()
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)

    assert [path.name for path in prune(tmp_path, retention=KEEP, now=NOW).leftovers] == [".open-1.duckdb"]


def test_publishing_waits_for_who_publishes_and_clears_what_is_left(tmp_path: Path) -> None:
    path = add(tmp_path, hours_ago=1)
    (tmp_path / ".pointing-1").symlink_to("nowhere")
    with publisher_lock(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", PUBLISHER, str(tmp_path), str(path)])
        time.sleep(0.3)
        assert not (tmp_path / "current.duckdb").exists()
    assert child.wait(60) == 0

    assert os.path.lexists(tmp_path / "current.duckdb")
    assert not os.path.lexists(tmp_path / ".pointing-1")


PUBLISHER = """
import sys
from pathlib import Path
from retrieval import publish
publish(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_no_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissingError, match="no folder"):
        prune(tmp_path / "nowhere", retention=KEEP, now=NOW)


def test_a_clock_that_was_set_back_stops_a_build(tmp_path: Path) -> None:
    """`build` says it is March 2026; the folder holds an artifact of November."""
    current = add(tmp_path, hours_ago=1)
    publish(tmp_path, current)
    export = ExportFactory()
    export.channel("C1", "general")
    export.message("C1", "1700000000.000100", "hello")
    with pytest.raises(ArtifactError, match=r"clock says 2026-03-01 12:00 UTC.*built at 2026-11-30 11:00 UTC"):
        build(tmp_path, export.write_zip(tmp_path / "a.zip"))

    assert (tmp_path / "current.duckdb").resolve() == current
    assert names(tmp_path) == [current.name]
