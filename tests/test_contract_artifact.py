"""An artifact made elsewhere, by the contract's table alone: it opens, serves, and says what it cannot do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval import (
    Artifact,
    Filters,
    Mode,
    NotFoundError,
    RequestError,
    SearchRequest,
    Visibility,
    get_slack_message,
    get_slack_thread,
    list_slack_scopes,
    search_slack,
    visibility_as,
)
from retrieval.fts import indexes_digits
from retrieval.manifest import read_manifest
from retrieval.store import ArtifactStore
from retrieval.validation import validate_file
from retrieval.verification import verify_lists
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

SEE_ALL = Visibility.everything()
HEX = "ab" * 32
ROWS = (
    Row(
        key=f"{HEX}:1",
        text="The partner tier answers 429 (docs)",
        lexical="The partner tier answers 429 &amp; <https://x.io/rate-limits|docs> <@U123>",
        minute=1,
        vector=(1, 0, 0),
    ),
    Row(key=f"{HEX}:2", text="grade E on the exam", minute=2, vector=(0, 1, 0)),
    Row(key=f"{HEX}:3", text="error E4392 on checkout", minute=3, vector=(0, 0, 1)),
    Row(key=f"{HEX}:4", text="reply without its root", minute=4, thread="lost", vector=(1, 1, 0)),
    Row(key=f"{HEX}:5", text="apply_secrets fails", minute=5, vector=(0, 1, 1), author=None, author_name=None),
    Row(key=f"{HEX}:8", text="привет из Straße", minute=6, vector=(1, 0, 1)),
    Row(key=f"{HEX}:6", text="reply without its root\nsecond words", kind="thread_context", thread="lost"),
    Row(key=f"{HEX}:7", text="ghost discussion words", kind="thread_context", thread="ghost", root="gone:root"),
)


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("contract"), ROWS, contract=True)) as artifact:
        yield artifact


def find(artifact: Artifact, text: str, mode: Mode = Mode.LEXICAL) -> list[str]:
    """The texts found, best first."""
    request = SearchRequest(text=text, mode=mode)
    page = search_slack(artifact, request, visibility=SEE_ALL, embedder=ToyEmbedder({}))
    return [hit.document.text for hit in page.hits]


@pytest.mark.parametrize("query", ["привет", "straße"])
def test_words_are_split_as_the_index_itself_splits(contract: Artifact, query: str) -> None:
    """The documented default keeps a to z only; the DuckDB that made this index kept every letter."""
    assert find(contract, query) == ["привет из Straße"]


def test_that_its_index_does_not_split_cjk_is_said(contract: Artifact) -> None:
    """B7: found, or a stated limitation."""
    request = SearchRequest(text="上海", mode=Mode.LEXICAL)
    page = search_slack(contract, request, visibility=SEE_ALL, embedder=None)

    assert any("not found as keywords" in warning for warning in page.warnings)


def test_its_own_lists_can_be_verified(contract: Artifact) -> None:
    assert verify_lists(contract, queries=3).differences == ()


@pytest.mark.parametrize(
    ("ignore", "kept"),
    [(r"\s+", True), ("[^a-z0-9_]+", True), (r"(\.|[^a-z])+", False), ("[0-9!^_.-]+", False), ("(", False)],
)
def test_whether_digits_are_indexed_is_tried_out(ignore: str, kept: bool) -> None:
    assert indexes_digits({"ignore": ignore}) is kept


def test_it_is_valid_and_says_what_it_has(contract: Artifact) -> None:
    info = validate_file(contract.path, manifest=read_manifest(contract.path))

    assert info.capabilities == frozenset()
    assert not info.indexes_digits
    assert info.analyzer is None
    assert info.dimensions == 3


def test_it_serves_from_a_folder(tmp_path: Path) -> None:
    write_artifact(tmp_path, ROWS, contract=True, publish=True)
    store = ArtifactStore(tmp_path)
    outcome = store.refresh()

    assert outcome.problem is None
    assert outcome.changed
    store.close()


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("429", "The partner tier answers 429 (docs)"),
        ("E4392", "error E4392 on checkout"),
        ("apply_secrets", "apply_secrets fails"),
        ("partner tier 429", "The partner tier answers 429 (docs)"),
        ("checkout", "error E4392 on checkout"),
    ],
)
def test_identifiers_are_found_by_their_string(contract: Artifact, mode: Mode, query: str, expected: str) -> None:
    """B1: the index drops digits; the exact list stands first, and says so in lexical mode."""
    assert find(contract, query, mode)[0] == expected


def test_a_code_that_the_index_cuts_gives_no_wrong_hits(contract: Artifact) -> None:
    """B1: `E9999` is nowhere; the page is empty instead of full of the letter E."""
    assert find(contract, "E9999") == []


def test_the_missing_digits_are_said(contract: Artifact) -> None:
    request = SearchRequest(text="429", mode=Mode.LEXICAL)
    page = search_slack(contract, request, visibility=SEE_ALL, embedder=None)

    assert any("no digits" in warning for warning in page.warnings)


def test_a_window_without_any_message_is_left_out_with_a_warning(contract: Artifact) -> None:
    """B24: a discussion whose root and messages are absent gives no hit and no exception."""
    request = SearchRequest(text="ghost discussion", mode=Mode.HYBRID)
    page = search_slack(contract, request, visibility=SEE_ALL, embedder=ToyEmbedder({}))

    assert page.hits == ()
    assert any("discussions that matched have no message" in warning for warning in page.warnings)


def test_a_window_stands_for_a_message_of_its_thread(contract: Artifact) -> None:
    assert find(contract, "second words", Mode.HYBRID) == ["reply without its root"]


def test_a_thread_without_root_is_shown_with_a_warning(contract: Artifact) -> None:
    thread = get_slack_thread(contract, "T1:C1:lost", visibility=SEE_ALL)

    assert thread.root is None
    assert thread.total == 1
    assert "not in the archive" in thread.warnings[0]


def test_only_named_channels_are_seen(contract: Artifact) -> None:
    """Without a channel table the caller's list of confirmed channels is all there is."""
    nothing = Visibility.of_channels({"T1": ["C9"]})
    request = SearchRequest(text="exam", mode=Mode.LEXICAL)

    assert search_slack(contract, request, visibility=nothing, embedder=None).hits == ()
    assert list_slack_scopes(contract, visibility=nothing) == ()
    with pytest.raises(NotFoundError):
        get_slack_message(contract, f"{HEX}:2", visibility=nothing)
    with pytest.raises(RequestError, match="does not say who may see what"):
        visibility_as(contract, "U1")


def test_missing_values_are_none(contract: Artifact) -> None:
    context = get_slack_message(contract, f"{HEX}:5", visibility=SEE_ALL, context_before=1, context_after=0)

    assert context.message.author_name is None
    assert [one.text for one in context.before] == ["reply without its root"]


def test_filters_hold_over_raw_markup(contract: Artifact) -> None:
    request = SearchRequest(text="partner", mode=Mode.LEXICAL, filters=Filters(phrases=("partner TIER",)))

    assert len(search_slack(contract, request, visibility=SEE_ALL, embedder=None).hits) == 1


def test_a_token_in_an_artifact_of_another_tool_is_never_shown(tmp_path: Path) -> None:
    """Our builder takes tokens out; what others built may hold them, and no answer does."""
    token = "xoxe-" + "1-test"
    row = Row(key="t:1", text=f"see https://files.slack.com/files-pri/T1/a.txt?t={token} and {token}", minute=1)
    with Artifact(write_artifact(tmp_path, [row], contract=True)) as artifact:
        hit = find(artifact, "see")[0]
        shown = get_slack_message(artifact, "t:1", visibility=SEE_ALL).message.text

    assert token not in hit
    assert token not in shown
    assert "https://files.slack.com/files-pri/T1/a.txt" in shown
