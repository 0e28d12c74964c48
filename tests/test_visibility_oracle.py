"""Every surface equals a brute-force oracle that looks at nothing but what the asker may see.

The oracle walks over the rows in Python. From the artifact it takes the whole archive's statistics alone: the BM25
scores and cosines that DuckDB gives every document, and which documents hold a string.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from retrieval import (
    Artifact,
    Filters,
    Fusion,
    Mode,
    NameDirectory,
    NotFoundError,
    SearchRequest,
    UnknownNameError,
    Visibility,
    find_author_ids,
    find_message_id,
    get_slack_message,
    get_slack_thread,
    list_slack_scopes,
    read_names,
    search_slack,
)
from retrieval.duckdb_reader import DuckDBReader
from retrieval.lexical import QueryTerms, ranked_list
from retrieval.models import Candidate, FusedCandidate, RankedList, Retriever
from retrieval.ranking import Ranker
from retrieval.routing import route_query
from retrieval.timings import Stopwatch
from tests.artifact_factory import MINUTE_US, START_US, Row, write_artifact
from tests.test_resident import make_rows, queries, query_vector, some, vectors

MAKES = ("own", "contract")
# Small for memory, which is quick; at its largest for DuckDB, whose pages cost a scan each.
RESIDENT_PAGE, DUCKDB_PAGE = 7, 50
EVERY = 1_000_000
CHANNEL_IDS, AUTHOR_IDS = ("C1", "C2", "C3", "C9"), ("U1", "U2", "U3")


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A random small workspace, opened for each of the two readers."""

    rows: tuple[Row, ...]
    mapped: bool
    resident: Artifact
    duckdb: Artifact


def is_telling(seed: int) -> bool:
    """Whether a seed's workspace has shared files, and windows whose threads hold messages."""
    rows = make_rows(seed, mapped=True)
    threads = {(row.workspace, row.channel, row.thread) for row in rows if row.kind == "message" and row.thread}
    windows = [row for row in rows if row.kind == "thread_context" and row.covers]
    living = sum((row.workspace, row.channel, row.thread) in threads for row in windows)
    return living >= 4 and any(row.kind == "file_chunk" and row.covers for row in rows) and len(rows) < 90


SEEDS = [seed for seed in range(200) if is_telling(seed)][:3]


class Archives:
    """Archives by seed, each written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[tuple[int, str], Archive] = {}

    def get(self, seed: int, make: str) -> Archive:
        """Return the archive of a seed."""
        if (seed, make) not in self._open:
            mapped = make == "own"
            rows = make_rows(seed, mapped=mapped)
            path = write_artifact(self._folder / f"{seed}-{make}", rows, contract=not mapped)
            resident, duckdb = Artifact(path), Artifact(path)
            assert resident.load().resident is not None
            self._open[seed, make] = Archive(rows=tuple(rows), mapped=mapped, resident=resident, duckdb=duckdb)
        return self._open[seed, make]

    def close(self) -> None:
        """Close them all."""
        for archive in self._open.values():
            archive.resident.close()
            archive.duckdb.close()


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archives]:
    opened = Archives(tmp_path_factory.mktemp("workspaces"))
    yield opened
    opened.close()


class Seen:
    """What one asker may see of some rows."""

    def __init__(self, archive: Archive, visibility: Visibility, filters: Filters | None = None) -> None:
        self._archive = archive
        self._visibility = visibility
        self._filters = filters or Filters()
        self.rows = {row.document_id: row for row in archive.rows}
        self._hidden_threads = {
            thread_of(row) for row in archive.rows if row.kind == "message" and thread_of(row) and self._is_denied(row)
        }

    def allows(self, row: Row) -> bool:
        """Whether a message or file passage may be found."""
        if row.kind == "message":
            return self._stands_well(row)
        if row.kind != "file_chunk" or row.document_id in self._visibility.denied_document_ids:
            return False
        if not self._archive.mapped:
            return self._stands_well(row)
        return any(self._stands_well(self.rows[one]) for one in row.covers)

    def place_of(self, row: Row) -> Row:
        """The message by which a file passage is cited, any other document itself."""
        shares = (self.rows[one] for one in row.covers) if row.kind == "file_chunk" and self._archive.mapped else ()
        return next((share for share in shares if self._stands_well(share)), row)

    def allows_window(self, row: Row) -> bool:
        """Whether a thread window may lend its rank to its messages."""
        return self._in_channel(row) and thread_of(row) not in self._hidden_threads

    def messages(self) -> list[Row]:
        """The messages that may be found, oldest first."""
        found = [row for row in self.rows.values() if row.kind == "message" and self.allows(row)]
        return sorted(found, key=lambda row: (row.minute, row.document_id))

    def covered(self, window: Row) -> list[Row]:
        """The documents that a window stands for, seen or not."""
        if self._archive.mapped:
            return [self.rows[one] for one in window.covers]
        root = window.root if window.root is not None else thread_of(window)
        return [
            row
            for row in self.rows.values()
            if row.kind == "message"
            and row.workspace == window.workspace
            and (row.document_id == root or (thread_of(row) is not None and thread_of(row) == thread_of(window)))
        ]

    def _is_denied(self, row: Row) -> bool:
        denied = self._visibility.denied_document_ids
        return row.document_id in denied or row.author in self._visibility.denied_author_ids

    def _in_channel(self, row: Row) -> bool:
        wanted = self._filters.channel_ids
        return self._visibility.allows_channel(row.workspace, row.channel) and (not wanted or row.channel in wanted)

    def _stands_well(self, row: Row) -> bool:
        wanted, unwanted = self._filters.author_ids, self._filters.excluded_author_ids
        by_whom = (not wanted or row.author in wanted) and row.author not in unwanted
        return self._in_channel(row) and by_whom and not self._is_denied(row)


def thread_of(row: Row) -> str | None:
    """The thread's id as the artifact holds it."""
    return f"{row.workspace}:{row.channel}:{row.thread}" if row.thread is not None else None


class OracleReader:
    """Ranks by hand what may be seen; for `Ranker`."""

    def __init__(self, archive: Archive, whole: DuckDBReader, seen: Seen) -> None:
        self._archive = archive
        self._whole = whole
        self._seen = seen
        self._scores: Mapping[str, float] = {}

    def allows_beside(self) -> bool:
        """One list after the other."""
        return False

    def read_terms(self, words: Sequence[str]) -> QueryTerms:
        """The query's terms by the whole archive."""
        terms = self._whole.read_terms(words)
        self._scores = self._whole.lexical_scores(list(self._seen.rows))
        return terms

    def lexical(self, *, limit: int) -> RankedList:
        """By score, then id."""
        found = [(one, score) for one, score in self._scores.items() if self._seen.allows(self._seen.rows[one])]
        return ranked_list(Retriever.LEXICAL, sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit])

    def coverage(self, document_id: str) -> float:
        """A property of one document."""
        return self._whole.coverage(document_id)

    def context(self, *, limit: int) -> tuple[RankedList, int]:
        """The best windows in order, each for its best message that is seen."""
        windows = [(one, score) for one, score in self._scores.items() if self._is_window(one)]
        best = sorted(windows, key=lambda pair: (-pair[1], pair[0]))[:limit]
        found: dict[str, float] = {}
        for window_id, score in best:
            message_id = self._best_message(self._seen.rows[window_id])
            if message_id is not None:
                found.setdefault(message_id, score)
        orphans = sum(not self._seen.covered(self._seen.rows[window_id]) for window_id, _ in best)
        return ranked_list(Retriever.CONTEXT, list(found.items())), orphans

    def exact(self, wanted: Sequence[str], *, limit: int) -> RankedList:
        """The whole archive's list, without what is not seen."""
        return self._narrowed(self._whole.exact(wanted, limit=EVERY), limit)

    def semantic(self, vector: NDArray[np.float32], *, limit: int) -> RankedList:
        """The whole archive's list, without what is not seen."""
        return self._narrowed(self._whole.semantic(vector, limit=EVERY), limit)

    def lexical_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """Of the whole archive."""
        return self._whole.lexical_scores(document_ids)

    def semantic_scores(self, vector: NDArray[np.float32], document_ids: Sequence[str]) -> Mapping[str, float]:
        """Of the whole archive."""
        return self._whole.semantic_scores(vector, document_ids)

    def window_scores(self, document_ids: Sequence[str]) -> Mapping[str, float]:
        """The best of any window that is seen and covers a message."""
        best: dict[str, float] = {}
        for window_id, score in self._scores.items():
            if self._is_window(window_id):
                for row in self._seen.covered(self._seen.rows[window_id]):
                    best[row.document_id] = max(best.get(row.document_id, 0.0), score)
        return {one: best[one] for one in document_ids if one in best}

    def threads(self, document_ids: Sequence[str]) -> Mapping[str, str | None]:
        """A property of one document."""
        return {one: thread_of(self._seen.rows[one]) for one in document_ids}

    def thread_sizes(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """Not asked for while ranking."""
        raise AssertionError(f"ranking asked for sizes of {thread_ids}")

    def times(self, document_ids: Sequence[str]) -> Mapping[str, int]:
        """When it was written; of a file passage, the first message sharing it that is seen."""
        return {one: START_US + self._seen.place_of(self._seen.rows[one]).minute * MINUTE_US for one in document_ids}

    def by_time(self, *, newest_first: bool, limit: int) -> list[str]:
        """Everything that is seen, by time."""
        sign = -1 if newest_first else 1
        found = [row for row in self._seen.rows.values() if self._seen.allows(row)]
        return [row.document_id for row in sorted(found, key=lambda row: (sign * row.minute, row.document_id))[:limit]]

    def _is_window(self, document_id: str) -> bool:
        row = self._seen.rows[document_id]
        return row.kind == "thread_context" and self._seen.allows_window(row)

    def _best_message(self, window: Row) -> str | None:
        covered = [row for row in self._seen.covered(window) if row.kind == "message" and self._seen.allows(row)]
        ranked = sorted(
            covered, key=lambda row: (-self._scores.get(row.document_id, -1.0), row.minute, row.document_id)
        )
        return ranked[0].document_id if ranked else None

    def _narrowed(self, whole: RankedList, limit: int) -> RankedList:
        kept = [one for one in whole.candidates if self._seen.allows(self._seen.rows[one.document_id])][:limit]
        return RankedList(
            retriever=whole.retriever,
            candidates=tuple(
                Candidate(document_id=one.document_id, rank=rank, score=one.score)
                for rank, one in enumerate(kept, start=1)
            ),
        )


class Toy:
    """Gives every query the same vector."""

    def __init__(self, seed: int) -> None:
        self.vector = query_vector(seed)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector."""
        return self.vector


def oracle(archive: Archive, request: SearchRequest, seen: Seen, toy: Toy) -> tuple[FusedCandidate, ...]:
    """The whole ranked list."""
    embedding: Future[NDArray[np.float32]] = Future()
    embedding.set_result(toy.vector)
    artifact = archive.duckdb
    with artifact.cursor() as cursor:
        whole = DuckDBReader(artifact, cursor, filters=Filters(), visibility=Visibility.everything())
        reader = OracleReader(archive, whole, seen)
        route = route_query(request.text, request.filters.phrases, scripts=())
        ranker = Ranker(artifact, reader, request, route=route, stopwatch=Stopwatch())
        if not request.text:
            return ranker.newest(limit=EVERY).candidates
        if request.mode is Mode.LEXICAL:
            return ranker.lexical(limit=EVERY).candidates
        if request.mode is Mode.SEMANTIC:
            return ranker.semantic(embedding, limit=EVERY).candidates
        return ranker.hybrid(embedding, fusion=Fusion.RRF).candidates


places = st.lists(st.sampled_from(CHANNEL_IDS), min_size=2, max_size=4, unique=True)
# Low, so that what is denied stands among the first that the asker would find.
picks = st.lists(st.integers(0, 11), max_size=4, unique=True)
authors = st.sampled_from(((), (), ("U1",), ("U2",), ("U1", "U3")))


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Somebody who may see some channels, of an archive with a deny list."""

    allowed: Mapping[str, list[str]]
    denied_authors: tuple[str, ...]
    denied_picks: list[int]

    def before_denials(self) -> Visibility:
        """What they might see if the deny list were empty."""
        return Visibility.of_channels(self.allowed)

    def visibility(self, found: Sequence[Row]) -> Visibility:
        """What they may see, where some of the documents of `found` are denied.

        The first message that shares a passage stands behind the passage, so that one may be denied without the other.
        """
        ids = list(dict.fromkeys(one for row in found for one in (row.document_id, *row.covers[:1])))
        return Visibility.of_channels(
            self.allowed,
            denied_author_ids=self.denied_authors,
            denied_document_ids=[ids[pick % len(ids)] for pick in self.denied_picks] if ids else [],
        )


askers = st.builds(
    Asker,
    allowed=st.fixed_dictionaries({"T1": places, "T2": places}),
    denied_authors=authors,
    denied_picks=picks,
)
narrow = st.builds(
    Filters, channel_ids=some(CHANNEL_IDS, 3), author_ids=some(AUTHOR_IDS, 2), excluded_author_ids=some(AUTHOR_IDS, 1)
)
# Not shrunk: every example is small, and shrinking one that fails takes minutes.
examples = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@examples
@given(
    seed=st.sampled_from(SEEDS),
    make=st.sampled_from(MAKES),
    mode=st.sampled_from((Mode.HYBRID, *Mode)),
    query=st.one_of(queries, st.just("")),
    filters=st.one_of(st.just(Filters()), st.just(Filters()), narrow),
    vector=vectors,
    asker=askers,
)
def test_searches_find_what_the_oracle_finds(
    archives: Archives,
    *,
    seed: int,
    make: str,
    mode: Mode,
    query: str,
    filters: Filters,
    vector: int,
    asker: Asker,
) -> None:
    archive, toy = archives.get(seed, make), Toy(vector)
    if not query and filters == Filters():
        filters = Filters(channel_ids=CHANNEL_IDS)
    request = SearchRequest(text=query, mode=mode, filters=filters, limit=DUCKDB_PAGE)
    undenied = Seen(archive, asker.before_denials(), filters)
    visibility = asker.visibility([undenied.rows[one.document_id] for one in oracle(archive, request, undenied, toy)])
    seen, counted = Seen(archive, visibility, filters), Seen(archive, visibility)
    expected = oracle(archive, request, seen, toy)
    sizes = thread_sizes(counted)

    for artifact, limit in ((archive.resident, RESIDENT_PAGE), (archive.duckdb, DUCKDB_PAGE)):
        found = []
        cursor: str | None = None
        for start in range(0, max(len(expected), 1), limit):
            page = search_slack(
                artifact,
                SearchRequest(text=query, mode=mode, filters=filters, limit=limit, cursor=cursor),
                visibility=visibility,
                embedder=toy,
            )
            assert [hit.rank for hit in page.hits] == list(range(start + 1, start + len(page.hits) + 1))
            found += page.hits
            cursor = page.next_cursor
        assert cursor is None

        assert [(hit.document.document_id, hit.more_in_thread) for hit in found] == [
            (one.document_id, one.folded) for one in expected
        ]
        for hit, one in zip(found, expected, strict=True):
            assert [(c.retriever, c.rank) for c in hit.contributions] == [
                (c.retriever, c.rank) for c in one.contributions
            ]
            assert hit.document.thread_size == sizes.get(hit.document.thread_id, 0)
            assert visibility.allows_channel(hit.document.workspace_id, hit.document.channel_id)
            assert hit.document.author_id not in visibility.denied_author_ids
            if covers := seen.rows[hit.document.document_id].covers:
                cited = next(one for one in covers if seen.allows(seen.rows[one]))
                assert hit.document.metadata["message_id"] == cited


@settings(examples, max_examples=30)
@given(
    seed=st.sampled_from(SEEDS),
    make=st.sampled_from(MAKES),
    asker=askers,
    number=st.integers(0, 90),
    vector=vectors,
)
def test_similar_ones_are_the_nearest_of_what_is_seen_without_the_message_itself(
    archives: Archives, *, seed: int, make: str, asker: Asker, number: int, vector: int
) -> None:
    archive, toy = archives.get(seed, make), Toy(vector)
    visibility = asker.visibility(Seen(archive, asker.before_denials()).messages())
    sources = [row for row in archive.rows if row.kind != "thread_context" and row.text.strip()]
    source = sources[number % len(sources)]
    request = SearchRequest(
        text="", mode=Mode.SEMANTIC, similar_to=source.document_id, folds_threads=True, limit=RESIDENT_PAGE
    )
    seen = Seen(archive, visibility.without(source.document_id))
    nearest = nearest_to(archive, source, toy)
    expected: dict[str, str] = {}
    for one in (one for one in nearest if seen.allows(seen.rows[one])):
        expected.setdefault(thread_of(seen.rows[one]) or one, one)

    for artifact in (archive.resident, archive.duckdb):
        if not Seen(archive, visibility).allows(source):
            with pytest.raises(NotFoundError):
                search_slack(artifact, request, visibility=visibility, embedder=toy)
            continue
        found: list[str] = []
        cursor: str | None = None
        while cursor is not None or not found:
            page = search_slack(artifact, replace(request, cursor=cursor), visibility=visibility, embedder=toy)
            found += [hit.document.document_id for hit in page.hits]
            if (cursor := page.next_cursor) is None:
                break
        assert found == list(expected.values())


def nearest_to(archive: Archive, source: Row, toy: Toy) -> list[str]:
    """Every document that has a vector, the nearest first, whoever may see it."""
    with archive.duckdb.cursor() as cursor:
        own = cursor.execute(
            "SELECT embedding FROM document_vectors WHERE document_id = ?", [source.document_id]
        ).fetchone()
        vector = np.array(own[0], dtype=np.float32) if own is not None else toy.vector
        whole = DuckDBReader(archive.duckdb, cursor, filters=Filters(), visibility=Visibility.everything())
        return [one.document_id for one in whole.semantic(vector, limit=EVERY).candidates]


def thread_sizes(seen: Seen) -> dict[str | None, int]:
    """How many messages of each thread are seen."""
    sizes: dict[str | None, int] = {None: 0}
    for row in seen.messages():
        if (thread := thread_of(row)) is not None:
            sizes[thread] = sizes.get(thread, 0) + 1
    return sizes


@settings(examples, max_examples=15)  # each example looks around every document
@given(seed=st.sampled_from(SEEDS), make=st.sampled_from(MAKES), asker=askers)
def test_everything_around_a_hit_is_what_the_oracle_sees(
    archives: Archives, *, seed: int, make: str, asker: Asker
) -> None:
    archive = archives.get(seed, make)
    undenied = Seen(archive, asker.before_denials())
    passages = [row for row in archive.rows if row.kind == "file_chunk" and undenied.allows(row)]
    visibility = asker.visibility([*passages, *undenied.messages()])
    artifact, seen = archive.resident, Seen(archive, visibility)
    messages = seen.messages()
    threads = {thread_of(row) for row in archive.rows if thread_of(row) is not None}

    for thread in sorted(threads, key=str):
        expected = [row.document_id for row in messages if thread_of(row) == thread]
        assert_thread(artifact, str(thread), visibility, expected)
    for row in archive.rows:
        assert_neighbours(artifact, row, visibility, seen, messages)
    for row in (one for one in archive.rows if one.kind == "message"):
        assert_found_by_id(artifact, row, visibility, messages)
    scopes = list_slack_scopes(artifact, visibility=visibility)
    assert {(one.workspace_id, one.channel_id, one.message_count) for one in scopes} == {
        (*place, sum((row.workspace, row.channel) == place for row in messages))
        for place in {(row.workspace, row.channel) for row in messages}
    }
    authors = {row.author for row in messages if row.author is not None}
    assert find_author_ids(artifact, visibility=visibility) == authors
    names = read_names(artifact, visibility=visibility)
    assert {one for one in (*CHANNEL_IDS, "C404") if is_named(names, one)} == {row.channel for row in messages}


def is_named(names: NameDirectory, channel_id: str) -> bool:
    """Whether a directory of names knows a channel."""
    try:
        names.find_channel(channel_id)
    except UnknownNameError:
        return False
    return True


def assert_thread(artifact: Artifact, thread: str, visibility: Visibility, expected: list[str]) -> None:
    """A thread holds its messages that are seen, and is not there where none is."""
    try:
        found = get_slack_thread(artifact, thread, visibility=visibility, limit=3, offset=1)
    except NotFoundError:
        assert expected == []
        return
    start = min(1, len(expected) - 1)
    assert [one.document_id for one in found.messages] == expected[start : start + 3]
    assert (found.total, found.offset) == (len(expected), start)
    assert all(one.thread_size == len(expected) for one in found.messages)


def assert_neighbours(artifact: Artifact, row: Row, visibility: Visibility, seen: Seen, messages: list[Row]) -> None:
    """Neighbours are those of the channel that are seen; a file passage stands at a message that is seen."""
    try:
        found = get_slack_message(artifact, row.document_id, visibility=visibility, context_before=2, context_after=2)
    except NotFoundError:
        assert not seen.allows(row)
        return
    assert seen.allows(row)
    anchor = str(found.message.metadata.get("message_id", row.document_id))
    if row.kind == "file_chunk" and row.covers:
        assert anchor == next(one for one in row.covers if seen.allows(seen.rows[one]))
    here = [one for one in messages if (one.workspace, one.channel) == _place(found.message)]
    at = (_minute(found.message.ts_us), anchor)
    before = [one.document_id for one in here if (one.minute, one.document_id) < at][-2:]
    after = [one.document_id for one in here if (one.minute, one.document_id) > at][:2]
    assert [one.document_id for one in found.before] == before
    assert [one.document_id for one in found.after] == after


def _place(document: object) -> tuple[str, str]:
    return document.workspace_id, document.channel_id  # type: ignore[attr-defined]


def _minute(ts_us: int) -> int:
    return (ts_us - START_US) // MINUTE_US


def assert_found_by_id(artifact: Artifact, row: Row, visibility: Visibility, messages: list[Row]) -> None:
    """Slack's channel and time lead to the first message there that is seen."""
    ts_us = START_US + row.minute * MINUTE_US
    there = [
        one.document_id
        for one in messages
        if (one.workspace, one.channel, one.minute) == (row.workspace, row.channel, row.minute)
    ]
    try:
        found = find_message_id(
            artifact,
            workspace_id=row.workspace,
            channel_id=row.channel,
            ts=f"{ts_us // 1_000_000}.{ts_us % 1_000_000:06}",
            visibility=visibility,
        )
    except NotFoundError:
        assert there == []
        return
    assert found == there[0]
