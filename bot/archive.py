"""What listeners ask the engine, without blocking the event loop: each call leases the artifact in a pool thread."""

import os
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from bot.retrieval_pool import RetrievalPool
from bot.turns import Turns
from retrieval import (
    Artifact,
    ArtifactInfo,
    ArtifactMissingError,
    ArtifactStore,
    EmbeddingError,
    EmbeddingSpec,
    Fusion,
    MessageContext,
    Mode,
    NotFoundError,
    QueryEmbedder,
    ResultPage,
    SearchRequest,
    Thread,
    Visibility,
    direct_message_channels,
    find_author_ids,
    find_message_id,
    get_slack_message,
    get_slack_thread,
    search_slack,
)

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class EmbedderSource(Protocol):
    """Gives the embedder that fits an artifact: `retrieval.EmbedderFactory`."""

    def for_artifact(self, info: ArtifactInfo) -> QueryEmbedder:
        """Return the embedder for queries over that artifact."""
        ...


class _CountingEmbedder:
    """Reports every query's vector that was not to be had; thread-safe."""

    def __init__(self, embedder: QueryEmbedder, on_failure: Callable[[str], None]) -> None:
        self._embedder = embedder
        self._on_failure = on_failure

    @property
    def spec(self) -> EmbeddingSpec:
        return self._embedder.spec

    def embed_query(self, text: str) -> NDArray[np.float32]:
        try:
            return self._embedder.embed_query(text)
        except EmbeddingError as exc:
            self._on_failure(type(exc).__name__)
            raise


class _WaitingEmbedder:
    """Gives a search's turn up while the service is asked for its vector; thread-safe."""

    def __init__(self, embedder: QueryEmbedder, turns: Turns) -> None:
        self._embedder = embedder
        self._turns = turns

    @property
    def spec(self) -> EmbeddingSpec:
        return self._embedder.spec

    def embed_query(self, text: str) -> NDArray[np.float32]:
        with self._turns.given_up():
            return self._embedder.embed_query(text)


class Archive:
    """The engine as the bot uses it. Every call takes the asker, for the pool's limit, and a deadline.

    All raise `PoolError` where the pool takes no more, `TimeoutError` at the deadline, `ArtifactMissingError`
    where nothing serves, and what the engine's function of the same purpose raises. For one event loop.

    Args:
        store: Holds the current artifact.
        pool: Runs the engine.
        embedders: Gives the embedder that fits an artifact.
        fusion: How hybrid mode joins its lists.
        monotonic: A clock in seconds; deadlines are moments of it.
        on_embedding_failure: Told an error's name whenever a query has no vector, in any thread.
        asks_service: Whether vectors come from a service, which is waited for; else they are computed here.

    Attributes:
        turns: How many calls compute at the same time; the pool's other threads wait, for a turn or a service.
    """

    def __init__(
        self,
        store: ArtifactStore,
        *,
        pool: RetrievalPool,
        embedders: EmbedderSource,
        fusion: Fusion,
        monotonic: Callable[[], float],
        on_embedding_failure: Callable[[str], None],
        asks_service: bool = False,
    ) -> None:
        self.turns = Turns(os.cpu_count() or 1)
        self._asks_service = asks_service
        self._store = store
        self._on_embedding_failure = on_embedding_failure
        self._pool = pool
        self._embedders = embedders
        self._fusion = fusion
        self._monotonic = monotonic
        self._without_embedder: str | None = None

    async def search(
        self, request: SearchRequest, *, asker: str, visibility: Visibility, deadline: float
    ) -> ResultPage:
        """Return one page of results; `retrieval.search_slack`."""

        def work(artifact: Artifact) -> ResultPage:
            embedder = self._embedder_for(artifact.info)
            if embedder is not None and self._asks_service:
                embedder = _WaitingEmbedder(embedder, self.turns)
            return search_slack(artifact, request, visibility=visibility, embedder=embedder, fusion=self._fusion)

        return await self._run(work, asker=asker, deadline=deadline)

    async def thread(
        self,
        thread_id: str,
        *,
        asker: str,
        visibility: Visibility,
        deadline: float,
        limit: int,
        offset: int | None = None,
        around: str | None = None,
    ) -> Thread:
        """Return a part of a thread; `retrieval.get_slack_thread`."""
        return await self._run(
            lambda artifact: get_slack_thread(
                artifact, thread_id, visibility=visibility, limit=limit, offset=offset, around=around
            ),
            asker=asker,
            deadline=deadline,
        )

    async def message(
        self,
        document_id: str,
        *,
        asker: str,
        visibility: Visibility,
        deadline: float,
        before: int,
        after: int,
    ) -> MessageContext:
        """Return a message with its neighbours; `retrieval.get_slack_message`."""
        return await self._run(
            lambda artifact: get_slack_message(
                artifact, document_id, visibility=visibility, context_before=before, context_after=after
            ),
            asker=asker,
            deadline=deadline,
        )

    async def find_message(
        self,
        workspace_ids: tuple[str, ...],
        *,
        channel_id: str,
        ts: str,
        asker: str,
        visibility: Visibility,
        deadline: float,
    ) -> str:
        """Return the document id of a message of Slack's, in the first of these workspaces that holds it.

        Raises:
            NotFoundError: None does, or not for this asker.
        """

        def work(artifact: Artifact) -> str:
            for workspace_id in workspace_ids:
                try:
                    return find_message_id(
                        artifact, workspace_id=workspace_id, channel_id=channel_id, ts=ts, visibility=visibility
                    )
                except NotFoundError:
                    continue
            raise NotFoundError(kind="message", identifier=ts)

        return await self._run(work, asker=asker, deadline=deadline)

    async def direct_channels(
        self, user_id: str, workspace_ids: tuple[str, ...], *, deadline: float
    ) -> Mapping[str, frozenset[str]]:
        """Return the DMs and group DMs that a user takes part in; `retrieval.direct_message_channels`.

        Without an archive there are none.
        """

        def work(artifact: Artifact) -> Mapping[str, frozenset[str]]:
            return direct_message_channels(artifact, user_id=user_id, workspace_ids=workspace_ids)

        try:
            return await self._run(work, asker=user_id, deadline=deadline)
        except ArtifactMissingError:
            return {}

    async def authors(self, *, asker: str, visibility: Visibility, deadline: float) -> frozenset[str]:
        """Return who wrote anything that the asker may see; `retrieval.find_author_ids`."""
        return await self._run(
            lambda artifact: find_author_ids(artifact, visibility=visibility), asker=asker, deadline=deadline
        )

    async def info(self, *, asker: str, deadline: float) -> ArtifactInfo:
        """Return what the current artifact is."""
        return await self._run(lambda artifact: artifact.info, asker=asker, deadline=deadline)

    def _embedder_for(self, info: ArtifactInfo) -> QueryEmbedder | None:
        """Return the artifact's embedder, None where its model cannot be had here: keywords still answer."""
        try:
            return _CountingEmbedder(self._embedders.for_artifact(info), self._on_embedding_failure)
        except EmbeddingError as exc:
            self._on_embedding_failure(type(exc).__name__)
            if info.artifact_id != self._without_embedder:
                self._without_embedder = info.artifact_id
                _log.warning("embedder_missing", artifact_id=info.artifact_id, reason=type(exc).__name__)
            return None

    def modes_now(self, info: ArtifactInfo) -> tuple[Mode, ...]:
        """Return the modes that work now: asks the model for a vector; blocks, so not for the event loop."""
        return tuple(Mode) if self._try_model(info, f"status {self._monotonic()}") else (Mode.LEXICAL,)

    def warm(self, info: ArtifactInfo) -> None:
        """Load the artifact's model before the first search needs it; blocks, so not for the event loop."""
        self._try_model(info, "warm up")

    def _try_model(self, info: ArtifactInfo, text: str) -> bool:
        """Return whether the model gives a vector for a text that it was not asked for before."""
        if (embedder := self._embedder_for(info)) is None:
            return False
        try:
            embedder.embed_query(text)
        except EmbeddingError as exc:
            _log.warning("embedder_not_answering", reason=type(exc).__name__)
            return False
        return True

    async def _run(self, work: Callable[[Artifact], T], *, asker: str, deadline: float) -> T:
        def leased() -> T:
            with self.turns.taken(), self._store.lease() as artifact:
                return work(artifact)

        return await self._pool.run(asker, leased, timeout_seconds=max(0.0, deadline - self._monotonic()))
