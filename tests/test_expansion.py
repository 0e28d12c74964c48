"""A message with its neighbours, a thread, and the channels of the archive."""

from collections.abc import Iterator

import pytest

from retrieval import (
    Artifact,
    FilterError,
    NotFoundError,
    Visibility,
    find_message_id,
    get_slack_message,
    get_slack_thread,
    list_slack_scopes,
)
from tests.artifact_factory import START_US, Row, write_artifact

SEE_ALL = Visibility.everything()
ROWS = (
    *(Row(key=f"a{n:03}", text=f"line {n}", minute=n, channel="C1") for n in range(60)),
    *(Row(key=f"x{n:03}", text=f"elsewhere {n}", minute=n, channel="C2", channel_name="other") for n in range(60)),
    Row(key="root", text="long one", minute=100, thread="root", parent=True),
    *(Row(key=f"t{n:03}", text=f"reply {n}", minute=101 + n, thread="root") for n in range(40)),
    Row(key="secret", text="hidden", minute=30, channel="G9", channel_name="board"),
    Row(
        key="file:T1:F1:000000",
        text="file words",
        kind="file_chunk",
        minute=10,
        channel="G9",
        covers=("T1:G9:secret", "T1:C1:a010"),
    ),
    Row(key="thread:T1:C1:root:0", text="window", kind="thread_context", thread="root", covers=("root",)),
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("expansion"), ROWS)) as artifact:
        yield artifact


def test_neighbours_are_of_the_same_channel_in_time_order(archive: Artifact) -> None:
    context = get_slack_message(archive, "T1:C1:a030", visibility=SEE_ALL, context_before=2, context_after=3)

    assert [one.text for one in context.before] == ["line 28", "line 29"]
    assert context.message.text == "line 30"
    assert [one.text for one in context.after] == ["line 31", "line 32", "line 33"]


def test_the_first_message_has_nothing_before_it(archive: Artifact) -> None:
    assert get_slack_message(archive, "T1:C1:a000", visibility=SEE_ALL).before == ()


@pytest.mark.parametrize(("before", "after"), [(-1, 0), (0, -1), (51, 50), (101, 0)])
def test_more_than_a_hundred_neighbours_are_refused(archive: Artifact, before: int, after: int) -> None:
    with pytest.raises(FilterError, match="100"):
        get_slack_message(archive, "T1:C1:a030", visibility=SEE_ALL, context_before=before, context_after=after)


def test_what_may_not_be_seen_is_not_found_in_the_same_words(archive: Artifact) -> None:
    """B44: a hidden message and one that does not exist give the same sentence."""
    visibility = Visibility.of_channels({"T1": ["C1"]})
    sentences = []
    for document_id in ("T1:G9:secret", "T1:G9:absent"):
        with pytest.raises(NotFoundError) as caught:
            get_slack_message(archive, document_id, visibility=visibility)
        sentences.append(str(caught.value).replace(document_id, "ID"))

    assert sentences[0] == sentences[1]


def test_neighbours_that_may_not_be_seen_are_left_out(archive: Artifact) -> None:
    visibility = Visibility.of_channels({"T1": ["C1"]}, denied_document_ids=["T1:C1:a029"])
    context = get_slack_message(archive, "T1:C1:a030", visibility=visibility, context_before=1, context_after=0)

    assert [one.text for one in context.before] == ["line 28"]


def test_a_thread_window_is_no_message(archive: Artifact) -> None:
    with pytest.raises(NotFoundError):
        get_slack_message(archive, "thread:T1:C1:root:0", visibility=SEE_ALL)


def test_a_file_passage_stands_at_a_visible_message(archive: Artifact) -> None:
    visibility = Visibility.of_channels({"T1": ["C1"]})
    context = get_slack_message(archive, "file:T1:F1:000000", visibility=visibility, context_before=1, context_after=1)

    assert context.message.channel_id == "C1"
    assert [one.text for one in (*context.before, *context.after)] == ["line 9", "line 11"]


def test_a_thread_is_oldest_first_with_its_total(archive: Artifact) -> None:
    thread = get_slack_thread(archive, "T1:C1:root", visibility=SEE_ALL, limit=3)

    assert [one.text for one in thread.messages] == ["long one", "reply 0", "reply 1"]
    assert thread.total == 41
    assert thread.root is not None
    assert thread.root.text == "long one"
    assert thread.warnings == ()


def test_around_puts_a_reply_in_the_middle(archive: Artifact) -> None:
    thread = get_slack_thread(archive, "T1:C1:root", visibility=SEE_ALL, limit=5, around="T1:C1:t020")

    assert [one.text for one in thread.messages] == [f"reply {n}" for n in range(18, 23)]
    assert thread.offset == 19
    assert thread.root is not None


def test_around_the_last_reply_fills_the_page(archive: Artifact) -> None:
    thread = get_slack_thread(archive, "T1:C1:root", visibility=SEE_ALL, limit=5, around="T1:C1:t039")

    assert len(thread.messages) == 5
    assert thread.messages[-1].text == "reply 39"


@pytest.mark.parametrize(("limit", "offset"), [(0, None), (501, None), (10, -1)])
def test_thread_pages_outside_the_range_are_refused(archive: Artifact, limit: int, offset: int | None) -> None:
    with pytest.raises(FilterError):
        get_slack_thread(archive, "T1:C1:root", visibility=SEE_ALL, limit=limit, offset=offset)


def test_a_hidden_thread_is_not_found(archive: Artifact) -> None:
    with pytest.raises(NotFoundError):
        get_slack_thread(archive, "T1:C1:root", visibility=Visibility.of_channels({"T1": ["C2"]}))


def test_scopes_count_only_what_may_be_seen(archive: Artifact) -> None:
    scopes = list_slack_scopes(archive, visibility=Visibility.of_channels({"T1": ["C1", "C2"]}))

    assert [(one.channel_id, one.message_count) for one in scopes] == [("C1", 101), ("C2", 60)]
    assert scopes[1].first_ts_us == START_US


def test_a_message_is_found_by_slacks_own_timestamp(archive: Artifact) -> None:
    ts = f"{START_US // 1_000_000 + 30 * 60}.000000"
    found = find_message_id(archive, workspace_id="T1", channel_id="C1", ts=ts, visibility=SEE_ALL)

    assert found == "T1:C1:a030"


@pytest.mark.parametrize("ts", ["", "x", "1.x", "99999999999999.0", "1760000000.5", "²"])
def test_a_timestamp_that_is_none_is_not_found(archive: Artifact, ts: str) -> None:
    with pytest.raises(NotFoundError):
        find_message_id(archive, workspace_id="T1", channel_id="C1", ts=ts, visibility=SEE_ALL)
