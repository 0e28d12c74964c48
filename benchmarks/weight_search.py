"""Choosing the adapted weights by cross-validation over several judged sets at once."""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from rich.console import Console

from retrieval.evaluation import RUN_DEPTH, SINGLE_MODES, Judgements, score_run
from retrieval.models import Fusion, Mode, QueryClass
from retrieval.trials import WAYS, Trial, Way, rank_trial
from retrieval.weights import CONSTANTS, ClassWeights, Constants, Slope

FOLDS: Final = 5
_SEED: Final = 20261130


def candidates(fusion: Fusion) -> tuple[Way, ...]:
    """Return the chosen constants and their neighbours: one thing changed at a time."""
    varied: dict[str, Constants] = {"as chosen": CONSTANTS}
    for middle in (0.7, 0.8):
        varied[f"coverage middle {middle}"] = replace(CONSTANTS, coverage_middle=middle)
    for width in (0.03, 0.1):
        varied[f"coverage width {width}"] = replace(CONSTANTS, coverage_width=width)
    table = CONSTANTS.rrf if fusion is Fusion.RRF else CONSTANTS.linear
    for query_class in QueryClass:
        for field in ("lexical", "semantic", "context", "exact", "recency"):
            for factor in (0.0, 0.6, 1.6):
                row = replace(table[query_class], **{field: _scaled(getattr(table[query_class], field), factor)})
                varied[f"{query_class.value} {field} * {factor}"] = _with_row(fusion, query_class, row)
    return tuple(
        Way(name=name, mode=Mode.HYBRID, fusion=fusion, constants=constants) for name, constants in varied.items()
    )


def cross_validate(
    gathered: Mapping[str, tuple[Judgements, Mapping[str, Trial]]], console: Console
) -> dict[str, object]:
    """Print and return how the chosen constants fare against their neighbours, for both adaptive fusions.

    A candidate's worth is the mean over sets and kinds of query of its nDCG@10 over the better single mode's, so
    that a large set does not outvote a small one. In each of five folds the best candidate of the other four is
    picked and measured on the fifth: what picking gains there is what it would gain elsewhere.
    """
    # Millions of candidates stay until the end; the collector must not look through them again and again.
    gc.freeze()
    report: dict[str, object] = {}
    for fusion in (Fusion.RRF, Fusion.LINEAR):
        ways = (*(way for way in WAYS if way.name in SINGLE_MODES), *candidates(fusion))
        columns, groups = _columns(gathered, ways)
        folds = np.random.default_rng(_SEED).integers(0, FOLDS, size=len(groups))
        names = [way.name for way in ways if way.name not in SINGLE_MODES]
        worths = {name: _worth(columns, groups, name, np.ones(len(groups), dtype=bool)) for name in names}
        picked, held_out, chosen_held_out = [], [], []
        for fold in range(FOLDS):
            best = max(names, key=lambda name: _worth(columns, groups, name, folds != fold))
            picked.append(best)
            held_out.append(_worth(columns, groups, best, folds == fold))
            chosen_held_out.append(_worth(columns, groups, "as chosen", folds == fold))
        console.print(f"{fusion.value}: picked per fold {picked}")
        console.print(f"  held out: picked {np.mean(held_out):.4f}, as chosen {np.mean(chosen_held_out):.4f}")
        for name in sorted(names, key=lambda name: -worths[name])[:12]:
            console.print(f"  {worths[name]:.4f}  {name}")
        report[fusion.value] = {
            "picked": picked,
            "held_out": float(np.mean(held_out)),
            "as_chosen_held_out": float(np.mean(chosen_held_out)),
            "worth": worths,
        }
    return report


def _scaled(slope: Slope, factor: float) -> Slope:
    return Slope(low=slope.low * factor, high=slope.high * factor)


def _with_row(fusion: Fusion, query_class: QueryClass, row: ClassWeights) -> Constants:
    if fusion is Fusion.RRF:
        return replace(CONSTANTS, rrf={**CONSTANTS.rrf, query_class: row})
    return replace(CONSTANTS, linear={**CONSTANTS.linear, query_class: row})


def _columns(
    gathered: Mapping[str, tuple[Judgements, Mapping[str, Trial]]], ways: Sequence[Way]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return nDCG@10 of every query by way, and each query's group: its set and kind."""
    values: dict[str, list[float]] = {way.name: [] for way in ways}
    groups: list[str] = []
    for set_name, (judgements, trials) in gathered.items():
        groups += [f"{set_name} {query.kind}" for query in judgements.queries]
        known: dict[tuple[str, str], float] = {}
        for way in ways:
            keys = {qid: _deciding(way, trial) for qid, trial in trials.items()}
            new = [qid for qid, key in keys.items() if (qid, key) not in known]
            known |= {(qid, keys[qid]): value for qid, value in _measured(judgements, trials, way, new).items()}
            values[way.name] += [known[query.qid, keys[query.qid]] for query in judgements.queries]
    return {name: np.array(column) for name, column in values.items()}, np.array(groups)


def _deciding(way: Way, trial: Trial) -> str:
    """Return all of a way that touches one query: a row of another class does not, and most candidates vary one row."""
    rows = (way.constants.rrf if way.fusion is Fusion.RRF else way.constants.linear)[trial.query_class]
    return repr((way.mode, way.fusion, way.depth, rows, replace(way.constants, rrf={}, linear={})))


def _measured(judgements: Judgements, trials: Mapping[str, Trial], way: Way, qids: Sequence[str]) -> dict[str, float]:
    run = {qid: judgements.ranked_answers(qid, rank_trial(trials[qid], way, limit=RUN_DEPTH)) for qid in qids}
    scored = score_run(run, {qid: judgements.qrels[qid] for qid in qids})
    return {qid: scored[qid]["nDCG@10"] for qid in qids}


def _worth(columns: Mapping[str, np.ndarray], groups: np.ndarray, name: str, mask: np.ndarray) -> float:
    ratios = []
    for group in np.unique(groups[mask]):
        chosen = mask & (groups == group)
        baseline = max(float(columns[single][chosen].mean()) for single in SINGLE_MODES)
        if baseline > 0:
            # A set where the single modes find next to nothing must not decide alone.
            ratios.append(min(float(columns[name][chosen].mean()) / baseline, 1.5))
    return float(np.mean(ratios))
