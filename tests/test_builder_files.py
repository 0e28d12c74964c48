"""Files that messages share, as passages."""

import io
import itertools
import re
from pathlib import Path

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.builder.file_text import MAX_FILE_BYTES, FileTextError, file_text, is_text_file
from retrieval.builder.passages import OVERLAP_TOKENS, PASSAGE_TOKENS, passages
from tests.artifact_rows import build, rows
from tests.export_factory import ExportFactory
from tests.toy_embedder import ToyEmbedder

PDF_OBJECTS = (
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    b"<</Length 51>>stream\nBT /F1 12 Tf 20 200 Td (rotate the certificate) Tj ET \nendstream",
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
)


def _pdf() -> bytes:
    """Return a PDF with one line of text and a right table of places."""
    content = b"%PDF-1.4\n"
    places = []
    for number, value in enumerate(PDF_OBJECTS, start=1):
        places.append(len(content))
        content += b"%d 0 obj%s endobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Root 1 0 R/Size 6>>\nstartxref\n%d\n%%%%EOF\n" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def _docx() -> bytes:
    document = docx.Document()
    document.add_paragraph("call the night desk")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "who", "when"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _export() -> ExportFactory:
    export = ExportFactory()
    export.user("U1", name="ana")
    export.channel("C1", "general")
    export.channel("G1", "board", kind="private", members=["U1"])
    return export


def _share(export: ExportFactory, channel: str, ts: str, file_id: str, name: str, *, size: int | None = None) -> None:
    export.message(channel, ts, "here it is", files=[{"id": file_id, "name": name, "size": size}])


def _chunks(artifact: Path) -> list[tuple[object, ...]]:
    return rows(
        artifact,
        "SELECT document_id, channel_id, text_display FROM search_documents WHERE document_kind = 'file_chunk' "
        "ORDER BY document_id",
    )


@pytest.mark.parametrize(
    "place", ["F0AAAAAA1/runbook.md", "F0AAAAAA1-runbook.md", "x/F0AAAAAA1_other.md", "runbook.md"]
)
def test_a_file_is_matched_by_id_or_by_its_only_name(tmp_path: Path, place: str) -> None:
    export = _export()
    _share(export, "C1", "1700000000.000100", "F0AAAAAA1", "runbook.md")
    path = tmp_path / "files" / place
    path.parent.mkdir(parents=True)
    path.write_text("restart the queue")
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"), files=tmp_path / "files")

    assert _chunks(result.artifact) == [("file:T1:F0AAAAAA1:000000", "C1", "restart the queue")]


def test_a_namesake_of_a_private_file_is_not_guessed(tmp_path: Path) -> None:
    export = _export()
    _share(export, "C1", "1700000000.000100", "F0AAAAAA1", "notes.md")
    _share(export, "G1", "1700000001.000100", "F0AAAAAA2", "notes.md")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "notes.md").write_text("we sell in May")
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"), files=tmp_path / "files")

    assert _chunks(result.artifact) == []
    assert result.report.oddities["unmatched_files"] == 1


def test_namesakes_are_told_apart_by_their_size(tmp_path: Path) -> None:
    export = _export()
    _share(export, "C1", "1700000000.000100", "F0AAAAAA1", "notes.md", size=6)
    _share(export, "G1", "1700000001.000100", "F0AAAAAA2", "notes.md", size=14)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "notes.md").write_text("we sell in May")
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"), files=tmp_path / "files")

    assert _chunks(result.artifact) == [("file:T1:F0AAAAAA2:000000", "G1", "we sell in May")]


def test_passages_are_mapped_to_every_message_that_shares_the_file(tmp_path: Path) -> None:
    export = _export()
    _share(export, "G1", "1700000500.000100", "F0AAAAAA1", "log.txt")
    _share(export, "C1", "1700000000.000100", "F0AAAAAA1", "log.txt")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "log.txt").write_text("line " * 600)
    result = build(
        tmp_path / "out", export.write_zip(tmp_path / "a.zip"), files=tmp_path / "files", embedder=ToyEmbedder()
    )

    assert (
        rows(
            result.artifact,
            "SELECT position, message_id, channel_id FROM document_messages ORDER BY document_id, position",
        )
        == [(0, "T1:C1:1700000000.000100", "C1"), (1, "T1:G1:1700000500.000100", "G1")] * 2
    )
    assert result.report.documents == {"file_chunk": 2, "message": 2}
    assert result.report.vectors == 4


def test_broken_large_and_unshared_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.builder.files.MAX_FILE_BYTES", 100)
    export = _export()
    _share(export, "C1", "1700000000.000100", "F0AAAAAA1", "bad.pdf")
    _share(export, "C1", "1700000001.000100", "F0AAAAAA2", "large.txt")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "bad.pdf").write_bytes(b"no pdf at all")
    (tmp_path / "files" / "large.txt").write_bytes(b"a" * 200)
    (tmp_path / "files" / "alone.txt").write_text("nobody shares it")
    (tmp_path / "files" / "photo.png").write_bytes(b"\x89PNG")
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"), files=tmp_path / "files")

    counts = result.report.oddities
    assert (counts["broken_files"], counts["oversized_files"], counts["unmatched_files"]) == (1, 1, 1)
    assert [file.file for file in result.unreadable] == ["files/bad.pdf"]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.md", "# Größe".encode(), "# Größe"),
        ("a.TXT", "caf\xe9".encode("latin-1"), "café"),
        ("a.csv", b"\xef\xbb\xbfa,b", "a,b"),
        ("a.pdf", _pdf(), "rotate the certificate"),
        ("a.docx", _docx(), "call the night desk\nwho | when"),
    ],
)
def test_text_is_read_from_every_kind(name: str, content: bytes, text: str) -> None:
    assert is_text_file(name)
    assert file_text(name, content).strip() == text


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.pdf", b"%PDF-1.4 broken"), ("a.docx", b"PK\x03\x04"), ("a.docx", b"old"), ("a.txt", b"\0\1\2")],
)
def test_what_is_not_what_its_name_says_is_a_typed_error(name: str, content: bytes) -> None:
    with pytest.raises(FileTextError):
        file_text(name, content)


def test_a_word_file_that_would_blow_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.builder.file_text.MAX_DOCX_BYTES", 1000)

    with pytest.raises(FileTextError, match="too much"):
        file_text("a.docx", _docx())


def test_pictures_are_not_text_and_the_limit_is_25_megabytes() -> None:
    assert not is_text_file("photo.png")
    assert not is_text_file("README")
    assert MAX_FILE_BYTES == 25 * 1024 * 1024


def test_passages_overlap_by_fifty_tokens() -> None:
    words = [f"w{number}" for number in range(1200)]
    found = [passage.split() for passage in passages(" ".join(words))]

    assert [len(passage) for passage in found] == [PASSAGE_TOKENS, PASSAGE_TOKENS, 1200 - 2 * 462]
    for earlier, later in itertools.pairwise(found):
        assert earlier[-OVERLAP_TOKENS:] == later[:OVERLAP_TOKENS]


def test_each_chinese_character_is_a_token() -> None:
    assert len(passages("我" * 1000)) == 3


@pytest.mark.parametrize("text", ["", "  \n "])
def test_no_text_gives_no_passage(text: str) -> None:
    assert passages(text) == []


@given(st.lists(st.sampled_from(["alpha", "我", ".", "x_1", "\n", "b-c"]), max_size=2000))
def test_passages_without_their_overlaps_are_the_whole_text(parts: list[str]) -> None:
    token = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]")
    text = " ".join(parts)
    found = [token.findall(passage) for passage in passages(text)]
    rebuilt = [word for number, words in enumerate(found) for word in words[OVERLAP_TOKENS if number else 0 :]]

    assert rebuilt == token.findall(text)
