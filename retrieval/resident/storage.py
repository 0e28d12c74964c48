"""Columns of fixed width, read from where DuckDB keeps them in the artifact's file.

DuckDB hands numbers over at 5 to 10 ns each, vectors of 200,000 messages in a second. Where a column is stored
uncompressed, `pragma_storage_info` says which blocks of the file hold it, and those are read as they are. Nothing
is taken on trust: whoever reads compares a `Digest` of the bytes with the one that was made from what DuckDB gave when
the artifact was built, and asks DuckDB where they differ.

Source: https://duckdb.org/docs/stable/internals/storage and the file itself: three headers of 4 KiB, then blocks, each
of which begins with a checksum.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HEADERS_BYTES: Final = 3 * 4096
_CHECKSUM_BYTES: Final = 8
_WORD_BYTES: Final = 8
# Words that are added up before the sum is weighted by its place.
_CHUNK_WORDS: Final = 8192
_CHUNK_BYTES: Final = _CHUNK_WORDS * _WORD_BYTES
# What was read is summed while it is still in the processor's cache.
_STEP_CHUNKS: Final = 16
_ALL_BITS: Final = (1 << 64) - 1
_EXTREMES: Final = re.compile(r"\[Min: (\d+), Max: (\d+)\]")


class Digest:
    """A sum over bytes that tells other bytes and the same in another order; against accidents, not forgers.

    The bytes, filled up with zeros, are read as 64-bit words; the words of each 64 KiB are added, and that sum counts
    as often as its place says, from 1.
    """

    def __init__(self, content: memoryview) -> None:
        """Digest *content*, contiguous bytes that may still be filled."""
        self._bytes = np.frombuffer(content, dtype=np.uint8)
        self._chunks = 0
        self._total = 0

    def advance(self, filled: int) -> None:
        """Take in what is whole of the first *filled* bytes, once there are enough of it."""
        whole = filled // _CHUNK_BYTES
        if whole - self._chunks >= _STEP_CHUNKS:
            self._add(whole)

    def value(self) -> int:
        """Return the digest of the whole, 0 to 2^64 - 1."""
        self._add(len(self._bytes) // _CHUNK_BYTES)
        rest = self._bytes[self._chunks * _CHUNK_BYTES :]
        words = np.zeros(_CHUNK_WORDS, dtype=np.uint64)
        words.view(np.uint8)[: len(rest)] = rest
        return (self._total + (self._chunks + 1) * int(np.add.reduce(words))) & _ALL_BITS

    def _add(self, chunks: int) -> None:
        if chunks == self._chunks:
            return
        part = self._bytes[self._chunks * _CHUNK_BYTES : chunks * _CHUNK_BYTES].view(np.uint64)
        sums = np.add.reduce(part.reshape(-1, _CHUNK_WORDS), axis=1)
        places = np.arange(self._chunks + 1, chunks + 1, dtype=np.uint64)
        self._total = (self._total + int(np.add.reduce(sums * places))) & _ALL_BITS
        self._chunks = chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """Values of a column that lie together.

    Attributes:
        first: The number of the first.
        count: How many there are.
        offset: Where in the file they begin; None where they are not there, or only DuckDB can read them.
        value: What all of them are, None where they differ or that is not known.
    """

    first: int
    count: int
    offset: int | None
    value: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the values of a column lie in the file.

    Attributes:
        firsts: `(segments,)` int64, ascending, the number of each segment's first value.
        offsets: `(segments,)` int64, where in the file the segments begin, bytes.
        length: How many values there are.
    """

    firsts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    length: int


class StoredColumn:
    """The values of a column, none NULL, in the order of rowids; of an array column, one array after the other."""

    def __init__(self, cursor: "DuckDBPyConnection", table: str, column: str, *, kind: str, width: int) -> None:
        """Find out where a column is stored.

        Args:
            cursor: A cursor of the artifact.
            table: Its name, one of `schema`.
            column: Its name.
            kind: DuckDB's type of the values.
            width: Bytes a value.
        """
        self._cursor = cursor
        self._table = table
        self._column = column
        self._width = width
        block = cursor.execute("SELECT max(block_size) FROM pragma_database_size()").fetchone()
        size = int(block[0]) if block else 0
        rows = cursor.execute(
            "SELECT count, compression = 'Uncompressed' AND persistent AND NOT has_updates AND block_id >= 0, "
            "block_id, block_offset, compression = 'Constant' AND persistent AND NOT has_updates, stats "
            f"FROM pragma_storage_info('{table}') WHERE column_name = ? AND segment_type = ? "
            "ORDER BY row_group_id, segment_id",
            [column, kind],
        ).fetchall()
        self._segments: list[_Segment] = []
        self._firsts: list[int] = []
        self.length = 0
        for count, plain, place, within, constant, statistics in rows:
            offset = _HEADERS_BYTES + place * size + _CHECKSUM_BYTES + within if plain else None
            # Equal values take no block, however they are to be stored.
            extremes = _EXTREMES.search(statistics) if constant else None
            value = int(extremes[1]) if extremes and extremes[1] == extremes[2] else None
            self._segments.append(_Segment(first=self.length, count=count, offset=offset, value=value))
            self._firsts.append(self.length)
            self.length += count

    def places(self) -> Places | None:
        """Return where all of it lies in the file, None where only DuckDB can read some of it, or none is there."""
        offsets = [segment.offset for segment in self._segments if segment.offset is not None]
        # A value that began within a word could not be read as what it is.
        if not offsets or len(offsets) < len(self._segments) or any(offset % self._width for offset in offsets):
            return None
        return Places(firsts=np.array(self._firsts), offsets=np.array(offsets), length=self.length)

    def read(self, file: int | None, first: int, target: memoryview) -> int:
        """Fill *target*, bytes, with the values from *first* on; return the `Digest` of what was read.

        Args:
            file: The artifact's file, open for reading; None where only DuckDB has it.
            first: The number of the first value.
            target: A whole number of values long.
        """
        digest = Digest(target)
        filled = 0
        for segment, skipped, count in self._pieces(first, len(target) // self._width):
            part = target[filled : filled + count * self._width]
            if segment.value is not None and self._width == _WORD_BYTES:
                part[:] = np.full(count, segment.value, dtype=np.uint64).data.cast("B")
            elif file is None or segment.offset is None:
                part[:] = self._ask(segment.first + skipped, count).data.cast("B")
            else:
                read_exactly(file, segment.offset + skipped * self._width, part)
            filled += len(part)
            digest.advance(filled)
        if filled != len(target):
            raise EOFError(f"{self._table}.{self._column} has {self.length} values only.")
        return digest.value()

    def _pieces(self, first: int, count: int) -> Iterator[tuple[_Segment, int, int]]:
        """Yield segment, values to skip in it and values to take of it."""
        end = first + count
        for segment in self._segments[max(bisect_right(self._firsts, first) - 1, 0) :]:
            start, stop = max(first, segment.first), min(end, segment.first + segment.count)
            if start >= stop:
                return
            yield segment, start - segment.first, stop - start

    def _ask(self, first: int, count: int) -> "NDArray[np.generic]":
        # On a cursor of its own: two threads may read.
        with closing(self._cursor.cursor()) as cursor:
            found = cursor.execute(
                f"SELECT {self._column} AS value FROM {self._table} WHERE rowid >= ? AND rowid < ?",
                [first, first + count],
            ).fetchnumpy()["value"]
        return np.ascontiguousarray(found)


def read_exactly(file: int, offset: int, target: memoryview) -> None:
    """Fill *target* from *offset* of a file.

    Raises:
        EOFError: The file ends before.
    """
    filled = 0
    while filled < len(target):
        got = os.preadv(file, [target[filled:]], offset + filled)
        if got == 0:
            raise EOFError("The artifact's file is shorter than its tables say.")
        filled += got
