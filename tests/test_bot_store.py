"""The small store: what is kept of whom, and that no trouble with its file reaches anybody."""

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.store import SHOWN_RECENTS, RecentSearch, Store, Verdict, Vote, query_key
from bot.store_file import ENVELOPE_SECONDS, KEPT_RECENTS, SCHEMA_VERSION, StoreFile
from retrieval import Filters, Mode, SearchRequest, Sort
from tests.log_capture import captured_log

TEAM, ADA, BEN = "T1", "U1", "U2"
VOTE = Vote(
    team_id=TEAM,
    user_id=ADA,
    query_key="q1",
    document_id="T1:C1:1.0",
    verdict=Verdict.GOOD,
    text="rate limit",
    understood="rate limit in #payments",
    command="rate limit in:#payments",
    mode="hybrid",
    rank=3,
    artifact_id="artifact-1",
    voted_us=1_760_000_000_000_000,
)


class Hand:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1_760_000_000.0

    def __call__(self) -> float:
        return self.now


def opened(path: Path, *, clock: Hand | None = None, **options: object) -> Store:
    chosen = {"keeps_votes": True, "keeps_recents": True, "monotonic": time.monotonic, **options}
    return Store(path, clock=clock or Hand(), **chosen)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "var" / "store.sqlite3"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    made = opened(path)
    yield made
    made.close()


def remember(store: Store, team_id: str, user_id: str, *, command: str) -> None:
    store.remember(team_id, user_id, command=command, shown=command)


async def verdict(store: Store, vote: Vote = VOTE) -> Verdict | None:
    return await store.vote_of(vote.team_id, vote.user_id, query_key=vote.query_key, document_id=vote.document_id)


async def commands(store: Store, user_id: str = ADA, *, limit: int = SHOWN_RECENTS) -> list[str]:
    found = await store.recents(TEAM, user_id, limit=limit)
    assert found is not None
    return [one.command for one in found]


async def test_a_vote_is_kept_with_all_that_it_was_given_on(store: Store, path: Path) -> None:
    assert await store.vote(VOTE)

    store.close()
    assert StoreFile(path).votes() == (VOTE,)


async def test_a_later_vote_takes_the_place_of_the_same_persons_earlier_one(store: Store, path: Path) -> None:
    await store.vote(VOTE)
    await store.vote(replace(VOTE, verdict=Verdict.NOT_RELEVANT, rank=7, voted_us=VOTE.voted_us + 1))

    assert await verdict(store) is Verdict.NOT_RELEVANT
    store.close()
    assert [vote.rank for vote in StoreFile(path).votes()] == [7]


@pytest.mark.parametrize(
    "difference", [{"user_id": BEN}, {"team_id": "T2"}, {"query_key": "q2"}, {"document_id": "d2"}]
)
async def test_votes_differ_by_person_team_query_and_document(store: Store, difference: dict[str, str]) -> None:
    await store.vote(VOTE)
    other = replace(VOTE, verdict=Verdict.NOT_RELEVANT, **difference)  # type: ignore[arg-type]

    assert await verdict(store, other) is None
    await store.vote(other)

    assert await verdict(store) is Verdict.GOOD
    assert await verdict(store, other) is Verdict.NOT_RELEVANT


async def test_a_vote_can_be_withdrawn_and_only_that_one_goes(store: Store) -> None:
    await store.vote(VOTE)
    await store.vote(replace(VOTE, user_id=BEN))

    assert await store.withdraw(TEAM, ADA, query_key="q1", document_id=VOTE.document_id)

    assert await verdict(store) is None
    assert await verdict(store, replace(VOTE, user_id=BEN)) is Verdict.GOOD


async def test_recent_searches_are_the_newest_first_each_text_once_and_of_one_person(store: Store) -> None:
    for command in ("rate limit", "outage E4392", "  Rate   LIMIT "):
        remember(store, TEAM, ADA, command=command)
    remember(store, TEAM, BEN, command="lunch")
    remember(store, "T2", ADA, command="of another team")

    assert await commands(store) == ["Rate   LIMIT", "outage E4392"]
    assert await commands(store, BEN) == ["lunch"]


async def test_no_more_than_fifty_recent_searches_of_a_person_are_kept(store: Store) -> None:
    remember(store, TEAM, BEN, command="lunch")
    for number in range(KEPT_RECENTS + 5):
        remember(store, TEAM, ADA, command=f"search {number}")

    assert await commands(store) == [f"search {number}" for number in range(54, 34, -1)]
    assert await commands(store, limit=1000) == [f"search {number}" for number in range(54, 4, -1)]
    assert await commands(store, BEN) == ["lunch"]


async def test_half_a_character_stops_nothing(store: Store) -> None:
    """Found by benchmarks.fuzz, store-file:1:48: SQLite cannot hold it, and the store paused for everybody."""
    remember(store, TEAM, ADA, command="lunch \udfff today")
    assert await store.vote(replace(VOTE, command="\ud800", understood="\ud800", text="\ud800"))
    assert await store.take_envelopes("envelope \udfff")

    assert [one.command for one in await store.recents(TEAM, ADA)] == ["lunch \ufffd today"]
    assert store.failures == 0


def test_a_damaged_schema_that_sqlite_cannot_tell_of_is_an_error_of_sqlite(path: Path) -> None:
    """Found by benchmarks.fuzz, store-file:2:154: the sentence quotes bytes that are no text."""
    file = StoreFile(path)
    file.put_vote(VOTE)
    file.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE votes", b"CREATE TABLE vo\xc5e("))

    with pytest.raises(sqlite3.DatabaseError):
        StoreFile(path).open()


async def test_an_empty_search_is_not_remembered(store: Store) -> None:
    remember(store, TEAM, ADA, command="  ")

    assert await commands(store) == []


async def test_forgotten_searches_are_no_longer_in_any_file(store: Store, path: Path) -> None:
    remember(store, TEAM, ADA, command="a very private matter")
    remember(store, TEAM, BEN, command="lunch")
    assert await commands(store) == ["a very private matter"]

    assert await store.forget_recents(TEAM, ADA)

    assert await commands(store) == []
    assert await commands(store, BEN) == ["lunch"]
    assert not any(b"private matter" in file.read_bytes() for file in path.parent.iterdir())


async def test_what_is_switched_off_is_not_kept(path: Path) -> None:
    store = opened(path, keeps_votes=False, keeps_recents=False)
    remember(store, TEAM, ADA, command="rate limit")

    assert not await store.vote(VOTE)
    assert await verdict(store) is None
    assert await store.recents(TEAM, ADA) == ()
    assert store.failures == 0
    store.close()
    file = StoreFile(path)
    assert (file.votes(), file.recents(TEAM, ADA, limit=9)) == ((), ())
    file.close()


async def test_two_stores_on_one_file_take_an_envelope_once_between_them(path: Path) -> None:
    first, second = opened(path), opened(path)

    assert await first.take_envelopes("e1")
    assert not await second.take_envelopes("e1")
    assert await second.take_envelopes("e2", "Ev2")
    assert not await first.take_envelopes("e3", "Ev2"), "a new envelope of an event that was taken"

    first.close()
    second.close()


async def test_many_takes_at_once_from_two_stores_give_each_envelope_to_one(path: Path) -> None:
    stores = [opened(path), opened(path)]
    names = [f"e{number}" for number in range(200)]

    taken = await asyncio.gather(*(store.take_envelopes(name) for name in names for store in stores))

    assert sum(taken) == len(names)
    assert all(sum(taken[2 * number : 2 * number + 2]) == 1 for number in range(len(names)))
    assert [store.failures for store in stores] == [0, 0]
    for store in stores:
        store.close()


async def test_envelopes_that_come_while_the_thread_is_busy_are_one_transaction(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(path)
    free, batches = threading.Event(), []
    take = StoreFile.take_envelopes

    def counted(self: StoreFile, deliveries: Sequence[tuple[str, ...]], *, now_s: float) -> list[bool]:
        batches.append(len(deliveries))
        return take(self, deliveries, now_s=now_s)

    monkeypatch.setattr(StoreFile, "take_envelopes", counted)
    store._submit(free.wait)  # The thread is busy until then.
    names = [f"e{number}" for number in range(20)]
    asked = [asyncio.create_task(store.take_envelopes(name)) for name in [*names, *names]]
    await asyncio.sleep(0)
    free.set()

    assert await asyncio.gather(*asked) == [True] * 20 + [False] * 20
    assert batches == [40]
    assert not await store.take_envelopes("e7")
    store.close()


async def test_one_that_gives_up_leaves_the_others_of_its_transaction_their_answers(path: Path) -> None:
    store = opened(path)
    free = threading.Event()
    store._submit(free.wait)  # The thread is busy until then.
    asked = [asyncio.create_task(store.take_envelopes(name)) for name in ("e1", "e1")]
    await asyncio.sleep(0)
    asked[0].cancel()
    await asyncio.wait([asked[0]])
    free.set()

    assert await asked[1] is False, "the first took it"
    store.close()


async def test_an_envelope_is_forgotten_after_an_hour(path: Path) -> None:
    clock = Hand()
    store = opened(path, clock=clock)
    await store.take_envelopes("e1")
    clock.now += ENVELOPE_SECONDS - 1
    assert not await store.take_envelopes("e1")

    clock.now += 120

    assert await store.take_envelopes("e1")
    store.close()


async def test_what_one_process_wrote_another_reads(path: Path) -> None:
    first, second = opened(path), opened(path)
    await first.vote(VOTE)
    remember(first, TEAM, ADA, command="rate limit")
    assert await commands(first) == ["rate limit"]

    assert await verdict(second) is Verdict.GOOD
    assert await commands(second) == ["rate limit"]

    first.close()
    second.close()


async def test_nobody_else_on_the_machine_can_read_the_files(store: Store, path: Path) -> None:
    before = os.umask(0)
    try:
        await store.vote(VOTE)
    finally:
        os.umask(before)

    files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert files == dict.fromkeys(["store.sqlite3", "store.sqlite3-shm", "store.sqlite3-wal"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def written(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_a_locked_file_delays_nothing_is_logged_once_and_counted(path: Path) -> None:
    now = [100.0]
    store = opened(path, monotonic=lambda: now[0])
    await store.vote(VOTE)
    with captured_log() as lines, locked(path):
        began = time.monotonic()
        assert await store.take_envelopes("e1"), "what the store cannot tell counts as new"
        for number in range(50):
            assert not await store.vote(replace(VOTE, document_id=f"d{number}"))
            remember(store, TEAM, ADA, command="rate limit")
        assert time.monotonic() - began < 1.5
        assert store.problem == "OperationalError"
        now[0] += 5
        assert not await store.vote(VOTE)
    assert store.failures == 102
    assert lines.events().count("store_not_working") == 1

    now[0] += 5
    assert await store.vote(VOTE)
    assert store.problem is None
    store.close()


async def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    content = b"not a database, but somebody's notes" * 200
    written(path, content)
    with captured_log() as lines:
        store = opened(path)

        assert not await store.vote(VOTE)
        assert await store.recents(TEAM, ADA) is None
        assert await store.take_envelopes("e1")

    assert lines.events() == ["store_not_working"]
    store.close()
    assert content_of(path) == content


async def test_a_file_of_a_later_version_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    later = sqlite3.connect(path)
    later.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    later.close()
    with captured_log() as lines:
        store = opened(path)
        assert not await store.vote(VOTE)

    assert f"version {SCHEMA_VERSION + 1}" in lines.lines()[0]["detail"]
    store.close()
    later = sqlite3.connect(path)
    assert later.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    later.close()


async def test_a_full_store_takes_no_more_and_still_tells_what_it_has(path: Path) -> None:
    now = [100.0]
    store = opened(path, max_bytes=200_000, monotonic=lambda: now[0])
    kept = 0
    while await store.vote(replace(VOTE, document_id=f"d{kept}", text="x" * 2000)):
        kept += 1
    assert kept > 10
    now[0] += 5

    assert await verdict(store, replace(VOTE, document_id="d0")) is Verdict.GOOD
    store.close()


async def test_a_folder_that_cannot_be_made_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with captured_log() as lines:
        store = opened(tmp_path / "file" / "store.sqlite3")
        assert await store.take_envelopes("e1")

    assert lines.events() == ["store_not_working"]
    store.close()


async def test_a_file_that_hangs_costs_one_wait(path: Path) -> None:
    store = opened(path)
    await store.vote(VOTE)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()
    blocked = asyncio.run_coroutine_threadsafe
    store._submit(lambda: blocked(release.wait(), loop).result())

    began = time.monotonic()
    assert await store.take_envelopes("e1")
    for number in range(20):
        assert await store.take_envelopes(f"e{number}")

    assert time.monotonic() - began < 1.5
    release.set()
    store.close()


async def test_a_file_that_was_deleted_is_made_again(store: Store, path: Path) -> None:
    await store.vote(VOTE)
    for file in path.parent.iterdir():
        file.unlink()

    assert await verdict(store) is None
    assert await store.vote(VOTE)
    assert await verdict(store) is Verdict.GOOD


async def test_nothing_is_asked_of_a_closed_store(path: Path) -> None:
    store = opened(path)
    store.close()

    assert await store.take_envelopes("e1")
    assert not await store.vote(VOTE)


def test_a_store_of_the_first_version_keeps_its_rows(path: Path) -> None:
    path.parent.mkdir()
    file = StoreFile(path)
    file.put_vote(VOTE)
    file.put_recent(TEAM, ADA, RecentSearch(command="rate limit", shown="rate limit", searched_us=1))
    file.close()
    again = StoreFile(path)

    assert again.votes() == (VOTE,)
    assert again.recents(TEAM, ADA, limit=9) == (RecentSearch(command="rate limit", shown="rate limit", searched_us=1),)
    again.close()


BASE = SearchRequest(text="Rate limit", filters=Filters(channel_ids=("C1",)))


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, text=" rate  LIMIT "),
        replace(BASE, mode=Mode.LEXICAL),
        replace(BASE, sort=Sort.NEWEST),
        replace(BASE, limit=5, cursor="somewhere"),
    ],
)
def test_it_is_the_same_query_whatever_the_mode_order_page_case_and_spacing(other: SearchRequest) -> None:
    assert query_key(other) == query_key(BASE)


def of_filters(**conditions: tuple[str, ...]) -> str:
    return query_key(replace(BASE, filters=Filters(**conditions)))  # type: ignore[arg-type]


def test_modifiers_in_another_order_or_twice_are_the_same_query() -> None:
    assert of_filters(channel_ids=("C2", "C1")) == of_filters(channel_ids=("C1", "C2"))
    assert of_filters(author_ids=("U1", "U1")) == of_filters(author_ids=("U1",))
    assert of_filters(excluded_words=("Beta", "alpha")) == of_filters(excluded_words=("alpha", "beta"))
    assert of_filters(phrases=("Rate  Limit",)) == of_filters(phrases=("rate limit",))
    assert of_filters(channel_ids=("C1",)) != of_filters(excluded_channel_ids=("C1",))


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, text="rate limits"),
        replace(BASE, filters=Filters()),
        replace(BASE, filters=Filters(channel_ids=("C2",))),
        replace(BASE, filters=Filters(channel_ids=("C1",), phrases=("rate limit",))),
        replace(BASE, filters=Filters(channel_ids=("C1",), phrases=("rate limits",))),
    ],
)
def test_other_words_or_filters_are_another_query(other: SearchRequest) -> None:
    assert query_key(other) != query_key(BASE)


def test_a_querys_key_is_the_same_in_every_process_and_after_an_upgrade() -> None:
    assert query_key(BASE) == "947a0404910559f406a60ba2"
