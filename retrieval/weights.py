"""The weight of each ranked list in hybrid search, adapted to the query.

Published hybrid search weighs the lexical and the semantic list 1.0 and 1.0. Measured on judged queries, that loses
to BM25 alone on identifiers and to the vector alone on paraphrases; what tells such queries apart is their class and
their coverage: the share of the query's idf that BM25's best document holds (docs/design.md). All constants stand
here and nowhere else.
"""

import math
from dataclasses import dataclass
from typing import Final

from retrieval.models import Fusion, QueryClass, Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWeights:
    """The weights for one class of query.

    Attributes:
        lexical: BM25's.
        semantic_low: The vector's where BM25 covers nothing of the query.
        semantic_high: The vector's where BM25 covers all of it.
        context: That of thread windows.
        exact: That of verbatim matches.
    """

    lexical: float
    semantic_low: float
    semantic_high: float
    context: float
    exact: float


FIXED: Final = {Retriever.LEXICAL: 1.0, Retriever.SEMANTIC: 1.0}
ADAPTED: Final = {
    QueryClass.CONCEPTUAL: ClassWeights(lexical=1.0, semantic_low=12.0, semantic_high=0.7, context=0.3, exact=0.0),
    QueryClass.MIXED: ClassWeights(lexical=1.0, semantic_low=1.0, semantic_high=0.7, context=0.3, exact=1.0),
    QueryClass.EXACT: ClassWeights(lexical=1.0, semantic_low=0.05, semantic_high=0.05, context=0.5, exact=5.0),
}
COVERAGE_MIDDLE: Final = 0.75
COVERAGE_WIDTH: Final = 0.05


def list_weights(
    fusion: Fusion, query_class: QueryClass, coverage: float, *, known_script: bool
) -> dict[Retriever, float]:
    """Return the weight of each list; one of weight 0 is left out.

    Args:
        fusion: `rrf` adapts; `rrf-fixed` is the published 1.0 and 1.0.
        query_class: The query's class.
        coverage: Share of the query's idf in BM25's best document, 0..1.
        known_script: False where the model cannot read most of the query: the vector would harm.
    """
    if fusion is Fusion.RRF_FIXED:
        weights = dict(FIXED)
    else:
        table = ADAPTED[query_class]
        high = 1 / (1 + math.exp(-(coverage - COVERAGE_MIDDLE) / COVERAGE_WIDTH))
        weights = {
            Retriever.LEXICAL: table.lexical,
            Retriever.SEMANTIC: table.semantic_low + (table.semantic_high - table.semantic_low) * high,
            Retriever.CONTEXT: table.context,
            Retriever.EXACT: table.exact,
        }
    if not known_script:
        weights.pop(Retriever.SEMANTIC)
    return {retriever: weight for retriever, weight in weights.items() if weight > 0}
