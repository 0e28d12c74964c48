"""The archives that speed is measured on, the queries, and searches as the engine does them."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scaled import random_vectors, scaled_artifact
from retrieval import Artifact, Mode, SearchRequest, Visibility, search_slack
from retrieval.analyzer import tokenize
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.models import EmbeddingSpec
from retrieval.resident.resident import Resident

# Results a list.
DEPTH: Final = 100
# DuckDB keeps what it has read up to its limit; its default is four fifths of the machine.
DUCKDB_MB: Final = 128
EVERYTHING: Final = Visibility.everything()
IDENTITY: Final = WorkspaceIdentity(workspace_id="TBENCH", name=None, url=None)
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
        return build_artifact(
            [source], folder, workspace=IDENTITY, embedder=None, lenient=True, clock=lambda: datetime.now(UTC)
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
    """Open an artifact, with what `match_bm25` needs, and read it into memory."""
    with Artifact(path, full_text=True) as artifact:
        resident = artifact.load().resident
        assert resident is not None, artifact.residency.detail
        yield artifact, resident


def search_in(artifact: Artifact, mode: Mode, embedder: FixedEmbedder) -> Callable[[str], object]:
    """Return a whole request of one mode, rows included."""
    return lambda text: search_slack(
        artifact, SearchRequest(text=text[:20_000], mode=mode), visibility=EVERYTHING, embedder=embedder
    )


def tokens_of(text: str) -> list[str]:
    """Return the distinct tokens of a query, at most 64 as the engine takes them."""
    return list(dict.fromkeys(tokenize(text)))[:64]
