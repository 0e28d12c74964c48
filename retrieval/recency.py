"""How near in time a message lies to the moment of asking: people look for what was discussed lately.

It is a ranked list like any other, only that its ranks are days: 1 within a day of the moment of asking, 8 a week
away. Messages of one day share a rank, so where all were written together, as in a converted corpus, it changes
nothing; and RRF's own weight / (60 + rank) falls to half in 61 days. docs/evaluation.md has what it gains.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from retrieval.models import Candidate, RankedList, Retriever

# The curve that RRF with its 60 gives by ranks, for fusion by scores.
HALVING_DAYS: Final = 61
_DAY_US: Final = 86_400_000_000


def days_away(times: Mapping[str, int], asked_at_us: int) -> dict[str, int]:
    """Return the whole days between each time and the moment of asking, before or after it.

    Args:
        times: Unix microseconds by document.
        asked_at_us: The moment, Unix microseconds.
    """
    return {document_id: abs(asked_at_us - ts_us) // _DAY_US for document_id, ts_us in times.items()}


def recency_list(days: Mapping[str, int], document_ids: Iterable[str]) -> RankedList:
    """Return documents by nearness, ties by document_id; rank is 1 + days, score 1 / (1 + days / 61).

    Args:
        days: Whole days by document.
        document_ids: Which of them are listed.
    """
    nearest = sorted((days[one], one) for one in set(document_ids) if one in days)
    return RankedList(
        retriever=Retriever.RECENCY,
        candidates=tuple(
            Candidate(document_id=one, rank=1 + away, score=1 / (1 + away / HALVING_DAYS)) for away, one in nearest
        ),
    )
