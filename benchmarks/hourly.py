"""How long the first build takes and the next one, when 1% of the messages are new.

    python -m benchmarks.hourly EXPORT.zip [--share 0.01] [--folder DIR] [--embedder auto|none|URL] [--known FOLDER]

The first build is of the export without its newest messages, the second of the whole one, into the same folder. Texts
are counted where the model is asked for them. With --known the first build takes its vectors from another folder's
cache, where embedding everything once more would take an hour; its time then says nothing.
"""

import argparse
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval import EmbedderFactory, EmbeddingSpec, publish
from retrieval.builder import BuildResult, DocumentEmbedder, WorkspaceIdentity, build_artifact
from retrieval.builder.vectors import VectorCache, generation_id, text_digest

STAGES = ("open", "read", "files", "embed", "vectors", "index", "validate", "publish")


class CountingEmbedder:
    """Counts the texts that a model is asked for."""

    def __init__(self, inner: DocumentEmbedder) -> None:
        self._inner = inner
        self.count = 0

    @property
    def spec(self) -> EmbeddingSpec:
        """The model's."""
        return self._inner.spec

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Ask the model."""
        self.count += len(texts)
        return self._inner.embed_documents(texts)


class KnowingEmbedder:
    """Gives vectors that another build made; every text must be among them."""

    def __init__(self, inner: DocumentEmbedder, folder: Path) -> None:
        self._inner = inner
        self._cache = VectorCache(folder, generation_id(inner.spec), inner.spec.dimensions)

    @property
    def spec(self) -> EmbeddingSpec:
        """The model's."""
        return self._inner.spec

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Look them up; what the model is probed with is not among them."""
        digests = [text_digest(text) for text in texts]
        return self._inner.embed_documents(texts) if self._cache.missing(digests) else self._cache.get(digests)


def is_message(entry: object) -> bool:
    return isinstance(entry, dict) and "ts" in entry


def day_files(archive: zipfile.ZipFile) -> Iterator[tuple[str, list[object]]]:
    """Yield the day files that hold a list."""
    for name in archive.namelist():
        if name.endswith(".json") and "/" in name.strip("/"):
            value = json.loads(archive.read(name))
            if isinstance(value, list):
                yield name, value


def without_newest(source: Path, target: Path, share: float) -> int:
    """Write *source* without the newest *share* of its messages; return how many were left out."""
    with zipfile.ZipFile(source) as archive:
        stamps = sorted(
            float(str(entry["ts"]))  # type: ignore[index]
            for _, entries in day_files(archive)
            for entry in entries
            if is_message(entry)
        )
        limit = stamps[int(len(stamps) * (1 - share))]
        changed = {}
        for name, entries in day_files(archive):
            kept = [entry for entry in entries if not (is_message(entry) and float(str(entry["ts"])) >= limit)]  # type: ignore[index]
            if len(kept) < len(entries):
                changed[name] = kept
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
            for name in archive.namelist():
                if changed.get(name) != []:
                    out.writestr(name, json.dumps(changed[name]) if name in changed else archive.read(name))
    return sum(stamp >= limit for stamp in stamps)


def build(source: Path, folder: Path, embedder: DocumentEmbedder | None) -> tuple[BuildResult, dict[str, float]]:
    """Build and publish; return the result and the seconds by stage."""
    result = build_artifact(
        [source],
        folder,
        workspace=WorkspaceIdentity(workspace_id="T0BENCH"),
        embedder=embedder,
        lenient=True,
        clock=lambda: datetime.now(UTC),
    )
    started = datetime.now(UTC)
    publish(folder, result.artifact)
    return result, {**result.report.seconds, "publish": (datetime.now(UTC) - started).total_seconds()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--known", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        new = without_newest(arguments.export, folder / "first.zip", arguments.share)
        inner = EmbedderFactory(None, None).for_build(arguments.embedder)
        columns = []
        for source in (folder / "first.zip", arguments.export):
            model = inner
            if inner is not None and arguments.known is not None and source != arguments.export:
                model = KnowingEmbedder(inner, arguments.known)
            counting = CountingEmbedder(model) if model is not None else None
            result, seconds = build(source, folder / "artifacts", counting)
            columns.append((result, seconds, counting.count if counting else 0))
            print(f"{source.name}: {sum(seconds.values()):.1f} s", flush=True)
    print(f"\n{arguments.export.name}, {columns[1][0].report.messages:,} messages, {new:,} of them new\n")
    print("| | first | second |\n|---|---|---|")
    for stage in STAGES:
        print(f"| {stage}, s | " + " | ".join(f"{seconds.get(stage, 0):.1f}" for _, seconds, _ in columns) + " |")
    totals = [sum(seconds.values()) for _, seconds, _ in columns]
    print(f"| all, s | {totals[0]:.1f} | {totals[1]:.1f} ({totals[1] / totals[0]:.2f} of the first) |")
    print("| texts given to the model | " + " | ".join(f"{count:,}" for _, _, count in columns) + " |")


if __name__ == "__main__":
    main()
