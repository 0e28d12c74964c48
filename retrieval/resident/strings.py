"""A sorted table of strings in one block of memory, found by halving."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

# UTF-8, perhaps with zeros behind it.
Content: TypeAlias = bytes | mmap


class StringTable(Sequence[str]):
    """Distinct strings in the order of their UTF-8 bytes, which is DuckDB's and Python's order too.

    About 8 bytes a string beside its own; a Python list would take 60 more. Read-only, so threads share it.
    """

    def __init__(self, content: Content, offsets: NDArray[np.int64]) -> None:
        """Take strings that are sorted already.

        Args:
            content: All strings, UTF-8, one after the other.
            offsets: `(n + 1,)`, where each begins, and the end.
        """
        self._content = content
        self._offsets = offsets
        self._positions = offsets.data

    @classmethod
    def of(cls, strings: Sequence[str], lengths: NDArray[np.int64]) -> Self:
        """Make a table of strings that come sorted.

        Args:
            strings: Distinct.
            lengths: `(n,)`, how many bytes each has; DuckDB counts them faster.
        """
        offsets = np.zeros(len(strings) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls("".join(strings).encode(), offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> str:  # type: ignore[override]  # Slices are not asked for.
        return self._bytes(index).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    @property
    def content(self) -> Content:
        """All strings, UTF-8, one after the other."""
        return self._content

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each begins in `content`, and the end; `(n + 1,)`."""
        return self._offsets

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return len(self._content) + self._offsets.nbytes

    def find(self, text: str) -> int | None:
        """Return the index of *text*, None where it is not in the table."""
        wanted = text.encode("utf-8", "surrogatepass")
        index = bisect_left(range(len(self)), wanted, key=self._bytes)
        return index if index < len(self) and self._bytes(index) == wanted else None

    def _bytes(self, index: int) -> bytes:
        return self._content[self._positions[index] : self._positions[index + 1]]
