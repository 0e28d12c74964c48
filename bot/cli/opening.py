"""Opening what a command works on: the artifact, its embedding model, what the caller may see."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import click

from bot.cli.output import say
from bot.deny_list import DenyListError, read_denied_ids
from bot.embedders import embedder_factory
from bot.settings import EngineSettings, load_settings
from retrieval import (
    Artifact,
    ArtifactMissingError,
    EmbeddingError,
    QueryEmbedder,
    SourceError,
    Visibility,
    visibility_as,
)
from retrieval.permalinks import message_permalink

artifacts_option = click.option(
    "--artifacts",
    "-a",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of artifacts, or one artifact's file. Default: SLACKQUERY_ARTIFACTS.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
as_option = click.option(
    "--as", "as_user", metavar="USER_ID", default=None, help="See only what the archive says this user can see."
)


def _workspace_id(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[\w.-]+", value):
        raise click.BadParameter("An id such as T0123ABCD has letters and digits only.")
    return value


def _workspace_url(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and message_permalink(value, "C1", "1.1", None) is None:
        raise click.BadParameter(f"{value!r} is not an address such as https://acme.slack.com.")
    return value


workspace_id_option = click.option(
    "--workspace-id", default=None, callback=_workspace_id, help="Default: the team_id in users.json."
)
workspace_url_option = click.option(
    "--workspace-url", default=None, callback=_workspace_url, help="Such as https://acme.slack.com; permalinks need it."
)


def artifacts_path(given: Path | None) -> Path:
    """Return the folder or file to work on.

    Raises:
        click.UsageError: Neither the option nor the setting is there.
    """
    path = given if given is not None else load_settings(EngineSettings).artifacts
    if path is None:
        raise click.UsageError("Say where the artifacts are: --artifacts DIR, or SLACKQUERY_ARTIFACTS.")
    return path


@contextlib.contextmanager
def opened_artifact(given: Path | None) -> Iterator[Artifact]:
    """Open the named file, or the current artifact of the named folder.

    Raises:
        ArtifactError: There is none, or it cannot be read.
    """
    path = artifacts_path(given)
    if path.is_dir():
        if not (path / "current.duckdb").exists():
            raise ArtifactMissingError(
                f"No artifact is published in {path}: run `slackquery build ... --out {path} --publish`."
            )
        path = path / "current.duckdb"
    with Artifact(path, memory_mb=load_settings(EngineSettings).memory_mb) as artifact:
        yield artifact


def query_embedder(artifact: Artifact) -> QueryEmbedder | None:
    """Return what embeds queries for *artifact*, None (said on stderr) where nothing can."""
    settings = load_settings(EngineSettings)
    factory = embedder_factory(settings)
    try:
        return factory.for_artifact(artifact.info)
    except EmbeddingError as error:
        say(str(error))
        return None


def caller_visibility(artifact: Artifact, as_user: str | None) -> Visibility:
    """Return what the caller sees: everything, said on stderr, or what the archive says of one user."""
    if as_user is None:
        say("Searching everything in the archive; use --as USER_ID to see what one person may see.")
        return Visibility.everything()
    visibility = visibility_as(artifact, as_user)
    if not any(visibility.allowed.values() if visibility.allowed is not None else ()):
        say(f"By the archive {as_user} may see no channel: deactivated, a bot, or a guest who is in none.")
    return visibility


def denied_ids(settings: EngineSettings) -> frozenset[str]:
    """Return the ids that the deny list names now, for a build.

    Raises:
        SourceError: There is such a setting, but the file cannot be read.
    """
    try:
        return frozenset() if settings.deny is None else read_denied_ids(settings.deny)
    except DenyListError as error:
        raise SourceError(str(error)) from error
