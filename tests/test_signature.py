"""Signed manifests: where a key is set, only what it signed is published, fetched or served."""

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import httpx
import pytest

from bot.settings import EngineSettings, SettingsError, load_settings
from retrieval import ArtifactInvalidError, ArtifactStore, publish, rollback
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.checksum import file_sha256
from retrieval.manifest import ManifestKey, manifest_path, read_manifest
from retrieval.remote import RemoteArtifacts, RemoteOptions
from tests.artifact_factory import Row, write_artifact
from tests.export_factory import ExportFactory

SECRET = "correct horse battery"
KEY, OTHER = ManifestKey(SECRET.encode()), ManifestKey(b"another key altogether")
ROWS = [Row(key="a", text="lunch", vector=(1, 0, 0))]


def signed(
    folder: Path, key: ManifestKey | None = KEY, *, build_id: str = "20261101T000000Z-aaaaaaaa-bbbbbbbb"
) -> Path:
    """Write an artifact whose manifest *key* signed."""
    path = write_artifact(folder, ROWS, publish=True, build_id=build_id)
    if key is not None:
        rewrite(path, key.sign(read_manifest(path)).model_dump_json())
    return path


def rewrite(path: Path, manifest: str) -> None:
    """Put another manifest beside an artifact."""
    manifest_path(path).write_text(manifest)


def problem_of(folder: Path, key: ManifestKey | None) -> str | None:
    """Return why a store with *key* does not serve what *folder* names."""
    store = ArtifactStore(folder, key=key)
    try:
        return store.refresh().problem
    finally:
        store.close()


def test_what_the_own_key_signed_is_served(tmp_path: Path) -> None:
    signed(tmp_path)

    assert problem_of(tmp_path, KEY) is None


@pytest.mark.parametrize(("by", "said"), [(None, "is not signed"), (OTHER, "signed with another key")])
def test_what_another_key_or_nobody_signed_is_not_served(tmp_path: Path, by: ManifestKey | None, said: str) -> None:
    signed(tmp_path, by)

    assert said in (problem_of(tmp_path, KEY) or "")


def test_without_a_key_signatures_do_not_matter(tmp_path: Path) -> None:
    signed(tmp_path, OTHER)

    assert problem_of(tmp_path, None) is None


@pytest.mark.parametrize(
    "field",
    ["artifact_id", "generation_id", "source_watermark", "built_at", "code_version", "checksum_sha256", "fts_config"],
)
def test_every_field_is_signed(tmp_path: Path, field: str) -> None:
    path = signed(tmp_path)
    manifest = json.loads(manifest_path(path).read_text())
    manifest[field] = {"ignore": "x"} if field == "fts_config" else "0" * 64
    rewrite(path, json.dumps(manifest))

    assert "was altered" in (problem_of(tmp_path, KEY) or "")


def test_a_consistent_forgery_is_refused_and_the_served_artifact_stays(tmp_path: Path) -> None:
    """Whoever can write both files makes checksum and counts fit; without the key not the signature."""
    genuine = signed(tmp_path)
    store = ArtifactStore(tmp_path, key=KEY)
    try:
        assert store.refresh().problem is None
        forged = write_artifact(tmp_path, ROWS, build_id="20261102T000000Z-aaaaaaaa-cccccccc", publish=True)
        with duckdb.connect(str(forged)) as connection:
            connection.execute("UPDATE search_documents SET text_display = 'send your password to evil.example'")
        stated = json.loads(manifest_path(genuine).read_text()) | {
            "artifact_id": "20261102T000000Z-aaaaaaaa-cccccccc",
            "artifact_file": forged.name,
            "checksum_sha256": file_sha256(forged),
        }
        rewrite(forged, json.dumps(stated))
        outcome = store.refresh()
    finally:
        store.close()

    assert outcome.problem is not None
    assert "was altered" in outcome.problem
    assert outcome.info is not None
    assert outcome.info.artifact_id == "20261101T000000Z-aaaaaaaa-bbbbbbbb"


@pytest.mark.parametrize("signature", ["é", "\\ud800", "0" * 10_000, " "])
def test_any_text_as_a_signature_is_refused_in_words(tmp_path: Path, signature: str) -> None:
    path = signed(tmp_path)
    manifest = json.loads(manifest_path(path).read_text()) | {"signature_hmac_sha256": "SIGNATURE"}
    rewrite(path, json.dumps(manifest).replace("SIGNATURE", signature))

    assert problem_of(tmp_path, KEY) is not None


def test_publish_and_rollback_take_only_what_the_key_signed(tmp_path: Path) -> None:
    signed(tmp_path / "a", OTHER)
    path = tmp_path / "a" / "search-20261101T000000Z-aaaaaaaa-bbbbbbbb.duckdb"

    with pytest.raises(ArtifactInvalidError) as refused:
        publish(tmp_path / "b", path, key=KEY)
    assert refused.value.check == "signature"
    assert not (tmp_path / "b" / "current.duckdb").exists()
    with pytest.raises(ArtifactInvalidError) as kept:
        rollback(tmp_path / "a", "20261101T000000Z-aaaaaaaa-bbbbbbbb", key=KEY)
    assert kept.value.check == "signature"


def test_a_server_that_offers_what_the_key_did_not_sign_is_not_downloaded_from(tmp_path: Path) -> None:
    path = signed(tmp_path / "server", OTHER)
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, content=manifest_path(path).read_bytes())

    options = RemoteOptions(transport=httpx.MockTransport(answer), key=KEY)
    problem = RemoteArtifacts("http://files.test/current.manifest.json", tmp_path / "here", options=options).pull()

    assert "signed with another key" in (problem or "")
    assert asked == ["/current.manifest.json"]


def test_a_build_signs_what_it_made(tmp_path: Path) -> None:
    export = ExportFactory()
    export.user("U1", name="ana")
    export.channel("C1", "general", members=["U1"])
    export.message("C1", "1700000000.000100", "hello", user="U1")
    identity = WorkspaceIdentity(workspace_id="T1", name="Example", url="https://example.slack.com/")
    made = build_artifact(
        [export.write_folder(tmp_path / "export")],
        tmp_path / "archive",
        workspace=identity,
        embedder=None,
        key=KEY,
        clock=lambda: datetime.now(UTC),
    )
    publish(tmp_path / "archive", made.artifact, key=KEY)

    assert problem_of(tmp_path / "archive", KEY) is None


def test_the_setting_is_a_secret_and_not_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKQUERY_ARTIFACT_KEY", SECRET)
    settings = load_settings(EngineSettings, env_file=None)
    assert settings.manifest_key is not None
    assert SECRET not in repr(settings)
    assert SECRET not in repr(settings.manifest_key)

    monkeypatch.setenv("SLACKQUERY_ARTIFACT_KEY", "short")
    with pytest.raises(SettingsError, match="SLACKQUERY_ARTIFACT_KEY cannot be used: it must have 16 characters"):
        load_settings(EngineSettings, env_file=None)
