"""Reading from memory: every list of `ResidentReader` equals that of `DuckDBReader`, whatever the archive."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from retrieval import (
    Artifact,
    DocumentKind,
    Filters,
    Fusion,
    Mode,
    ResultPage,
    SearchRequest,
    Sort,
    Visibility,
    schema,
    search_slack,
)
from retrieval.analyzer import tokenize
from retrieval.duckdb_reader import DuckDBReader
from retrieval.errors import ArtifactInvalidError
from retrieval.models import RankedList
from retrieval.reader import Reader
from retrieval.readers import open_reader
from retrieval.resident import NOT_LOADED, SHORT_OF_MEMORY, texts
from retrieval.resident.reader import ResidentReader
from retrieval.resident.selection import leading
from retrieval.store import ArtifactStore
from retrieval.validation import validate_artifact
from tests.artifact_factory import START_US, Row, ToyEmbedder, unit, write_artifact

WORDS = tuple(
    "deploy rollback Deploy checkout E4392 proj-17 foo.bar_baz v1.2.3 café naïve 上海 我家在上海 ünïcode the a is "
    "running runs 10.0.0.1 https://x.io/a-b `code` don't NullReference 🎉".split()
)
CHANNELS = (("T1", "C1"), ("T1", "C2"), ("T1", "C3"), ("T2", "C1"), ("T2", "C9"))
AUTHORS = ("U1", "U2", "U3", None)
DIMENSIONS = 8


def make_rows(seed: int, *, mapped: bool) -> list[Row]:
    """A random archive: duplicates, near ties, threads, windows, shared files, people without a name."""
    chance = random.Random(seed)  # noqa: S311 - test data
    messages: list[Row] = []
    for number in range(chance.randint(1, 90)):
        workspace, channel = chance.choice(CHANNELS)
        again = chance.choice(messages) if messages and chance.random() < 0.3 else None
        thread = f"t{chance.randint(0, 5)}" if chance.random() < 0.5 else None
        messages.append(
            Row(
                key=f"{chance.choice('abAZé')}{number:03}",
                text=again.text if again else _words(chance),
                vector=_vector(chance, again),
                workspace=workspace,
                channel=channel,
                author=chance.choice(AUTHORS),
                minute=chance.randint(0, 20),
                thread=thread,
                parent=thread is not None and chance.random() < 0.3,
                metadata={"files": [{"id": "F1"}]} if chance.random() < 0.2 else {},
            )
        )
    return [*messages, *_windows(chance, messages, mapped=mapped), *_chunks(chance, messages, mapped=mapped)]


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.choice((0, 1, 2, 3, 8, 40))))


def _vector(chance: random.Random, again: Row | None) -> tuple[float, ...] | None:
    if chance.random() < 0.1:
        return None
    if again is not None and again.vector is not None:
        nudge = chance.choice((0.0, 0.0, 1e-7))
        return tuple(value + nudge * chance.random() for value in again.vector)
    return tuple(chance.gauss(0, 1) for _ in range(DIMENSIONS))


def _windows(chance: random.Random, messages: Sequence[Row], *, mapped: bool) -> list[Row]:
    windows = []
    for number in range(chance.randint(0, 12)):
        first = chance.choice(messages)
        covered = chance.sample(messages, k=min(len(messages), chance.randint(0, 4)))
        windows.append(
            Row(
                key=f"w{number:02}",
                kind="thread_context",
                text=" ".join(one.text for one in covered) or _words(chance),
                workspace=first.workspace,
                channel=first.channel,
                thread=first.thread if chance.random() < 0.8 else "lost",
                root=chance.choice((None, first.document_id, "gone:away:1")),
                covers=tuple(one.document_id for one in covered) if mapped else (),
            )
        )
    return windows


def _chunks(chance: random.Random, messages: Sequence[Row], *, mapped: bool) -> list[Row]:
    chunks = []
    for number in range(chance.choice((0, 0, 6))):
        sharing = chance.sample(messages, k=min(len(messages), chance.randint(0, 3)))
        workspace, channel = chance.choice(CHANNELS)
        chunks.append(
            Row(
                key=f"f{number}",
                kind="file_chunk",
                text=_words(chance),
                vector=_vector(chance, None),
                workspace=workspace,
                channel=channel,
                author=chance.choice(AUTHORS),
                minute=chance.randint(0, 20),
                covers=tuple(one.document_id for one in sharing) if mapped else (),
            )
        )
    return chunks


class Archives:
    """Artifacts by seed, each written once and held in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[tuple[int, str], Artifact] = {}

    def get(self, seed: int, make: str) -> Artifact:
        """Return the artifact of a seed, made in one of `MAKES`."""
        if (seed, make) not in self._open:
            own = make in {"own", "unsorted", "stored"}
            rows = make_rows(seed, mapped=own)
            if make == "stored" and seed % 2:
                # As builders write vectors; in any other order they are asked of DuckDB.
                rows.sort(key=lambda row: row.document_id)
            path = write_artifact(
                self._folder / f"{seed}-{make}",
                rows,
                contract=not own,
                stemmer="porter" if make == "stemmed" else "none",
                postings=make in {"own", "stored"},
                image=make == "stored",
            )
            artifact = Artifact(path)
            residency = artifact.load()
            assert residency.resident is not None, residency.detail
            self._open[seed, make] = artifact
        return self._open[seed, make]

    def close(self) -> None:
        """Close them all."""
        for artifact in self._open.values():
            artifact.close()


MAKES = ("own", "stored", "unsorted", "contract", "stemmed")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archives]:
    opened = Archives(tmp_path_factory.mktemp("archives"))
    yield opened
    opened.close()


def some(values: Sequence[str], size: int = 2) -> st.SearchStrategy[tuple[str, ...]]:
    """A few of some values, often none."""
    return st.one_of(st.just(()), st.lists(st.sampled_from(values), max_size=size, unique=True).map(tuple))


channel_ids = ("C1", "C2", "C3", "C9", "C404")
author_ids = ("U1", "U2", "U3", "U404")
document_ids = tuple(
    f"{workspace}:{channel}:{letter}{number:03}"
    for workspace, channel in CHANNELS
    for letter in "aZ"
    for number in range(0, 40, 3)
)
minutes = st.one_of(st.none(), st.integers(0, 20))
kinds = st.sampled_from(
    (
        (DocumentKind.MESSAGE, DocumentKind.FILE_CHUNK),
        (DocumentKind.MESSAGE,),
        (DocumentKind.FILE_CHUNK,),
    )
)


@st.composite
def filters(draw: st.DrawFn) -> Filters:
    """Any filters that can be applied."""
    start, end = draw(minutes), draw(minutes)
    if start is not None and end is not None:
        start, end = sorted((start, end))
    return Filters(
        workspace_ids=draw(some(("T1", "T2", "T404"))),
        channel_ids=draw(some(channel_ids)),
        author_ids=draw(some(author_ids)),
        excluded_channel_ids=draw(some(channel_ids)),
        excluded_author_ids=draw(some(author_ids)),
        start_ts_us=None if start is None else START_US + start * 60_000_000,
        end_ts_us=None if end is None else START_US + end * 60_000_000,
        kinds=draw(kinds),
        has=draw(some(("link", "file", "code"), 1)),
        is_thread=draw(st.booleans()) and draw(st.booleans()),
        phrases=draw(some(("deploy", "E4392 the", "cafe"), 1)),
        excluded_phrases=draw(some(("rollback", "the a"), 1)),
        excluded_words=draw(some(("run", "Deploy", "上海"), 1)),
    )


@st.composite
def visibilities(draw: st.DrawFn) -> Visibility:
    """Everything, or some channels, with people and documents left out."""
    if draw(st.booleans()):
        return Visibility(
            allowed=None,
            denied_author_ids=frozenset(draw(some(author_ids, 1))),
            denied_document_ids=frozenset(draw(some(document_ids, 6))),
        )
    return Visibility.of_channels(
        {"T1": draw(some(channel_ids, 4)), "T2": draw(some(channel_ids, 4))},
        denied_author_ids=draw(some(author_ids, 1)),
        denied_document_ids=draw(some(document_ids, 6)),
    )


queries = st.lists(st.sampled_from((*WORDS, "absent")), min_size=1, max_size=8).map(" ".join)
vectors = st.integers(0, 10_000)


def query_vector(seed: int) -> NDArray[np.float32]:
    """A unit vector."""
    chance = random.Random(seed)  # noqa: S311 - test data
    return unit([chance.gauss(0, 1) for _ in range(DIMENSIONS)])


def both(
    artifact: Artifact,
    ask: Callable[[Reader], object],
    *,
    filters: Filters,
    visibility: Visibility,
    words: Sequence[str],
) -> tuple[object, object]:
    """What the two readers answer to the same question, the one in memory first."""
    answers = []
    resident = artifact.residency.resident
    assert resident is not None
    with artifact.cursor() as cursor, artifact.cursor() as other:
        readers: tuple[Reader, Reader] = (
            ResidentReader(artifact, resident, cursor, filters=filters, visibility=visibility),
            DuckDBReader(artifact, other, filters=filters, visibility=visibility),
        )
        for reader in readers:
            terms = reader.read_terms(list(words))
            answers.append((terms, ask(reader)))
    return answers[0], answers[1]


def everything(reader: Reader, *, vector: NDArray[np.float32], wanted: Sequence[str], limit: int) -> object:
    """Every answer a reader gives."""
    lexical, semantic = reader.lexical(limit=limit), reader.semantic(vector, limit=limit)
    context, orphans = reader.context(limit=limit)
    exact = reader.exact(wanted, limit=limit)
    found = [one.document_id for ranked in (lexical, semantic, context, exact) for one in ranked.candidates]
    asked = [*dict.fromkeys(found), "not:there:1", "T1:C1:a000", "T2:C9:w01"]
    return {
        "lexical": lexical,
        "semantic": semantic,
        "context": context,
        "orphans": orphans,
        "exact": exact,
        "coverage": [reader.coverage(one) for one in asked],
        "lexical_scores": dict(reader.lexical_scores(asked)),
        "semantic_scores": dict(reader.semantic_scores(vector, asked)),
        "window_scores": dict(reader.window_scores(asked)),
        "threads": dict(reader.threads(asked)),
        "thread_sizes": dict(reader.thread_sizes([*filter(None, reader.threads(asked).values()), "no:such:thread"])),
        "times": dict(reader.times(asked)),
        "newest": reader.by_time(newest_first=True, limit=limit),
        "oldest": reader.by_time(newest_first=False, limit=limit),
    }


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 11),
    make=st.sampled_from(MAKES),
    query=queries,
    wanted=some(("E4392", "deploy", "上海", "v1.2.3", "CAFÉ"), 2),
    vector=vectors,
    limit=st.sampled_from((1, 3, 10, 100)),
    filters=filters(),
    visibility=visibilities(),
)
def test_every_answer_equals_that_of_duckdb(
    archives: Archives,
    *,
    seed: int,
    make: str,
    query: str,
    wanted: tuple[str, ...],
    vector: int,
    limit: int,
    filters: Filters,
    visibility: Visibility,
) -> None:
    artifact = archives.get(seed, make)
    words = tokenize(query) if artifact.info.analyzer is not None else query.split()

    from_memory, from_duckdb = both(
        artifact,
        lambda reader: everything(reader, vector=query_vector(vector), wanted=wanted, limit=limit),
        filters=filters,
        visibility=visibility,
        words=words,
    )

    assert from_memory == from_duckdb


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 11),
    make=st.sampled_from(MAKES),
    query=queries,
    vector=vectors,
    visibility=visibilities(),
)
def test_every_answer_without_filters_equals_that_of_duckdb(
    archives: Archives, *, seed: int, make: str, query: str, vector: int, visibility: Visibility
) -> None:
    """Filters as random as above leave little; here whole lists are compared."""
    artifact = archives.get(seed, make)
    words = tokenize(query) if artifact.info.analyzer is not None else query.split()

    from_memory, from_duckdb = both(
        artifact,
        lambda reader: everything(reader, vector=query_vector(vector), wanted=("deploy",), limit=60),
        filters=Filters(),
        visibility=visibility,
        words=words,
    )

    assert from_memory == from_duckdb


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 5),
    make=st.sampled_from(MAKES),
    query=queries,
    vector=vectors,
    mode=st.sampled_from(Mode),
    fusion=st.sampled_from(Fusion),
    sort=st.sampled_from(Sort),
    filters=st.one_of(st.just(Filters()), filters()),
    visibility=visibilities(),
)
def test_pages_are_the_same(
    archives: Archives,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int,
    make: str,
    query: str,
    vector: int,
    mode: Mode,
    fusion: Fusion,
    sort: Sort,
    filters: Filters,
    visibility: Visibility,
) -> None:
    """Whole searches, from the request to the page, but for how long they took."""
    artifact = archives.get(seed, make)
    request = SearchRequest(text=query, mode=mode, sort=sort, filters=filters, limit=20)
    embedder = ToyEmbedder({query: query_vector(vector).tolist()})

    def page() -> ResultPage:
        found = search_slack(artifact, request, visibility=visibility, embedder=embedder, fusion=fusion)
        return replace(found, timings_ms={})

    from_memory = page()
    with monkeypatch.context() as patch:
        patch.setattr(artifact, "residency", NOT_LOADED)
        from_duckdb = page()

    assert from_memory == from_duckdb


PIECES = ("a", "A", "k", "K", "s", "S", "_", ".", "-", " ", "\n", "é", "上", "٣", "1", "ß", "²", "e\u0301", "/", "\t")


@pytest.fixture(scope="module")
def scribbles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Artifact]]:
    """Texts of odd characters side by side; one archive with those that fold to ASCII letters, one without."""
    opened = {}
    for name, extra in (("plain", ()), ("odd", texts.ODD_CHARACTERS)):
        chance = random.Random(7)  # noqa: S311 - test data
        rows = [
            Row(key=f"m{number}", text="".join(chance.choices((*PIECES, *extra), k=chance.randint(0, 14))))
            for number in range(400)
        ]
        opened[name] = Artifact(write_artifact(tmp_path_factory.mktemp(name), rows))
        opened[name].load()
    yield opened
    for artifact in opened.values():
        artifact.close()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(("plain", "odd")),
    wanted=st.lists(st.text(st.sampled_from("aAksS_.-1/ é上"), min_size=1, max_size=3), min_size=1, max_size=2),
)
def test_strings_are_found_and_graded_as_by_duckdb(
    scribbles: dict[str, Artifact], name: str, wanted: list[str]
) -> None:
    from_memory, from_duckdb = both(
        scribbles[name],
        lambda reader: reader.exact(wanted, limit=500),
        filters=Filters(),
        visibility=Visibility.everything(),
        words=("a", "k1"),
    )

    assert from_memory == from_duckdb


def test_the_odd_characters_are_all_that_fold_to_ascii_letters() -> None:
    """In this DuckDB; another version may know more."""
    rows = duckdb.execute(
        "SELECT chr(i) FROM (SELECT unnest(list_concat(range(128, 55296), range(57344, 1114112)))::INTEGER AS i) "
        r"WHERE regexp_matches(lower(chr(i)), '[\x00-\x7f]') OR regexp_matches(chr(i), '(?i)[a-z]') ORDER BY i"
    ).fetchall()

    assert "".join(row[0] for row in rows) == texts.ODD_CHARACTERS


def test_an_archive_that_does_not_fit_is_left_to_duckdb(tmp_path: Path) -> None:
    with Artifact(write_artifact(tmp_path, make_rows(1, mapped=True))) as artifact:
        residency = artifact.load(budget_mb=0)

        assert residency.resident is None
        assert "DuckDB answers every search" in residency.detail
        with artifact.cursor() as cursor:
            reader = open_reader(artifact, cursor, filters=Filters(), visibility=Visibility.everything())
            assert isinstance(reader, DuckDBReader)


def test_thread_windows_as_results_are_left_to_duckdb(archives: Archives) -> None:
    artifact = archives.get(1, "own")
    windows = Filters(kinds=(DocumentKind.THREAD_CONTEXT,))
    with artifact.cursor() as cursor:
        chosen = open_reader(artifact, cursor, filters=windows, visibility=Visibility.everything())
        usual = open_reader(artifact, cursor, filters=Filters(), visibility=Visibility.everything())

    assert isinstance(chosen, DuckDBReader)
    assert isinstance(usual, ResidentReader)


@pytest.mark.parametrize("vector", [np.zeros(DIMENSIONS), np.full(DIMENSIONS, 1e20)])
def test_a_vector_without_direction_is_answered_as_by_duckdb(archives: Archives, vector: NDArray[np.float64]) -> None:
    from_memory, from_duckdb = both(
        archives.get(2, "own"),
        lambda reader: [one.document_id for one in reader.semantic(vector.astype(np.float32), limit=5).candidates],
        filters=Filters(),
        visibility=Visibility.everything(),
        words=("deploy",),
    )

    assert from_memory == from_duckdb


def test_vectors_that_are_not_of_length_one_are_left_to_duckdb(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, make_rows(3, mapped=True))
    path.chmod(0o644)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"UPDATE {schema.VECTORS} SET embedding = array_value(2, 0, 0, 0, 0, 0, 0, 0)::FLOAT[8]")
    with Artifact(path) as artifact:
        residency = artifact.load()

    assert residency.resident is None
    assert "not of length 1" in residency.detail


def test_ids_are_in_the_order_of_duckdb(tmp_path: Path) -> None:
    """Ties go by document_id: by bytes, whatever the script."""
    keys = ("T1:C1:Z", "T1:C1:a", "T1:C1:é", "T1:C1:上", "T1:C1:🎉", "T1:C1:\ue000", "T1:C1:-")
    rows = [Row(key=key, text="same words", vector=(1, 0, 0), minute=1) for key in keys]
    with Artifact(write_artifact(tmp_path, rows)) as artifact:
        artifact.load()
        from_memory, from_duckdb = both(
            artifact,
            lambda reader: reader.lexical(limit=10),
            filters=Filters(),
            visibility=Visibility.everything(),
            words=("same",),
        )

    assert from_memory == from_duckdb


def test_the_store_reads_an_artifact_into_memory_before_it_serves(tmp_path: Path) -> None:
    write_artifact(tmp_path, make_rows(4, mapped=True), publish=True)
    store = ArtifactStore(tmp_path, resident_mb=64)
    store.refresh()
    with store.lease() as artifact:
        assert artifact.residency.resident is not None
    store.close()


def test_a_table_of_postings_that_contradicts_the_index_is_refused(tmp_path: Path) -> None:
    path = write_artifact(tmp_path, make_rows(5, mapped=True))
    path.chmod(0o644)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"DELETE FROM {schema.LEXICAL_POSTINGS} WHERE rowid = 0")
    with Artifact(path) as artifact, pytest.raises(ArtifactInvalidError) as caught:
        validate_artifact(artifact, manifest=None)

    assert caught.value.check == "postings"
    with Artifact(path) as artifact:
        assert artifact.load().resident is None


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), limit=st.integers(1, 120), margin=st.sampled_from((0.0, 2e-9, 0.1)))
def test_leading_values_are_those_that_sorting_finds(*, seed: int, limit: int, margin: float) -> None:
    chance = np.random.default_rng(seed)
    values = chance.choice([0.0, 0.0, 1.0, 2.0, 2.0 + 1e-9], size=int(chance.integers(0, 20_000)))
    values = values + chance.random(len(values)) * chance.choice([0.0, 1e-9, 1.0]) * (values > 0)

    found = leading(values, limit, margin=margin, above=0.0)

    positive = np.flatnonzero(values > 0)
    bound = np.sort(values[positive])[-limit] - margin if len(positive) > limit else 0.0
    assert found.tolist() == positive[values[positive] >= bound].tolist()


@pytest.mark.parametrize("order", ["termid DESC, docid", "termid, docid DESC"])
def test_a_table_of_postings_in_another_order_is_refused(tmp_path: Path, order: str) -> None:
    """By term in validation, windows before messages when it is read."""
    rows = [
        Row(key="m1", text="alpha beta", thread="t1", parent=True),
        Row(key="m2", text="alpha", minute=1),
        Row(key="w1", kind="thread_context", text="alpha beta", thread="t1", covers=("m1",)),
    ]
    path = write_artifact(tmp_path, rows)
    path.chmod(0o644)
    with duckdb.connect(str(path)) as connection:
        table = schema.LEXICAL_POSTINGS
        connection.execute(f"CREATE TEMP TABLE other AS SELECT * FROM {table} ORDER BY {order}")
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM other")
    with Artifact(path) as artifact:
        assert "not sorted" in problem(artifact)


def problem(artifact: Artifact) -> str:
    """What validation says, or else why the artifact was not read into memory."""
    try:
        validate_artifact(artifact, manifest=None)
    except ArtifactInvalidError as error:
        return str(error)
    return artifact.load().detail


def test_too_low_a_limit_of_duckdb_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise duckdb.OutOfMemoryException("could not allocate block")

    with Artifact(write_artifact(tmp_path, make_rows(6, mapped=True))) as artifact:
        monkeypatch.setattr("retrieval.artifact.load_resident", refuse)

        assert artifact.load() == SHORT_OF_MEMORY


def test_in_hybrid_the_list_by_meaning_is_made_beside_the_others(
    archives: Archives, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = archives.get(1, "own")
    threads: list[str] = []
    semantic = ResidentReader.semantic

    def noted(reader: ResidentReader, vector: NDArray[np.float32], *, limit: int) -> RankedList:
        threads.append(threading.current_thread().name)
        return semantic(reader, vector, limit=limit)

    monkeypatch.setattr(ResidentReader, "semantic", noted)
    request = SearchRequest(text="deploy", mode=Mode.HYBRID)
    embedder = ToyEmbedder({"deploy": query_vector(1).tolist()})
    search_slack(artifact, request, visibility=Visibility.everything(), embedder=embedder)

    assert [name.startswith("nearest") for name in threads] == [True]


def test_without_a_vector_memory_answers_as_duckdb_does(archives: Archives, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits for the vector meets the same error, which is told once."""
    artifact = archives.get(1, "own")
    request = SearchRequest(text="deploy", mode=Mode.HYBRID)

    def page() -> ResultPage:
        found = search_slack(artifact, request, visibility=Visibility.everything(), embedder=ToyEmbedder({}))
        return replace(found, timings_ms={})

    from_memory = page()
    monkeypatch.setattr(artifact, "residency", NOT_LOADED)

    assert from_memory.degraded
    assert from_memory == page()


def test_postings_of_documents_that_do_not_exist_are_left_to_duckdb(tmp_path: Path) -> None:
    """Found by benchmarks.fuzz, artifact-tables:5:122: an IndexError left `ArtifactStore.refresh`."""
    path = write_artifact(tmp_path, make_rows(3, mapped=True))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE lexical_postings SET docid = 10_000_000")
    with Artifact(path) as artifact:
        assert "Its tables contradict each other: index 10000000 is out of bounds" in problem(artifact)
