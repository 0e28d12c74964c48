"""No text of anybody's stands in a statement: whatever people type or an export holds is bound as a value."""

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from bot.store_file import StoreFile
from bot.store_records import RecentSearch, Verdict, Vote
from retrieval import (
    Artifact,
    ArtifactStore,
    Filters,
    Mode,
    RequestError,
    SearchRequest,
    Sort,
    Visibility,
    direct_message_channels,
    find_author_ids,
    find_message_id,
    get_slack_message,
    get_slack_thread,
    list_slack_scopes,
    search_slack,
    visibility_as,
)
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.names import read_names
from retrieval.verification import verify_lists
from tests import access_worlds
from tests.access_worlds import CHANNELS, HOME, MEMBER_IN, TEAM, Transcript, word, world, write_world, writer
from tests.artifact_factory import Row, write_artifact
from tests.export_factory import ExportFactory
from tests.sql_trace import Trace, traced
from tests.toy_embedder import ToyEmbedder

MARK = "zq7mark"
HOSTILE = f"{MARK}'\"; DROP TABLE search_documents; --"
SEES = Visibility.of_channels(
    {f"T{HOSTILE}": [f"C{HOSTILE}"], "T1": ["C1"]},
    denied_author_ids=[f"U{HOSTILE}"],
    denied_document_ids=[f"D{HOSTILE}"],
)
HARD_FILTERS = Filters(
    workspace_ids=("T1", f"T{HOSTILE}"),
    channel_ids=("C1", f"C{HOSTILE}"),
    author_ids=("U1", f"U{HOSTILE}"),
    excluded_channel_ids=(f"X{HOSTILE}",),
    excluded_author_ids=(f"Y{HOSTILE}",),
    start_ts_us=1,
    has=("link",),
    is_thread=True,
    phrases=(HOSTILE,),
    excluded_phrases=(f"{HOSTILE} {HOSTILE}",),
    excluded_words=(MARK,),
)


def hostile_archive(folder: Path) -> Path:
    """Write an artifact whose names, texts and ids hold the marker."""
    where = {"channel": f"C{MARK}", "channel_name": HOSTILE, "author": f"U{MARK}", "author_name": HOSTILE}
    rows = [
        Row(key="m0", thread="m0", parent=True, text=f"{HOSTILE} root", vector=(1, 0, 0), **where),
        Row(key="m1", thread="m0", text=f"{HOSTILE} reply", minute=1, vector=(0, 1, 0), **where),
        Row(key="plain", text=f"lunch {MARK}", minute=2, vector=(0, 0, 1)),
    ]
    return write_artifact(folder, rows)


def use_engine(artifact: Artifact) -> None:
    """Ask the engine for all it has, with the marker everywhere; what it refuses is refused."""
    embedder = ToyEmbedder(dimensions=3)
    everything = Visibility.everything()
    requests = [
        SearchRequest(text=text, mode=mode, filters=filters, sort=sort)
        for text in (MARK, HOSTILE, f'"{HOSTILE}" -{MARK}')
        for mode in Mode
        for filters in (Filters(), HARD_FILTERS)
        for sort in (Sort.RELEVANCE, Sort.NEWEST)
    ]
    asked: list[Callable[[], object]] = [
        *(
            partial(search_slack, artifact, request, visibility=sees, embedder=embedder)
            for request in requests
            for sees in (everything, SEES)
        ),
        lambda: search_slack(
            artifact,
            SearchRequest(text="", mode=Mode.SEMANTIC, similar_to=f"T1:C{MARK}:m0"),
            visibility=everything,
            embedder=embedder,
        ),
        lambda: search_slack(
            artifact, SearchRequest(text="", filters=HARD_FILTERS), visibility=everything, embedder=embedder
        ),
        lambda: search_slack(
            artifact, SearchRequest(text="lunch", cursor=HOSTILE), visibility=everything, embedder=embedder
        ),
        lambda: read_names(artifact, visibility=SEES),
        lambda: find_author_ids(artifact, visibility=SEES),
        lambda: find_message_id(artifact, workspace_id="T1", channel_id=HOSTILE, ts="1.000000", visibility=SEES),
        lambda: get_slack_message(artifact, HOSTILE, visibility=SEES),
        lambda: get_slack_message(artifact, f"T1:C{MARK}:m0", visibility=everything),
        lambda: get_slack_thread(artifact, HOSTILE, visibility=SEES, around=HOSTILE),
        lambda: get_slack_thread(artifact, f"T1:C{MARK}:m0", visibility=everything, around=f"T1:C{MARK}:m1"),
        lambda: list_slack_scopes(artifact, visibility=SEES),
        lambda: visibility_as(artifact, f"U{MARK}"),
        lambda: direct_message_channels(artifact, user_id=f"U{HOSTILE}", workspace_ids=("T1", HOSTILE)),
        lambda: verify_lists(artifact, queries=3),
    ]
    for ask in asked:
        try:
            ask()
        except RequestError:
            continue


@pytest.mark.parametrize("resident_mb", [0, 64], ids=["by DuckDB", "from memory"])
def test_the_engine_binds_every_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resident_mb: int) -> None:
    path = hostile_archive(tmp_path)
    with traced(monkeypatch) as trace, Artifact(path) as artifact:
        artifact.load(budget_mb=resident_mb)
        assert (artifact.residency.resident is not None) is (resident_mb > 0)
        use_engine(artifact)

    assert len(trace.duckdb) > 100
    assert trace.has_bound(MARK)
    assert trace.holding(MARK) == []


@pytest.mark.parametrize("resident_mb", [0, 64], ids=["by DuckDB", "from memory"])
def test_every_surface_of_the_bot_binds_every_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resident_mb: int
) -> None:
    """Searches, pages, threads, context, More, votes, Share, similar, form, recents, Home."""
    folder = write_world(tmp_path / "world", None)
    monkeypatch.setattr(access_worlds, "ArtifactStore", partial(ArtifactStore, resident_mb=resident_mb))

    async def use_all() -> Trace:
        with traced(monkeypatch) as trace:
            async with world(folder, None) as services:
                transcript = Transcript(services=services, user_id=MEMBER_IN, kind="public")
                answers = {**await transcript.ask(), **await transcript.page_through()}
                assert not any(answer.startswith(("DuckDB", "AssertionError")) for answer in answers.values())
                assert services.store is not None
                assert services.store.failures == 0
        return trace

    trace = asyncio.run(use_all())
    channel = CHANNELS["public"]

    assert len(trace.duckdb) > 100
    assert len(trace.sqlite) > 10
    assert all(trace.has_bound(text) for text in (word("public"), channel.id, MEMBER_IN))
    private = (word("public"), writer("public"), channel.id, channel.name, MEMBER_IN, f"'{TEAM}'", HOME, "'common'")
    assert trace.holding(*private) == []


def test_the_store_binds_every_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vote = Vote(
        team_id=HOSTILE,
        user_id=HOSTILE,
        query_key=HOSTILE,
        document_id=HOSTILE,
        verdict=Verdict.GOOD,
        text=HOSTILE,
        understood=HOSTILE,
        command=HOSTILE,
        mode="hybrid",
        rank=1,
        artifact_id=HOSTILE,
        voted_us=1,
    )
    with traced(monkeypatch) as trace:
        file = StoreFile(tmp_path / "store.sqlite3")
        file.put_vote(vote)
        assert file.votes() == (vote,)
        assert file.find_verdict(HOSTILE, HOSTILE, query_key=HOSTILE, document_id=HOSTILE) is Verdict.GOOD
        file.drop_vote(HOSTILE, HOSTILE, query_key=HOSTILE, document_id=HOSTILE)
        file.put_recent(HOSTILE, HOSTILE, RecentSearch(command=HOSTILE, shown=HOSTILE, searched_us=1))
        assert file.recents(HOSTILE, HOSTILE, limit=5)[0].command == HOSTILE
        file.drop_recents(HOSTILE, HOSTILE)
        assert file.take_envelopes([(HOSTILE, HOSTILE + "2")], now_s=1.0) == [True]
        file.close()

    assert trace.has_bound(MARK)
    assert trace.holding(MARK) == []


@pytest.mark.parametrize("kind", ["export", "slackdump"])
def test_a_build_binds_every_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Twice, because the second build reads vectors and tokens of the first."""
    export = ExportFactory()
    export.user(f"U{MARK.upper()}", name=HOSTILE, display_name=HOSTILE, real_name=HOSTILE)
    export.channel(f"C{MARK.upper()}", MARK, members=[f"U{MARK.upper()}"])
    export.thread(f"C{MARK.upper()}", "1700000000.000100", [f"{HOSTILE} root", f"{HOSTILE} reply"])
    source = (
        export.write_zip(tmp_path / f"{MARK}.zip")
        if kind == "export"
        else export.write_slackdump(tmp_path / f"{MARK}.sqlite")
    )
    identity = WorkspaceIdentity(workspace_id=f"T{MARK}", name=HOSTILE, url="https://example.slack.com/")
    with traced(monkeypatch) as trace:
        for _ in range(2):
            build_artifact(
                [source],
                tmp_path / "archive",
                workspace=identity,
                embedder=ToyEmbedder(),
                denied=frozenset({f"C{HOSTILE}"}),
                clock=lambda: datetime.now(UTC),
            )

    assert len(trace.duckdb) > 20
    assert trace.holding(MARK) == []


def test_the_trace_sees_a_text_that_is_put_into_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above could not fail."""
    path = hostile_archive(tmp_path)
    with traced(monkeypatch) as trace, Artifact(path) as artifact, artifact.cursor() as cursor:
        cursor.execute(f"SELECT '{MARK}'").fetchone()
        with sqlite3.connect(tmp_path / "any.sqlite3") as connection:
            connection.execute(f"SELECT '{MARK}'")
        connection.close()

    assert trace.holding(MARK.upper()) == [f"SELECT '{MARK}'"] * 2
