"""The context list: windows of discussions, and messages outside any."""

from retrieval.context import with_lone_messages
from retrieval.models import Candidate, RankedList, Retriever


def candidates(*scored: tuple[str, float]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(document_id=document_id, rank=rank, score=score)
        for rank, (document_id, score) in enumerate(scored, start=1)
    )


def windows(*scored: tuple[str, float]) -> RankedList:
    return RankedList(retriever=Retriever.CONTEXT, candidates=candidates(*scored))


def test_a_message_outside_threads_is_its_own_discussion() -> None:
    """Without it, any message of a thread would outrank a better one that nobody answered."""
    merged = with_lone_messages(windows(("w1", 3.0), ("w2", 1.0)), candidates(("l1", 4.0), ("l2", 2.0)), limit=10)

    assert [(one.document_id, one.rank, one.score) for one in merged.candidates] == [
        ("l1", 1, 4.0),
        ("w1", 2, 3.0),
        ("l2", 3, 2.0),
        ("w2", 4, 1.0),
    ]
    assert merged.retriever is Retriever.CONTEXT


def test_ties_go_by_document_id_and_the_limit_holds() -> None:
    merged = with_lone_messages(windows(("b", 1.0)), candidates(("c", 1.0), ("a", 1.0)), limit=2)

    assert [(one.document_id, one.rank) for one in merged.candidates] == [("a", 1), ("b", 2)]


def test_where_no_window_matches_there_is_no_list() -> None:
    """On an archive without threads the list would be the keyword list a second time."""
    assert with_lone_messages(windows(), candidates(("a", 1.0)), limit=10).candidates == ()
