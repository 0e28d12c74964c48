"""Filters and visibility as one SQL predicate over `search_documents d`, applied before ranking."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval import schema
from retrieval.errors import FilterError
from retrieval.lexemes import whole_characters
from retrieval.models import DocumentKind, Filters
from retrieval.visibility import Visibility

MAX_VALUES: Final = 100
HAS_VALUES: Final = frozenset({"link", "file", "code"})

_HAS_SQL: Final = {
    "link": "regexp_matches(d.text_display, 'https?://')",
    "code": "contains(d.text_display, '`')",
    "file": (
        "(d.document_kind = 'file_chunk' "
        "OR coalesce(json_array_length(json_extract(d.metadata_json, '$.files')), 0) > 0)"
    ),
}


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on rows of `search_documents d`, with its bound parameters in order."""

    sql: str
    parameters: tuple[object, ...] = ()

    def __and__(self, other: "Predicate") -> "Predicate":
        """Return the condition that both hold."""
        return Predicate(f"({self.sql}) AND ({other.sql})", self.parameters + other.parameters)


_TEXTS: Final = (
    "workspace_ids",
    "channel_ids",
    "author_ids",
    "excluded_channel_ids",
    "excluded_author_ids",
    "has",
    "phrases",
    "excluded_phrases",
    "excluded_words",
)


def validate_filters(filters: Filters) -> None:
    """Make sure that *filters* can be applied.

    Raises:
        FilterError: More than 100 values of one kind, an unknown `has`, no kind, half of a character, or a start
            after the end.
    """
    for name in ("workspace_ids", "channel_ids", "author_ids", "excluded_channel_ids", "excluded_author_ids"):
        if len(getattr(filters, name)) > MAX_VALUES:
            raise FilterError(f"At most {MAX_VALUES} {name.replace('_', ' ')} can be given.")
    texts = (value for name in _TEXTS for value in getattr(filters, name))
    if any(whole_characters(value) != value for value in texts):
        raise FilterError("A filter holds half of a character, which no message can hold.")
    if unknown := set(filters.has) - HAS_VALUES:
        raise FilterError(f"has:{min(unknown)} is not known; use one of {', '.join(sorted(HAS_VALUES))}.")
    if not filters.kinds:
        raise FilterError("At least one kind of document must be searched.")
    start, end = filters.start_ts_us, filters.end_ts_us
    if start is not None and end is not None and start > end:
        raise FilterError("The period ends before it starts.")


def visibility_predicate(visibility: Visibility, *, shares: bool) -> Predicate:
    """Return the condition that a document may be seen.

    Args:
        visibility: What the asker may see.
        shares: Whether the artifact maps file chunks to the messages that share them; a chunk is then visible
            where any of those is.
    """
    own, sharing = _visible_place("d", visibility), _visible_place("s", visibility)
    return _document_predicate(own, sharing, visibility, shares=shares)


def document_predicate(filters: Filters, visibility: Visibility, *, shares: bool) -> Predicate:
    """Return the condition that a document may be seen and satisfies every filter.

    A file chunk satisfies the conditions of place, author and time through a message that shares it, one
    message satisfying them all; conditions on text are its own.

    Raises:
        FilterError: As `validate_filters`.
    """
    validate_filters(filters)
    place = _document_predicate(
        _visible_place("d", visibility) & _filter_place("d", filters),
        _visible_place("s", visibility) & _filter_place("s", filters),
        visibility,
        shares=shares,
    )
    return place & text_predicate(filters) & _kind_predicate(filters.kinds)


def text_predicate(filters: Filters) -> Predicate:
    """Return the conditions on a document's own text: what it has, and phrases and words in it or not."""
    predicate = Predicate("true")
    for value in filters.has:
        predicate &= Predicate(_HAS_SQL[value])
    folded = r"regexp_replace(lower(strip_accents(d.text_display)), '\s+', ' ', 'g')"
    wanted = "lower(strip_accents(CAST(? AS VARCHAR)))"
    for phrase in filters.phrases:
        predicate &= Predicate(f"contains({folded}, {wanted})", (_one_line(phrase),))
    for phrase in filters.excluded_phrases:
        predicate &= Predicate(f"NOT contains({folded}, {wanted})", (_one_line(phrase),))
    for word in filters.excluded_words:
        # As words, not as substrings: -art must not exclude "start".
        predicate &= Predicate(
            f"NOT regexp_matches({folded}, '(^|[^\\p{{L}}\\p{{N}}_])' || regexp_escape({wanted}) || "
            "'($|[^\\p{L}\\p{N}_])')",
            (_one_line(word),),
        )
    return predicate


def place_predicate(filters: Filters, visibility: Visibility) -> Predicate:
    """Return the condition on a message's place, author and time alone; for rows mapped from other documents."""
    return _visible_place("d", visibility) & _filter_place("d", filters)


def window_predicate(filters: Filters, visibility: Visibility) -> Predicate:
    """Return the condition that a thread window stands in a channel that may be searched.

    Author and time are the messages' own and are tested on the message that a window is mapped to. Where
    single people or documents are hidden, a window that holds any of their messages is not used at all,
    since its rank would tell of the hidden text.
    """
    channel = _channel_predicate("d", visibility) & _in("d.workspace_id", filters.workspace_ids)
    channel &= _in("d.channel_id", filters.channel_ids) & _not_in("d.channel_id", filters.excluded_channel_ids)
    if not (visibility.denied_author_ids or visibility.denied_document_ids):
        return channel
    hidden = Predicate(
        f"NOT EXISTS (SELECT 1 FROM {schema.DOCUMENTS} h WHERE h.document_kind = 'message' "
        "AND h.thread_id = d.thread_id AND (h.author_id IN (SELECT unnest(?::VARCHAR[])) "
        "OR h.document_id IN (SELECT unnest(?::VARCHAR[]))))",
        (sorted(visibility.denied_author_ids), sorted(visibility.denied_document_ids)),
    )
    return channel & hidden


def _document_predicate(own: Predicate, sharing: Predicate, visibility: Visibility, *, shares: bool) -> Predicate:
    if not shares:
        return own
    placed = Predicate(
        f"CASE WHEN d.document_kind = 'file_chunk' THEN EXISTS (SELECT 1 FROM {schema.DOCUMENT_MESSAGES} m "
        f"JOIN {schema.DOCUMENTS} s ON s.document_id = m.message_id "
        f"WHERE m.document_id = d.document_id AND ({sharing.sql})) ELSE ({own.sql}) END",
        sharing.parameters + own.parameters,
    )
    # A chunk follows its messages, but may be hidden by itself as well.
    return placed & _not_in("d.document_id", visibility.denied_document_ids)


def _visible_place(row: str, visibility: Visibility) -> Predicate:
    predicate = _channel_predicate(row, visibility)
    predicate &= _not_in(f"{row}.author_id", visibility.denied_author_ids)
    return predicate & _not_in(f"{row}.document_id", visibility.denied_document_ids)


def _channel_predicate(row: str, visibility: Visibility) -> Predicate:
    if visibility.allowed is None:
        return Predicate("true")
    alternatives = [
        Predicate(
            f"({row}.workspace_id = ? AND {row}.channel_id IN (SELECT unnest(?::VARCHAR[])))",
            (workspace, sorted(channels)),
        )
        for workspace, channels in sorted(visibility.allowed.items())
        if channels
    ]
    if not alternatives:
        return Predicate("false")
    return Predicate(
        " OR ".join(one.sql for one in alternatives),
        tuple(parameter for one in alternatives for parameter in one.parameters),
    )


def _filter_place(row: str, filters: Filters) -> Predicate:
    predicate = _in(f"{row}.workspace_id", filters.workspace_ids)
    predicate &= _in(f"{row}.channel_id", filters.channel_ids)
    predicate &= _in(f"{row}.author_id", filters.author_ids)
    predicate &= _not_in(f"{row}.channel_id", filters.excluded_channel_ids)
    predicate &= _not_in(f"{row}.author_id", filters.excluded_author_ids)
    if filters.start_ts_us is not None:
        predicate &= Predicate(f"{row}.ts_us >= ?", (filters.start_ts_us,))
    if filters.end_ts_us is not None:
        predicate &= Predicate(f"{row}.ts_us <= ?", (filters.end_ts_us,))
    if filters.is_thread:
        predicate &= Predicate(f"({row}.is_thread_parent OR {row}.is_thread_reply)")
    return predicate


def _kind_predicate(kinds: Sequence[DocumentKind]) -> Predicate:
    return _in("d.document_kind", [kind.value for kind in kinds])


def _in(column: str, values: Iterable[str]) -> Predicate:
    listed = sorted(values)
    if not listed:
        return Predicate("true")
    return Predicate(f"{column} IN (SELECT unnest(?::VARCHAR[]))", (listed,))


def _not_in(column: str, values: Iterable[str]) -> Predicate:
    listed = sorted(values)
    if not listed:
        return Predicate("true")
    return Predicate(f"coalesce({column} NOT IN (SELECT unnest(?::VARCHAR[])), true)", (listed,))


def _one_line(text: str) -> str:
    return " ".join(text.split())
