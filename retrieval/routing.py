"""What kind of query a text is, and which scripts it is written in."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from retrieval.identifiers import find_identifiers, trim_word
from retrieval.models import QueryClass

# Words that carry nothing by themselves; only for telling whether identifiers dominate a query.
_FILLERS: Final = frozenset(
    "a an the of in on at to for from by with and or is are was were be it this that what why how when where who "
    "does do did error errors issue ticket bug version fails failed failing fix".split()
)
_SCRIPTS: Final = (
    "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Greek", "Arabic", "Hebrew", "Thai", "Devanagari",
)  # fmt: skip
_SCRIPT_PATTERNS: Final = {name: regex.compile(rf"\p{{{name}}}") for name in _SCRIPTS}
_LETTER: Final = regex.compile(r"\p{L}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a query is treated.

    Attributes:
        query_class: Decides the weights of the lists in hybrid mode.
        identifiers: What must be found by its exact string.
        phrases: Quoted spans.
        known_script: Whether the model can read most of the query's letters.
    """

    query_class: QueryClass
    identifiers: tuple[str, ...]
    phrases: tuple[str, ...]
    known_script: bool


def route_query(text: str, phrases: Sequence[str] = (), *, scripts: Sequence[str] = ()) -> Route:
    """Return how to treat the query *text*.

    Exact: it has a quoted span, or identifiers make up at least half of its telling words. Conceptual: no
    identifier at all. Mixed: the rest.

    Args:
        text: The words to rank by, modifiers and quotes removed.
        phrases: The quoted spans among them.
        scripts: What the embedding model can read; empty means everything.
    """
    identifiers = find_identifiers(text)
    telling = [word for raw in text.split() if (word := trim_word(raw).lower()) and word not in _FILLERS]
    if phrases or (identifiers and 2 * len(identifiers) >= len(telling)):
        query_class = QueryClass.EXACT
    elif identifiers:
        query_class = QueryClass.MIXED
    else:
        query_class = QueryClass.CONCEPTUAL
    return Route(
        query_class=query_class,
        identifiers=identifiers,
        phrases=tuple(phrases),
        known_script=_mostly_known(text, scripts),
    )


def main_script(text: str) -> str:
    """Return the script that most letters of *text* are of: a Unicode name, `other`, or nothing without letters."""
    counts = Counter(_script_of(letter) for letter in _LETTER.findall(text))
    return min(counts, key=lambda name: (-counts[name], name), default="")


def _mostly_known(text: str, scripts: Sequence[str]) -> bool:
    """Return whether at least half of the letters of *text* are of *scripts*; no letters count as known."""
    if not scripts:
        return True
    counts = Counter(_script_of(letter) for letter in _LETTER.findall(text))
    total = counts.total()
    return total == 0 or 2 * sum(counts[name] for name in scripts) >= total


def _script_of(letter: str) -> str:
    return next((name for name, pattern in _SCRIPT_PATTERNS.items() if pattern.match(letter)), "other")
