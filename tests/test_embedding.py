"""Which model is asked, and the check that it is the artifact's."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval.embedding import (
    PROBE_TEXT,
    QUERY_CACHE_SIZE,
    EmbedderFactory,
    ProbedQueryEmbedder,
    with_probe,
)
from retrieval.endpoint import EndpointEmbedder, EndpointOptions
from retrieval.errors import (
    EmbeddingError,
    EmbeddingInvalidError,
    EmbeddingModelError,
    EmbeddingUnavailableError,
)
from retrieval.known_models import KNOWN_MODELS, find_known_model
from retrieval.minilm import MiniLMEmbedder
from retrieval.models import ArtifactInfo, EmbeddingSpec
from tests.fake_endpoint import FakeEndpoint, FakeService, Fault

URL = "http://127.0.0.1:11434/api/embed"
SPEC = EmbeddingSpec(
    model="nomic-embed-text",
    revision="",
    query_prefix="search_query: ",
    document_prefix="search_document: ",
    native_dimensions=768,
    dimensions=512,
)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def factory_for(service: FakeService, **settings: object) -> EmbedderFactory:
    options = EndpointOptions(transport=service.transport())
    values: dict[str, object] = {"url": URL, "options": options, **settings}
    return EmbedderFactory(**values)  # type: ignore[arg-type]


def info_with(
    spec: EmbeddingSpec | None, *, generation_id: str = "g1", dimensions: int | None = None, vectors: int = 3
) -> ArtifactInfo:
    return ArtifactInfo(
        artifact_id="20260101T000000Z-aaaaaaaa-bbbbbbbb",
        path="/nowhere",
        schema_version=2,
        generation_id=generation_id,
        source_watermark="w",
        document_count=3,
        vector_count=vectors,
        built_at_us=0,
        fts_config={},
        dimensions=dimensions if dimensions is not None else (spec.dimensions if spec else None),
        embedding_spec=spec,
        capabilities=frozenset(),
        indexes_digits=True,
        analyzer=None,
        workspace_ids=("T1",),
    )


def probed_spec(service: FakeService) -> EmbeddingSpec:
    """Return the spec that a build over this service would write, and forget the build's calls."""
    embedder = factory_for(service).for_build()
    assert embedder is not None
    spec = with_probe(embedder)
    service.calls.clear()
    return spec


# Known models.


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("nomic-embed-text", "nomic-embed-text"),
        ("nomic-embed-text:v1.5", "nomic-embed-text"),
        ("nomic-ai/nomic-embed-text-v1.5-GGUF", "nomic-embed-text"),
        ("text-embedding-nomic-embed-text-v1.5", "nomic-embed-text"),
        ("nomic-embed-text-v2-moe:latest", "nomic-embed-text-v2-moe"),
        ("intfloat/multilingual-e5-large", "multilingual-e5-large"),
        ("intfloat/multilingual-e5-large-instruct", "multilingual-e5-large-instruct"),
        ("intfloat/e5-base-v2", "e5-base"),
        ("BAAI/bge-large-zh-v1.5", "bge-large-zh"),
        ("bge-large", "bge-large"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3-embedding"),
        ("snowflake-arctic-embed2", "snowflake-arctic-embed2"),
        ("snowflake-arctic-embed:335m", "snowflake-arctic-embed"),
    ],
)
def test_a_model_is_known_by_its_family(name: str, family: str) -> None:
    known = find_known_model(name)

    assert known is not None
    assert known.name == family


@pytest.mark.parametrize("name", ["", "mystery-model", "nomic-embed-textual", "my-nomic-embed-text"])
def test_other_names_are_not_known(name: str) -> None:
    assert find_known_model(name) is None


def test_families_are_written_as_they_are_compared() -> None:
    names = [model.name for model in KNOWN_MODELS]

    assert names == [name.lower() for name in names]
    assert len(set(names)) == len(names)


# Building.


def test_a_build_without_a_url_uses_the_embedded_model() -> None:
    assert isinstance(EmbedderFactory().for_build("auto"), MiniLMEmbedder)


def test_a_build_with_a_url_uses_the_service_and_512_of_768_numbers() -> None:
    service = FakeService()

    embedder = factory_for(service).for_build()

    assert isinstance(embedder, EndpointEmbedder)
    assert embedder.spec == replace(SPEC, scripts=("Latin",))
    assert service.calls == []


def test_a_build_can_name_another_url_than_the_settings() -> None:
    embedder = EmbedderFactory().for_build("http://127.0.0.1:1/v1/embeddings")

    assert isinstance(embedder, EndpointEmbedder)


def test_a_build_without_vectors_has_no_model() -> None:
    assert EmbedderFactory(URL).for_build("none") is None


def test_a_build_with_a_host_alone_is_told_which_paths_are_understood() -> None:
    with pytest.raises(EmbeddingUnavailableError, match="/api/embed"):
        EmbedderFactory("http://127.0.0.1:11434").for_build()


def test_an_unknown_model_has_no_prefix_and_the_service_is_asked_for_its_length() -> None:
    service = FakeService(dimensions=640)

    embedder = factory_for(service, model="mystery-model").for_build()

    assert embedder is not None
    assert embedder.spec.native_dimensions == 640
    assert embedder.spec.dimensions == 512
    assert service.texts == [PROBE_TEXT]


def test_settings_overrule_what_is_known() -> None:
    service = FakeService(dimensions=320)
    factory = factory_for(
        service,
        model="mystery-model",
        query_prefix="ask: ",
        document_prefix="doc: ",
        native_dimensions=320,
        dimensions=128,
    )

    embedder = factory.for_build()
    assert embedder is not None
    embedder.embed_documents(["a"])
    embedder.embed_query("b")

    assert service.texts == ["doc: a", "ask: b"]
    assert (embedder.spec.native_dimensions, embedder.spec.dimensions) == (320, 128)


def test_a_short_model_keeps_all_its_numbers() -> None:
    embedder = factory_for(FakeService(dimensions=384), model="all-minilm").for_build()

    assert embedder is not None
    assert embedder.spec.dimensions == 384
    assert embedder.embed_documents(["x"]).shape == (1, 384)


def test_the_probe_is_the_documents_vector_of_a_fixed_text() -> None:
    service = FakeService()
    embedder = factory_for(service).for_build()
    assert embedder is not None

    spec = with_probe(embedder)

    assert spec.probe_text == PROBE_TEXT
    np.testing.assert_allclose(spec.probe_vector, embedder.embed_documents([PROBE_TEXT])[0])
    assert service.texts[0] == f"search_document: {PROBE_TEXT}"


# Searching: which model.


def test_an_artifact_of_the_embedded_model_is_searched_with_it_even_if_a_service_is_set() -> None:
    service = FakeService()
    spec = with_probe(MiniLMEmbedder())

    embedder = factory_for(service).for_artifact(info_with(spec))

    assert embedder.embed_query("expired certificate").shape == (384,)
    assert service.calls == []


def test_another_revision_of_the_embedded_model_is_refused() -> None:
    spec = replace(MiniLMEmbedder().spec, revision="0123456789ab")

    with pytest.raises(EmbeddingModelError, match="0123456789ab"):
        EmbedderFactory().for_artifact(info_with(spec))


def test_the_artifacts_own_model_is_asked_for_not_the_one_of_the_settings() -> None:
    service = FakeService(dimensions=1024)
    spec = replace(SPEC, model="mxbai-embed-large", native_dimensions=1024, query_prefix="Q> ")

    factory_for(service, model="nomic-embed-text", query_prefix="other: ").for_artifact(info_with(spec)).embed_query(
        "x"
    )

    assert service.calls[0].model == "mxbai-embed-large"
    assert service.texts == ["Q> x"]


def test_an_artifact_of_a_service_without_a_url_says_what_to_set() -> None:
    with pytest.raises(EmbeddingModelError, match=r"nomic-embed-text.*SLACKQUERY_EMBEDDING_URL"):
        EmbedderFactory().for_artifact(info_with(SPEC))


def test_an_artifact_without_vectors_says_so() -> None:
    with pytest.raises(EmbeddingModelError, match="without vectors"):
        EmbedderFactory(URL).for_artifact(info_with(None))
    with pytest.raises(EmbeddingModelError, match="without vectors"):
        EmbedderFactory(URL).for_artifact(info_with(SPEC, vectors=0))


def test_vectors_of_another_length_than_the_spec_are_never_compared() -> None:
    with pytest.raises(EmbeddingModelError, match="256"):
        EmbedderFactory(URL).for_artifact(info_with(SPEC, dimensions=256))


@pytest.mark.parametrize(
    ("generation_id", "model", "revision"),
    [
        ("nomic-embed-text:v1.5@unpinned:d512:recipe-v1", "nomic-embed-text:v1.5", ""),
        ("nomic-embed-text:v1.5@0a109f422b47:d512:recipe-v1", "nomic-embed-text:v1.5", "0a109f422b47"),
        ("nomic-embed-text-v1.5", "nomic-embed-text-v1.5", ""),
        ("house-model", "house-model", ""),
    ],
)
def test_without_a_spec_the_generation_names_the_model(generation_id: str, model: str, revision: str) -> None:
    service = FakeService()

    embedder = factory_for(service).for_artifact(info_with(None, generation_id=generation_id, dimensions=512))
    vector = embedder.embed_query("who broke it")

    assert service.calls[0].model == model
    assert service.texts == ["search_query: who broke it"]
    assert embedder.spec.revision == revision
    assert embedder.spec.native_dimensions == 768
    assert vector.shape == (512,)


def test_a_generation_that_names_no_known_model_yields_to_the_settings() -> None:
    service = FakeService()
    info = info_with(None, generation_id="generation-7", dimensions=512)

    factory_for(service, model="nomic-embed-text").for_artifact(info).embed_query("x")

    assert service.calls[0].model == "nomic-embed-text"


@pytest.mark.parametrize("dimensions", [512, 511, 1024])
def test_without_a_spec_only_768_numbers_are_accepted(dimensions: int) -> None:
    info = info_with(None, generation_id="nomic-embed-text", dimensions=512)

    with pytest.raises(EmbeddingInvalidError, match=f"{dimensions} numbers"):
        factory_for(FakeService(dimensions=dimensions)).for_artifact(info).embed_query("x")


def test_another_native_length_can_be_set_for_artifacts_without_a_spec() -> None:
    info = info_with(None, generation_id="house-model", dimensions=512)

    embedder = factory_for(FakeService(dimensions=1024), native_dimensions=1024).for_artifact(info)

    assert embedder.embed_query("x").shape == (512,)


def test_the_same_spec_gives_the_same_embedder() -> None:
    factory = factory_for(FakeService())

    assert factory.for_artifact(info_with(SPEC)) is factory.for_artifact(info_with(SPEC))
    assert factory.for_artifact(info_with(SPEC)) is not factory.for_artifact(info_with(replace(SPEC, dimensions=256)))


# Searching: the probe.


def test_the_probe_comes_before_the_first_query_and_only_then() -> None:
    service = FakeService()
    embedder = factory_for(service, clock=Clock()).for_artifact(info_with(probed_spec(service)))

    embedder.embed_query("first")
    embedder.embed_query("second")

    assert service.texts == [f"search_document: {PROBE_TEXT}", "search_query: first", "search_query: second"]


def test_without_a_stored_probe_the_query_goes_out_alone() -> None:
    service = FakeService()

    factory_for(service).for_artifact(info_with(SPEC)).embed_query("first")

    assert service.texts == ["search_query: first"]


def test_another_model_behind_the_same_name_is_found_out() -> None:
    service = FakeService()
    spec = probed_spec(service)
    service.fault = Fault.OTHER_MODEL

    with pytest.raises(EmbeddingModelError, match=r"not the one that made this archive.*cosine -?0\.\d+"):
        factory_for(service).for_artifact(info_with(spec)).embed_query("x")

    assert all(not text.startswith("search_query") for text in service.texts)


def test_a_model_that_is_replaced_later_is_found_out_after_15_minutes() -> None:
    service, clock = FakeService(), Clock()
    embedder = factory_for(service, clock=clock).for_artifact(info_with(probed_spec(service)))
    embedder.embed_query("first")
    service.fault = Fault.OTHER_MODEL

    clock.now += 901
    with pytest.raises(EmbeddingModelError):
        embedder.embed_query("second")
    clock.now += 1
    with pytest.raises(EmbeddingModelError):
        embedder.embed_query("first")


def test_threads_that_come_at_the_same_time_probe_once() -> None:
    with FakeEndpoint() as endpoint:
        spec = probed_spec(endpoint.service)
        embedder = EmbedderFactory(endpoint.ollama_url).for_artifact(info_with(spec))
        start = threading.Barrier(6)
        failures: list[EmbeddingError] = []

        def work(text: str) -> None:
            start.wait()
            try:
                embedder.embed_query(text)
            except EmbeddingError as exc:
                failures.append(exc)

        threads = [threading.Thread(target=work, args=(f"text {number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert endpoint.texts.count(f"search_document: {PROBE_TEXT}") == 1
        assert len(endpoint.calls) == 7


# Searching: a service that is away.


@pytest.mark.parametrize("with_vector", [True, False])
def test_a_failure_is_remembered_for_30_seconds_and_then_forgotten(with_vector: bool) -> None:
    service, clock = FakeService(), Clock()
    spec = probed_spec(service) if with_vector else SPEC
    embedder = factory_for(service, clock=clock).for_artifact(info_with(spec))
    service.fault = Fault.STATUS_503

    with pytest.raises(EmbeddingUnavailableError) as first:
        embedder.embed_query("a")
    clock.now += 29.9
    with pytest.raises(EmbeddingUnavailableError) as second:
        embedder.embed_query("b")
    asked_while_away = len(service.calls)
    service.fault = Fault.NONE
    clock.now += 0.1
    vector = embedder.embed_query("c")

    assert asked_while_away == 1
    assert str(second.value) == str(first.value)
    assert second.value is not first.value
    assert vector.shape == (512,)
    assert len(service.calls) == asked_while_away + (2 if with_vector else 1)


def test_a_hanging_service_costs_its_limit_once() -> None:
    with FakeEndpoint() as endpoint:
        spec = probed_spec(endpoint.service)
        endpoint.fault = Fault.HANG
        factory = EmbedderFactory(endpoint.ollama_url, options=EndpointOptions(query_seconds=0.3), clock=Clock())
        embedder = factory.for_artifact(info_with(spec))

        for text in ("a", "b", "c"):
            with pytest.raises(EmbeddingUnavailableError, match=r"within 0\.3 s"):
                embedder.embed_query(text)

        assert len(endpoint.calls) == 1


def test_a_wrong_answer_to_one_query_does_not_keep_the_next_waiting() -> None:
    service = FakeService()
    embedder = factory_for(service, clock=Clock()).for_artifact(info_with(SPEC))
    service.fault = Fault.NAN
    with pytest.raises(EmbeddingInvalidError):
        embedder.embed_query("a")
    service.fault = Fault.NONE

    assert embedder.embed_query("b").shape == (512,)


def test_a_mismatch_is_probed_again_after_30_seconds() -> None:
    service, clock = FakeService(), Clock()
    embedder = factory_for(service, clock=clock).for_artifact(info_with(probed_spec(service)))
    service.fault = Fault.OTHER_MODEL
    with pytest.raises(EmbeddingModelError):
        embedder.embed_query("a")
    service.fault = Fault.NONE
    with pytest.raises(EmbeddingModelError):
        embedder.embed_query("a")

    clock.now += 30

    assert embedder.embed_query("a").shape == (512,)


# Searching: repeated queries.


class CountingEmbedder:
    """Gives every text its own vector and counts."""

    def __init__(self) -> None:
        self.spec = replace(SPEC, native_dimensions=2, dimensions=2)
        self.queries: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.queries.append(text)
        return np.array([0.6, 0.8], dtype=np.float32)


def counted(change: Callable[[EmbeddingSpec], EmbeddingSpec] = lambda spec: spec) -> tuple:
    inner = CountingEmbedder()
    return inner, ProbedQueryEmbedder(inner, change(inner.spec), clock=Clock())


def test_a_repeated_query_is_not_embedded_again() -> None:
    inner, embedder = counted()

    first = embedder.embed_query("x")
    second = embedder.embed_query("x")

    assert inner.queries == ["x"]
    np.testing.assert_array_equal(first, second)


def test_a_returned_vector_cannot_be_changed() -> None:
    _, embedder = counted()

    with pytest.raises(ValueError, match="read-only"):
        embedder.embed_query("x")[0] = 5.0


def test_the_oldest_query_is_forgotten_first() -> None:
    inner, embedder = counted()
    embedder.embed_query("old")
    for number in range(QUERY_CACHE_SIZE):
        embedder.embed_query(f"new {number}")

    embedder.embed_query(f"new {QUERY_CACHE_SIZE - 1}")
    embedder.embed_query("old")

    assert inner.queries.count("old") == 2
    assert inner.queries.count(f"new {QUERY_CACHE_SIZE - 1}") == 1


def test_a_probe_vector_of_nan_is_a_mismatch() -> None:
    _, embedder = counted(lambda spec: replace(spec, probe_text="p", probe_vector=(float("nan"), 0.0)))

    with pytest.raises(EmbeddingModelError):
        embedder.embed_query("x")
