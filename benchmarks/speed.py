"""How fast searches are, as ratios to yardsticks measured side by side in the same run.

    python -m benchmarks.speed --data ../shared/data [--cache DIR] [--json FILE] [--sections table,lexical,...]

Sections: `table` (requests by mode: p50, p95, maximum), `semantic`, `lexical`, `hybrid`, `growth`, `equality`, `build`
and `embedding`. Artifacts are made once in the cache. tantivy is compared with where it is installed (README.md here).
Milliseconds depend on the machine and on what else it does; ratios of medians hardly do.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

# Before numpy is loaded: the product is run so (docs/speed.md), and two threads gain nothing on two processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.archives import (
    DEPTH,
    EVERYTHING,
    REPRESENTATIVE,
    FixedEmbedder,
    Report,
    Setup,
    opened,
    search_in,
    tokens_of,
)  # fmt: skip
from benchmarks.building import measure_build, measure_embedding
from benchmarks.opening import measure_growth
from benchmarks.scaled import random_vectors
from benchmarks.tantivy_index import tantivy_search
from benchmarks.timing import Times, interleaved, rows, summary
from retrieval import Artifact, Filters, Mode, schema
from retrieval.filters import Predicate, document_predicate
from retrieval.minilm import MiniLMEmbedder
from retrieval.readers import open_reader
from retrieval.resident.vectors import Vectors
from retrieval.semantic import rank_semantic
from retrieval.verification import oracle_lexical, oracle_semantic


def measure_table(setup: Setup) -> Report:
    """Eight queries, three times each, by mode, on archives of three sizes."""
    report: Report = {}
    archives = {"sample": setup.sample()} | {f"lean_dev x{n}": setup.lean(n) for n in (1, setup.scales[-1])}
    for name, path in archives.items():
        with opened(path) as (artifact, _):
            embedder = FixedEmbedder(artifact.info.dimensions or 0)
            ways = {mode.value: search_in(artifact, mode, embedder) for mode in Mode}
            times = interleaved(ways, REPRESENTATIVE, repeats=3)
            report[name] = {"documents": artifact.info.document_count, **rows(times)}
    return report


def measure_semantic(setup: Setup) -> Report:
    """200,000 vectors of 512: against the bare product on the same matrix and DuckDB's scan."""
    with opened(setup.lean(2, vectors=200_000)) as (artifact, resident):
        vectors = resident.vectors
        assert vectors is not None
        matrix = vectors.rows.take(np.arange(len(vectors)))
        chance = np.random.default_rng(5)
        masks = {share: chance.random(resident.columns.searchable) < share for share in (0.05, 0.5)}
        everything = Predicate("true")

        def bare(query: NDArray[np.float32]) -> object:
            scores = matrix @ query
            best = np.argpartition(scores, len(scores) - DEPTH)[-DEPTH:]
            return best[np.argsort(-scores[best])]

        def scan(query: NDArray[np.float32]) -> object:
            with artifact.cursor() as cursor:
                return rank_semantic(cursor, query, everything, limit=DEPTH)

        queries = list(next(random_vectors(setup.queries, matrix.shape[1]))[1])
        times = interleaved(
            {
                "bare product": bare,
                "memory": lambda query: vectors.nearest(query, DEPTH, mask=None),
                "memory, 5% allowed": lambda query: vectors.nearest(query, DEPTH, mask=masks[0.05]),
                "memory, 50% allowed": lambda query: vectors.nearest(query, DEPTH, mask=masks[0.5]),
            },
            queries,
        )
        times |= interleaved({"memory beside the scan": _nearest(vectors), "DuckDB scan": scan}, queries[:10])
    return {
        **rows(times),
        "ratios": {
            "memory / bare product (<= 1.2)": ratio(times, "memory", "bare product"),
            "DuckDB scan / memory (>= 8)": ratio(times, "DuckDB scan", "memory beside the scan"),
            "5% / all (<= 0.25)": ratio(times, "memory, 5% allowed", "memory"),
            "50% / all (<= 1.2)": ratio(times, "memory, 50% allowed", "memory"),
        },
    }


def measure_lexical(setup: Setup) -> Report:
    """The kinds of query against tantivy and `match_bm25`, tokenization and ids included."""
    report: Report = {}
    for copies in (1, setup.scales[-1]):
        with opened(setup.lean(copies)) as (artifact, _):
            few = a_few_people(artifact)
            search = tantivy_search(artifact, setup.cache / f"tantivy-x{copies}", limit=DEPTH)
            for kind, texts in setup.texts().items():
                ways: dict[str, Callable[[str], object]] = {
                    "memory": keywords_in(artifact, Filters()),
                    "memory, 5% allowed": keywords_in(artifact, few),
                }
                if search is not None:
                    ways["tantivy"] = lambda text, search=search: search(tokens_of(text))
                times = interleaved(ways, texts)
                times |= interleaved(
                    {
                        "memory beside match_bm25": ways["memory"],
                        "match_bm25": lambda text, artifact=artifact: definition(artifact, text),
                    },
                    texts[:4],
                    repeats=1,
                )
                limit = 1.5 if copies == 1 else 3
                ratios = {
                    "match_bm25 / memory (>= 50)": ratio(times, "match_bm25", "memory beside match_bm25"),
                    "5% / all (<= 1.5)": ratio(times, "memory, 5% allowed", "memory"),
                }
                if search is not None:
                    ratios[f"memory / tantivy (<= {limit})"] = ratio(times, "memory", "tantivy")
                report[f"lean_dev x{copies}, {kind}"] = {**rows(times), "ratios": ratios}
    return report


def measure_hybrid(setup: Setup) -> Report:
    """Whole requests by mode, and eight at once."""
    with opened(setup.lean(1)) as (artifact, _):
        embedder = FixedEmbedder(artifact.info.dimensions or 0)
        texts = [text for kind in setup.texts().values() for text in kind]
        ways = {mode.value: search_in(artifact, mode, embedder) for mode in Mode}
        times = interleaved(ways, texts, repeats=1)
        model = MiniLMEmbedder()
        times |= interleaved({"embedding a query": model.embed_query}, texts, repeats=1)
        single, eight = throughput(ways["hybrid"], texts, workers=1), throughput(ways["hybrid"], texts, workers=8)
        both = times["lexical"].p50 + times["semantic"].p50
        both_cpu = times["lexical"].cpu_p50 + times["semantic"].cpu_p50
        return {
            **rows(times),
            "single stream, per second": round(single[0], 2),
            "eight at once, per second": round(eight[0], 2),
            "eight at once": eight[1].row(),
            "ratios": {
                "hybrid / (lexical + semantic) (<= 1.2)": {
                    "wall": round(times["hybrid"].p50 / both, 3),
                    "cpu": round(times["hybrid"].cpu_p50 / both_cpu, 3),
                },
                "eight at once / single stream (>= 0.7)": round(eight[0] / single[0], 3),
            },
        }


def measure_equality(setup: Setup) -> Report:
    """Lists from memory against the definition, on judged queries, with a filter and without."""
    checked, differing = 0, []
    with opened(setup.lean(1)) as (artifact, _):
        embedder = FixedEmbedder(artifact.info.dimensions or 0)
        texts = [text for kind in setup.texts().values() for text in kind]
        for filters in (Filters(), a_few_people(artifact)):
            predicate = document_predicate(filters, EVERYTHING, shares=False)
            with artifact.cursor() as cursor:
                for number, text in enumerate(texts):
                    reader = open_reader(artifact, cursor, filters=filters, visibility=EVERYTHING)
                    tokens = reader.read_terms(tokens_of(text)).tokens
                    found = [one.document_id for one in reader.lexical(limit=DEPTH).candidates]
                    checked += 1
                    if found != oracle_lexical(cursor, tokens, predicate, limit=DEPTH):
                        differing.append(f"keywords of query {number}")
                vector = embedder.embed_query("")
                found = [one.document_id for one in reader.semantic(vector, limit=DEPTH).candidates]
                checked += 1
                if found != oracle_semantic(cursor, vector, predicate, limit=DEPTH):
                    differing.append("meaning")
    return {"lists compared": checked, "differing": differing}


def keywords_in(artifact: Artifact, filters: Filters) -> Callable[[str], object]:
    """Return keyword search as the engine does it, from text to ids."""

    def search(text: str) -> object:
        with artifact.cursor() as cursor:
            reader = open_reader(artifact, cursor, filters=filters, visibility=EVERYTHING)
            reader.read_terms(tokens_of(text))
            return reader.lexical(limit=DEPTH)

    return search


def definition(artifact: Artifact, text: str) -> list[str]:
    """Return what `match_bm25` ranks best."""
    predicate = document_predicate(Filters(), EVERYTHING, shares=False)
    with artifact.cursor() as cursor:
        return oracle_lexical(cursor, tokens_of(text), predicate, limit=DEPTH)


def a_few_people(artifact: Artifact) -> Filters:
    """Return a filter on authors that leaves about 5% of the messages."""
    with artifact.cursor() as cursor:
        found = cursor.execute(
            f"SELECT author_id, count(*) AS n FROM {schema.DOCUMENTS} WHERE document_kind = 'message' "
            "AND author_id IS NOT NULL GROUP BY author_id ORDER BY n DESC, author_id"
        ).fetchall()
    wanted, share = [], 0.05 * sum(count for _, count in found)
    for author, count in found[5:105]:
        if share - count >= 0:
            wanted.append(author)
            share -= count
    return Filters(author_ids=tuple(wanted))


def throughput(way: Callable[[str], object], texts: Sequence[str], *, workers: int) -> tuple[float, Times]:
    """Return searches a second with so many at once, and the times of single ones."""
    wall: list[float] = []

    def timed(text: str) -> None:
        started = time.perf_counter()
        way(text)
        wall.append((time.perf_counter() - started) * 1e3)

    started = time.perf_counter()
    with ThreadPoolExecutor(max_workers=workers) as executor:
        list(executor.map(timed, texts))
    return len(texts) / (time.perf_counter() - started), summary(wall, [])


def ratio(times: Mapping[str, Times], one: str, other: str) -> dict[str, float]:
    """Return the quotient of two medians, of wall-clock and of processor time.

    Processor time counts both threads of DuckDB, and says more where others use the machine.
    """
    wall, cpu = times[one].p50 / times[other].p50, times[one].cpu_p50 / times[other].cpu_p50
    return {"wall": round(wall, 3), "cpu": round(cpu, 3)}


def _nearest(vectors: Vectors) -> Callable[[NDArray[np.float32]], object]:
    return lambda query: vectors.nearest(query, DEPTH, mask=None)


def _print(report: Mapping[str, object], indent: str = "") -> None:
    for name, value in report.items():
        if isinstance(value, dict) and "p50_ms" in value:
            cells = "  ".join(f"{key} {number:>9,}" for key, number in value.items())
            print(f"{indent}{name:<28} {cells}")
        elif isinstance(value, dict):
            print(f"{indent}{name}")
            _print(value, indent + "  ")
        else:
            print(f"{indent}{name}: {value}")


SECTIONS: Final[Mapping[str, Callable[[Setup], Report]]] = {
    "table": measure_table,
    "semantic": measure_semantic,
    "lexical": measure_lexical,
    "hybrid": measure_hybrid,
    "growth": measure_growth,
    "equality": measure_equality,
    "build": measure_build,
    "embedding": measure_embedding,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path(".cache/speed"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--scales", default="1,3,8", help="How many times lean_dev's 120,181 messages.")
    arguments = parser.parse_args()
    scales = tuple(sorted(int(number) for number in arguments.scales.split(",")))
    setup = Setup(data=arguments.data, cache=arguments.cache, queries=arguments.queries, scales=scales)
    setup.cache.mkdir(parents=True, exist_ok=True)
    report: Report = {}
    for name in arguments.sections.split(","):
        section = SECTIONS[name](setup)
        report[name] = section
        print(f"\n== {name}")
        _print(section)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
