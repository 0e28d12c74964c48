"""Joining ranked lists: by ranks, by scores, and how many candidates of a thread are shown.

Every addend is kept as a contribution, so a score and its explanation cannot drift apart.

| `SLACKQUERY_FUSION` | score of d |
|---|---|
| `rrf`, `rrf-fixed` | sum over lists of weight / (60 + rank of d), ranks from 1 |
| `linear` | sum over retrievers of weight * normalised score, each normalised by what the query could reach at most |
| `linear-fixed` | alpha * vector + (1 - alpha) * keyword, each list scaled to 0..1 by its own best and worst |

RRF and its 60 are those of Cormack, Clarke and Büttcher (SIGIR 2009).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from retrieval import schema
from retrieval.lexical import QueryTerms
from retrieval.models import Contribution, FusedCandidate, Fusion, RankedList, Retriever
from retrieval.recency import recency_list
from retrieval.weights import CONSTANTS

Scores = Mapping[Retriever, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the retrievers found for one query; every fusion works on this alone.

    Attributes:
        lists: At most one a retriever, those that did not answer left out; recency's comes of `days`.
        scores: Every candidate's normalised scores by retriever; empty unless wanted for `linear`.
        coverage: Share of the query's idf in BM25's best document, 0..1.
        terms: The query's terms.
        degraded: Whether the query's vector was missed.
        days: Whole days between every candidate and the moment of asking; empty where a fusion does not ask.
    """

    lists: tuple[RankedList, ...]
    scores: Scores
    coverage: float
    terms: QueryTerms
    degraded: bool
    days: Mapping[str, int] = field(default_factory=dict)


def fuse(
    fusion: Fusion, evidence: Evidence, weights: Mapping[Retriever, float], *, rrf_k: int = CONSTANTS.rrf_k
) -> tuple[FusedCandidate, ...]:
    """Return all candidates of *evidence* in the order of one fusion, ties by document_id.

    Args:
        fusion: The way; `linear` needs the evidence's scores.
        evidence: Lists and scores.
        weights: By retriever; one that is missing or 0 does not take part.
        rrf_k: The constant added to every rank, where fusion is by ranks.
    """
    used = [ranked for ranked in evidence.lists if weights.get(ranked.retriever, 0.0) > 0]
    # Being recent makes nothing a candidate.
    recent = recency_list(evidence.days, (one.document_id for ranked in used for one in ranked.candidates))
    if fusion is Fusion.LINEAR:
        nearness = {one.document_id: one.score for one in recent.candidates}
        return linear_fusion([*used, recent], {**evidence.scores, Retriever.RECENCY: nearness}, weights)
    if fusion is Fusion.LINEAR_FIXED:
        scaled = {one.retriever: scaled_by_range(one) for one in evidence.lists}
        return linear_fusion(evidence.lists, scaled, weights)
    return reciprocal_rank_fusion([*used, recent], weights, rrf_k=rrf_k)


def reciprocal_rank_fusion(
    lists: Sequence[RankedList], weights: Mapping[Retriever, float], *, rrf_k: int = CONSTANTS.rrf_k
) -> tuple[FusedCandidate, ...]:
    """Return the union of *lists* by descending score, ties by document_id.

    Args:
        lists: At most one a retriever; the order does not matter. A document that stands twice in one list
            counts once, at its better rank. Empty lists are welcome.
        weights: By retriever; one that is missing or 0 does not take part.
        rrf_k: The constant added to every rank; not the k of top k.
    """
    contributions: dict[str, dict[Retriever, Contribution]] = {}
    for ranked in _in_order(lists):
        weight = weights.get(ranked.retriever, 0.0)
        if weight <= 0:
            continue
        for candidate in ranked.candidates:
            contributions.setdefault(candidate.document_id, {}).setdefault(
                ranked.retriever,
                Contribution(
                    retriever=ranked.retriever,
                    rank=candidate.rank,
                    score=candidate.score,
                    weight=weight,
                    value=weight / (rrf_k + candidate.rank),
                ),
            )
    return _ordered({document_id: tuple(parts.values()) for document_id, parts in contributions.items()})


def linear_fusion(
    lists: Sequence[RankedList], scores: Scores, weights: Mapping[Retriever, float]
) -> tuple[FusedCandidate, ...]:
    """Return the union of *lists* by descending sum of weight * score, ties by document_id.

    Args:
        lists: Which documents are candidates, and the ranks that their contributions show. The lists of retrievers
            that do not take part are left aside.
        scores: Normalised scores by retriever and document; one that is missing counts as 0. They reach further
            than the lists: a candidate of one list has its scores by the other retrievers too.
        weights: By retriever; one that is missing or 0 does not take part.

    Returns:
        Candidates whose contributions hold the normalised score; rank 0 where a document has a score but does
        not stand in that retriever's list.
    """
    used = {retriever: weight for retriever in Retriever if (weight := weights.get(retriever, 0.0)) > 0}
    lists = [ranked for ranked in lists if ranked.retriever in used]
    ranks = {ranked.retriever: {one.document_id: one.rank for one in ranked.candidates[::-1]} for ranked in lists}
    contributions: dict[str, list[Contribution]] = {
        one.document_id: [] for ranked in lists for one in ranked.candidates
    }
    for retriever, weight in used.items():
        for document_id, parts in contributions.items():
            score = scores.get(retriever, {}).get(document_id, 0.0)
            if score > 0:
                rank = ranks.get(retriever, {}).get(document_id, 0)
                parts.append(
                    Contribution(retriever=retriever, rank=rank, score=score, weight=weight, value=weight * score)
                )
    return _ordered({document_id: tuple(parts) for document_id, parts in contributions.items()})


def reachable_share(scores: Mapping[str, float], terms: QueryTerms) -> dict[str, float]:
    """Return BM25 scores as shares, 0..1, of what no document could exceed.

    A term's part is idf * tf * (k + 1) / (tf + ...), below (k + 1) * idf however often it stands in a document;
    terms that no document holds count too, so that a query of unknown words trusts its keywords less.

    Args:
        scores: BM25 scores by document.
        terms: The query's terms with their idf.
    """
    limit = (schema.BM25_K + 1) * math.fsum(terms.idf.values())
    return {document_id: score / limit for document_id, score in scores.items()} if limit > 0 else {}


def scaled_by_range(ranked: RankedList) -> dict[str, float]:
    """Return a list's scores scaled so that its best is 1 and its worst 0; all 1 where they are equal."""
    scores = {one.document_id: one.score for one in ranked.candidates[::-1]}
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {document_id: (score - low) / (high - low) for document_id, score in scores.items()}


def fold_threads(
    candidates: Sequence[FusedCandidate], thread_of: Callable[[str], str | None]
) -> tuple[FusedCandidate, ...]:
    """Return *candidates* with each thread's best alone, which counts those it stands for.

    Args:
        candidates: Best first, the whole list: folding a page at a time would repeat threads on later pages.
        thread_of: The thread of a document, None where it belongs to none.
    """
    kept: dict[str, int] = {}
    folded: list[FusedCandidate] = []
    for candidate in candidates:
        thread_id = thread_of(candidate.document_id)
        if thread_id is None:
            folded.append(candidate)
        elif thread_id in kept:
            best = folded[kept[thread_id]]
            folded[kept[thread_id]] = replace(best, folded=best.folded + 1)
        else:
            kept[thread_id] = len(folded)
            folded.append(candidate)
    return tuple(folded)


def _in_order(lists: Sequence[RankedList]) -> list[RankedList]:
    return sorted(lists, key=lambda one: list(Retriever).index(one.retriever))


def _ordered(contributions: Mapping[str, tuple[Contribution, ...]]) -> tuple[FusedCandidate, ...]:
    fused = (
        FusedCandidate(document_id=document_id, score=sum(one.value for one in parts), contributions=parts)
        for document_id, parts in contributions.items()
    )
    return tuple(sorted(fused, key=lambda one: (-one.score, one.document_id)))
