"""Joining ranked lists, by formulas written out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import (
    Evidence,
    fold_threads,
    fuse,
    linear_fusion,
    reachable_share,
    reciprocal_rank_fusion,
    scaled_by_range,
)
from retrieval.lexical import QueryTerms
from retrieval.models import Candidate, FusedCandidate, Fusion, RankedList, Retriever

ONES = {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 1.0}
LETTERS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


def ranked(retriever: Retriever, ids: str | list[str], *, scores: list[float] | None = None) -> RankedList:
    """A list of one-letter documents, best first."""
    return RankedList(
        retriever=retriever,
        candidates=tuple(
            Candidate(document_id=one, rank=rank, score=scores[rank - 1] if scores else 1 / rank)
            for rank, one in enumerate(ids, start=1)
        ),
    )


def order(fused: tuple[FusedCandidate, ...]) -> str:
    return "".join(one.document_id for one in fused)


def by_id(fused: tuple[FusedCandidate, ...]) -> dict[str, float]:
    return {one.document_id: one.score for one in fused}


def test_rrf_is_one_over_sixty_plus_rank_from_each_list() -> None:
    fused = reciprocal_rank_fusion([ranked(Retriever.LEXICAL, "ab"), ranked(Retriever.SEMANTIC, "bc")], ONES)

    assert by_id(fused) == {"b": 1 / (60 + 2) + 1 / (60 + 1), "a": 1 / (60 + 1), "c": 1 / (60 + 2)}
    assert order(fused) == "bac"


def test_rrf_weights_multiply_each_addend() -> None:
    weights = {Retriever.LEXICAL: 2.0, Retriever.SEMANTIC: 0.5, Retriever.EXACT: 5.0}
    lists = [ranked(Retriever.EXACT, "a"), ranked(Retriever.SEMANTIC, "ba"), ranked(Retriever.LEXICAL, "ab")]

    fused = reciprocal_rank_fusion(lists, weights)

    assert by_id(fused) == {"a": 2 / 61 + 0.5 / 62 + 5 / 61, "b": 2 / 62 + 0.5 / 61}


def test_rrf_takes_another_constant() -> None:
    fused = reciprocal_rank_fusion([ranked(Retriever.LEXICAL, "ab")], ONES, rrf_k=10)

    assert by_id(fused) == {"a": 1 / 11, "b": 1 / 12}


@pytest.mark.parametrize("weights", [{Retriever.LEXICAL: 1.0}, {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 0.0}])
def test_a_list_without_weight_takes_no_part(weights: dict[Retriever, float]) -> None:
    lists = [ranked(Retriever.LEXICAL, "a"), ranked(Retriever.SEMANTIC, "ba")]

    assert order(reciprocal_rank_fusion(lists, weights)) == "a"
    assert order(linear_fusion(lists, {Retriever.LEXICAL: {"a": 1.0}, Retriever.SEMANTIC: {"b": 1.0}}, weights)) == "a"


def test_contributions_say_list_rank_score_weight_and_value() -> None:
    """B19: one entry with a contribution from each list, in the order of the retrievers."""
    lists = [ranked(Retriever.CONTEXT, "a"), ranked(Retriever.SEMANTIC, "ba"), ranked(Retriever.LEXICAL, "a")]

    (best, _) = reciprocal_rank_fusion(lists, {**ONES, Retriever.CONTEXT: 0.3})

    assert [(one.retriever, one.rank, one.score, one.weight, one.value) for one in best.contributions] == [
        (Retriever.LEXICAL, 1, 1.0, 1.0, 1 / 61),
        (Retriever.SEMANTIC, 2, 0.5, 1.0, 1 / 62),
        (Retriever.CONTEXT, 1, 1.0, 0.3, 0.3 / 61),
    ]


def test_a_document_twice_in_a_list_counts_once_at_its_better_rank() -> None:
    """B19: a duplicate within one list adds nothing."""
    lists = [ranked(Retriever.LEXICAL, "aba")]

    assert by_id(reciprocal_rank_fusion(lists, ONES)) == {"a": 1 / 61, "b": 1 / 62}
    (best, _) = linear_fusion(lists, {Retriever.LEXICAL: scaled_by_range(lists[0])}, ONES)
    assert [(one.rank, one.score) for one in best.contributions] == [(1, 1.0)]


def test_equal_scores_are_ordered_by_document_id_whatever_the_order_of_lists() -> None:
    """B18: a first in one list and b first in the other are equal, and a stands first every time."""
    lists = [ranked(Retriever.LEXICAL, "ba"), ranked(Retriever.SEMANTIC, "ab")]

    for permuted in itertools.permutations(lists):
        assert order(reciprocal_rank_fusion(permuted, ONES)) == "ab"


@pytest.mark.parametrize("lists", [[], [ranked(Retriever.LEXICAL, ""), ranked(Retriever.SEMANTIC, "")]])
def test_nothing_found_fuses_to_nothing(lists: list[RankedList]) -> None:
    assert reciprocal_rank_fusion(lists, ONES) == ()
    assert linear_fusion(lists, {}, ONES) == ()


@given(LETTERS, LETTERS, LETTERS)
def test_rrf_is_a_union_whose_scores_recompute(first: list[str], second: list[str], third: list[str]) -> None:
    weights = {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 0.7, Retriever.CONTEXT: 0.3}
    lists = [ranked(retriever, ids) for retriever, ids in zip(weights, (first, second, third), strict=True)]

    fused = reciprocal_rank_fusion(lists, weights)

    assert sorted(one.document_id for one in fused) == sorted({*first, *second, *third})
    assert list(fused) == sorted(fused, key=lambda one: (-one.score, one.document_id))
    for one in fused:
        assert one.score == sum(part.weight / (60 + part.rank) for part in one.contributions)


def test_linear_adds_weight_times_score_of_every_retriever() -> None:
    """A candidate of one list has its scores by the other retrievers too, with rank 0."""
    lists = [ranked(Retriever.LEXICAL, "a"), ranked(Retriever.SEMANTIC, "b")]
    scores = {Retriever.LEXICAL: {"a": 0.5, "b": 0.25}, Retriever.SEMANTIC: {"a": 0.125, "b": 0.75}}

    fused = linear_fusion(lists, scores, {Retriever.LEXICAL: 2.0, Retriever.SEMANTIC: 1.0})

    assert by_id(fused) == {"a": 2 * 0.5 + 1 * 0.125, "b": 2 * 0.25 + 1 * 0.75}
    assert [(part.retriever, part.rank) for part in fused[0].contributions] == [
        (Retriever.LEXICAL, 0),
        (Retriever.SEMANTIC, 1),
    ]


def test_linear_leaves_out_scores_of_zero_and_below() -> None:
    """A negative cosine, or a window that says less than its message, never takes anything away."""
    scores = {Retriever.LEXICAL: {"a": 0.5}, Retriever.SEMANTIC: {"a": -0.5}}

    (only,) = linear_fusion([ranked(Retriever.LEXICAL, "a")], scores, ONES)

    assert only.score == 0.5
    assert [part.retriever for part in only.contributions] == [Retriever.LEXICAL]


def test_linear_ties_go_by_document_id() -> None:
    scores = {Retriever.LEXICAL: {"a": 0.5, "b": 0.5, "c": 0.5}}

    assert order(linear_fusion([ranked(Retriever.LEXICAL, "cab")], scores, ONES)) == "abc"


def test_share_is_bm25_over_what_the_query_could_reach() -> None:
    """With k = 0.9 a term's part stays below 1.9 * idf; a term that no document holds counts too."""
    terms = QueryTerms(tokens=("known", "unknown"), idf={"known": 1.0, "unknown": 3.0}, capped=False)

    assert reachable_share({"a": 1.9}, terms) == {"a": pytest.approx(1.9 / (1.9 * 4.0))}


def test_share_of_a_query_without_weight_is_nothing() -> None:
    assert reachable_share({"a": 1.0}, QueryTerms(tokens=(), idf={}, capped=False)) == {}


def test_a_list_is_scaled_between_its_best_and_its_worst() -> None:
    assert scaled_by_range(ranked(Retriever.LEXICAL, "abc", scores=[6.0, 3.0, 2.0])) == {"a": 1.0, "b": 0.25, "c": 0.0}


@pytest.mark.parametrize(("ids", "scaled"), [("", {}), ("a", {"a": 1.0})])
def test_a_list_of_equal_scores_is_scaled_to_one(ids: str, scaled: dict[str, float]) -> None:
    assert scaled_by_range(ranked(Retriever.LEXICAL, ids)) == scaled


@pytest.mark.parametrize("fusion", list(Fusion))
def test_every_fusion_recomputes_from_its_contributions(fusion: Fusion) -> None:
    lists = (ranked(Retriever.LEXICAL, "abc"), ranked(Retriever.SEMANTIC, "cbd"))
    terms = QueryTerms(tokens=("x",), idf={"x": 1.0}, capped=False)
    scores = {Retriever.LEXICAL: {"a": 0.3, "b": 0.1}, Retriever.SEMANTIC: {"c": 0.7, "a": 0.2}}
    evidence = Evidence(lists=lists, scores=scores, coverage=1.0, terms=terms, degraded=False)

    fused = fuse(fusion, evidence, ONES)

    assert {one.document_id for one in fused} == set("abcd")
    assert all(one.score == sum(part.value for part in one.contributions) for one in fused)
    assert list(fused) == sorted(fused, key=lambda one: (-one.score, one.document_id))


def test_the_even_mixture_is_alpha_vector_plus_the_rest_keyword() -> None:
    lists = (
        ranked(Retriever.LEXICAL, "ab", scores=[4.0, 2.0]),
        ranked(Retriever.SEMANTIC, "bca", scores=[0.9, 0.6, 0.3]),
    )
    terms = QueryTerms(tokens=("x",), idf={"x": 1.0}, capped=False)
    evidence = Evidence(lists=lists, scores={}, coverage=1.0, terms=terms, degraded=False)

    fused = fuse(Fusion.LINEAR_FIXED, evidence, {Retriever.LEXICAL: 0.25, Retriever.SEMANTIC: 0.75})

    assert by_id(fused) == pytest.approx({"a": 0.25 * 1 + 0.75 * 0, "b": 0.25 * 0 + 0.75 * 1, "c": 0.75 * 0.5})


def candidates(ids: str) -> list[FusedCandidate]:
    return [FusedCandidate(document_id=one, score=1.0, contributions=()) for one in ids]


def test_folding_keeps_each_thread_at_its_best_and_counts_the_rest() -> None:
    threads = {"a": "t1", "b": "t2", "c": "t1", "d": None, "e": "t1"}

    folded = fold_threads(candidates("abcde"), threads.get)

    assert [(one.document_id, one.folded) for one in folded] == [("a", 2), ("b", 0), ("d", 0)]


def test_messages_outside_threads_are_never_folded() -> None:
    folded = fold_threads(candidates("abc"), {}.get)

    assert [(one.document_id, one.folded) for one in folded] == [("a", 0), ("b", 0), ("c", 0)]
