"""The text of files that people share: plain text, source code, PDF and Word."""

import io
import logging
import zipfile
from typing import Final

import docx
import pypdf
import pypdf.errors

# More than this is data, not something to read.
MAX_FILE_BYTES: Final = 25 << 20
MAX_PDF_PAGES: Final = 2000
# A Word file is a zip archive; a small one may unpack to anything.
MAX_DOCX_BYTES: Final = 200 << 20

TEXT_SUFFIXES: Final = frozenset(
    (
        "md markdown rst txt text log json jsonl csv tsv yaml yml toml ini cfg conf xml html htm css sql sh bash ps1 "
        "zsh bat py r rmd qmd rnw jl c h cc cpp hpp cs java kt kts scala go rs rb php pl pm lua swift m hs lean ml "
        "ex exs erl clj cljs js jsx ts tsx vue svelte dart tf proto graphql gradle tex bib po pot diff patch ipynb"
    ).split()
)
PDF: Final = "pdf"
DOCX: Final = "docx"


class FileTextError(Exception):
    """A file cannot be read as what its name says; the sentence says why."""


def is_text_file(name: str) -> bool:
    """Return whether a file's name says that there is text in it that can be read."""
    return _suffix(name) in TEXT_SUFFIXES | {PDF, DOCX}


def file_text(name: str, content: bytes) -> str:
    """Return a file's text; bytes that are not UTF-8 are read as Latin-1.

    Raises:
        FileTextError: It is broken, encrypted, or not what its name says.
    """
    suffix = _suffix(name)
    if suffix == PDF:
        return _pdf_text(content)
    if suffix == DOCX:
        return _docx_text(content)
    if b"\0" in content[:8192]:
        raise FileTextError("it is not text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _pdf_text(content: bytes) -> str:
    # Real files are full of small faults that pypdf repairs and logs at length.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        return "\n\n".join(page.extract_text() for page in reader.pages[:MAX_PDF_PAGES])
    except (
        pypdf.errors.PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OSError,
        NotImplementedError, ArithmeticError,
    ) as error:  # fmt: skip
        # pypdf lets whatever a broken file provokes through.
        raise FileTextError(f"the PDF cannot be read: {type(error).__name__}") from error


def _docx_text(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_DOCX_BYTES:
                raise FileTextError("the Word file would unpack to too much")
        document = docx.Document(io.BytesIO(content))
        lines = [paragraph.text for paragraph in document.paragraphs]
        cells = [" | ".join(cell.text for cell in row.cells) for table in document.tables for row in table.rows]
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError, OSError, SyntaxError) as error:
        raise FileTextError(f"the Word file cannot be read: {type(error).__name__}") from error
    return "\n".join(line for line in (*lines, *cells) if line.strip())


def _suffix(name: str) -> str:
    return name.rsplit(".", 1)[-1].lower() if "." in name else ""
