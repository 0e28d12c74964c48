"""Tokens taken over from the artifact before: the same artifact, sooner."""

from pathlib import Path

import pytest

from retrieval.analyzer import tokenize
from retrieval.publication import publish
from tests.artifact_rows import build, rows
from tests.export_factory import ExportFactory
from tests.toy_embedder import ToyEmbedder

TABLES = (
    ("search_documents", "document_id"),
    ("document_vectors", "document_id"),
    ("document_messages", "document_id, position"),
    ("channels", "channel_id"),
    ("users", "user_id"),
    ("fts_main_search_documents.dict", "term"),
)


def export(path: Path, *, later: bool) -> Path:
    """Threads, a mention, an edit, a rename, a new message and a gone one."""
    factory = ExportFactory()
    factory.user("U1", name="ana", display_name="Ana Lima" if later else "Ana")
    factory.channel("C1", "platform" if later else "infra")
    factory.channel("C2", "random")
    factory.thread("C1", "1600000000.000100", [f"error E43{n} in module_{n}.py" for n in range(30)])
    factory.message("C2", "1600000500.000100", "hello <@U1>, see <#C1>")
    factory.message("C2", "1600000600.000100", "lunch at thirteen" if later else "lunch at noon")
    factory.message("C2", "1600000700.000100", "来週の会議 10.0.0.1 :tada:")
    factory.message("C2", "1600000800.000100", "a new one" if later else "one that goes", user=None)
    return factory.write_zip(path)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were made into tokens."""
    texts: list[str] = []

    def counting(text: str) -> list[str]:
        texts.append(text)
        return list(tokenize(text))

    monkeypatch.setattr("retrieval.builder.documents.tokenize", counting)
    return texts


def test_the_artifact_is_the_same_as_a_full_builds(tmp_path: Path, counted: list[str]) -> None:
    first = build(tmp_path / "out", export(tmp_path / "a.zip", later=False), embedder=ToyEmbedder())
    publish(tmp_path / "out", first.artifact)
    counted.clear()
    source = export(tmp_path / "b.zip", later=True)
    second = build(tmp_path / "out", source, embedder=ToyEmbedder())
    assert counted == ["hello @Ana Lima, see #platform", "lunch at thirteen", "a new one"]
    full = build(tmp_path / "other", source, embedder=ToyEmbedder())

    for table, order in TABLES:
        columns = "*" if "." not in table else "term, df"
        sql = f"SELECT {columns} FROM {table} ORDER BY {order}"
        assert rows(second.artifact, sql) == rows(full.artifact, sql), table
    assert rows(second.artifact, "SELECT source_watermark FROM artifact_metadata") == rows(
        full.artifact, "SELECT source_watermark FROM artifact_metadata"
    )


def test_another_analyzers_tokens_are_not_taken_over(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = export(tmp_path / "a.zip", later=False)
    publish(tmp_path / "out", build(tmp_path / "out", source).artifact)
    number = len(counted)
    monkeypatch.setattr("retrieval.builder.previous.ANALYZER_VERSION", "another")
    build(tmp_path / "out", source)

    assert len(counted) == 2 * number


def test_a_current_artifact_that_cannot_be_read_costs_only_time(tmp_path: Path, counted: list[str]) -> None:
    source = export(tmp_path / "a.zip", later=False)
    first = build(tmp_path / "out", source).artifact
    publish(tmp_path / "out", first)
    number = len(counted)
    first.chmod(0o644)
    first.write_bytes(b"no database")
    build(tmp_path / "out", source)

    assert len(counted) == 2 * number
