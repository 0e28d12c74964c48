"""How good the ranked lists are on judged queries: runs, measures, segments and intervals.

A run holds the first 50 that a search would show. A returned message counts for its thread's root where the
root is what was judged; judged messages of one thread are one answer, found once, because hybrid search shows a
thread once. So every mode is measured on the same answers (docs/evaluation.md).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.embedding import QueryEmbedder
from retrieval.errors import JudgementError
from retrieval.judgements import JudgedQuery, Qrels, Run
from retrieval.routing import main_script, route_query
from retrieval.trials import Trial, Way, gather_trial, rank_trial

MEASURES: Final = ("nDCG@10", "MRR@10", "Recall@20", "Success@5")
RUN_DEPTH: Final = 50
RESAMPLES: Final = 2000
_SEED: Final = 20261130

PerQuery = Mapping[str, Mapping[str, float]]


SINGLE_MODES: Final = ("lexical", "semantic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A hybrid ranker against the better single mode, on one segment and one measure.

    Attributes:
        baseline: The single mode with the higher mean.
        gain: Difference of the means.
        gain_low: Lower end of its paired bootstrap interval, 95%.
        gain_high: Upper end.
        ratio: Ratio of the means; infinite where the baseline found nothing.
        ratio_low: Lower end of its interval.
        ratio_high: Upper end.
    """

    baseline: str
    gain: float
    gain_low: float
    gain_high: float
    ratio: float
    ratio_low: float
    ratio_high: float


class Judgements:
    """Judged queries made comparable with what an artifact returns; for any number of threads, once made."""

    def __init__(
        self, artifact: Artifact, queries: Sequence[JudgedQuery], qrels: Qrels, *, repeats: bool = True
    ) -> None:
        """Look up where the artifact holds what was judged.

        Args:
            artifact: What is searched.
            queries: Those without a judgement are left out.
            qrels: Documents as `channel_id:ts` or document ids. One that the artifact lacks stays, never found.
            repeats: Whether further messages of a thread keep their places, as they do for a reader of a single mode;
                without, they are dropped, as is usual where passages are mapped to what they are part of.

        Raises:
            JudgementError: No query has a judgement.
            ArtifactReadError: DuckDB failed.
        """
        self.queries = tuple(
            query for query in queries if any(grade > 0 for grade in qrels.get(query.qid, {}).values())
        )
        if not self.queries:
            raise JudgementError("None of the queries has a judged document.")
        self._keys, self._threads = _read_places(artifact)
        ids = {key: document_id for document_id, key in self._keys.items()}
        self._answers: dict[str, dict[str, str]] = {}
        graded: dict[str, dict[str, int]] = {}
        for query in self.queries:
            self._answers[query.qid], graded[query.qid] = self._answers_of(qrels[query.qid], ids)
        self._excluded = {query.qid: self._thread_named(query.exclude_thread_of, ids) for query in self.queries}
        self.qrels: Qrels = graded
        self._repeats = repeats

    def ranked_answers(self, qid: str, document_ids: Sequence[str]) -> tuple[str, ...]:
        """Return what ranked documents are in the terms of the judgements, best first, each name once.

        A hit that answers with what an earlier one already answered keeps its place under a name of its own.
        """
        names: dict[str, None] = {}
        threads: set[str] = set()
        for document_id in document_ids:
            thread = self._threads.get(document_id, document_id)
            answers = self._answers[qid]
            name = answers.get(document_id) or answers.get(thread) or self._keys.get(document_id, document_id)
            if thread in threads and not self._repeats:
                continue
            threads.add(thread)
            while name in names:
                name += "#again"
            names[name] = None
        return tuple(names)

    def excluded_documents(self, qid: str) -> frozenset[str]:
        """Return the documents of the thread that a query was asked in, which may not answer it."""
        thread = self._excluded[qid]
        if thread is None:
            return frozenset()
        return frozenset({thread, *(one for one, root in self._threads.items() if root == thread)})

    def _answers_of(self, judged: Mapping[str, int], ids: Mapping[str, str]) -> tuple[dict[str, str], dict[str, int]]:
        """Return the answer's name by document id, and its best grade by name; a thread's first document names it."""
        names: dict[str, str] = {}
        answers: dict[str, str] = {}
        grades: dict[str, int] = {}
        for key, grade in judged.items():
            if grade > 0:
                document_id = ids.get(key, key)
                thread = self._threads.get(document_id, document_id)
                name = answers[document_id] = names.setdefault(thread, key)
                grades[name] = max(grades.get(name, 0), grade)
        return answers, grades

    def _thread_named(self, key: str, ids: Mapping[str, str]) -> str | None:
        if not key:
            return None
        document_id = ids.get(key, key)
        return self._threads.get(document_id, document_id)


def gather_trials(
    artifact: Artifact, judgements: Judgements, *, embedder: QueryEmbedder | None
) -> Iterator[tuple[str, Trial]]:
    """Yield each judged query's qid and evidence, in order.

    The thread that a query was asked in is hidden from it, as it was not there yet.

    Raises:
        ArtifactReadError: DuckDB failed.
    """
    for query in judgements.queries:
        hidden = judgements.excluded_documents(query.qid)
        yield (
            query.qid,
            gather_trial(artifact, query.text, embedder=embedder, hidden=hidden, asked_at_us=query.asked_at_us),
        )


def make_run(judgements: Judgements, trials: Mapping[str, Trial], way: Way) -> Run:
    """Return the first 50 of every judged query in the terms of the judgements."""
    return {
        query.qid: judgements.ranked_answers(query.qid, rank_trial(trials[query.qid], way, limit=RUN_DEPTH))
        for query in judgements.queries
    }


def score_run(run: Run, qrels: Qrels) -> PerQuery:
    """Return every query's measures by ir-measures: `{qid: {measure: value}}`; a query without a list has 0.

    Only the order of a list counts; a document that stands twice in it counts once, where it stands first.
    """
    import ir_measures  # noqa: PLC0415 - heavy, and only measuring needs it

    wanted = {ir_measures.parse_measure(name.replace("MRR", "RR").replace("Recall", "R")): name for name in MEASURES}
    scores = {
        qid: {document: -float(rank) for rank, document in reversed(list(enumerate(documents)))}
        for qid, documents in run.items()
        if qid in qrels
    }
    values = {qid: dict.fromkeys(MEASURES, 0.0) for qid in qrels}
    for found in ir_measures.iter_calc(list(wanted), {qid: dict(grades) for qid, grades in qrels.items()}, scores):
        values[found.query_id][wanted[found.measure]] = float(found.value)
    return values


def mean_measures(values: PerQuery, qids: Iterable[str]) -> dict[str, float]:
    """Return the means of each measure over some queries."""
    chosen = list(qids)
    return {name: float(np.mean([values[qid][name] for qid in chosen])) for name in MEASURES}


def compare(scored: Mapping[str, PerQuery], name: str, qids: Sequence[str], *, measure: str = "nDCG@10") -> Comparison:
    """Compare a ranker with the better single mode of one segment.

    Queries are resampled in pairs, 2,000 times from a fixed seed, so that the same runs give the same intervals.

    Args:
        scored: Measures by ranker, the single modes among them.
        name: The ranker.
        qids: The segment's queries, at least one.
        measure: One of `MEASURES`.
    """
    columns = {
        one: np.array([scored[one][qid][measure] for qid in qids]) for one in (*SINGLE_MODES, name) if one in scored
    }
    baseline = max((one for one in SINGLE_MODES if one in columns), key=lambda one: float(columns[one].mean()))
    draws = np.random.default_rng(_SEED).integers(0, len(qids), size=(RESAMPLES, len(qids)))
    own, other = columns[name][draws].mean(axis=1), columns[baseline][draws].mean(axis=1)
    gains = np.quantile(own - other, [0.025, 0.975])
    ratios = np.quantile(_ratio(own, other), [0.025, 0.975], method="nearest")
    return Comparison(
        baseline=baseline,
        gain=float(columns[name].mean() - columns[baseline].mean()),
        gain_low=float(gains[0]),
        gain_high=float(gains[1]),
        ratio=float(_ratio(float(columns[name].mean()), float(columns[baseline].mean()))),
        ratio_low=float(ratios[0]),
        ratio_high=float(ratios[1]),
    )


def mean_interval(values: PerQuery, qids: Sequence[str], *, measure: str = "nDCG@10") -> tuple[float, float]:
    """Return the 95% bootstrap interval of a measure's mean over some queries."""
    column = np.array([values[qid][measure] for qid in qids])
    draws = np.random.default_rng(_SEED).integers(0, len(qids), size=(RESAMPLES, len(qids)))
    low, high = np.quantile(column[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def segments(queries: Sequence[JudgedQuery], qrels: Qrels) -> dict[str, tuple[str, ...]]:
    """Return the queries of each segment, by name: all of them, and by kind, route, script and channel.

    A segment stands there only if it is not all of them. The channel is that of what was judged, for queries
    whose judged documents lie in one channel alone.
    """
    groups: dict[str, list[str]] = {"all": [query.qid for query in queries]}
    for query in queries:
        facts = {
            "kind": query.kind,
            "route": route_query(query.text).query_class.value,
            "script": main_script(query.text),
            "channel": _only_channel(qrels[query.qid]),
        }
        for fact, value in facts.items():
            if value:
                groups.setdefault(f"{fact}={value}", []).append(query.qid)
    whole = len(groups["all"])
    return {name: tuple(qids) for name, qids in groups.items() if name == "all" or len(qids) < whole}


def _ratio(own: NDArray[np.float64] | float, other: NDArray[np.float64] | float) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(own, other, out=np.full(np.shape(own), np.inf), where=np.asarray(other) > 0)
    return ratio


def _only_channel(grades: Mapping[str, int]) -> str:
    channels = {document.rpartition(":")[0] for document, grade in grades.items() if grade > 0}
    return channels.pop() if len(channels) == 1 else ""


def _read_places(artifact: Artifact) -> tuple[dict[str, str], dict[str, str]]:
    """Return each message's `channel_id:ts`, and the root of its thread where it belongs to one, by document id."""
    with artifact.cursor() as cursor:
        rows = cursor.execute(
            "SELECT document_id, channel_id || ':' || (ts_us // 1000000) || '.' "
            "|| lpad(CAST(ts_us % 1000000 AS VARCHAR), 6, '0'), coalesce(thread_root_id, thread_id) "
            f"FROM {schema.DOCUMENTS} WHERE document_kind = 'message'"
        ).fetchall()
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows if row[2] is not None}
