"""What is right and wrong with the engine's set-up, each finding with its remedy."""

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from retrieval import fts, schema
from retrieval.analyzer import ANALYZER_VERSION
from retrieval.artifact import Artifact
from retrieval.embedding import EmbedderFactory
from retrieval.errors import RetrievalError
from retrieval.manifest import read_manifest
from retrieval.models import ArtifactInfo
from retrieval.publication import current_path
from retrieval.resident import memory_need
from retrieval.validation import validate_file
from retrieval.verification import verify_lists

EXPECTED_DUCKDB: Final = "1.5.5"
_MIN_FREE_BYTES: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What was looked at.
        ok: Whether it is as it should be; a limitation that one can live with is ok.
        detail: What was found.
        remedy: What to do about it, empty where nothing needs doing.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""


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
    yield _disk(artifacts)
    path = current_path(artifacts) if artifacts.is_dir() else artifacts
    if path is None or not path.exists():
        yield Finding(
            name="artifact",
            ok=False,
            detail=f"Nothing is published in {artifacts}.",
            remedy=f"slackquery build SOURCE --out {artifacts} --publish",
        )
        return
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
        ok=sys.version_info >= (3, 11),
        detail=f"Python {platform.python_version()}",
        remedy="" if sys.version_info >= (3, 11) else "Use Python 3.11 or newer.",
    )


def _duckdb() -> Finding:
    right = duckdb.__version__ == EXPECTED_DUCKDB
    return Finding(
        name="duckdb",
        ok=right,
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
            ok=False,
            detail=str(error).splitlines()[0],
            remedy=f"pip install duckdb-extension-fts=={EXPECTED_DUCKDB}",
        )
    return Finding(name="fts extension", ok=True, detail=fts.extension_path().parent.name)


def _disk(artifacts: Path) -> Finding:
    place = artifacts if artifacts.exists() else Path.cwd()
    free = shutil.disk_usage(place).free
    enough = free >= _MIN_FREE_BYTES
    return Finding(
        name="disk",
        ok=enough,
        detail=f"{free / 1e9:,.1f} GB free",
        remedy="" if enough else "Free some space: a build needs room for a second artifact.",
    )


def _validity(path: Path) -> tuple[Finding, ArtifactInfo | None]:
    try:
        info = validate_file(path, manifest=read_manifest(path))
    except RetrievalError as error:
        return Finding(
            name="artifact", ok=False, detail=str(error), remedy="slackquery rollback, or build and publish again."
        ), None
    detail = (
        f"{info.artifact_id}: {info.document_count:,} documents, {info.vector_count:,} vectors of {info.dimensions}, "
        f"workspaces {', '.join(info.workspace_ids)}"
    )
    return Finding(name="artifact", ok=True, detail=detail), info


def _abilities(info: ArtifactInfo) -> Iterator[Finding]:
    if schema.CHANNELS not in info.capabilities:
        yield Finding(
            name="privacy", ok=True, detail="No channel table: only channels that Slack itself confirms are searched."
        )
    if not info.indexes_digits:
        yield Finding(
            name="digits",
            ok=True,
            detail="The index holds no digits: identifiers are looked up by their string, before keywords.",
        )
    if info.analyzer not in {None, ANALYZER_VERSION}:
        yield Finding(
            name="analyzer",
            ok=False,
            detail=f"Made by analyzer {info.analyzer}; this program's is {ANALYZER_VERSION}.",
            remedy="Build the artifact again.",
        )


def _embedding(info: ArtifactInfo, embedders: EmbedderFactory) -> Finding:
    if info.vector_count == 0:
        return Finding(name="embedding", ok=True, detail="The archive has no vectors: keyword search only.")
    try:
        embedders.for_artifact(info).embed_query("is the embedding service there")
    except RetrievalError as error:
        return Finding(
            name="embedding",
            ok=False,
            detail=str(error),
            remedy="Start the service, or set SLACKQUERY_EMBEDDING_URL; until then keywords alone answer.",
        )
    model = info.embedding_spec.model if info.embedding_spec is not None else info.generation_id
    return Finding(name="embedding", ok=True, detail=f"{model} answers.")


def _memory(path: Path, resident_mb: int | None) -> Finding:
    with Artifact(path) as artifact, artifact.cursor() as cursor:
        need = memory_need(cursor, artifact.info, budget_mb=resident_mb)
    slower = "" if need.fits else " DuckDB answers every search instead, with the same results, more slowly."
    return Finding(name="memory", ok=True, detail=need.sentence + slower)


def _verified(path: Path) -> Finding:
    try:
        with Artifact(path) as artifact:
            artifact.load()
            outcome = verify_lists(artifact)
    except RetrievalError as error:
        return Finding(name="verify", ok=False, detail=str(error), remedy="Build the artifact again.")
    if outcome.differences:
        return Finding(
            name="verify", ok=False, detail=" ".join(outcome.differences), remedy="Report this: ranked lists differ."
        )
    return Finding(
        name="verify",
        ok=True,
        detail=f"{outcome.lexical_queries} keyword and {outcome.semantic_queries} meaning lists equal DuckDB's own. "
        f"{outcome.residency}",
    )
