"""What is right and wrong with the engine's set-up, each finding with its remedy."""

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import duckdb

from retrieval import fts, schema
from retrieval.analyzer import ANALYZER_VERSION
from retrieval.artifact import Artifact
from retrieval.build_status import indexer_runs, read_status, status_problem
from retrieval.embedding import EmbedderFactory
from retrieval.errors import EmbeddingModelError, RetrievalError
from retrieval.hold import read_hold
from retrieval.manifest import read_manifest
from retrieval.models import ArtifactInfo
from retrieval.publication import current_path
from retrieval.resident import memory_need
from retrieval.validation import validate_file
from retrieval.verification import verify_lists

EXPECTED_DUCKDB: Final = "1.5.5"
_MIN_FREE_BYTES: Final = 1_000_000_000
_FEW_BYTES: Final = 50_000_000


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What was looked at.
        level: Whether it is as it should be; a limitation that one can live with, knowingly, is.
        detail: What was found.
        remedy: What to do about it, empty where nothing needs doing.
    """

    name: str
    level: Level
    detail: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is broken."""
        return self.level is not Level.FAIL


def diagnose(
    artifacts: Path | None, *, embedders: EmbedderFactory, verify: bool, resident_mb: int | None = None
) -> Iterator[Finding]:
    """Yield the findings, each as soon as it is known.

    Args:
        artifacts: The folder or file to look at, None to leave artifacts out.
        embedders: How queries would be embedded.
        verify: Whether to compare the ranked lists with DuckDB's own functions.
        resident_mb: Memory that an artifact may take, as `Artifact.load` takes it.
    """
    yield _python()
    yield _duckdb()
    yield _extension()
    if artifacts is None:
        return
    folder = artifacts if artifacts.suffix != ".duckdb" else artifacts.parent
    yield disk_finding("disk", folder)
    path = current_path(artifacts) if artifacts.is_dir() else artifacts
    if path is None or not path.exists():
        yield Finding(
            name="artifact",
            level=Level.FAIL,
            detail=f"Nothing is published in {artifacts}.",
            remedy=f"slackquery build SOURCE --out {artifacts} --publish",
        )
        return
    yield from _indexer(folder)
    validity, info = _validity(path)
    yield validity
    if info is None:
        return
    yield from _abilities(info)
    yield _memory(path, resident_mb)
    yield _embedding(info, embedders)
    if verify:
        yield _verified(path)


def _python() -> Finding:
    return Finding(
        name="python",
        level=Level.OK if sys.version_info >= (3, 11) else Level.FAIL,
        detail=f"Python {platform.python_version()}",
        remedy="" if sys.version_info >= (3, 11) else "Use Python 3.11 or newer.",
    )


def _duckdb() -> Finding:
    right = duckdb.__version__ == EXPECTED_DUCKDB
    return Finding(
        name="duckdb",
        level=Level.OK if right else Level.FAIL,
        detail=f"duckdb {duckdb.__version__}",
        remedy="" if right else f"pip install duckdb=={EXPECTED_DUCKDB} duckdb-extension-fts=={EXPECTED_DUCKDB}",
    )


def _extension() -> Finding:
    try:
        connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
        try:
            fts.load_fts(connection)
        finally:
            connection.close()
    except (duckdb.Error, RetrievalError, ImportError) as error:
        return Finding(
            name="fts extension",
            level=Level.FAIL,
            detail=str(error).splitlines()[0],
            remedy=f"pip install duckdb-extension-fts=={EXPECTED_DUCKDB}",
        )
    return Finding(name="fts extension", level=Level.OK, detail=fts.extension_path().parent.name)


def disk_finding(name: str, folder: Path) -> Finding:
    """Return how much room there is where a folder is or will be."""
    place = next((one for one in (folder, *folder.absolute().parents) if one.is_dir()), Path.cwd())
    free = shutil.disk_usage(place).free
    level = Level.OK if free >= _MIN_FREE_BYTES else Level.WARN if free >= _FEW_BYTES else Level.FAIL
    return Finding(
        name=name,
        level=level,
        detail=f"{free / 1e9:,.1f} GB free at {place}",
        remedy=""
        if level is Level.OK
        else "Free some space: a build needs room for a second artifact, logs for lines.",
    )


def _indexer(folder: Path) -> Iterator[Finding]:
    """Yield what the last build came to, and whether a rollback holds; nothing where nobody indexes."""
    if (hold := read_hold(folder)) is not None:
        yield Finding(
            name="hold",
            level=Level.WARN,
            detail=hold.reason,
            remedy=f"slackquery artifacts -a {folder}, then slackquery publish ARTIFACT -a {folder}",
        )
    if (status := read_status(folder)) is None:
        return
    problem = status_problem(status, running=indexer_runs(folder), now=datetime.now(UTC))
    if problem is not None:
        yield Finding(
            name="indexer",
            level=Level.WARN,
            detail=problem,
            remedy=f"Look at the indexer's log, then slackquery index --once --artifacts {folder} --source SOURCE",
        )
    else:
        yield Finding(name="indexer", level=Level.OK, detail=f"The last build was published at {status.published_at}.")


def _validity(path: Path) -> tuple[Finding, ArtifactInfo | None]:
    try:
        info = validate_file(path, manifest=read_manifest(path))
    except RetrievalError as error:
        return Finding(
            name="artifact",
            level=Level.FAIL,
            detail=str(error),
            remedy="slackquery rollback, or build and publish again.",
        ), None
    detail = (
        f"{info.artifact_id}: {info.document_count:,} documents, {info.vector_count:,} vectors of {info.dimensions}, "
        f"workspaces {', '.join(info.workspace_ids)}"
    )
    return Finding(name="artifact", level=Level.OK, detail=detail), info


def _abilities(info: ArtifactInfo) -> Iterator[Finding]:
    if schema.CHANNELS not in info.capabilities:
        yield Finding(
            name="privacy",
            level=Level.OK,
            detail="No channel table: only channels that Slack itself confirms are searched.",
        )
    if not info.indexes_digits:
        yield Finding(
            name="digits",
            level=Level.OK,
            detail="The index holds no digits: identifiers are looked up by their string, before keywords.",
        )
    if info.analyzer not in {None, ANALYZER_VERSION}:
        yield Finding(
            name="analyzer",
            level=Level.FAIL,
            detail=f"Made by analyzer {info.analyzer}; this program's is {ANALYZER_VERSION}.",
            remedy="Build the artifact again.",
        )


def _embedding(info: ArtifactInfo, embedders: EmbedderFactory) -> Finding:
    if info.vector_count == 0:
        return Finding(name="embedding", level=Level.OK, detail="The archive has no vectors: keyword search only.")
    try:
        embedders.for_artifact(info).embed_query("is the embedding service there")
    except EmbeddingModelError as error:
        return Finding(
            name="embedding",
            level=Level.FAIL,
            detail=str(error),
            remedy="Set SLACKQUERY_EMBEDDING_URL and _MODEL to a service with the archive's model, or build it anew.",
        )
    except RetrievalError as error:
        return Finding(
            name="embedding",
            level=Level.FAIL,
            detail=str(error),
            remedy="Start the service, or set SLACKQUERY_EMBEDDING_URL; until then keywords alone answer.",
        )
    model = info.embedding_spec.model if info.embedding_spec is not None else info.generation_id
    return Finding(name="embedding", level=Level.OK, detail=f"{model} answers.")


def _memory(path: Path, resident_mb: int | None) -> Finding:
    with Artifact(path) as artifact, artifact.cursor() as cursor:
        need = memory_need(cursor, artifact.info, budget_mb=resident_mb)
    slower = "" if need.fits else " DuckDB answers every search instead, with the same results, more slowly."
    return Finding(name="memory", level=Level.OK, detail=need.sentence + slower)


def _verified(path: Path) -> Finding:
    try:
        with Artifact(path) as artifact:
            artifact.load()
            outcome = verify_lists(artifact)
    except RetrievalError as error:
        return Finding(name="verify", level=Level.FAIL, detail=str(error), remedy="Build the artifact again.")
    if outcome.differences:
        return Finding(
            name="verify",
            level=Level.FAIL,
            detail=" ".join(outcome.differences),
            remedy="Report this: ranked lists differ.",
        )
    return Finding(
        name="verify",
        level=Level.OK,
        detail=f"{outcome.lexical_queries} keyword and {outcome.semantic_queries} meaning lists equal DuckDB's own. "
        f"{outcome.residency}",
    )
