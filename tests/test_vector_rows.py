"""Vectors that stay in the artifact's file: the same numbers, and an error where the file is not what it was."""

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval import Artifact, Filters, Mode, SearchRequest, Visibility, search_slack
from retrieval.errors import ArtifactReadError, ArtifactReplacedError
from retrieval.resident import memory
from retrieval.resident.quantization import Quantized
from retrieval.resident.reader import ResidentReader
from retrieval.resident.rows import HeldRows, MappedRows
from retrieval.resident.storage import StoredColumn
from retrieval.resident.vectors import Vectors
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

DIMS = 384


def matrix(count: int) -> NDArray[np.float32]:
    """Distinct numbers."""
    return np.random.default_rng(count).standard_normal((count, DIMS)).astype(np.float32)


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, NDArray[np.float32], MappedRows]:
    """A thousand vectors, mapped: they lie in several blocks of the file, and some begin in one and end in the next."""
    path, numbers = tmp_path / "vectors.duckdb", matrix(1000)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute(f"CREATE TABLE v (embedding FLOAT[{DIMS}])")
        connection.register("numbers", {"place": np.arange(numbers.size), "number": numbers.reshape(-1)})
        connection.execute(
            f"INSERT INTO v SELECT list(number ORDER BY place)::FLOAT[{DIMS}] FROM numbers "
            f"GROUP BY place // {DIMS} ORDER BY place // {DIMS}"
        )
    file = os.open(path, os.O_RDONLY)
    with duckdb.connect(str(path), read_only=True) as connection:
        places = StoredColumn(connection, "v", "embedding", kind="FLOAT", width=4).places()
    assert places is not None
    assert len(places.firsts) > 2
    assert any(first % DIMS for first in places.firsts.tolist())
    rows = MappedRows(file, places, dimensions=DIMS)
    os.close(file)
    return path, numbers, rows


@pytest.mark.parametrize("wanted", [range(1000), range(999, -1, -7), [5, 5, 5], [], [0], [999]])
def test_mapped_vectors_are_those_of_the_table(
    stored: tuple[Path, NDArray[np.float32], MappedRows], wanted: list[int]
) -> None:
    _, numbers, rows = stored
    chosen = np.array(wanted, dtype=np.intp)

    assert np.array_equal(rows.take(chosen), numbers[chosen])
    assert np.array_equal(HeldRows(numbers).take(chosen), numbers[chosen])


def test_the_name_of_the_file_may_go(stored: tuple[Path, NDArray[np.float32], MappedRows]) -> None:
    path, numbers, rows = stored
    path.unlink()

    assert np.array_equal(rows.take(np.array([17])), numbers[[17]])


def test_a_file_cut_short_is_an_error_not_a_crash(stored: tuple[Path, NDArray[np.float32], MappedRows]) -> None:
    """Touching what a mapping has lost would end the process."""
    path, _, rows = stored
    os.truncate(path, 4096)

    with pytest.raises(ArtifactReplacedError, match="overwritten while it was open"):
        rows.take(np.array([17]))


def archive(folder: Path, *, image: bool = True) -> Path:
    """Forty messages, each with a vector of its own."""
    rows = [
        Row(key=f"m{number:03}", text=f"note {number}", vector=tuple(vector))
        for number, vector in enumerate(matrix(40).tolist())
    ]
    return write_artifact(folder, rows, image=image)


def test_vectors_stay_in_the_file(tmp_path: Path) -> None:
    with Artifact(archive(tmp_path)) as artifact:
        resident = artifact.load().resident
        assert resident is not None
        assert resident.vectors is not None
        assert isinstance(resident.vectors.rows, MappedRows)
        assert resident.vectors.nbytes == 40 * (DIMS + 8)


def test_other_vectors_than_were_there_are_noticed(tmp_path: Path) -> None:
    """Written over in place: every answer from them would be wrong, so that there is none."""
    path = archive(tmp_path)
    place = path.read_bytes().index(
        np.float32(matrix(40)[7] / np.linalg.norm(matrix(40)[7].astype(float))).tobytes()[:64]
    )
    path.chmod(0o644)
    with Artifact(path) as artifact:
        resident = artifact.load().resident
        assert resident is not None
        with path.open("r+b") as file:
            file.seek(place)
            file.write(np.full(16, np.nan, dtype=np.float32).tobytes())
        with artifact.cursor() as cursor:
            reader = ResidentReader(artifact, resident, cursor, filters=Filters(), visibility=Visibility.everything())
            with pytest.raises(ArtifactReadError, match="other vectors than it did"):
                reader.semantic(matrix(1)[0], limit=40)


def test_vectors_that_duckdb_alone_can_read_are_held(tmp_path: Path) -> None:
    """As where the file has lost its name; then they count against what may be taken."""
    path = archive(tmp_path)
    with Artifact(path) as artifact:
        path.unlink()
        resident = artifact.load().resident
        assert resident is not None
        assert resident.vectors is not None
        assert isinstance(resident.vectors.rows, HeldRows)
        assert resident.vectors.nbytes == 40 * (DIMS * 5 + 8)


def test_too_many_vectors_to_hold_are_left_to_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_BYTES_PER_NUMBER", 1 << 20)
    path = archive(tmp_path)
    with Artifact(path) as artifact:
        path.unlink()
        residency = artifact.load(budget_mb=64)

    assert residency.resident is None
    assert residency.detail.endswith("64 MiB are allowed.")


def test_searches_are_the_same_mapped_and_held(tmp_path: Path) -> None:
    embedder = ToyEmbedder({"note 3": matrix(2)[0].tolist()})
    request = SearchRequest(text="note 3", mode=Mode.SEMANTIC, limit=20)
    pages = []
    for image in (True, False):
        with Artifact(archive(tmp_path / str(image), image=image)) as artifact:
            artifact.load()
            page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=embedder)
            pages.append([(hit.document.document_id, hit.score) for hit in page.hits])

    assert len(pages[0]) == 20
    assert pages[0] == pages[1]


def test_equal_vectors_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all messages say the same, each could be among the nearest; copies of all would need the memory of all."""
    same = np.repeat(matrix(1) / np.linalg.norm(matrix(1)), 5000, axis=0).astype(np.float32)
    rows = HeldRows(same)
    most = 0

    def take(vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        nonlocal most
        most = max(most, len(vectors))
        return same[vectors]

    monkeypatch.setattr(rows, "take", take)
    vectors = Vectors(quantized=Quantized.of(same), rows=rows, documents=None, deviation=1e-6)
    found, scores = vectors.nearest(matrix(2)[1], 100, mask=None)

    assert np.array_equal(found, np.arange(100))
    assert len(set(scores.tolist())) == 1
    assert 0 < most <= 1024
