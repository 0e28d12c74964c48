"""Searching: request -> visibility and filters -> retrievers -> fusion -> page -> hits."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import notices, schema
from retrieval.analyzer import holds_cjk, tokenize
from retrieval.artifact import Artifact
from retrieval.cursor import MAX_OFFSET, decode_cursor, encode_cursor
from retrieval.documents import count_threads, fetch_documents
from retrieval.embedding import QueryEmbedder
from retrieval.errors import EmbeddingModelError, FilterError, QueryTextError
from retrieval.filters import place_predicate, validate_filters
from retrieval.lexemes import whole_characters
from retrieval.models import Document, Filters, FusedCandidate, Fusion, Hit, Mode, ResultPage, SearchRequest, Sort
from retrieval.ranking import DEPTH, Embedding, Ranker, Ranking
from retrieval.readers import open_reader
from retrieval.routing import route_query
from retrieval.similar import Source, find_source
from retrieval.timings import Stopwatch
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_LIMIT: Final = 50
# Nobody types more; what comes after it in a pasted log would only cost time.
MAX_QUERY_CHARS: Final = 20_000


def search_slack(
    artifact: Artifact,
    request: SearchRequest,
    *,
    visibility: Visibility,
    embedder: QueryEmbedder | None,
    fusion: Fusion = Fusion.RRF,
) -> ResultPage:
    """Return one page of what *request* asks for, of what *visibility* allows alone.

    The same request over the same artifact always gives the same list, whatever the page size: ties go by
    document_id, and hybrid mode folds threads over the whole list before paging.

    Args:
        artifact: Leased by the caller for the duration of the call.
        request: What to search for. Without words, what satisfies its filters is listed by time; with a document to
            be similar to, what means about the same, without that document.
        visibility: What the asker may see; applied before ranking.
        embedder: Gives the query's vector by the artifact's own model; None switches semantic search off.
        fusion: How hybrid mode joins its lists.

    Returns:
        The page, with a cursor for the next one unless it is the last.

    Raises:
        QueryTextError: Neither a word to search for nor a filter.
        FilterError: A filter or limit that cannot be applied.
        CursorError: A cursor that cannot be continued; see its subclasses.
        EmbeddingError: Semantic mode, and the query has no vector. Hybrid mode warns instead.
        NotFoundError: The document to be similar to does not exist, or not for this asker: the same words.
        ArtifactReplacedError: The file was overwritten in place; nothing read from it is returned.
        ArtifactReadError: DuckDB failed.

    Thread-safe.
    """
    stopwatch = Stopwatch()
    validate_request(request)
    info = artifact.info
    offset = 0
    if request.cursor is not None:
        offset = decode_cursor(
            request.cursor, artifact_id=info.artifact_id, request=request, visibility=visibility, fusion=fusion
        )
    scripts = info.embedding_spec.scripts if info.embedding_spec is not None else ()
    route = route_query(request.text, request.filters.phrases, scripts=scripts)
    with artifact.cursor() as cursor:
        source = _find_source(artifact, cursor, request, visibility)
        # What is compared with is left out before ranking, as if it might not be seen; its thread still counts it.
        ranked = visibility if source is None else visibility.without(source.document.document_id)
        seen = place_predicate(Filters(), visibility)
        reader = open_reader(artifact, cursor, filters=request.filters, visibility=ranked)
        ranker = Ranker(artifact, reader, request, route=route, stopwatch=stopwatch)
        ranking = _rank(
            artifact, ranker, request, source=source, embedder=embedder, fusion=fusion, end=offset + request.limit
        )
        chosen = ranking.candidates[offset : offset + request.limit]
        with stopwatch.stage("rows"):
            documents = fetch_documents(
                cursor,
                [one.document_id for one in chosen],
                sizes=reader.thread_sizes if source is None else partial(count_threads, cursor, visible=seen),
                citing=place_predicate(request.filters, ranked),
                shares=schema.DOCUMENT_MESSAGES in info.capabilities,
            )
    artifact.check_unchanged()

    def cursor_at(start: int) -> str:
        return encode_cursor(start, artifact_id=info.artifact_id, request=request, visibility=visibility, fusion=fusion)

    end = offset + len(chosen)
    return ResultPage(
        request=request,
        route=route.query_class,
        weights=ranking.weights,
        artifact_id=info.artifact_id,
        generation_id=info.generation_id,
        built_at_us=info.built_at_us,
        hits=_hits(chosen, documents, offset),
        offset=offset,
        next_cursor=cursor_at(end) if len(ranking.candidates) > end and end <= MAX_OFFSET else None,
        previous_cursor=cursor_at(max(offset - request.limit, 0)) if offset > 0 else None,
        warnings=(*ranking.warnings, *_limitations(artifact, request)),
        degraded=ranking.degraded,
        timings_ms=stopwatch.milliseconds(),
        terms=ranking.terms,
        source=source.document if source is not None else None,
    )


def validate_request(request: SearchRequest) -> None:
    """Make sure that a request can be searched with, as far as that shows without an artifact.

    Raises:
        QueryTextError: Neither a word to search for nor a filter, or a text that no message can hold.
        FilterError: A filter or limit that cannot be applied.
    """
    if not 1 <= request.limit <= MAX_LIMIT:
        raise FilterError(f"A page holds 1 to {MAX_LIMIT} hits, not {request.limit}.")
    validate_filters(request.filters)
    if request.similar_to is not None:
        if request.text.strip() or request.mode is not Mode.SEMANTIC:
            raise FilterError("What is similar to a message is found by its meaning alone, without a text.")
        return
    if not request.text.strip():
        if request.filters == type(request.filters)():
            raise QueryTextError("There is nothing to search for: give a word, a phrase or a filter.")
        return
    if len(request.text) > MAX_QUERY_CHARS:
        raise QueryTextError(f"The query is longer than {MAX_QUERY_CHARS:,} characters.")
    if whole_characters(request.text) != request.text:
        raise QueryTextError("The query holds half of a character, which no message can hold.")
    if not tokenize(request.text):
        raise QueryTextError("There is no word or number to search for in this query.")


def _rank(
    artifact: Artifact,
    ranker: Ranker,
    request: SearchRequest,
    *,
    source: Source | None,
    embedder: QueryEmbedder | None,
    fusion: Fusion,
    end: int,
) -> Ranking:
    # One more than the page tells whether there is a next one.
    limit = end + 1 if request.sort is Sort.RELEVANCE else DEPTH
    if source is not None and source.vector is not None:
        known: Embedding = Future()
        known.set_result(source.vector)
        return ranker.semantic(known, limit=limit)
    text = request.text if source is None else source.document.text
    if not request.text.strip() and source is None:
        return ranker.newest(limit=end + 1)
    if request.mode is Mode.LEXICAL:
        return ranker.lexical(limit=limit)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-query") as executor:
        embedding = executor.submit(_embed, artifact, embedder, text)
        if request.mode is Mode.SEMANTIC:
            return ranker.semantic(embedding, limit=limit)
        return ranker.hybrid(embedding, fusion=fusion)


def _find_source(
    artifact: Artifact, cursor: "DuckDBPyConnection", request: SearchRequest, visibility: Visibility
) -> Source | None:
    if request.similar_to is None:
        return None
    source = find_source(artifact, cursor, request.similar_to, visibility=visibility)
    if source.vector is None and not tokenize(source.document.text):
        raise QueryTextError("There is no text in this message that others could be compared with.")
    return source


def _embed(artifact: Artifact, embedder: QueryEmbedder | None, text: str) -> NDArray[np.float32]:
    if artifact.info.vector_count == 0:
        raise EmbeddingModelError("This archive was built without vectors.")
    if embedder is None:
        raise EmbeddingModelError("No embedding model is set up.")
    vector = embedder.embed_query(text)
    if vector.shape != (artifact.info.dimensions,):
        raise EmbeddingModelError(
            f"The model gives {vector.shape[0]} numbers; this archive's vectors have {artifact.info.dimensions}."
        )
    return vector


def _limitations(artifact: Artifact, request: SearchRequest) -> tuple[str, ...]:
    """Return what keyword search cannot do for this query."""
    if request.mode is Mode.SEMANTIC or not holds_cjk(request.text):
        return ()
    if artifact.info.analyzer is None:
        return (notices.WHOLE_CJK,)
    alone = next((token for token in tokenize(request.text) if len(token) == 1 and holds_cjk(token)), None)
    return (notices.LONE_CJK.format(character=alone),) if alone is not None else ()


def _hits(chosen: tuple[FusedCandidate, ...], documents: dict[str, Document], offset: int) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            document=documents[one.document_id],
            rank=rank,
            score=one.score,
            contributions=one.contributions,
            more_in_thread=one.folded,
        )
        for rank, one in enumerate(chosen, start=offset + 1)
    )
