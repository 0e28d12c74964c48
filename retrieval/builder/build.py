"""From sources to one artifact: the order of the steps, their times, and the lock that keeps builds apart."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from retrieval.builder.directory import Directory, read_directory
from retrieval.builder.documents import DocumentMaker, SharedFile
from retrieval.builder.files import file_passages, folder_attachments, match_files
from retrieval.builder.merging import merged_messages
from retrieval.builder.opening import oldest_first, open_source
from retrieval.builder.previous import previous_tokens
from retrieval.builder.progress import Advance, Progress, SilentProgress
from retrieval.builder.report import BuildReport, Ledger, Unreadable
from retrieval.builder.source import Attachment, Source
from retrieval.builder.vectors import NO_GENERATION, VectorCache, embed_texts, generation_id, missing_texts, text_digest
from retrieval.builder.workspace import Workspace, WorkspaceIdentity, resolve_workspace
from retrieval.builder.writer import ArtifactWriter, Placed
from retrieval.embedding import DocumentEmbedder, with_probe
from retrieval.errors import ArtifactError, SourceError
from retrieval.locking import builder_lock
from retrieval.manifest import ManifestKey
from retrieval.publication import list_artifacts
from retrieval.temporaries import clear_builder_temporaries

_PORTION: Final = 4096
# Less than this is a clock being corrected.
_CLOCK_TOLERANCE: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build.

    Attributes:
        artifact: The artifact's file.
        manifest: Its manifest's file.
        report: What was found on the way.
        unreadable: Files that were skipped.
        complete: Whether everything was read, or whatever was not may be skipped (`lenient`).
    """

    artifact: Path
    manifest: Path
    report: BuildReport
    unreadable: tuple[Unreadable, ...]
    complete: bool


def build_artifact(
    sources: Sequence[Path],
    destination: Path,
    *,
    workspace: WorkspaceIdentity,
    embedder: DocumentEmbedder | None,
    files: Path | None = None,
    lenient: bool = False,
    denied: frozenset[str] = frozenset(),
    key: ManifestKey | None = None,
    progress: Progress | None = None,
    clock: Callable[[], datetime],
) -> BuildResult:
    """Build one artifact with its manifest in *destination*; does not publish it.

    Args:
        sources: Slack exports (zip or folder) and slackdump archives of one workspace. Which is newer is told by
            their newest day; of the same day, the later named.
        destination: A folder; made where it does not exist. Vectors are kept there for the next build.
        workspace: What the operator says about the workspace.
        embedder: Makes the vectors; None for an artifact without any.
        files: A folder of files that messages share.
        lenient: Whether unreadable files leave the build complete.
        denied: Ids of channels, people and documents whose messages stay out of the artifact.
        key: Signs the manifest.
        progress: Shows how far it is.
        clock: The time, with a zone; names the build.

    Raises:
        SourceError: A source cannot be read, is unsafe, or holds no message.
        EmbeddingError: The model is away or gives nonsense; what it gave before is kept for the next build.
        ArtifactError: The destination cannot be written, is in use by another build, holds an artifact of the
            future, or the result fails a check.
    """
    if not sources:
        raise SourceError("No source is named.")
    with builder_lock(destination):
        clear_builder_temporaries(destination)
        _check_clock(destination, clock().astimezone(UTC))
        build = _Build(destination, progress or SilentProgress(), denied)
        with ArtifactWriter(destination) as writer:
            space = build.read(sources, workspace, files, writer)
            build.embed(embedder, writer)
            with build.stage("index", None):
                writer.finish_index()
            with build.stage("validate", None):
                placed = writer.place(clock().astimezone(UTC), code_version=_code_version(), key=key)
    report = build.report(space, placed)
    return BuildResult(
        artifact=placed.artifact,
        manifest=placed.manifest,
        report=report,
        unreadable=report.unreadable,
        complete=lenient or not report.unreadable,
    )


@dataclass(slots=True)
class _Build:
    """The state of one build."""

    destination: Path
    progress: Progress
    denied: frozenset[str] = frozenset()
    ledger: Ledger = field(default_factory=Ledger)
    seconds: dict[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    people: int = 0
    channels: int = 0
    embedded: int = 0

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        started = time.monotonic()
        with self.progress.stage(name, total) as advance:
            yield advance
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started

    def read(
        self, paths: Sequence[Path], identity: WorkspaceIdentity, files: Path | None, writer: ArtifactWriter
    ) -> Workspace:
        with self.stage("open", len(paths)) as advance:
            opened = []
            for path in paths:
                opened.append(open_source(path, self.ledger))
                advance(1)
            sources = oldest_first(opened)
            workspace = resolve_workspace(identity, sources)
            directory = read_directory(sources, self.ledger)
        self.labels = tuple(source.label for source in sources)
        self.people = len(directory.people)
        maker = DocumentMaker(workspace, directory, self.ledger, denied=self.denied)
        shared = self._read_messages(sources, directory, maker, writer)
        attachments = [attachment for source in sources for attachment in source.attachments()]
        attachments += [] if files is None else folder_attachments(files)
        self._read_files(attachments, shared, maker, writer)
        writer.add_directory(workspace.workspace_id, list(directory.channels.values()), list(directory.people.values()))
        return workspace

    def _read_messages(
        self, sources: Sequence[Source], directory: Directory, maker: DocumentMaker, writer: ArtifactWriter
    ) -> dict[str, list[SharedFile]]:
        """Read channel by channel, so that never more than one channel's messages are in memory."""
        shared: dict[str, list[SharedFile]] = {}
        sizes = {
            key: sum(part.bytes for portion in portions for part in portion.conversations)
            for key, portions in directory.portions.items()
        }
        stage = self.stage("read", sum(sizes.values()))
        with stage as advance, previous_tokens(self.destination) as previous, _no_cycle_search():
            for channel_id, portions in directory.portions.items():
                rows = merged_messages(portions, self.ledger)
                tokens = previous.of_channel(channel_id)
                made = maker.channel_documents(directory.channels[channel_id], rows, tokens=tokens)
                writer.add_documents(made.documents)
                writer.add_mappings(made.mappings)
                for use in made.files:
                    shared.setdefault(use.file.id, []).append(use)
                self.channels += bool(made.documents)
                advance(sizes[channel_id])
        for source in sources:
            if not self.ledger.messages_read[source.label]:
                raise SourceError(f"{source.label} holds no message at all.")
        if not self.channels:
            raise SourceError("The sources hold no message that can be indexed.")
        return shared

    def _read_files(
        self,
        attachments: Sequence[Attachment],
        shared: dict[str, list[SharedFile]],
        maker: DocumentMaker,
        writer: ArtifactWriter,
    ) -> None:
        matched = match_files(attachments, shared, self.ledger)
        with self.stage("files", len(matched)) as advance:
            for file_id, attachment in sorted(matched.items()):
                made = file_passages(file_id, attachment, shared[file_id], maker=maker, ledger=self.ledger)
                if made is not None:
                    writer.add_documents([one for one in made.documents if one.document_id not in self.denied])
                    writer.add_mappings([one for one in made.mappings if one.document_id not in self.denied])
                advance(1)

    def embed(self, embedder: DocumentEmbedder | None, writer: ArtifactWriter) -> None:
        if embedder is None:
            writer.begin_vectors(NO_GENERATION, None)
            return
        generation = generation_id(embedder.spec)
        with VectorCache(self.destination, generation, embedder.spec.dimensions) as cache:
            self._embed_missing(embedder, cache, writer)
            writer.begin_vectors(generation, with_probe(embedder))
            kept: set[bytes] = set()
            with self.stage("vectors", None) as advance:
                for portion in writer.embedding_texts(portion=_PORTION):
                    digests = [text_digest(text) for _, text in portion]
                    writer.add_vectors([document_id for document_id, _ in portion], cache.get(digests))
                    kept.update(digests)
                    advance(len(portion))
            # Whoever deletes a message wants nothing of it kept; the vectors of older artifacts are in them.
            cache.prune(kept)

    def _embed_missing(self, embedder: DocumentEmbedder, cache: VectorCache, writer: ArtifactWriter) -> None:
        texts = ([text for _, text in portion] for portion in writer.embedding_texts(portion=_PORTION))
        wanted = missing_texts(texts, cache)
        with self.stage("embed", len(wanted)) as advance:
            self.embedded = embed_texts(wanted, cache, embedder, advance=advance)

    def report(self, workspace: Workspace, placed: Placed) -> BuildReport:
        return BuildReport(
            sources=self.labels,
            workspace_id=workspace.workspace_id,
            messages=self.ledger.messages_read.total(),
            documents=placed.documents,
            channels=self.channels,
            users=self.people,
            vectors=placed.vectors,
            embedded=self.embedded,
            oddities=dict(sorted(self.ledger.oddities.items())),
            problems=tuple(self.ledger.problems),
            unreadable=tuple(self.ledger.unreadable),
            seconds=self.seconds,
        )


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Keep the interpreter from looking for garbage in cycles.

    Messages and documents form none, but there are so many that going over all of them again and again takes an
    eighth of the time of reading (measured).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_clock(folder: Path, now: datetime) -> None:
    """Refuse to build in the past: which artifact is the newest, and what a rollback goes to, is told by time.

    Raises:
        ArtifactError: The folder holds an artifact that is built later than now.
    """
    newest = max((built for entry in list_artifacts(folder) if (built := entry.built_at) is not None), default=now)
    if newest - now > _CLOCK_TOLERANCE:
        raise ArtifactError(
            f"The clock says {now:%Y-%m-%d %H:%M} UTC, and {folder} holds an artifact that was built at "
            f"{newest:%Y-%m-%d %H:%M} UTC: set the clock right, or take that artifact away."
        )


def _code_version() -> str:
    try:
        return version("slackquery")
    except PackageNotFoundError:
        return ""
