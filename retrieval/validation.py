"""The checks that an artifact must pass before it may serve."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.checksum import file_sha256
from retrieval.errors import ArtifactInvalidError
from retrieval.manifest import Manifest
from retrieval.models import ArtifactInfo

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NORM_TOLERANCE: Final = 1e-5
_REQUIRED_TEXT: Final = (
    "document_id",
    "document_kind",
    "workspace_id",
    "workspace_slug",
    "channel_id",
    "ts_us",
    "is_thread_parent",
    "is_thread_reply",
    "is_thread_broadcast",
    "text_display",
    "text_lexical",
    "text_embedding",
    "source_version",
    "metadata_json",
)


def validate_file(path: Path, *, manifest: Manifest | None, memory_mb: int | None = None) -> ArtifactInfo:
    """Open the artifact at *path* in a fresh read-only connection, check it, close it.

    Args:
        path: The artifact's file.
        manifest: What it must agree with; None while it is being built.
        memory_mb: DuckDB's memory limit in MiB.

    Raises:
        ArtifactMissingError: There is no such file.
        ArtifactInvalidError: A check failed; its attribute `check` says which.
    """
    if manifest is not None and file_sha256(path.resolve()) != manifest.checksum_sha256:
        raise ArtifactInvalidError(f"{path.name} does not have the checksum of its manifest.", check="checksum")
    with Artifact(path, memory_mb=memory_mb) as artifact:
        validate_artifact(artifact, manifest=manifest)
        return artifact.info


def validate_artifact(artifact: Artifact, *, manifest: Manifest | None) -> None:
    """Check an open artifact: counts, ids, vectors, generation, index, and its manifest.

    Raises:
        ArtifactInvalidError: A check failed; its attribute `check` says which.
    """
    with artifact.cursor() as cursor:
        # First, because every other check calls functions.
        _check_functions(cursor)
        _check_documents(cursor, artifact.info)
        _check_vectors(cursor, artifact.info, known_missing=manifest.missing_vector_count if manifest else None)
        _check_index(cursor, artifact.info)
    if manifest is not None:
        _check_manifest(artifact.info, manifest)


def _check_functions(cursor: "DuckDBPyConnection") -> None:
    """Refuse macros that stand before DuckDB's own functions and operators: they would rank and filter as they like."""
    row = cursor.execute(
        "SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal AND schema_name = 'main' "
        "AND function_name IN (SELECT function_name FROM system.main.duckdb_functions() WHERE internal) "
        "ORDER BY function_name LIMIT 1"
    ).fetchone()
    if row is not None:
        raise ArtifactInvalidError(f"The artifact holds a macro in place of DuckDB's {row[0]!r}.", check="functions")


def _check_documents(cursor: "DuckDBPyConnection", info: ArtifactInfo) -> None:
    total, distinct = _row(cursor, f"SELECT count(*), count(DISTINCT document_id) FROM {schema.DOCUMENTS}")
    if total != info.document_count:
        raise ArtifactInvalidError(
            f"The artifact says {info.document_count} documents and holds {total}.", check="document_count"
        )
    if distinct != total:
        raise ArtifactInvalidError(f"{total - distinct} document ids stand twice or are missing.", check="document_ids")
    nulls = " OR ".join(f"{column} IS NULL" for column in _REQUIRED_TEXT)
    (empty,) = _row(cursor, f"SELECT count(*) FROM {schema.DOCUMENTS} WHERE {nulls}")
    if empty:
        raise ArtifactInvalidError(f"{empty} documents lack a required value.", check="required_values")


def _check_vectors(cursor: "DuckDBPyConnection", info: ArtifactInfo, *, known_missing: int | None) -> None:
    total, distinct, generations = _row(
        cursor,
        f"SELECT count(*), count(DISTINCT document_id), count(DISTINCT generation_id) FROM {schema.VECTORS}",
    )
    if total != info.vector_count or distinct != total:
        raise ArtifactInvalidError(
            f"The artifact says {info.vector_count} vectors and holds {distinct} of {total}.", check="vector_count"
        )
    if total == 0:
        return
    if info.dimensions is None:
        raise ArtifactInvalidError("The vectors' column has no fixed length.", check="vector_dimensions")
    (foreign,) = _row(cursor, f"SELECT count(*) FROM {schema.VECTORS} WHERE generation_id <> ?", [info.generation_id])
    if generations != 1 or foreign:
        raise ArtifactInvalidError("The vectors are not all of the artifact's generation.", check="generation")
    _check_norms(cursor)
    _check_coverage(cursor, known_missing=known_missing)


def _check_norms(cursor: "DuckDBPyConnection") -> None:
    # A NaN or an infinity in a vector makes its norm one too, and every comparison with it false.
    low, high = (1 - NORM_TOLERANCE) ** 2, (1 + NORM_TOLERANCE) ** 2
    squared = "list_inner_product(CAST(embedding AS DOUBLE[]), CAST(embedding AS DOUBLE[]))"
    (off,) = _row(
        cursor,
        f"SELECT count(*) FROM {schema.VECTORS} WHERE NOT coalesce(isfinite({squared}) AND {squared} BETWEEN ? AND ?, "
        "false)",
        [low, high],
    )
    if off:
        raise ArtifactInvalidError(f"{off} vectors are not finite or not of length 1.", check="vector_norm")


def _check_coverage(cursor: "DuckDBPyConnection", *, known_missing: int | None) -> None:
    (missing,) = _row(
        cursor,
        f"SELECT count(*) FROM {schema.DOCUMENTS} d WHERE d.document_kind <> 'thread_context' "
        f"AND NOT EXISTS (SELECT 1 FROM {schema.VECTORS} v WHERE v.document_id = d.document_id)",
    )
    (orphans,) = _row(
        cursor,
        f"SELECT count(*) FROM {schema.VECTORS} v WHERE NOT EXISTS "
        f"(SELECT 1 FROM {schema.DOCUMENTS} d WHERE d.document_id = v.document_id)",
    )
    if orphans:
        raise ArtifactInvalidError(f"{orphans} vectors belong to no document.", check="vector_orphans")
    if known_missing is not None and missing != known_missing:
        raise ArtifactInvalidError(
            f"{missing} messages or file chunks have no vector; {known_missing} are known to.", check="vector_coverage"
        )


def _check_index(cursor: "DuckDBPyConnection", info: ArtifactInfo) -> None:
    (indexed,) = _row(
        cursor,
        f"SELECT count(*) FROM {schema.FTS_SCHEMA}.docs i JOIN {schema.DOCUMENTS} d ON d.document_id = i.name",
    )
    (count,) = _row(cursor, f"SELECT count(*) FROM {schema.FTS_SCHEMA}.docs")
    if not indexed == count == info.document_count:
        raise ArtifactInvalidError(
            f"The full-text index covers {indexed} of {info.document_count} documents.", check="fts_coverage"
        )
    rows, _ = _row(cursor, f"SELECT count(*), max(num_docs) FROM {schema.FTS_SCHEMA}.stats")
    (unknown,) = _row(
        cursor,
        f"SELECT count(*) FROM {schema.FTS_SCHEMA}.terms t WHERE NOT EXISTS "
        f"(SELECT 1 FROM {schema.FTS_SCHEMA}.dict w WHERE w.termid = t.termid)",
    )
    if rows != 1 or unknown or not math.isfinite(_average_length(cursor)):
        raise ArtifactInvalidError("The full-text index is not consistent.", check="fts_tables")
    if schema.LEXICAL_POSTINGS in info.capabilities:
        _check_postings(cursor)


def _check_postings(cursor: "DuckDBPyConnection") -> None:
    stored = _row(cursor, f"SELECT count(*), coalesce(sum(tf), 0) FROM {schema.LEXICAL_POSTINGS}")
    expected = _row(
        cursor,
        f"SELECT (SELECT coalesce(sum(df), 0) FROM {schema.FTS_SCHEMA}.dict), "
        f"(SELECT count(*) FROM {schema.FTS_SCHEMA}.terms)",
    )
    if stored != expected:
        raise ArtifactInvalidError("The table of postings does not agree with the full-text index.", check="postings")
    (misplaced,) = _row(
        cursor,
        "WITH spans AS (SELECT termid, min(rowid) AS first, max(rowid) AS last, count(*) AS n "
        f"FROM {schema.LEXICAL_POSTINGS} GROUP BY termid), "
        "placed AS (SELECT *, sum(n) OVER (ORDER BY termid) - n AS expected FROM spans) "
        f"SELECT count(*) FROM placed LEFT JOIN {schema.FTS_SCHEMA}.dict w USING (termid) "
        "WHERE first <> expected OR last - first + 1 <> n OR w.df IS DISTINCT FROM n",
    )
    if misplaced:
        raise ArtifactInvalidError("The table of postings is not sorted by term.", check="postings")


def _average_length(cursor: "DuckDBPyConnection") -> float:
    (average,) = _row(cursor, f"SELECT coalesce(max(avgdl), 0) FROM {schema.FTS_SCHEMA}.stats")
    return float(average)


def _check_manifest(info: ArtifactInfo, manifest: Manifest) -> None:
    pairs = (
        ("artifact_id", info.artifact_id, manifest.artifact_id),
        ("schema_version", info.schema_version, manifest.schema_version),
        ("generation_id", info.generation_id, manifest.generation_id),
        ("source_watermark", info.source_watermark, manifest.source_watermark),
        ("document_count", info.document_count, manifest.document_count),
        ("vector_count", info.vector_count, manifest.vector_count),
    )
    for name, own, stated in pairs:
        if own != stated:
            raise ArtifactInvalidError(
                f"The artifact's {name} is {own}; its manifest says {stated}.", check=f"manifest_{name}"
            )


def _row(cursor: "DuckDBPyConnection", sql: str, parameters: list[object] | None = None) -> tuple[int, ...]:
    row = cursor.execute(sql, parameters or []).fetchone()
    return tuple(row) if row is not None else ()
