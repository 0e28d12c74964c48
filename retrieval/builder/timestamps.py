"""Slack's message timestamps as integers: Unix microseconds, never floats."""

import re
from typing import Final

MICROSECONDS: Final = 1_000_000
DAY_US: Final = 86_400 * MICROSECONDS

_TS: Final = re.compile(r"(\d{1,11})(?:\.(\d+))?", re.ASCII)


def parse_ts(ts: str) -> int:
    """Return a ts as Unix microseconds; digits beyond the sixth are cut.

    Raises:
        ValueError: *ts* is not seconds with an optional fraction.
    """
    match = _TS.fullmatch(ts.strip())
    if match is None:
        raise ValueError(f"{ts[:40]!r} is not a timestamp")
    seconds, fraction = match.groups(default="")
    return int(seconds) * MICROSECONDS + int(fraction[:6].ljust(6, "0"))


def format_ts(ts_us: int) -> str:
    """Return microseconds as Slack writes them: `1700000000.000100`."""
    seconds, fraction = divmod(ts_us, MICROSECONDS)
    return f"{seconds}.{fraction:06d}"
