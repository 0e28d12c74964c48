"""Random inputs for `benchmarks.fuzz`: texts, values, and small damage to what was well formed."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

_KEYS: Final = (
    "in",
    "from",
    "before",
    "after",
    "on",
    "during",
    "mode",
    "has",
    "is",
    "sort",
    "http",
    "key",
    "-in",
    "-from",
)
_VALUES: Final = (
    "#general", "general", "<#C1|general>", "C1", "@ada", "me", "<@U1>", "<@U1|ada>", "<!channel>",
    "<!subteam^S1|@crew>",
    "2026-03-01", "2026-02-30", "0001-01-01", "9999-12-31", "yesterday", "7d", "99999999999d", "july", "july 2025",
    "last week", "2026-03-01..2026-02-01", "2026-03-01 10:30", "lexical", "semantic", "hybrid", "link", "file", "code",
    "thread", "newest", "oldest", "", '"', "“Mara Lind”", '"Mara Lind"', "..", "-", "--", "today", "q3", "1e999", "٣d",
)  # fmt: skip
_ODD: Final = (
    "\x00", "\x1f", "\x7f", "\u200b", "\u200f", "\u202e", "\ufeff", "\ud800", "\udfff", "🎉", "👨‍👩‍👧‍👦", "e\u0301",
    "ﬁ", "İ",    "ß", "上海", "שלום", "&amp;", "&lt;", "&amp;lt;", "<", ">", "|", "`",
    "```", "*", "'", "’", "“", "”", ";", "--", "/*",
    "$1", "?", "%s", "{0}", "\\", "\r\n", "\u2028", "\U0010ffff", "xoxb-", "'; DROP TABLE search_documents; --",
)  # fmt: skip
_WORDS: Final = (
    "rate",
    "limit",
    "429",
    "E4392",
    "PROJ-17",
    "v1.2.3",
    "10.0.0.1",
    "foo.bar_baz()",
    "lunch",
    "harbour",
    "-not",
)


def text(random: Random, *, pieces: int = 12) -> str:
    """Return up to *pieces* words, modifiers and oddities, some run together; now and then something long."""
    if random.random() < 0.01:
        return random.choice((*_ODD, *_WORDS, '"', "-", "in:", "(")) * random.randrange(1, 8_000)
    parts = [_piece(random) for _ in range(random.randrange(pieces + 1))]
    return "".join(part + random.choice(("", " ", " ", "  ", "\t")) for part in parts)


def _piece(random: Random) -> str:
    kind = random.random()
    if kind < 0.35:
        return f"{random.choice(_KEYS)}:{random.choice((*_VALUES, *_ODD))}"
    if kind < 0.6:
        return random.choice(_WORDS)
    if kind < 0.7:
        return f'"{random.choice(_WORDS)} {random.choice(_VALUES)}'
    if kind < 0.9:
        return random.choice((*_ODD, *_VALUES))
    return "".join(chr(random.choice((random.randrange(0x80), random.randrange(0x110000)))) for _ in range(8))


def value(random: Random, *, depth: int = 3) -> object:
    """Return any JSON value, nested up to *depth*."""
    kind = random.randrange(9 if depth else 7)
    numbers = (0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf"))
    match kind:
        case 0 | 1 | 2 | 3:
            return random.choice((None, True, False, *numbers))
        case 4 | 5 | 6:
            return text(random, pieces=3)
        case 7:
            return [value(random, depth=depth - 1) for _ in range(random.randrange(4))]
        case _:
            return {text(random, pieces=1): value(random, depth=depth - 1) for _ in range(random.randrange(4))}


def damaged(random: Random, whole: object) -> object:
    """Return a copy of a JSON value in which one to three places are missing, doubled or something else."""
    for _ in range(random.randrange(1, 4)):
        whole = _damaged_once(random, whole)
    return whole


def _damaged_once(random: Random, whole: object) -> object:
    if random.random() < 0.15 or not isinstance(whole, (Mapping, list)) or not whole:
        return value(random)
    if isinstance(whole, list):
        place = random.randrange(len(whole))
        changed = [] if random.random() < 0.2 else [_damaged_once(random, whole[place])] * random.randrange(1, 3)
        return [*whole[:place], *changed, *whole[place + 1 :]]
    key = random.choice(sorted(whole, key=str))
    rest = {name: one for name, one in whole.items() if name != key}
    kind = random.random()
    if kind < 0.2:
        return rest
    if kind < 0.3:
        return {**rest, text(random, pieces=1): whole[key]}
    return {**rest, key: _damaged_once(random, whole[key])}


def damaged_bytes(random: Random, content: bytes) -> bytes:
    """Return *content* with bytes changed, cut out, doubled or put in, at one to four places."""
    made = bytearray(content)
    for _ in range(random.randrange(1, 5)):
        place, length = random.randrange(len(made) + 1), random.choice((1, 1, 2, 4, 64))
        match random.randrange(5):
            case 0 if place < len(made):
                made[place] ^= 1 << random.randrange(8)
            case 1:
                del made[place : place + length]
            case 2:
                made[place:place] = random.randbytes(length)
            case 3:
                made[place : place + length] = made[max(0, place - length) : place]
            case _ if random.random() < 0.1:
                del made[place:]
    return bytes(made)


def damaged_text(random: Random, whole: str) -> str:
    """Return an ASCII text with one to four characters changed, cut out or put in; now and then another altogether."""
    if random.random() < 0.1:
        return text(random)
    made = list(whole)
    for _ in range(random.randrange(1, 5)):
        place = random.randrange(len(made) + 1)
        made[place : place + random.randrange(3)] = random.choice(
            ("", "A", "_", ".", "=", "é", "\ud800", chr(random.randrange(128)))
        )
    return "".join(made)


def as_json(random: Random, whole: object) -> bytes:
    """Return *whole* as JSON; now and then with damage to its bytes."""
    content = json.dumps(whole).encode()
    return damaged_bytes(random, content) if random.random() < 0.3 else content


def one_of(random: Random, choices: Sequence[str]) -> str:
    """Return one of *choices*, or now and then something else."""
    return random.choice(choices) if random.random() < 0.8 else text(random, pieces=2)
