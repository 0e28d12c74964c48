"""Joining ranked lists: weighted reciprocal rank fusion, and how many candidates of a thread are shown.

RRF(d) = sum over lists of weight / (rrf_k + rank of d), ranks from 1, rrf_k = 60 (Cormack, Clarke and Büttcher,
SIGIR 2009). Every addend is kept as a contribution, so a score and its explanation cannot drift apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from retrieval.models import Contribution, FusedCandidate, RankedList, Retriever

RRF_K: Final = 60


def reciprocal_rank_fusion(
    lists: Sequence[RankedList], weights: Mapping[Retriever, float], *, rrf_k: int = RRF_K
) -> tuple[FusedCandidate, ...]:
    """Return the union of *lists* by descending score, ties by document_id.

    Args:
        lists: At most one a retriever; the order does not matter. A document that stands twice in one list
            counts once, at its better rank. Empty lists are welcome.
        weights: By retriever; one that is missing or 0 does not take part.
        rrf_k: The constant added to every rank; not the k of top k.
    """
    contributions: dict[str, dict[Retriever, Contribution]] = {}
    for ranked in sorted(lists, key=lambda one: list(Retriever).index(one.retriever)):
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
    fused = (
        FusedCandidate(
            document_id=document_id,
            score=sum(one.value for one in parts.values()),
            contributions=tuple(parts.values()),
        )
        for document_id, parts in contributions.items()
    )
    return tuple(sorted(fused, key=lambda one: (-one.score, one.document_id)))


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
