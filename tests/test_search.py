"""Searching a small artifact whose right answers are known by hand."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from retrieval import (
    Artifact,
    CursorMismatchError,
    CursorRangeError,
    CursorVisibilityError,
    DocumentKind,
    EmbeddingError,
    FilterError,
    Filters,
    Fusion,
    MalformedCursorError,
    Mode,
    QueryTextError,
    RequestError,
    ResultPage,
    Retriever,
    SearchRequest,
    Sort,
    StaleCursorError,
    Visibility,
    search_slack,
)
from retrieval.cursor import encode_cursor
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

SEE_ALL = Visibility.everything()
CODES = (
    "error E4392 on checkout",
    "error E5501 timeouts",
    "grade E on the exam",
    "429 in partner tier",
    "PROJ-17 done",
    "PROJ-99 blocked",
    "v1.2.3 released",
    "apply_secrets() fails",
    "see 10.0.0.1",
    "我家在上海东边",
    "日本語の検索テスト",
    "straße und Öffnung",
    "DEC-0054 multi-agent plan",
    "upgraded to 2.3 on host 10.0.0.11",
)
FINDS = {
    "E4392": 0,
    "429": 3,
    "PROJ-17": 4,
    "1.2.3": 6,
    "apply_secrets": 7,
    "10.0.0.1": 8,
    "上海": 9,
    "検索": 10,
    "Offnung": 11,
    "DEC-0054": 12,
    "multi-agent": 12,
    "“E4392”": 0,
}


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    """An artifact of identifiers, codes, versions and several scripts; every vector the same."""
    rows = [Row(key=f"m{n:02}", text=text, minute=n, vector=(1, 0, 0)) for n, text in enumerate(CODES)]
    with Artifact(write_artifact(tmp_path_factory.mktemp("codes"), rows)) as artifact:
        yield artifact


def find(
    artifact: Artifact,
    text: str,
    *,
    mode: Mode = Mode.LEXICAL,
    limit: int = 10,
    cursor: str | None = None,
    filters: Filters | None = None,
    visibility: Visibility = SEE_ALL,
    vector: tuple[float, ...] = (0, 1, 0),
    sort: Sort = Sort.RELEVANCE,
    fusion: Fusion = Fusion.RRF,
) -> ResultPage:
    """Search with a toy embedder that gives *vector* for the text."""
    request = SearchRequest(text=text, mode=mode, limit=limit, cursor=cursor, filters=filters or Filters(), sort=sort)
    embedder = ToyEmbedder({text: vector})
    return search_slack(artifact, request, visibility=visibility, embedder=embedder, fusion=fusion)


def keys(page: ResultPage) -> list[str]:
    """The last part of each hit's id."""
    return [hit.document.document_id.rsplit(":", 1)[-1] for hit in page.hits]


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize(("query", "expected"), FINDS.items())
def test_identifier_is_found_first(codes: Artifact, mode: Mode, query: str, expected: int) -> None:
    """B1, B2, B7, B10: codes, numbers, versions, names, CJK runs and accents find their own message first."""
    page = find(codes, query, mode=mode)

    assert page.hits[0].document.text == CODES[expected]


@pytest.mark.parametrize("query", ["E4392", "429", "PROJ-17"])
def test_wrong_codes_are_no_lexical_hits_before_the_right_one(codes: Artifact, query: str) -> None:
    """B1: a code is not confused with the letter or the prefix it begins with."""
    page = find(codes, query)

    assert query in page.hits[0].document.text
    assert all("grade E" not in hit.document.text for hit in page.hits)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    "query",
    [
        "what's the budget, roughly?",
        '"',
        "'; DROP TABLE x; --",
        "-foo",
        "🎉",
        "x" * 5000,
        "a b " * 1250,
        "(" * 5000,
        "\x00",
        "429 \udce9",
        "%s {0} \\ ' \" ; $1 ?",
    ],
)
def test_any_text_gives_an_answer_or_a_typed_error(codes: Artifact, mode: Mode, query: str) -> None:
    """B4: punctuation, SQL and thousands of characters never raise anything but a request error."""
    answered = True
    try:
        page = find(codes, query, mode=mode)
    except QueryTextError:
        answered = False

    assert not answered or len(page.hits) <= 10


@pytest.mark.parametrize(("query", "said"), [("海", True), ("海 checkout", True), ("上海", False), ("checkout", False)])
def test_a_lone_character_that_bigrams_do_not_find_is_said(codes: Artifact, query: str, said: bool) -> None:
    """B7: a limitation that is not told looks like an empty archive."""
    page = find(codes, query, mode=Mode.LEXICAL)

    assert any("stands alone" in warning for warning in page.warnings) is said


@pytest.mark.parametrize("name", ["channel_ids", "author_ids", "phrases", "excluded_words"])
def test_half_a_character_in_a_filter_is_a_clear_error(codes: Artifact, name: str) -> None:
    """Found by benchmarks.fuzz, search:1:190: DuckDB cannot be given it."""
    filters = replace(Filters(), **{name: ("\udfff",)})

    with pytest.raises(FilterError, match="half of a character"):
        find(codes, "E4392", filters=filters)


def test_a_query_without_any_word_is_a_clear_error(codes: Artifact) -> None:
    with pytest.raises(QueryTextError, match="no word or number"):
        find(codes, '"')


def test_long_queries_use_their_32_rarest_words_and_say_so(codes: Artifact) -> None:
    page = find(codes, " ".join(f"word{n}" for n in range(70)) + " E4392")

    assert any("32 rarest words" in warning for warning in page.warnings)
    assert keys(page) == ["m00"]


FUSED = (
    Row(key="a", text="alpha alpha beta", minute=1, vector=(1, 0, 0)),
    Row(key="b", text="alpha gamma words here", minute=2, vector=(0, 1, 0)),
    Row(key="c", text="nothing of it", minute=3, vector=(0.1, 1, 0)),
)


@pytest.fixture(scope="module")
def fused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("fused"), FUSED)) as artifact:
        yield artifact


def test_fixed_rrf_adds_one_over_sixty_plus_rank(fused: Artifact) -> None:
    """The published formula: b is second by keyword and first by meaning."""
    page = find(fused, "alpha", mode=Mode.HYBRID, fusion=Fusion.RRF_FIXED)

    assert keys(page)[0] == "b"
    assert page.hits[0].score == 1 / (60 + 1) + 1 / (60 + 2)
    ranks = {one.retriever: one.rank for one in page.hits[0].contributions}
    assert ranks == {Retriever.LEXICAL: 2, Retriever.SEMANTIC: 1}


@pytest.mark.parametrize("fusion", [Fusion.RRF, Fusion.RRF_FIXED])
def test_a_score_is_the_sum_of_its_contributions(fused: Artifact, fusion: Fusion) -> None:
    page = find(fused, "alpha beta", mode=Mode.HYBRID, fusion=fusion)

    for hit in page.hits:
        assert hit.score == sum(one.weight / (60 + one.rank) for one in hit.contributions)
        assert all(one.weight == page.weights[one.retriever] for one in hit.contributions)


@pytest.mark.parametrize("fusion", [Fusion.LINEAR, Fusion.LINEAR_FIXED])
def test_a_linear_score_is_the_sum_of_weighted_scores(fused: Artifact, fusion: Fusion) -> None:
    page = find(fused, "alpha beta", mode=Mode.HYBRID, fusion=fusion)

    assert len(page.hits) == 3
    for hit in page.hits:
        assert hit.score == sum(one.weight * one.score for one in hit.contributions)
        assert all(one.weight == page.weights[one.retriever] for one in hit.contributions)


def test_semantic_mode_ranks_by_cosine(fused: Artifact) -> None:
    page = find(fused, "anything", mode=Mode.SEMANTIC, vector=(0, 1, 0))

    assert keys(page) == ["b", "c", "a"]
    assert page.hits[0].score == pytest.approx(1.0)


def test_semantic_mode_without_a_vector_is_a_clear_error(fused: Artifact) -> None:
    request = SearchRequest(text="alpha", mode=Mode.SEMANTIC)

    with pytest.raises(EmbeddingError, match="knows no vector"):
        search_slack(fused, request, visibility=SEE_ALL, embedder=ToyEmbedder({}))


def test_hybrid_without_a_vector_warns_and_gives_keyword_results(fused: Artifact) -> None:
    """B23: the missing service is said, the keyword result comes."""
    request = SearchRequest(text="alpha", mode=Mode.HYBRID)
    page = search_slack(fused, request, visibility=SEE_ALL, embedder=ToyEmbedder({}))

    assert keys(page) == ["a", "b"]
    assert page.degraded
    assert any("meaning is not available" in warning for warning in page.warnings)


def test_a_vector_of_another_length_is_never_compared(fused: Artifact) -> None:
    """B23: the model gives four numbers, the archive holds three."""
    with pytest.raises(EmbeddingError, match="4 numbers"):
        find(fused, "alpha", mode=Mode.SEMANTIC, vector=(1, 0, 0, 0))


def test_a_failing_keyword_index_inside_hybrid_is_said(tmp_path: Path) -> None:
    """B6: the lexical part breaking is a visible warning, and the rest still answers."""
    path = write_artifact(tmp_path, FUSED)
    with Artifact(path) as artifact:
        broken = replace(artifact.info, fts_config={**artifact.info.fts_config, "ignore": "("})
        artifact.info = broken
        page = find(artifact, "alpha", mode=Mode.HYBRID)

    assert any("Keyword search failed" in warning for warning in page.warnings)
    assert keys(page) == ["b", "c", "a"]


def many_rows(count: int) -> list[Row]:
    """Rows that all match "same", many of them with the same score."""
    return [Row(key=f"{n:04}", text="same words", minute=n, vector=(1, n % 3, 0)) for n in range(count)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("many"), many_rows(25))) as artifact:
        yield artifact


def walk(artifact: Artifact, *, mode: Mode, limit: int, **options: object) -> list[list[str]]:
    """All pages of "same" from the first to the last."""
    pages = []
    cursor = None
    while True:
        page = find(artifact, "same", mode=mode, limit=limit, cursor=cursor, **options)  # type: ignore[arg-type]
        pages.append(keys(page))
        cursor = page.next_cursor
        if cursor is None:
            return pages


@pytest.mark.parametrize("mode", list(Mode))
def test_twenty_five_hits_page_as_ten_ten_five(many: Artifact, mode: Mode) -> None:
    """B25: no cursor after the last page, nothing twice, nothing missing."""
    pages = walk(many, mode=mode, limit=10)

    assert [len(page) for page in pages] == [10, 10, 5]
    assert len({key for page in pages for key in page}) == 25


@pytest.mark.parametrize("mode", list(Mode))
def test_an_exactly_full_last_page_has_no_cursor(many: Artifact, mode: Mode) -> None:
    """B25: 25 hits with limit 25 are one page."""
    assert find(many, "same", mode=mode, limit=25).next_cursor is None


@pytest.mark.parametrize("mode", list(Mode))
def test_page_size_does_not_change_the_sequence(many: Artifact, mode: Mode) -> None:
    """B18: pages of one and of ten walk through the same list."""
    ones = [key for page in walk(many, mode=mode, limit=1) for key in page]
    tens = [key for page in walk(many, mode=mode, limit=10) for key in page]

    assert ones == tens


@pytest.mark.parametrize("mode", list(Mode))
def test_twenty_calls_give_the_same_order(many: Artifact, mode: Mode) -> None:
    """B18: equal scores never reorder; ties go by id."""
    first = keys(find(many, "same", mode=mode, limit=25))

    assert all(keys(find(many, "same", mode=mode, limit=25)) == first for _ in range(19))
    if mode is Mode.LEXICAL:
        assert first == sorted(first)


def test_previous_cursor_leads_back(many: Artifact) -> None:
    first = find(many, "same", limit=10)
    second = find(many, "same", limit=10, cursor=first.next_cursor)
    back = find(many, "same", limit=10, cursor=second.previous_cursor)

    assert first.previous_cursor is None
    assert keys(back) == keys(first)
    assert second.hits[0].rank == 11


def test_cursor_of_another_query_mode_or_filter_is_a_mismatch(many: Artifact) -> None:
    cursor = find(many, "same", limit=10).next_cursor

    for change in (
        {"text": "words"},
        {"mode": Mode.HYBRID},
        {"filters": Filters(author_ids=("U1",))},
        {"sort": Sort.NEWEST},
    ):
        arguments = {"text": "same", "mode": Mode.LEXICAL, **change}
        with pytest.raises(CursorMismatchError):
            find(many, cursor=cursor, limit=10, **arguments)  # type: ignore[arg-type]


def test_order_of_filter_values_does_not_matter_to_a_cursor(many: Artifact) -> None:
    cursor = find(many, "same", limit=10, filters=Filters(author_ids=("U1", "U2"))).next_cursor
    page = find(many, "same", limit=10, filters=Filters(author_ids=("U2", "U1")), cursor=cursor)

    assert page.offset == 10


def test_cursor_of_another_visibility_is_refused(many: Artifact) -> None:
    cursor = find(many, "same", limit=10).next_cursor

    with pytest.raises(CursorVisibilityError):
        find(many, "same", limit=10, cursor=cursor, visibility=Visibility.of_channels({"T1": ["C1"]}))


def test_cursor_of_another_artifact_is_stale(many: Artifact, codes: Artifact, tmp_path: Path) -> None:
    """B27: after a swap an old cursor says so instead of showing a mixed page."""
    cursor = find(many, "same", limit=10).next_cursor
    path = write_artifact(tmp_path, many_rows(25), build_id="20261102T000000Z-cccccccc-dddddddd")
    with Artifact(path) as newer, pytest.raises(StaleCursorError) as caught:
        find(newer, "same", limit=10, cursor=cursor)

    assert caught.value.cursor_artifact_id == many.info.artifact_id


@pytest.mark.parametrize("text", ["", "x", "sq1.", "sq1.%%%", "sq1.é", "sq1." + "A" * 2000])
def test_what_is_no_cursor_is_malformed(many: Artifact, text: str) -> None:
    with pytest.raises(MalformedCursorError):
        find(many, "same", cursor=text)


def test_every_change_of_a_cursor_is_noticed(many: Artifact) -> None:
    cursor = find(many, "same", limit=10).next_cursor
    assert cursor is not None

    for position in range(len(cursor)):
        changed = cursor[:position] + ("A" if cursor[position] != "A" else "B") + cursor[position + 1 :]
        with pytest.raises(RequestError):
            find(many, "same", limit=10, cursor=changed)
        with pytest.raises(MalformedCursorError):
            find(many, "same", limit=10, cursor=cursor[:position])


@pytest.mark.parametrize("offset", [-1, 10_001])
def test_offsets_outside_the_range_are_refused(many: Artifact, offset: int) -> None:
    request = SearchRequest(text="same", mode=Mode.LEXICAL)
    cursor = encode_cursor(
        offset, artifact_id=many.info.artifact_id, request=request, visibility=SEE_ALL, fusion=Fusion.RRF
    )

    with pytest.raises(CursorRangeError):
        find(many, "same", cursor=cursor)


def test_an_offset_past_the_end_is_an_empty_last_page(many: Artifact) -> None:
    request = SearchRequest(text="same", mode=Mode.LEXICAL)
    cursor = encode_cursor(
        9_000, artifact_id=many.info.artifact_id, request=request, visibility=SEE_ALL, fusion=Fusion.RRF
    )
    page = find(many, "same", cursor=cursor)

    assert page.hits == ()
    assert page.next_cursor is None


@pytest.mark.parametrize("limit", [0, 51, -1])
def test_page_sizes_outside_the_range_are_refused(many: Artifact, limit: int) -> None:
    with pytest.raises(FilterError, match="1 to 50"):
        find(many, "same", limit=limit)


THREADS = (
    Row(key="r1", text="deploy plan", minute=1, thread="r1", parent=True, vector=(1, 0, 0)),
    Row(key="r2", text="deploy at noon", minute=2, thread="r1", vector=(0.9, 0.1, 0)),
    Row(key="r3", text="deploy done", minute=3, thread="r1", broadcast=True, vector=(0.8, 0.2, 0)),
    Row(key="s1", text="deploy elsewhere", minute=4, vector=(0.7, 0.3, 0)),
    Row(
        key="thread:T1:C1:r1:0",
        text="deploy plan deploy at noon deploy done",
        kind="thread_context",
        thread="r1",
        covers=("r1", "r2", "r3"),
    ),
)


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("threads"), THREADS)) as artifact:
        yield artifact


def test_hybrid_shows_a_thread_once_and_counts_the_rest(threads: Artifact) -> None:
    page = find(threads, "deploy", mode=Mode.HYBRID, vector=(1, 0, 0))

    assert len(page.hits) == 2
    folded = {hit.document.thread_id: hit.more_in_thread for hit in page.hits}
    assert folded == {"T1:C1:r1": 2, None: 0}


def test_folding_counts_over_the_whole_list_whatever_the_page(threads: Artifact) -> None:
    """Pages of one show each thread once, as a page of ten does."""
    first = find(threads, "deploy", mode=Mode.HYBRID, vector=(1, 0, 0), limit=1)
    second = find(threads, "deploy", mode=Mode.HYBRID, vector=(1, 0, 0), limit=1, cursor=first.next_cursor)

    assert [hit.more_in_thread for hit in (*first.hits, *second.hits)] in ([2, 0], [0, 2])
    assert second.next_cursor is None


def test_single_modes_never_fold(threads: Artifact) -> None:
    assert len(find(threads, "deploy", mode=Mode.LEXICAL).hits) == 4
    assert len(find(threads, "deploy", mode=Mode.SEMANTIC).hits) == 4


def test_one_document_from_several_retrievers_is_one_hit(threads: Artifact) -> None:
    """B19: keyword, meaning, thread context and recency of one message are one entry with four contributions."""
    page = find(threads, "deploy plan", mode=Mode.HYBRID, vector=(1, 0, 0))
    best = page.hits[0]

    assert best.document.document_id == "T1:C1:r1"
    assert [one.retriever for one in best.contributions] == [
        Retriever.LEXICAL,
        Retriever.SEMANTIC,
        Retriever.CONTEXT,
        Retriever.RECENCY,
    ]


def test_thread_windows_are_no_hits_themselves(threads: Artifact) -> None:
    for mode in Mode:
        page = find(threads, "deploy", mode=mode, vector=(1, 0, 0))
        assert all(hit.document.document_kind is DocumentKind.MESSAGE for hit in page.hits)


def test_broadcast_reply_is_found_once(threads: Artifact) -> None:
    """B30: a reply also sent to the channel is one message."""
    page = find(threads, "done")

    assert keys(page) == ["r3"]
    assert page.hits[0].document.is_thread_broadcast


PLACES = (
    Row(key="p1", text="salary talk", channel="C1", author="U1", minute=1, vector=(1, 0, 0)),
    Row(key="p2", text="salary table", channel="G2", author="U2", minute=2, vector=(1, 0.1, 0), channel_name="board"),
    Row(key="p3", text="salary `code` https://x.io/a", channel="C3", author="U2", minute=3, vector=(1, 0.2, 0)),
    Row(key="p4", text="salary start art", channel="C3", author=None, author_name=None, minute=4, vector=(1, 0.3, 0)),
    Row(
        key="file:T1:F1:000000",
        text="salary spreadsheet",
        channel="G2",
        kind="file_chunk",
        minute=2,
        covers=("T1:G2:p2", "T1:C3:p3"),
        vector=(1, 0.4, 0),
    ),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("places"), PLACES)) as artifact:
        yield artifact


@pytest.mark.parametrize("mode", list(Mode))
def test_nothing_outside_the_visibility_is_found_or_counted(places: Artifact, mode: Mode) -> None:
    """B44: a channel that the asker may not see gives no hit, no rank and no page."""
    visibility = Visibility.of_channels({"T1": ["C1"]})
    page = find(places, "salary", mode=mode, visibility=visibility, limit=1, vector=(1, 0, 0))

    assert keys(page) == ["p1"]
    assert page.hits[0].rank == 1
    assert page.next_cursor is None


@pytest.mark.parametrize("mode", list(Mode))
def test_an_empty_visibility_finds_nothing(places: Artifact, mode: Mode) -> None:
    page = find(places, "salary", mode=mode, visibility=Visibility.of_channels({}), vector=(1, 0, 0))

    assert page.hits == ()


def test_another_workspace_is_not_seen(places: Artifact) -> None:
    assert find(places, "salary", visibility=Visibility.of_channels({"T2": ["C1", "G2", "C3"]})).hits == ()


def test_a_file_shared_in_two_channels_cites_the_visible_one(places: Artifact) -> None:
    """A chunk is visible where any message sharing it is, and then stands in that message's place."""
    page = find(places, "spreadsheet", visibility=Visibility.of_channels({"T1": ["C3"]}))

    assert keys(page) == ["000000"]
    assert page.hits[0].document.channel_id == "C3"
    assert page.hits[0].document.metadata["message_id"] == "T1:C3:p3"
    assert find(places, "spreadsheet", visibility=Visibility.of_channels({"T1": ["C1"]})).hits == ()


def test_denied_people_and_documents_are_left_out(places: Artifact) -> None:
    visibility = Visibility.of_channels(
        {"T1": ["C1", "G2", "C3"]}, denied_author_ids=["U2"], denied_document_ids=["T1:C1:p1"]
    )

    assert keys(find(places, "salary", visibility=visibility)) == ["p4"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(channel_ids=("C1",)), {"p1"}),
        (Filters(author_ids=("U2",)), {"p2", "p3", "000000"}),
        (Filters(excluded_author_ids=("U2",)), {"p1", "p4"}),
        (Filters(excluded_channel_ids=("C3", "G2")), {"p1"}),
        (Filters(has=("code",)), {"p3"}),
        (Filters(has=("link",)), {"p3"}),
        (Filters(has=("file",)), {"000000"}),
        (Filters(phrases=("salary  TABLE",)), {"p2"}),
        (Filters(excluded_phrases=("salary talk",)), {"p2", "p3", "p4", "000000"}),
        (Filters(excluded_words=("art",)), {"p1", "p2", "p3", "000000"}),
        (Filters(kinds=(DocumentKind.FILE_CHUNK,)), {"000000"}),
        (Filters(is_thread=True), set()),
    ],
)
@pytest.mark.parametrize("mode", list(Mode))
def test_filters_hold_in_every_mode(places: Artifact, mode: Mode, filters: Filters, expected: set[str]) -> None:
    page = find(places, "salary", mode=mode, filters=filters, vector=(1, 0, 0))

    assert set(keys(page)) == expected


def test_times_are_inclusive_to_the_microsecond(places: Artifact) -> None:
    """B15: a message at the bound is in; one microsecond off is out."""
    at = find(places, "salary").hits[0].document.ts_us
    inside = Filters(start_ts_us=at, end_ts_us=at)

    assert at in {hit.document.ts_us for hit in find(places, "salary", filters=inside).hits}
    assert find(places, "salary talk", filters=Filters(start_ts_us=at + 1, end_ts_us=at + 1)).hits == ()


def test_a_period_that_ends_before_it_starts_is_refused(places: Artifact) -> None:
    with pytest.raises(FilterError, match="ends before"):
        find(places, "salary", filters=Filters(start_ts_us=2, end_ts_us=1))


def test_more_than_a_hundred_values_are_refused(places: Artifact) -> None:
    with pytest.raises(FilterError, match="At most 100"):
        find(places, "salary", filters=Filters(channel_ids=tuple(f"C{n}" for n in range(101))))


def test_filters_without_words_list_the_newest(places: Artifact) -> None:
    page = find(places, "", filters=Filters(author_ids=("U2",), kinds=(DocumentKind.MESSAGE,)))

    assert keys(page) == ["p3", "p2"]
    assert any("newest" in warning for warning in page.warnings)


def test_nothing_at_all_is_a_clear_error(places: Artifact) -> None:
    with pytest.raises(QueryTextError, match="nothing to search for"):
        find(places, "  ")


def test_sort_by_time_reorders_what_matches(places: Artifact) -> None:
    newest = find(places, "salary", sort=Sort.NEWEST, filters=Filters(kinds=(DocumentKind.MESSAGE,)))
    oldest = find(places, "salary", sort=Sort.OLDEST, filters=Filters(kinds=(DocumentKind.MESSAGE,)))

    assert keys(newest) == ["p4", "p3", "p2", "p1"]
    assert keys(oldest) == ["p1", "p2", "p3", "p4"]


def test_missing_author_channel_and_link_are_none(tmp_path: Path) -> None:
    """B33: whatever the contract allows to be NULL is None in a hit, not a crash."""
    row = Row(key="n1", text="lonely words", author=None, author_name=None, channel_name=None)
    with Artifact(write_artifact(tmp_path, [row])) as artifact:
        hit = find(artifact, "lonely").hits[0]

    assert (hit.document.author_id, hit.document.author_name, hit.document.channel_name) == (None, None, None)
    assert hit.document.permalink is None


def test_parallel_searches_get_their_own_answers(tmp_path: Path) -> None:
    """B28: eight threads, 25 distinct queries each, one artifact: every answer belongs to its query."""
    rows = [Row(key=f"{n:03}", text=f"marker{n:03} shared", minute=n, vector=(1, n, 0)) for n in range(200)]
    with Artifact(write_artifact(tmp_path, rows)) as artifact:

        def search(n: int) -> bool:
            page = find(artifact, f"marker{n:03}", limit=1)
            return keys(page) == [f"{n:03}"]

        with ThreadPoolExecutor(8) as executor:
            answers = list(executor.map(search, range(200)))

    assert all(answers)


def test_parallel_searches_on_one_shared_connection_would_mix(tmp_path: Path) -> None:
    """The test above can fail: one connection for all threads mixes rows or raises."""
    rows = [Row(key=f"{n:03}", text=f"marker{n:03} shared", minute=n) for n in range(200)]
    with Artifact(write_artifact(tmp_path, rows)) as artifact, artifact.cursor() as shared:
        barrier = threading.Barrier(8)

        def ask(worker: int) -> int:
            barrier.wait()
            wrong = 0
            for n in range(worker * 25, worker * 25 + 25):
                key = f"T1:C1:{n:03}"
                try:
                    row = shared.execute(
                        "SELECT document_id FROM search_documents WHERE document_id = ?", [key]
                    ).fetchone()
                except Exception:  # noqa: BLE001 - any failure of a shared connection counts as a wrong answer
                    row = None
                wrong += row != (key,)
            return wrong

        with ThreadPoolExecutor(8) as executor:
            wrong = sum(executor.map(ask, range(8)))

    assert wrong > 0
