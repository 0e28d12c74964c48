"""Readable texts in memory, searched for strings verbatim: the exact list as `retrieval.exact` has DuckDB make it.

Case is folded by DuckDB itself when texts are read (plain ASCII apart, where there is but one way). Whether a string
stands at token borders is decided here for strings of ASCII alone; what letters and digits of other scripts are, the
caller's DuckDB says.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.exact import text_sql
from retrieval.resident.columns import Columns
from retrieval.resident.strings import Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Documents a block. Other threads get their turn between blocks: looking for a string holds the interpreter.
_PORTION: Final = 16_384
# Strings that hold it are not looked for here, so that nothing is found across two texts.
SEPARATOR: Final = "\0"
# What DuckDB folds to ASCII letters, by `lower` or in regular expressions: dotted I, long s, Kelvin.
ODD_CHARACTERS: Final = "\u0130\u017f\u212a"
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DOT_HYPHEN: Final = frozenset(".-")
_MAX_GRADED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some texts one after the other.

    Attributes:
        rows: Their documents' rows.
        texts: The texts, UTF-8, each followed by a separator.
        starts: Where each begins in `texts`, and the end.
        lowered: The same in lower case.
        lowered_starts: Where each begins there, and the end.
    """

    rows: NDArray[np.int32]
    texts: Content
    starts: Sequence[int]
    lowered: Content
    lowered_starts: Sequence[int]

    def holding(self, wanted: bytes) -> Iterator[int]:
        """Yield the places of the texts that hold *wanted*, lower case, ascending."""
        found = self.lowered.find(wanted)
        while found >= 0:
            place = bisect_right(self.lowered_starts, found) - 1
            yield place
            found = self.lowered.find(wanted, self.lowered_starts[place + 1])

    def text(self, place: int) -> str:
        """Return the text at *place*."""
        return self.texts[self.starts[place] : self.starts[place + 1] - 1].decode()

    def lowered_text(self, place: int) -> bytes:
        """Return the text at *place* in lower case."""
        return self.lowered[self.lowered_starts[place] : self.lowered_starts[place + 1] - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of messages and file chunks; read-only, shared by threads."""

    blocks: tuple[Block, ...]

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return sum(
            len(one.texts) + len(one.lowered) + one.rows.nbytes + 8 * (len(one.starts) + len(one.lowered_starts))
            for one in self.blocks
        )

    def grade(
        self, wanted: Sequence[str], *, is_word: Callable[[str], bool]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]] | None:
        """Return row, strings at token borders and strings in the same case, of every document that holds *wanted*.

        Args:
            wanted: At least one string, ASCII, not empty, without `SEPARATOR`.
            is_word: Whether a character, not ASCII, is a letter or digit.

        Returns:
            None where DuckDB must tell: a text holds one of `ODD_CHARACTERS`, or so many texts hold *wanted* that two
            processors are faster.
        """
        found = self._holding(wanted)
        if len(found) > _MAX_GRADED or any(
            not text.isascii() and any(odd in text for odd in ODD_CHARACTERS) for _, text in found
        ):
            return None
        patterns = [re.compile(f"(?=({re.escape(one)}))", re.ASCII | re.IGNORECASE) for one in wanted]
        borders = [sum(_at_borders(pattern, text, is_word) for pattern in patterns) for _, text in found]
        same_case = [sum(one in text for one in wanted) for _, text in found]
        return (
            np.array([row for row, _ in found], dtype=np.intp),
            np.array(borders, dtype=np.int64),
            np.array(same_case, dtype=np.int64),
        )

    def _holding(self, wanted: Sequence[str]) -> list[tuple[int, str]]:
        """Return row and text of the documents that hold *wanted*, at most one more than are graded here."""
        first, *others = sorted((one.lower().encode() for one in wanted), key=len, reverse=True)
        holding = (
            (int(block.rows[place]), block.text(place))
            for block in self.blocks
            for place in block.holding(first)
            if all(other in block.lowered_text(place) for other in others)
        )
        return list(islice(holding, _MAX_GRADED + 1))


def _at_borders(pattern: re.Pattern[str], text: str, is_word: Callable[[str], bool]) -> bool:
    """Return whether the pattern stands somewhere in *text* without being a part of something longer."""

    def joins(character: str) -> bool:
        return character in _WORD or (character > "\x7f" and is_word(character))

    for match in pattern.finditer(text):
        start, end = match.span(1)
        before, first, second = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
        if before in _DOT_HYPHEN or joins(before):
            continue
        # A dot or hyphen behind it ends it where nothing follows that it would join.
        if not joins(second if first in _DOT_HYPHEN else first):
            return True
    return False


def read_texts(cursor: "DuckDBPyConnection", columns: Columns, *, own_text: bool) -> Texts:
    """Read the texts of messages and file chunks.

    Args:
        cursor: A cursor of the artifact.
        columns: Of the same artifact.
        own_text: Whether this project's builder made the texts.
    """
    text = text_sql(own_text=own_text)
    blocks = []
    for start in range(0, len(columns.rows), _PORTION):
        found = cursor.execute(
            f"SELECT id, text, strlen(text) AS length, CASE WHEN plain THEN '' ELSE lower(text) END AS lowered, "
            "CASE WHEN plain THEN strlen(text) ELSE strlen(lower(text)) END AS lowered_length FROM ("
            f"SELECT d.rowid AS id, {text} AS text, strlen({text}) = length({text}) AS plain FROM {schema.DOCUMENTS} d "
            "WHERE d.document_kind IN ('message', 'file_chunk') AND d.rowid >= ? AND d.rowid < ?)",
            [start, start + _PORTION],
        ).fetchnumpy()
        texts = found["text"].tolist()
        # Of plain ASCII there is nothing to fold but what `bytes.lower` folds, and that leaves the others as they are.
        folded = [lowered or text for text, lowered in zip(texts, found["lowered"].tolist(), strict=True)]
        blocks.append(
            Block(
                rows=columns.rows[found["id"]],
                texts=_joined(texts),
                starts=_starts(found["length"]),
                lowered=_joined(folded).lower(),
                lowered_starts=_starts(found["lowered_length"]),
            )
        )
    return Texts(blocks=tuple(blocks))


def _joined(texts: Sequence[str]) -> bytes:
    return SEPARATOR.join((*texts, "")).encode()


def _starts(lengths: NDArray[np.int64]) -> Sequence[int]:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths + 1, out=starts[1:])
    return starts.data
