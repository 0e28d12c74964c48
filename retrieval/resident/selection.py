"""The best of an array by value, exactly, without sorting all of it."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# Wide enough that the maxima are few, narrow enough that a block which holds a winner holds little else.
_BLOCK: Final = 64

Values = NDArray[np.floating[Any]]


def leading(values: Values, limit: int, *, margin: float, above: float) -> NDArray[np.intp]:
    """Return the indices of every value within *margin* of the *limit*-th largest, ascending.

    The values are estimates of scores that are computed or rounded once more; *margin* is the most by which two of
    them can change places. The limit-th largest of the maxima over blocks of 64 values is never more than the limit-th
    largest value, so blocks that stay below it are not looked into.

    Args:
        values: `(n,)`, without NaN.
        limit: At least 1.
        margin: At least 0.
        above: Values that are not above this one are no results at all.
    """
    count = len(values) // _BLOCK
    whole = count * _BLOCK
    # Block i holds every count-th value from the i-th on: maxima of long rows are several times faster.
    blocks = values[:whole].reshape(_BLOCK, count).max(axis=0)
    bound = _largest(blocks, limit) if len(blocks) > limit else above
    if bound <= above:
        return _nearest(values, np.flatnonzero(values > above), limit, margin=margin)
    near = np.flatnonzero(blocks >= bound - margin)
    inside = (near[:, np.newaxis] + np.arange(0, whole, count)).ravel()
    candidates = np.concatenate((inside, np.arange(whole, len(values))))
    return np.sort(_nearest(values, candidates[values[candidates] > above], limit, margin=margin))


def _nearest(values: Values, candidates: NDArray[np.intp], limit: int, *, margin: float) -> NDArray[np.intp]:
    if len(candidates) <= limit:
        return candidates
    found = values[candidates]
    return candidates[found >= _largest(found, limit) - margin]


def _largest(values: Values, place: int) -> float:
    """Return the value that stands at *place* from the top, counted from 1."""
    index = len(values) - place
    return float(np.partition(values, index)[index])
