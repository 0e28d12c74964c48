"""What happens to a build when the machine fails it: one sentence, exit 1, and the current artifact as it was."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from retrieval.manifest import read_manifest
from retrieval.publication import current_path
from retrieval.validation import validate_file
from tests.export_factory import ExportFactory
from tests.log_capture import captured_log

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """`index` configures the process's log; give it back as it was."""
    with captured_log():
        yield


def export(path: Path, *, messages: int = 5, words: int = 5) -> Path:
    factory = ExportFactory()
    factory.user("U1", name="ana")
    factory.channel("C1", "general")
    for number in range(messages):
        text = " ".join(f"word{number}x{word}" for word in range(words))
        factory.message("C1", f"{1_700_000_000 + number}.000100", text, user="U1")
    return factory.write_zip(path)


def index(source: Path, folder: Path) -> Result:
    arguments = ["index", "--once", "--source", str(source), "--artifacts", str(folder), "--embedder", "none"]
    return CliRunner().invoke(main, arguments)


def assert_failed(result: Result, sentence: str, *, folder: Path, before: Path) -> None:
    """One sentence and exit 1; what served still serves, and nothing lies about."""
    assert result.exit_code == 1
    assert sentence in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.output
    assert current_path(folder) == before
    assert validate_file(before, manifest=read_manifest(before)).document_count == 5
    assert not list(folder.glob(".building-*"))
    assert not list(folder.glob(".publishing-*"))


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Callable[[], None]]:
    """Mount a small disk of its own at *folder*, where the system allows it; the value makes it read-only."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no disk of its own can be mounted here: only root on Linux may")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    small, large = export(tmp_path / "small.zip"), export(tmp_path / "large.zip", messages=4000, words=60)
    with mounted(tmp_path / "disk", 16) as _:
        folder = tmp_path / "disk" / "archive"
        assert index(small, folder).exit_code == 0
        before = current_path(folder)
        assert before is not None

        assert_failed(index(large, folder), "cannot be written", folder=folder, before=before)
        assert index(small, folder).exit_code == 0


def test_a_read_only_folder(tmp_path: Path) -> None:
    small = export(tmp_path / "small.zip")
    with mounted(tmp_path / "disk", 64) as make_read_only:
        folder = tmp_path / "disk" / "archive"
        assert index(small, folder).exit_code == 0
        before = current_path(folder)
        assert before is not None
        make_read_only()

        assert_failed(index(small, folder), "cannot be written: Read-only file system", folder=folder, before=before)
        publish = CliRunner().invoke(main, ["publish", str(before), "--artifacts", str(folder)])
        assert publish.exit_code == 1
        assert "cannot be written" in publish.stderr


@pytest.mark.parametrize("kind", ["missing", "cut", "empty", "text"])
def test_a_source_that_cannot_be_read(tmp_path: Path, kind: str) -> None:
    source, folder = export(tmp_path / "a.zip"), tmp_path / "archive"
    assert index(source, folder).exit_code == 0
    before = current_path(folder)
    assert before is not None
    content = source.read_bytes()
    if kind == "missing":
        source.unlink()
    else:
        source.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "text": b"hello"}[kind])

    assert_failed(index(source, folder), source.name, folder=folder, before=before)


def test_a_clock_that_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, folder = export(tmp_path / "a.zip"), tmp_path / "archive"
    assert index(source, folder).exit_code == 0
    before = current_path(folder)
    assert before is not None

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) - timedelta(days=2)

    # `bot.cli.index` as an attribute is the command.
    monkeypatch.setattr(sys.modules["bot.cli.index"], "datetime", Earlier)

    assert_failed(index(source, folder), "set the clock right", folder=folder, before=before)


def test_killed_at_random_moments_it_goes_on_with_the_next_turn() -> None:
    """Done when 2, with a few moments; `benchmarks/kill9.py` takes twenty."""
    command = [sys.executable, "-m", "benchmarks.kill9", "--moments", "4", "--seed", "11", "--messages", "60"]
    result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("| valid | published | nothing |") == 4
