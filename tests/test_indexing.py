"""The indexer: turns, their status, one at a time, and an end on SIGTERM."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.indexing import BuildStoppedError, Indexer, StoppableProgress, run_every
from retrieval import list_artifacts, rollback
from retrieval.build_status import (
    BuildOutcome,
    BuildStatus,
    indexer_lock,
    indexer_runs,
    read_status,
    status_problem,
    write_status,
)
from retrieval.builder import DocumentEmbedder, SilentProgress, WorkspaceIdentity
from retrieval.builder.cycle import Plan
from tests.artifact_factory import Row, write_artifact
from tests.bot_harness import ADA, BEN, build_archive, running_bot
from tests.export_factory import ExportFactory
from tests.fake_endpoint import FakeEndpoint, Fault
from tests.log_capture import captured_log
from tests.toy_embedder import ToyEmbedder

ROOT = Path(__file__).parent.parent
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """`index` configures the process's log; give it back as it was."""
    with captured_log():
        yield


def export(path: Path, *, messages: int = 3, broken: bool = False) -> Path:
    """Write an export with some messages, replacing what stood there."""
    factory = ExportFactory()
    factory.user("U1", name="ana")
    factory.channel("C1", "general")
    for number in range(messages):
        factory.message("C1", f"{1_700_000_000 + number}.000100", f"message number {number}", user="U1")
    if broken:
        factory.raw_file("general/2024-01-01.json", b"[{")
    return factory.write_zip(path)


def indexer(folder: Path, source: Path, embedder: Callable[[], DocumentEmbedder | None] = ToyEmbedder) -> Indexer:
    """An indexer whose clock stands still."""
    plan = Plan(sources=(source,), folder=folder, workspace=WorkspaceIdentity(workspace_id="T1"))
    return Indexer(plan, embedder=embedder, progress=SilentProgress(), clock=lambda: NOW)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_turn_builds_publishes_and_says_so(tmp_path: Path) -> None:
    status = indexer(tmp_path / "out", export(tmp_path / "a.zip")).run()

    assert status.outcome is BuildOutcome.PUBLISHED
    assert (status.documents, status.embedded, status.failures) == (3, 3, 0)
    assert set(status.seconds) >= {"read", "embed", "index", "validate", "gate", "publish", "prune"}
    assert read_status(tmp_path / "out") == status
    current = [entry for entry in list_artifacts(tmp_path / "out") if entry.current]
    assert [entry.manifest.artifact_id for entry in current if entry.manifest] == [status.artifact_id]


def test_a_second_turn_gives_the_endpoint_only_what_is_new(tmp_path: Path) -> None:
    """Done when 1: counted where the texts arrive."""
    source, folder = tmp_path / "a.zip", tmp_path / "out"
    arguments = ("index", "--once", "--source", source, "--artifacts", folder, "--json")
    with FakeEndpoint() as endpoint:
        options = ("--embedder", endpoint.ollama_url)
        export(source, messages=200)
        assert run(*arguments, *options).exit_code == 0, run(*arguments, *options).stderr
        before = len(endpoint.texts)
        export(source, messages=202)
        result = run(*arguments, *options)
        new = [text for text in endpoint.texts[before:] if "message number" in text]

    assert sorted(text.partition(": ")[2] for text in new) == ["message number 200", "message number 201"]
    assert json.loads(result.stdout)["embedded"] == 2


def test_a_failed_turn_is_told_and_the_next_one_starts_clean(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.zip", tmp_path / "out"
    export(source)
    first = indexer(folder, source).run()
    source.write_bytes(b"no zip at all")
    subject = indexer(folder, source)
    failed = [subject.run() for _ in range(2)][-1]

    assert failed.outcome is BuildOutcome.FAILED
    assert failed.failures == 2
    assert failed.published_at == first.ended_at
    assert "neither a zip archive nor a slackdump database" in failed.reason
    assert [entry.manifest.artifact_id for entry in list_artifacts(folder) if entry.manifest] == [first.artifact_id]
    assert not list(folder.glob(".building-*"))
    export(source, messages=4)
    assert (status := subject.run()).outcome is BuildOutcome.PUBLISHED
    assert (status.failures, status.reason) == (0, "")


def test_a_programming_error_ends_the_turn_and_not_the_indexer(tmp_path: Path) -> None:
    source = export(tmp_path / "a.zip")
    status = indexer(tmp_path / "out", source, embedder=lambda: ToyEmbedder(fail_after=0)).run()

    assert status.outcome is BuildOutcome.FAILED
    assert status.reason == "The build broke off: RuntimeError."


def test_what_could_not_be_read_whole_is_kept_and_not_published(tmp_path: Path) -> None:
    source, folder = export(tmp_path / "a.zip", broken=True), tmp_path / "out"
    result = run("index", "--once", "--source", source, "--artifacts", folder, "--embedder", "none")

    assert result.exit_code == 1
    assert "is kept and not published" in result.stderr
    assert "general/2024-01-01.json could not be read" in result.stderr
    assert not (folder / "current.duckdb").exists()
    listing = run("artifacts", "--artifacts", folder)
    assert "not published:" in " ".join(listing.stdout.split())
    assert "did not replace the archive (last published: never)" in listing.stderr
    lenient = run("index", "--once", "--source", source, "--artifacts", folder, "--embedder", "none", "--lenient")
    assert lenient.exit_code == 0


def test_an_embedding_service_that_is_away_fails_the_turn_in_one_sentence(tmp_path: Path) -> None:
    source = export(tmp_path / "a.zip")
    with FakeEndpoint() as endpoint:
        endpoint.fault = Fault.STATUS_503
        result = run(
            "index", "--once", "--source", source, "--artifacts", tmp_path / "out", "--embedder", endpoint.ollama_url
        )

    assert result.exit_code == 1
    assert result.stderr.strip().splitlines()[-1].startswith("Error: ")


def test_two_indexers_on_one_folder_are_one_too_many(tmp_path: Path) -> None:
    source, folder = export(tmp_path / "a.zip"), tmp_path / "out"
    assert not indexer_runs(folder)
    with indexer_lock(folder):
        assert indexer_runs(folder)
        result = run("index", "--once", "--source", source, "--artifacts", folder)

    assert result.exit_code == 1
    assert "Another indexer works on" in result.stderr


@pytest.mark.parametrize("every", ["0h", "soon", "1w", "-1h"])
def test_an_interval_that_is_none_is_a_usage_error(tmp_path: Path, every: str) -> None:
    assert run("index", "--source", tmp_path, "--artifacts", tmp_path, "--every", every).exit_code == 2


def test_a_step_after_the_stop_ends_the_build_and_leaves_nothing(tmp_path: Path) -> None:
    subject = indexer(tmp_path / "out", export(tmp_path / "a.zip"))
    subject.stop()
    status = subject.run()

    assert status.outcome is BuildOutcome.STOPPED
    assert status.failures == 0
    assert not list((tmp_path / "out").glob(".building-*"))
    assert not list((tmp_path / "out").glob("search-*"))


def test_progress_passes_steps_on_until_it_is_stopped() -> None:
    progress = StoppableProgress(SilentProgress())
    with progress.stage("read", 2) as advance:
        advance(1)
        progress.stop()
        with pytest.raises(BuildStoppedError):
            advance(1)


class _Counting(Indexer):
    """Counts its turns, and takes a while for each."""

    def __init__(self) -> None:
        self.turns = 0
        self.together = 0
        self.most = 0
        self.stopped = threading.Event()
        self.next_at = lambda: None

    def run(self) -> BuildStatus:
        self.turns += 1
        self.together += 1
        self.most = max(self.most, self.together)
        self.stopped.wait(1.5)
        self.together -= 1
        return BuildStatus(started_at="")

    def stop(self) -> None:
        self.stopped.set()


async def test_turns_come_every_interval_never_two_at_a_time_and_stop_at_once() -> None:
    subject, stop = _Counting(), asyncio.Event()
    task = asyncio.create_task(run_every(subject, 1, stop=stop))
    await asyncio.sleep(3.6)
    assert subject.next_at() is not None
    stop.set()
    started = time.monotonic()
    await task

    assert time.monotonic() - started < 1
    assert 2 <= subject.turns <= 3
    assert subject.most == 1


def test_sigterm_ends_the_indexer_cleanly(tmp_path: Path) -> None:
    source, folder = export(tmp_path / "a.zip"), tmp_path / "out"
    command = [sys.executable, "-m", "bot", "index", "--source", str(source), "--artifacts", str(folder)]
    with subprocess.Popen([*command, "--embedder", "none"], cwd=ROOT, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while (status := read_status(folder)) is None or status.ended_at is None:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 0
    assert status.outcome is BuildOutcome.PUBLISHED
    assert status.next_at is not None
    events = [json.loads(line)["event"] for line in errors.splitlines()]
    assert events == ["build_started", "cleaned", "build_published"]


def test_problems_of_an_indexer_are_sentences() -> None:
    good = BuildStatus(started_at="2026-11-30T11:00:00+00:00", next_at="2026-11-30T12:30:00+00:00")
    failed = good.model_copy(update={"failures": 3, "reason": "The disk is full."})
    building = good.model_copy(update={"building": True})

    assert status_problem(good, running=False, now=NOW) is None
    late = NOW + timedelta(hours=1)
    assert "no indexer is running" in str(status_problem(good, running=False, now=late))
    assert status_problem(good, running=True, now=late) is None
    assert "last 3 builds did not replace" in str(status_problem(failed, running=True, now=NOW))
    assert "it was killed" in str(status_problem(building, running=False, now=NOW))
    assert status_problem(building, running=True, now=NOW) is None


def test_a_status_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "indexer.json").write_text("{")

    assert read_status(tmp_path) is None


async def test_status_tells_admins_alone_that_builds_fail(tmp_path: Path) -> None:
    build_archive(tmp_path / "archive")
    write_status(
        tmp_path / "archive",
        BuildStatus(started_at="2026-11-30T11:00:00+00:00", failures=2, reason="The disk is full."),
    )
    async with running_bot(tmp_path / "archive", audit_dir=tmp_path / "audit", admins=frozenset({ADA})) as office:
        told = await office.ask("status")
        other = await office.ask("status", user=BEN)

    assert "The last 2 builds did not replace the archive (last published: never): The disk is full." in told.plain_text
    assert "disk" not in other.plain_text


def test_artifacts_are_listed_with_age_and_state(tmp_path: Path) -> None:
    row = [Row(key="1.000001", text="something", vector=(1, 0, 0))]
    for hours in (50, 5):
        built = datetime.now(UTC) - timedelta(hours=hours, minutes=1)
        write_artifact(tmp_path, row, build_id=f"b{hours}", built_at=built, publish=hours == 5)
    lines = [" ".join(line.split()) for line in run("artifacts", "--artifacts", tmp_path).stdout.splitlines()]

    assert lines[1].startswith("* b5 ")
    assert " 5 h 1 1 " in lines[1]
    assert lines[1].endswith("current")
    assert " 2 d 1 1 " in lines[2]
    assert lines[2].endswith("kept")


def test_a_rollback_holds_until_somebody_publishes(tmp_path: Path) -> None:
    source, folder = export(tmp_path / "a.zip"), tmp_path / "out"
    subject = indexer(folder, source)
    first, second = (subject.run().artifact_id for _ in range(2))
    rollback(folder, first)
    held = subject.run()

    assert held.outcome is BuildOutcome.REFUSED
    assert f"to {first} holds" in held.reason
    assert [entry.manifest.artifact_id for entry in list_artifacts(folder) if entry.current and entry.manifest] == [
        first
    ]
    assert run("publish", folder / f"search-{second}.duckdb", "--artifacts", folder).exit_code == 0
    assert subject.run().outcome is BuildOutcome.PUBLISHED
