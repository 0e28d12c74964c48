"""A build from end to end: what stands in the folder afterwards, and what does not."""

import contextlib
import fcntl
import gc
import json
import stat
from pathlib import Path

import pytest

from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.checksum import file_sha256
from retrieval.errors import ArtifactError, SourceError
from retrieval.manifest import read_manifest
from retrieval.validation import validate_file
from tests.artifact_rows import BUILT_AT, build, rows, texts
from tests.export_factory import TEAM_ID, ExportFactory
from tests.toy_embedder import ToyEmbedder


def _export(*, team_id: str | None = TEAM_ID) -> ExportFactory:
    export = ExportFactory(team_id=team_id)
    export.user("U1", name="ana", is_restricted=True)
    export.user("U2", name="robot", is_bot=True, deleted=True)
    export.channel("C1", "general", members=["U1", "U2"])
    export.channel("G1", "board", kind="private", members=["U1"], is_archived=True)
    export.thread("C1", "1700000000.000100", ["the deploy failed", "restart it"])
    export.message("G1", "1700000500.000100", "we sell")
    return export


def test_the_artifact_its_name_its_manifest_and_its_mode(tmp_path: Path) -> None:
    result = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder())

    manifest = read_manifest(result.artifact)
    assert result.artifact.name == f"search-{manifest.artifact_id}.duckdb"
    assert manifest.artifact_id.startswith(f"20260301T120000Z-{manifest.source_watermark[:8]}-")
    assert manifest.checksum_sha256 == file_sha256(result.artifact)
    assert (manifest.document_count, manifest.vector_count, manifest.missing_vector_count) == (4, 3, 0)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (result.artifact, result.manifest)] == [0o444, 0o444]
    info = validate_file(result.artifact, manifest=manifest)
    assert info.capabilities == {
        "channels", "channel_members", "users", "embedding_spec", "document_messages", "lexical_postings",
        "resident_parts",
    }  # fmt: skip
    assert info.indexes_digits


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    result = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder())

    expected = {result.artifact.name, result.manifest.name, ".builder.lock", "embeddings.sqlite"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == expected


def test_what_an_interrupted_build_left_is_cleared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / ".building-dead.tmp").mkdir(parents=True)
    (out / ".building-dead.duckdb").write_text("half")
    build(out, _export().write_zip(tmp_path / "a.zip"))

    assert not list(out.glob(".building-*"))


def test_channels_members_and_people_with_their_flags(tmp_path: Path) -> None:
    artifact = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip")).artifact

    assert rows(artifact, "SELECT channel_id, name, is_private, is_archived FROM channels ORDER BY ALL") == [
        ("C1", "general", False, False),
        ("G1", "board", True, True),
    ]
    assert rows(artifact, "SELECT channel_id, user_id FROM channel_members ORDER BY ALL") == [
        ("C1", "U1"),
        ("C1", "U2"),
        ("G1", "U1"),
    ]
    assert rows(artifact, "SELECT user_id, name, real_name, is_guest, is_bot, deleted FROM users ORDER BY ALL") == [
        ("U1", "ana", None, True, False, False),
        ("U2", "robot", None, False, True, True),
    ]


def test_without_an_embedder_there_are_no_vectors_and_that_is_said(tmp_path: Path) -> None:
    result = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"))

    assert rows(result.artifact, "SELECT generation_id, vector_count FROM artifact_metadata") == [("none", 0)]
    assert rows(result.artifact, "SELECT count(*) FROM embedding_spec") == [(0,)]
    assert read_manifest(result.artifact).missing_vector_count == 3


def test_the_index_finds_codes_with_digits_and_underscores(tmp_path: Path) -> None:
    export = _export()
    export.message("C1", "1700000600.000100", "error E4392 in apply_secrets()")
    artifact = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip")).artifact

    terms = {str(term) for (term,) in rows(artifact, "SELECT term FROM fts_main_search_documents.dict")}
    assert {"e4392", "apply_secrets", "secrets"} <= terms


def test_the_workspace_defaults_to_the_peoples_team(tmp_path: Path) -> None:
    artifact = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"), workspace_id=None).artifact

    assert rows(artifact, "SELECT DISTINCT workspace_id FROM search_documents") == [(TEAM_ID,)]


def test_a_workspace_that_nobody_names_is_an_error(tmp_path: Path) -> None:
    path = _export(team_id=None).write_zip(tmp_path / "a.zip")

    with pytest.raises(SourceError, match="--workspace-id"):
        build(tmp_path / "out", path, workspace_id=None)


def test_sources_of_different_workspaces_are_refused(tmp_path: Path) -> None:
    one = _export().write_zip(tmp_path / "a.zip")
    two = _export(team_id="T2").write_zip(tmp_path / "b.zip")

    with pytest.raises(SourceError, match="different workspaces"):
        build(tmp_path / "out", one, two, workspace_id=None)


@pytest.mark.parametrize(("name", "slug"), [("Ärzte & Co", "ärzte-co"), (None, "t1")])
def test_without_a_url_the_slug_comes_from_the_name_or_id(tmp_path: Path, name: str | None, slug: str) -> None:
    path = _export().write_zip(tmp_path / "a.zip")
    identity = WorkspaceIdentity(workspace_id="T1", name=name)
    result = build_artifact([path], tmp_path / "out", workspace=identity, embedder=None, clock=lambda: BUILT_AT)

    assert rows(result.artifact, "SELECT DISTINCT workspace_slug, permalink FROM search_documents") == [(slug, None)]


def test_a_source_without_any_message_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    export = ExportFactory()
    export.channel("C1", "general")

    with pytest.raises(SourceError, match="no message"):
        build(tmp_path / "out", export.write_folder(tmp_path / "e"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".builder.lock"}


def test_an_empty_source_beside_a_full_one_is_an_error_too(tmp_path: Path) -> None:
    empty = ExportFactory()
    empty.channel("C1", "general")

    with pytest.raises(SourceError, match=r"empty\.zip holds no message"):
        build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"), empty.write_zip(tmp_path / "empty.zip"))


def test_unreadable_files_leave_a_usable_artifact_that_is_not_complete(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/2026-01-01.json", "[{")
    path = export.write_zip(tmp_path / "a.zip")

    strict, lenient = build(tmp_path / "s", path), build(tmp_path / "l", path, lenient=True)
    assert (strict.complete, lenient.complete) == (False, True)
    assert [(file.file, file.byte) for file in strict.unreadable] == [("a.zip/general/2026-01-01.json", 2)]
    assert len(texts(strict.artifact)) == 3


def test_a_second_build_at_the_same_time_is_refused(tmp_path: Path) -> None:
    path = _export().write_zip(tmp_path / "a.zip")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".builder.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(ArtifactError, match="Another build is running"):
            build(tmp_path / "out", path)


def test_a_destination_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")

    with pytest.raises(ArtifactError, match="cannot be written"):
        build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"))


def test_the_report_is_json_and_lines(tmp_path: Path) -> None:
    report = build(tmp_path / "out", _export().write_zip(tmp_path / "a.zip"), embedder=ToyEmbedder()).report

    content = json.loads(json.dumps(report.as_json()))
    assert content["documents"] == {"message": 3, "thread_context": 1}
    assert (content["messages"], content["vectors"], content["embedded"]) == (3, 3, 3)
    assert set(content["seconds"]) == {"open", "read", "files", "embed", "vectors", "index", "validate"}
    assert "deleted users: 1" in report.lines()


def test_an_archive_without_a_single_token_still_builds(tmp_path: Path) -> None:
    export = ExportFactory()
    export.channel("C1", "general")
    export.message("C1", "1700000000.000100", "!!!")
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"))

    assert texts(result.artifact) == {"1700000000.000100": "!!!"}


def test_names_with_half_a_character_or_a_nul_are_kept_without_it(tmp_path: Path) -> None:
    export = _export()
    person = {"id": "U8", "team_id": TEAM_ID, "profile": {"display_name": "half \ud83d, nul \0, whole é"}}
    export.raw_file("users.json", json.dumps([person]).encode())
    export.message("C1", "1700000700.000100", "hello", user="U8")
    artifact = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip")).artifact

    name = "half ?, nul , whole é"
    assert rows(artifact, "SELECT author_name FROM search_documents WHERE author_id = 'U8'") == [(name,)]
    assert rows(artifact, "SELECT display_name FROM users WHERE user_id = 'U8'") == [(name,)]


def test_more_rows_than_are_inserted_at_once_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.builder.writer._ROWS_AT_ONCE", 2)
    export = _export()
    for second in range(5):
        export.message("C1", f"170000080{second}.000100", f"number {second}", user="U1")
    artifact = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip")).artifact

    found = rows(artifact, "SELECT text_display FROM search_documents WHERE text_display LIKE 'number %'")
    assert found == [(f"number {second}",) for second in range(5)]


@pytest.mark.parametrize("content", [b"[]", b'[{"ts": "1700000000.000100", "text": "hello"}]'])
def test_the_search_for_cycles_goes_on_after_a_build_whatever_came_of_it(tmp_path: Path, content: bytes) -> None:
    export = ExportFactory()
    export.channel("C1", "general")
    export.raw_file("general/2023-11-14.json", content)
    with contextlib.suppress(SourceError):
        build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"))

    assert gc.isenabled()


def test_no_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No source"):
        build(tmp_path / "out")
