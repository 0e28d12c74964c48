"""What is similar to a message: ranked by its own vector, without itself, for whoever may see it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from retrieval import (
    Artifact,
    CursorMismatchError,
    CursorVisibilityError,
    DocumentKind,
    EmbeddingError,
    FilterError,
    Filters,
    Mode,
    NotFoundError,
    QueryTextError,
    ResultPage,
    SearchRequest,
    Visibility,
    search_slack,
)
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

SEE_ALL = Visibility.everything()
ROWS = (
    Row(key="source", text="partner tier hits the limit", minute=0, vector=(1, 0, 0), thread="th", parent=True),
    Row(key="reply", text="same thread, near", minute=1, vector=(1, 0.1, 0), thread="th"),
    Row(key="reply2", text="same thread, nearer", minute=2, vector=(1, 0.05, 0), thread="th"),
    Row(key="near", text="quota reached by a partner", minute=3, vector=(1, 0.2, 0)),
    Row(key="hidden", text="secret quota", channel="G2", minute=4, vector=(1, 0.01, 0)),
    Row(key="other1", text="another thread", minute=5, vector=(1, 0.4, 0), thread="ot", parent=True),
    Row(key="other2", text="another thread again", minute=6, vector=(1, 0.3, 0), thread="ot"),
    Row(key="far", text="lunch", minute=7, vector=(0, 1, 0)),
    Row(key="bare", text="no vector at all", minute=8),
    Row(key="empty", text="", minute=9),
    Row(
        key="file:T1:F1:000000",
        text="the limit in a file",
        kind="file_chunk",
        minute=0,
        covers=("T1:C1:source",),
        vector=(1, 0.02, 0),
    ),
    Row(
        key="file:T1:F2:000000",
        text="the limit in a file that two share",
        kind="file_chunk",
        minute=0,
        covers=("T1:C1:source", "T1:C1:near"),
        vector=(1, 0.03, 0),
    ),
)


@pytest.fixture(scope="module", params=["from memory", "by DuckDB"])
def archive(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("similar"), ROWS)) as artifact:
        artifact.load(budget_mb=None if request.param == "from memory" else 0)
        assert (artifact.residency.resident is None) == (request.param == "by DuckDB")
        yield artifact


def similar(
    artifact: Artifact,
    document_id: str = "T1:C1:source",
    *,
    visibility: Visibility = SEE_ALL,
    embedder: ToyEmbedder | None = None,
    **options: object,
) -> ResultPage:
    request = SearchRequest(text="", mode=Mode.SEMANTIC, similar_to=document_id, folds_threads=True)
    return search_slack(
        artifact,
        replace(request, **options),  # type: ignore[arg-type]
        visibility=visibility,
        embedder=embedder,
    )


def keys(page: ResultPage) -> list[str]:
    return [hit.document.document_id for hit in page.hits]


def test_the_nearest_come_first_without_itself_and_without_a_model(archive: Artifact) -> None:
    page = similar(archive)

    assert keys(page) == [
        "T1:G2:hidden",
        "file:T1:F2:000000",
        "T1:C1:reply2",
        "T1:C1:near",
        "T1:C1:other2",
        "T1:C1:far",
    ]
    assert page.source is not None
    assert page.source.text == "partner tier hits the limit"


def test_threads_are_folded_its_own_too(archive: Artifact) -> None:
    folded = {hit.document.document_id: hit.more_in_thread for hit in similar(archive).hits}
    sizes = {hit.document.document_id: hit.document.thread_size for hit in similar(archive).hits}

    assert folded["T1:C1:reply2"] == 1
    assert folded["T1:C1:other2"] == 1
    # The thread is as long as it is, the message itself counted.
    assert sizes["T1:C1:reply2"] == 3
    assert "T1:C1:reply" in keys(similar(archive, folds_threads=False))


def test_a_file_that_another_message_shares_cites_that_one(archive: Artifact) -> None:
    hit = next(hit for hit in similar(archive).hits if hit.document.document_id == "file:T1:F2:000000")

    assert hit.document.metadata["message_id"] == "T1:C1:near"


def test_pages_of_any_size_walk_the_same_list(archive: Artifact) -> None:
    whole = keys(similar(archive))
    for limit in (1, 2, 4):
        walked: list[str] = []
        cursor: str | None = None
        while True:
            page = similar(archive, limit=limit, cursor=cursor)
            walked += keys(page)
            cursor = page.next_cursor
            if cursor is None:
                break
        assert walked == whole


def test_filters_narrow_before_ranking(archive: Artifact) -> None:
    page = similar(archive, filters=Filters(channel_ids=("G2",)))

    assert keys(page) == ["T1:G2:hidden"]
    assert page.hits[0].rank == 1


def test_nothing_outside_the_visibility_is_found(archive: Artifact) -> None:
    assert "T1:G2:hidden" not in keys(similar(archive, visibility=Visibility.of_channels({"T1": ["C1"]})))


@pytest.mark.parametrize("document_id", ["T1:G2:hidden", "T1:C1:nowhere", ""])
def test_a_source_that_one_may_not_see_is_one_that_does_not_exist(archive: Artifact, document_id: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        similar(archive, document_id, visibility=Visibility.of_channels({"T1": ["C1"]}))

    assert str(caught.value).replace(document_id, "X") == str(
        NotFoundError(kind="message", identifier=document_id)
    ).replace(document_id, "X")


def test_a_cursor_belongs_to_its_source_and_its_sight(archive: Artifact) -> None:
    cursor = similar(archive, limit=2).next_cursor

    with pytest.raises(CursorMismatchError):
        similar(archive, "T1:C1:near", limit=2, cursor=cursor)
    with pytest.raises(CursorMismatchError):
        similar(archive, limit=2, cursor=cursor, folds_threads=False)
    with pytest.raises(CursorVisibilityError):
        similar(archive, limit=2, cursor=cursor, visibility=Visibility.of_channels({"T1": ["C1"]}))


def test_a_message_without_a_vector_is_compared_by_its_text(archive: Artifact) -> None:
    page = similar(archive, "T1:C1:bare", embedder=ToyEmbedder({"no vector at all": (0, 1, 0)}))
    assert keys(page)[0] == "T1:C1:far"

    with pytest.raises(EmbeddingError):
        similar(archive, "T1:C1:bare")


def test_a_message_without_text_and_vector_is_a_clear_error(archive: Artifact) -> None:
    with pytest.raises(QueryTextError, match="no text"):
        similar(archive, "T1:C1:empty")


@pytest.mark.parametrize("options", [{"text": "words"}, {"mode": Mode.HYBRID}])
def test_similar_is_by_meaning_alone(archive: Artifact, options: dict[str, object]) -> None:
    with pytest.raises(FilterError):
        similar(archive, **options)


def test_a_typed_text_is_folded_too_where_that_is_asked_for(archive: Artifact) -> None:
    request = SearchRequest(text="quota", mode=Mode.SEMANTIC, folds_threads=True)
    page = search_slack(archive, request, visibility=SEE_ALL, embedder=ToyEmbedder({"quota": (1, 0, 0)}))

    messages = [hit.document for hit in page.hits if hit.document.document_kind is DocumentKind.MESSAGE]
    threads = [message.thread_id for message in messages if message.thread_id]
    assert len(threads) == len(set(threads))
    assert page.source is None
