"""The demo: the real bot against the local Slack, over the sample archive or an export of one's own."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import yaml

from bot.app import start_bot
from bot.embedders import embedder_factory
from bot.serving import stopping_signals
from bot.settings import EngineSettings, Settings
from localslack.export_workspace import describe_export
from localslack.page_routes import add_page_routes, page_address
from localslack.server import LocalSlack
from localslack.workspace import Workspace, WorkspaceError, load_workspace
from retrieval.analyzer import ANALYZER_VERSION
from retrieval.builder import Progress, WorkspaceIdentity, build_artifact
from retrieval.publication import publish

ROOT: Final = Path(__file__).resolve().parent.parent
SAMPLE: Final = ROOT / "localslack" / "sample"
WORKSPACE_NAME: Final = "workspace.json"
_KEPT_BUILDS: Final = 3
_WORKSPACE_VERSION: Final = "2"


class DemoError(Exception):
    """The demo cannot run; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoArchive:
    """A built archive with the workspace that belongs to it.

    Attributes:
        folder: Holds `current.duckdb`.
        workspace: Its people and channels, for the local Slack.
        audit_dir: For the demo's own audit file.
        store: The demo's own store of votes and recent searches.
    """

    folder: Path
    workspace: Workspace
    audit_dir: Path
    store: Path


def default_cache() -> Path:
    """Return where built demo archives are kept: `var/demo` in a checkout, else in the user's cache."""
    if (ROOT / "pyproject.toml").is_file():
        return ROOT / "var" / "demo"
    return Path.home() / ".cache" / "slackquery" / "demo"


def prepare_demo(
    export: Path | None,
    *,
    cache: Path,
    settings: EngineSettings,
    progress: Progress,
    say: Callable[[str], None],
) -> DemoArchive:
    """Build the archive, or take the one built before from the same files.

    Args:
        export: A Slack export; None for the sample.
        cache: Where built archives are kept, the newest three of them.
        settings: Which model makes the vectors.
        progress: Shows how far the build is.
        say: Tells the user a sentence.

    Raises:
        DemoError: The workspace cannot be described.
        SourceError, EmbeddingError, ArtifactError: As `retrieval.builder.build_artifact`.
    """
    source = export or SAMPLE / "export"
    folder = cache / _key(source, settings)
    try:
        if not (folder / "current.duckdb").exists():
            say(f"Building an archive from {source} ...")
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            _build(source, folder, is_sample=export is None, settings=settings, progress=progress)
        os.utime(folder)
        _forget_old(cache)
        workspace = load_workspace(folder / WORKSPACE_NAME)
    except WorkspaceError as exc:
        raise DemoError(f"{source} cannot be shown: {exc}") from exc
    return DemoArchive(folder=folder, workspace=workspace, audit_dir=folder / "audit", store=folder / "store.sqlite3")


def _build(source: Path, folder: Path, *, is_sample: bool, settings: EngineSettings, progress: Progress) -> None:
    """Build beside the final place and move, so that an interrupted build is never taken for a finished one."""
    unfinished = folder.with_suffix(".unfinished")
    workspace = _sample_workspace() if is_sample else describe_export(source)
    team = workspace.team
    result = build_artifact(
        [source],
        unfinished,
        workspace=WorkspaceIdentity(workspace_id=team.id, name=team.name, url=team.url if is_sample else None),
        embedder=embedder_factory(settings).for_build(),
        files=SAMPLE / "files" if is_sample else None,
        lenient=True,
        progress=progress,
        clock=lambda: datetime.now(UTC),
    )
    publish(unfinished, result.artifact)
    content = json.dumps(workspace.to_json(), ensure_ascii=False)
    (unfinished / WORKSPACE_NAME).write_text(content, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def _sample_workspace() -> Workspace:
    """Return the sample's people and channels, with each channel's last messages out of its export."""
    described = load_workspace(SAMPLE / "workspace.json")
    exported = describe_export(SAMPLE / "export")
    return replace(described, messages=exported.messages, older=exported.older)


def _key(source: Path, settings: EngineSettings) -> str:
    """Return a name for what the build depends on: the files, the model, the analyzer, the workspace's form."""
    digest = hashlib.sha256()
    model = (settings.embedding_url, settings.embedding_model)
    for line in (*_files(source), *model, ANALYZER_VERSION, _WORKSPACE_VERSION):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:16]


def _files(source: Path) -> Iterable[str]:
    yield str(source.resolve())
    for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
        status = path.stat()
        yield f"{path.name} {status.st_size} {status.st_mtime_ns}"


def _forget_old(cache: Path) -> None:
    builds = sorted(
        (path for path in cache.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for path in builds[_KEPT_BUILDS:]:
        shutil.rmtree(path, ignore_errors=True)


async def run_demo(
    archive: DemoArchive, *, settings: EngineSettings, port: int, on_ready: Callable[[str], None]
) -> None:
    """Run the local Slack with its page and the bot until SIGINT or SIGTERM.

    Args:
        archive: What `prepare_demo` gave.
        settings: The engine's settings.
        port: Of the page, 0 for any free one.
        on_ready: Called with the page's address once the bot is connected.

    Raises:
        DemoError: The port is taken.
    """
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))
    slack = LocalSlack(archive.workspace, manifest, port=port, extend=(add_page_routes,))
    stop = asyncio.Event()
    with stopping_signals(stop):
        try:
            await slack.start()
        except OSError as exc:
            raise DemoError(f"Port {port} cannot be used: {exc.strerror}.") from exc
        try:
            bot = await start_bot(demo_settings(slack, archive, settings=settings))
            try:
                await slack.wait_connected()
                on_ready(page_address(slack))
                await stop.wait()
            finally:
                await bot.stop()
        finally:
            await slack.stop()


def demo_settings(slack: LocalSlack, archive: DemoArchive, *, settings: EngineSettings) -> Settings:
    """Return the bot's settings for a local Slack; the workspace's admins are the bot's."""
    admins = frozenset(user.id for user in archive.workspace.users if user.is_admin)
    return Settings.of(
        slack_bot_token=slack.bot_token,
        slack_app_token=slack.app_token,
        slack_api_url=slack.api_url,
        artifacts=archive.folder,
        audit_dir=archive.audit_dir,
        store=archive.store,
        admins=admins,
        embedding_url=settings.embedding_url,
        embedding_model=settings.embedding_model,
        embedding_allow_public=settings.embedding_allow_public,
        embedding_seconds=settings.embedding_seconds,
        fusion=settings.fusion,
        memory_mb=settings.memory_mb,
        resident_mb=settings.resident_mb,
    )
