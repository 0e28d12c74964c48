"""Choosing the reader of a search."""

from typing import TYPE_CHECKING

from retrieval.artifact import Artifact
from retrieval.duckdb_reader import DuckDBReader
from retrieval.models import DocumentKind, Filters
from retrieval.reader import Reader
from retrieval.resident.reader import ResidentReader
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def open_reader(
    artifact: Artifact, cursor: "DuckDBPyConnection", *, filters: Filters, visibility: Visibility
) -> Reader:
    """Return the reader of one search: from memory where the artifact is held there, else DuckDB's own.

    Raises:
        FilterError: The filters cannot be applied.
    """
    resident = artifact.residency.resident
    if resident is None or DocumentKind.THREAD_CONTEXT in filters.kinds:
        return DuckDBReader(artifact, cursor, filters=filters, visibility=visibility)
    return ResidentReader(artifact, resident, cursor, filters=filters, visibility=visibility)
