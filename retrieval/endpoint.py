"""The client of an embedding service: Ollama's `/api/embed` or an OpenAI-compatible `/v1/embeddings`."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.endpoint_address import EndpointAddress, ReplyShape, is_allowed_address, resolve_host
from retrieval.errors import EmbeddingInvalidError, EmbeddingUnavailableError
from retrieval.models import EmbeddingSpec

QUERY_SECONDS: Final = 5.0
DOCUMENT_SECONDS: Final = 60.0
BATCH_TEXTS: Final = 64
BATCH_CHARACTERS: Final = 48_000
# About 2,000 tokens, which is what Ollama reads by default. Ollama cuts longer texts itself; vLLM, TEI and
# llama.cpp refuse them, and one long message would then stop a whole build.
TEXT_CHARACTERS: Final = 8_000
REPLY_BYTES: Final = 64 * 1024 * 1024

# Time that a caller grants beyond the limit for the cancelled exchange to say what it was waiting for.
_GRACE_SECONDS: Final = 0.1

Resolver = Callable[[str, int], Sequence[str]]
_T = TypeVar("_T")


class _Reply(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)


class _OllamaReply(_Reply):
    embeddings: list[list[float]]


class _OpenAIItem(_Reply):
    index: int
    embedding: list[float]


class _OpenAIReply(_Reply):
    data: list[_OpenAIItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """How an embedding service is reached.

    Attributes:
        allow_public: Whether addresses outside loopback and private networks may be called.
        query_seconds: Total time for a query, from name resolution to the last byte.
        document_seconds: The same for one batch of documents.
        batch_texts: Documents in one request, at most.
        batch_characters: Characters in one request, at most, a single longer document aside.
        text_characters: Leading characters of a text that are sent; more is cut.
        transport: Stands in for the network; names are still resolved and addresses still checked.
        resolve: Turns a host name and port into addresses.
    """

    allow_public: bool = False
    query_seconds: float = QUERY_SECONDS
    document_seconds: float = DOCUMENT_SECONDS
    batch_texts: int = BATCH_TEXTS
    batch_characters: int = BATCH_CHARACTERS
    text_characters: int = TEXT_CHARACTERS
    transport: httpx.AsyncBaseTransport | None = None
    resolve: Resolver = resolve_host


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


@cache
def _no_tls_context() -> ssl.SSLContext:
    # Loading the certificate store takes longer than a whole query; plain http never uses it.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _run_within(work: Callable[[], _T], *, seconds: float) -> _T:
    """Run `work` in a thread of its own and wait for it no longer than `seconds`.

    httpx's limits are per operation: a server that sends a byte now and then never meets them, and name
    resolution has no limit at all. The thread is a daemon and ends with its own, inner limit.
    """
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as exc:  # noqa: BLE001 - handed to the caller, who raises it
            outcome.set_exception(exc)

    threading.Thread(target=run, name="embedding-request", daemon=True).start()
    return outcome.result(timeout=seconds)


class EndpointEmbedder:
    """Turns texts into vectors through an embedding service; thread-safe, keeps no connection open.

    The task prefix of the spec is put before every text, exactly once and whatever the text begins with: a
    text is data, so a message that itself starts with `search_query: ` keeps those words and gets the prefix too.

    Args:
        address: From `parse_endpoint`.
        spec: The model to ask for, its prefixes and lengths.
        options: Limits and permissions.
    """

    def __init__(
        self, address: EndpointAddress, spec: EmbeddingSpec, *, options: EndpointOptions | None = None
    ) -> None:
        self.spec = spec
        self._address = address
        self._options = options or EndpointOptions()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, in order: `(len(texts), dimensions)` float32, L2 norm 1.

        Raises:
            EmbeddingUnavailableError: Refused, timed out, an HTTP error or a redirect.
            EmbeddingInvalidError: The answer cannot be the vectors of these texts.
        """
        parts = [
            self._embed(batch, prefix=self.spec.document_prefix, seconds=self._options.document_seconds)
            for batch in self._batches(texts)
        ]
        if not parts:
            return np.empty((0, self.spec.dimensions), dtype=np.float32)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query: `(dimensions,)` float32, L2 norm 1.

        Raises:
            EmbeddingUnavailableError: Refused, timed out, an HTTP error or a redirect.
            EmbeddingInvalidError: The answer cannot be a vector of this model.
        """
        vectors = self._embed([text], prefix=self.spec.query_prefix, seconds=self._options.query_seconds)
        return np.array(vectors[0])

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        start, characters = 0, 0
        for position, text in enumerate(texts):
            size = min(len(text), self._options.text_characters)
            full = position - start >= self._options.batch_texts
            if position > start and (full or characters + size > self._options.batch_characters):
                yield texts[start:position]
                start, characters = position, 0
            characters += size
        if start < len(texts):
            yield texts[start:]

    def _embed(self, texts: Sequence[str], *, prefix: str, seconds: float) -> NDArray[np.float32]:
        rows = request_rows(
            self._address,
            [prefix + text[: self._options.text_characters] for text in texts],
            model=self.spec.model,
            seconds=seconds,
            options=self._options,
        )
        return fit_vectors(rows, spec=self.spec, source=str(self._address))


def request_rows(
    address: EndpointAddress,
    inputs: Sequence[str],
    *,
    model: str,
    seconds: float,
    options: EndpointOptions,
) -> list[list[float]]:
    """Ask a service for one row of numbers a text, in order, whatever their length.

    Args:
        address: From `parse_endpoint`.
        inputs: Texts with their prefix. Lone surrogates, which JSON cannot carry, become question marks.
        model: The model's name.
        seconds: Total time, from name resolution to the last byte.
        options: Limits and permissions; its own times are not used.

    Raises:
        EmbeddingUnavailableError: Refused, timed out, an HTTP error, a redirect or a forbidden address.
        EmbeddingInvalidError: Not JSON, keys missing, or another number of rows than texts.
    """
    payload: dict[str, object] = {
        "model": model,
        "input": [text.encode("utf-8", "replace").decode("utf-8") for text in inputs],
    }
    content = _exchange(address, payload, seconds=seconds, options=options)
    rows = _parse_rows(content, address)
    if len(rows) != len(inputs):
        raise EmbeddingInvalidError(
            f"The embedding service at {address} answered {len(rows)} vectors for {len(inputs)} texts."
        )
    return rows


def _exchange(
    address: EndpointAddress, payload: dict[str, object], *, seconds: float, options: EndpointOptions
) -> bytes:
    """Send one request and return its answer, within a total time; httpx's errors end here."""

    def work() -> bytes:
        started = time.monotonic()
        addresses = _allowed_addresses(address, options)
        left = max(0.001, seconds - (time.monotonic() - started))
        return asyncio.run(_post(address, addresses, payload, seconds=left, transport=options.transport))

    try:
        return _run_within(work, seconds=seconds + _GRACE_SECONDS)
    except (TimeoutError, httpx.TimeoutException) as exc:
        raise EmbeddingUnavailableError(
            f"The embedding service at {address} did not answer within {seconds:g} s."
        ) from exc
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as exc:
        raise EmbeddingUnavailableError(
            f"The embedding service at {address} cannot be reached ({type(exc).__name__})."
        ) from exc


def _allowed_addresses(address: EndpointAddress, options: EndpointOptions) -> Sequence[str]:
    try:
        found = options.resolve(address.url.host, address.port)
    except (OSError, UnicodeError) as exc:
        raise EmbeddingUnavailableError(f"The host of the embedding service at {address} is not known.") from exc
    if not found:
        raise EmbeddingUnavailableError(f"The host of the embedding service at {address} has no address.")
    # Every address must pass: with one public address among them, which one is called would be chance.
    if not all(is_allowed_address(entry, allow_public=options.allow_public) for entry in found):
        raise EmbeddingUnavailableError(
            f"The embedding service at {address} is not on this machine or a private network, "
            "and messages are not sent elsewhere unless public addresses are allowed."
        )
    return found


async def _post(
    address: EndpointAddress,
    addresses: Sequence[str],
    payload: dict[str, object],
    *,
    seconds: float,
    transport: httpx.AsyncBaseTransport | None,
) -> bytes:
    """Send to the first of the checked addresses that accepts a connection."""
    verify = _tls_context() if address.url.scheme == "https" else _no_tls_context()
    auth = (address.url.username, address.url.password) if address.url.userinfo else None
    async with (
        asyncio.timeout(seconds),
        httpx.AsyncClient(
            transport=transport, verify=verify, auth=auth, timeout=seconds, trust_env=False, follow_redirects=False
        ) as client,
    ):
        for entry in addresses[:-1]:
            try:
                return await _post_to(client, address, entry, payload)
            except httpx.ConnectError:
                continue
        return await _post_to(client, address, addresses[-1], payload)


async def _post_to(
    client: httpx.AsyncClient, address: EndpointAddress, entry: str, payload: dict[str, object]
) -> bytes:
    # The checked address is called, not the name again: a name may resolve differently the second time.
    request = client.build_request(
        "POST",
        address.url.copy_with(host=entry, userinfo=b""),
        json=payload,
        headers={"Host": address.url.netloc.decode("ascii"), "Accept": "application/json"},
        extensions={"sni_hostname": address.url.raw_host.decode("ascii")},
    )
    response = await client.send(request, stream=True)
    try:
        if response.is_redirect:
            raise EmbeddingUnavailableError(
                f"The embedding service at {address} redirects elsewhere, which is not followed."
            )
        if response.status_code != httpx.codes.OK:
            raise EmbeddingUnavailableError(
                f"The embedding service at {address} answered with HTTP status {response.status_code}."
            )
        return await _read(response, address)
    finally:
        await response.aclose()


async def _read(response: httpx.Response, address: EndpointAddress) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > REPLY_BYTES:
            raise EmbeddingInvalidError(
                f"The embedding service at {address} answered more than {REPLY_BYTES // 2**20} MB."
            )
    return bytes(content)


def _parse_rows(content: bytes, address: EndpointAddress) -> list[list[float]]:
    """Return the rows of an answer in the order of the texts."""
    try:
        if address.shape is ReplyShape.OLLAMA:
            return _OllamaReply.model_validate_json(content).embeddings
        items = _OpenAIReply.model_validate_json(content).data
    except ValidationError as exc:
        # Without its cause: an answer may quote the texts that were sent.
        raise EmbeddingInvalidError(_describe(exc, address)) from None
    ordered = sorted(items, key=lambda item: item.index)
    if [item.index for item in ordered] != list(range(len(ordered))):
        raise EmbeddingInvalidError(
            f"The embedding service at {address} answered with repeated or missing `index` numbers."
        )
    return [item.embedding for item in ordered]


def _describe(error: ValidationError, address: EndpointAddress) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return f"The embedding service at {address} answered with something that is not JSON."
    place = ".".join("#" if isinstance(part, int) else part for part in first["loc"]) or "the answer"
    if first["type"] == "missing":
        return f"The embedding service at {address} answered without `{place}`."
    return f"The embedding service at {address} answered with something else than numbers in `{place}`."


def fit_vectors(rows: Sequence[Sequence[float]], *, spec: EmbeddingSpec, source: str) -> NDArray[np.float32]:
    """Check rows against a spec, keep their leading numbers and bring them to length 1.

    Args:
        rows: One row a text, each of the model's native length.
        spec: Says the native length and how many numbers are kept.
        source: Names the service in errors.

    Returns:
        `(len(rows), spec.dimensions)` float32, every row of L2 norm 1.

    Raises:
        EmbeddingInvalidError: Another length, NaN or infinity, or nothing but zeros before or after the cut.
    """
    for row in rows:
        if len(row) != spec.native_dimensions:
            raise EmbeddingInvalidError(
                f"The embedding service at {source} answered {len(row)} numbers a text; "
                f"the model {spec.model} has {spec.native_dimensions}."
            )
    native = np.array(rows, dtype=np.float64).reshape(len(rows), spec.native_dimensions)
    if not np.isfinite(native).all():
        raise EmbeddingInvalidError(f"The embedding service at {source} answered NaN or infinity.")
    kept = native[:, : spec.dimensions]
    # Scaled first, so that squares of very large or very small numbers stay within float64.
    largest = np.abs(kept).max(axis=1, keepdims=True, initial=0.0)
    if not (largest > 0.0).all():
        part = "" if not native.any(axis=1).all() else f" in its first {spec.dimensions} numbers"
        raise EmbeddingInvalidError(f"The embedding service at {source} answered a vector of zeros{part}.")
    scaled = kept / largest
    unit: NDArray[np.float32] = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
    return unit
