"""Timestamps without floats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.builder.timestamps import format_ts, parse_ts


@pytest.mark.parametrize(
    ("ts", "ts_us"),
    [
        ("1700000000.000100", 1_700_000_000_000_100),
        ("1700000000.00001", 1_700_000_000_000_010),
        ("1700000000", 1_700_000_000_000_000),
        ("1700000000.1234567", 1_700_000_000_123_456),
    ],
)
def test_a_ts_of_any_precision_is_microseconds(ts: str, ts_us: int) -> None:
    assert parse_ts(ts) == ts_us


def test_order_is_numeric() -> None:
    assert parse_ts("1700000000.000010") < parse_ts("1700000000.0002") < parse_ts("1700000000.000210")


@pytest.mark.parametrize("ts", ["", "abc", "1.2.3", "-5", "1e9", "17000000000000", "１２３"])
def test_what_is_no_ts_is_refused(ts: str) -> None:
    with pytest.raises(ValueError, match="not a timestamp"):
        parse_ts(ts)


@given(st.integers(min_value=0, max_value=4_000_000_000_000_000))
def test_writing_and_reading_give_the_same(ts_us: int) -> None:
    assert parse_ts(format_ts(ts_us)) == ts_us
