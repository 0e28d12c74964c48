"""What of an artifact is held in memory, and whether it fits."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from retrieval import schema
from retrieval.errors import ArtifactInvalidError
from retrieval.exact import text_sql
from retrieval.models import ArtifactInfo
from retrieval.resident.image import CONTRADICTIONS, Image, open_image, unpack
from retrieval.resident.postings import count_postings
from retrieval.resident.resident import Resident, read_resident
from retrieval.resident.signatures import PLANES
from retrieval.resident.vectors import read_vectors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MIB: Final = 1 << 20
# Old and new artifact are both held while one is swapped for the other, and DuckDB wants its share.
_SHARE_OF_MACHINE: Final = 0.35
_BYTES_PER_POSTING: Final = 12
# As it is, and as a code.
_BYTES_PER_NUMBER: Final = 4 + 1
# Codes, times, kinds, threads, offsets and signatures; ids, terms and texts come on top.
_BYTES_PER_DOCUMENT: Final = 90 + PLANES // 8
_BYTES_PER_TERM: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """How an artifact is searched.

    Attributes:
        resident: What is held in memory, None where DuckDB answers everything.
        detail: One sentence that says which, and why.
    """

    resident: Resident | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Whether an artifact fits into the memory it may take.

    Attributes:
        sentence: What it needs and what is allowed.
    """

    fits: bool
    sentence: str


NOT_LOADED: Final = Residency(
    resident=None, detail="DuckDB answers every search: the artifact was not read into memory."
)


SHORT_OF_MEMORY: Final = Residency(
    resident=None,
    detail="DuckDB answers every search: its memory limit is too low to read the artifact into memory.",
)


def default_budget_mb() -> int:
    """Return the memory that one artifact may take where no setting says, MiB: about a third of the machine's."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MACHINE) // MIB


def load_resident(
    cursor: "DuckDBPyConnection", info: ArtifactInfo, *, budget_mb: int | None, file: int | None = None
) -> Residency:
    """Read an artifact into memory, where it fits.

    Args:
        cursor: A cursor of the artifact; temporary tables are left in it.
        info: The artifact's.
        budget_mb: How much memory it may take, MiB; 0 for none, None for `default_budget_mb`.
        file: The artifact's file, open for reading, from which stored arrays come faster than by DuckDB.
    """
    try:
        resident, note = _load(cursor, info, budget_mb=budget_mb, file=file)
    except (ArtifactInvalidError, _TooLargeError) as error:
        return Residency(resident=None, detail=f"DuckDB answers every search: {error}")
    except MemoryError:
        return Residency(resident=None, detail="DuckDB answers every search: the machine has not enough memory.")
    return Residency(
        resident=resident, detail=f"Searches are answered from {resident.nbytes / MIB:,.0f} MiB of memory.{note}"
    )


def memory_need(cursor: "DuckDBPyConnection", info: ArtifactInfo, *, budget_mb: int | None) -> MemoryNeed:
    """Return whether an artifact fits into *budget_mb*, as `load_resident` takes it, without reading it."""
    try:
        image = _open_image(cursor, info, None)
    except ArtifactInvalidError:
        image = None
    return _need(estimate_bytes(cursor, info) if image is None else image.nbytes, budget_mb)


def estimate_bytes(cursor: "DuckDBPyConnection", info: ArtifactInfo) -> int:
    """Return about how much memory an artifact would take, bytes."""
    text = text_sql(own_text=info.analyzer is not None)
    row = cursor.execute(
        f"SELECT (SELECT coalesce(sum(strlen(document_id)), 0) FROM {schema.DOCUMENTS}), "
        f"(SELECT coalesce(sum(strlen(term) + {_BYTES_PER_TERM}), 0) FROM {schema.FTS_SCHEMA}.dict), "
        f"(SELECT coalesce(sum(strlen({text})), 0) FROM {schema.DOCUMENTS} d "
        "WHERE d.document_kind IN ('message', 'file_chunk'))"
    ).fetchone()
    strings = sum(int(value) for value in row) if row else 0
    return (
        info.vector_count * (info.dimensions or 0) * _BYTES_PER_NUMBER
        + count_postings(cursor) * _BYTES_PER_POSTING
        + info.document_count * _BYTES_PER_DOCUMENT
        + strings
    )


def _load(
    cursor: "DuckDBPyConnection", info: ArtifactInfo, *, budget_mb: int | None, file: int | None
) -> tuple[Resident, str]:
    """Return what is held, and a remark on how it was read.

    Raises:
        ArtifactInvalidError: The tables contradict each other.
        _TooLargeError: It would take more than it may.
    """
    try:
        image = _open_image(cursor, info, file)
        if image is not None:
            return _read_image(cursor, info, image, budget_mb), ""
        note = ""
    except ArtifactInvalidError as error:
        # The tables have everything; what is stored beside them only saves time.
        note = f" It was read from its tables: {error}"
    _check_fits(estimate_bytes(cursor, info), budget_mb)
    return _read(cursor, info), note


class _TooLargeError(Exception):
    """More memory would be taken than is allowed; the message says how much."""


def _check_fits(needed: int, budget_mb: int | None) -> None:
    need = _need(needed, budget_mb)
    if not need.fits:
        raise _TooLargeError(need.sentence)


def _need(needed: int, budget_mb: int | None) -> MemoryNeed:
    budget = default_budget_mb() if budget_mb is None else budget_mb
    return MemoryNeed(
        fits=needed <= budget * MIB,
        sentence=f"Searching from memory takes {needed / MIB:,.0f} MiB; {budget:,} MiB are allowed.",
    )


def _dimensions(info: ArtifactInfo) -> int | None:
    return info.dimensions if info.vector_count else None


def _open_image(cursor: "DuckDBPyConnection", info: ArtifactInfo, file: int | None) -> Image | None:
    """Return what the artifact stores as it lies in memory, None where that is nothing that can be used here."""
    return open_image(cursor, file=file) if schema.RESIDENT_PARTS in info.capabilities else None


def _read_image(cursor: "DuckDBPyConnection", info: ArtifactInfo, image: Image, budget_mb: int | None) -> Resident:
    _check_fits(image.nbytes, budget_mb)
    dimensions = _dimensions(info)
    resident = unpack(image, dimensions=dimensions)
    if dimensions is None or resident.vectors is not None:
        return resident
    # They cannot be left where they are.
    _check_fits(image.nbytes + info.vector_count * dimensions * _BYTES_PER_NUMBER, budget_mb)
    return replace(resident, vectors=read_vectors(cursor, resident.columns, dimensions=dimensions))


def _read(cursor: "DuckDBPyConnection", info: ArtifactInfo) -> Resident:
    try:
        return read_resident(
            cursor,
            mapped=schema.DOCUMENT_MESSAGES in info.capabilities,
            presorted=schema.LEXICAL_POSTINGS in info.capabilities,
            own_text=info.analyzer is not None,
            dimensions=_dimensions(info),
        )
    except CONTRADICTIONS as error:
        raise ArtifactInvalidError(f"Its tables contradict each other: {error}.", check="tables") from error
