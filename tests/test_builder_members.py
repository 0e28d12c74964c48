"""Archives and folders that want to do harm."""

import stat
import struct
import zipfile
from pathlib import Path

import pytest

from retrieval.builder.members import FolderMembers, ZipMembers
from retrieval.errors import SourceError


def _zip(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.json", "a/../../x.json", "a\\..\\..\\x.json", "C:\\x.json"])
def test_a_path_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="outside"):
        ZipMembers(_zip(tmp_path / "a.zip", (name, b"[]")))


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("general/2026-01-01.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16

    with pytest.raises(SourceError, match="link"):
        ZipMembers(_zip(tmp_path / "a.zip", (link, b"/etc/passwd")))


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [("ä".encode(), b"\xc3("), (b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\xff\x00")],
    ids=["a name that is no text", "a format of the future"],
)
def test_a_directory_that_cannot_be_read_is_refused_in_words(tmp_path: Path, whole: bytes, damaged: bytes) -> None:
    """Found by benchmarks.fuzz, export:1:2635: zipfile raises more than its own errors."""
    path = _zip(tmp_path / "a.zip", ("ä.json", b"[]"))
    assert whole in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(whole, damaged))

    with pytest.raises(SourceError, match=r"a\.zip is not a zip archive that can be read"):
        ZipMembers(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = _zip(tmp_path / "bomb.zip", ("general/2026-01-01.json", b"0" * 40_000_000))

    with pytest.raises(SourceError, match="would unpack"):
        ZipMembers(path)


def test_a_total_above_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.builder.members.MAX_TOTAL_BYTES", 10)

    with pytest.raises(SourceError, match="would unpack to"):
        ZipMembers(_zip(tmp_path / "a.zip", ("a.json", b"12345678"), ("b.json", b"12345678")))


def test_a_member_that_lies_about_its_size_is_not_read_beyond_it(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", ("a.json", b"[" + b" " * 5000 + b"]"))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.index(signature) + offset
        content[place : place + 4] = struct.pack("<I", 10)
    path.write_bytes(content)

    with pytest.raises(SourceError, match=r"a\.json"):
        ZipMembers(path).read("a.json")


def test_what_macos_adds_is_left_out(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", ("__MACOSX/x.json", b""), ("general/._2026-01-01.json", b""), ("users.json", b"[]"))

    assert list(ZipMembers(path).names()) == ["users.json"]


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "secret.json").write_text("[]")
    (tmp_path / "export" / "users.json").symlink_to(tmp_path / "secret.json")

    with pytest.raises(SourceError, match=r"users\.json is a link"):
        FolderMembers(tmp_path / "export")


def test_a_damaged_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 not really")

    with pytest.raises(SourceError, match=r"a\.zip"):
        ZipMembers(path)
