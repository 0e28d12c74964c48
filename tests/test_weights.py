"""The weight of each list, by kind of fusion, class of query and coverage."""

import math
from dataclasses import replace

import pytest

from retrieval.models import Fusion, QueryClass, Retriever
from retrieval.weights import CONSTANTS, ClassWeights, Slope, list_weights, slope_weight

ADAPTIVE = [Fusion.RRF, Fusion.LINEAR]


def weights(
    fusion: Fusion, query_class: QueryClass = QueryClass.CONCEPTUAL, coverage: float = 0.5, *, known_script: bool = True
) -> dict[Retriever, float]:
    return list_weights(fusion, query_class, coverage, known_script=known_script)


@pytest.mark.parametrize("query_class", list(QueryClass))
@pytest.mark.parametrize("coverage", [0.0, 0.75, 1.0])
def test_the_published_baseline_weighs_both_lists_one(query_class: QueryClass, coverage: float) -> None:
    expected = {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 1.0}

    assert weights(Fusion.RRF_FIXED, query_class, coverage) == expected


@pytest.mark.parametrize("query_class", list(QueryClass))
def test_the_fixed_mixture_sums_to_one(query_class: QueryClass) -> None:
    mixture = weights(Fusion.LINEAR_FIXED, query_class)

    assert set(mixture) == {Retriever.LEXICAL, Retriever.SEMANTIC}
    assert math.fsum(mixture.values()) == 1.0


@pytest.mark.parametrize("fusion", list(Fusion))
@pytest.mark.parametrize("query_class", list(QueryClass))
def test_a_script_that_the_model_cannot_read_takes_the_vector_out(fusion: Fusion, query_class: QueryClass) -> None:
    assert Retriever.SEMANTIC not in weights(fusion, query_class, known_script=False)
    assert Retriever.LEXICAL in weights(fusion, query_class, known_script=False)


@pytest.mark.parametrize("fusion", ADAPTIVE)
def test_the_vector_counts_for_more_against_keywords_where_they_cover_little(fusion: Fusion) -> None:
    low, high = weights(fusion, coverage=0.4), weights(fusion, coverage=1.0)

    assert low[Retriever.SEMANTIC] / low[Retriever.LEXICAL] > 1.5 * high[Retriever.SEMANTIC] / high[Retriever.LEXICAL]


@pytest.mark.parametrize("fusion", ADAPTIVE)
@pytest.mark.parametrize("coverage", [0.0, 0.5, 1.0])
def test_for_identifiers_keywords_outweigh_the_vector(fusion: Fusion, coverage: float) -> None:
    exact = weights(fusion, QueryClass.EXACT, coverage)

    assert exact[Retriever.EXACT] > exact[Retriever.LEXICAL] > exact[Retriever.SEMANTIC]


@pytest.mark.parametrize("fusion", ADAPTIVE)
def test_plain_language_has_no_exact_list(fusion: Fusion) -> None:
    assert Retriever.EXACT not in weights(fusion, QueryClass.CONCEPTUAL)


def test_verbatim_matches_stand_before_everything_else_in_linear_fusion() -> None:
    """The other addends' normalised scores are at most 1 each, so no sum of them reaches one verbatim match."""
    table = CONSTANTS.linear[QueryClass.EXACT]
    others = [max(slope.low, slope.high) for slope in (table.lexical, table.semantic, table.context)]

    assert math.fsum(others) < table.exact.low


@pytest.mark.parametrize("table", [CONSTANTS.rrf, CONSTANTS.linear])
def test_every_class_has_weights_of_zero_or_more(table: dict[QueryClass, ClassWeights]) -> None:
    assert set(table) == set(QueryClass)
    for query_class in QueryClass:
        row = table[query_class]
        for slope in (row.lexical, row.semantic, row.context, row.exact):
            assert min(slope.low, slope.high) >= 0


def test_a_slope_is_a_sigmoid_around_the_middle() -> None:
    slope = Slope(low=2.0, high=4.0)
    middle, width = CONSTANTS.coverage_middle, CONSTANTS.coverage_width

    assert slope_weight(slope, middle) == 3.0
    assert slope_weight(slope, middle + width) == pytest.approx(2.0 + 2.0 / (1.0 + math.exp(-1.0)))
    assert slope_weight(slope, 0.0) == pytest.approx(2.0, abs=1e-4)
    assert slope_weight(slope, 1.0) == pytest.approx(4.0, abs=0.1)


def test_other_constants_can_be_tried() -> None:
    tried = replace(CONSTANTS, alpha=0.75)
    mixture = list_weights(Fusion.LINEAR_FIXED, QueryClass.CONCEPTUAL, 0.5, known_script=True, constants=tried)

    assert mixture == {Retriever.LEXICAL: 0.25, Retriever.SEMANTIC: 0.75}
