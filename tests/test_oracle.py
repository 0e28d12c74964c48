"""Keyword and meaning lists equal `match_bm25` and `array_cosine_similarity`, whichever reader gives them."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval import Artifact, Filters, Visibility, schema
from retrieval.analyzer import tokenize
from retrieval.duckdb_reader import DuckDBReader
from retrieval.errors import ArtifactReadError
from retrieval.filters import document_predicate
from retrieval.models import RankedList
from retrieval.reader import Reader
from retrieval.resident.reader import ResidentReader
from retrieval.verification import check_macros, oracle_lexical, oracle_semantic, verify_lists
from tests.artifact_rows import build
from tests.export_factory import ExportFactory
from tests.toy_embedder import ToyEmbedder

SAMPLE = Path(__file__).parent.parent / "localslack" / "sample" / "export"
MESSAGES = 10_000
DEPTH = 100
EMBEDDER = ToyEmbedder(dimensions=32)

# Filters and visibilities of both archives: what a search leaves out must not change the order of the rest.
CASES = {
    "everything": (Filters(), Visibility.everything()),
    "people": (Filters(excluded_author_ids=("U1",)), Visibility.everything()),
    "period": (Filters(start_ts_us=1_700_000_000_000_000, end_ts_us=1_790_000_000_000_000), Visibility.everything()),
    "threads": (Filters(is_thread=True), Visibility.everything()),
    "text": (Filters(excluded_words=("word3",), has=("link",)), Visibility.everything()),
    "nothing": (Filters(), Visibility.of_channels({})),
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    """10,000 messages of a skewed vocabulary, a tenth of them said before word for word."""
    folder = tmp_path_factory.mktemp("generated")
    chance = random.Random(20261130)  # noqa: S311 - test data
    words = [f"word{number}" for number in range(3_000)] + ["E4392", "proj-17", "foo.bar", "上海", "https://x.io/a"]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    export = ExportFactory()
    people, channels = [f"U{number}" for number in range(20)], [f"C{number}" for number in range(6)]
    for person in people:
        export.user(person, name=person.lower())
    for channel in channels:
        export.channel(channel, f"room-{channel.lower()}", members=people)
    texts: list[str] = []
    for number in range(MESSAGES):
        text = " ".join(chance.choices(words, weights, k=chance.randint(1, 25)))
        texts.append(chance.choice(texts) if texts and chance.random() < 0.1 else text)
        ts = f"{1_700_000_000 + number * 60}.{number % 1_000_000:06}"
        thread = (
            {"thread_ts": f"{1_700_000_000 + number // 10 * 600}.{number // 10 * 10:06}"} if number % 3 == 0 else {}
        )
        export.message(f"C{number // 10 % 6}", ts, texts[-1], user=chance.choice(people), **thread)
    built = build(folder / "out", export.write_folder(folder / "export"), embedder=EMBEDDER)
    with Artifact(built.artifact, full_text=True) as artifact:
        artifact.load()
        yield artifact


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    """The sample archive."""
    built = build(tmp_path_factory.mktemp("sample"), SAMPLE, workspace_id=None, embedder=EMBEDDER)
    with Artifact(built.artifact, full_text=True) as artifact:
        artifact.load()
        yield artifact


@pytest.fixture(params=["generated", "sample"])
def archive(request: pytest.FixtureRequest) -> Artifact:
    """Each of the two."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Artifact)
    return found


def questions(artifact: Artifact, count: int) -> list[str]:
    """Texts of the archive's own messages, and words that few or none hold."""
    with artifact.cursor() as cursor:
        rows = cursor.execute(
            f"SELECT text_display FROM {schema.DOCUMENTS} WHERE document_kind = 'message' AND length(text_lexical) > 5 "
            "ORDER BY hash(document_id), document_id LIMIT ?",
            [count],
        ).fetchall()
    return [*(row[0] for row in rows), "E4392", "上海", "nobodysaidthis", "the word1 word2"]


def ids(ranked: RankedList) -> list[str]:
    """The ids, best first."""
    return [one.document_id for one in ranked.candidates]


def vector(text: str) -> NDArray[np.float32]:
    """The toy model's."""
    return EMBEDDER.embed_query(text)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [DuckDBReader, ResidentReader])
def test_lists_equal_the_definition(archive: Artifact, kind: type, case: str) -> None:
    filters, visibility = CASES[case]
    check_macros(archive)
    shares = schema.DOCUMENT_MESSAGES in archive.info.capabilities and archive.has_file_chunks
    predicate = document_predicate(filters, visibility, shares=shares)
    with archive.cursor() as cursor:
        for text in questions(archive, 6):
            reader = open_as(kind, archive, cursor, filters=filters, visibility=visibility)
            tokens = reader.read_terms(list(dict.fromkeys(tokenize(text)))).tokens

            assert ids(reader.lexical(limit=DEPTH)) == oracle_lexical(cursor, tokens, predicate, limit=DEPTH)
            nearest = ids(reader.semantic(vector(text), limit=DEPTH))
            assert nearest == oracle_semantic(cursor, vector(text), predicate, limit=DEPTH)


def open_as(kind: type, artifact: Artifact, cursor: object, *, filters: Filters, visibility: Visibility) -> Reader:
    """One of the two readers."""
    if kind is DuckDBReader:
        return DuckDBReader(artifact, cursor, filters=filters, visibility=visibility)
    resident = artifact.residency.resident
    assert resident is not None, artifact.residency.detail
    return ResidentReader(artifact, resident, cursor, filters=filters, visibility=visibility)


def test_lists_are_long_enough_to_compare(generated: Artifact) -> None:
    """Guards the tests above: whole lists of a hundred, in which scores repeat."""
    with generated.cursor() as cursor:
        reader = open_as(ResidentReader, generated, cursor, filters=Filters(), visibility=Visibility.everything())
        reader.read_terms(["word1", "word2"])
        scores = [one.score for one in reader.lexical(limit=DEPTH).candidates]

    assert len(scores) == DEPTH
    assert len(set(scores)) < DEPTH


def test_doctor_compares_both_readers(sample: Artifact) -> None:
    outcome = verify_lists(sample, queries=5)

    assert outcome.differences == ()
    assert (outcome.lexical_queries, outcome.semantic_queries) == (5, 5)
    assert "from" in outcome.residency


def test_only_who_asks_gets_the_full_text_extension(tmp_path: Path) -> None:
    built = build(tmp_path / "out", SAMPLE, workspace_id=None, embedder=EMBEDDER)
    predicate = document_predicate(Filters(), Visibility.everything(), shares=False)
    with Artifact(built.artifact) as plain, Artifact(built.artifact, full_text=True) as definition:
        with pytest.raises(ArtifactReadError, match="stem"), plain.cursor() as cursor:
            oracle_lexical(cursor, ["rate", "limit"], predicate, limit=3)
        # One open without it does not take it from the other, though DuckDB keeps one instance a file.
        with definition.cursor() as cursor:
            assert oracle_lexical(cursor, ["rate", "limit"], predicate, limit=3)
        assert not list(built.artifact.parent.glob(".open-*"))
