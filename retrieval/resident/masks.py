"""Filters and visibility as masks over rows: what `retrieval.filters` says in SQL, applied before ranking.

None stands for a mask that leaves everything.
"""

from collections.abc import Collection
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from retrieval.models import DocumentKind, Filters
from retrieval.resident.columns import Columns, Facts, Kind
from retrieval.visibility import Visibility

Mask = NDArray[np.bool_]


def document_mask(columns: Columns, filters: Filters, visibility: Visibility) -> Mask | None:
    """Return which messages and file chunks satisfy all but the conditions on text, `(searchable,)`.

    A file chunk satisfies the conditions of place, author and time through a message that shares it, one
    message satisfying them all; where the artifact maps none of its chunks to messages, by itself.
    """
    mask = _facts_mask(columns, columns.facts.take(slice(0, columns.searchable)), filters, visibility)
    kinds = columns.kinds[: columns.searchable]
    if columns.maps_chunks:
        sharing = _facts_mask(columns, columns.sharing, filters, visibility)
        shared = np.zeros(columns.searchable, dtype=bool)
        shared[columns.shared if sharing is None else columns.shared[sharing]] = True
        # A chunk follows its messages, but may be hidden by itself as well.
        shared[_denied_rows(columns, visibility)] = False
        chunks = kinds == Kind.FILE_CHUNK
        mask = shared | ~chunks if mask is None else np.where(chunks, shared, mask)
    return _both(mask, _kind_mask(kinds, filters.kinds))


def visible_rows(columns: Columns, rows: NDArray[np.intp], visibility: Visibility) -> Mask:
    """Return which of some messages may be seen, `(len(rows),)`."""
    mask = _facts_mask(columns, columns.facts.take(rows), Filters(), visibility)
    return np.ones(len(rows), dtype=bool) if mask is None else mask


def window_mask(columns: Columns, filters: Filters, visibility: Visibility) -> Mask:
    """Return which thread windows stand in a channel that may be searched, `(rows - searchable,)`.

    Where single people or documents are hidden, a window of a thread that holds any of their messages is left out.
    """
    places = columns.facts.place[columns.searchable :]
    mask: Mask = columns.kinds[columns.searchable :] == Kind.THREAD_CONTEXT
    allowed = _place_table(columns, filters, visibility)
    if allowed is not None:
        mask = mask & allowed.take(places)
    if visibility.denied_author_ids or visibility.denied_document_ids:
        threads = columns.threads[columns.searchable :]
        hidden = np.zeros(len(columns.thread_ids) + 1, dtype=bool)
        hidden[columns.threads[: columns.searchable][_hidden_messages(columns, visibility)]] = True
        # The last entry is of those that belong to no thread, which hide nothing.
        hidden[-1] = False
        mask = mask & ~hidden.take(threads)
    return np.asarray(mask)


def _hidden_messages(columns: Columns, visibility: Visibility) -> Mask:
    own = columns.facts.take(slice(0, columns.searchable))
    hidden = np.zeros(columns.searchable, dtype=bool)
    authors = _author_table(columns, (), visibility.denied_author_ids)
    if authors is not None:
        hidden |= ~authors.take(own.author)
    hidden[_denied_rows(columns, visibility)] = True
    hidden &= columns.kinds[: columns.searchable] == Kind.MESSAGE
    return hidden


def _denied_rows(columns: Columns, visibility: Visibility) -> NDArray[np.intp]:
    """Return the messages and file chunks that are hidden one by one."""
    rows = _rows_of(columns, visibility.denied_document_ids)
    return rows[rows < columns.searchable]


def _facts_mask(columns: Columns, facts: Facts, filters: Filters, visibility: Visibility) -> Mask | None:
    mask: Mask | None = None
    places = _place_table(columns, filters, visibility)
    if places is not None:
        mask = places.take(facts.place)
    authors = _author_table(
        columns, filters.author_ids, visibility.denied_author_ids | frozenset(filters.excluded_author_ids)
    )
    if authors is not None:
        mask = _both(mask, authors.take(facts.author))
    if filters.start_ts_us is not None:
        mask = _both(mask, facts.ts_us >= filters.start_ts_us)
    if filters.end_ts_us is not None:
        mask = _both(mask, facts.ts_us <= filters.end_ts_us)
    if filters.is_thread:
        mask = _both(mask, facts.in_thread)
    denied = _rows_of(columns, visibility.denied_document_ids)
    if len(denied):
        mask = _both(mask, ~np.isin(facts.row, denied))
    return mask


def _place_table(columns: Columns, filters: Filters, visibility: Visibility) -> Mask | None:
    """Return which places satisfy the conditions on workspace and channel, `(places,)`."""
    tables = [
        _visible_places(columns, visibility),
        _chosen_workspaces(columns, filters.workspace_ids),
        _channel_places(columns, filters.channel_ids) if filters.channel_ids else None,
        ~_channel_places(columns, filters.excluded_channel_ids) if filters.excluded_channel_ids else None,
    ]
    return reduce(_both, tables)


def _visible_places(columns: Columns, visibility: Visibility) -> Mask | None:
    if visibility.allowed is None:
        return None
    table = np.zeros(len(columns.workspaces), dtype=bool)
    for workspace, channels in visibility.allowed.items():
        codes = columns.places.get(workspace, {})
        table[[codes[channel] for channel in channels if channel in codes]] = True
    return table


def _chosen_workspaces(columns: Columns, workspace_ids: Collection[str]) -> Mask | None:
    if not workspace_ids:
        return None
    table = np.zeros(len(columns.workspaces), dtype=bool)
    for workspace in workspace_ids:
        table[list(columns.places.get(workspace, {}).values())] = True
    return table


def _channel_places(columns: Columns, channel_ids: Collection[str]) -> Mask:
    """Return the places of these channels, in whatever workspace."""
    table = np.zeros(len(columns.workspaces), dtype=bool)
    for codes in columns.places.values():
        table[[codes[channel] for channel in channel_ids if channel in codes]] = True
    return table


def _author_table(columns: Columns, wanted: Collection[str], left_out: Collection[str]) -> Mask | None:
    """Return which authors satisfy the conditions, `(authors + 1,)`; the last entry is of who has no author."""
    if not wanted and not left_out:
        return None
    table = np.full(len(columns.authors) + 1, not wanted, dtype=bool)
    table[[columns.authors[author] for author in wanted if author in columns.authors]] = True
    table[[columns.authors[author] for author in left_out if author in columns.authors]] = False
    return table


def _rows_of(columns: Columns, document_ids: Collection[str]) -> NDArray[np.intp]:
    found = (columns.find(document_id) for document_id in sorted(document_ids))
    return np.array([row for row in found if row is not None], dtype=np.intp)


def _kind_mask(kinds: NDArray[np.uint8], wanted: Collection[DocumentKind]) -> Mask | None:
    if {DocumentKind.MESSAGE, DocumentKind.FILE_CHUNK} <= set(wanted):
        return None
    mask = np.zeros(len(kinds), dtype=bool)
    for kind, code in ((DocumentKind.MESSAGE, Kind.MESSAGE), (DocumentKind.FILE_CHUNK, Kind.FILE_CHUNK)):
        if kind in wanted:
            mask |= kinds == code
    return mask


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    """Return the mask that both leave; neither is changed."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
