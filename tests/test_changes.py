"""What changed in Slack is right everywhere after the next build: Done when 5 of the artifact's life."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.indexing import Indexer
from retrieval import (
    Artifact,
    ArtifactStore,
    DocumentKind,
    Filters,
    Mode,
    SearchRequest,
    Visibility,
    get_slack_thread,
    list_slack_scopes,
    search_slack,
)
from retrieval.build_status import BuildOutcome
from retrieval.builder import SilentProgress, WorkspaceIdentity
from retrieval.builder.cycle import Plan
from tests.export_factory import ExportFactory
from tests.toy_embedder import ToyEmbedder

ROOT_TS, YEAR = "1600000000.000100", 365 * 86_400
EVERYTHING = Visibility.everything()


def export(path: Path, *, later: bool) -> Path:
    """The workspace as it was, or a day later."""
    factory = ExportFactory()
    factory.user("U1", name="ana", display_name="Ana Lima" if later else "Ana")
    factory.user("U2", name="ben", display_name="Ben")
    factory.channel("C1", "platform" if later else "infra")
    factory.channel("C2", "random")
    factory.thread("C1", ROOT_TS, ["where is the turbine manual", "in the cupboard"])
    factory.message("C2", "1600000500.000100", "hello <@U1>, see <#C1>", user="U2")
    if later:
        late = f"{1_600_000_000 + YEAR}.000100"
        factory.message("C1", late, "the manual moved to the wiki", user="U2", thread_ts=ROOT_TS)
        factory.message(
            "C2", "1600000600.000100", "lunch is at thirteen", user="U2", edited={"user": "U2", "ts": "1600000700.0"}
        )
    else:
        factory.message("C2", "1600000600.000100", "lunch is at noon", user="U2")
        factory.message("C2", "1600000800.000100", "the password is swordfish", user="U2")
    # An export covers its channels up to its newest message, so that what is missing before that is gone.
    factory.message("C2", "1700000000.000100", "the newest message of all", user="U2")
    return factory.write_zip(path)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArtifactStore]:
    folder = tmp_path_factory.mktemp("changes")
    source = folder / "export.zip"
    plan = Plan(sources=(source,), folder=folder / "archive", workspace=WorkspaceIdentity(workspace_id="T1"))
    indexer = Indexer(plan, embedder=ToyEmbedder, progress=SilentProgress())
    store = ArtifactStore(folder / "archive")
    for later in (False, True):
        export(source, later=later)
        assert indexer.run().outcome is BuildOutcome.PUBLISHED
        assert store.refresh().changed
    yield store
    store.close()


def found(store: ArtifactStore, text: str, mode: Mode = Mode.HYBRID) -> list[str]:
    with store.lease() as artifact:
        request = SearchRequest(text=text, mode=mode, filters=Filters(kinds=frozenset(DocumentKind)))
        page = search_slack(artifact, request, visibility=EVERYTHING, embedder=ToyEmbedder())
        return [hit.document.text for hit in page.hits]


def rows(artifact: Artifact, sql: str) -> list[tuple[object, ...]]:
    with artifact.cursor() as cursor:
        return cursor.execute(sql).fetchall()


def test_a_late_reply_to_an_old_thread_is_found_and_in_its_thread(store: ArtifactStore) -> None:
    assert found(store, "manual wiki", Mode.LEXICAL)[0] == "the manual moved to the wiki"
    with store.lease() as artifact:
        thread = get_slack_thread(artifact, f"T1:C1:{ROOT_TS}", visibility=EVERYTHING)
        windows = rows(artifact, "SELECT text_display FROM search_documents WHERE document_kind = 'thread_context'")
    assert [one.text for one in thread.messages][-1] == "the manual moved to the wiki"
    assert "the manual moved to the wiki" in str(windows[0][0])


def test_an_edited_message_has_its_new_text_alone(store: ArtifactStore) -> None:
    assert found(store, "lunch", Mode.LEXICAL) == ["lunch is at thirteen"]
    with store.lease() as artifact:
        assert rows(artifact, "SELECT count(*) FROM search_documents WHERE text_lexical LIKE '%noon%'") == [(0,)]


@pytest.mark.parametrize("table", ["search_documents", "lexical_postings", "fts_main_search_documents.dict"])
def test_of_a_deleted_message_nothing_is_left(store: ArtifactStore, table: str) -> None:
    assert not any("swordfish" in text for mode in Mode for text in found(store, "password swordfish", mode))
    with store.lease() as artifact:
        sql = f"SELECT count(*) FROM {table} AS t WHERE CAST(t AS VARCHAR) LIKE '%swordfish%'"
        assert rows(artifact, sql) == [(0,)]


def test_a_renamed_channel_has_its_new_name_everywhere(store: ArtifactStore) -> None:
    with store.lease() as artifact:
        assert [scope.channel_name for scope in list_slack_scopes(artifact, visibility=EVERYTHING)] == [
            "platform", "random",
        ]  # fmt: skip
        assert rows(artifact, "SELECT DISTINCT name FROM channels WHERE channel_id = 'C1'") == [("platform",)]
    assert found(store, "hello", Mode.LEXICAL) == ["hello @Ana Lima, see #platform"]


def test_a_renamed_person_has_the_new_name_everywhere(store: ArtifactStore) -> None:
    with store.lease() as artifact:
        authors = rows(artifact, "SELECT DISTINCT author_name FROM search_documents WHERE author_id = 'U1'")
        people = rows(artifact, "SELECT display_name FROM users WHERE user_id = 'U1'")
    assert authors == [("Ana Lima",)]
    assert people == [("Ana Lima",)]
