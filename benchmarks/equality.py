"""Lists from memory against their definition, on every judged query of the shared data.

    python -m benchmarks.equality --data ../shared/data --cache .cache/relevance [--sets lean_dev] [--json FILE]

For each query: the keyword list against `match_bm25` and the list by meaning against `array_cosine_similarity`, 100
deep, ids and order; and the first 50 results of each mode from memory against the same from DuckDB's SQL, with every
score.
Sets whose artifact the cache lacks are left out; `benchmarks.relevance` makes them. Takes minutes to hours.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.archives import DEPTH, EVERYTHING, opened
from benchmarks.judged_sets import CORPORA, SLACK_SETS, judged_set
from retrieval import Artifact, EmbedderFactory, Filters, Mode, ResultPage, SearchRequest, search_slack
from retrieval.analyzer import tokenize
from retrieval.errors import RequestError
from retrieval.filters import document_predicate
from retrieval.models import EmbeddingSpec
from retrieval.readers import open_reader
from retrieval.verification import check_macros, oracle_lexical, oracle_semantic

_LIMIT: Final = 50


@dataclass
class Tally:
    """What was compared.

    Attributes:
        compared: Lists by kind.
        differing: One line for each that differs.
    """

    compared: Counter[str]
    differing: list[str]

    def add(self, kind: str, query: str, *, same: bool) -> None:
        """Count a comparison."""
        self.compared[kind] += 1
        if not same:
            self.differing.append(f"{kind}: {query[:80]}")


class Embedded:
    """Gives the vectors of queries that were embedded once."""

    def __init__(self, spec: EmbeddingSpec, vectors: dict[str, NDArray[np.float32]]) -> None:
        self.spec = spec
        self._vectors = vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._vectors[text]


def compare_set(path: Path, texts: Sequence[str], *, modes: Sequence[Mode]) -> Tally:
    """Compare the lists of some queries on the artifact at *path*, and pages of some modes."""
    tally = Tally(Counter(), [])
    # The same file once more, never read into memory: DuckDB answers.
    with opened(path) as (artifact, _), Artifact(path) as plain:
        check_macros(artifact)
        embedder = _embedder(artifact, texts)
        for number, text in enumerate(texts):
            _compare_lists(artifact, text, None if embedder is None else embedder.embed_query(text), tally)
            for mode in modes:
                if embedder is None and mode is Mode.SEMANTIC:
                    continue
                pages = [_page(one, text, mode, embedder) for one in (artifact, plain)]
                tally.add(f"pages, {mode.value}", text, same=pages[0] == pages[1])
            if number % 100 == 99:
                print(f"  {number + 1} of {len(texts)}, {len(tally.differing)} differ", flush=True)
    return tally


def _compare_lists(artifact: Artifact, text: str, vector: NDArray[np.float32] | None, tally: Tally) -> None:
    everything = document_predicate(Filters(), EVERYTHING, shares=False)
    with artifact.cursor() as cursor:
        reader = open_reader(artifact, cursor, filters=Filters(), visibility=EVERYTHING)
        tokens = reader.read_terms(list(dict.fromkeys(tokenize(text)))).tokens
        found = [one.document_id for one in reader.lexical(limit=DEPTH).candidates]
        wanted = oracle_lexical(cursor, tokens, everything, limit=DEPTH) if tokens else []
        tally.add("keywords, match_bm25", text, same=found == wanted)
        if vector is not None:
            found = [one.document_id for one in reader.semantic(vector, limit=DEPTH).candidates]
            wanted = oracle_semantic(cursor, vector, everything, limit=DEPTH)
            tally.add("meaning, array_cosine_similarity", text, same=found == wanted)


def _page(artifact: Artifact, text: str, mode: Mode, embedder: Embedded | None) -> ResultPage | str:
    request = SearchRequest(text=text, mode=mode, limit=_LIMIT)
    try:
        found = search_slack(artifact, request, visibility=EVERYTHING, embedder=embedder)
    except RequestError as error:
        return str(error)
    return replace(found, timings_ms={})


def _embedder(artifact: Artifact, texts: Sequence[str]) -> Embedded | None:
    if not artifact.info.vector_count or artifact.info.embedding_spec is None:
        return None
    model = EmbedderFactory().for_artifact(artifact.info)
    return Embedded(artifact.info.embedding_spec, {text: model.embed_query(text) for text in texts})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path(".cache/relevance"))
    parser.add_argument("--sets", default=",".join((*CORPORA, *SLACK_SETS)))
    parser.add_argument("--pages", default=",".join(Mode), help="Modes whose pages are compared too; may be empty.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report = {}
    for name in arguments.sets.split(","):
        if not (arguments.cache / name / "current.duckdb").exists():
            print(f"{name}: no artifact")
            continue
        chosen = judged_set(name, arguments.data, arguments.cache)
        with chosen.queries.open(encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        modes = [Mode(one) for one in arguments.pages.split(",") if one]
        tally = compare_set(chosen.artifacts / "current.duckdb", list(dict.fromkeys(texts)), modes=modes)
        report[name] = {"queries": len(texts), **tally.compared, "differing": tally.differing}
        print(f"{name}: {report[name]}", flush=True)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
