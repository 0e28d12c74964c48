"""No more searches compute at once than there are processors; what waits for a service lets another have its turn."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bot.archive import Archive
from bot.retrieval_pool import RetrievalPool
from bot.turns import Turns
from retrieval import ArtifactInfo, ArtifactStore, EmbedderFactory, Fusion, QueryEmbedder, SearchRequest, Visibility
from tests.bot_harness import GENERAL, build_archive
from tests.export_factory import TEAM_ID


def test_a_turn_is_given_back_whatever_happens() -> None:
    turns = Turns(2)
    with turns.taken():
        assert turns.free == 1
        with turns.given_up():
            assert turns.free == 2
        assert turns.free == 1
    assert turns.free == 2
    with pytest.raises(ConnectionError), turns.taken():
        raise ConnectionError
    assert turns.free == 2


def test_whoever_finds_no_turn_waits_for_one() -> None:
    turns, done = Turns(1), []

    def work() -> None:
        with turns.taken():
            done.append("second")

    second = threading.Thread(target=work)
    with turns.taken():
        second.start()
        done.append("first")
    second.join(timeout=5)

    assert done == ["first", "second"]
    assert turns.free == 1


class _Watching:
    """An embedder that notes how many turns are free while it is asked."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self._embedder = embedder
        self.spec = embedder.spec
        self.archive: Archive | None = None
        self.free: list[int] = []

    def for_artifact(self, _info: ArtifactInfo) -> QueryEmbedder:
        return self

    def embed_query(self, text: str) -> NDArray[np.float32]:
        assert self.archive is not None
        self.free.append(self.archive.turns.free)
        return self._embedder.embed_query(text)


@pytest.mark.parametrize(("asks_service", "free"), [(True, 1), (False, 0)])
async def test_a_search_that_waits_for_a_service_has_no_turn(tmp_path: Path, *, asks_service: bool, free: int) -> None:
    build_archive(tmp_path / "archive")
    store = ArtifactStore(tmp_path / "archive", memory_mb=64, resident_mb=100, query_seconds=10)
    store.refresh()
    assert store.info is not None
    embedder = _Watching(EmbedderFactory().for_artifact(store.info))
    pool = RetrievalPool(workers=1, queue_limit=1, user_limit=1)
    archive = Archive(
        store,
        pool=pool,
        embedders=embedder,
        fusion=Fusion.RRF,
        monotonic=time.monotonic,
        on_embedding_failure=lambda _: None,
        asks_service=asks_service,
    )
    archive.turns, embedder.archive = Turns(1), archive
    visibility = Visibility.of_channels({TEAM_ID: frozenset({GENERAL})})

    page = await archive.search(
        SearchRequest(text="harbour"), asker="U1", visibility=visibility, deadline=time.monotonic() + 10
    )

    assert page.hits
    assert embedder.free == [free]
    assert archive.turns.free == 1
    pool.close()
    store.close()
