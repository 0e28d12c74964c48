"""Errors of the engine.

```
RetrievalError
├── RequestError                     the caller can fix it; its sentence is safe to show
│   ├── QueryTextError               empty, or nothing left to search after tokenising
│   ├── QuerySyntaxError             a modifier whose value cannot be understood
│   ├── UnknownNameError             a channel or person that the asker's directory does not hold
│   ├── AmbiguousNameError           a partial name that fits several
│   ├── FilterError                  too many values, or a start after its end
│   ├── CursorError
│   │   ├── MalformedCursorError     not one of ours, truncated or altered
│   │   ├── StaleCursorError         made over another artifact
│   │   ├── CursorMismatchError      made for another query, mode or filter
│   │   ├── CursorVisibilityError    what the asker may see has changed since
│   │   └── CursorRangeError         an offset outside 0..10,000
│   └── NotFoundError                no such message or thread, or not for this asker
├── EmbeddingError                   semantic search is off for now; keyword search still works
│   ├── EmbeddingUnavailableError    refused, timed out, HTTP error
│   ├── EmbeddingInvalidError        answered with something that cannot be a vector
│   └── EmbeddingModelError          answers, but not with the artifact's model; or no model at all
├── ArtifactError                    the operator can fix it
│   ├── ArtifactMissingError         no file, or no current.duckdb
│   ├── ArtifactInvalidError         failed a check; carries which one
│   ├── ArtifactReplacedError        the open file was overwritten in place
│   ├── ArtifactReadError            DuckDB failed while reading it
│   ├── ArtifactTooSlowError         a query was interrupted at the end of its time
│   ├── ArtifactClosedError          used after close
│   ├── FolderBusyError              another process works on the folder of artifacts
│   └── RemoteArtifactError          a server that gives no artifact that can be used
├── JudgementError                   judged queries or a run that cannot be used
└── SourceError                      a Slack export or archive that cannot be read
```

`str(error)` is one plain sentence without secrets. Facts stand as attributes.
"""

from collections.abc import Sequence


class RetrievalError(Exception):
    """Base of every error that the engine raises on purpose."""


class RequestError(RetrievalError):
    """The request cannot be answered as it stands; the caller can change it."""


class QueryTextError(RequestError):
    """Nothing is left to search for."""


class QuerySyntaxError(RequestError):
    """A modifier of the query grammar has a value that cannot be understood.

    Attributes:
        modifier: The modifier as typed, such as `before:`.
        value: Its value as typed.
    """

    def __init__(self, message: str, *, modifier: str, value: str) -> None:
        super().__init__(message)
        self.modifier = modifier
        self.value = value


class UnknownNameError(RequestError):
    """No channel or person of that name is known to the asker.

    Attributes:
        kind: `channel` or `person`.
        name: The name as typed.
        suggestions: The nearest names that the asker may see, nearest first.
    """

    def __init__(self, *, kind: str, name: str, suggestions: Sequence[str] = ()) -> None:
        hint = f" Nearest: {', '.join(suggestions)}." if suggestions else ""
        super().__init__(f"There is no {kind} called “{name}” here.{hint}")
        self.kind = kind
        self.name = name
        self.suggestions = tuple(suggestions)


class AmbiguousNameError(RequestError):
    """A partial name fits more than one channel or person.

    Attributes:
        kind: `channel` or `person`.
        name: The name as typed.
        matches: The names it fits, sorted.
    """

    def __init__(self, *, kind: str, name: str, matches: Sequence[str]) -> None:
        super().__init__(f"“{name}” fits more than one {kind}: {', '.join(matches)}. Which one?")
        self.kind = kind
        self.name = name
        self.matches = tuple(matches)


class FilterError(RequestError):
    """A filter holds too many values, or an interval that ends before it starts."""


class CursorError(RequestError):
    """A cursor cannot be continued."""


class MalformedCursorError(CursorError):
    """The text is not a cursor of ours, or it was cut or altered."""


class StaleCursorError(CursorError):
    """The cursor was made over another artifact.

    Attributes:
        cursor_artifact_id: The artifact that the cursor names.
        artifact_id: The artifact that is being searched.
    """

    def __init__(self, *, cursor_artifact_id: str, artifact_id: str) -> None:
        super().__init__("The archive was replaced since this page was shown. Search again.")
        self.cursor_artifact_id = cursor_artifact_id
        self.artifact_id = artifact_id


class CursorMismatchError(CursorError):
    """The cursor was made for another query, mode or filter."""


class CursorVisibilityError(CursorError):
    """What the asker may see has changed since the cursor was made."""


class CursorRangeError(CursorError):
    """The offset is outside what can be paged to.

    Attributes:
        offset: The offset asked for.
        maximum: The largest offset allowed.
    """

    def __init__(self, *, offset: int, maximum: int) -> None:
        super().__init__(f"A page cannot start at {offset}; the last possible start is {maximum}.")
        self.offset = offset
        self.maximum = maximum


class NotFoundError(RequestError):
    """No such message or thread, or none that this asker may see: the same words for both.

    Attributes:
        kind: `message` or `thread`.
        identifier: What was asked for.
    """

    def __init__(self, *, kind: str, identifier: str) -> None:
        super().__init__(f"No {kind} {identifier!r} was found.")
        self.kind = kind
        self.identifier = identifier


class EmbeddingError(RetrievalError):
    """The query could not be turned into a vector; keyword search is not affected."""


class EmbeddingUnavailableError(EmbeddingError):
    """The embedding service refused, timed out or answered with an HTTP error."""


class EmbeddingInvalidError(EmbeddingError):
    """The embedding service answered with something that cannot be its vector."""


class EmbeddingModelError(EmbeddingError):
    """The model at hand is not the artifact's, or there is none."""


class ArtifactError(RetrievalError):
    """The artifact cannot serve; the operator can fix it."""


class ArtifactMissingError(ArtifactError):
    """There is no artifact at that place."""


class ArtifactInvalidError(ArtifactError):
    """An artifact failed validation.

    Attributes:
        check: The short name of the check that failed, such as `checksum`.
    """

    def __init__(self, message: str, *, check: str) -> None:
        super().__init__(message)
        self.check = check


class ArtifactReplacedError(ArtifactError):
    """The open file was overwritten in place; nothing read from it can be trusted."""


class ArtifactReadError(ArtifactError):
    """DuckDB failed while reading the open artifact."""


class ArtifactTooSlowError(ArtifactError):
    """A query was interrupted because its time was over."""


class ArtifactClosedError(ArtifactError):
    """The artifact was used after it was closed."""


class FolderBusyError(ArtifactError):
    """Another process holds a lock of the folder of artifacts."""


class RemoteArtifactError(ArtifactError):
    """The server that artifacts come from is away, or gives something else."""


class SourceError(RetrievalError):
    """A source cannot be read; the sentence names the file and what is wrong with it."""


class JudgementError(RetrievalError):
    """A file of judged queries, judgements or ranked lists cannot be used."""
