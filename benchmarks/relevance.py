"""Relevance on the judged sets: every mode, every fusion, a grid of constants; tables, JSON and a figure.

    python -m benchmarks.relevance --data ../shared/data --sets stackfaq,cosqa_dev,cranfield

Artifacts, vectors and each query's evidence are kept in the cache, so that a second run only fuses and measures.
Building `lean_dev` embeds 120,000 messages, which takes half an hour on two idle cores; an interrupted run goes on
where it stopped.
"""

import argparse
import hashlib
import json
import pickle
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

import retrieval
from benchmarks.judged_sets import CORPORA, SLACK_SETS, JudgedSet, judged_set
from benchmarks.weight_search import cross_validate
from bot.cli.evaluate import grid_ways, segment_table, segments_json
from retrieval.artifact import Artifact
from retrieval.evaluation import (
    RUN_DEPTH,
    Judgements,
    PerQuery,
    gather_trials,
    make_run,
    mean_interval,
    mean_measures,
    score_run,
    segments,
)
from retrieval.judgements import read_qrels, read_queries, write_run
from retrieval.minilm import MiniLMEmbedder
from retrieval.trials import WAYS, Trial

SEED: Final = 20261130
TABLE_WIDTH: Final = 130
# Pairs of a light and a dark: a fixed fusion and the one that adapts.
COLOURS: Final = {
    "lexical": "#b0b0b0",
    "semantic": "#707070",
    "rrf-fixed": "#f3c386",
    "rrf": "#d9822b",
    "linear-fixed": "#9fc5c2",
    "linear": "#1d6f6a",
}


def main() -> None:
    arguments = _arguments()
    console = Console(width=TABLE_WIDTH, highlight=False)
    report: dict[str, object] = {}
    gathered: dict[str, tuple[Judgements, Mapping[str, Trial]]] = {}
    figures: dict[str, Mapping[str, PerQuery]] = {}
    for name in arguments.sets.split(","):
        found = judged_set(name, arguments.data, arguments.cache)
        judgements, trials = _trials(found, arguments.cache, repeats=not arguments.threads_once)
        gathered[name] = (judgements, trials)
        ways = (*WAYS, *grid_ways()) if arguments.grid else WAYS
        made = {way.name: make_run(judgements, trials, way) for way in ways}
        if arguments.write_runs is not None:
            arguments.write_runs.mkdir(parents=True, exist_ok=True)
            for way_name, run in made.items():
                write_run(arguments.write_runs / f"{name}.{way_name.replace(' ', '-')}.trec", run, tag=way_name)
        scored = figures[name] = {way_name: score_run(run, judgements.qrels) for way_name, run in made.items()}
        groups = segments(judgements.queries, judgements.qrels)
        report[name] = segments_json(scored, groups)
        for segment, qids in groups.items():
            if segment == "all" or (arguments.segments and len(qids) >= arguments.smallest):
                console.print(segment_table(f"{name}: {segment}", scored, qids))
    if arguments.search:
        report["weights"] = cross_validate(gathered, console)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")
    if arguments.figure is not None:
        _draw(figures, gathered, arguments.figure)


def _trials(found: JudgedSet, cache: Path, *, repeats: bool = True) -> tuple[Judgements, dict[str, Trial]]:
    """Return the set's evidence from the cache, gathered for the artifact and queries that stand there now."""
    queries, qrels = read_queries(found.queries), read_qrels(found.qrels)
    with Artifact(found.artifacts / "current.duckdb") as artifact:
        judgements = Judgements(artifact, queries, qrels, repeats=repeats)
        key = hashlib.sha256(f"{artifact.info.artifact_id} {queries} {_code_digest()}".encode()).hexdigest()[:16]
        path = cache / f"{found.name}.{key}.trials"
        # Written by this program into its own cache; nobody else's pickles are read.
        kept: dict[str, Trial] = pickle.loads(path.read_bytes()) if path.exists() else {}  # noqa: S301
        if len(kept) < len(judgements.queries):
            artifact.load()
            gathering = gather_trials(artifact, judgements, embedder=MiniLMEmbedder())
            kept = dict(track(gathering, description=found.name, total=len(judgements.queries)))
            path.write_bytes(pickle.dumps(kept))
    return judgements, kept


def _code_digest() -> str:
    """Return a digest of the modules that gather evidence, so that none of another version is measured."""
    names = (
        "analyzer",
        "context",
        "exact",
        "identifiers",
        "lexical",
        "ranking",
        "recency",
        "routing",
        "schema",
        "semantic",
    )
    files = [Path(retrieval.__file__).with_name(f"{name}.py") for name in names]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _draw(
    figures: Mapping[str, Mapping[str, PerQuery]],
    gathered: Mapping[str, tuple[Judgements, Mapping[str, Trial]]],
    path: Path,
) -> None:
    """Draw nDCG@10 of each way by set and kind of query, with 95% intervals, in the format of the file's ending."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only the figure needs it, and it is no dependency
    import numpy as np  # noqa: PLC0415

    rows = [
        ("\n".join([key, *textwrap.wrap(f"{segment.removeprefix('kind=')} ({len(qids)})", 18)]), scored, qids)
        for key, scored in figures.items()
        for segment, qids in _drawn_segments(gathered[key][0]).items()
    ]
    plot, axes = plt.subplots(figsize=(1.5 * len(rows) + 1, 4.5), layout="constrained")
    for place, way in enumerate(WAYS):
        means = np.array([mean_measures(scored[way.name], qids)["nDCG@10"] for _, scored, qids in rows])
        bounds = np.array([mean_interval(scored[way.name], qids) for _, scored, qids in rows])
        axes.bar(
            np.arange(len(rows)) + (place + 0.5) / (len(WAYS) + 1),
            means,
            1 / (len(WAYS) + 1),
            yerr=np.abs(bounds.T - means),
            error_kw={"elinewidth": 0.7, "ecolor": "#444444"},
            color=COLOURS[way.name],
            label=way.name,
        )
    axes.set_xticks(np.arange(len(rows)) + 0.4, [label for label, _, _ in rows], fontsize=8)
    axes.set_ylabel("nDCG@10, 95% interval")
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(ncols=len(WAYS), frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    plot.savefig(path)


def _drawn_segments(judgements: Judgements) -> Mapping[str, Sequence[str]]:
    """Return a set's kinds of query, or all of it where it has one kind."""
    groups = segments(judgements.queries, judgements.qrels)
    kinds = {name: qids for name, qids in groups.items() if name.startswith("kind=")}
    return kinds or {"all": groups["all"]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the shared data folder")
    parser.add_argument("--cache", type=Path, default=Path(".cache/relevance"))
    parser.add_argument("--sets", default=",".join((*CORPORA, *SLACK_SETS)), help="names, separated by commas")
    parser.add_argument("--segments", action="store_true", help="also by kind, route, script and channel")
    parser.add_argument("--smallest", type=int, default=20, help="segments of fewer queries are only in the JSON")
    parser.add_argument("--grid", action="store_true", help="also other constants of the fixed fusions")
    parser.add_argument("--search", action="store_true", help="choose adapted weights by cross-validation")
    parser.add_argument("--threads-once", action="store_true", help="every list names a thread once")
    parser.add_argument("--write-runs", type=Path, default=None, help=f"folder for TREC runs, {RUN_DEPTH} deep")
    parser.add_argument("--json", type=Path, default=None, help="file for the figures")
    parser.add_argument(
        "--figure", type=Path, default=None, help="picture, such as docs/relevance.svg; needs matplotlib"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
