"""Threads and their windows."""

from hypothesis import given
from hypothesis import strategies as st

from retrieval.builder.report import Ledger
from retrieval.builder.rows import MessageRow
from retrieval.builder.threads import (
    WINDOW_CHARACTERS,
    WINDOW_MESSAGES,
    Utterance,
    index_threads,
    window_text,
    windows,
)


def _row(ts: str, **values: object) -> MessageRow:
    return MessageRow.model_validate({"ts": ts, "type": "message", "text": "x", **values})


def _utterances(lengths: list[int]) -> list[Utterance]:
    return [Utterance(document_id=f"d{i}", ts_us=i, text="a" * length) for i, length in enumerate(lengths)]


def test_root_and_replies_belong_to_the_thread_and_others_to_none() -> None:
    rows = [_row("1.000000", thread_ts="1.000000"), _row("2.000000", thread_ts="1.000000"), _row("3.000000")]
    threads = index_threads(rows, Ledger())

    assert [threads.thread_of(row) for row in rows] == [1_000_000, 1_000_000, None]


def test_a_root_that_does_not_know_its_replies_is_restored_and_counted() -> None:
    rows = [_row("1.000000"), _row("2.000000", thread_ts="1.000000")]
    ledger = Ledger()

    assert index_threads(rows, ledger).thread_of(rows[0]) == 1_000_000
    assert ledger.oddities["missing_parents"] == 1


def test_an_absent_root_is_counted_once_for_its_thread() -> None:
    ledger = Ledger()
    index_threads([_row("2.000000", thread_ts="1.000000"), _row("3.000000", thread_ts="1.0")], ledger)

    assert ledger.oddities["missing_parents"] == 1


def test_a_deleted_root_is_counted_apart() -> None:
    ledger = Ledger()
    root = _row("1.000000", thread_ts="1.000000", subtype="tombstone")
    index_threads([root, _row("2.000000", thread_ts="1.000000")], ledger)

    assert ledger.oddities == {"deleted_parents": 1}


def test_a_single_message_has_no_window() -> None:
    assert windows(_utterances([10])) == []


def test_eleven_short_messages_make_two_windows() -> None:
    assert [len(window) for window in windows(_utterances([5] * 11))] == [10, 1]


@given(st.lists(st.integers(min_value=1, max_value=2000), min_size=2, max_size=60))
def test_windows_hold_every_message_once_in_order_and_within_bounds(lengths: list[int]) -> None:
    utterances = _utterances(lengths)
    found = windows(utterances)

    assert [utterance for window in found for utterance in window] == utterances
    for window in found:
        assert len(window) <= WINDOW_MESSAGES
        assert len(window_text(window)) <= WINDOW_CHARACTERS
        assert len(window) == 1 or sum(len(utterance.text) for utterance in window) <= WINDOW_CHARACTERS
