"""All that is held in memory of one artifact, and how it is read from the artifact's tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.resident.columns import Columns, read_columns
from retrieval.resident.postings import Postings, read_postings
from retrieval.resident.texts import Texts, read_texts
from retrieval.resident.vectors import Vectors, read_vectors
from retrieval.resident.windows import Groups, Windows, message_threads, read_windows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """What is held of one artifact; read-only, shared by threads.

    Attributes:
        threads: Rows of messages by thread.
        vectors: None where the artifact has none.
        texts: None where there is no room for them.
    """

    columns: Columns
    postings: Postings
    threads: Groups
    windows: Windows
    vectors: Vectors | None
    texts: Texts | None

    @property
    def nbytes(self) -> int:
        """The memory it takes, bytes."""
        optional = sum(one.nbytes for one in (self.vectors, self.texts) if one is not None)
        return self.columns.nbytes + self.postings.nbytes + self.threads.nbytes + self.windows.nbytes + optional


def read_resident(
    cursor: "DuckDBPyConnection", *, mapped: bool, presorted: bool, own_text: bool, dimensions: int | None
) -> Resident:
    """Read an artifact's tables.

    Args:
        cursor: A cursor of the artifact; temporary tables are left in it.
        mapped: Whether it maps thread windows and file chunks to messages.
        presorted: Whether it has the table `lexical_postings`.
        own_text: Whether this project's builder made the texts.
        dimensions: Length of a vector, None where there are none.

    Raises:
        ArtifactInvalidError: The tables contradict each other.
    """
    columns = read_columns(cursor, mapped=mapped)
    postings = read_postings(cursor, columns, presorted=presorted)
    threads = message_threads(columns)
    windows = read_windows(cursor, columns, threads, mapped=mapped)
    vectors = None if dimensions is None else read_vectors(cursor, columns, dimensions=dimensions)
    texts = read_texts(cursor, columns, own_text=own_text)
    return Resident(columns=columns, postings=postings, threads=threads, windows=windows, vectors=vectors, texts=texts)
