"""Readable texts in memory, searched for strings verbatim: the exact list as `retrieval.exact` has DuckDB make it.

Only strings of ASCII are looked for here, so that only ASCII letters need to be folded, and what DuckDB folds to them
(`ODD_CHARACTERS`). Signatures tell which texts to look into. Whether a string stands at token borders is decided
here too; what letters and digits of other scripts are, the caller's DuckDB says.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.exact import text_sql
from retrieval.resident.columns import Columns
from retrieval.resident.signatures import Signatures
from retrieval.resident.strings import Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Documents a block. Other threads get their turn between blocks: looking for a string holds the interpreter.
_PORTION: Final = 16_384
# Strings that hold it are not looked for here, so that nothing is found across two texts.
SEPARATOR: Final = "\0"
# What DuckDB folds to ASCII letters, by `lower` or in regular expressions: dotted I, long s, Kelvin.
ODD_CHARACTERS: Final = "\u0130\u017f\u212a"
# In UTF-8, after `bytes.lower`, and what `lower` of DuckDB makes of them; it leaves the long s.
_ODD_FOLDS: Final = ((b"\xe2\x84\xaa", b"k"), (b"\xc4\xb0", b"i"))
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DOT_HYPHEN: Final = frozenset(".-")
_MAX_GRADED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some texts one after the other.

    Attributes:
        rows: Their documents' rows.
        texts: The texts, UTF-8, each followed by a separator.
        starts: Where each begins, and the end.
        signatures: Of the texts in lower case.
    """

    rows: NDArray[np.int32]
    texts: Content
    starts: Sequence[int]
    signatures: Signatures

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return self.rows.nbytes + len(self.texts) + 8 * len(self.starts) + self.signatures.planes.nbytes

    def holding(self, wanted: Sequence[bytes]) -> Iterator[tuple[int, str]]:
        """Yield row and text of those that hold all of *wanted*, lower case, in their order."""
        texts, starts = self.texts, self.starts
        for place in self.signatures.possible(wanted).tolist():
            text = texts[starts[place] : starts[place + 1] - 1]
            folded = _folded(text)
            if all(one in folded for one in wanted):
                yield int(self.rows[place]), text.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of messages and file chunks; read-only, shared by threads."""

    blocks: tuple[Block, ...]

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return sum(block.nbytes for block in self.blocks)

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
        folded = [one.lower().encode() for one in wanted]
        return list(islice(chain.from_iterable(block.holding(folded) for block in self.blocks), _MAX_GRADED + 1))


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
            f"SELECT id, text, strlen(text) AS length FROM (SELECT d.rowid AS id, {text} AS text "
            f"FROM {schema.DOCUMENTS} d WHERE d.document_kind IN ('message', 'file_chunk') AND d.rowid >= ? "
            "AND d.rowid < ?)",
            [start, start + _PORTION],
        ).fetchnumpy()
        texts = found["text"].tolist()
        content, starts = SEPARATOR.join((*texts, "")).encode(), _starts(found["length"])
        blocks.append(
            Block(
                rows=columns.rows[found["id"]],
                texts=content,
                starts=starts.data,
                signatures=_signatures(content, starts, texts),
            )
        )
    return Texts(blocks=tuple(blocks))


def _signatures(content: bytes, starts: NDArray[np.int64], texts: Sequence[str]) -> Signatures:
    folded = _folded(content)
    if len(folded) != len(content):
        # What DuckDB folds to ASCII letters has another length then.
        starts = _starts(np.array([len(_folded(text.encode())) for text in texts]))
    return Signatures.of(folded, starts)


def _folded(content: bytes) -> bytes:
    """Return *content* in lower case, as far as it can then hold other ASCII than before."""
    folded = content.lower()
    for odd, plain in _ODD_FOLDS:
        folded = folded.replace(odd, plain)
    return folded


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths + 1, out=starts[1:])
    return starts
