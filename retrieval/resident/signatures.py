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
# Odd multipliers, one for each byte of three; of what they give the upper ten bits are taken (multiply-shift hashing:
# Dietzfelbinger et al., J. Algorithms 1997).
_MULTIPLIERS: Final = tuple(np.uint16(one) for one in (0x9E37, 0x85EB, 0xC2B3))
_SHIFT: Final = np.uint16(6)
# Texts whose bits are set together: they stay in the processor's cache, bit by bit two megabytes.
_PORTION: Final = 2048

Bytes = NDArray[np.uint8]


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
        planes = np.zeros((PLANES, -(-count // 8)), dtype=np.uint8)
        found = _planes(np.frombuffer(content, dtype=np.uint8, count=int(starts[-1])))
        for first in range(0, count, _PORTION):
            own = starts[first : first + _PORTION + 1]
            part = _bits(found[own[0] : own[-1]], np.diff(own))
            planes[:, first // 8 : first // 8 + part.shape[1]] = part
        return cls(planes=planes, count=count)

    def possible(self, wanted: Sequence[bytes]) -> NDArray[np.intp]:
        """Return the texts that could hold all of *wanted*, ascending; all, where none is three bytes long."""
        planes = np.unique(np.concatenate([_planes(np.frombuffer(one, dtype=np.uint8)) for one in wanted]))
        if not len(planes):
            return np.arange(self.count)
        return np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(self.planes[planes], axis=0), count=self.count))


def _bits(planes: NDArray[np.uint16], lengths: NDArray[np.int64]) -> Bytes:
    """Return the bits of a few texts.

    Args:
        planes: Of their trigrams, one text after the other; the last may lack some.
        lengths: How many each text has.
    """
    count = len(lengths)
    cells = planes.astype(np.intp)
    cells *= count
    cells += np.repeat(np.arange(count), lengths)[: len(cells)]
    bits = np.zeros(PLANES * count, dtype=bool)
    bits[cells] = True
    return np.packbits(bits.reshape(PLANES, count), axis=1)


def _planes(content: Bytes) -> NDArray[np.uint16]:
    """Return the plane of each trigram of *content*, in their order."""
    wide = content.astype(np.uint16)
    planes: NDArray[np.uint16] = wide[:-2] * _MULTIPLIERS[0]
    planes ^= wide[1:-1] * _MULTIPLIERS[1]
    planes ^= wide[2:] * _MULTIPLIERS[2]
    planes >>= _SHIFT
    return planes
