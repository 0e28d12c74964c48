"""How texts become vectors: the protocols, the check that the model is the right one, and the factory.

A query is only ever embedded by the model that made the artifact's vectors. Which that is says the artifact's
`EmbeddingSpec`, or, in an artifact of another tool, its `generation_id`.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.endpoint import EndpointEmbedder, EndpointOptions, request_rows
from retrieval.endpoint_address import parse_endpoint
from retrieval.errors import EmbeddingError, EmbeddingModelError, EmbeddingUnavailableError
from retrieval.known_models import NOMIC_PREFIXES, KnownModel, find_known_model
from retrieval.minilm import MINILM_DIMENSIONS, MINILM_MODEL, MINILM_REVISION, MiniLMEmbedder
from retrieval.models import ArtifactInfo, EmbeddingSpec

DEFAULT_DIMENSIONS: Final = 512
DEFAULT_ENDPOINT_MODEL: Final = "nomic-embed-text"

# The length that an artifact without a spec is taken to have had before the cut.
CONTRACT_NATIVE_DIMENSIONS: Final = 768

PROBE_TEXT: Final = "The deploy failed on Friday because a certificate had expired; who can renew it?"
PROBE_COSINE: Final = 0.999
PROBE_AGAIN_SECONDS: Final = 900.0
REMEMBER_FAILURE_SECONDS: Final = 30.0
QUERY_CACHE_SIZE: Final = 256
_CACHED_SPECS: Final = 8

Clock = Callable[[], float]


class DocumentEmbedder(Protocol):
    """Turns documents into vectors; thread-safe."""

    @property
    def spec(self) -> EmbeddingSpec:
        """The model, its prefixes and lengths."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, in order: `(len(texts), dimensions)` float32, L2 norm 1 within 1e-5.

        Raises:
            EmbeddingError: The model is away, or answered with something that cannot be its vectors.
        """


class QueryEmbedder(Protocol):
    """Turns queries into vectors; thread-safe."""

    @property
    def spec(self) -> EmbeddingSpec:
        """The model, its prefixes and lengths."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query: `(dimensions,)` float32, L2 norm 1 within 1e-5.

        Raises:
            EmbeddingError: The model is away, answers nonsense, or is not the artifact's.
        """


class Embedder(DocumentEmbedder, QueryEmbedder, Protocol):
    """Does both with one model."""


def with_probe(embedder: DocumentEmbedder) -> EmbeddingSpec:
    """Return the embedder's spec with the probe text and the vector that the model gives it now.

    Raises:
        EmbeddingError: The model is away, or answered with something that cannot be a vector.
    """
    vector = embedder.embed_documents([PROBE_TEXT])[0]
    return replace(embedder.spec, probe_text=PROBE_TEXT, probe_vector=tuple(float(number) for number in vector))


class ProbedQueryEmbedder:
    """Embeds queries for one artifact, and only while the model at hand is the artifact's; thread-safe.

    Before the first query, and every 15 minutes, the spec's probe text is embedded and compared with its stored
    vector; without a stored vector nothing can be compared. A service that is away, or holds another model, is
    left alone for 30 s: queries in that time get the same error at once instead of waiting for it each. Threads
    that come at the same time probe once. The last 256 queries' vectors are kept and need no service.

    Args:
        embedder: The model at hand.
        spec: The artifact's spec, whose probe is compared.
        clock: Seconds that never go back.
    """

    def __init__(self, embedder: Embedder, spec: EmbeddingSpec, *, clock: Clock = time.monotonic) -> None:
        self.spec = spec
        self._embedder = embedder
        self._clock = clock
        self._probing = Lock()
        self._state = Lock()
        self._probed_at: float | None = None
        self._failure: tuple[float, EmbeddingError] | None = None
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query: `(dimensions,)` float32, L2 norm 1, read-only.

        Raises:
            EmbeddingUnavailableError: The service is away, or was within the last 30 s.
            EmbeddingInvalidError: The service answered with something that cannot be a vector.
            EmbeddingModelError: The service's model is not the artifact's.
        """
        known = self._recall(text)
        if known is not None:
            return known
        self._raise_remembered()
        self._probe_once()
        try:
            vector = self._embedder.embed_query(text)
        except EmbeddingUnavailableError as exc:
            self._remember_failure(exc)
            raise
        return self._remember(text, vector)

    def _recall(self, text: str) -> NDArray[np.float32] | None:
        with self._state:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def _remember(self, text: str, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        vector.flags.writeable = False
        with self._state:
            self._vectors[text] = vector
            if len(self._vectors) > QUERY_CACHE_SIZE:
                self._vectors.popitem(last=False)
        return vector

    def _raise_remembered(self) -> None:
        with self._state:
            if self._failure is None:
                return
            failed_at, error = self._failure
            if self._clock() - failed_at >= REMEMBER_FAILURE_SECONDS:
                self._failure = None
                return
        # A new one each time: an exception object collects the traceback of everyone who raises it.
        raise type(error)(*error.args)

    def _remember_failure(self, error: EmbeddingError) -> None:
        with self._state:
            self._failure = (self._clock(), error)
            self._probed_at = None
            if isinstance(error, EmbeddingModelError):
                self._vectors.clear()

    def _probe_once(self) -> None:
        if not self.spec.probe_vector or self._is_fresh():
            return
        with self._probing:
            # Another thread may have probed while this one waited.
            self._raise_remembered()
            if self._is_fresh():
                return
            try:
                self._probe()
            except EmbeddingError as exc:
                self._remember_failure(exc)
                raise
            with self._state:
                self._probed_at = self._clock()

    def _is_fresh(self) -> bool:
        with self._state:
            return self._probed_at is not None and self._clock() - self._probed_at < PROBE_AGAIN_SECONDS

    def _probe(self) -> None:
        vector = self._embedder.embed_documents([self.spec.probe_text])[0]
        cosine = float(np.dot(vector, np.array(self.spec.probe_vector, dtype=np.float32)))
        if not cosine >= PROBE_COSINE:
            raise EmbeddingModelError(
                f"The model {self.spec.model} at hand is not the one that made this archive's vectors "
                f"(cosine {cosine:.3f} on the probe text). Load the same version, or build the archive again."
            )


class EmbedderFactory:
    """Picks the model for a build or for an artifact; thread-safe.

    Args:
        url: The embedding service, None for the embedded model.
        model: The model to build with. An artifact is always searched with its own, whatever this says, unless
            it names none that is known.
        query_prefix: For models that are not in `KNOWN_MODELS`, or to overrule it.
        document_prefix: The same for documents.
        native_dimensions: The same for the model's length.
        dimensions: How many leading numbers a build keeps; all where the model has fewer.
        options: Limits and permissions of the service.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        url: str | None = None,
        model: str | None = None,
        *,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        native_dimensions: int | None = None,
        dimensions: int = DEFAULT_DIMENSIONS,
        options: EndpointOptions | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._url = url
        self._model = model
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._native_dimensions = native_dimensions
        self._dimensions = dimensions
        self._options = options or EndpointOptions()
        self._clock = clock
        self._lock = Lock()
        self._by_spec: OrderedDict[EmbeddingSpec, ProbedQueryEmbedder] = OrderedDict()

    def for_build(self, choice: str = "auto") -> Embedder | None:
        """Return the model that a build uses, None for a build without vectors.

        Args:
            choice: `auto` (the service if a URL is set, else the embedded model), `none`, or a service's URL.

        Raises:
            EmbeddingUnavailableError: The URL is none that is understood; or the model's length is not known
                and the service cannot be asked for it.
            EmbeddingInvalidError: The service answered that question with nonsense.
        """
        if choice == "none":
            return None
        url = self._url if choice == "auto" else choice
        if url is None:
            return MiniLMEmbedder(dimensions=min(self._dimensions, MINILM_DIMENSIONS))
        return self._build_endpoint(url)

    def for_artifact(self, info: ArtifactInfo) -> QueryEmbedder:
        """Return what embeds queries for an artifact: its own model, the same object for the same spec.

        Raises:
            EmbeddingModelError: The artifact has no vectors, or its model cannot be asked for here.
            EmbeddingUnavailableError: The URL is none that is understood.
        """
        if info.dimensions is None or info.vector_count == 0:
            raise EmbeddingModelError("This archive was built without vectors; only keyword search can be used.")
        spec = info.embedding_spec or self._contract_spec(info.generation_id, info.dimensions)
        if spec.dimensions != info.dimensions or spec.native_dimensions < spec.dimensions:
            raise EmbeddingModelError(
                f"This archive's vectors have {info.dimensions} numbers, but its model {spec.model} is said to "
                f"give {spec.dimensions} of {spec.native_dimensions}."
            )
        with self._lock:
            if spec not in self._by_spec:
                self._by_spec[spec] = ProbedQueryEmbedder(self._embedder(spec), spec, clock=self._clock)
                if len(self._by_spec) > _CACHED_SPECS:
                    self._by_spec.popitem(last=False)
            self._by_spec.move_to_end(spec)
            return self._by_spec[spec]

    def _embedder(self, spec: EmbeddingSpec) -> Embedder:
        if spec.model == MINILM_MODEL:
            if spec.revision and spec.revision != MINILM_REVISION:
                raise EmbeddingModelError(
                    f"This archive's vectors were made by revision {spec.revision} of the embedded model; "
                    f"{MINILM_REVISION} is installed. Build the archive again."
                )
            return MiniLMEmbedder(dimensions=spec.dimensions)
        if self._url is None:
            raise EmbeddingModelError(
                f"This archive's vectors were made by {spec.model}, which needs an embedding service: "
                "set SLACKQUERY_EMBEDDING_URL to one that offers it."
            )
        # The probe goes the documents' way but is waited for by a query.
        options = replace(self._options, document_seconds=self._options.query_seconds)
        return EndpointEmbedder(parse_endpoint(self._url), spec, options=options)

    def _contract_spec(self, generation_id: str, dimensions: int) -> EmbeddingSpec:
        """Return the spec of an artifact that carries none.

        The contract's own tool names generations `MODEL@REVISION:d512:recipe-v1` and always uses nomic's
        prefixes. An id that names no known model is taken for the model's name, unless a setting gives one.
        """
        name, _, rest = generation_id.partition("@")
        if find_known_model(name) is None and name != MINILM_MODEL and self._model is not None:
            name, rest = self._model, ""
        if name == MINILM_MODEL:
            return MiniLMEmbedder(dimensions=min(dimensions, MINILM_DIMENSIONS)).spec
        known = find_known_model(name)
        if known is None or rest.endswith(":recipe-v1"):
            known = KnownModel(name, CONTRACT_NATIVE_DIMENSIONS, *NOMIC_PREFIXES)
        spec = self._spec(name, known)
        native = spec.native_dimensions or CONTRACT_NATIVE_DIMENSIONS
        revision = rest.partition(":")[0].replace("unpinned", "")
        return replace(spec, revision=revision, native_dimensions=native, dimensions=dimensions)

    def _build_endpoint(self, url: str) -> EndpointEmbedder:
        address = parse_endpoint(url)
        name = self._model or DEFAULT_ENDPOINT_MODEL
        spec = self._spec(name, find_known_model(name) or KnownModel(name, 0))
        native = spec.native_dimensions
        if not native:
            rows = request_rows(
                address,
                [spec.document_prefix + PROBE_TEXT],
                model=name,
                seconds=self._options.document_seconds,
                options=self._options,
            )
            native = len(rows[0])
        if not native:
            raise EmbeddingModelError(f"The model {name} answered an empty vector.")
        spec = replace(spec, native_dimensions=native, dimensions=min(self._dimensions, native))
        return EndpointEmbedder(address, spec, options=self._options)

    def _spec(self, name: str, known: KnownModel) -> EmbeddingSpec:
        """Return a spec from what is known, overruled by settings; its `dimensions` are still to be set."""
        return EmbeddingSpec(
            model=name,
            revision="",
            query_prefix=known.query_prefix if self._query_prefix is None else self._query_prefix,
            document_prefix=known.document_prefix if self._document_prefix is None else self._document_prefix,
            native_dimensions=self._native_dimensions or known.native_dimensions,
            dimensions=0,
            scripts=known.scripts,
        )
