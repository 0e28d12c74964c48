"""One turn of the indexer: build, judge, publish, clean; what does not pass is kept and not published."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from retrieval.builder.build import BuildResult, build_artifact
from retrieval.builder.progress import Progress
from retrieval.builder.workspace import WorkspaceIdentity
from retrieval.embedding import DocumentEmbedder
from retrieval.errors import ArtifactError, RetrievalError
from retrieval.gate import PublishGate, Verdict
from retrieval.manifest import ManifestKey, read_manifest
from retrieval.publication import current_path, publish_unless_held
from retrieval.refusal import Refusal, write_refusal
from retrieval.retention import Pruned, Retention, prune


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the indexer does each time.

    Attributes:
        sources: Exports and archives.
        folder: The folder of artifacts.
        workspace: What the operator says of the workspace.
        files: A folder of files that messages share.
        lenient: Whether an artifact is published although files could not be read.
        denied: Gives the ids of channels, people and documents that stay out, asked anew each time.
        retention: What is kept.
        gate: Judges each artifact; None to publish whatever is valid.
        key: Signs each manifest.
    """

    sources: Sequence[Path]
    folder: Path
    workspace: WorkspaceIdentity
    files: Path | None = None
    lenient: bool = False
    denied: Callable[[], frozenset[str]] = frozenset
    retention: Retention = field(default_factory=Retention)
    gate: PublishGate | None = None
    key: ManifestKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn came to.

    Attributes:
        result: The build.
        artifact_id: Its artifact's id.
        refusal: Why the artifact is not published; None where it is.
        pruned: What the cleaning did; None where it could not be done, which `cleaning_problem` explains.
        cleaning_problem: Why nothing was cleaned.
        seconds: Wall time by stage, the build's own stages first.
    """

    result: BuildResult
    artifact_id: str
    refusal: Refusal | None
    pruned: Pruned | None
    cleaning_problem: str | None
    seconds: dict[str, float]


def run_turn(
    plan: Plan, *, embedder: DocumentEmbedder | None, progress: Progress, clock: Callable[[], datetime]
) -> Turn:
    """Build an artifact, publish it where it is whole, passes the gate and no rollback holds, and clean the folder.

    Args:
        plan: What to do.
        embedder: Makes the vectors; None for an artifact without any.
        progress: Shows how far the build is; what it raises ends the build cleanly.
        clock: The time, with a zone.

    Raises:
        SourceError: A source cannot be read.
        EmbeddingError: The model is away or gives nonsense.
        ArtifactError: The folder cannot be written, is in use, or the result fails a check.
        OSError: The disk is full.
    """
    result = build_artifact(
        plan.sources,
        plan.folder,
        workspace=plan.workspace,
        embedder=embedder,
        files=plan.files,
        lenient=plan.lenient,
        denied=plan.denied(),
        key=plan.key,
        progress=progress,
        clock=clock,
    )
    seconds = dict(result.report.seconds)
    refusal = _decide(plan, result, at=clock().astimezone(UTC).isoformat(timespec="seconds"), seconds=seconds)
    pruned, problem = None, None
    with _timed(seconds, "prune"):
        try:
            pruned = prune(plan.folder, retention=plan.retention, now=clock())
        except ArtifactError as error:
            # The next turn cleans; what was published stays so.
            problem = str(error)
    return Turn(
        result=result,
        artifact_id=read_manifest(result.artifact).artifact_id,
        refusal=refusal,
        pruned=pruned,
        cleaning_problem=problem,
        seconds=seconds,
    )


def _decide(plan: Plan, result: BuildResult, *, at: str, seconds: dict[str, float]) -> Refusal | None:
    """Publish the artifact, or note beside it why not; the note is returned."""
    if plan.gate is not None:
        # A rollback must not go to what was never judged, whatever happens from here on.
        write_refusal(result.artifact, Refusal(at=at, reasons=("It has not been judged.",)))
    with _timed(seconds, "gate"):
        verdict = _judge(plan, result)
    with _timed(seconds, "publish"):
        reasons = verdict.reasons
        if not reasons and (hold := publish_unless_held(plan.folder, result.artifact)) is not None:
            reasons = (hold.reason,)
        if not reasons:
            return None
        refusal = Refusal(at=at, reasons=reasons, figures=dict(verdict.figures))
        write_refusal(result.artifact, refusal)
        return refusal


def _judge(plan: Plan, result: BuildResult) -> Verdict:
    reasons: list[str] = []
    if not result.complete:
        first = result.unreadable[0]
        others = f" and {len(result.unreadable) - 1} more" if len(result.unreadable) > 1 else ""
        reasons.append(f"{first.file}{others} could not be read ({first.reason}); --lenient accepts that.")
    if plan.gate is None:
        return Verdict(reasons=tuple(reasons))
    try:
        verdict = plan.gate.judge(result.artifact, current=current_path(plan.folder))
    except RetrievalError as error:
        return Verdict(reasons=(*reasons, f"The gate could not judge it: {error}"))
    return Verdict(reasons=(*reasons, *verdict.reasons), figures=verdict.figures)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        seconds[stage] = time.monotonic() - started
