"""What real exports hold beside messages."""

from pathlib import Path

import pytest

from retrieval.builder.export_reader import ExportSource
from retrieval.builder.members import FolderMembers
from retrieval.builder.opening import open_source
from retrieval.builder.report import Ledger
from retrieval.builder.rows import MessageRow
from retrieval.errors import SourceError
from tests.export_factory import ExportFactory


def _read(path: Path, ledger: Ledger) -> list[MessageRow]:
    source = open_source(path, ledger)
    return [row for conversation in source.conversations() for row in source.messages(conversation)]


def _export() -> ExportFactory:
    export = ExportFactory()
    export.user("U1", name="ana")
    export.channel("C1", "general")
    export.message("C1", "1700000000.000100", "hello")
    return export


def test_a_zip_a_folder_and_a_wrapped_folder_read_alike(tmp_path: Path) -> None:
    export = _export()
    wrapped = tmp_path / "outer"
    export.write_folder(wrapped / "export of 2026")
    paths = [export.write_zip(tmp_path / "a.zip"), export.write_folder(tmp_path / "plain"), wrapped]

    assert [[row.text for row in _read(path, Ledger())] for path in paths] == [["hello"]] * 3


def test_sources_are_told_apart_by_content_not_name(tmp_path: Path) -> None:
    path = _export().write_zip(tmp_path / "export.sqlite")

    assert len(_read(path, Ledger())) == 1


def test_canvas_objects_are_counted_and_skipped(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/canvas.json", '{"id": "F1", "title": "notes"}')
    export.raw_file("general/canvas_in_the_conversation.json", '[{"id": "F2", "filetype": "quip"}]')
    ledger = Ledger()

    assert len(_read(export.write_folder(tmp_path), ledger)) == 1
    assert ledger.oddities == {"canvas_objects": 2}


def test_unreadable_json_names_file_and_byte_and_the_rest_is_read(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/2026-01-01.json", '[{"ts": "1.0", "text": "ä"}, oops]')
    export.raw_file("general/2026-01-02.json", b'[{"ts": "2.0", "text": "\xff"}]')
    export.raw_file("general/2026-01-03.json", "[" * 200_000)
    ledger = Ledger()

    assert len(_read(export.write_folder(tmp_path / "e"), ledger)) == 1
    assert [(file.file, file.byte) for file in ledger.unreadable[:2]] == [
        ("e/general/2026-01-01.json", 30),
        ("e/general/2026-01-02.json", 24),
    ]
    assert len(ledger.unreadable) == 3


def test_the_byte_counts_a_byte_order_mark(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/2026-01-01.json", b"\xef\xbb\xbf[oops]")
    ledger = Ledger()
    _read(export.write_folder(tmp_path), ledger)

    assert ledger.unreadable[0].byte == 4


def test_slashes_escaped_as_slack_did_once_and_a_day_that_is_none_do_no_harm(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/2026-13-45.json", '[{"ts": "1.0", "text": "<https:\\/\\/a.example\\/x>"}]')
    path = export.write_folder(tmp_path)

    assert [row.text for row in _read(path, Ledger())] == ["hello", "<https://a.example/x>"]
    assert open_source(path, Ledger()).newest_day() == 1_700_000_000 // 86_400


def test_invalid_rows_name_file_and_index(tmp_path: Path) -> None:
    export = _export()
    rows = '["text", {"text": "no ts"}, {"ts": "soon"}, {"ts": "3.0", "text": {"a": 1}}, {"ts": "4.0", "text": "ok"}]'
    export.raw_file("general/2026-01-01.json", rows)
    ledger = Ledger()

    assert [row.text for row in _read(export.write_folder(tmp_path / "e"), ledger)] == ["hello", "ok"]
    assert [(problem.file, problem.index) for problem in ledger.problems] == [
        ("e/general/2026-01-01.json", index) for index in range(4)
    ]


def test_full_exports_list_private_channels_and_direct_messages(tmp_path: Path) -> None:
    export = _export()
    export.channel("G1", "board", kind="private", members=["U1"])
    export.channel("D1", kind="dm", members=["U1", "U2"])
    export.channel("G2", "mpdm-ana--bo--cy-1", kind="mpim", members=["U1", "U2", "U3"])
    export.message("G1", "1700000000.000200", "quiet")
    export.message("D1", "1700000000.000300", "psst")
    source = open_source(export.write_folder(tmp_path), Ledger())

    flags = {row.id: (row.is_private, row.is_im, row.is_mpim) for row in source.channels()}
    assert flags == {
        "C1": (False, False, False),
        "G1": (True, False, False),
        "D1": (True, True, False),
        "G2": (True, False, True),
    }
    assert {c.channel_id for c in source.conversations()} == {"C1", "G1", "D1"}


def test_lists_of_nothing_are_counted(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("lists.json", '[""]')
    export.raw_file("file_conversations.json", "[]")
    ledger = Ledger()
    open_source(export.write_folder(tmp_path), ledger)

    assert ledger.oddities["empty_lists"] == 2


def test_tokens_are_removed_while_reading_and_counted(tmp_path: Path) -> None:
    export = _export()
    url = "https://files.slack.com/files-pri/T1-F1/a.png?t=xoxe-test-1"
    export.message("C1", "1700000001.000100", "", files=[{"id": "F1", "name": "a.png", "url_private": url}])
    ledger = Ledger()
    _read(export.write_folder(tmp_path), ledger)

    assert ledger.oddities["tokens_removed"] == 1


def test_null_and_empty_values_where_lists_belong_do_no_harm(tmp_path: Path) -> None:
    export = _export()
    export.message("C1", "1700000001.000100", "odd", files=[""], reactions=None, blocks=[None], edited="", user=None)
    rows = _read(export.write_folder(tmp_path), Ledger())

    assert [row.text for row in rows] == ["hello", "odd"]
    assert rows[1].files == []


def test_a_number_that_is_none_costs_a_detail_and_not_the_message(tmp_path: Path) -> None:
    export = _export()
    files = [{"id": "F1", "name": "a.txt", "size": "huge"}, {"mode": "tombstone"}]
    export.message(
        "C1", "1700000001.000100", "odd", files=files, reply_count="2", reactions=[{"name": "x", "count": 1.5}]
    )
    row = _read(export.write_folder(tmp_path), Ledger())[1]

    assert ([file.size for file in row.files], row.reply_count, row.reactions[0].count) == ([None, None], 2, None)


def test_uploads_in_an_export_of_slackdump_are_found(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/attachments/F0AAAAAA1-notes.md", "text")
    export.raw_file("__uploads/F0AAAAAA2/data.json", "{}")
    source = open_source(export.write_folder(tmp_path), Ledger())

    assert {(a.file_id, a.name) for a in source.attachments()} == {
        ("F0AAAAAA1", "F0AAAAAA1-notes.md"),
        ("F0AAAAAA2", "data.json"),
    }
    assert [c.name for c in source.conversations()] == ["general"]


def test_a_ts_written_as_a_number_keeps_its_digits(tmp_path: Path) -> None:
    export = _export()
    export.raw_file("general/2026-01-01.json", '[{"ts": 1700000000.000123, "text": "number"}]')

    assert _read(export.write_folder(tmp_path), Ledger())[1].ts_us == 1_700_000_000_000_123


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello")

    with pytest.raises(SourceError, match="does not look like a Slack export"):
        ExportSource(FolderMembers(tmp_path), Ledger())


@pytest.mark.parametrize("content", [b"", b"hello", b"PK"])
def test_a_file_that_is_nothing_known_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(content)

    with pytest.raises(SourceError, match=r"export\.zip"):
        open_source(path, Ledger())


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone does not exist"):
        open_source(tmp_path / "gone", Ledger())
