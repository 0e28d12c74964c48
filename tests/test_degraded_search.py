"""Searching while the embedding service misbehaves: keyword results with a warning, never a wrong comparison."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from retrieval import (
    Artifact,
    EmbedderFactory,
    EmbeddingError,
    EmbeddingSpec,
    Mode,
    SearchRequest,
    Visibility,
    search_slack,
)
from retrieval.endpoint import EndpointOptions
from tests.artifact_factory import Row, write_artifact
from tests.fake_endpoint import FakeEndpoint, Fault, toy_vector

TEXTS = ("the queue is stuck", "deploys fail on fridays", "lunch menu")
SPEC = EmbeddingSpec(
    model="nomic-embed-text",
    revision="",
    query_prefix="search_query: ",
    document_prefix="search_document: ",
    native_dimensions=768,
    dimensions=512,
)
LIMIT_SECONDS = 0.5


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(dimensions=768) as running:
        yield running


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    rows = [
        Row(key=f"{n}", text=text, minute=n, vector=tuple(toy_vector(text, 768)[:512])) for n, text in enumerate(TEXTS)
    ]
    with Artifact(write_artifact(tmp_path_factory.mktemp("degraded"), rows, spec=SPEC)) as artifact:
        yield artifact


@pytest.fixture
def embedders(endpoint: FakeEndpoint) -> EmbedderFactory:
    endpoint.fault, endpoint.dimensions = Fault.NONE, 768
    return EmbedderFactory(endpoint.ollama_url, options=EndpointOptions(query_seconds=LIMIT_SECONDS))


FAULTS = [
    (Fault.NONE, 512),
    (Fault.NONE, 511),
    (Fault.NONE, 1024),
    (Fault.NAN, 768),
    (Fault.ZEROS, 768),
    (Fault.ONE_TOO_FEW, 768),
    (Fault.ONE_TOO_MANY, 768),
    (Fault.HTML, 768),
    (Fault.STATUS_503, 768),
    (Fault.HANG, 768),
]


def test_a_healthy_service_ranks_by_meaning(archive: Artifact, embedders: EmbedderFactory) -> None:
    request = SearchRequest(text="queue is stuck", mode=Mode.SEMANTIC)
    page = search_slack(
        archive, request, visibility=Visibility.everything(), embedder=embedders.for_artifact(archive.info)
    )

    assert page.hits[0].document.text == TEXTS[0]
    assert np.isclose(page.hits[0].score, page.hits[0].contributions[0].score)


@pytest.mark.parametrize(("fault", "dimensions"), FAULTS)
def test_hybrid_gives_keyword_results_with_a_warning_in_time(
    archive: Artifact, endpoint: FakeEndpoint, embedders: EmbedderFactory, fault: Fault, dimensions: int
) -> None:
    """B23: whatever the service does, the keyword result comes, marked as such, within the time limit."""
    endpoint.fault, endpoint.dimensions = fault, dimensions
    begun = time.monotonic()
    page = search_slack(
        archive,
        SearchRequest(text="queue stuck"),
        visibility=Visibility.everything(),
        embedder=embedders.for_artifact(archive.info),
    )

    assert time.monotonic() - begun < LIMIT_SECONDS + 2
    assert page.hits[0].document.text == TEXTS[0]
    assert page.degraded
    assert any("meaning is not available" in warning for warning in page.warnings)
    assert "semantic" not in page.weights


@pytest.mark.parametrize(("fault", "dimensions"), FAULTS)
def test_semantic_mode_says_what_is_wrong_in_time(
    archive: Artifact, endpoint: FakeEndpoint, embedders: EmbedderFactory, fault: Fault, dimensions: int
) -> None:
    """B23: a clear sentence instead of a comparison of wrong vectors."""
    endpoint.fault, endpoint.dimensions = fault, dimensions
    request = SearchRequest(text="queue stuck", mode=Mode.SEMANTIC)
    begun = time.monotonic()

    with pytest.raises(EmbeddingError) as caught:
        search_slack(
            archive, request, visibility=Visibility.everything(), embedder=embedders.for_artifact(archive.info)
        )
    assert time.monotonic() - begun < LIMIT_SECONDS + 2
    assert str(caught.value).endswith(".")
    assert "queue stuck" not in str(caught.value)


def test_the_query_prefix_is_sent_exactly_once(
    archive: Artifact, endpoint: FakeEndpoint, embedders: EmbedderFactory
) -> None:
    """B23: a missing or doubled task prefix makes a vector of something else."""
    before = len(endpoint.texts)
    request = SearchRequest(text="a text asked once", mode=Mode.SEMANTIC)
    search_slack(archive, request, visibility=Visibility.everything(), embedder=embedders.for_artifact(archive.info))

    assert endpoint.texts[before:] == ["search_query: a text asked once"]


def test_an_archive_without_vectors_says_so(tmp_path: Path, embedders: EmbedderFactory) -> None:
    with Artifact(write_artifact(tmp_path, [Row(key="1", text="some words")])) as artifact:
        hybrid = search_slack(artifact, SearchRequest(text="words"), visibility=Visibility.everything(), embedder=None)
        with pytest.raises(EmbeddingError, match="without vectors"):
            search_slack(
                artifact,
                SearchRequest(text="words", mode=Mode.SEMANTIC),
                visibility=Visibility.everything(),
                embedder=None,
            )

    assert hybrid.hits
    assert any("without vectors" in warning for warning in hybrid.warnings)
