"""Arrays stored in the artifact: what is read back equals what its tables give, or the tables are read."""

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest

from retrieval import Artifact, Filters, Visibility, schema
from retrieval.errors import ArtifactReplacedError
from retrieval.resident import memory
from retrieval.resident.image import Image, pack
from retrieval.resident.reader import ResidentReader
from retrieval.resident.resident import Resident
from retrieval.resident.storage import Digest, StoredColumn
from tests.artifact_factory import Row, write_artifact
from tests.test_resident import make_rows


def sorted_rows(seed: int, *, mapped: bool = True) -> list[Row]:
    """A random archive in the order in which builders write it."""
    return sorted(make_rows(seed, mapped=mapped), key=lambda row: row.document_id)


def loaded(path: Path) -> tuple[Resident, str]:
    """What is held of the artifact at *path*, and how that is explained."""
    with Artifact(path) as artifact:
        residency = artifact.load()
    assert residency.resident is not None, residency.detail
    return residency.resident, residency.detail


def same(one: Resident, other: Resident) -> bool:
    """Whether both hold the same, vectors included."""
    parts, others = pack(one), pack(other)
    vectors = [
        np.empty((0, 0)) if each.vectors is None else each.vectors.rows.take(np.arange(len(each.vectors)))
        for each in (one, other)
    ]
    return (
        parts.keys() == others.keys()
        and all(np.array_equal(parts[name], others[name]) for name in parts)
        and all(parts[name].dtype == others[name].dtype for name in parts)
        and np.array_equal(*vectors)
    )


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading tables fails, so that what was read came from stored arrays."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("The tables were read.")

    monkeypatch.setattr(memory, "_read", refuse)
    monkeypatch.setattr(memory, "read_vectors", refuse)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("no_tables")
def test_stored_arrays_are_what_the_tables_give(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in sorted_rows(seed) if row.vector is not None or row.kind != "message"]
    rows.append(Row(key="zz", text="one more", vector=(1, 0, 0, 0, 0, 0, 0, 0)))
    path = write_artifact(tmp_path, sorted(rows, key=lambda row: row.document_id), image=True)
    stored, detail = loaded(path)
    monkeypatch.undo()

    assert detail.endswith("of memory.")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"DROP TABLE {schema.RESIDENT_PARTS}")
    assert same(stored, loaded(path)[0])


def test_an_artifact_without_stored_arrays_is_read_from_its_tables(tmp_path: Path) -> None:
    old = write_artifact(tmp_path / "old", sorted_rows(1))
    new = write_artifact(tmp_path / "new", sorted_rows(1), image=True)

    assert same(loaded(old)[0], loaded(new)[0])


@pytest.mark.parametrize("part", ["postings.impacts", "columns.ids.content", "vectors.codes"])
def test_bytes_that_are_not_what_was_stored_are_not_used(tmp_path: Path, part: str) -> None:
    path = write_artifact(tmp_path, sorted_rows(2), image=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"UPDATE {schema.RESIDENT_PARTS} SET digest = digest + 1 WHERE part = ?", [part])
    resident, detail = loaded(path)

    assert detail.endswith(f"It was read from its tables: The stored array {part} is not what was stored.")
    assert same(resident, loaded(write_artifact(tmp_path / "old", sorted_rows(2)))[0])


def test_arrays_of_another_program_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their impacts would be of other parameters."""
    path = write_artifact(tmp_path, sorted_rows(3), image=True)
    monkeypatch.setattr(schema, "BM25_K", 1.2)

    assert same(loaded(path)[0], loaded(write_artifact(tmp_path / "old", sorted_rows(3)))[0])


@pytest.mark.parametrize(
    "change",
    ["length = 1000000000000", "length = -1", "kind = 'O'", "kind = '<M8[s]'", "kind = 'a(('", "first_word = -1"],
)
@pytest.mark.parametrize("part", ["format", "postings.rows"])
def test_a_place_outside_of_what_is_stored_takes_no_memory(tmp_path: Path, part: str, change: str) -> None:
    """Found by benchmarks.fuzz, artifact-tables:3:20: a length of a terabyte was asked for."""
    path = write_artifact(tmp_path, sorted_rows(2), image=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"UPDATE {schema.RESIDENT_PARTS} SET {change} WHERE part = ?", [part])
    resident, detail = loaded(path)

    assert detail.endswith(f"It was read from its tables: {part} is not among the stored words.")
    assert resident is not None


def test_arrays_that_lack_one_are_not_used(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, sorted_rows(4), image=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"DELETE FROM {schema.RESIDENT_PARTS} WHERE part = 'postings.rows'")

    assert loaded(path)[1].endswith("It was read from its tables: The stored arrays lack postings.rows.")


def test_a_file_that_has_no_name_any_more_is_read_by_duckdb(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, sorted_rows(5), image=True)
    expected = loaded(path)[0]
    with Artifact(path) as artifact:
        path.unlink()
        resident = artifact.load().resident

    assert resident is not None
    assert same(resident, expected)


def test_another_file_of_the_same_name_is_not_read(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, sorted_rows(6), image=True)
    expected = loaded(path)[0]
    with Artifact(path) as artifact:
        path.rename(tmp_path / "aside")
        path.write_bytes(bytes(1 << 20))
        resident = artifact.load().resident

    assert resident is not None
    assert same(resident, expected)


def test_a_file_that_was_overwritten_is_not_loaded(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, sorted_rows(7), image=True)
    path.chmod(0o644)
    with Artifact(path) as artifact:
        with path.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b"more")

        with pytest.raises(ArtifactReplacedError):
            artifact.load()


def test_what_it_takes_is_known_before_it_is_read(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, sorted_rows(8), image=True)
    with Artifact(path) as artifact:
        assert "0 MiB are allowed" in artifact.load(budget_mb=0).detail


@pytest.mark.parametrize("size", [0, 1, 7, 8, 65_535, 65_536, 65_537, 3_000_001])
def test_a_digest_does_not_depend_on_the_steps_it_is_made_in(size: int) -> None:
    content = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    in_steps = Digest(memoryview(content.tobytes()))
    for filled in range(0, size, 100_003):
        in_steps.advance(filled)

    assert in_steps.value() == Digest(memoryview(content.tobytes())).value()


def test_a_digest_tells_bytes_in_another_order() -> None:
    content = np.random.default_rng(1).integers(0, 256, 200_000, dtype=np.uint8)
    swapped = np.concatenate((content[65_536:131_072], content[:65_536], content[131_072:]))

    assert Digest(memoryview(content.tobytes())).value() != Digest(memoryview(swapped.tobytes())).value()


def test_a_column_is_read_from_the_file_and_by_duckdb_where_it_is_not_plain(tmp_path: Path) -> None:
    """A row group of equal values is stored as one, whatever compression is asked for."""
    path = tmp_path / "column.duckdb"
    values = np.concatenate((np.arange(200_000), np.full(300_000, 7), np.arange(50_000))).astype(np.uint64)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute(schema.RESIDENT_WORDS_DDL)
        connection.register("found", {"word": values})
        connection.execute(f"INSERT INTO {schema.RESIDENT_WORDS} SELECT word FROM found")
    file = os.open(path, os.O_RDONLY)
    with duckdb.connect(str(path), read_only=True) as connection:
        column = StoredColumn(connection, schema.RESIDENT_WORDS, "word", kind="UBIGINT", width=8)
        for first, count in ((0, 550_000), (32_000, 2_000), (199_990, 300_020), (549_999, 1)):
            found = np.zeros(count, dtype=np.uint64)
            digest = column.read(file, first, found.data.cast("B"))
            assert np.array_equal(found, values[first : first + count])
            assert digest == Digest(values[first : first + count].data.cast("B")).value()
        assert column.places() is None
        with pytest.raises(EOFError, match="550000 values only"):
            column.read(file, 549_999, np.zeros(2, dtype=np.uint64).data.cast("B"))
    os.close(file)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("facts", "length = length - 1"),
        ("texts.0.planes", "length = length - 1"),
        ("texts.0.planes", "length = 0"),
        ("vectors.codes", "kind = '|i1'"),
        ("vectors.errors", "length = length - 1"),
        ("columns.ts_us", "kind = '>i8'"),
        ("columns.kinds", "length = length - 1"),
        ("columns.kinds", "part = 'columns.in_thread', kind = '|b1'"),
    ],
)
def test_what_the_bytes_mean_is_part_of_the_digest(tmp_path: Path, part: str, change: str) -> None:
    """The bytes are the same: times in another order of bytes, or a text less, would be believed."""
    path = write_artifact(tmp_path, sorted_rows(2), image=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"DELETE FROM {schema.RESIDENT_PARTS} WHERE ? LIKE '%in_thread%' AND part LIKE '%in_thread'", [change]
        )
        connection.execute(f"UPDATE {schema.RESIDENT_PARTS} SET {change} WHERE part = ?", [part])
    resident, detail = loaded(path)

    assert "It was read from its tables: The stored array" in detail
    assert same(resident, loaded(write_artifact(tmp_path / "old", sorted_rows(2)))[0])


def test_arrays_that_contradict_each_other_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole by their digests, but made by a builder that went wrong."""
    path = write_artifact(tmp_path, sorted_rows(2), image=True)

    def contradict(*_: object, **__: object) -> None:
        raise IndexError("index 7 is out of bounds")

    monkeypatch.setattr(Image, "strings", contradict)
    _, detail = loaded(path)

    assert detail.endswith("read from its tables: The stored arrays contradict each other: index 7 is out of bounds")


def test_vectors_of_thread_windows_alone_are_no_vectors_of_messages(tmp_path: Path) -> None:
    rows = [
        Row(key="a", text="one", thread="a", parent=True),
        Row(key="w", kind="thread_context", text="one two", thread="a", covers=("T1:C1:a",), vector=(1.0, 0.0)),
    ]
    with Artifact(write_artifact(tmp_path, rows)) as artifact:
        resident = artifact.load().resident
        assert resident is not None
        with artifact.cursor() as cursor:
            reader = ResidentReader(artifact, resident, cursor, filters=Filters(), visibility=Visibility.everything())
            vector = np.array([1.0, 0.0], dtype=np.float32)

            assert reader.semantic(vector, limit=5).candidates == ()
            assert reader.semantic_scores(vector, ["T1:C1:a"]) == {}
