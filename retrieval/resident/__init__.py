"""An artifact's lists from memory: the same ids in the same order, with the same scores, as DuckDB gives.

What is held, all of it read once when the artifact is opened and never changed: a table of document ids and the
columns that filters ask for (`columns`), BM25 postings with finished impacts (`postings`), unit vectors
(`vectors`), and which messages thread windows stand for (`windows`). `ResidentReader` answers from them.
"""

from retrieval.resident.memory import (
    NOT_LOADED,
    SHORT_OF_MEMORY,
    MemoryNeed,
    Residency,
    load_resident,
    memory_need,
)
from retrieval.resident.resident import Resident

__all__ = ["NOT_LOADED", "SHORT_OF_MEMORY", "MemoryNeed", "Residency", "Resident", "load_resident", "memory_need"]
