"""How fast searches are, as ratios to yardsticks measured side by side in the same run.

    python -m benchmarks.speed --data ../shared/data [--cache DIR] [--json FILE] [--sections table,lexical,...]

Sections: `table` (requests by mode: p50, p95, maximum), `semantic`, `lexical`, `hybrid`, `growth`, `equality` and
`build`. Artifacts are made once in the cache. tantivy is compared with where it is installed (README.md here).
Milliseconds depend on the machine and on what else it does; ratios of medians hardly do.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

# Before numpy is loaded: the product is run so (docs/speed.md), and two threads gain nothing on two processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.scaled import random_vectors, scaled_artifact
from benchmarks.tantivy_index import tantivy_search
from benchmarks.timing import Times, interleaved, summary
from retrieval import Artifact, Filters, Mode, SearchRequest, Visibility, schema, search_slack
from retrieval.analyzer import tokenize
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.filters import Predicate, document_predicate
from retrieval.minilm import MiniLMEmbedder
from retrieval.models import EmbeddingSpec
from retrieval.readers import open_reader
from retrieval.resident.resident import Resident
from retrieval.resident.vectors import Vectors
from retrieval.semantic import rank_semantic
from retrieval.verification import oracle_lexical, oracle_semantic

DEPTH: Final = 100
# DuckDB keeps what it has read up to its limit; its default is four fifths of the machine.
_DUCKDB_MB: Final = 128
EVERYTHING: Final = Visibility.everything()
REPRESENTATIVE: Final = (
    "simp lemma for finset sum",
    "how do I prove that a function is continuous",
    "mathlib4",
    "error: deterministic timeout",
    "Nat.succ_le",
    "lake build fails on windows",
    "who maintains the category theory library",
    "norm_num extension",
)
SAMPLE: Final = Path(__file__).parent.parent / "localslack" / "sample" / "export"

Report = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is measured on, and how much of it.

    Attributes:
        data: The shared data folder.
        cache: Where artifacts are made.
        queries: How many queries of each kind.
        scales: How many times lean_dev, in rising order.
    """

    data: Path
    cache: Path
    queries: int
    scales: tuple[int, ...]

    def lean(self, copies: int, *, vectors: int | None = None) -> Path:
        """Return lean_dev, *copies* times over, with random vectors."""
        base = self._base(self.data / "slack" / "lean_dev.zip", "lean_dev")
        count = vectors if vectors is not None else 1 << 40
        name = f"lean_dev-x{copies}" + ("" if vectors is None else f"-{vectors}")
        return scaled_artifact(base, self.cache / f"{name}.duckdb", copies=copies, vectors=count)

    def sample(self) -> Path:
        """Return the sample archive with random vectors."""
        return scaled_artifact(self._base(SAMPLE, "sample"), self.cache / "sample.duckdb", copies=1, vectors=1 << 40)

    def texts(self) -> dict[str, list[str]]:
        """Return queries of lean_dev by kind, the same at every call."""
        kinds: dict[str, list[str]] = {}
        with (self.data / "slack" / "lean_dev.queries.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                query = json.loads(line)
                kinds.setdefault(query["kind"], []).append(query["text"])
        chance = random.Random(1)  # noqa: S311 - which queries, not secrets
        chosen = {kind: chance.sample(texts, min(self.queries, len(texts))) for kind, texts in sorted(kinds.items())}
        bodies = [text for text in kinds["link-body"] if len(dict.fromkeys(tokenize(text))) >= 64]
        return {**chosen, "64 tokens": chance.sample(bodies, min(self.queries, len(bodies)))}

    def _base(self, source: Path, name: str) -> Path:
        folder = self.cache / f"{name}-base"
        found = sorted(folder.glob("search-*.duckdb"))
        if found:
            return found[-1]
        identity = WorkspaceIdentity(workspace_id="TBENCH", name=None, url=None)
        return build_artifact(
            [source], folder, workspace=identity, embedder=None, lenient=True, clock=lambda: datetime.now(UTC)
        ).artifact


class FixedEmbedder:
    """Gives the same vector at once: searches without the time of the model."""

    def __init__(self, dimensions: int) -> None:
        self._vector = next(random_vectors(1, dimensions))[1][0]
        self.spec = EmbeddingSpec(
            model="fixed",
            revision="",
            query_prefix="",
            document_prefix="",
            native_dimensions=dimensions,
            dimensions=dimensions,
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - whatever the text
        """Return the vector."""
        return self._vector


@contextmanager
def opened(path: Path) -> Iterator[tuple[Artifact, Resident]]:
    """Open an artifact and read it into memory."""
    with Artifact(path) as artifact:
        resident = artifact.load().resident
        assert resident is not None, artifact.residency.detail
        yield artifact, resident


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
        chance = np.random.default_rng(5)
        masks = {share: chance.random(resident.columns.searchable) < share for share in (0.05, 0.5)}
        everything = Predicate("true")

        def bare(query: NDArray[np.float32]) -> object:
            scores = vectors.matrix @ query
            best = np.argpartition(scores, len(scores) - DEPTH)[-DEPTH:]
            return best[np.argsort(-scores[best])]

        def scan(query: NDArray[np.float32]) -> object:
            with artifact.cursor() as cursor:
                return rank_semantic(cursor, query, everything, limit=DEPTH)

        queries = list(next(random_vectors(setup.queries, vectors.matrix.shape[1]))[1])
        times = interleaved(
            {
                "bare product": bare,
                "memory": lambda query: vectors.nearest(query, DEPTH, mask=None),
                "memory, 5% allowed": lambda query: vectors.nearest(query, DEPTH, mask=masks[0.05]),
                "memory, 50% allowed": lambda query: vectors.nearest(query, DEPTH, mask=masks[0.5]),
            },
            queries,
        )
        times |= interleaved({"memory beside the scan": _nearest(vectors), "DuckDB scan": scan}, queries[:5], repeats=1)
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


def measure_growth(setup: Setup) -> Report:
    """Opening, memory and search times by size, each size in a process of its own."""
    report: Report = {}
    for copies in setup.scales:
        program = [sys.executable, "-m", "benchmarks.speed", "--open", str(setup.lean(copies))]
        found = subprocess.run(program, check=True, capture_output=True, text=True)  # noqa: S603 - our own module
        report[f"lean_dev x{copies}"] = json.loads(found.stdout)
    return report


def measure_opening(path: Path) -> Report:
    """Open one artifact in this process; searches, peak memory and `np.load` of the same matrix."""
    started = time.perf_counter()
    with Artifact(path, memory_mb=_DUCKDB_MB) as artifact:
        resident = artifact.load().resident
        seconds = time.perf_counter() - started
        assert resident is not None, artifact.residency.detail
        assert resident.vectors is not None
        peak = peak_bytes()
        embedder = FixedEmbedder(artifact.info.dimensions or 0)
        ways = {mode.value: search_in(artifact, mode, embedder) for mode in Mode}
        times = interleaved(ways, REPRESENTATIVE, repeats=3)
        saved = path.with_suffix(".npy")
        np.save(saved, resident.vectors.matrix)
        matrix, postings = resident.vectors.matrix.nbytes, len(resident.postings.rows)
        loads = [_seconds(lambda: np.load(saved)) for _ in range(3)]
        saved.unlink()
    allowed = 1.25 * (matrix + 12 * postings) + 400e6
    return {
        "documents": artifact.info.document_count,
        "postings": postings,
        "open_s": round(seconds, 2),
        "np_load_s": round(sorted(loads)[1], 2),
        "resident_mb": round(resident.nbytes / 1e6),
        "peak_mb": round(peak / 1e6),
        **rows(times),
        "ratios": {
            "open / np.load (<= 2.5)": round(seconds / sorted(loads)[1], 2),
            "peak / (1.25 * (matrix + 12 B a posting) + 400 MB) (<= 1)": round(peak / allowed, 3),
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


def measure_build(setup: Setup) -> Report:
    """A build without embeddings against the bare steps on the same rows."""
    source = setup.data / "slack" / "lean_dev.zip"
    folder = setup.cache / "build"
    identity = WorkspaceIdentity(workspace_id="TBENCH", name=None, url=None)
    started = time.perf_counter()
    built = build_artifact(
        [source], folder, workspace=identity, embedder=None, lenient=True, clock=lambda: datetime.now(UTC)
    )
    own = time.perf_counter() - started
    bare = _seconds(lambda: bare_pipeline(source, built.artifact, folder / "bare.duckdb"))
    (folder / "bare.duckdb").unlink()
    return {"build_s": round(own, 1), "bare_s": round(bare, 1), "ratios": {"build / bare (<= 3)": round(own / bare, 2)}}


def bare_pipeline(source: Path, artifact: Path, target: Path) -> None:
    """Read the JSON, insert the same rows, index them, checkpoint."""
    import zipfile  # noqa: PLC0415

    import duckdb  # noqa: PLC0415

    from retrieval import fts  # noqa: PLC0415

    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                json.loads(archive.read(name))
    with duckdb.connect(str(target)) as connection:
        fts.load_fts(connection)
        connection.execute(schema.DOCUMENTS_DDL)
        connection.execute(f"ATTACH '{artifact}' AS built (READ_ONLY)")
        connection.execute(f"INSERT INTO {schema.DOCUMENTS} SELECT * FROM built.{schema.DOCUMENTS}")
        fts.create_index(connection)
        connection.execute("CHECKPOINT")


def search_in(artifact: Artifact, mode: Mode, embedder: FixedEmbedder) -> Callable[[str], object]:
    """Return a whole request of one mode, rows included."""
    return lambda text: search_slack(
        artifact, SearchRequest(text=text[:20_000], mode=mode), visibility=EVERYTHING, embedder=embedder
    )


def keywords_in(artifact: Artifact, filters: Filters) -> Callable[[str], object]:
    """Return keyword search as the engine does it, from text to ids."""

    def search(text: str) -> object:
        with artifact.cursor() as cursor:
            reader = open_reader(artifact, cursor, filters=filters, visibility=EVERYTHING)
            reader.read_terms(tokens_of(text))
            return reader.lexical(limit=DEPTH)

    return search


def tokens_of(text: str) -> list[str]:
    """Return the distinct tokens of a query, at most 64 as the engine takes them."""
    return list(dict.fromkeys(tokenize(text)))[:64]


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


def rows(times: Mapping[str, Times]) -> dict[str, dict[str, float]]:
    """Return times for JSON."""
    return {name: one.row() for name, one in times.items()}


def peak_bytes() -> int:
    """Return the most memory this process has taken so far, bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status says nothing about VmHWM.")


def _nearest(vectors: Vectors) -> Callable[[NDArray[np.float32]], object]:
    return lambda query: vectors.nearest(query, DEPTH, mask=None)


def _seconds(way: Callable[[], object]) -> float:
    started = time.perf_counter()
    way()
    return time.perf_counter() - started


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
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path(".cache/speed"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--scales", default="1,3,8", help="How many times lean_dev's 120,181 messages.")
    parser.add_argument("--open", type=Path, help="Measure opening this artifact, print JSON, and end.")
    arguments = parser.parse_args()
    if arguments.open is not None:
        print(json.dumps(measure_opening(arguments.open)))
        return
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
