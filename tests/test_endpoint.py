"""The client of an embedding service, against a stand-in on loopback and in memory."""

import ipaddress
import json
import threading
import time
from dataclasses import replace

import httpx
import numpy as np
import pytest

from retrieval.endpoint import EndpointEmbedder, EndpointOptions, fit_vectors
from retrieval.endpoint_address import ReplyShape, is_allowed_address, parse_endpoint
from retrieval.errors import EmbeddingError, EmbeddingInvalidError, EmbeddingUnavailableError
from retrieval.models import EmbeddingSpec
from tests.fake_endpoint import FakeEndpoint, FakeService, Fault, toy_vector

SPEC = EmbeddingSpec(
    model="nomic-embed-text",
    revision="",
    query_prefix="search_query: ",
    document_prefix="search_document: ",
    native_dimensions=768,
    dimensions=512,
)
OLLAMA = "http://127.0.0.1:11434/api/embed"
OPENAI = "http://127.0.0.1:8080/v1/embeddings"


def embedder_for(service: FakeService, url: str = OLLAMA, **options: object) -> EndpointEmbedder:
    settings = EndpointOptions(transport=service.transport(), **options)  # type: ignore[arg-type]
    return EndpointEmbedder(parse_endpoint(url), SPEC, options=settings)


def quick(url: str, *, seconds: float = 0.3) -> EndpointEmbedder:
    options = EndpointOptions(query_seconds=seconds, document_seconds=seconds)
    return EndpointEmbedder(parse_endpoint(url), SPEC, options=options)


# What is sent.


@pytest.mark.parametrize("url", [OLLAMA, OPENAI])
def test_the_query_prefix_is_sent_exactly_once(url: str) -> None:
    service = FakeService()

    embedder_for(service, url).embed_query("who owns billing")

    assert service.texts == ["search_query: who owns billing"]


def test_the_document_prefix_is_sent_exactly_once() -> None:
    service = FakeService()

    embedder_for(service).embed_documents(["first", "second"])

    assert service.texts == ["search_document: first", "search_document: second"]


def test_a_text_that_begins_like_the_prefix_is_data_and_keeps_its_words() -> None:
    service = FakeService()

    embedder_for(service).embed_query("search_query: is a prefix")

    assert service.texts == ["search_query: search_query: is a prefix"]


@pytest.mark.parametrize("url", [OLLAMA, OPENAI])
def test_a_request_holds_the_model_and_the_texts_and_nothing_else(url: str) -> None:
    service = FakeService()

    embedder_for(service, url).embed_query("x")

    assert service.calls[0].model == "nomic-embed-text"
    assert service.calls[0].keys == ("model", "input")
    assert service.calls[0].path == httpx.URL(url).path


def test_a_lone_surrogate_is_sent_as_a_question_mark() -> None:
    service = FakeService()

    embedder_for(service).embed_query("broken \ud83d emoji")

    assert service.texts == ["search_query: broken ? emoji"]


def test_documents_are_sent_in_batches_by_count() -> None:
    service = FakeService()

    vectors = embedder_for(service, batch_texts=2).embed_documents(["a", "b", "c", "d", "e"])

    assert [len(call.texts) for call in service.calls] == [2, 2, 1]
    assert vectors.shape == (5, 512)


def test_documents_are_sent_in_batches_by_characters_and_a_longer_one_goes_alone() -> None:
    service = FakeService()
    texts = ["a" * 40, "b" * 40, "c" * 40, "d" * 500, "e"]

    embedder_for(service, batch_characters=100).embed_documents(texts)

    assert [len(call.texts) for call in service.calls] == [2, 1, 1, 1]
    assert service.texts == [f"search_document: {text}" for text in texts]


def test_a_long_text_is_cut_because_some_services_refuse_it() -> None:
    service = FakeService()

    embedder_for(service, text_characters=10).embed_documents(["0123456789abc", "short"])

    assert service.texts == ["search_document: 0123456789", "search_document: short"]


def test_no_documents_need_no_request() -> None:
    service = FakeService()

    vectors = embedder_for(service).embed_documents([])

    assert vectors.shape == (0, 512)
    assert service.calls == []


# What comes back.


@pytest.mark.parametrize("url", [OLLAMA, OPENAI])
def test_the_first_numbers_are_kept_and_brought_to_length_one(url: str) -> None:
    vector = embedder_for(FakeService(), url).embed_query("red deer")

    expected = np.array(toy_vector("red deer", 768)[:512])
    assert vector.dtype == np.float32
    assert vector.shape == (512,)
    np.testing.assert_allclose(vector, expected / np.sqrt((expected**2).sum()), atol=1e-6)
    assert abs(float(np.linalg.norm(vector)) - 1.0) < 1e-5


def test_openai_vectors_are_ordered_by_their_index() -> None:
    service = FakeService()
    straight = embedder_for(service, OPENAI).embed_documents(["one", "two", "three"])
    service.fault = Fault.REVERSED

    reversed_reply = embedder_for(service, OPENAI).embed_documents(["one", "two", "three"])

    np.testing.assert_array_equal(straight, reversed_reply)
    assert not np.array_equal(straight[0], straight[2])


@pytest.mark.parametrize("dimensions", [512, 511, 1024, 769, 1, 0])
@pytest.mark.parametrize("url", [OLLAMA, OPENAI])
def test_only_the_native_length_is_accepted(url: str, dimensions: int) -> None:
    service = FakeService()
    service.answer = lambda path, content, headers: (  # type: ignore[method-assign]
        200,
        {},
        json.dumps(
            {"embeddings": [[0.5] * dimensions]}
            if "api" in path
            else {"data": [{"index": 0, "embedding": [0.5] * dimensions}]}
        ).encode(),
    )

    with pytest.raises(EmbeddingInvalidError, match=rf"{dimensions} numbers a text; .* has 768"):
        embedder_for(service, url).embed_query("x")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault.HTML, "not JSON"),
        (Fault.NOT_JSON, "not JSON"),
        (Fault.MISSING_KEYS, "answered without `(embeddings|data)`"),
        (Fault.NOT_NUMBERS, "something else than numbers"),
        (Fault.ONE_TOO_FEW, "1 vectors for 2 texts"),
        (Fault.ONE_TOO_MANY, "3 vectors for 2 texts"),
        (Fault.NAN, "NaN or infinity"),
        (Fault.INFINITY, "NaN or infinity"),
        (Fault.ZEROS, "a vector of zeros"),
        (Fault.ZEROS_AT_THE_START, "a vector of zeros in its first 512 numbers"),
    ],
)
@pytest.mark.parametrize("url", [OLLAMA, OPENAI])
def test_an_answer_that_cannot_be_vectors_is_refused(url: str, fault: Fault, sentence: str) -> None:
    service = FakeService(fault=fault)

    with pytest.raises(EmbeddingInvalidError, match=sentence) as caught:
        embedder_for(service, url).embed_documents(["confidential plans", "more of them"])

    assert str(httpx.URL(url).host) in str(caught.value)
    assert "confidential" not in str(caught.value)


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.endpoint.REPLY_BYTES", 2**20)
    service = FakeService()
    service.answer = lambda path, content, headers: (200, {}, b" " * (2**20 + 1))  # type: ignore[method-assign]

    with pytest.raises(EmbeddingInvalidError, match="more than 1 MB"):
        embedder_for(service).embed_query("x")


def test_repeated_index_numbers_are_refused() -> None:
    with pytest.raises(EmbeddingInvalidError, match="index"):
        embedder_for(FakeService(fault=Fault.REPEATED_INDEX), OPENAI).embed_documents(["a", "b"])


def test_an_answer_that_quotes_the_texts_does_not_reach_the_error() -> None:
    service = FakeService()
    service.answer = lambda path, content, headers: (200, {}, content)  # type: ignore[method-assign]

    with pytest.raises(EmbeddingInvalidError) as caught:
        embedder_for(service).embed_query("confidential plans")

    assert "confidential" not in repr(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1.0])
def test_very_large_and_very_small_numbers_still_give_length_one(scale: float) -> None:
    spec = replace(SPEC, native_dimensions=4, dimensions=2)

    vectors = fit_vectors([[3.0 * scale, 4.0 * scale, 1.0, 1.0]], spec=spec, source="test")

    np.testing.assert_allclose(vectors, [[0.6, 0.8]], atol=1e-6)


# What goes wrong on the way.


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(Fault.STATUS_503, "status 503"), (Fault.STATUS_404, "status 404"), (Fault.REDIRECT, "redirects")],
)
def test_a_status_or_a_redirect_is_unavailable_and_asked_once(fault: Fault, sentence: str) -> None:
    service = FakeService(fault=fault)

    with pytest.raises(EmbeddingUnavailableError, match=sentence):
        embedder_for(service).embed_query("x")

    assert len(service.calls) == 1


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.TRICKLE_HEADERS, Fault.TRICKLE_BODY])
def test_the_limit_is_for_the_whole_call(fault: Fault) -> None:
    """A byte every 50 ms never meets a limit for one read; the whole call must still end."""
    with FakeEndpoint() as endpoint:
        endpoint.fault = fault
        started = time.monotonic()

        with pytest.raises(EmbeddingUnavailableError, match=r"within 0\.3 s"):
            quick(endpoint.ollama_url).embed_query("x")

        assert 0.25 < time.monotonic() - started < 1.5


def test_the_limit_includes_name_resolution() -> None:
    release = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        release.wait(10)
        return ["127.0.0.1"]

    options = EndpointOptions(query_seconds=0.2, resolve=resolve)
    embedder = EndpointEmbedder(parse_endpoint("http://embeddings.internal/api/embed"), SPEC, options=options)
    started = time.monotonic()

    with pytest.raises(EmbeddingUnavailableError, match=r"within 0\.2 s"):
        embedder.embed_query("x")

    assert time.monotonic() - started < 1.5
    release.set()


def test_a_refused_connection_is_unavailable() -> None:
    with FakeEndpoint() as endpoint:
        url = endpoint.ollama_url

    with pytest.raises(EmbeddingUnavailableError, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        quick(url, seconds=2).embed_query("x")


def test_an_unknown_host_is_unavailable() -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    options = EndpointOptions(resolve=resolve)
    embedder = EndpointEmbedder(parse_endpoint("http://nowhere.internal/api/embed"), SPEC, options=options)

    with pytest.raises(EmbeddingUnavailableError, match=r"nowhere\.internal:80 is not known"):
        embedder.embed_query("x")


def test_a_real_server_answers_in_both_shapes_alike() -> None:
    with FakeEndpoint() as endpoint:
        ollama = quick(endpoint.ollama_url, seconds=5).embed_documents(["green hills", "grey walls"])
        openai = quick(endpoint.openai_url, seconds=5).embed_documents(["green hills", "grey walls"])

    np.testing.assert_array_equal(ollama, openai)


def test_the_other_address_of_a_name_is_tried_when_the_first_refuses() -> None:
    """`localhost` is often ::1 and 127.0.0.1, and a service may listen on one only."""
    with FakeEndpoint() as endpoint:
        options = EndpointOptions(resolve=lambda host, port: ["::1", "127.0.0.1"])
        url = endpoint.ollama_url.replace("127.0.0.1", "localhost")

        vector = EndpointEmbedder(parse_endpoint(url), SPEC, options=options).embed_query("x")

        assert vector.shape == (512,)
        assert endpoint.calls[0].headers["host"].startswith("localhost:")


def test_threads_get_their_own_answers() -> None:
    texts = [f"topic number {number}" for number in range(24)]
    found: dict[str, np.ndarray] = {}
    with FakeEndpoint() as endpoint:
        embedder = quick(endpoint.ollama_url, seconds=10)

        def work(mine: list[str]) -> None:
            for text in mine:
                found[text] = embedder.embed_query(text)

        threads = [threading.Thread(target=work, args=(texts[at::4],)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for text in texts:
        expected = np.array(toy_vector(text, 768)[:512])
        np.testing.assert_allclose(found[text], expected / np.linalg.norm(expected), atol=1e-6)


async def test_it_can_be_called_while_an_event_loop_runs() -> None:
    assert embedder_for(FakeService()).embed_query("x").shape == (512,)


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with FakeEndpoint() as endpoint:
        assert quick(endpoint.ollama_url, seconds=5).embed_query("x").shape == (512,)


# Where it may go.


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.8.8.8", "10.1.2.3", "172.31.0.1", "192.168.4.5", "::1", "fd00::1"]
)
def test_loopback_and_private_addresses_are_allowed(address: str) -> None:
    assert is_allowed_address(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "172.32.0.1", "192.0.2.1", "100.64.0.1", "2001:4860::1", "::ffff:8.8.8.8", "198.18.0.1"],
)
def test_public_addresses_need_permission(address: str) -> None:
    assert not is_allowed_address(address)
    assert is_allowed_address(address, allow_public=True)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        str(ipaddress.IPv4Address(0)),
        "::",
        "224.0.0.1",
        "::ffff:169.254.1.1",
    ],
)
def test_link_local_and_unspecified_addresses_are_never_allowed(address: str) -> None:
    assert not is_allowed_address(address)
    assert not is_allowed_address(address, allow_public=True)


@pytest.mark.parametrize("addresses", [["203.0.113.9"], ["10.0.0.5", "203.0.113.9"], ["169.254.169.254"]])
def test_a_name_with_any_address_outside_is_refused_before_anything_is_sent(addresses: list[str]) -> None:
    service = FakeService()
    embedder = embedder_for(service, "http://embeddings.example/api/embed", resolve=lambda host, port: addresses)

    with pytest.raises(EmbeddingUnavailableError, match="not on this machine or a private network"):
        embedder.embed_query("confidential plans")

    assert service.calls == []


def test_a_public_address_is_called_when_that_was_allowed() -> None:
    service = FakeService()
    embedder = embedder_for(
        service,
        "http://embeddings.example/api/embed",
        resolve=lambda host, port: ["203.0.113.9"],
        allow_public=True,
    )

    assert embedder.embed_query("x").shape == (512,)


def test_the_checked_address_is_called_and_the_name_is_the_host_header() -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"embeddings": [[0.5] * 768]})

    options = EndpointOptions(transport=httpx.MockTransport(handle), resolve=lambda host, port: ["fd00::7"])
    EndpointEmbedder(parse_endpoint("http://gpu.internal:11434/api/embed"), SPEC, options=options).embed_query("x")

    assert seen[0].url.host == "fd00::7"
    assert seen[0].url.port == 11434
    assert seen[0].headers["host"] == "gpu.internal:11434"
    assert seen[0].extensions["sni_hostname"] == "gpu.internal"


# How a URL is understood.


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("http://localhost:11434/api/embed", ReplyShape.OLLAMA),
        ("http://localhost:11434/api/embed/", ReplyShape.OLLAMA),
        ("https://10.0.0.1/ollama/api/embed", ReplyShape.OLLAMA),
        ("http://localhost:1234/v1/embeddings", ReplyShape.OPENAI),
        ("http://[::1]:8080/v1/embeddings?key=1", ReplyShape.OPENAI),
    ],
)
def test_the_path_tells_the_shape(url: str, shape: ReplyShape) -> None:
    assert parse_endpoint(url).shape is shape


@pytest.mark.parametrize(
    "url",
    ["http://localhost:11434", "http://localhost:11434/", "http://localhost:11434/api/embeddings", "http://h/v1"],
)
def test_any_other_path_is_refused_with_the_two_that_are_understood(url: str) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=r"/api/embed \(Ollama\) or /v1/embeddings"):
        parse_endpoint(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://host:99999/api/embed",
        "http://host:0/api/embed",
        "",
        "localhost:11434/api/embed",
        "ftp://h/api/embed",
        "http:///api/embed",
        "http://[bad/",
    ],
)
def test_what_is_not_an_http_url_is_refused(url: str) -> None:
    with pytest.raises(EmbeddingUnavailableError):
        parse_endpoint(url)


@pytest.mark.parametrize("fault", [Fault.STATUS_503, Fault.HTML, Fault.ZEROS, Fault.REDIRECT])
def test_a_password_in_the_url_is_used_but_never_shown(fault: Fault) -> None:
    service = FakeService(fault=fault)
    address = parse_endpoint("http://reader:hunter2@127.0.0.1:9/api/embed?key=hunter3")
    embedder = EndpointEmbedder(address, SPEC, options=EndpointOptions(transport=service.transport()))

    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_query("x")

    shown = f"{caught.value!r} {caught.value.__cause__!r} {address!r} {address}"
    assert "hunter" not in shown
    assert "reader" not in shown
    assert service.calls[0].headers["authorization"].startswith("Basic ")


def test_a_password_in_a_url_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(EmbeddingUnavailableError) as caught:
        parse_endpoint("http://reader:hunter2@[bad/api/embed")

    assert "hunter" not in f"{caught.value!r} {caught.value.__cause__!r}"
