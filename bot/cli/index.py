"""`slackquery index`."""

import asyncio
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bot.cli.opening import (
    artifacts_option,
    artifacts_path,
    denied_ids,
    json_option,
    workspace_id_option,
    workspace_url_option,
)
from bot.cli.output import ConsoleProgress, print_json, say
from bot.embedders import embedder_factory
from bot.log import configure_logging
from bot.settings import EngineSettings, load_settings
from retrieval import Retention

if TYPE_CHECKING:
    from bot.indexing import Indexer

_EVERY: Final = re.compile(r"(\d+)\s*([smhd])")
_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Interval(click.ParamType[int]):
    """A time such as `1h`, `30m` or `90s`; the value is in seconds."""

    name = "interval"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        if isinstance(value, int):
            return value
        found = _EVERY.fullmatch(str(value))
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r} is no time such as 1h, 30m or 90s.", param, ctx)
        return int(found[1]) * _UNIT_SECONDS[found[2]]


@click.command()
@click.option(
    "--source",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A Slack export or slackdump archive; may be given more than once.",
)
@artifacts_option
@click.option(
    "--every", default="1h", show_default=True, type=Interval(), help="Time between the starts of two builds."
)
@click.option("--once", is_flag=True, help="Build once and end; exit 1 unless it was published.")
@click.option("--gate", type=click.Path(path_type=Path), default=None, help="YAML file with what a build must reach.")
@workspace_id_option
@click.option("--workspace-name", default=None, help="What people call the workspace.")
@workspace_url_option
@click.option("--embedder", default="auto", show_default=True, metavar="auto|none|URL", help="What makes the vectors.")
@click.option("--files", type=click.Path(path_type=Path), default=None, help="Folder with the text files shared.")
@click.option("--lenient", is_flag=True, help="Publish even where files could not be read.")
@click.option("--keep", type=click.IntRange(1), default=3, show_default=True, help="Newest artifacts to keep.")
@click.option(
    "--keep-hours", type=click.FloatRange(0), default=24, show_default=True, help="Age until which artifacts are kept."
)
@json_option
@click.pass_context
def index(
    context: click.Context,
    *,
    sources: tuple[Path, ...],
    artifacts: Path | None,
    every: int,
    once: bool,
    gate: Path | None,
    workspace_id: str | None,
    workspace_name: str | None,
    workspace_url: str | None,
    embedder: str,
    files: Path | None,
    lenient: bool,
    keep: int,
    keep_hours: float,
    as_json: bool,
) -> None:
    """Build, judge, publish and clean up, now and then every hour, until SIGTERM.

    What fails is logged and kept in indexer.json, and the next build starts clean. Logs go to stderr.

    \b
    slackquery index --source export.zip --artifacts archive --every 1h
    """
    # The builder is heavy and serving does without it.
    from bot.indexing import Indexer  # noqa: PLC0415
    from retrieval.build_status import indexer_lock  # noqa: PLC0415
    from retrieval.builder import SilentProgress, WorkspaceIdentity  # noqa: PLC0415
    from retrieval.builder.cycle import Plan  # noqa: PLC0415
    from retrieval.gate import PublishGate  # noqa: PLC0415

    settings = load_settings(EngineSettings)
    factory = embedder_factory(settings)
    plan = Plan(
        sources=sources,
        folder=artifacts_path(artifacts),
        workspace=WorkspaceIdentity(workspace_id=workspace_id, name=workspace_name, url=workspace_url),
        files=files,
        lenient=lenient,
        denied=lambda: denied_ids(settings),
        retention=Retention(newest=keep, hours=keep_hours),
        gate=None if gate is None else PublishGate(gate, embedders=factory),
        key=settings.manifest_key,
    )
    with indexer_lock(plan.folder):
        indexer = Indexer(
            plan,
            embedder=lambda: factory.for_build(embedder),
            # Between the log's lines of JSON nothing else may stand.
            progress=ConsoleProgress() if once else SilentProgress(),
            clock=lambda: datetime.now(UTC),
        )
        if once:
            _run_once(context, indexer, as_json=as_json)
        else:
            configure_logging(level="INFO", stream=sys.stderr)
            asyncio.run(_run(indexer, every))


def _run_once(context: click.Context, indexer: "Indexer", *, as_json: bool) -> None:
    from retrieval.build_status import BuildOutcome  # noqa: PLC0415 - as above

    configure_logging(level="CRITICAL", stream=sys.stderr)
    status = indexer.run()
    if as_json:
        print_json(status.model_dump(mode="json"))
    if status.outcome is BuildOutcome.PUBLISHED:
        say(f"Published {status.artifact_id}: {status.documents:,} documents, {status.embedded:,} texts embedded.")
        return
    kept = f"{status.artifact_id} is kept and not published. " if status.artifact_id else ""
    say(f"Error: {kept}{status.reason}")
    context.exit(1)


async def _run(indexer: "Indexer", every: int) -> None:
    from bot.indexing import run_every  # noqa: PLC0415 - as above
    from bot.serving import stopping_signals  # noqa: PLC0415 - brings the whole bot

    stop = asyncio.Event()
    with stopping_signals(stop):
        await run_every(indexer, every, stop=stop)
