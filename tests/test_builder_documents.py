"""Messages as rows of the artifact."""

import json
from pathlib import Path

import pytest

from retrieval.analyzer import tokenize
from tests.artifact_rows import build, rows, texts
from tests.export_factory import ExportFactory

TS = "1700000000.000100"


@pytest.fixture
def export() -> ExportFactory:
    export = ExportFactory()
    export.user("U1", name="ana", display_name="Ana", real_name="Ana Silva")
    export.user("W2", name="bo", real_name="Bo Berg")
    export.user("U3", name="", deleted=True)
    export.channel("C1", "general")
    return export


def _one(
    tmp_path: Path, export: ExportFactory, columns: str, where: str = "document_kind = 'message'"
) -> tuple[object, ...]:
    artifact = build(tmp_path / "out", export.write_folder(tmp_path / "export")).artifact
    found = rows(artifact, f"SELECT {columns} FROM search_documents WHERE {where}")
    assert len(found) == 1
    return found[0]


def test_a_message_can_be_cited(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "deploy <https://ci.example/7|build 7> failed", user="W2")

    found = _one(
        tmp_path,
        export,
        "document_id, workspace_id, workspace_slug, channel_id, channel_name, author_id, author_name, ts_us, "
        "epoch_us(timestamp), thread_id, text_display, text_embedding, permalink",
    )
    assert found == (
        f"T1:C1:{TS}",
        "T1",
        "example",
        "C1",
        "general",
        "W2",
        "Bo Berg",
        1_700_000_000_000_100,
        1_700_000_000_000_100,
        None,
        "deploy build 7 (https://ci.example/7) failed",
        "deploy build 7 (https://ci.example/7) failed",
        "https://example.slack.com/archives/C1/p1700000000000100",
    )


def test_lexical_text_is_what_the_analyzer_makes_of_every_document(tmp_path: Path, export: ExportFactory) -> None:
    export.thread(
        "C1", TS, ["foo.bar_baz fails with E4392 `x`", "我家在上海 :tada:", "see https://x.io/a-b\n```y = 1```"]
    )
    artifact = build(tmp_path / "out", export.write_folder(tmp_path / "export")).artifact

    found = rows(artifact, "SELECT text_display, text_lexical FROM search_documents")
    assert len(found) == 4
    assert all(" ".join(tokenize(str(text))) == lexical for text, lexical in found)


def test_metadata_holds_only_what_applies(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "plain")
    assert json.loads(str(_one(tmp_path, export, "metadata_json")[0])) == {}


def test_metadata_of_a_rich_message(tmp_path: Path, export: ExportFactory) -> None:
    export.message(
        "C1",
        TS,
        "`make` at <https://a.example> and <https://b.example>",
        edited={"ts": "1700000009.000000", "user": "U1"},
        reactions=[{"name": "tada", "users": ["U1", "W2"], "count": 2}],
        files=[{"id": "F1", "name": "a.txt", "mimetype": "text/plain", "size": 3, "mode": "hosted"}],
        thread_ts=TS,
        reply_count=4,
    )

    assert json.loads(str(_one(tmp_path, export, "metadata_json")[0])) == {
        "edited_ts_us": 1_700_000_009_000_000,
        "reactions": [{"name": "tada", "count": 2}],
        "files": [{"id": "F1", "name": "a.txt", "mimetype": "text/plain", "size": 3}],
        "links": 2,
        "has_code": True,
        "reply_count": 4,
    }


def test_a_bot_post_without_text_gives_its_attachments_and_name(tmp_path: Path, export: ExportFactory) -> None:
    export.message(
        "C1",
        TS,
        "",
        user=None,
        subtype="bot_message",
        bot_id="B1",
        username="CI",
        attachments=[{"title": "Build 7", "text": "failed &amp; stopped"}],
    )

    author, name, text, metadata = _one(tmp_path, export, "author_id, author_name, text_display, metadata_json")
    assert (author, name, text) == ("B1", "CI", "Build 7\nfailed & stopped")
    assert json.loads(str(metadata)) == {"subtype": "bot_message", "bot": True, "app": "CI"}


def test_text_shorter_than_its_blocks_gives_way_to_them(tmp_path: Path, export: ExportFactory) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "Deploy 7 finished, three hosts are still down"}}
    export.message("C1", TS, "Deploy 7 finished", blocks=[section])

    assert _one(tmp_path, export, "text_display") == ("Deploy 7 finished, three hosts are still down",)


def test_blocks_that_say_the_same_are_not_repeated(tmp_path: Path, export: ExportFactory) -> None:
    elements = [{"type": "text", "text": "see "}, {"type": "link", "url": "https://a.example/?a=1&amp;b=2"}]
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
    export.message("C1", TS, "_see_ <https://a.example/?a=1&amp;b=2>", blocks=[block])

    assert _one(tmp_path, export, "text_display") == ("_see_ https://a.example/?a=1&b=2",)


def test_a_preview_of_a_link_is_not_the_authors_text(tmp_path: Path, export: ExportFactory) -> None:
    preview = {"from_url": "https://a.example", "title": "A page", "text": "its summary"}
    export.message("C1", TS, "look <https://a.example>", attachments=[preview])

    assert _one(tmp_path, export, "text_display") == ("look https://a.example",)


def test_a_message_with_only_a_file_is_found_by_the_files_title(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "", files=[{"id": "F1", "name": "q3.pdf", "title": "Report Q3"}, {"id": "F2"}])

    assert _one(tmp_path, export, "text_display") == ("Report Q3",)


def test_the_old_single_file_key_counts(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "uploaded", subtype="file_share", file={"id": "F1", "name": "old.txt"})
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    assert result.report.oddities == {"deleted_users": 1, "single_file_keys": 1, "users_without_names": 1}
    (metadata,) = rows(result.artifact, "SELECT metadata_json FROM search_documents")[0]
    assert json.loads(str(metadata))["files"][0]["name"] == "old.txt"


def test_what_is_not_indexed_is_counted_by_kind(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "kept")
    export.message("C1", "1700000001.000100", "<@U1> has joined the channel", subtype="channel_join")
    export.message("C1", "1700000002.000100", "renamed", subtype="channel_name")
    export.message("C1", "1700000003.000100", "This message was deleted.", subtype="tombstone", hidden=True)
    export.message("C1", "1700000004.000100", "  ")
    export.message("C1", "1700000005.000100", "", files=[{"id": "F9", "mode": "hidden_by_limit"}])
    export.message("C1", "1700000006.000100", "new topic", subtype="channel_topic")
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    assert sorted(texts(result.artifact).values()) == ["kept", "new topic"]
    assert result.report.oddities == {
        "deleted_messages": 1,
        "deleted_users": 1,
        "empty_messages": 2,
        "file_stubs": 1,
        "membership_messages": 1,
        "service_messages": 1,
        "users_without_names": 1,
    }


def test_unknown_and_nameless_authors_have_no_name(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "from nobody", user=None)
    export.message("C1", "1700000001.000100", "from a ghost", user="U404")
    export.message("C1", "1700000002.000100", "from the nameless", user="U3")
    artifact = build(tmp_path / "out", export.write_folder(tmp_path / "export")).artifact

    assert rows(artifact, "SELECT author_id, author_name FROM search_documents ORDER BY ts_us") == [
        (None, None),
        ("U404", None),
        ("U3", None),
    ]


def test_a_thread_carries_its_flags_root_and_windows(tmp_path: Path, export: ExportFactory) -> None:
    stamps = export.thread("C1", TS, ["how to renew it?", "ask ops", "done"])
    export.message(
        "C1",
        "1700000300.000100",
        "it works again",
        thread_ts=TS,
        subtype="thread_broadcast",
        root={"ts": TS, "text": "how to renew it?"},
    )
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    thread = f"T1:C1:{TS}"
    sql = (
        "SELECT ts_us // 1000000 - 1700000000, thread_id, thread_root_id, is_thread_parent, is_thread_reply, "
        "is_thread_broadcast FROM search_documents WHERE document_kind = 'message' ORDER BY ts_us"
    )
    assert rows(result.artifact, sql) == [
        (0, thread, thread, True, False, False),
        (60, thread, thread, False, True, False),
        (120, thread, thread, False, True, False),
        (300, thread, thread, False, True, True),
    ]
    window = f"thread:{thread}:0"
    sql = (
        "SELECT document_id, author_id, ts_us, thread_id, text_display FROM search_documents "
        "WHERE document_kind = 'thread_context'"
    )
    text = "how to renew it?\nask ops\ndone\nit works again"
    assert rows(result.artifact, sql) == [(window, None, 1_700_000_000_000_100, thread, text)]
    assert rows(result.artifact, "SELECT * FROM document_messages ORDER BY position") == [
        (window, position, f"T1:C1:{ts}", "C1") for position, ts in enumerate([*stamps, "1700000300.000100"])
    ]
    assert result.report.oddities["broadcasts_kept_once"] == 1


def test_replies_without_their_root_stay_a_thread(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", "1700000060.000100", "first reply", thread_ts=TS)
    export.message("C1", "1700000120.000100", "second reply", thread_ts=TS)
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    assert result.report.oddities["missing_parents"] == 1
    assert rows(result.artifact, "SELECT DISTINCT thread_root_id FROM search_documents") == [(f"T1:C1:{TS}",)]
    assert rows(result.artifact, "SELECT count(*) FROM document_messages") == [(2,)]


def test_an_unlisted_folder_becomes_a_private_channel_without_links(tmp_path: Path, export: ExportFactory) -> None:
    export.message("old-stuff", TS, "from before")
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    assert rows(result.artifact, "SELECT document_id, channel_name, permalink FROM search_documents") == [
        (f"T1:dir:old-stuff:{TS}", "old-stuff", None)
    ]
    sql = "SELECT name, is_private FROM channels WHERE channel_id = 'dir:old-stuff'"
    assert rows(result.artifact, sql) == [("old-stuff", True)]
    assert result.report.oddities["unlisted_channels"] == 1


def test_nothing_that_looks_like_a_token_is_in_the_file_or_its_manifest(tmp_path: Path, export: ExportFactory) -> None:
    export.user("U9", name="xoxb-test-name", display_name="xoxp-test-display")
    export.channel("C9", "xoxa-test-channel")
    export.thread(
        "C9", TS, ["my token is XOXB-TEST-1, keep it", "x\u00f6xb-test-2 and ｘｏｘｂ-test-3", "xox<!b>-"], user="U9"
    )
    export.message("C9", "1700000900.000100", "", attachments=[{"title_link": "https://a.example/?q=xoxe-test"}])
    files = [{"id": "F1", "name": "xoxs-test.txt", "url_private": "https://files.slack.com/a?t=xoxe-test"}]
    export.message("C9", "1700000901.000100", "", files=files, username="xoxr-test", bot_id="B1")
    result = build(tmp_path / "out", export.write_folder(tmp_path / "export"))

    for path in (tmp_path / "out").iterdir():
        content = path.read_bytes().lower()
        assert not any(b"xox%c-" % letter in content for letter in range(97, 123)), path.name
    # The file's blocks are compressed, so its bytes alone prove little.
    for (table,) in rows(result.artifact, "SELECT schema_name || '.' || table_name FROM duckdb_tables()"):
        found = rows(
            result.artifact, f"SELECT count(*) FROM {table} t WHERE regexp_matches(t::VARCHAR, '(?i)xox[a-z]-')"
        )
        assert found == [(0,)], table
    assert "xox" not in json.dumps(result.report.as_json()).lower()


def test_text_that_a_database_cannot_hold_is_mended(tmp_path: Path, export: ExportFactory) -> None:
    export.raw_file("general/2023-11-14.json", '[{"ts": "1.000000", "text": "half \\ud83d and \\u0000 nul"}]')

    assert _one(tmp_path, export, "text_display") == ("half ? and  nul",)


def test_the_same_content_gives_the_same_versions_and_watermark(tmp_path: Path, export: ExportFactory) -> None:
    export.message("C1", TS, "hello")
    first = build(tmp_path / "a", export.write_folder(tmp_path / "one"))
    second = build(tmp_path / "b", export.write_zip(tmp_path / "two.zip"))
    export.message("C1", "1700000001.000100", "more")
    third = build(tmp_path / "c", export.write_zip(tmp_path / "three.zip"))

    marks = [
        rows(result.artifact, "SELECT source_watermark FROM artifact_metadata")[0] for result in (first, second, third)
    ]
    assert marks[0] == marks[1] != marks[2]
    sql = "SELECT source_version FROM search_documents WHERE ts_us = 1700000000000100"
    assert rows(first.artifact, sql) == rows(third.artifact, sql)
