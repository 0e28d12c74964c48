"""`slackquery demo`: builds once, shows the export's own people and channels, and fails in one sentence."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.demo import DemoArchive, DemoError, prepare_demo, run_demo
from bot.settings import EngineSettings, load_settings
from retrieval.builder import SilentProgress
from tests.bot_harness import ADA, GENERAL, PAYMENTS, SECRET, export
from tests.export_factory import ExportFactory
from tests.log_capture import captured_log


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An export of one message."""
    made = ExportFactory()
    made.user(ADA, name="ada", display_name="ada")
    made.channel(GENERAL, "general", members=[ADA])
    made.message(GENERAL, "1760000000.000100", "Hello harbour", user=ADA)
    return made.write_zip(tmp_path / "acme-export.zip")


def prepare(source: Path, cache: Path, *, said: list[str] | None = None) -> DemoArchive:
    settings = load_settings(EngineSettings, env_file=None)
    say = (said if said is not None else []).append
    return prepare_demo(source, cache=cache, settings=settings, progress=SilentProgress(), say=say)


def test_the_workspace_is_the_exports_own(tmp_path: Path) -> None:
    archive = prepare(export().write_zip(tmp_path / "acme-export.zip"), tmp_path / "cache")

    workspace = archive.workspace
    assert workspace.team.id == "T1TEST"
    assert {ADA} <= {user.id for user in workspace.users}
    assert {GENERAL, PAYMENTS, SECRET} <= {channel.id for channel in workspace.channels}
    assert next(one for one in workspace.channels if one.id == SECRET).is_private
    assert any("partner tier" in message.text for message in workspace.messages)
    assert (archive.folder / "current.duckdb").exists()


def test_an_unchanged_export_is_built_once_and_a_changed_one_again(source: Path, tmp_path: Path) -> None:
    said: list[str] = []
    first = prepare(source, tmp_path / "cache", said=said)
    again = prepare(source, tmp_path / "cache", said=said)
    assert again.folder == first.folder
    assert len(said) == 1

    os.utime(source, (1, 1))
    changed = prepare(source, tmp_path / "cache", said=said)

    assert changed.folder != first.folder
    assert len(said) == 2


def test_only_the_newest_builds_are_kept(source: Path, tmp_path: Path) -> None:
    folders = []
    for moment in range(1, 6):
        os.utime(source, (moment, moment))
        folders.append(prepare(source, tmp_path / "cache").folder)

    assert sorted((tmp_path / "cache").iterdir()) == sorted(folders[-3:])


def test_the_cache_is_its_owners_alone(source: Path, tmp_path: Path) -> None:
    prepare(source, tmp_path / "cache")

    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


async def test_a_taken_port_is_one_sentence(source: Path, tmp_path: Path) -> None:
    archive = await asyncio.to_thread(prepare, source, tmp_path / "cache")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(DemoError, match=f"Port {port} cannot be used"):
            await run_demo(archive, settings=load_settings(EngineSettings), port=port, on_ready=print)


def test_what_is_no_export_is_one_sentence(tmp_path: Path) -> None:
    nothing = tmp_path / "holiday.zip"
    nothing.write_bytes(b"not a zip at all")

    # The command sets up logging for its process, which here is the tests' own.
    with captured_log():
        result = CliRunner().invoke(
            main, ["demo", "--no-browser", "--export", str(nothing), "--cache", str(tmp_path / "c")]
        )

    assert result.exit_code == 1
    assert "holiday.zip" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_ends_it_cleanly(source: Path, tmp_path: Path, kind: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "demo", "--no-browser", "--export", str(source), "--cache", str(tmp_path / "c")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    process.send_signal(kind)
    _, err = await asyncio.wait_for(process.communicate(), 15)

    assert b"slackquery is ready at http://127.0.0.1:" in line
    assert process.returncode == 0
    assert b"Traceback" not in err
