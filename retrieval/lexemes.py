"""The pieces of a query text: words, quoted phrases, modifiers, as typed.

Slack sends typed text with `&`, `<` and `>` escaped and with its own forms for what it recognised: `<@U1|ada>`,
`<#C1|general>`, `<https://x.io|x.io>`, `<!here>`. A form is one piece, whatever blanks its label holds. Curly and
angular quotes are quotes; apostrophes are not. A quote that is never closed is text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from retrieval.analyzer import token_spans

MODIFIERS: Final = ("in", "from", "before", "after", "on", "during", "mode", "has", "is", "sort")

_QUOTES: Final = "\"“”„‟«»＂"  # fmt: skip
# Possessive, so that a text of nothing but `<` is read in linear time.
_FORM: Final = r"<(?:[@\#!][^<>\n]++|[a-zA-Z][a-zA-Z0-9+.\-]*+:[^<>\s|]++(?:\|[^<>\n]*+)?)>"
_FORM_PARTS: Final = re.compile(r"<(?P<sigil>[@#!]?)(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")
_FORMS: Final = re.compile(_FORM)
_WORD: Final = re.compile(rf"(?:{_FORM}|\S)++")
_BLANK: Final = re.compile(r"\s*")
_OPENING: Final = re.compile(r"[(\[{]+(?=[" + _QUOTES + r"])")
_CLOSING: Final = re.compile(f"[{_QUOTES}]")
_HEAD: Final = re.compile(rf"(-?)({'|'.join(MODIFIERS)}):", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(amp|lt|gt);")
_CHARACTERS: Final = {"amp": "&", "lt": "<", "gt": ">"}


class LexemeKind(StrEnum):
    """What a piece of a query is."""

    WORD = "word"
    PHRASE = "phrase"
    MODIFIER = "modifier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexeme:
    """One piece of a query, its value still in Slack's escaping.

    Attributes:
        value: The word, the phrase without its quotes, or the modifier's value; a modifier's may be empty.
        negated: Whether a `-` stands before it.
        key: The modifier's name in lower case, else empty.
        quoted: Whether the value stood in quotes.
    """

    kind: LexemeKind
    value: str
    negated: bool = False
    key: str = ""
    quoted: bool = False

    @property
    def is_plain_word(self) -> bool:
        """Whether it may continue the value of a modifier before it."""
        return self.kind is LexemeKind.WORD and not self.negated


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackForm:
    """One of Slack's angle-bracket forms, its parts unescaped.

    Attributes:
        sigil: `@` for people, `#` for channels, `!` for the rest; empty for links.
        target: The id or address.
        label: What Slack showed for it; empty where it gave none.
    """

    sigil: str
    target: str
    label: str


def lexemes(text: str) -> list[Lexeme]:
    """Return the pieces of *text* in order; nothing but white space is left out, half characters are replaced.

    Never raises; linear in the text's length.
    """
    text = whole_characters(text)
    found: list[Lexeme] = []
    position = 0
    while (position := _skip_blank(text, position)) < len(text):
        lexeme, position = _next_lexeme(text, position)
        found.append(lexeme)
    return found


def whole_characters(text: str) -> str:
    """Return *text* with pairs of surrogates joined and lone ones replaced by U+FFFD, so that it can be encoded.

    Lone ones come from a command line that is not UTF-8 and from JSON that was cut within a character.
    """
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unescape(text: str) -> str:
    """Return *text* with Slack's three entities turned back into characters, once."""
    return _ENTITY.sub(lambda match: _CHARACTERS[match[1]], text)


def slack_form(value: str) -> SlackForm | None:
    """Return the form that *value* consists of, or None where it is anything else."""
    if not _FORMS.fullmatch(value) or not (match := _FORM_PARTS.fullmatch(value)):
        return None
    return SlackForm(sigil=match["sigil"], target=unescape(match["target"]), label=unescape(match["label"] or ""))


def readable(value: str, *, name_form: Callable[[SlackForm], str]) -> str:
    """Return *value* unescaped, every Slack form in it replaced by what *name_form* makes of it."""
    pieces: list[str] = []
    end = 0
    for match in _FORMS.finditer(value):
        pieces.append(unescape(value[end : match.start()]))
        form = slack_form(match.group())
        pieces.append(name_form(form) if form else unescape(match.group()))
        end = match.end()
    pieces.append(unescape(value[end:]))
    return "".join(pieces)


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _next_lexeme(text: str, position: int) -> tuple[Lexeme, int]:
    if head := _HEAD.match(text, position):
        value, quoted, end = _value(text, head.end())
        lexeme = Lexeme(
            kind=LexemeKind.MODIFIER,
            value=value,
            negated=bool(head[1]),
            key=head[2].lower(),
            quoted=quoted,
        )
        return lexeme, end
    if opening := _OPENING.match(text, position):
        return Lexeme(kind=LexemeKind.WORD, value=opening.group()), opening.end()
    negated = text[position] == "-"
    if span := _quoted(text, position + negated):
        start, end = span
        return Lexeme(kind=LexemeKind.PHRASE, value=text[start:end], negated=negated, quoted=True), end + 1
    word, end = _word(text, position)
    if negated and not word.startswith("--") and token_spans(unescape(word[1:])):
        return Lexeme(kind=LexemeKind.WORD, value=word[1:], negated=True), end
    return Lexeme(kind=LexemeKind.WORD, value=word), end


def _value(text: str, position: int) -> tuple[str, bool, int]:
    """Return (value, whether quoted, where it ends) of a modifier whose colon ends at *position*."""
    if span := _quoted(text, position):
        return text[span[0] : span[1]], True, span[1] + 1
    word, end = _word(text, position)
    return word.rstrip(","), False, end


def _word(text: str, position: int) -> tuple[str, int]:
    match = _WORD.match(text, position)
    return (match.group(), match.end()) if match else ("", position)


def _quoted(text: str, position: int) -> tuple[int, int] | None:
    """Return where the inside of a quotation that opens at *position* begins and ends; None where none does."""
    if position >= len(text) or text[position] not in _QUOTES:
        return None
    closing = _CLOSING.search(text, position + 1)
    if closing is None or not text[position + 1 : closing.start()].strip():
        return None
    return position + 1, closing.start()
