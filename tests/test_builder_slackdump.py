"""slackdump's database."""

import sqlite3
from pathlib import Path

import pytest

from retrieval.builder.opening import open_source
from retrieval.builder.report import Ledger
from retrieval.errors import SourceError
from tests.artifact_rows import build, rows, texts
from tests.export_factory import ExportFactory


def _archive() -> ExportFactory:
    archive = ExportFactory(team_id="T7")
    archive.user("U1", name="ana", display_name="Ana")
    archive.user("U2", name="bo")
    archive.channel("C1", "general", members=["U1", "U2"])
    archive.channel("D1", kind="dm", members=["U2"])
    archive.thread("C1", "1700000000.000100", ["question", "answer"])
    return archive


def test_a_folder_and_its_database_read_alike(tmp_path: Path) -> None:
    database = _archive().write_slackdump(tmp_path / "dump" / "slackdump.sqlite")
    first = build(tmp_path / "a", database)
    second = build(tmp_path / "b", database.parent)

    expected = {"1700000000.000100": "question", "1700000060.000100": "answer"}
    assert texts(first.artifact) == texts(second.artifact) == expected


def test_workspace_channels_members_and_people_come_along(tmp_path: Path) -> None:
    database = _archive().write_slackdump(tmp_path / "slackdump.sqlite", url="https://seven.slack.com/")
    artifact = build(tmp_path / "out", database, workspace_id=None, url=None).artifact

    assert rows(artifact, "SELECT DISTINCT workspace_id, workspace_name, workspace_slug FROM search_documents") == [
        ("T7", "Example", "seven")
    ]
    assert rows(artifact, "SELECT channel_id, user_id FROM channel_members ORDER BY ALL") == [
        ("C1", "U1"),
        ("C1", "U2"),
        ("D1", "U1"),
        ("D1", "U2"),
    ]
    (link,) = rows(artifact, "SELECT permalink FROM search_documents WHERE is_thread_reply")[0]
    assert str(link).startswith("https://seven.slack.com/archives/C1/p1700000060000100?thread_ts=")


def test_the_row_of_the_newest_chunk_counts(tmp_path: Path) -> None:
    newer = {"C1": [{"type": "message", "ts": "1700000000.000100", "text": "better question", "user": "U1"}]}
    database = _archive().write_slackdump(tmp_path / "slackdump.sqlite", newer=newer)

    assert texts(build(tmp_path / "out", database).artifact)["1700000000.000100"] == "better question"


def test_a_broadcast_in_both_chunks_is_kept_once(tmp_path: Path) -> None:
    archive = _archive()
    archive.message("C1", "1700000120.000100", "for all", thread_ts="1700000000.000100", subtype="thread_broadcast")
    result = build(tmp_path / "out", archive.write_slackdump(tmp_path / "slackdump.sqlite"))

    assert result.report.oddities["broadcasts_kept_once"] == 1
    assert "duplicate_messages" not in result.report.oddities
    assert len(texts(result.artifact)) == 3


def test_memberships_of_an_earlier_session_are_forgotten(tmp_path: Path) -> None:
    path = _archive().write_slackdump(tmp_path / "slackdump.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO CHUNK (ID, UNIX_TS, SESSION_ID, TYPE_ID) VALUES (99, 0, 2, 7)")
        connection.execute("INSERT INTO CHANNEL_USER VALUES ('C1', 'U2', 99, NULL, 0)")
    connection.close()

    members = {row.id: row.members for row in open_source(path, Ledger()).channels()}
    assert members["C1"] == ["U2"]


def test_uploads_beside_the_database_become_passages(tmp_path: Path) -> None:
    archive = _archive()
    archive.message("C1", "1700000200.000100", "notes", files=[{"id": "F0AAAAAA1", "name": "notes.md", "size": 5}])
    database = archive.write_slackdump(tmp_path / "dump" / "slackdump.sqlite")
    upload = tmp_path / "dump" / "__uploads" / "F0AAAAAA1" / "notes.md"
    upload.parent.mkdir(parents=True)
    upload.write_text("how to rotate the certificate")

    result = build(tmp_path / "out", database)
    assert rows(
        result.artifact, "SELECT document_id, text_display FROM search_documents WHERE document_kind = 'file_chunk'"
    ) == [("file:T1:F0AAAAAA1:000000", "how to rotate the certificate")]


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER)")
    connection.close()

    with pytest.raises(SourceError, match="not a slackdump archive: it has no table"):
        open_source(path, Ledger())


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "slackdump.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)

    with pytest.raises(SourceError, match=r"slackdump\.sqlite"):
        open_source(path, Ledger())
