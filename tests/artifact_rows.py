"""Builds small artifacts in tests and reads their tables."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from retrieval.builder import BuildResult, WorkspaceIdentity, build_artifact
from retrieval.embedding import DocumentEmbedder

BUILT_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WORKSPACE_URL = "https://example.slack.com"


def build(
    destination: Path,
    *sources: Path,
    workspace_id: str | None = "T1",
    url: str | None = WORKSPACE_URL,
    embedder: DocumentEmbedder | None = None,
    files: Path | None = None,
    lenient: bool = False,
) -> BuildResult:
    """Build *sources* into *destination* at a fixed time."""
    return build_artifact(
        list(sources),
        destination,
        workspace=WorkspaceIdentity(workspace_id=workspace_id, url=url),
        embedder=embedder,
        files=files,
        lenient=lenient,
        clock=lambda: BUILT_AT,
    )


def rows(artifact: Path, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
    """Return what *sql* gives on an artifact opened read-only."""
    with duckdb.connect(str(artifact), read_only=True) as connection:
        return connection.execute(sql, list(parameters)).fetchall()


def texts(artifact: Path) -> dict[str, str]:
    """Return text_display of every message by the ts in its document id."""
    found = rows(artifact, "SELECT document_id, text_display FROM search_documents WHERE document_kind = 'message'")
    return {str(document_id).rsplit(":", 1)[-1]: str(text) for document_id, text in found}
