"""One query's evidence, gathered once, on which every way to rank can be tried without asking the artifact again.

A trial runs the same retrievers and the same fusion as `search_slack`; `tests/test_evaluation.py` holds the two
together.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval.analyzer import tokenize
from retrieval.artifact import Artifact
from retrieval.embedding import QueryEmbedder
from retrieval.errors import EmbeddingError, EmbeddingModelError
from retrieval.fusion import Evidence, fold_threads, fuse
from retrieval.lexical import QueryTerms
from retrieval.models import Filters, Fusion, Mode, QueryClass, RankedList, Retriever, SearchRequest
from retrieval.ranking import DEPTH, LINEAR_DEPTH, Ranker
from retrieval.readers import open_reader
from retrieval.routing import route_query
from retrieval.timings import Stopwatch
from retrieval.visibility import Visibility
from retrieval.weights import CONSTANTS, Constants, list_weights

_NOTHING: Final = Evidence(
    lists=(), scores={}, coverage=0.0, terms=QueryTerms(tokens=(), idf={}, capped=False), degraded=False
)
_BY_RANKS: Final = {Retriever.LEXICAL, Retriever.SEMANTIC, Retriever.EXACT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to rank.

    Attributes:
        name: What tables call it.
        mode: The search's mode.
        fusion: The search's fusion; matters in hybrid mode alone.
        constants: What the fusion is weighed with.
        depth: How many candidates of each list a fusion by ranks takes.
    """

    name: str
    mode: Mode
    fusion: Fusion = Fusion.RRF
    constants: Constants = CONSTANTS
    depth: int = DEPTH


WAYS: Final = (
    Way(name="lexical", mode=Mode.LEXICAL),
    Way(name="semantic", mode=Mode.SEMANTIC),
    *(Way(name=fusion.value, mode=Mode.HYBRID, fusion=fusion) for fusion in Fusion),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was gathered for one query.

    Attributes:
        query_class: The query's class.
        known_script: Whether the model reads the query's script.
        evidence: The deepest lists, with scores; the vector's even where the script is not known.
        threads: The thread of each candidate that belongs to one.
    """

    query_class: QueryClass
    known_script: bool
    evidence: Evidence
    threads: Mapping[str, str]


def gather_trial(
    artifact: Artifact,
    text: str,
    *,
    embedder: QueryEmbedder | None,
    hidden: frozenset[str] = frozenset(),
    asked_at_us: int | None = None,
) -> Trial:
    """Return the evidence for the query *text* over *artifact*.

    Args:
        artifact: What is searched.
        text: The query as it stands, without modifiers.
        embedder: None, or one that fails, leaves the vector's list out.
        hidden: Documents that are left out, as for an asker who may not see them.
        asked_at_us: The moment of asking, Unix microseconds; None for when the artifact was built.

    Raises:
        ArtifactReadError: DuckDB failed.
    """
    spec = artifact.info.embedding_spec
    route = route_query(text, scripts=spec.scripts if spec is not None else ())
    if not tokenize(text):
        return Trial(query_class=route.query_class, known_script=True, evidence=_NOTHING, threads={})
    visibility = Visibility(allowed=None, denied_document_ids=hidden)
    with artifact.cursor() as cursor:
        reader = open_reader(artifact, cursor, filters=Filters(), visibility=visibility)
        # Whether the vector takes part is decided by the weights, so that search by meaning alone can be tried too.
        asked = replace(route, known_script=True)
        request = SearchRequest(text=text, asked_at_us=asked_at_us)
        ranker = Ranker(artifact, reader, request, route=asked, stopwatch=Stopwatch())
        evidence = ranker.gather(_embedding(text, embedder), fusion=Fusion.LINEAR)
        ids = {one.document_id for ranked in evidence.lists for one in ranked.candidates}
        threads = {one: thread for one, thread in reader.threads(sorted(ids)).items() if thread is not None}
    return Trial(query_class=route.query_class, known_script=route.known_script, evidence=evidence, threads=threads)


def rank_trial(trial: Trial, way: Way, *, limit: int) -> tuple[str, ...]:
    """Return the document ids that *way* ranks best, at most *limit*, as a search would."""
    if way.mode is not Mode.HYBRID:
        wanted = Retriever.LEXICAL if way.mode is Mode.LEXICAL else Retriever.SEMANTIC
        found = (one.candidates for one in trial.evidence.lists if one.retriever is wanted)
        return tuple(one.document_id for one in next(found, ())[:limit])
    weights = list_weights(
        way.fusion,
        trial.query_class,
        trial.evidence.coverage,
        known_script=trial.known_script,
        constants=way.constants,
    )
    evidence = trial.evidence
    if way.fusion is not Fusion.LINEAR:
        evidence = replace(evidence, lists=tuple(_cut(one, way.depth) for one in evidence.lists))
    fused = fuse(way.fusion, evidence, weights, rrf_k=way.constants.rrf_k)
    return tuple(one.document_id for one in fold_threads(fused, trial.threads.get)[:limit])


def _cut(ranked: RankedList, depth: int) -> RankedList:
    """Return the list as a search by ranks takes it; thread windows were counted before they became messages."""
    if ranked.retriever not in _BY_RANKS:
        return ranked
    return replace(ranked, candidates=ranked.candidates[: min(depth, LINEAR_DEPTH)])


def _embedding(text: str, embedder: QueryEmbedder | None) -> Future[NDArray[np.float32]]:
    future: Future[NDArray[np.float32]] = Future()
    try:
        if embedder is None:
            raise EmbeddingModelError("No embedding model is set up.")
        future.set_result(embedder.embed_query(text))
    except EmbeddingError as error:
        future.set_exception(error)
    return future
