"""Serving the current artifact of a folder, and swapping it."""

import json
import shutil
import threading
from pathlib import Path

import duckdb
import pytest

from retrieval import (
    Artifact,
    ArtifactClosedError,
    ArtifactInvalidError,
    ArtifactMissingError,
    ArtifactReplacedError,
    Mode,
    SearchRequest,
    Visibility,
    search_slack,
)
from retrieval.manifest import manifest_path, read_manifest
from retrieval.publication import list_artifacts, publish, rollback
from retrieval.store import ArtifactStore
from retrieval.validation import validate_file
from tests.artifact_factory import Row, write_artifact

FIRST = "20261101T000000Z-aaaaaaaa-11111111"
SECOND = "20261102T000000Z-bbbbbbbb-22222222"


def rows(word: str, count: int = 3) -> list[Row]:
    """Some messages that hold *word*."""
    return [Row(key=f"{n:03}", text=f"{word} number{n}", minute=n, vector=(1, n, 0)) for n in range(count)]


def texts(artifact: Artifact, query: str) -> list[str]:
    """What a lexical search over everything finds."""
    request = SearchRequest(text=query, mode=Mode.LEXICAL)
    page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
    return [hit.document.text for hit in page.hits]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_artifact(tmp_path, rows("alpha"), build_id=FIRST, publish=True)
    return tmp_path


def test_nothing_serves_before_the_first_valid_artifact(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    outcome = store.refresh()

    assert outcome.info is None
    assert "no current.duckdb" in (outcome.problem or "")
    with pytest.raises(ArtifactMissingError), store.lease():
        pass


def test_refresh_swaps_only_when_another_is_published(folder: Path) -> None:
    store = ArtifactStore(folder)

    assert store.refresh().changed
    assert not store.refresh().changed
    write_artifact(folder, rows("beta"), build_id=SECOND, publish=True)
    assert store.refresh().changed
    assert store.info is not None
    assert store.info.artifact_id == SECOND
    store.close()


def test_a_lease_keeps_the_old_artifact_open_until_it_ends(folder: Path) -> None:
    """B27: a running search finishes on the artifact it began with; then that one is closed."""
    store = ArtifactStore(folder)
    store.refresh()
    with store.lease() as old:
        write_artifact(folder, rows("beta"), build_id=SECOND, publish=True)
        store.refresh()
        assert texts(old, "alpha")
        with store.lease() as new:
            assert texts(new, "beta")
            assert not texts(new, "alpha")
    with pytest.raises(ArtifactClosedError):
        texts(old, "alpha")
    store.close()


def test_an_artifact_renamed_over_the_same_name_is_seen(tmp_path: Path) -> None:
    """B27: DuckDB would answer from the instance that has the old file; a second name avoids that."""
    for build_id, word in ((FIRST, "alpha"), (SECOND, "beta")):
        path = write_artifact(tmp_path / build_id, rows(word), build_id=build_id)
        manifest = json.loads(manifest_path(path).read_text()) | {"artifact_file": "current.duckdb"}
        path.rename(tmp_path / build_id / "current.duckdb")
        (tmp_path / build_id / "current.manifest.json").write_text(json.dumps(manifest))
    served = tmp_path / "served"
    served.mkdir()
    for name in ("current.manifest.json", "current.duckdb"):
        (tmp_path / FIRST / name).rename(served / name)
    store = ArtifactStore(served)
    store.refresh()
    with store.lease() as old:
        for name in ("current.manifest.json", "current.duckdb"):
            (tmp_path / SECOND / name).replace(served / name)
        assert store.refresh().problem is None
        with store.lease() as new:
            assert texts(new, "beta")
            assert not texts(new, "alpha")
        assert texts(old, "alpha")
    assert sorted(path.name for path in served.iterdir()) == ["current.duckdb", "current.manifest.json"]
    store.close()


def test_a_file_overwritten_in_place_gives_no_rows(folder: Path, tmp_path: Path) -> None:
    """B27: a copy over the open file is noticed; nothing read from the mixture is returned."""
    other = write_artifact(tmp_path / "other", rows("beta", 500), build_id=SECOND)
    store = ArtifactStore(folder)
    store.refresh()
    with store.lease() as artifact:
        artifact.path.chmod(0o644)
        shutil.copyfile(other, artifact.path)
        with pytest.raises(ArtifactReplacedError, match="overwritten"):
            texts(artifact, "alpha")
    outcome = store.refresh()

    assert outcome.problem is not None
    assert "checksum" in outcome.problem
    store.close()


def damage(path: Path, kind: str) -> None:
    """Make a newcomer invalid in one way."""
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "corrupt":
        data = bytearray(path.read_bytes())
        middle = slice(len(data) // 2, len(data) // 2 + 4096)
        data[middle] = bytes(byte ^ 0xFF for byte in data[middle])
        path.write_bytes(bytes(data))
    elif kind == "no duckdb":
        path.write_text("hello")
    elif kind == "no manifest":
        manifest_path(path).unlink()
    elif kind == "broken manifest":
        manifest_path(path).write_text("{")


@pytest.mark.parametrize("kind", ["empty", "corrupt", "no duckdb", "no manifest", "broken manifest"])
def test_a_damaged_newcomer_leaves_the_old_one_serving(folder: Path, kind: str) -> None:
    store = ArtifactStore(folder)
    store.refresh()
    damage(write_artifact(folder, rows("beta"), build_id=SECOND, publish=True), kind)
    outcomes = [store.refresh() for _ in range(3)]

    assert {outcome.problem for outcome in outcomes} == {outcomes[0].problem}
    assert outcomes[0].problem
    assert not any(outcome.changed for outcome in outcomes)
    with store.lease() as artifact:
        assert texts(artifact, "alpha")
    store.close()


def rewrite(path: Path, statement: str) -> None:
    """Change a row of an artifact and give its manifest the new checksum."""
    connection = duckdb.connect(str(path))
    connection.execute(statement)
    connection.execute("CHECKPOINT")
    connection.close()


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE artifact_metadata SET schema_version = 3", "schema_version"),
        ("UPDATE artifact_metadata SET document_count = 9", "document_count"),
        ("UPDATE artifact_metadata SET vector_count = 9", "vector_count"),
        ("UPDATE artifact_metadata SET generation_id = 'other'", "generation"),
        ("INSERT INTO artifact_metadata SELECT 'x', * EXCLUDE build_id FROM artifact_metadata", "metadata"),
        ("DELETE FROM artifact_metadata", "metadata"),
        ("UPDATE artifact_metadata SET fts_config_json = '[]'", "fts_config"),
        ("UPDATE document_vectors SET embedding = [2, 0, 0]::FLOAT[3]", "vector_norm"),
        ("UPDATE document_vectors SET embedding = ['nan'::FLOAT, 0, 0]::FLOAT[3]", "vector_norm"),
        ("UPDATE document_vectors SET document_id = document_id || 'x'", "vector_orphans"),
        ("DELETE FROM fts_main_search_documents.docs WHERE docid = 0", "fts_coverage"),
        ("DROP TABLE fts_main_search_documents.terms", "fts_tables"),
        ("DROP TABLE document_vectors", "tables"),
        ("ALTER TABLE document_vectors RENAME TO v; CREATE VIEW document_vectors AS SELECT * FROM v", "tables"),
    ],
)
def test_each_check_of_validation_can_fail(tmp_path: Path, statement: str, check: str) -> None:
    path = write_artifact(tmp_path, rows("alpha"))
    rewrite(path, statement)

    with pytest.raises(ArtifactInvalidError) as caught:
        validate_file(path, manifest=None)
    assert caught.value.check == check


def test_a_vector_that_is_missing_must_be_a_known_one(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, [*rows("alpha"), Row(key="bare", text="alpha bare", minute=9)])
    manifest = read_manifest(path)

    assert manifest.missing_vector_count == 1
    assert validate_file(path, manifest=manifest).vector_count == 3
    with pytest.raises(ArtifactInvalidError) as caught:
        validate_file(path, manifest=manifest.model_copy(update={"missing_vector_count": 0}))
    assert caught.value.check == "vector_coverage"


@pytest.mark.parametrize("field", ["artifact_id", "generation_id", "source_watermark", "document_count"])
def test_a_manifest_that_says_otherwise_is_refused(tmp_path: Path, field: str) -> None:
    path = write_artifact(tmp_path, rows("alpha"))
    manifest = read_manifest(path)
    changed = manifest.model_copy(update={field: 7 if field.endswith("count") else "other"})

    with pytest.raises(ArtifactInvalidError) as caught:
        validate_file(path, manifest=changed)
    assert caught.value.check == f"manifest_{field}"


def test_publish_copies_validates_and_points(tmp_path: Path) -> None:
    source = write_artifact(tmp_path / "made", rows("alpha"), build_id=FIRST)
    folder = tmp_path / "served"
    info = publish(folder, source)

    assert info.artifact_id == FIRST
    assert (folder / "current.duckdb").readlink() == Path(source.name)
    assert [entry.current for entry in list_artifacts(folder)] == [True]
    assert [path.name for path in folder.glob(".*")] == [".publisher.lock"]


def test_publish_of_a_damaged_artifact_leaves_the_current_one(folder: Path) -> None:
    newcomer = write_artifact(folder, rows("beta"), build_id=SECOND)
    damage(newcomer, "corrupt")

    with pytest.raises(ArtifactInvalidError):
        publish(folder, newcomer)
    assert (folder / "current.duckdb").resolve().name == f"search-{FIRST}.duckdb"


def test_rollback_goes_to_the_one_before_or_to_the_named_one(folder: Path) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - only this test needs it

    newer = write_artifact(folder, rows("beta"), build_id=SECOND, built_at=datetime(2026, 11, 2, tzinfo=UTC))
    publish(folder, newer)

    assert rollback(folder).artifact_id == FIRST
    assert rollback(folder, SECOND).artifact_id == SECOND
    with pytest.raises(ArtifactMissingError, match="no artifact nowhere"):
        rollback(folder, "nowhere")


def test_rollback_passes_over_damaged_artifacts_and_says_when_none_is_left(folder: Path) -> None:
    with pytest.raises(ArtifactMissingError, match="before the current"):
        rollback(folder)


def test_swaps_under_searching_threads_mix_nothing(folder: Path) -> None:
    """Each answer comes whole from one artifact while others are published."""
    store = ArtifactStore(folder)
    store.refresh()
    stop = threading.Event()
    wrong: list[object] = []

    def search() -> None:
        while not stop.is_set():
            with store.lease() as artifact:
                word = "alpha" if artifact.info.artifact_id == FIRST else "beta"
                found = texts(artifact, word)
                if len(found) != 3 or not all(word in text for text in found):
                    wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    second = write_artifact(folder, rows("beta"), build_id=SECOND)
    for turn in range(6):
        publish(folder, second if turn % 2 == 0 else folder / f"search-{FIRST}.duckdb")
        store.refresh()
    stop.set()
    for thread in threads:
        thread.join()

    assert wrong == []
    store.close()
