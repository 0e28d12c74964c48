"""Text to tokens: one function for documents and queries alike.

A token is lower-case, without accents, and holds no white space. An identifier stays whole and also gives its
parts, so that `foo.bar_baz` is found by itself, by `bar_baz` and by `baz`:

| surface | tokens |
|---|---|
| `foo.bar_baz` | foo.bar_baz foo bar_baz bar baz |
| `PROJ-17` | proj-17 proj 17 |
| `v1.2.3` | v1.2.3 1.2.3 |
| `10.0.0.1` | 10.0.0.1 |
| `NullReferenceException` | nullreferenceexception null reference exception |
| `https://x.io/a-b` | x.io/a-b x.io io a-b |
| `#1234` | #1234 1234 |
| `what's`, `don't` | what, dont |
| `我家在上海` | 我家 家在 在上 上海 |
| `🎉`, `:tada:` | tada |

`ANALYZER_VERSION` changes whenever any text's tokens change; an artifact of another version is served with a
warning to rebuild.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import emoji
import regex

ANALYZER_VERSION: Final = "slackquery-1"

# Longer ones are hashes of attachments, base64 and the like: nobody types them, and they bloat the index.
MAX_TOKEN_CHARS: Final = 100

_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}ー々〆〇]"
_WORD = rf"(?:(?!{_CJK})[\p{{L}}\p{{N}}\p{{M}}_])"
_EMOJI = r"[\p{Extended_Pictographic}\p{Regional_Indicator}]"
_JOINER = r"[.\-/:\\@+#,'’?&=%~|]"
_RUN: Final = regex.compile(
    rf"""
    (?P<url>\bhttps?://[^\s<>"“”|`]+)
  | (?P<shortcode>:[a-zA-Z][a-zA-Z0-9_+\-']*:(?![\p{{L}}\p{{N}}]))
  | (?P<cjk>{_CJK}+)
  | (?P<word>\#?{_WORD}+(?:{_JOINER}{{1,3}}{_WORD}+)*(?:\+\+|\#(?!{_WORD}))?)
  | (?P<emoji>{_EMOJI}(?:{_EMOJI}|[\p{{Emoji_Modifier}}\u200d\ufe0f])*)
    """,
    regex.VERBOSE,
)
_SKIN_TONE: Final = regex.compile(r"\p{Emoji_Modifier}")
# From the loosest joiner to the tightest; each level's pieces are tokens of their own.
_LEVELS: Final = (
    regex.compile(r"[/\\:@+#,?&=%~|]+"),
    regex.compile(r"\.+"),
    regex.compile(r"-+"),
    regex.compile(r"_+"),
)
_DOTTED_NUMBER: Final = regex.compile(r"[vV]?\d+(?:\.\d+)+")
_GROUPED_NUMBER: Final = regex.compile(r"\d{1,3}(?:,\d{3})+")
_CAMEL: Final = regex.compile(r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+|\p{Lo}+")
_APOSTROPHE: Final = regex.compile(r"['’]")


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """One surface run of a text with the tokens it gives.

    Attributes:
        start: Where the run begins in the text, in characters.
        end: Where it ends, exclusive.
        tokens: Its tokens, the whole first, each once.
    """

    start: int
    end: int
    tokens: tuple[str, ...]


def fold(text: str) -> str:
    """Return *text* in lower case, in compatibility form, without accents and other marks.

    At least as strong as DuckDB's `lower(strip_accents(text))`: folding a folded text again there changes
    nothing, so index and query agree whichever side folds. Marks of every script go (Cyrillic й becomes и,
    kana lose their voicing marks), as they do in DuckDB.
    """
    if text.isascii():
        return text.lower()
    compatible = unicodedata.normalize("NFKC", text).lower()
    decomposed = unicodedata.normalize("NFD", compatible)
    kept = "".join(character for character in decomposed if not unicodedata.category(character).startswith("M"))
    return unicodedata.normalize("NFC", kept).lower()


def token_spans(text: str) -> list[TokenSpan]:
    """Return the surface runs of *text* that give tokens, in order.

    Thread-safe; linear in the text's length.
    """
    return [
        TokenSpan(match.start(), match.end(), tokens)
        for match in _RUN.finditer(text)
        if (tokens := _run_tokens(match.lastgroup or "", match.group()))
    ]


def holds_cjk(text: str) -> bool:
    """Return whether *text* holds a character of the scripts that become bigrams: Chinese, Japanese, Korean."""
    return regex.search(_CJK, text) is not None


def tokenize(text: str) -> list[str]:
    """Return the tokens of *text* in order; within one surface run each token stands once."""
    tokens: list[str] = []
    for match in _RUN.finditer(text):
        surface = match.group()
        # Most runs are words of a to z, which give themselves; this is most of what a build does.
        if surface.isalpha() and surface.islower() and surface.isascii() and len(surface) <= MAX_TOKEN_CHARS:
            tokens.append(surface)
        else:
            tokens.extend(_run_tokens(match.lastgroup or "", surface))
    return tokens


def _run_tokens(kind: str, surface: str) -> tuple[str, ...]:
    # Words repeat; what is longer than any word does not, and would only fill the cache.
    return _cached_run_tokens(kind, surface) if len(surface) <= MAX_TOKEN_CHARS else _make_tokens(kind, surface)


@lru_cache(maxsize=65536)
def _cached_run_tokens(kind: str, surface: str) -> tuple[str, ...]:
    return _make_tokens(kind, surface)


def _make_tokens(kind: str, surface: str) -> tuple[str, ...]:
    tokens = (
        token for raw in _raw_tokens(kind, surface) for token in fold(raw).split() if 0 < len(token) <= MAX_TOKEN_CHARS
    )
    return tuple(dict.fromkeys(tokens))


def _raw_tokens(kind: str, surface: str) -> Iterator[str]:
    if kind == "cjk":
        yield from _bigrams(fold(surface))
    elif kind == "emoji":
        yield from _emoji_names(surface)
    elif kind == "shortcode":
        yield from _word_tokens(surface.strip(":"))
    elif kind == "url":
        yield from _word_tokens(surface.split("://", 1)[1].rstrip(".,;:!?)]}'’*_~/"))
    else:
        yield from _word_tokens(unicodedata.normalize("NFKC", surface))


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


def _emoji_names(surface: str) -> Iterator[str]:
    # Skin tones say nothing that a searcher means.
    for found in emoji.analyze(_SKIN_TONE.sub("", surface)):
        alias = emoji.demojize(found.chars, language="alias")
        yield from _word_tokens(alias.strip(":"))


def _word_tokens(surface: str) -> Iterator[str]:
    if surface.startswith("#"):
        bare = surface[1:]
        if bare[:1].isdigit():
            yield surface
        surface = bare
    yield from _pieces(surface.strip("_"), level=0)


def _pieces(piece: str, *, level: int) -> Iterator[str]:
    """Yield *piece* and, level by level, what it is joined from."""
    if not piece:
        return
    if _DOTTED_NUMBER.fullmatch(piece):
        yield piece
        yield piece.lstrip("vV")
        return
    if _GROUPED_NUMBER.fullmatch(piece):
        yield piece.replace(",", "")
        return
    if _APOSTROPHE.search(piece) and level == 0 and not _LEVELS[0].search(piece):
        yield from _apostrophe_pieces(piece)
        return
    yield piece
    for deeper in range(level, len(_LEVELS)):
        parts = [part for part in _LEVELS[deeper].split(piece) if part]
        if len(parts) > 1:
            for part in parts:
                if len(part) > 1 or not part.isascii():
                    yield from _pieces(part, level=deeper + 1)
            return
    yield from _camel_parts(piece)


def _apostrophe_pieces(piece: str) -> Iterator[str]:
    """Yield a contraction as people search for it: `what's` as what, `don't` as dont, `O'Brien` as both."""
    stem, *rest = _APOSTROPHE.split(piece)
    suffix = "".join(rest)
    if stem.lower().endswith("n") and suffix.lower() == "t":
        yield stem + suffix
        return
    if len(suffix) > 2 or len(stem) == 1:
        yield stem + suffix
    if len(suffix) > 2:
        yield from _pieces(suffix, level=1)
    if len(stem) > 1:
        yield from _pieces(stem, level=1)


def _camel_parts(word: str) -> Iterator[str]:
    if word.islower() or word.isdigit():
        return
    parts = _CAMEL.findall(word)
    if len(parts) > 1:
        # A code such as E4392 stays whole: its letter alone would match every grade E.
        yield from (part for part in parts if len(part) > 1 and not part.isdigit())
