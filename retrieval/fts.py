"""DuckDB's full-text extension: loading it, making the index, and reading its tables.

The extension comes from the wheel `duckdb-extension-fts`, never from the network. Searching reads the index's
tables with SQL of our own; the macros that DuckDB stores in the file are used only as the reference of tests
and `doctor --verify`, and only where their text is the known one, because a file could carry others.
"""

import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import regex

from retrieval import schema
from retrieval.errors import ArtifactInvalidError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What metadata of this project's own making always says.
OPTIONS: Final = frozenset({"ignore", "stemmer", "strip_accents", "lower", "analyzer"})
# What DuckDB documents as its default: letters only. DuckDB 1.5 takes another, without digits and `_` too, so
# what the file itself says comes first.
DEFAULT_IGNORE: Final = r"(\.|[^a-z])+"
DEFAULT_STEMMER: Final = "porter"
# The text that DuckDB stores as the index's own tokenizer.
_TOKENIZER: Final = re.compile(
    r"string_split_regex\(regexp_replace\((lower\()?(strip_accents\()?CAST\(s AS VARCHAR\)\)*, "
    r"'((?:[^']|'')+)', ' ', 'g'\), '\\s\+'\)"
)
# White space as RE2 has it; Python counts some control characters too.
_SPACE: Final = re.compile(r"[\t\n\f\r ]+")

# One row for each term of each document, in the order that schema.LEXICAL_POSTINGS states.
POSTINGS_SQL: Final = f"""
SELECT t.termid AS termid, t.docid AS docid, CAST(count(*) AS UINTEGER) AS tf
FROM {schema.FTS_SCHEMA}.terms t
JOIN {schema.FTS_SCHEMA}.docs s USING (docid)
JOIN {schema.DOCUMENTS} d ON d.document_id = s.name
GROUP BY t.termid, t.docid, d.document_kind
ORDER BY t.termid, d.document_kind NOT IN ('message', 'file_chunk'), t.docid
"""


def extension_path() -> Path:
    """Return the extension's file inside its installed wheel.

    Raises:
        ArtifactInvalidError: The wheel is not installed, or not for this DuckDB.
    """
    import duckdb_extension_fts  # noqa: PLC0415 - its absence is an error with a sentence, not at import

    folder = importlib.resources.files(duckdb_extension_fts) / "extensions"
    found = sorted(Path(str(folder)).glob("*/fts.duckdb_extension"))
    if not found:
        raise ArtifactInvalidError(
            "The full-text extension is missing from the package duckdb-extension-fts.", check="fts_extension"
        )
    return found[-1]


def load_fts(connection: "DuckDBPyConnection") -> None:
    """Load the extension into *connection*'s database from the wheel's own file."""
    escaped = str(extension_path()).replace("'", "''")
    connection.execute(f"LOAD '{escaped}'")


def create_index(connection: "DuckDBPyConnection") -> None:
    """Index `text_lexical` of every document; the extension must be loaded."""
    connection.execute(
        f"PRAGMA create_fts_index('{schema.DOCUMENTS}', 'document_id', 'text_lexical', "
        f"stemmer='{schema.FTS_STEMMER}', stopwords='{schema.FTS_STOPWORDS}', ignore='{schema.FTS_IGNORE}', "
        "strip_accents=1, lower=1, overwrite=1)"
    )


def create_postings(connection: "DuckDBPyConnection") -> None:
    """Store the index once more, sorted, after `create_index`; memory is filled from it several times faster."""
    connection.execute(schema.LEXICAL_POSTINGS_DDL)
    connection.execute(f"INSERT INTO {schema.LEXICAL_POSTINGS} {POSTINGS_SQL}")


def index_tokens(cursor: "DuckDBPyConnection", tokens: Sequence[str], config: Mapping[str, object]) -> tuple[str, ...]:
    """Return *tokens* as an index made with *config* would hold them, distinct, in first-seen order.

    DuckDB itself folds and splits, so that whatever `ignore` an artifact was made with is obeyed: with the
    default one `E4392` becomes `e`, as it did when the index was made.
    """
    if not tokens:
        return ()
    text = " ".join(tokens)
    if text.isascii() and _splits_at_space(config):
        return tuple(dict.fromkeys(piece for piece in _SPACE.split(text.lower()) if piece))
    expression = "CAST(? AS VARCHAR)"
    if _flag(config, "strip_accents"):
        expression = f"strip_accents({expression})"
    if _flag(config, "lower"):
        expression = f"lower({expression})"
    row = cursor.execute(
        f"SELECT string_split_regex(regexp_replace({expression}, ?, ' ', 'g'), '\\s+')",
        [text, str(config.get("ignore", DEFAULT_IGNORE))],
    ).fetchone()
    pieces = [piece for piece in (row[0] if row else []) if piece]
    if holds_stems(config) and pieces:
        stemmer = str(config.get("stemmer", DEFAULT_STEMMER))
        stemmed = cursor.execute("SELECT list_transform(?, x -> stem(x, ?))", [pieces, stemmer]).fetchone()
        pieces = list(stemmed[0]) if stemmed else pieces
    return tuple(dict.fromkeys(pieces))


def holds_stems(config: Mapping[str, object]) -> bool:
    """Return whether an index made with *config* holds stems: only the extension makes the same of a query."""
    return str(config.get("stemmer", DEFAULT_STEMMER)) != "none"


def indexes_digits(config: Mapping[str, object]) -> bool:
    """Return whether an index made with *config* keeps digits and `_`; not where its `ignore` cannot be read."""
    try:
        return bool(regex.sub(str(config.get("ignore", DEFAULT_IGNORE)), "", "7_") == "7_")
    except regex.error:
        return False


def stored_options(cursor: "DuckDBPyConnection") -> Mapping[str, object]:
    """Return what the index's own tokenizer, stored in the file, says of `ignore`, `lower` and `strip_accents`.

    It is read as text and never run. Empty where it has another form than DuckDB gives it.
    """
    row = cursor.execute(
        "SELECT macro_definition FROM duckdb_functions() WHERE schema_name = ? AND function_name = 'tokenize' "
        "AND database_name = current_database()",
        [schema.FTS_SCHEMA],
    ).fetchone()
    found = _TOKENIZER.fullmatch(str(row[0])) if row else None
    if found is None:
        return {}
    lower, strip_accents, ignore = found.groups()
    return {"ignore": ignore.replace("''", "'"), "lower": int(bool(lower)), "strip_accents": int(bool(strip_accents))}


def config_json(analyzer_version: str) -> str:
    """Return the `fts_config_json` of an index that `create_index` made."""
    return json.dumps(
        {
            "stemmer": schema.FTS_STEMMER,
            "stopwords": schema.FTS_STOPWORDS,
            "ignore": schema.FTS_IGNORE,
            "strip_accents": 1,
            "lower": 1,
            "analyzer": analyzer_version,
        }
    )


def _splits_at_space(config: Mapping[str, object]) -> bool:
    """Return whether an index made with *config* folds and splits ASCII text as the standard library does."""
    plain = config.get("ignore") == schema.FTS_IGNORE and config.get("stemmer") == "none"
    return plain and _flag(config, "lower")


def _flag(config: Mapping[str, object], name: str) -> bool:
    return str(config.get(name, 1)).lower() in {"1", "true"}
