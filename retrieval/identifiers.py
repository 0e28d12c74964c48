"""Which words of a query are identifiers: things one looks up by their exact string."""

from typing import Final

import regex

# A word is what stands between white space, without the punctuation around it.
_TRIM: Final = " \t\n.,;:!?()[]{}<>\"'“”‘’«»`*…"
_FILE_ENDINGS: Final = (
    "py|js|ts|tsx|go|rs|rb|java|kt|c|h|cpp|hpp|cs|php|sh|sql|md|txt|log|json|ya?ml|toml|ini|cfg|csv|pdf|xml|html|css|"
    "lean|hs|r|R|Rmd|lock"
)
_SHAPES: Final = regex.compile(
    rf"""
    https?://\S+                                        # URL
  | (?:[A-Za-z0-9-]+\.)+[a-z]{{2,}}/\S*                   # URL without its scheme
  | \d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?                    # IPv4 address, with port
  | [vV]?\d+(?:\.\d+){{1,4}}(?:[-+][0-9A-Za-z.\-]+)?      # version
  | [A-Z][A-Z0-9]+-\d+                                  # ticket key
  | \#?\d{{3,}}                                           # number: an HTTP status, an issue
  | \#\d+
  | (?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{{7,64}}   # hash
  | [A-Z]{{1,8}}\d+[A-Z0-9]*                              # code: E4392, ORA00942
  | [A-Z]{{2,}}(?:[-_][A-Z0-9]+)+\d*                      # CONSTANT_NAME, ERR-CODE
  | [A-Za-z]+[a-z]*-\d+                                 # DEC-0054, utf-8
  | (?:[A-Za-z0-9_]+_)+[A-Za-z0-9_]*[A-Za-z0-9](?:\(\))?          # snake_case
  | _+[A-Za-z][A-Za-z0-9_]*(?:\(\))?
  | [A-Za-z_][A-Za-z0-9_'’]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_'’]*)+(?:\(\))?   # dotted name
  | [A-Za-z_][A-Za-z0-9_.]*\(\)                         # call()
  | [a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?                  # camelCase
  | (?:[A-Z][a-z0-9]+){{2,}}[A-Z]?                        # CamelCase
  | [A-Z]{{2,}}(?:[A-Z][a-z0-9]+)+                        # HTTPServer
  | (?:[A-Za-z]:)?(?:[\\/~][\w.\-@+]+){{2,}}[\\/]?        # path
  | (?:[\w.\-@+]+[\\/])+[\w\-@+]+\.[A-Za-z0-9]{{1,8}}
  | [\w\-]+\.(?:{_FILE_ENDINGS})
  | --?[a-z][a-z0-9]*(?:-[a-z0-9]+)+                    # --long-option
    """,
    regex.VERBOSE,
)
# An abbreviation with full stops is prose, not a dotted name.
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "z.b", "d.h", "u.a"})


def find_identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers of *text* in order, each once, without the punctuation around them.

    Codes, numbers of three digits or more, versions, paths, URLs, hashes, ticket keys, CamelCase, snake_case,
    dotted names, IP addresses. Not: `what's`, `URGENT`, `sign-in`, `e.g.`.
    """
    found = (word for raw in text.split() if (word := trim_word(raw)) and is_identifier(word))
    return tuple(dict.fromkeys(found))


def is_identifier(word: str) -> bool:
    """Return whether *word*, already trimmed, has the shape of an identifier."""
    return bool(_SHAPES.fullmatch(word)) and word.lower() not in _ABBREVIATIONS


def trim_word(raw: str) -> str:
    """Return *raw* without surrounding punctuation; a call keeps its empty parentheses."""
    word = raw.strip(_TRIM)
    return f"{word}()" if word and f"{word}()" in raw else word
