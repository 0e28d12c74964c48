"""A model for tests: hashed words, so that texts that share words have vectors that are near."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.models import EmbeddingSpec


class ToyEmbedder:
    """Counts what it is asked for.

    Attributes:
        texts: Every text it was given, in order.
        fail_after: Raise `RuntimeError` once this many texts were embedded; None for never.
    """

    def __init__(self, *, model: str = "toy", dimensions: int = 16, fail_after: int | None = None) -> None:
        self.texts: list[str] = []
        self.fail_after = fail_after
        self._spec = EmbeddingSpec(
            model=model,
            revision="1",
            query_prefix="",
            document_prefix="",
            native_dimensions=dimensions,
            dimensions=dimensions,
        )

    @property
    def spec(self) -> EmbeddingSpec:
        return self._spec

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.fail_after is not None and len(self.texts) >= self.fail_after:
            raise RuntimeError("the toy model was told to stop")
        self.texts += texts
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self._spec.dimensions, dtype=np.float64)
        for word in re.findall(r"\w+", text.lower()) or [""]:
            digest = hashlib.sha256(word.encode()).digest()
            vector += np.frombuffer(digest, dtype=np.uint8)[: self._spec.dimensions].astype(np.float64) - 127.5
        return (vector / np.linalg.norm(vector)).astype(np.float32)
