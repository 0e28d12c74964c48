"""`slackquery build`, `publish`, `rollback` and `artifacts`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.table import Table

from bot.cli.opening import (
    artifacts_option,
    artifacts_path,
    denied_ids,
    json_option,
    workspace_id_option,
    workspace_url_option,
)
from bot.cli.output import ConsoleProgress, print_json, result_console, say
from bot.embedders import embedder_factory
from bot.rich_text import harmless
from bot.settings import EngineSettings, load_settings
from retrieval import ArtifactEntry, ArtifactInfo, list_artifacts
from retrieval import publish as publish_artifact
from retrieval import rollback as rollback_artifact
from retrieval.build_status import BuildStatus, indexer_runs, read_status, status_problem

_TABLE_WIDTH: Final = 200


@click.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of artifacts.")
@workspace_id_option
@click.option("--workspace-name", default=None, help="What people call the workspace.")
@workspace_url_option
@click.option("--embedder", default="auto", show_default=True, metavar="auto|none|URL", help="What makes the vectors.")
@click.option(
    "--files", type=click.Path(path_type=Path), default=None, help="Folder with the text files that were shared."
)
@click.option("--publish", "then_publish", is_flag=True, help="Make it the current artifact.")
@click.option("--lenient", is_flag=True, help="Exit 0 even where files could not be read.")
@json_option
@click.pass_context
def build(
    context: click.Context,
    *,
    sources: tuple[Path, ...],
    out: Path,
    workspace_id: str | None,
    workspace_name: str | None,
    workspace_url: str | None,
    embedder: str,
    files: Path | None,
    then_publish: bool,
    lenient: bool,
    as_json: bool,
) -> None:
    """Build an artifact from Slack exports or slackdump archives.

    \b
    slackquery build export.zip --out archive --workspace-url https://acme.slack.com --publish
    """
    # The builder is heavy and only this command needs it.
    from retrieval.builder import WorkspaceIdentity, build_artifact  # noqa: PLC0415

    settings = load_settings(EngineSettings)
    factory = embedder_factory(settings)
    result = build_artifact(
        list(sources),
        out,
        workspace=WorkspaceIdentity(workspace_id=workspace_id, name=workspace_name, url=workspace_url),
        embedder=factory.for_build(embedder),
        files=files,
        lenient=lenient,
        denied=denied_ids(settings),
        key=settings.manifest_key,
        progress=ConsoleProgress(),
        clock=lambda: datetime.now(UTC),
    )
    if then_publish:
        publish_artifact(out, result.artifact, key=settings.manifest_key)
    if as_json:
        print_json({"artifact": str(result.artifact), "published": then_publish, **result.report.as_json()})
    else:
        for line in result.report.lines():
            result_console().print(harmless(line), soft_wrap=True, markup=False)
        say(f"{'Published' if then_publish else 'Built'} {result.artifact}")
    if result.report.unreadable and not lenient:
        say(f"{len(result.report.unreadable)} files could not be read; --lenient accepts that.")
        context.exit(1)


@click.command()
@click.argument("artifact", type=click.Path(path_type=Path))
@artifacts_option
def publish(*, artifact: Path, artifacts: Path | None) -> None:
    """Validate ARTIFACT and make it the current one."""
    key = load_settings(EngineSettings).manifest_key
    _say_current(publish_artifact(artifacts_path(artifacts), artifact, key=key))


@click.command()
@click.argument("build_id", required=False)
@artifacts_option
def rollback(*, build_id: str | None, artifacts: Path | None) -> None:
    """Make BUILD_ID, or else the newest valid one before the current, the current artifact again.

    It stays so until `publish`, whatever is built or fetched meanwhile.
    """
    key = load_settings(EngineSettings).manifest_key
    _say_current(rollback_artifact(artifacts_path(artifacts), build_id, key=key))
    say("Newer builds are kept and not published until you `slackquery publish` one.")


@click.command(name="artifacts")
@artifacts_option
@json_option
def artifacts(*, artifacts: Path | None, as_json: bool) -> None:
    """List the artifacts of a folder, newest first."""
    entries = list_artifacts(artifacts_path(artifacts))
    status = read_status(artifacts_path(artifacts))
    if as_json:
        indexer = status.model_dump(mode="json") if status is not None else None
        print_json({"artifacts": [_entry_json(entry) for entry in entries], "indexer": indexer})
        return
    table = Table("", "build", "built at", "age", "documents", "vectors", "MiB", "state", box=None, pad_edge=False)
    for entry in entries:
        manifest = entry.manifest
        table.add_row(
            "*" if entry.current else "",
            manifest.artifact_id if manifest else entry.path.name,
            manifest.built_at[:19] if manifest else "",
            _age(entry.built_at),
            f"{manifest.document_count:,}" if manifest else "",
            f"{manifest.vector_count:,}" if manifest else "",
            f"{entry.size_bytes / 2**20:,.1f}",
            _state(entry),
        )
    # A build id that is cut cannot be given to `rollback`.
    result_console(width=_TABLE_WIDTH).print(table)
    if status is not None:
        say(_indexer_line(artifacts_path(artifacts), status))


def _indexer_line(folder: Path, status: BuildStatus) -> str:
    running = indexer_runs(folder)
    problem = status_problem(status, running=running, now=datetime.now(UTC))
    if problem is not None:
        return problem
    if running and status.building:
        return f"A build has been running since {status.started_at}."
    following = f"; the next begins at {status.next_at}" if running and status.next_at else ""
    return f"The last build ended at {status.ended_at}{following}."


def _age(built_at: datetime | None) -> str:
    """Return the time since *built_at* in its largest unit, empty where it is not known or to come."""
    seconds = (datetime.now(UTC) - built_at).total_seconds() if built_at is not None else -1.0
    if seconds < 0:
        return ""
    unit, size = next(((unit, size) for unit, size in (("d", 86_400), ("h", 3600)) if seconds >= size), ("min", 60))
    return f"{seconds // size:,.0f} {unit}"


def _state(entry: ArtifactEntry) -> str:
    if entry.problem:
        return f"invalid: {entry.problem}"
    if entry.refusal is not None and not entry.current:
        return f"not published: {' '.join(entry.refusal.reasons)}"
    return ("current" if entry.current else "kept") + (", in use" if entry.leased else "")


def _entry_json(entry: ArtifactEntry) -> dict[str, object]:
    manifest = entry.manifest
    return {
        "artifact_id": manifest.artifact_id if manifest else None,
        "file": str(entry.path),
        "built_at": manifest.built_at if manifest else None,
        "generation_id": manifest.generation_id if manifest else None,
        "document_count": manifest.document_count if manifest else None,
        "vector_count": manifest.vector_count if manifest else None,
        "size_bytes": entry.size_bytes,
        "current": entry.current,
        "problem": entry.problem,
        "leased": entry.leased,
        "not_published": list(entry.refusal.reasons) if entry.refusal is not None else [],
    }


def _say_current(info: ArtifactInfo) -> None:
    say(f"Current is {info.artifact_id}: {info.document_count:,} documents, {info.vector_count:,} vectors.")
