"""What is held in memory, stored in the artifact as it lies there: opening is then reading, without any computing.

The builder reads an artifact's tables as everybody does (`read_resident`) and stores the arrays that this gives
(`pack`); whoever opens the artifact reads them back (`open_image`, `unpack`). What another processor, DuckDB, program
or BM25 made is not taken (`image_format`), nor bytes whose digest differs; then the tables are read.
"""

import hashlib
import json
import mmap
import re
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.errors import ArtifactInvalidError
from retrieval.resident.columns import Columns, Facts, nested_places
from retrieval.resident.postings import Postings
from retrieval.resident.quantization import Quantized
from retrieval.resident.resident import Resident
from retrieval.resident.rows import MappedRows
from retrieval.resident.signatures import PLANES, Signatures
from retrieval.resident.storage import StoredColumn
from retrieval.resident.strings import Content, StringTable
from retrieval.resident.texts import Block, Texts
from retrieval.resident.vectors import MAX_DEVIATION, Vectors
from retrieval.resident.windows import Groups, Windows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# To be raised whenever the arrays come to mean something else.
_VERSION: Final = 2
WORD_BYTES: Final = 8
# The part that the column of embeddings holds, and that is left there.
MATRIX: Final = "vectors.matrix"
FORMAT: Final = "format"
# Plain numbers alone: numpy knows kinds whose bytes are places in memory.
_KIND: Final = re.compile(r"[|<>=]?(?:b1|[iu][1248]|f[48])")
_LARGE_PAGE: Final = 2 << 20
_POSTINGS: Final = ("term_ids", "frequencies", "starts", "splits", "ends", "rows", "impacts")
_FACTS: Final = ("place", "author", "ts_us", "in_thread")
_COLUMNS: Final = ("kinds", "threads", "workspaces", "rows", "shared")
_QUANTIZED: Final = ("codes", "scales", "errors")
_TABLES: Final = ("ids", "window_ids", "thread_ids")

# What comes of lengths, places and values that no builder would write together.
CONTRADICTIONS: Final = (ValueError, TypeError, LookupError, ArithmeticError)

Array = NDArray[Any]


def image_format(cursor: "DuckDBPyConnection") -> bytes:
    """Return what stored arrays depend on beside the tables: they are of use only where all of it is the same."""
    row = cursor.execute("SELECT version()").fetchone()
    facts = [_VERSION, str(row[0]) if row else "", schema.BM25_K, schema.BM25_B, sys.byteorder, np.dtype(np.intp).str]
    return json.dumps(facts).encode()


def sealed(name: str, kind: str, length: int, digest: int) -> int:
    """Return what is stored beside an array, 0 to 2^64 - 1: the digest of its bytes, and what they mean.

    Of the array that says the format it is the digest alone, so that every version can read it.
    """
    if name == FORMAT:
        return digest
    meaning = hashlib.blake2b(f"{name} {kind} {length}".encode(), digest_size=WORD_BYTES).digest()
    return digest ^ int.from_bytes(meaning, "little")


def pack(resident: Resident) -> dict[str, Array]:
    """Return the arrays that `unpack` makes the same of, by name; all but the vectors themselves."""
    columns, postings, windows = resident.columns, resident.postings, resident.windows
    parts: dict[str, Array] = {"facts": _encoded(_facts(resident))}
    parts |= {f"columns.{name}": getattr(columns, name) for name in _COLUMNS}
    parts |= {f"columns.{name}": getattr(columns.facts, name) for name in _FACTS}
    parts["columns.sharing"] = columns.sharing.row
    for name in _TABLES:
        parts |= _pack_strings(f"columns.{name}", getattr(columns, name))
    parts |= {f"postings.{name}": getattr(postings, name) for name in _POSTINGS}
    parts |= _pack_strings("postings.terms", postings.terms)
    groups = {"threads": resident.threads, "groups": windows.groups, "covering": windows.covering}
    # Where the artifact maps windows, both are the same.
    groups |= {} if windows.rooted is windows.covering else {"rooted": windows.rooted}
    for name, one in groups.items():
        parts |= {f"windows.{name}.starts": one.starts, f"windows.{name}.rows": one.rows}
    if windows.roots is not None:
        parts["windows.roots"] = windows.roots
    if resident.vectors is not None:
        quantized = resident.vectors.quantized
        parts |= {f"vectors.{name}": getattr(quantized, name).reshape(-1) for name in _QUANTIZED}
        parts["vectors.deviation"] = np.array([resident.vectors.deviation])
        if resident.vectors.documents is not None:
            parts["vectors.documents"] = resident.vectors.documents
    for number, block in enumerate(resident.texts.blocks if resident.texts is not None else ()):
        parts |= {
            f"texts.{number}.rows": block.rows,
            f"texts.{number}.texts": _bytes(block.texts, block.starts[-1]),
            f"texts.{number}.starts": np.asarray(block.starts),
            f"texts.{number}.planes": block.signatures.planes.reshape(-1),
        }
    return parts


def _facts(resident: Resident) -> dict[str, object]:
    """Return what is not made of numbers, or of few."""
    columns = resident.columns
    places = [(workspace, name) for workspace, names in columns.places.items() for name in names]
    return {
        "places": sorted(places, key=lambda one: columns.places[one[0]][one[1]]),
        "authors": sorted(columns.authors, key=columns.authors.__getitem__),
        "maps_chunks": columns.maps_chunks,
        "documents": resident.postings.documents,
        "blocks": None if resident.texts is None else len(resident.texts.blocks),
    }


def _encoded(facts: object) -> Array:
    return np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)


def _pack_strings(name: str, table: StringTable) -> dict[str, Array]:
    return {f"{name}.content": _bytes(table.content, int(table.offsets[-1])), f"{name}.offsets": table.offsets}


def _bytes(content: Content, length: int) -> Array:
    return np.frombuffer(content, dtype=np.uint8)[:length]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One stored array.

    Attributes:
        kind: numpy's name of its numbers.
        length: How many there are.
        first_word: Where it begins; None for one that another column holds.
        digest: Of its bytes.
    """

    kind: str
    length: int
    first_word: int | None
    digest: int

    @property
    def nbytes(self) -> int:
        return self.length * np.dtype(self.kind).itemsize


class Image:
    """The arrays that an artifact stores; for one thread, as long as its cursor is open."""

    def __init__(self, cursor: "DuckDBPyConnection", parts: Mapping[str, _Part], *, file: int | None) -> None:
        self._parts = parts
        self._file = file
        self._cursor = cursor
        self._words = StoredColumn(cursor, schema.RESIDENT_WORDS, "word", kind="UBIGINT", width=WORD_BYTES)

    @property
    def nbytes(self) -> int:
        """The memory that all of it takes but what stays in the file, bytes."""
        return sum(part.nbytes for name, part in self._parts.items() if name != MATRIX)

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def check(self) -> None:
        """Make sure that every array is one that can be there, before memory is taken for it.

        Raises:
            ArtifactInvalidError: One is of no kind of numbers, or lies outside what is stored.
        """
        for name, part in self._parts.items():
            fits = _KIND.fullmatch(str(part.kind)) and isinstance(part.length, int) and part.length >= 0
            if fits and part.first_word is not None:
                end = part.first_word + -(-part.nbytes // WORD_BYTES)
                fits = part.first_word >= 0 and end <= self._words.length
            if not fits:
                raise ArtifactInvalidError(f"{name} is not among the stored words.", check="resident_parts")

    def array(self, name: str) -> Array:
        """Return an array.

        Raises:
            ArtifactInvalidError: Its bytes are not those that were stored.
        """
        part = self._part(name)
        if not part.length:
            # A memoryview without bytes cannot be cast.
            self._compare(name, part, 0)
            return np.empty(0, dtype=part.kind)
        padded = np.empty(-(-part.nbytes // WORD_BYTES), dtype=np.uint64)
        self._fill(name, part, padded.data.cast("B"))
        return padded.view(np.uint8)[: part.nbytes].view(part.kind)

    def content(self, name: str) -> Content:
        """Return an array of bytes as what can be searched, with up to 7 zeros behind it; raises as `array` does."""
        part = self._part(name)
        if not part.length:
            self._compare(name, part, 0)
            return b""
        # Large pages cost a third of small ones, and nothing is written twice.
        size = -(-part.nbytes // WORD_BYTES) * WORD_BYTES
        padded = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if len(padded) >= _LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            padded.madvise(mmap.MADV_HUGEPAGE)
        self._fill(name, part, memoryview(padded))
        return padded

    def text(self, name: str) -> bytes:
        """Return an array of few bytes; raises as `array` does."""
        return self.array(name).tobytes()

    def strings(self, name: str) -> StringTable:
        """Return a table of strings; raises as `array` does."""
        return StringTable(self.content(f"{name}.content"), self.array(f"{name}.offsets"))

    def groups(self, name: str) -> Groups:
        """Return rows by group; raises as `array` does."""
        return Groups(starts=self.array(f"{name}.starts"), rows=self.array(f"{name}.rows"))

    def vector_rows(self, dimensions: int) -> MappedRows | None:
        """Return the vectors where they lie in the file; None where only DuckDB can read them.

        It may run in a thread of its own, beside other calls.
        """
        if self._file is None:
            return None
        with closing(self._cursor.cursor()) as cursor:
            places = StoredColumn(cursor, schema.VECTORS, "embedding", kind="FLOAT", width=4).places()
        if places is None or places.length != self._part(MATRIX).length:
            return None
        return MappedRows(self._file, places, dimensions=dimensions)

    def quantized(self, dimensions: int) -> Quantized:
        """Return the vectors in a byte a number; raises as `array` does, and where their numbers contradict."""
        found: dict[str, Any] = {name: self.array(f"vectors.{name}") for name in _QUANTIZED}
        count = len(found["scales"])
        lengths = {len(found["codes"]), count * dimensions, self._part(MATRIX).length}
        sound = np.isfinite(found["scales"]).all() and np.isfinite(found["errors"]).all()
        if len(lengths) > 1 or len(found["errors"]) != count or not sound:
            raise ArtifactInvalidError("The stored codes are not those of its vectors.", check="resident_parts")
        return Quantized(**found | {"codes": found["codes"].reshape(count, dimensions)})

    def _part(self, name: str) -> _Part:
        part = self._parts.get(name)
        if part is None:
            raise ArtifactInvalidError(f"The stored arrays lack {name}.", check="resident_parts")
        return part

    def _fill(self, name: str, part: _Part, target: memoryview) -> None:
        if part.first_word is None:
            raise ArtifactInvalidError(f"{name} is not among the stored words.", check="resident_parts")
        try:
            digest = self._words.read(self._file, part.first_word, target)
        except EOFError as error:
            raise ArtifactInvalidError(str(error), check="resident_parts") from error
        self._compare(name, part, digest)

    @staticmethod
    def _compare(name: str, part: _Part, digest: int) -> None:
        if sealed(name, part.kind, part.length, digest) != part.digest:
            raise ArtifactInvalidError(f"The stored array {name} is not what was stored.", check="resident_parts")


def open_image(cursor: "DuckDBPyConnection", *, file: int | None) -> Image | None:
    """Return the arrays that an artifact stores, None where they are of another format.

    Args:
        cursor: A cursor of an artifact that has the tables.
        file: Its file, open for reading; None where only DuckDB has it.

    Raises:
        ArtifactInvalidError: Bytes are not those that were stored.
    """
    rows = cursor.execute(f"SELECT part, kind, length, first_word, digest FROM {schema.RESIDENT_PARTS}").fetchall()
    parts = {
        name: _Part(kind=kind, length=length, first_word=first_word, digest=digest)
        for name, kind, length, first_word, digest in rows
    }
    image = Image(cursor, parts, file=file)
    image.check()
    return image if FORMAT in image and image.text(FORMAT) == image_format(cursor) else None


def unpack(image: Image, *, dimensions: int | None) -> Resident:
    """Return what `pack` was given; without vectors where only DuckDB can read them.

    Args:
        image: The stored arrays.
        dimensions: Length of a vector, None where there are none.

    Raises:
        ArtifactInvalidError: Bytes are not those that were stored, or some are missing, or they contradict each other.
        ArtifactReplacedError: The file was cut short meanwhile.
    """
    try:
        if dimensions is None or MATRIX not in image:
            return _unpack(image, None)
        # Reading lets other threads run, and fresh memory costs as much as what is read into it.
        with ThreadPoolExecutor(max_workers=1) as executor:
            return _unpack(image, executor.submit(_unpack_vectors, image, dimensions))
    except CONTRADICTIONS as error:
        raise ArtifactInvalidError(
            f"The stored arrays contradict each other: {error}", check="resident_parts"
        ) from error


def _unpack(image: Image, vectors: Future[Vectors | None] | None) -> Resident:
    facts = json.loads(image.text("facts"))
    columns = _unpack_columns(image, facts)
    texts = None if facts["blocks"] is None else Texts(blocks=tuple(_block(image, i) for i in range(facts["blocks"])))
    covering = image.groups("windows.covering")
    return Resident(
        columns=columns,
        postings=Postings(
            documents=int(facts["documents"]),
            searchable=columns.searchable,
            windows=len(columns.window_ids),
            terms=image.strings("postings.terms"),
            **{name: image.array(f"postings.{name}") for name in _POSTINGS},
        ),
        threads=image.groups("windows.threads"),
        windows=Windows(
            groups=image.groups("windows.groups"),
            covering=covering,
            roots=image.array("windows.roots") if "windows.roots" in image else None,
            rooted=image.groups("windows.rooted") if "windows.rooted.rows" in image else covering,
        ),
        texts=texts,
        vectors=None if vectors is None else vectors.result(),
    )


def _unpack_vectors(image: Image, dimensions: int) -> Vectors | None:
    rows = image.vector_rows(dimensions)
    if rows is None:
        return None
    deviation = image.array("vectors.deviation")
    vectors = Vectors(
        quantized=image.quantized(dimensions),
        rows=rows,
        documents=image.array("vectors.documents") if "vectors.documents" in image else None,
        deviation=float(deviation[0]),
    )
    if not 0 <= vectors.deviation <= MAX_DEVIATION or (
        vectors.documents is not None and len(vectors.documents) != len(vectors)
    ):
        raise ArtifactInvalidError("What is stored of the vectors contradicts itself.", check="resident_parts")
    return vectors


def _unpack_columns(image: Image, facts: Mapping[str, Any]) -> Columns:
    own: dict[str, Any] = {name: image.array(f"columns.{name}") for name in _COLUMNS}
    tables: dict[str, Any] = {name: image.strings(f"columns.{name}") for name in _TABLES}
    count = len(own["kinds"])
    found = Facts(row=np.arange(count, dtype=np.int32), **{name: image.array(f"columns.{name}") for name in _FACTS})
    return Columns(
        facts=found,
        places=nested_places([(workspace, channel) for workspace, channel in facts["places"]]),
        authors={author: code for code, author in enumerate(facts["authors"])},
        maps_chunks=bool(facts["maps_chunks"]),
        sharing=found.take(image.array("columns.sharing")),
        **own,
        **tables,
    )


def _block(image: Image, number: int) -> Block:
    name = f"texts.{number}"
    rows, planes = image.array(f"{name}.rows"), image.array(f"{name}.planes")
    if len(planes) != PLANES * -(-len(rows) // 8):
        raise ArtifactInvalidError("The stored signatures are not those of its texts.", check="resident_parts")
    return Block(
        rows=rows,
        texts=image.content(f"{name}.texts"),
        starts=image.array(f"{name}.starts").data,
        signatures=Signatures(planes=planes.reshape(PLANES, -(-len(rows) // 8)), count=len(rows)),
    )
