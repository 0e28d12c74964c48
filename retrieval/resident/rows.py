"""Vectors as they are, to be had a few at a time: held in memory, or mapped from the artifact's file."""

import mmap
import os
from typing import Final, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from retrieval.errors import ArtifactReplacedError
from retrieval.resident.storage import Places

_FLOAT_BYTES: Final = 4


class VectorRows(Protocol):
    """Vectors by their number; shared by threads."""

    @property
    def nbytes(self) -> int:
        """The memory that they take, bytes."""
        ...

    def take(self, vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return copies of *vectors*, `(len(vectors), dims)`.

        Raises:
            ArtifactReplacedError: The file that holds them was cut short.
        """
        ...


class HeldRows:
    """Vectors in memory."""

    def __init__(self, matrix: NDArray[np.float32]) -> None:
        """Hold *matrix*, `(n, dims)`."""
        self._matrix = matrix

    @property
    def nbytes(self) -> int:
        """The memory that they take, bytes."""
        return self._matrix.nbytes

    def take(self, vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return copies of *vectors*."""
        return self._matrix[vectors]


class MappedRows:
    """Vectors where DuckDB keeps them in the artifact's file.

    Their pages are the operating system's: it keeps them while there is room, and a search touches a few hundred. A
    mapping rather than reads, because numpy gathers from it in one call, in which other threads run; each of a hundred
    reads would wait for the interpreter's lock. The file stays open, whatever becomes of its name.
    """

    def __init__(self, file: int, places: Places, *, dimensions: int) -> None:
        """Map the vectors of an artifact.

        Args:
            file: The artifact's file, open for reading; it may be closed afterwards.
            places: Of the column of vectors, of which there is at least one.
            dimensions: Length of a vector.

        Raises:
            ArtifactReplacedError: The file was cut short.
        """
        self._dimensions = dimensions
        self._firsts = places.firsts
        self._ends = np.append(places.firsts[1:], places.length)
        begin = int(places.offsets.min())
        begin -= begin % mmap.ALLOCATIONGRANULARITY
        self._end = int((places.offsets + (self._ends - self._firsts) * _FLOAT_BYTES).max())
        # In numbers of four bytes, counted from where the mapping begins.
        self._starts = (places.offsets - begin) // _FLOAT_BYTES
        try:
            self._map = mmap.mmap(file, self._end - begin, access=mmap.ACCESS_READ, offset=begin)
        except ValueError as error:
            raise ArtifactReplacedError("The artifact's file is shorter than its tables say.") from error
        if hasattr(mmap, "MADV_RANDOM"):
            # Else each page that is not in memory yet brings its neighbours.
            self._map.madvise(mmap.MADV_RANDOM)
        if hasattr(os, "posix_fadvise"):
            # No user should wait for a disk; where there is no room for it, nothing is pushed out that is used.
            os.posix_fadvise(file, begin, self._end - begin, os.POSIX_FADV_WILLNEED)
        self._numbers = np.frombuffer(self._map, dtype="<f4")
        self._windows = sliding_window_view(self._numbers, dimensions)

    @property
    def nbytes(self) -> int:
        """The memory that they take: none of this process's own."""
        return 0

    def take(self, vectors: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return copies of *vectors*.

        Raises:
            ArtifactReplacedError: The file was cut short: touching what is gone would end the process.
        """
        if self._map.size() < self._end:
            raise ArtifactReplacedError("The artifact's file was overwritten while it was open.")
        first = vectors.astype(np.int64) * self._dimensions
        segments = np.searchsorted(self._firsts, first, side="right") - 1
        # All at once; those that end in another block get what follows in the file, and then what is theirs.
        starts = self._starts[segments] + first - self._firsts[segments]
        found: NDArray[np.float32] = self._windows[np.minimum(starts, len(self._windows) - 1)]
        for place in np.flatnonzero(first + self._dimensions > self._ends[segments]).tolist():
            found[place] = self._joined(int(first[place]))
        return found

    def _joined(self, first: int) -> NDArray[np.float32]:
        """Return a vector that begins in one block and ends in another."""
        numbers = np.arange(first, first + self._dimensions)
        segments = np.searchsorted(self._firsts, numbers, side="right") - 1
        found: NDArray[np.float32] = self._numbers[self._starts[segments] + numbers - self._firsts[segments]]
        return found
