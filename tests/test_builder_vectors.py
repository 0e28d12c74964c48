"""Vectors: each text embedded once, whatever happens."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval.builder.vectors import VectorCache, embed_texts, generation_id, text_digest
from retrieval.errors import ArtifactError, EmbeddingInvalidError
from tests.artifact_rows import build, rows
from tests.export_factory import ExportFactory
from tests.toy_embedder import ToyEmbedder


def _export(count: int) -> ExportFactory:
    export = ExportFactory()
    export.user("U1", name="ana")
    export.channel("C1", "general")
    for number in range(count):
        export.message("C1", f"{1_700_000_000 + number}.000100", f"message number {number}")
    export.message("C1", "1700900000.000100", "message number 0")
    return export


def _documents(embedder: ToyEmbedder) -> list[str]:
    return [text for text in embedder.texts if text.startswith("message")]


def test_equal_texts_are_embedded_once_and_short_ones_first(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    result = build(tmp_path / "out", _export(12).write_zip(tmp_path / "a.zip"), embedder=embedder)

    asked = _documents(embedder)
    assert sorted(asked) == sorted(f"message number {number}" for number in range(12))
    assert [len(text) for text in asked] == sorted(len(text) for text in asked)
    assert (result.report.vectors, result.report.embedded) == (13, 12)


def test_every_document_has_its_own_texts_vector(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    artifact = build(tmp_path / "out", _export(200).write_zip(tmp_path / "a.zip"), embedder=embedder).artifact

    sql = "SELECT text_embedding, embedding FROM search_documents JOIN document_vectors USING (document_id)"
    found = rows(artifact, sql)
    assert len(found) == 201
    for text, vector in found:
        np.testing.assert_allclose(np.array(vector), embedder.embed_query(str(text)), atol=1e-6)


def test_a_second_build_embeds_only_what_is_new(tmp_path: Path) -> None:
    build(tmp_path / "out", _export(20).write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder())
    export = _export(20)
    export.message("C1", "1700900001.000100", "message that is new")
    embedder = ToyEmbedder()
    result = build(tmp_path / "out", export.write_zip(tmp_path / "b.zip"), embedder=embedder)

    assert _documents(embedder) == ["message that is new"]
    assert (result.report.vectors, result.report.embedded) == (22, 1)


def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = _export(300).write_zip(tmp_path / "a.zip")
    first, second = ToyEmbedder(fail_after=100), ToyEmbedder()
    with pytest.raises(RuntimeError, match="told to stop"):
        build(tmp_path / "out", path, embedder=first)
    assert not list((tmp_path / "out").glob("*.duckdb"))
    build(tmp_path / "out", path, embedder=second)

    assert not set(_documents(first)) & set(_documents(second))
    assert len(_documents(first)) + len(_documents(second)) == 300


def test_vectors_of_deleted_messages_are_forgotten(tmp_path: Path) -> None:
    build(tmp_path / "out", _export(20).write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder())
    build(tmp_path / "out", _export(5).write_zip(tmp_path / "b.zip"), embedder=ToyEmbedder())

    with VectorCache(tmp_path / "out", generation_id(ToyEmbedder().spec), 16) as cache:
        digests = [text_digest(f"message number {number}") for number in range(20)]
        assert cache.missing(digests) == set(digests[5:])


CHILD = """
import os, signal, sys
from pathlib import Path
from tests.artifact_rows import build
from tests.toy_embedder import ToyEmbedder

class Dying(ToyEmbedder):
    def embed_documents(self, texts):
        if len(self.texts) >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_documents(texts)

build(Path(sys.argv[1]), Path(sys.argv[2]), embedder=Dying())
"""


def test_a_build_killed_while_embedding_leaves_its_vectors_to_the_next(tmp_path: Path) -> None:
    path = _export(300).write_zip(tmp_path / "a.zip")
    command = [sys.executable, "-c", CHILD, str(tmp_path / "out"), str(path), "128"]
    killed = subprocess.run(command, cwd=Path(__file__).parent.parent, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "out").glob(".building-*"))
    embedder = ToyEmbedder()
    result = build(tmp_path / "out", path, embedder=embedder)

    assert len(_documents(embedder)) == 300 - 128
    assert result.report.vectors == 301
    assert not list((tmp_path / "out").glob(".building-*"))


def test_another_model_shares_nothing(tmp_path: Path) -> None:
    path = _export(5).write_zip(tmp_path / "a.zip")
    build(tmp_path / "out", path, embedder=ToyEmbedder())
    other = ToyEmbedder(model="other", dimensions=8)
    artifact = build(tmp_path / "out", path, embedder=other).artifact

    assert len(_documents(other)) == 5
    assert rows(artifact, "SELECT DISTINCT generation_id, len(embedding) FROM document_vectors") == [
        (generation_id(other.spec), 8)
    ]


def test_the_spec_and_its_probe_are_stored(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    artifact = build(tmp_path / "out", _export(1).write_zip(tmp_path / "a.zip"), embedder=embedder).artifact

    model, dimensions, probe, vector = rows(
        artifact, "SELECT model, dimensions, probe_text, probe_vector FROM embedding_spec"
    )[0]
    assert (model, dimensions) == ("toy", 16)
    np.testing.assert_allclose(np.array(vector), embedder.embed_query(str(probe)), atol=1e-6)


def test_vectors_are_stored_uncompressed_and_other_tables_are_not(tmp_path: Path) -> None:
    artifact = build(tmp_path / "out", _export(3000).write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder()).artifact

    sql = "SELECT DISTINCT compression FROM pragma_storage_info('{}') WHERE segment_type IN ('FLOAT', 'VARCHAR')"
    numbers = rows(artifact, sql.format("document_vectors") + " AND segment_type = 'FLOAT'")
    assert numbers == [("Uncompressed",)]
    assert rows(artifact, sql.format("search_documents")) != [("Uncompressed",)]


class _Broken(ToyEmbedder):
    def __init__(self, vectors: NDArray[np.float32]) -> None:
        super().__init__()
        self._vectors = vectors

    def embed_documents(self, texts: object) -> NDArray[np.float32]:
        return self._vectors


@pytest.mark.parametrize(
    "vectors",
    [np.zeros((1, 16)), np.full((1, 16), np.nan), np.ones((1, 16)), np.ones((2, 16)) / 4, np.ones((1, 15))],
    ids=["zero", "nan", "long", "count", "dimensions"],
)
def test_what_cannot_be_a_vector_is_refused_and_not_kept(tmp_path: Path, vectors: NDArray[np.float32]) -> None:
    embedder = _Broken(vectors.astype(np.float32))
    digest = text_digest("hello")
    with VectorCache(tmp_path, "g", 16) as cache:
        with pytest.raises(EmbeddingInvalidError):
            embed_texts([(digest, "hello")], cache, embedder, advance=lambda _number: None)

        assert cache.missing([digest]) == {digest}


def test_pruning_forgets_what_is_not_kept(tmp_path: Path) -> None:
    digests = [text_digest(text) for text in "abc"]
    with VectorCache(tmp_path, "g", 4) as cache:
        cache.put(digests, np.eye(3, 4, dtype=np.float32))

        assert cache.prune({digests[0]}) == 2
        assert cache.missing(digests) == set(digests[1:])


def test_a_damaged_cache_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "embeddings.sqlite").write_bytes(b"no database" * 500)

    with pytest.raises(ArtifactError, match=r"embeddings\.sqlite"):
        VectorCache(tmp_path, "g", 4)
