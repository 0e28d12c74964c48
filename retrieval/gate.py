"""The gate that a new artifact must pass before it is published: size, embedding model, judged queries.

`GATE.yaml`, every key optional:

```yaml
queries: queries.jsonl        # beside this file; as for `slackquery eval`
qrels: qrels.tsv
ranker: rrf                   # lexical, semantic, rrf, rrf-fixed, linear or linear-fixed
floors:                       # by segment: all, kind=..., route=..., script=..., channel=...
  all: {nDCG@10: 0.40, Success@5: 0.55}
  kind=identifier-exact: {MRR@10: 0.90}
max_shrink: 0.05              # share of the current artifact's messages that may be gone
min_overlap: 0.5              # mean overlap@10 with the current artifact, when the embedding model changed
max_slowdown: 3.0             # median latency, new by current, when the embedding model changed
```
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.embedding import EmbedderFactory, QueryEmbedder
from retrieval.errors import EmbeddingError, JudgementError, QueryTextError
from retrieval.evaluation import MEASURES, Judgements, mean_measures, score_run, segments
from retrieval.judgements import JudgedQuery, read_qrels, read_queries
from retrieval.manifest import read_manifest
from retrieval.models import Fusion, Mode, SearchRequest
from retrieval.search import MAX_LIMIT, search_slack
from retrieval.visibility import Visibility

OVERLAP_DEPTH: Final = 10
_RANKERS: Final[Mapping[str, tuple[Mode, Fusion]]] = {
    "lexical": (Mode.LEXICAL, Fusion.RRF),
    "semantic": (Mode.SEMANTIC, Fusion.RRF),
    **{fusion.value: (Mode.HYBRID, fusion) for fusion in Fusion},
}
_Share = Annotated[float, Field(ge=0, le=1)]


class GateRules(BaseModel):
    """The content of a gate's file; see the module's docstring."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queries: Path | None = None
    qrels: Path | None = None
    ranker: str = "rrf"
    floors: dict[str, dict[str, _Share]] = Field(default_factory=dict)
    max_shrink: _Share = 0.05
    min_overlap: _Share = 0.5
    max_slowdown: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "GateRules":
        if (self.queries is None) != (self.qrels is None):
            raise ValueError("queries and qrels belong together")
        if self.floors and self.queries is None:
            raise ValueError("floors need queries and qrels")
        if self.ranker not in _RANKERS:
            raise ValueError(f"ranker must be one of {', '.join(_RANKERS)}")
        for segment, floors in self.floors.items():
            if unknown := sorted(set(floors) - set(MEASURES)):
                raise ValueError(f"{segment}: {unknown[0]} is none of {', '.join(MEASURES)}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate says of a new artifact.

    Attributes:
        reasons: Why it must not be published, one sentence each; none where it may.
        figures: What was measured, as text by name.
    """

    reasons: tuple[str, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)


class PublishGate:
    """Judges artifacts by one file's rules; one thread."""

    def __init__(self, path: Path, *, embedders: EmbedderFactory) -> None:
        """Read the rules and the judged queries.

        Args:
            path: The YAML file; the files that it names are sought beside it.
            embedders: Gives the model of each artifact.

        Raises:
            JudgementError: A file cannot be read, or holds something else.
        """
        self._rules = read_rules(path)
        self._embedders = embedders
        self._queries: tuple[JudgedQuery, ...] = ()
        self._qrels: Mapping[str, Mapping[str, int]] = {}
        if self._rules.queries is not None and self._rules.qrels is not None:
            self._queries = read_queries(path.parent / self._rules.queries)
            self._qrels = read_qrels(path.parent / self._rules.qrels)

    def judge(self, newcomer: Path, *, current: Path | None) -> Verdict:
        """Say whether the artifact *newcomer* may replace *current*.

        Args:
            newcomer: A valid artifact's file.
            current: The file that is published now, None where there is none.

        Raises:
            JudgementError: No query of the file has a judged document, or a floor's segment holds no query.
            ArtifactError: One of the two cannot be read.
        """
        findings = _Findings()
        with Artifact(newcomer) as new:
            embedder = self._embedder(new, findings)
            if current is not None:
                with Artifact(current) as old:
                    self._compare(new, old, embedder=embedder, findings=findings)
            if self._rules.floors:
                self._measure(new, embedder=embedder, findings=findings)
        return Verdict(reasons=tuple(findings.reasons), figures=findings.figures)

    def _compare(self, new: Artifact, old: Artifact, *, embedder: QueryEmbedder | None, findings: "_Findings") -> None:
        before, after = _messages(old), _messages(new)
        findings.figures["messages"] = f"{after:,} (were {before:,})"
        gone = 1 - after / before if before else 0.0
        if gone > self._rules.max_shrink:
            findings.reasons.append(
                f"It holds {after:,} messages where the current one holds {before:,}: {gone:.1%} fewer, and "
                f"{self._rules.max_shrink:.1%} are allowed."
            )
        if new.info.generation_id == old.info.generation_id:
            return
        findings.figures["embedding model"] = f"{new.info.generation_id} (was {old.info.generation_id})"
        missing = read_manifest(new.path).missing_vector_count
        if missing:
            findings.reasons.append(
                f"The embedding model changed from {old.info.generation_id} to {new.info.generation_id}, and "
                f"{missing:,} messages and file passages have no vector of the new one."
            )
        elif self._queries:
            self._shadow(new, old, embedder=embedder, findings=findings)

    def _shadow(self, new: Artifact, old: Artifact, *, embedder: QueryEmbedder | None, findings: "_Findings") -> None:
        """Run the queries on both artifacts, each with its own model, and compare lists and times."""
        try:
            former = self._embedders.for_artifact(old.info) if old.info.vector_count else None
        except EmbeddingError as error:
            findings.reasons.append(f"The embedding model changed, and the former one cannot be asked: {error}")
            return
        shadow = compare_lists(new, old, self._queries, ranker=self._rules.ranker, embedders=(embedder, former))
        findings.figures["overlap@10 with the current artifact"] = f"{shadow.overlap:.3f}"
        findings.figures["median latency"] = f"{shadow.new_ms:.0f} ms (was {shadow.old_ms:.0f} ms)"
        if shadow.overlap < self._rules.min_overlap:
            findings.reasons.append(
                f"The embedding model changed, and of the ten best results {shadow.overlap:.1%} are the current "
                f"artifact's; at least {self._rules.min_overlap:.1%} are wanted."
            )
        limit = self._rules.max_slowdown
        if limit is not None and shadow.new_ms > limit * shadow.old_ms:
            findings.reasons.append(
                f"The embedding model changed, and a search takes {shadow.new_ms:.0f} ms where it took "
                f"{shadow.old_ms:.0f} ms; {limit:g} times is allowed."
            )

    def _measure(self, new: Artifact, *, embedder: QueryEmbedder | None, findings: "_Findings") -> None:
        judgements = Judgements(new, self._queries, self._qrels)
        run = {query.qid: self._answers(new, judgements, query, embedder=embedder) for query in judgements.queries}
        values = score_run(run, judgements.qrels)
        groups = segments(judgements.queries, judgements.qrels)
        for segment, floors in self._rules.floors.items():
            if segment not in groups:
                raise JudgementError(f"The gate has a floor for {segment}, and no judged query is of it.")
            means = mean_measures(values, groups[segment])
            for measure, floor in floors.items():
                findings.figures[f"{segment} {measure}"] = f"{means[measure]:.4f} (floor {floor:g})"
                if means[measure] < floor:
                    findings.reasons.append(
                        f"{measure} over {segment} is {means[measure]:.4f}, below the floor of {floor:g}."
                    )

    def _answers(
        self, artifact: Artifact, judgements: Judgements, query: JudgedQuery, *, embedder: QueryEmbedder | None
    ) -> tuple[str, ...]:
        """Return a query's first page in the terms of the judgements, without the thread that it was asked in."""
        found = _search(artifact, query, ranker=self._rules.ranker, embedder=embedder, limit=MAX_LIMIT)
        hidden = judgements.excluded_documents(query.qid)
        return judgements.ranked_answers(query.qid, [one for one in found if one not in hidden])

    def _embedder(self, artifact: Artifact, findings: "_Findings") -> QueryEmbedder | None:
        if artifact.info.vector_count == 0 or not self._queries:
            return None
        try:
            return self._embedders.for_artifact(artifact.info)
        except EmbeddingError as error:
            findings.reasons.append(f"Its embedding model cannot be asked: {error}")
            return None


@dataclass(slots=True)
class _Findings:
    reasons: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowRun:
    """The same queries on two artifacts.

    Attributes:
        overlap: Mean share of the ten best documents that both have, of the longer list; 1 where both are empty.
        new_ms: Median time of a search on the new one, milliseconds.
        old_ms: The same on the old one.
    """

    overlap: float
    new_ms: float
    old_ms: float


def compare_lists(
    new: Artifact,
    old: Artifact,
    queries: Sequence[JudgedQuery],
    *,
    ranker: str,
    embedders: tuple[QueryEmbedder | None, QueryEmbedder | None],
) -> ShadowRun:
    """Run *queries*, at least one, on both artifacts, each with its own model.

    Args:
        new: One artifact.
        old: The other.
        queries: What is searched for.
        ranker: How, as the rules name it.
        embedders: The models of *new* and *old*, None for none.

    Raises:
        ArtifactReadError: DuckDB failed.
        EmbeddingError: Semantic mode without a model.
    """
    overlaps: list[float] = []
    times: tuple[list[float], list[float]] = ([], [])
    for query in queries:
        lists = [
            _best(artifact, query, ranker=ranker, embedder=embedder, times=spent)
            for artifact, embedder, spent in zip((new, old), embedders, times, strict=True)
        ]
        longest = max(len(found) for found in lists)
        overlaps.append(len(lists[0] & lists[1]) / longest if longest else 1.0)
    return ShadowRun(
        overlap=statistics.fmean(overlaps), new_ms=statistics.median(times[0]), old_ms=statistics.median(times[1])
    )


def read_rules(path: Path) -> GateRules:
    """Return the rules of a gate's file.

    Raises:
        JudgementError: It cannot be read, is no YAML, or holds a key or a value that a gate does not know.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JudgementError(f"{path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise JudgementError(f"{path.name} is not YAML: {first}.") from error
    try:
        return GateRules.model_validate(content if content is not None else {})
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in reason["loc"]) or "the file"
        raise JudgementError(f"{path.name}: {place}: {reason['msg']}.") from error


def _best(
    artifact: Artifact, query: JudgedQuery, *, ranker: str, embedder: QueryEmbedder | None, times: list[float]
) -> set[str]:
    started = time.perf_counter()
    found = _search(artifact, query, ranker=ranker, embedder=embedder, limit=OVERLAP_DEPTH)
    times.append((time.perf_counter() - started) * 1000)
    return set(found)


def _search(
    artifact: Artifact, query: JudgedQuery, *, ranker: str, embedder: QueryEmbedder | None, limit: int
) -> tuple[str, ...]:
    mode, fusion = _RANKERS[ranker]
    request = SearchRequest(text=query.text, mode=mode, limit=limit, asked_at_us=query.asked_at_us)
    try:
        page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=embedder, fusion=fusion)
    except QueryTextError:
        return ()
    return tuple(hit.document.document_id for hit in page.hits)


def _messages(artifact: Artifact) -> int:
    with artifact.cursor() as cursor:
        row = cursor.execute(f"SELECT count(*) FROM {schema.DOCUMENTS} WHERE document_kind = 'message'").fetchone()
    return int(row[0]) if row else 0
