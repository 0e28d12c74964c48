"""Queries that take too long are interrupted, and nothing else is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import duckdb
import pytest

from bot.retrieval_pool import RetrievalPool
from bot.texts import TOOK_TOO_LONG, sentence_for
from retrieval import Artifact, ArtifactReadError, ArtifactStore, ArtifactTooSlowError, SearchRequest, Visibility
from retrieval.deadline import Watcher
from retrieval.search import search_slack
from tests.artifact_factory import Row, write_artifact

ROWS = [Row(key=f"m{n}", text=f"lunch number {n}", minute=n, vector=(1, 0, 0)) for n in range(3)]
# Hours of work, in one statement.
ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = -1"


@contextmanager
def opened(folder: Path, *, seconds: float | None) -> Iterator[Artifact]:
    with Artifact(write_artifact(folder, ROWS)) as artifact:
        artifact.query_seconds = seconds
        yield artifact


def run_endless(artifact: Artifact, *, after_seconds: float = 0) -> object:
    with artifact.cursor() as cursor:
        time.sleep(after_seconds)
        return cursor.execute(ENDLESS).fetchone()


def test_a_query_past_its_deadline_is_interrupted(tmp_path: Path) -> None:
    with opened(tmp_path, seconds=0.2) as artifact:
        started = time.monotonic()
        with pytest.raises(ArtifactTooSlowError, match=r"was not read within 0\.2 s"):
            run_endless(artifact)

    assert time.monotonic() - started < 10


def test_the_artifact_answers_on_after_an_interrupted_query(tmp_path: Path) -> None:
    with opened(tmp_path, seconds=0.2) as artifact:
        with pytest.raises(ArtifactTooSlowError):
            run_endless(artifact)
        artifact.query_seconds = 30
        page = search_slack(
            artifact, SearchRequest(text="lunch number 2"), visibility=Visibility.everything(), embedder=None
        )

    assert page.hits[0].document.text == "lunch number 2"


def test_a_deadline_between_two_statements_stops_the_next_one(tmp_path: Path) -> None:
    """DuckDB forgets an interrupt that meets no running statement."""
    with opened(tmp_path, seconds=0.1) as artifact, pytest.raises(ArtifactTooSlowError):
        run_endless(artifact, after_seconds=0.3)


def test_a_query_in_time_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path, seconds=30) as artifact, artifact.cursor() as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)


def test_an_interrupt_by_somebody_else_is_no_deadline(tmp_path: Path) -> None:
    with opened(tmp_path, seconds=30) as artifact, pytest.raises(ArtifactReadError), artifact.cursor():
        raise duckdb.InterruptException("by hand")


def test_what_ended_is_never_interrupted_afterwards() -> None:
    """Its connection may be closed, or be the next query's."""

    class Connection:
        interrupted = 0

        def interrupt(self) -> None:
            self.interrupted += 1

    watcher, connection = Watcher(), Connection()
    with watcher.limit(connection, seconds=0.05):
        pass
    with watcher.limit(other := Connection(), seconds=0.05) as watched:
        time.sleep(0.3)

    assert connection.interrupted == 0
    assert watched.overdue
    assert other.interrupted > 1
    count = other.interrupted
    time.sleep(0.1)
    assert other.interrupted == count


def test_an_earlier_deadline_that_comes_later_is_kept() -> None:
    class Connection:
        at = 0.0

        def interrupt(self) -> None:
            self.at = self.at or time.monotonic()

    watcher, started = Watcher(), time.monotonic()
    with watcher.limit(Connection(), seconds=60), watcher.limit(soon := Connection(), seconds=0.1):
        time.sleep(0.5)

    assert 0.1 <= soon.at - started < 0.5


async def test_an_interrupted_query_frees_its_thread(tmp_path: Path) -> None:
    """The one thread of the pool takes other work once the first query's time is over."""
    pool = RetrievalPool(workers=1, queue_limit=5, user_limit=5)
    try:
        with opened(tmp_path, seconds=0.3) as artifact:
            with pytest.raises((TimeoutError, ArtifactTooSlowError)):
                await pool.run("U1", lambda: run_endless(artifact), timeout_seconds=0.3)
            assert await pool.run("U2", lambda: 7, timeout_seconds=20) == 7
            assert pool.load == 0
    finally:
        pool.close()


def test_a_store_limits_queries_once_the_archive_is_loaded(tmp_path: Path) -> None:
    write_artifact(tmp_path, ROWS, publish=True)
    store = ArtifactStore(tmp_path, query_seconds=0.2)
    try:
        assert store.refresh().problem is None
        with store.lease() as artifact, pytest.raises(ArtifactTooSlowError) as raised:
            run_endless(artifact)
    finally:
        store.close()

    assert sentence_for(cast("Exception", raised.value)) == TOOK_TOO_LONG
