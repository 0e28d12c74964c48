"""The frozen records that the engine's modules and its callers exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# What a reader would call recent.
_RECENT_DAYS: Final = 30


class Mode(StrEnum):
    """How a query is ranked."""

    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class Fusion(StrEnum):
    """How hybrid search joins its ranked lists."""

    RRF = "rrf"
    RRF_FIXED = "rrf-fixed"
    LINEAR = "linear"
    LINEAR_FIXED = "linear-fixed"


class QueryClass(StrEnum):
    """What kind of query a text is; decides the weights in hybrid mode."""

    EXACT = "exact"
    CONCEPTUAL = "conceptual"
    MIXED = "mixed"


class Retriever(StrEnum):
    """Where a candidate comes from."""

    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    CONTEXT = "context"
    EXACT = "exact"
    RECENCY = "recency"


class DocumentKind(StrEnum):
    """The kinds of row in an artifact."""

    MESSAGE = "message"
    FILE_CHUNK = "file_chunk"
    THREAD_CONTEXT = "thread_context"


class Sort(StrEnum):
    """The order of a result list."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a hit must satisfy beside matching; every condition narrows.

    Attributes:
        workspace_ids: Any of these; empty means no condition. At most 100, as for the next two.
        channel_ids: Any of these channels.
        author_ids: Any of these authors.
        excluded_channel_ids: None of these channels.
        excluded_author_ids: None of these authors.
        start_ts_us: Unix microseconds, inclusive.
        end_ts_us: Unix microseconds, inclusive.
        kinds: Document kinds; messages and file chunks unless said otherwise.
        has: Any subset of `link`, `file`, `code`; all must hold.
        is_thread: Only messages that belong to a thread of two or more.
        phrases: Each must stand in the text verbatim, case and accents aside.
        excluded_phrases: None may stand in the text.
        excluded_words: None may stand in the text as a word of its own, case and accents aside.
    """

    workspace_ids: tuple[str, ...] = ()
    channel_ids: tuple[str, ...] = ()
    author_ids: tuple[str, ...] = ()
    excluded_channel_ids: tuple[str, ...] = ()
    excluded_author_ids: tuple[str, ...] = ()
    start_ts_us: int | None = None
    end_ts_us: int | None = None
    kinds: tuple[DocumentKind, ...] = (DocumentKind.MESSAGE, DocumentKind.FILE_CHUNK)
    has: tuple[str, ...] = ()
    is_thread: bool = False
    phrases: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    excluded_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search, understood.

    Attributes:
        text: What is searched for, without modifiers; quoted phrases keep their words but not their quotes.
        mode: How to rank.
        filters: What hits must satisfy.
        sort: The order; other than relevance only re-orders what matches.
        limit: Hits a page, 1..50.
        cursor: Where to go on, from an earlier page; None for the first.
        similar_to: A message or file passage by whose own meaning is ranked, without itself; the mode is then
            semantic and the text empty. None for a search by text.
        folds_threads: Whether semantic mode, too, lists one message a thread with the count of the others, and
            then of the nearest 300 alone; hybrid mode always does.
        asked_at_us: The moment from which hybrid mode counts how recent a message is, Unix microseconds; None for
            when the artifact was built, so that a list stays the same for as long as the artifact does.
    """

    text: str
    mode: Mode = Mode.HYBRID
    filters: Filters = field(default_factory=Filters)
    sort: Sort = Sort.RELEVANCE
    limit: int = 10
    cursor: str | None = None
    similar_to: str | None = None
    folds_threads: bool = False
    asked_at_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One entry of a ranked list.

    Attributes:
        document_id: The document.
        rank: From 1.
        score: On the retriever's own scale, higher is better.
    """

    document_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList:
    """What one retriever found: best first, ties by document_id; ranks 1..n without gap, but for recency's days."""

    retriever: Retriever
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One addend of a fused score.

    Attributes:
        retriever: The list it comes from.
        rank: The document's rank in that list, from 1; 0 where it is scored without standing among its best. Recency's
            is the days since it was written, the day of asking being 1.
        score: The document's score in that list; with linear fusion, its normalised score.
        weight: The list's weight for this query.
        value: What it adds; with RRF, weight / (rrf_k + rank), with linear fusion, weight * score.
    """

    retriever: Retriever
    rank: int
    score: float
    weight: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedCandidate:
    """A document with its score and where the score comes from.

    Attributes:
        document_id: The document.
        score: The sum of the contributions' values.
        contributions: In the order of `Retriever`; a retriever at most once.
        folded: How many further candidates of the same thread stand behind this one.
    """

    document_id: str
    score: float
    contributions: tuple[Contribution, ...]
    folded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One message or file passage as an artifact holds it; anything optional may be None.

    Attributes:
        ts_us: Unix microseconds.
        text: Readable text, names resolved, entities unescaped.
        thread_size: Messages in its thread with its root, 0 where it has none.
        permalink: Into Slack, or None where the workspace's URL is not known.
        metadata: The artifact's metadata_json, parsed.
    """

    document_id: str
    document_kind: DocumentKind
    workspace_id: str
    workspace_name: str | None
    channel_id: str
    channel_name: str | None
    author_id: str | None
    author_name: str | None
    ts_us: int
    thread_id: str | None
    thread_root_id: str | None
    is_thread_parent: bool
    is_thread_reply: bool
    is_thread_broadcast: bool
    text: str
    permalink: str | None
    thread_size: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document on a page of results.

    Attributes:
        document: What was found. A file chunk cites a message that the asker may see.
        rank: Its place in the whole list, from 1.
        score: Fused score in hybrid mode, else the retriever's own score.
        contributions: What the score is made of.
        more_in_thread: Further candidates of the same thread that were folded into this hit.
    """

    document: Document
    rank: int
    score: float
    contributions: tuple[Contribution, ...]
    more_in_thread: int = 0

    @property
    def reasons(self) -> tuple[Contribution, ...]:
        """The contributions that tell a reader why it stands here: where it ranks well, and whether it is recent."""
        return tuple(one for one in self.contributions if one.rank > 0 and self._tells(one))

    def _tells(self, addend: Contribution) -> bool:
        if addend.retriever is Retriever.CONTEXT:
            # A message outside any thread stands in the threads' list for itself.
            return self.document.thread_id is not None
        return addend.retriever is not Retriever.RECENCY or addend.rank <= _RECENT_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """One page of results.

    Attributes:
        request: The request it answers.
        route: The query's class.
        weights: The effective weight of each list, hybrid mode only.
        artifact_id: The artifact searched.
        generation_id: Its embedding generation.
        built_at_us: When it was built, Unix microseconds.
        hits: Best first.
        offset: How many hits stand before this page.
        next_cursor: For the next page, None on the last.
        previous_cursor: For the page before, None on the first.
        warnings: Plain sentences for the reader, such as a degraded mode.
        degraded: Whether the embedding service was missed and keyword search answered alone.
        timings_ms: Milliseconds by stage; `total` is the sum of a wall clock.
        terms: The query's tokens as the index folds them, for highlighting.
        source: What `similar_to` names; None for a search by text.
    """

    request: SearchRequest
    route: QueryClass
    weights: Mapping[str, float]
    artifact_id: str
    generation_id: str
    built_at_us: int
    hits: tuple[Hit, ...]
    offset: int
    next_cursor: str | None
    previous_cursor: str | None
    warnings: tuple[str, ...] = ()
    degraded: bool = False
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    terms: tuple[str, ...] = ()
    source: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContext:
    """A message and its neighbours in the same channel, in time order.

    The neighbours are the channel's, not necessarily of the same discussion.
    """

    message: Document
    before: tuple[Document, ...]
    after: tuple[Document, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Messages of one thread, oldest first.

    Attributes:
        thread_id: The thread.
        root: Its first message, None where the archive lacks it.
        messages: The part that was asked for, with the root where it falls into it.
        offset: How many messages stand before that part.
        total: How many messages the thread has.
        warnings: Plain sentences, such as a missing root.
    """

    thread_id: str
    root: Document | None
    messages: tuple[Document, ...]
    offset: int
    total: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One channel of the archive, with what the asker may know of it.

    Attributes:
        first_ts_us: Its oldest message, Unix microseconds.
        last_ts_us: Its newest.
    """

    workspace_id: str
    channel_id: str
    channel_name: str | None
    message_count: int
    first_ts_us: int
    last_ts_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpec:
    """Which model made an artifact's vectors, and how to ask it for a query's.

    Attributes:
        model: The model's name.
        revision: A revision or digest; empty where unknown.
        query_prefix: Put before every query, exactly once.
        document_prefix: Put before every document, exactly once.
        native_dimensions: The only length accepted from the model.
        dimensions: How many leading numbers are kept before normalising.
        scripts: Unicode scripts (`Latin`, `Greek`, ...) that the model knows; empty means all.
        probe_text: A fixed text whose vector tells whether two models are the same.
        probe_vector: Its vector, `(dimensions,)`, norm 1; empty where unknown.
    """

    model: str
    revision: str
    query_prefix: str
    document_prefix: str
    native_dimensions: int
    dimensions: int
    scripts: tuple[str, ...] = ()
    probe_text: str = ""
    probe_vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactInfo:
    """What an artifact is and what it can do.

    Attributes:
        artifact_id: Its build_id.
        built_at_us: Unix microseconds.
        capabilities: Names of what it has beyond the contract: `channels`, `users`, `embedding_spec`,
            `document_messages`, `lexical_postings`, `resident_parts`.
        indexes_digits: Whether its full-text index keeps digits and `_`.
        analyzer: Version of the analyzer that made its tokens, None where another tool made it.
    """

    artifact_id: str
    path: str
    schema_version: int
    generation_id: str
    source_watermark: str
    document_count: int
    vector_count: int
    built_at_us: int
    fts_config: Mapping[str, object]
    dimensions: int | None
    embedding_spec: EmbeddingSpec | None
    capabilities: frozenset[str]
    indexes_digits: bool
    analyzer: str | None
    workspace_ids: tuple[str, ...]
