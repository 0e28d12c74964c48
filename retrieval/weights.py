"""The weight of each ranked list in hybrid search, adapted to the query.

Published hybrid search weighs the lexical and the semantic list 1.0 and 1.0. Measured on judged queries, that loses
to BM25 alone on identifiers and to the vector alone on paraphrases; what tells such queries apart is their class and
their coverage: the share of the query's idf that BM25's best document holds (docs/evaluation.md has the measurements
and the command that chose the constants). All constants stand here and nowhere else.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retrieval.models import Fusion, QueryClass, Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A weight that goes from one value to another as coverage grows.

    Attributes:
        low: Where BM25's best document covers nothing of the query.
        high: Where it covers all of it.
    """

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWeights:
    """The weights for one class of query.

    Attributes:
        lexical: BM25's.
        semantic: The vector's.
        context: That of thread windows; with linear fusion, of what a window scores above the message itself.
        exact: That of verbatim matches.
        recency: That of messages near the moment of asking.
    """

    lexical: Slope
    semantic: Slope
    context: Slope
    exact: Slope
    recency: Slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Everything that was chosen by measuring.

    Attributes:
        rrf: The weights of `rrf` by class of query.
        linear: The weights of `linear` by class of query.
        alpha: The vector's share in `linear-fixed`; 0.5 is the textbook's even mixture.
        coverage_middle: Where a slope is half way.
        coverage_width: How gently it turns; the sigmoid's scale.
        rrf_k: The constant added to every rank.
    """

    rrf: Mapping[QueryClass, ClassWeights]
    linear: Mapping[QueryClass, ClassWeights]
    alpha: float
    coverage_middle: float
    coverage_width: float
    rrf_k: int


def _constant(weight: float) -> Slope:
    return Slope(low=weight, high=weight)


CONSTANTS: Final = Constants(
    rrf={
        QueryClass.CONCEPTUAL: ClassWeights(
            lexical=_constant(1.0),
            semantic=Slope(low=8.0, high=0.7),
            context=_constant(0.3),
            exact=_constant(0.0),
            recency=Slope(low=3.0, high=0.0),
        ),
        QueryClass.MIXED: ClassWeights(
            lexical=_constant(1.0),
            semantic=Slope(low=1.0, high=0.7),
            context=_constant(0.3),
            exact=_constant(1.0),
            recency=Slope(low=2.0, high=0.0),
        ),
        QueryClass.EXACT: ClassWeights(
            lexical=_constant(1.0),
            semantic=_constant(0.05),
            context=_constant(0.5),
            exact=_constant(5.0),
            recency=_constant(0.1),
        ),
    },
    linear={
        QueryClass.CONCEPTUAL: ClassWeights(
            lexical=Slope(low=0.5, high=1.5),
            semantic=_constant(1.0),
            context=Slope(low=0.25, high=0.75),
            exact=_constant(0.0),
            recency=Slope(low=0.2, high=0.1),
        ),
        QueryClass.MIXED: ClassWeights(
            lexical=_constant(2.0),
            semantic=_constant(1.0),
            context=_constant(1.0),
            exact=_constant(0.1),
            recency=Slope(low=0.2, high=0.1),
        ),
        # The other addends together stay below 6: verbatim matches always stand first.
        QueryClass.EXACT: ClassWeights(
            lexical=_constant(3.0),
            semantic=_constant(1.0),
            context=_constant(1.5),
            exact=_constant(10.0),
            recency=_constant(0.1),
        ),
    },
    alpha=0.5,
    coverage_middle=0.75,
    coverage_width=0.05,
    rrf_k=60,
)


def list_weights(
    fusion: Fusion,
    query_class: QueryClass,
    coverage: float,
    *,
    known_script: bool,
    constants: Constants = CONSTANTS,
) -> dict[Retriever, float]:
    """Return the weight of each retriever; one of weight 0 is left out.

    Args:
        fusion: `rrf` and `linear` adapt; `rrf-fixed` is the published 1.0 and 1.0, `linear-fixed` an even mixture.
        query_class: The query's class.
        coverage: Share of the query's idf in BM25's best document, 0..1.
        known_script: False where the model cannot read most of the query: the vector would harm.
        constants: Others than the chosen ones, for measuring.
    """
    weights = _weights(fusion, query_class, coverage, constants)
    if not known_script:
        weights.pop(Retriever.SEMANTIC)
    return {retriever: weight for retriever, weight in weights.items() if weight > 0}


def slope_weight(slope: Slope, coverage: float, constants: Constants = CONSTANTS) -> float:
    """Return the weight of *slope* at *coverage*, 0..1: a sigmoid between its `low` and its `high`."""
    share = 1 / (1 + math.exp(-(coverage - constants.coverage_middle) / constants.coverage_width))
    return slope.low + (slope.high - slope.low) * share


def _weights(fusion: Fusion, query_class: QueryClass, coverage: float, constants: Constants) -> dict[Retriever, float]:
    if fusion is Fusion.RRF_FIXED:
        return {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 1.0}
    if fusion is Fusion.LINEAR_FIXED:
        return {Retriever.LEXICAL: 1 - constants.alpha, Retriever.SEMANTIC: constants.alpha}
    row = (constants.rrf if fusion is Fusion.RRF else constants.linear)[query_class]
    slopes = {
        Retriever.LEXICAL: row.lexical,
        Retriever.SEMANTIC: row.semantic,
        Retriever.CONTEXT: row.context,
        Retriever.EXACT: row.exact,
        Retriever.RECENCY: row.recency,
    }
    return {retriever: slope_weight(slope, coverage, constants) for retriever, slope in slopes.items()}
