"""Which texts could hold a string, without looking into them: a bit for every three bytes that follow one another.

Each text sets the bits that its trigrams are hashed to, one of 1,024. The bits lie by trigram, not by text (bit-sliced
signatures: Faloutsos and Christodoulakis, ACM TOIS 1984; Goodwin et al., "BitFunnel", SIGIR 2017), so that a
string costs one short row of bits for each of its trigrams, and what survives all of them is looked into. A text that
holds the string always survives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

# 128 bytes a text. A seventh of the bits is set in chat messages; half as many let four times as many texts through.
PLANES: Final = 1024
# Odd multipliers, of which the upper bits are taken (Dietzfelbinger et al., J. Algorithms 1997).
_MULTIPLIERS: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_SHIFT: Final = 22
_LENGTH: Final = 3

Bytes = NDArray[np.uint8]


def _table(multiplier: int) -> NDArray[np.uint16]:
    products = (np.arange(1, 257, dtype=np.uint64) * np.uint64(multiplier)) & np.uint64(0xFFFFFFFF)
    return (products >> np.uint64(_SHIFT)).astype(np.uint16)


_FIRST, _SECOND, _THIRD = map(_table, _MULTIPLIERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """The signatures of some texts; read-only, shared by threads.

    Attributes:
        planes: `(PLANES, ceil(n / 8))`, C-contiguous: bit i of a plane, from the highest of its first byte on, is of
            text i.
        count: n, how many texts there are.
    """

    planes: Bytes
    count: int

    @classmethod
    def of(cls, content: bytes, starts: NDArray[np.int64]) -> Self:
        """Make the signatures of texts that follow one another.

        Args:
            content: The texts, in the case in which they will be asked for.
            starts: `(n + 1,)`, where each begins, and the end.
        """
        count = len(starts) - 1
        texts = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))[: 1 - _LENGTH]
        cells = _planes(np.frombuffer(content, dtype=np.uint8, count=int(starts[-1]))).astype(np.int32)
        cells *= count
        cells += texts
        bits = np.zeros(PLANES * count, dtype=bool)
        bits[cells] = True
        return cls(planes=np.packbits(bits.reshape(PLANES, count), axis=1), count=count)

    def possible(self, wanted: Sequence[bytes]) -> NDArray[np.intp]:
        """Return the texts that could hold all of *wanted*, ascending; all, where none is three bytes long."""
        planes = np.unique(np.concatenate([_planes(np.frombuffer(one, dtype=np.uint8)) for one in wanted]))
        if not len(planes):
            return np.arange(self.count)
        return np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(self.planes[planes], axis=0), count=self.count))


def _planes(content: Bytes) -> NDArray[np.uint16]:
    """Return the plane of each trigram of *content*, in their order."""
    planes: NDArray[np.uint16] = _FIRST[content[:-2]] ^ _SECOND[content[1:-1]] ^ _THIRD[content[2:]]
    return planes
