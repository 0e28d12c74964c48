"""The search engine over one immutable artifact.

The query's way: `parse_query` -> `SearchRequest` -> `search_slack` (retrieval/search.py) -> `ResultPage`. Artifacts are
opened by `ArtifactStore` (what a folder publishes) or `Artifact` (one file); every call takes a `Visibility`.
`retrieval.builder` makes artifacts and is imported by name only where that is wanted.
"""

from retrieval.artifact import Artifact
from retrieval.cursor import encode_cursor
from retrieval.dates import parse_instant
from retrieval.diagnosis import Finding, Level, diagnose
from retrieval.directory import Directory, NamedChannel, NameDirectory, NamedPerson
from retrieval.embedding import EmbedderFactory, QueryEmbedder
from retrieval.errors import (
    AmbiguousNameError,
    ArtifactClosedError,
    ArtifactError,
    ArtifactInvalidError,
    ArtifactMissingError,
    ArtifactReadError,
    ArtifactReplacedError,
    CursorError,
    CursorMismatchError,
    CursorRangeError,
    CursorVisibilityError,
    EmbeddingError,
    EmbeddingInvalidError,
    EmbeddingModelError,
    EmbeddingUnavailableError,
    FilterError,
    MalformedCursorError,
    NotFoundError,
    QuerySyntaxError,
    QueryTextError,
    RequestError,
    RetrievalError,
    SourceError,
    StaleCursorError,
    UnknownNameError,
)
from retrieval.expansion import (
    MAX_THREAD_LIMIT,
    find_message_id,
    get_slack_message,
    get_slack_thread,
    list_slack_scopes,
)
from retrieval.grammar import ParsedQuery, parse_query
from retrieval.membership import direct_message_channels, visibility_as
from retrieval.models import (
    ArtifactInfo,
    Contribution,
    Document,
    DocumentKind,
    EmbeddingSpec,
    Filters,
    Fusion,
    Hit,
    MessageContext,
    Mode,
    QueryClass,
    ResultPage,
    Retriever,
    Scope,
    SearchRequest,
    Sort,
    Thread,
)
from retrieval.names import find_author_ids, read_names
from retrieval.passages import Passage, Segment, make_passage
from retrieval.publication import ArtifactEntry, list_artifacts, publish, rollback
from retrieval.retention import Pruned, Retention, prune
from retrieval.search import search_slack, validate_request
from retrieval.store import ArtifactStore, RefreshOutcome
from retrieval.visibility import Visibility

__all__ = [
    "MAX_THREAD_LIMIT",
    "AmbiguousNameError",
    "Artifact",
    "ArtifactClosedError",
    "ArtifactEntry",
    "ArtifactError",
    "ArtifactInfo",
    "ArtifactInvalidError",
    "ArtifactMissingError",
    "ArtifactReadError",
    "ArtifactReplacedError",
    "ArtifactStore",
    "Contribution",
    "CursorError",
    "CursorMismatchError",
    "CursorRangeError",
    "CursorVisibilityError",
    "Directory",
    "Document",
    "DocumentKind",
    "EmbedderFactory",
    "EmbeddingError",
    "EmbeddingInvalidError",
    "EmbeddingModelError",
    "EmbeddingSpec",
    "EmbeddingUnavailableError",
    "FilterError",
    "Filters",
    "Finding",
    "Fusion",
    "Hit",
    "Level",
    "MalformedCursorError",
    "MessageContext",
    "Mode",
    "NameDirectory",
    "NamedChannel",
    "NamedPerson",
    "NotFoundError",
    "ParsedQuery",
    "Passage",
    "Pruned",
    "QueryClass",
    "QueryEmbedder",
    "QuerySyntaxError",
    "QueryTextError",
    "RefreshOutcome",
    "RequestError",
    "ResultPage",
    "Retention",
    "RetrievalError",
    "Retriever",
    "Scope",
    "SearchRequest",
    "Segment",
    "Sort",
    "SourceError",
    "StaleCursorError",
    "Thread",
    "UnknownNameError",
    "Visibility",
    "diagnose",
    "direct_message_channels",
    "encode_cursor",
    "find_author_ids",
    "find_message_id",
    "get_slack_message",
    "get_slack_thread",
    "list_artifacts",
    "list_slack_scopes",
    "make_passage",
    "parse_instant",
    "parse_query",
    "prune",
    "publish",
    "read_names",
    "rollback",
    "search_slack",
    "validate_request",
    "visibility_as",
]
