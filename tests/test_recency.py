"""Nearness in time: by days, at the moment of asking, and as an addend that a reader can follow."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from retrieval import Artifact, Fusion, Mode, ResultPage, SearchRequest, Visibility, search_slack
from retrieval.errors import CursorMismatchError
from retrieval.fusion import Evidence, fuse
from retrieval.lexical import QueryTerms
from retrieval.models import Candidate, Contribution, Hit, RankedList, Retriever
from retrieval.recency import days_away, recency_list
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

DAY_US = 86_400_000_000
NOW_US = 1_760_000_000_000_000
# Minutes from the factory's first: the same words every hundred days.
EVERY = 100 * 24 * 60
ROWS = [
    Row(key=f"m{number}", text="the mirror is full again", minute=number * EVERY, vector=(1, 0, 0))
    for number in range(5)
]
# Most of it stands in no message, so that keywords are trusted little.
TEXT = "mirror which nobody ever mentioned before"
ADAPTED = pytest.mark.parametrize("fusion", [Fusion.RRF, Fusion.LINEAR])


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    """Five messages of the same words and vector, a hundred days apart."""
    with Artifact(write_artifact(tmp_path_factory.mktemp("repeated"), ROWS)) as artifact:
        yield artifact


def find(artifact: Artifact, fusion: Fusion, *, asked_at_us: int | None = None, **more: object) -> ResultPage:
    request = replace(SearchRequest(text=TEXT, mode=Mode.HYBRID, asked_at_us=asked_at_us), **more)
    embedder = ToyEmbedder({TEXT: (1, 0, 0)})
    return search_slack(artifact, request, visibility=Visibility.everything(), embedder=embedder, fusion=fusion)


def keys(page: ResultPage) -> list[str]:
    return [hit.document.document_id.rsplit(":", 1)[-1] for hit in page.hits]


def recency(hit: Hit) -> Contribution:
    return next(one for one in hit.contributions if one.retriever is Retriever.RECENCY)


def test_days_are_whole_and_count_before_and_after() -> None:
    times = {"same": NOW_US - DAY_US + 1, "yesterday": NOW_US - DAY_US, "later": NOW_US + 3 * DAY_US + 5}

    assert days_away(times, NOW_US) == {"same": 0, "yesterday": 1, "later": 3}


def test_the_list_is_ranked_by_days_and_halves_in_sixty_one() -> None:
    found = recency_list({"b": 0, "a": 0, "old": 61, "unlisted": 3}, ["old", "b", "a", "unknown"])

    assert found.candidates == (
        Candidate(document_id="a", rank=1, score=1.0),
        Candidate(document_id="b", rank=1, score=1.0),
        Candidate(document_id="old", rank=62, score=0.5),
    )


@ADAPTED
def test_of_equal_messages_the_one_nearest_to_asking_stands_first(repeated: Artifact, fusion: Fusion) -> None:
    middle = find(repeated, fusion, asked_at_us=NOW_US + 200 * DAY_US)

    assert keys(find(repeated, fusion))[0] == "m4"
    assert keys(middle)[0] == "m2"
    assert {recency(hit).rank for hit in middle.hits} == {1, 101, 201}


def test_by_scores_equal_messages_stand_by_time(repeated: Artifact) -> None:
    """Fusion by ranks cannot promise that: equal scores have ranks of their own, by document_id."""
    assert keys(find(repeated, Fusion.LINEAR)) == ["m4", "m3", "m2", "m1", "m0"]


@ADAPTED
def test_its_addend_recomputes(repeated: Artifact, fusion: Fusion) -> None:
    for hit in find(repeated, fusion).hits:
        part = recency(hit)
        assert part.score == 1 / (1 + (part.rank - 1) / 61)
        assert part.value == (part.weight / (60 + part.rank) if fusion is Fusion.RRF else part.weight * part.score)
        assert hit.score == sum(one.value for one in hit.contributions)


@pytest.mark.parametrize("fusion", [Fusion.RRF_FIXED, Fusion.LINEAR_FIXED])
def test_the_published_fusions_know_no_time(repeated: Artifact, fusion: Fusion) -> None:
    page = find(repeated, fusion)

    assert keys(page) == ["m0", "m1", "m2", "m3", "m4"]
    assert Retriever.RECENCY.value not in page.weights


@ADAPTED
def test_being_recent_makes_nothing_a_candidate(fusion: Fusion) -> None:
    lists = (
        RankedList(retriever=Retriever.LEXICAL, candidates=(Candidate(document_id="a", rank=1, score=1.0),)),
        RankedList(retriever=Retriever.EXACT, candidates=(Candidate(document_id="b", rank=1, score=1.0),)),
    )
    evidence = Evidence(
        lists=lists,
        scores={Retriever.LEXICAL: {"a": 1.0}},
        coverage=1.0,
        terms=QueryTerms(tokens=("x",), idf={"x": 1.0}, capped=False),
        degraded=False,
        days={"a": 9, "b": 0, "c": 0},
    )

    fused = fuse(fusion, evidence, {Retriever.LEXICAL: 1.0, Retriever.RECENCY: 1.0})

    assert [one.document_id for one in fused] == ["a"]


def test_a_cursor_holds_for_its_moment_alone(repeated: Artifact) -> None:
    first = find(repeated, Fusion.RRF, asked_at_us=NOW_US, limit=2)

    second = find(repeated, Fusion.RRF, asked_at_us=NOW_US, limit=2, cursor=first.next_cursor)
    assert keys(first) + keys(second) == ["m0", "m1", "m2", "m3"]
    with pytest.raises(CursorMismatchError):
        find(repeated, Fusion.RRF, asked_at_us=NOW_US + 1, limit=2, cursor=first.next_cursor)
    with pytest.raises(CursorMismatchError):
        find(repeated, Fusion.RRF, limit=2, cursor=first.next_cursor)


def test_a_reader_is_told_of_a_month_alone(repeated: Artifact, tmp_path: Path) -> None:
    page = find(repeated, Fusion.RRF, asked_at_us=NOW_US + 29 * DAY_US)
    told = {hit.document.document_id.rsplit(":", 1)[-1] for hit in page.hits if recency(hit) in hit.reasons}

    assert told == {"m0"}
    assert recency(page.hits[keys(page).index("m0")]).rank == 30
    later = find(repeated, Fusion.RRF, asked_at_us=NOW_US + 30 * DAY_US)
    assert not any(recency(hit) in hit.reasons for hit in later.hits)


@pytest.mark.parametrize("resident", [False, True])
def test_a_files_day_is_that_of_the_share_that_is_seen(tmp_path: Path, resident: bool) -> None:
    """When it was shared where the asker may not look is told by no score and no order."""
    rows = [
        Row(key="hidden", text="here", minute=0, channel="C9"),
        Row(key="seen", text="here too", minute=EVERY),
        Row(
            key="f1",
            text="mirror full",
            kind="file_chunk",
            channel="C9",
            covers=("T1:C9:hidden", "T1:C1:seen"),
            vector=(1, 0, 0),
        ),
    ]
    moment = NOW_US + 100 * DAY_US
    request = SearchRequest(text=TEXT, mode=Mode.HYBRID, asked_at_us=moment)
    with Artifact(write_artifact(tmp_path, rows)) as artifact:
        if resident:
            assert artifact.load().resident is not None
        ranks = [
            recency(hit).rank
            for visibility in (Visibility.everything(), Visibility.of_channels({"T1": ["C1"]}))
            for hit in search_slack(artifact, request, visibility=visibility, embedder=None).hits
        ]

    assert ranks == [101, 1]
