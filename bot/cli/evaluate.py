"""`slackquery eval`: how good each way to rank is, on judged queries."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import click
from rich.table import Table

from bot.cli.opening import artifacts_option, json_option, opened_artifact, query_embedder
from bot.cli.output import ConsoleProgress, print_json, result_console, say
from retrieval.evaluation import (
    MEASURES,
    SINGLE_MODES,
    Judgements,
    PerQuery,
    compare,
    gather_trials,
    make_run,
    mean_interval,
    mean_measures,
    score_run,
    segments,
)
from retrieval.judgements import read_qrels, read_queries, read_run, write_run
from retrieval.models import Fusion
from retrieval.trials import WAYS, Trial, Way
from retrieval.weights import CONSTANTS

ALPHAS: Final = (0.2, 0.35, 0.5, 0.65, 0.8)
RRF_KS: Final = (10, 30, 60, 100)
DEPTHS: Final = (50, 100, 300)
TABLE_WIDTH: Final = 130


@click.command(name="eval")
@artifacts_option
@click.option("--queries", required=True, type=click.Path(path_type=Path), help="qid, text, kind: JSON lines.")
@click.option(
    "--qrels", required=True, type=click.Path(path_type=Path), help="qid, doc, grade between tabs, or TREC's."
)
@click.option("--grid", is_flag=True, help="Also try other constants of the fixed fusions.")
@click.option("--segments", "by_segment", is_flag=True, help="Also by kind, route, script and channel.")
@click.option("--run", "runs", multiple=True, type=click.Path(path_type=Path), help="A TREC run to measure as well.")
@click.option("--write-runs", type=click.Path(path_type=Path), default=None, help="Folder for TREC runs.")
@json_option
def evaluate(
    *,
    artifacts: Path | None,
    queries: Path,
    qrels: Path,
    grid: bool,
    by_segment: bool,
    runs: tuple[Path, ...],
    write_runs: Path | None,
    as_json: bool,
) -> None:
    """Measure every mode and fusion on judged queries.

    Texts of queries are taken as they stand: quotes and modifiers mean nothing. In qrels a document is
    `channel_id:ts` or a document id; a message counts for its thread where the thread's root was judged.

    \b
    slackquery eval --artifacts archive --queries queries.jsonl --qrels qrels.tsv --segments
    """
    with opened_artifact(artifacts) as artifact:
        judgements = Judgements(artifact, read_queries(queries), read_qrels(qrels))
        embedder = query_embedder(artifact)
        # Hundreds of queries are worth the seconds that it takes to hold the artifact in memory.
        artifact.load()
        trials: dict[str, Trial] = {}
        with ConsoleProgress().stage("search", len(judgements.queries)) as advance:
            for qid, trial in gather_trials(artifact, judgements, embedder=embedder):
                trials[qid] = trial
                advance(1)
        artifact_id = artifact.info.artifact_id
    ways = (*WAYS, *grid_ways()) if grid else WAYS
    made = {way.name: make_run(judgements, trials, way) for way in ways}
    made |= {path.stem: read_run(path) for path in runs}
    if write_runs is not None:
        write_runs.mkdir(parents=True, exist_ok=True)
        for name, run in made.items():
            write_run(write_runs / f"{name}.trec", run, tag=name)
    scored = {name: score_run(run, judgements.qrels) for name, run in made.items()}
    groups = segments(judgements.queries, judgements.qrels)
    if not by_segment:
        groups = {"all": groups["all"]}
    if as_json:
        print_json({"artifact_id": artifact_id, "segments": segments_json(scored, groups)})
        return
    console = result_console()
    # Figures that are folded cannot be read.
    console.width = max(console.width, TABLE_WIDTH)
    for name, qids in groups.items():
        console.print(segment_table(name, scored, qids))
    left_out = len(read_queries(queries)) - len(judgements.queries)
    if left_out:
        say(f"{left_out} queries without a judgement were left out.")


def grid_ways() -> tuple[Way, ...]:
    """Return the fixed fusions with other constants: rrf_k, depth, one list's weight, alpha."""
    base = next(way for way in WAYS if way.fusion is Fusion.RRF_FIXED)
    mixture = next(way for way in WAYS if way.fusion is Fusion.LINEAR_FIXED)
    return (
        *(replace(base, name=f"rrf-fixed k={k}", constants=replace(CONSTANTS, rrf_k=k)) for k in RRF_KS),
        *(replace(base, name=f"rrf-fixed depth={depth}", depth=depth) for depth in DEPTHS),
        *(
            replace(mixture, name=f"linear-fixed alpha={alpha}", constants=replace(CONSTANTS, alpha=alpha))
            for alpha in ALPHAS
        ),
    )


def segments_json(scored: Mapping[str, PerQuery], groups: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return the means, the intervals and the comparisons of every segment."""
    return {
        name: {
            "queries": len(qids),
            "rankers": {
                ranker: {
                    **mean_measures(values, qids),
                    "nDCG@10_interval": list(mean_interval(values, qids)),
                    "against_better_single_mode": None
                    if ranker in SINGLE_MODES
                    else asdict(compare(scored, ranker, qids)),
                }
                for ranker, values in scored.items()
            },
        }
        for name, qids in groups.items()
    }


def segment_table(name: str, scored: Mapping[str, PerQuery], qids: Sequence[str]) -> Table:
    """Return a segment's table: the measures of each ranker, and its nDCG@10 against the better single mode's."""
    table = Table(
        f"{name} ({len(qids)})", *MEASURES, "gain [95%]", "ratio [95%]", box=None, pad_edge=False, title_justify="left"
    )
    for ranker, values in scored.items():
        means = mean_measures(values, qids)
        cells = [f"{means[measure]:.3f}" for measure in MEASURES]
        if ranker in SINGLE_MODES:
            table.add_row(ranker, *cells, "", "")
            continue
        found = compare(scored, ranker, qids)
        table.add_row(
            ranker,
            *cells,
            f"{found.gain:+.3f} [{found.gain_low:+.3f}, {found.gain_high:+.3f}]",
            f"{found.ratio:.2f} [{found.ratio_low:.2f}, {found.ratio_high:.2f}] of {found.baseline}",
        )
    return table
