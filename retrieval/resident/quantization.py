"""Vectors in a byte a number: a quarter of the memory to read, and bounds on what that leaves out.

Each vector is divided by a scale of its own and rounded to 255 levels (scalar quantization). What rounding took away
is a vector too, whose length is stored: by Cauchy and Schwarz it changes a product with a unit vector by that length at
most. So every cosine is known to lie in an interval, and only vectors whose interval reaches that of the best
need to be looked at as they are. Nothing is approximated in the end.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from retrieval.resident.product import GREATEST_FACTOR, integer_product
from retrieval.resident.selection import leading

# A code is a level, -127 to 127, plus this.
_ZERO: Final = 128
_LEVELS: Final = 127
# A query's number is written as 128 x high + low, both within what the product takes: 14 bits for the price of 7.
_BASE: Final = 128
_QUERY_LEVELS: Final = GREATEST_FACTOR * _BASE - 1
# Rows copied together, when only some are compared: few enough to stay in the processor's cache.
_CHUNK: Final = 512

Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Where the product of each vector with a query lies.

    Attributes:
        values: `(n,)` float64.
        errors: `(n,)` float32, of the vectors.
        factor: By how much a vector's error can move its product.
        offset: By how much everything else can.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float32]
    factor: float
    offset: float

    def bounds(self, found: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how far each of *found* can be from its product."""
        bounds: NDArray[np.float64] = self.errors[found] * np.float64(self.factor) + self.offset
        return bounds

    def possible(self, limit: int) -> NDArray[np.intp]:
        """Return all that could be among the *limit* largest products, ascending.

        Each of the *limit* largest estimates has a product that is no less than it by more than its bound; so the
        limit-th largest product is no less than the least of these, and what cannot reach that is out.
        """
        surest = leading(self.values, limit, margin=0.0, above=-np.inf)
        if not len(surest):
            return surest
        least = (self.values[surest] - self.bounds(surest)).min()
        widest = float(self.errors.max()) * self.factor + self.offset
        near: NDArray[np.intp] = np.flatnonzero(self.values >= least - widest)
        possible: NDArray[np.intp] = near[self.values[near] + self.bounds(near) >= least]
        return possible


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """Vectors in a byte a number; read-only, shared by threads.

    Attributes:
        codes: `(n, dims)`, C-contiguous: level plus 128.
        scales: `(n,)` float32, what a level is worth.
        errors: `(n,)` float32, the length of what is missing, never less.
    """

    codes: Codes
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]

    @classmethod
    def of(cls, matrix: NDArray[np.float32]) -> Self:
        """Quantize *matrix*, `(n, dims)`, finite."""
        count = len(matrix)
        codes = np.empty(matrix.shape, dtype=np.uint8)
        scales, errors = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.float32)
        for start in range(0, count, _CHUNK):
            part = slice(start, start + _CHUNK)
            codes[part], scales[part], errors[part] = _quantized(matrix[part].astype(np.float64))
        return cls(codes=codes, scales=scales, errors=errors)

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        return self.codes.nbytes + self.scales.nbytes + self.errors.nbytes

    def estimates(
        self, unit: NDArray[np.float64], *, margin: float, vectors: NDArray[np.intp] | None = None
    ) -> Estimates:
        """Return where the product of each vector, of length 1, with *unit* lies.

        Args:
            unit: `(dims,)`, of length 1.
            margin: By how much a product as it is to be computed can differ from the exact one.
            vectors: Only these; None for all.
        """
        step = float(np.abs(unit).max()) / _QUERY_LEVELS
        levels = np.rint(unit / step).astype(np.int64)
        rounded = levels * step
        values = self._sums(levels, vectors)
        values -= float(_ZERO * int(levels.sum()))
        values *= self.scales if vectors is None else self.scales[vectors]
        values *= step
        return Estimates(
            values=values,
            errors=self.errors if vectors is None else self.errors[vectors],
            factor=float(np.linalg.norm(rounded)),
            offset=float(np.linalg.norm(unit - rounded)) + margin,
        )

    def _sums(self, levels: NDArray[np.int64], vectors: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """Return the sum of code times level of each vector."""
        high = np.floor_divide(levels + _BASE // 2, _BASE)
        factors = np.stack((high, levels - high * _BASE), axis=1).astype(np.int8)
        if vectors is None:
            return _joined(integer_product(self.codes, factors))
        sums = np.empty(len(vectors))
        # Into the same memory again: fresh memory costs three times what is copied into it.
        copied = np.empty((_CHUNK, self.codes.shape[1]), dtype=np.uint8)
        for start in range(0, len(vectors), _CHUNK):
            part = vectors[start : start + _CHUNK]
            codes = copied[: len(part)]
            # Else numpy would copy twice, so as to leave `out` alone where a place does not exist.
            self.codes.take(part, axis=0, out=codes, mode="clip")
            sums[start : start + len(part)] = _joined(integer_product(codes, factors))
        return sums


def _quantized(exact: NDArray[np.float64]) -> tuple[Codes, NDArray[np.float32], NDArray[np.float32]]:
    """Return codes, scales and errors of a few vectors."""
    scales = (np.abs(exact).max(axis=1, initial=0.0) / _LEVELS).astype(np.float32)
    # A vector of nothing but zeros has no scale; any will do.
    scales[scales == 0] = 1.0
    levels = np.clip(np.rint(exact / scales[:, np.newaxis]), -_LEVELS, _LEVELS)
    missing = np.linalg.norm(exact - levels * scales[:, np.newaxis], axis=1)
    return (levels + _ZERO).astype(np.uint8), scales, np.nextafter(missing.astype(np.float32), np.float32(np.inf))


def _joined(products: NDArray[np.int32]) -> NDArray[np.float64]:
    # In float64, where whole numbers of this size are exact.
    sums: NDArray[np.float64] = products[:, 0] * np.float64(_BASE)
    sums += products[:, 1]
    return sums
