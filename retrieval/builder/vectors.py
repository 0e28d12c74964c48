"""Vectors of documents, each text embedded once: kept in a cache that outlives builds and crashes.

The cache is `embeddings.sqlite` in the destination, keyed by (generation, SHA-256 of the text) and committed with
each batch, so that an interrupted build goes on where it stopped and an hourly one embeds only what is new.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding import DocumentEmbedder
from retrieval.errors import ArtifactError, EmbeddingInvalidError
from retrieval.models import EmbeddingSpec

CACHE_NAME: Final = "embeddings.sqlite"
NO_GENERATION: Final = "none"
# Texts for one call; the embedder may cut them into smaller batches of its own.
BATCH: Final = 64
NORM_TOLERANCE: Final = 1e-4

# With rowids: without them SQLite keeps no more than a quarter of a page in place, and each vector takes a page of its
# own beside it (measured: 4.7 KB a vector of 384, against 2.1 KB).
_DDL: Final = """
CREATE TABLE IF NOT EXISTS vectors (
    generation TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (generation, digest)
)
"""


def generation_id(spec: EmbeddingSpec) -> str:
    """Return the name of the vectors that this model makes: equal exactly if they can be compared."""
    facts = [
        spec.model, spec.revision, spec.query_prefix, spec.document_prefix, spec.native_dimensions, spec.dimensions
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()
    return f"{spec.model}:{spec.dimensions}:{digest[:12]}"


def text_digest(text: str) -> bytes:
    """Return what a text's vector is kept under, 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


class VectorCache:
    """The cache of one destination; one build at a time, one thread."""

    def __init__(self, folder: Path, generation: str, dimensions: int) -> None:
        self._path = folder / CACHE_NAME
        self._generation = generation
        self._dimensions = dimensions
        try:
            self._connection = sqlite3.connect(self._path)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_DDL)
        except sqlite3.Error as error:
            raise ArtifactError(f"The vector cache {self._path} cannot be opened: {error}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return which of some digests have no vector yet."""
        found = self._find(digests)
        return {digest for digest in digests if len(found.get(digest, b"")) != self._dimensions * 4}

    def put(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep vectors, `(n, dims)` in the order of *digests*, in one transaction."""
        rows = [(self._generation, digest, vector.tobytes()) for digest, vector in zip(digests, vectors, strict=True)]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise ArtifactError(f"The vector cache {self._path} cannot be written: {error}.") from error

    def get(self, digests: Sequence[bytes]) -> NDArray[np.float32]:
        """Return the vectors of digests that are all in the cache, `(n, dims)` float32."""
        found = self._find(digests)
        content = b"".join(bytes(found[digest]) for digest in digests)
        return np.frombuffer(content, dtype=np.float32).reshape(len(digests), self._dimensions)

    def prune(self, keep: set[bytes]) -> int:
        """Forget this generation's vectors of texts that are not in *keep*; returns how many."""
        sql = "SELECT digest FROM vectors WHERE generation = ?"
        with closing(self._connection.execute(sql, (self._generation,))) as cursor:
            gone = [(self._generation, digest) for (digest,) in cursor if digest not in keep]
        with self._connection:
            self._connection.executemany("DELETE FROM vectors WHERE generation = ? AND digest = ?", gone)
        return len(gone)

    def _find(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        try:
            for start in range(0, len(digests), 500):
                part = digests[start : start + 500]
                marks = ",".join("?" * len(part))
                sql = f"SELECT digest, vector FROM vectors WHERE generation = ? AND digest IN ({marks})"
                found.update(self._connection.execute(sql, (self._generation, *part)))
        except sqlite3.Error as error:
            raise ArtifactError(f"The vector cache {self._path} cannot be read: {error}.") from error
        return found


def missing_texts(texts: Iterable[Sequence[str]], cache: VectorCache) -> list[tuple[bytes, str]]:
    """Return every distinct text that the cache lacks, with its digest, shortest first.

    Args:
        texts: All texts, in portions.
        cache: Where vectors are kept.
    """
    wanted: dict[bytes, str] = {}
    for portion in texts:
        digests = {text_digest(text): text for text in portion}
        missing = cache.missing([digest for digest in digests if digest not in wanted])
        wanted.update((digest, digests[digest]) for digest in missing)
    return sorted(wanted.items(), key=lambda item: (len(item[1]), item[0]))


def embed_texts(
    wanted: Sequence[tuple[bytes, str]],
    cache: VectorCache,
    embedder: DocumentEmbedder,
    *,
    advance: Callable[[int], None],
) -> int:
    """Embed texts and keep each batch at once; returns how many.

    Args:
        wanted: Digest and text, sorted by length, so that a batch wastes little on padding.
        cache: Takes the vectors.
        embedder: The model.
        advance: Called with each number done.

    Raises:
        EmbeddingError: The model is away or gives nonsense; earlier batches are kept.
    """
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        vectors = embedder.embed_documents([text for _, text in batch])
        cache.put([digest for digest, _ in batch], _checked(vectors, len(batch), embedder.spec.dimensions))
        advance(len(batch))
    return len(wanted)


def _checked(vectors: NDArray[np.float32], count: int, dimensions: int) -> NDArray[np.float32]:
    """Return vectors of norm 1 in float32, or refuse what cannot be a text's vector.

    Raises:
        EmbeddingInvalidError: Wrong shape, not finite, or not of length 1.
    """
    if vectors.shape != (count, dimensions):
        raise EmbeddingInvalidError(f"The model gave vectors of shape {vectors.shape} for {count} texts.")
    exact = vectors.astype(np.float64)
    norms = np.sqrt((exact * exact).sum(axis=1))
    if not np.isfinite(norms).all() or np.abs(norms - 1).max(initial=0) > NORM_TOLERANCE:
        raise EmbeddingInvalidError("The model gave a vector that is not finite or not of length 1.")
    return np.ascontiguousarray((exact / norms[:, None]).astype(np.float32))
