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

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
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
    re.compile(r"[/\\:@+#,?&=%~|]+"),
    re.compile(r"\.+"),
    re.compile(r"-+"),
    re.compile(r"_+"),
)
_DOTTED_NUMBER: Final = regex.compile(r"[vV]?\d+(?:\.\d+)+")
_GROUPED_NUMBER: Final = regex.compile(r"\d{1,3}(?:,\d{3})+")
_CAMEL: Final = regex.compile(r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+|\p{Lo}+")
# Signs that belong to no run where they stand before or behind a word of a to z: such a word need not be looked for.
_AROUND_WORDS: Final = '.,;!?()[]{}<>"`*'
_APOSTROPHE: Final = re.compile(r"['’]")


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
    # No run reaches over a blank or a line break, and what stands between two of them mostly stood there before:
    # looking it up is most of what a build does.
    pieces = text.replace("\n", " ").split(" ")
    look_up = _cached_piece_tokens if max(map(len, pieces)) <= MAX_TOKEN_CHARS else _piece_tokens
    return list(chain.from_iterable(map(look_up, pieces)))


def _piece_tokens(piece: str) -> tuple[str, ...]:
    return _cached_piece_tokens(piece) if len(piece) <= MAX_TOKEN_CHARS else _make_piece_tokens(piece)


@lru_cache(maxsize=131072)
def _cached_piece_tokens(piece: str) -> tuple[str, ...]:
    return _make_piece_tokens(piece)


def _make_piece_tokens(piece: str) -> tuple[str, ...]:
    word = piece.strip(_AROUND_WORDS)
    if word.isascii() and word.isalpha():
        return _run_tokens("word", word)
    runs = (_run_tokens(match.lastgroup or "", match.group()) for match in _RUN.finditer(piece, concurrent=False))
    return tuple(chain.from_iterable(runs))


def _run_tokens(kind: str, surface: str) -> tuple[str, ...]:
    # Words repeat; what is longer than any word does not, and would only fill the cache.
    return _cached_run_tokens(kind, surface) if len(surface) <= MAX_TOKEN_CHARS else _make_tokens(kind, surface)


@lru_cache(maxsize=65536)
def _cached_run_tokens(kind: str, surface: str) -> tuple[str, ...]:
    return _make_tokens(kind, surface)


def _make_tokens(kind: str, surface: str) -> tuple[str, ...]:
    raw = _raw_tokens(kind, surface)
    # Of ASCII, folding is lowering, and there is no blank in a run that folding could bring forth.
    folded = (
        [token.lower() for token in raw] if surface.isascii() else [t for token in raw for t in fold(token).split()]
    )
    return tuple(dict.fromkeys(token for token in folded if 0 < len(token) <= MAX_TOKEN_CHARS))


def _raw_tokens(kind: str, surface: str) -> list[str]:
    if kind == "cjk":
        return _bigrams(fold(surface))
    if kind == "emoji":
        return _emoji_names(surface)
    if kind == "shortcode":
        return _word_tokens(surface.strip(":"))
    if kind == "url":
        return _word_tokens(surface.split("://", 1)[1].rstrip(".,;:!?)]}'’*_~/"))
    return _word_tokens(unicodedata.normalize("NFKC", surface))


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


def _emoji_names(surface: str) -> list[str]:
    # Skin tones say nothing that a searcher means.
    aliases = (emoji.demojize(found.chars, language="alias") for found in emoji.analyze(_SKIN_TONE.sub("", surface)))
    return [token for alias in aliases for token in _word_tokens(alias.strip(":"))]


def _word_tokens(surface: str) -> list[str]:
    if not surface.startswith("#"):
        return _pieces(surface.strip("_"), level=0)
    bare = surface[1:]
    numbered = [surface] if bare[:1].isdigit() else []
    return numbered + _pieces(bare.strip("_"), level=0)


def _pieces(piece: str, *, level: int) -> list[str]:
    """Return *piece* and, level by level, what it is joined from."""
    if piece.isalnum():
        return [piece, *_camel_parts(piece)]
    if not piece:
        return []
    if "." in piece and _DOTTED_NUMBER.fullmatch(piece):
        return [piece, piece.lstrip("vV")]
    if "," in piece and _GROUPED_NUMBER.fullmatch(piece):
        return [piece.replace(",", "")]
    if level == 0 and _APOSTROPHE.search(piece) and not _LEVELS[0].search(piece):
        return _apostrophe_pieces(piece)
    return _joined_pieces(piece, level=level)


def _joined_pieces(piece: str, *, level: int) -> list[str]:
    for deeper in range(level, len(_LEVELS)):
        parts = [part for part in _LEVELS[deeper].split(piece) if part]
        if len(parts) > 1:
            found = [piece]
            for part in parts:
                if len(part) > 1 or not part.isascii():
                    found += _pieces(part, level=deeper + 1)
            return found
    return [piece, *_camel_parts(piece)]


def _apostrophe_pieces(piece: str) -> list[str]:
    """Return a contraction as people search for it: `what's` as what, `don't` as dont, `O'Brien` as both."""
    stem, *rest = _APOSTROPHE.split(piece)
    suffix = "".join(rest)
    if stem.lower().endswith("n") and suffix.lower() == "t":
        return [stem + suffix]
    found: list[str] = []
    if len(suffix) > 2 or len(stem) == 1:
        found.append(stem + suffix)
    if len(suffix) > 2:
        found += _pieces(suffix, level=1)
    if len(stem) > 1:
        found += _pieces(stem, level=1)
    return found


def _camel_parts(word: str) -> list[str]:
    if word.islower() or word.isdigit():
        return []
    parts = _CAMEL.findall(word)
    if len(parts) < 2:
        return []
    # A code such as E4392 stays whole: its letter alone would match every grade E.
    return [part for part in parts if len(part) > 1 and not part.isdigit()]
