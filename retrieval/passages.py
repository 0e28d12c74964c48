"""The part of a text that a reader sees: the window around the best match, matched words marked.

Lengths are in characters as Python counts them. A passage begins and ends at a whole grapheme, so that no emoji, flag
or accented letter is cut in half, and at a word where one is near. Delimiters of code (``` and `) are left out and
what stood between them is marked instead.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from retrieval.analyzer import TokenSpan, token_spans
from retrieval.lexemes import whole_characters

# How far a cut may move to reach a blank; in scripts without blanks it stays where it is.
_MAX_WORD_SHIFT: Final = 40

_CODE: Final = regex.compile(r"```(?P<fence>.+?)```|(?<!`)`(?!`)(?P<inline>[^`\n]+)`(?!`)", regex.DOTALL)
_BLANK_LINES: Final = regex.compile(r"\n{3,}")
_WIDE_GAP: Final = regex.compile(r"(?<=\S)[^\S\n]{2,}")
_GRAPHEME: Final = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a passage, drawn in one style.

    Attributes:
        text: Plain text; may hold newlines.
        matched: Whether the query matched it.
        code: Whether it stood in a code span or block.
    """

    text: str
    matched: bool
    code: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of a text.

    Attributes:
        segments: In order; neighbours differ in style; none is empty.
        cut_start: Whether text before it was left out.
        cut_end: Whether text after it was left out.
    """

    segments: tuple[Segment, ...]
    cut_start: bool
    cut_end: bool


@dataclass(frozen=True, slots=True)
class _Mark:
    """A matched stretch and the query's terms that it answers."""

    start: int
    end: int
    terms: tuple[str, ...]


def make_passage(text: str, *, terms: Sequence[str], phrases: Sequence[str] = (), max_chars: int = 300) -> Passage:
    """Return the window of *text* that holds the most distinct terms, ties to the earliest.

    Runs of blank lines become one, runs of blanks outside code one blank; a pair of surrogates becomes its
    character. An identifier that matches by a part of it is marked at that part. Linear in the length of *text*, times
    the number of terms where one run of characters without a blank matches many.

    Args:
        text: What a reader sees of a document, unescaped.
        terms: The query's tokens, as the analyzer makes them.
        phrases: Quoted phrases; each counts as a term of its own where it stands verbatim, case and spacing aside.
        max_chars: The passage's length at most. A single grapheme longer than this is cut all the same.

    Raises:
        ValueError: *max_chars* is not positive.
    """
    if max_chars < 1:
        raise ValueError(f"max_chars must be positive, not {max_chars}")
    shown, code = _without_delimiters(whole_characters(text))
    marks = sorted(
        [*_term_marks(shown, code, frozenset(terms)), *_phrase_marks(shown, phrases)],
        key=lambda mark: (mark.start, mark.end),
    )
    borders = [match.start() for match in _GRAPHEME.finditer(shown)] + [len(shown)]
    start, end = _window(shown, marks, max_chars)
    start, end = _at_graphemes(borders, start, end, max_chars)
    start, end = _stripped(shown, borders, start, end)
    styles = _Styles(
        matched=_styled(((mark.start, mark.end) for mark in marks), borders, start, end),
        code=_styled(code, borders, start, end),
    )
    return Passage(
        segments=tuple(_segments(shown, start, end, styles)),
        cut_start=bool(shown[:start].strip()),
        cut_end=bool(shown[end:].strip()),
    )


def _without_delimiters(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text as it is shown and where code stands in it."""
    text = _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.splitlines())).strip()
    pieces: list[str] = []
    code: list[tuple[int, int]] = []
    length = end = 0

    def add(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    for match in _CODE.finditer(text):
        add(_WIDE_GAP.sub(" ", text[end : match.start()]))
        inside = match["inline"] or match["fence"].strip("\n")
        is_block = match["fence"] is not None and "\n" in match["fence"]
        if is_block and pieces[-1].strip() and not pieces[-1].endswith("\n"):
            add("\n")
        code.append((length, length + len(inside)))
        add(inside)
        end = match.end()
        if is_block and end < len(text) and text[end] != "\n":
            add("\n")
    add(_WIDE_GAP.sub(" ", text[end:]))
    return "".join(pieces), [stretch for stretch in code if stretch[0] < stretch[1]]


def _term_marks(text: str, code: Sequence[tuple[int, int]], terms: frozenset[str]) -> Iterator[_Mark]:
    """Yield the matches of single terms; code and what surrounds it are read apart, as they were written."""
    edges = sorted({0, len(text), *(edge for stretch in code for edge in stretch)})
    for start, end in itertools.pairwise(edges):
        part = text[start:end]
        for span in token_spans(part):
            yield from _span_marks(part, span, terms, offset=start)


def _span_marks(text: str, span: TokenSpan, terms: frozenset[str], *, offset: int) -> Iterator[_Mark]:
    found = tuple(token for token in span.tokens if token in terms)
    if not found:
        return
    surface = text[span.start : span.end].lower()
    begin = offset + span.start
    if surface in terms and surface == span.tokens[0]:
        yield _Mark(begin, offset + span.end, found)
        return
    # A letter may change its length when it is lowered (İ), and then places inside the run are not known.
    places = [_places(surface, term) if len(surface) == span.end - span.start else [] for term in found]
    if not all(places):
        yield _Mark(begin, offset + span.end, found)
        return
    for term, starts in zip(found, places, strict=True):
        for start in starts:
            yield _Mark(begin + start, begin + start + len(term), (term,))


def _places(surface: str, term: str) -> list[int]:
    """Return where *term* stands in *surface* as a part of its own, else wherever it stands."""
    found: list[int] = []
    start = surface.find(term)
    while start >= 0:
        found.append(start)
        start = surface.find(term, start + 1)
    return [start for start in found if _stands_apart(surface, start, start + len(term))] or found


def _stands_apart(surface: str, start: int, end: int) -> bool:
    before = surface[start - 1 : start]
    after = surface[end : end + 1]
    return not before.isalnum() and not after.isalnum()


def _phrase_marks(text: str, phrases: Iterable[str]) -> Iterator[_Mark]:
    for phrase in phrases:
        words = phrase.split()
        if words:
            pattern = r"\s+".join(map(regex.escape, words))
            for match in regex.finditer(pattern, text, regex.IGNORECASE):
                # A blank keeps a phrase of one word apart from the term of the same letters.
                yield _Mark(match.start(), match.end(), (f" {phrase}",))


def _window(text: str, marks: Sequence[_Mark], max_chars: int) -> tuple[int, int]:
    """Return the window around the most distinct terms, cut at blanks where they are near."""
    if len(text) <= max_chars:
        return 0, len(text)
    first, last = _best_stretch(marks, max_chars)
    start = 0 if last <= max_chars else max(0, first - max(0, max_chars - (last - first)) // 2)
    end = min(len(text), start + max_chars)
    start = max(0, end - max_chars)
    return _after_blank(text, start, min(first, end)), _before_blank(text, max(last, start), end)


def _best_stretch(marks: Sequence[_Mark], max_chars: int) -> tuple[int, int]:
    """Return the earliest stretch of at most *max_chars* with the most distinct terms; (0, 0) without marks."""
    best = (0, 0)
    most = 0
    possible = len({term for mark in marks for term in mark.terms})
    inside: Counter[str] = Counter()
    left = 0
    for right, mark in enumerate(marks):
        inside.update(mark.terms)
        while left < right and mark.end - marks[left].start > max_chars:
            inside.subtract(marks[left].terms)
            inside += Counter()
            left += 1
        if len(inside) > most:
            most = len(inside)
            best = (marks[left].start, max(one.end for one in marks[left : right + 1]))
        if most == possible:
            break
    return best


def _after_blank(text: str, start: int, limit: int) -> int:
    """Return the nearest beginning of a word in *start*..*limit*, else *start*."""
    if start == 0 or text[start - 1].isspace():
        return start
    for position in range(start, min(limit, start + _MAX_WORD_SHIFT)):
        if text[position].isspace():
            return position + 1
    return start


def _before_blank(text: str, limit: int, end: int) -> int:
    """Return the nearest end of a word in *limit*..*end*, else *end*."""
    if end == len(text) or text[end].isspace():
        return end
    for position in range(end - 1, max(limit, end - _MAX_WORD_SHIFT) - 1, -1):
        if text[position].isspace():
            return position
    return end


def _at_graphemes(borders: Sequence[int], start: int, end: int, max_chars: int) -> tuple[int, int]:
    """Narrow the window to whole graphemes; one that is longer than a passage is cut."""
    inner = borders[bisect.bisect_left(borders, start)]
    last = borders[bisect.bisect_right(borders, end) - 1]
    if inner < last or start >= end:
        return inner, max(inner, last)
    begin = borders[bisect.bisect_right(borders, start) - 1]
    return begin, min(begin + max_chars, borders[bisect.bisect_right(borders, begin)])


def _stripped(text: str, borders: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Leave out blanks at either end, except one that carries a combining mark."""
    first = bisect.bisect_left(borders, start)
    while start < end and text[start].isspace() and borders[first + 1] == start + 1:
        start, first = start + 1, first + 1
    last = bisect.bisect_left(borders, end)
    while start < end and text[end - 1].isspace() and borders[last - 1] == end - 1:
        end, last = end - 1, last - 1
    return start, end


@dataclass(frozen=True, slots=True)
class _Styles:
    """Stretches by style, each list in order and without overlap."""

    matched: list[tuple[int, int]]
    code: list[tuple[int, int]]


def _styled(
    stretches: Iterable[tuple[int, int]], borders: Sequence[int], start: int, end: int
) -> list[tuple[int, int]]:
    """Return the parts of *stretches* inside the window, widened to whole graphemes, touching ones as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if last <= start or first >= end:
            continue
        low = max(borders[bisect.bisect_right(borders, first) - 1], start)
        high = min(borders[bisect.bisect_left(borders, last)], end)
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _segments(text: str, start: int, end: int, styles: _Styles) -> Iterator[Segment]:
    edges = sorted(
        {start, end, *(edge for kind in (styles.matched, styles.code) for stretch in kind for edge in stretch)}
    )
    for low, high in itertools.pairwise(edges):
        yield Segment(text[low:high], matched=_covered(styles.matched, low), code=_covered(styles.code, low))


def _covered(stretches: Sequence[tuple[int, int]], position: int) -> bool:
    before = bisect.bisect_right(stretches, position, key=lambda stretch: stretch[0]) - 1
    return before >= 0 and position < stretches[before][1]
