"""Comparing this program's ranked lists with DuckDB's own functions, the definition of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np

from retrieval import fts, schema
from retrieval.artifact import Artifact
from retrieval.duckdb_reader import DuckDBReader
from retrieval.errors import ArtifactInvalidError
from retrieval.filters import Predicate, document_predicate
from retrieval.lexical import SCORE_DECIMALS
from retrieval.models import Filters, RankedList
from retrieval.reader import Reader
from retrieval.resident.reader import ResidentReader
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DEPTH: Final = 100
_WORDS: Final = 12
_MACROS: Final = ("match_bm25", "tokenize")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The outcome of a comparison.

    Attributes:
        lexical_queries: How many queries were compared with `match_bm25`.
        semantic_queries: How many with `array_cosine_similarity`.
        differences: One sentence for each list that differs; empty where all agree.
        residency: One sentence on whether lists from memory were compared too.
    """

    lexical_queries: int
    semantic_queries: int
    differences: tuple[str, ...]
    residency: str


def verify_lists(artifact: Artifact, *, queries: int = 20) -> Verification:
    """Compare the lists of some queries made from the artifact's own messages with DuckDB's.

    Lexical lists must hold the same ids in the same order by (round(score, 9) descending, document_id), semantic
    ones by (score descending, document_id), 100 deep. Where the artifact was read into memory, the lists from there
    are compared too.

    Args:
        artifact: What to check.
        queries: How many messages to take queries from, chosen by a hash of their ids.

    Raises:
        ArtifactInvalidError: The macros stored in the file are not those that DuckDB makes.
    """
    check_macros(artifact)
    differences: list[str] = []
    with (
        Artifact(artifact.path, full_text=True) as defining,
        defining.cursor() as definition,
        artifact.cursor() as cursor,
    ):
        samples = cursor.execute(
            f"SELECT document_id, text_lexical FROM {schema.DOCUMENTS} WHERE document_kind = 'message' "
            "AND length(text_lexical) > 0 ORDER BY hash(document_id), document_id LIMIT ?",
            [queries],
        ).fetchall()
        vectors = list(_vectors(cursor, [row[0] for row in samples]))
        for reader in _readers(artifact, cursor):
            name = "from memory" if isinstance(reader, ResidentReader) else "from DuckDB's tables"
            differences += [
                f"Keyword lists {name} differ for the words of {document_id}."
                for document_id, text in samples
                if not _same_lexical(artifact, definition, reader, text.split()[:_WORDS])
            ]
            differences += [
                f"Meaning lists {name} differ for the vector of {document_id}."
                for document_id, vector in vectors
                if not _same_semantic(artifact, definition, reader, vector)
            ]
    return Verification(
        lexical_queries=len(samples),
        semantic_queries=len(vectors),
        differences=tuple(differences),
        residency=artifact.residency.detail,
    )


def oracle_lexical(
    cursor: "DuckDBPyConnection", tokens: Sequence[str], predicate: Predicate, *, limit: int
) -> list[str]:
    """Return the ids that DuckDB's `match_bm25` ranks best; call `check_macros` first, open with `full_text`."""
    rows = cursor.execute(
        f"SELECT document_id FROM (SELECT d.document_id, round({schema.FTS_SCHEMA}.match_bm25(d.document_id, ?, "
        f"k := {schema.BM25_K}, b := {schema.BM25_B}), {SCORE_DECIMALS}) AS score FROM {schema.DOCUMENTS} d "
        f"WHERE {predicate.sql}) WHERE score IS NOT NULL ORDER BY score DESC, document_id LIMIT ?",
        [" ".join(tokens), *predicate.parameters, limit],
    ).fetchall()
    return [row[0] for row in rows]


def oracle_semantic(cursor: "DuckDBPyConnection", vector: np.ndarray, predicate: Predicate, *, limit: int) -> list[str]:
    """Return the ids whose vectors DuckDB's `array_cosine_similarity` puts nearest."""
    rows = cursor.execute(
        f"SELECT v.document_id FROM {schema.VECTORS} v JOIN {schema.DOCUMENTS} d USING (document_id) "
        f"WHERE {predicate.sql} ORDER BY array_cosine_similarity(v.embedding, ?::FLOAT[{len(vector)}]) DESC, "
        "v.document_id LIMIT ?",
        [*predicate.parameters, vector.tolist(), limit],
    ).fetchall()
    return [row[0] for row in rows]


def check_macros(artifact: Artifact) -> None:
    """Make sure that the full-text macros stored in the file are those that DuckDB makes for its options.

    Raises:
        ArtifactInvalidError: One is missing or another.
    """
    config = artifact.info.fts_config
    with artifact.cursor() as cursor:
        stored = _macros(cursor)
    if stored != _own_macros(
        ignore=str(config.get("ignore", fts.DEFAULT_IGNORE)),
        stemmer=str(config.get("stemmer", fts.DEFAULT_STEMMER)),
        stopwords=str(config.get("stopwords", "english")),
    ):
        raise ArtifactInvalidError("The full-text macros in this file are not DuckDB's own.", check="macros")


def _macros(cursor: "DuckDBPyConnection") -> dict[str, str]:
    return dict(
        cursor.execute(
            "SELECT function_name, macro_definition FROM duckdb_functions() WHERE schema_name = ? "
            "AND function_name IN (SELECT unnest(?::VARCHAR[]))",
            [schema.FTS_SCHEMA, list(_MACROS)],
        ).fetchall()
    )


def _own_macros(*, ignore: str, stemmer: str, stopwords: str) -> dict[str, str]:
    quoted = {name: value.replace("'", "''") for name, value in (("i", ignore), ("s", stemmer), ("w", stopwords))}
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    try:
        fts.load_fts(connection)
        connection.execute(f"CREATE TABLE {schema.DOCUMENTS} (document_id VARCHAR, text_lexical VARCHAR)")
        connection.execute(
            f"PRAGMA create_fts_index('{schema.DOCUMENTS}', 'document_id', 'text_lexical', stemmer='{quoted['s']}', "
            f"stopwords='{quoted['w']}', ignore='{quoted['i']}', strip_accents=1, lower=1)"
        )
        return _macros(connection)
    finally:
        connection.close()


def _readers(artifact: Artifact, cursor: "DuckDBPyConnection") -> Iterator[Reader]:
    """Yield every reader that could answer searches of *artifact*, its own first."""
    filters, visibility = Filters(), Visibility.everything()
    yield DuckDBReader(artifact, cursor, filters=filters, visibility=visibility)
    resident = artifact.residency.resident
    if resident is not None:
        yield ResidentReader(artifact, resident, cursor, filters=filters, visibility=visibility)


def _same_lexical(artifact: Artifact, definition: "DuckDBPyConnection", reader: Reader, words: Sequence[str]) -> bool:
    tokens = reader.read_terms(words).tokens
    return _ids(reader.lexical(limit=DEPTH)) == oracle_lexical(definition, tokens, _searchable(artifact), limit=DEPTH)


def _same_semantic(artifact: Artifact, definition: "DuckDBPyConnection", reader: Reader, vector: np.ndarray) -> bool:
    return _ids(reader.semantic(vector, limit=DEPTH)) == oracle_semantic(
        definition, vector, _searchable(artifact), limit=DEPTH
    )


def _searchable(artifact: Artifact) -> Predicate:
    shares = schema.DOCUMENT_MESSAGES in artifact.info.capabilities and artifact.has_file_chunks
    return document_predicate(Filters(), Visibility.everything(), shares=shares)


def _ids(ranked: RankedList) -> list[str]:
    return [one.document_id for one in ranked.candidates]


def _vectors(cursor: "DuckDBPyConnection", document_ids: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    rows = cursor.execute(
        f"SELECT document_id, embedding FROM {schema.VECTORS} WHERE document_id IN (SELECT unnest(?::VARCHAR[])) "
        "ORDER BY document_id",
        [list(document_ids)],
    ).fetchall()
    for document_id, embedding in rows:
        yield document_id, np.asarray(embedding, dtype=np.float32)
