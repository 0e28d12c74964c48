"""Archived text as rich_text: literal, so that nothing in it can ping, link or format.

A rich_text `text` element is never parsed, unlike mrkdwn. Code becomes preformatted or inline code, lines
that start with `>` become quotes, known emoji names become emoji; everything else stays as it was written.
Everything here is pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import emoji
import regex

from bot import texts
from bot.elements import Block
from bot.limits import text_length
from retrieval.passages import Passage

ELLIPSIS: Final = "…"

_LINE_BREAKS: Final = regex.compile(r"\r\n?|[\u0085\u2028\u2029]")
_SPACES: Final = regex.compile(r"[\v\f]")
# C0 and C1 controls but tab and newline; the bidi embeddings, overrides and isolates, which can turn
# around what stands beside them. The marks LRM, RLM and ALM only hint, and right-to-left text needs them.
_REMOVED: Final = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NOT_TEXT: Final = regex.compile(r"[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_STACKED_MARKS: Final = regex.compile(r"(\p{M}{6})\p{M}+")
_WHITE_SPACE: Final = regex.compile(r"\s+")
_MANY_NEWLINES: Final = regex.compile(r"\n{3,}")
_FENCE: Final = regex.compile(r"```(?:\n)?(.*?)(?:```|\Z)", regex.DOTALL)
_INLINE_CODE: Final = regex.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_EMOJI_NAME: Final = regex.compile(r":([a-z0-9_+'\-]{1,80}):")
# Several may follow each other; what touches a letter, a digit or another colon is a time or code.
_EMOJI_NAMES: Final = regex.compile(r"(?<![\w:])(?::[a-z0-9_+'\-]{1,80}:)++(?![\w:])")
# Longer than any emoji or letter in use; a longer cluster is built to break things.
_LONGEST_CLUSTER: Final = 64


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text that is shown in one way.

    Attributes:
        text: Literal text, not empty.
        bold: Whether it matched.
        code: Whether it is code, without its backticks.
        fenced: Whether the code stands as a block of its own.
    """

    text: str
    bold: bool = False
    code: bool = False
    fenced: bool = False


def harmless(text: str) -> str:
    """Return `text` without what could damage its surroundings; newlines and tabs stay.

    Control characters and bidi embeddings, overrides and isolates go; half surrogates and noncharacters
    become U+FFFD; more than six combining marks on one letter are left out; all line breaks are newlines.
    """
    text = _SPACES.sub(" ", _LINE_BREAKS.sub("\n", text))
    clean: str = _STACKED_MARKS.sub(r"\1", _NOT_TEXT.sub("\ufffd", _REMOVED.sub("", text)))
    return clean


def one_line(text: str, *, maximum: int) -> str:
    """Return `text` made harmless, on one line, cut to `maximum` characters; for names and headings."""
    return cut(_WHITE_SPACE.sub(" ", harmless(text)).strip(), maximum)


def cut(text: str, maximum: int) -> str:
    """Return `text`, or its beginning with an ellipsis, in at most `maximum` UTF-16 units.

    The cut is between grapheme clusters, so no emoji or letter is halved, at the last space if one is near.
    A cluster of more than 64 code points is cut inside, or one cluster could be longer than any limit.
    """
    if text_length(text) <= maximum:
        return text
    whole = _beginning(text[: maximum + _LONGEST_CLUSTER], maximum - text_length(ELLIPSIS))
    head, space, tail = whole.rpartition(" ")
    at_word = head if space and len(tail) < min(20, len(whole) // 4) else whole
    return at_word.rstrip() + ELLIPSIS


def _beginning(text: str, room: int) -> str:
    """Return as many whole clusters of a text as `room` UTF-16 units hold."""
    if text.isascii() and "\r" not in text:
        # Each character is a cluster; only a carriage return joins what follows it.
        return text[: max(room, 0)]
    kept = []
    for cluster in regex.finditer(r"\X", text):
        piece = cluster[0][:_LONGEST_CLUSTER]
        length = text_length(piece)
        if length > room:
            break
        kept.append(piece)
        room -= length
    return "".join(kept)


def passage_block(passage: Passage) -> Block:
    """Return a passage as a rich_text block, its matched words bold, an ellipsis where it was cut.

    Bold inside a code block is not shown by Slack, so code blocks stay plain.
    """
    return rich_text_block(passage_runs(passage))


def passage_runs(passage: Passage) -> tuple[Run, ...]:
    """Return a passage's runs; consecutive code that stands on lines of its own is fenced."""
    runs = [
        Run(text, bold=segment.matched, code=segment.code)
        for segment in passage.segments
        if (text := harmless(segment.text))
    ]
    if passage.cut_start:
        runs.insert(0, Run(f"{ELLIPSIS} "))
    if passage.cut_end:
        runs.append(Run(f" {ELLIPSIS}"))
    return tuple(_with_fences(runs))


def message_block(text: str, *, maximum: int) -> Block:
    """Return a whole message as a rich_text block, cut to `maximum` characters at a grapheme.

    Args:
        text: The archived text, entities unescaped; empty gives a placeholder.
        maximum: UTF-16 units at most. A code block that is cut still ends as one.
    """
    return rich_text_block(message_runs(cut(harmless(text).strip(), maximum)))


def quote_block(text: str, *, maximum: int) -> Block:
    """Return a whole message as a rich_text block that quotes it, arguments as `message_block`.

    Code blocks stay code blocks, with the line of a quote beside them; what was a quote itself keeps its `>`.
    """
    elements: list[Block] = []
    for fenced, group in groupby(message_runs(cut(harmless(text).strip(), maximum)), key=lambda run: run.fenced):
        runs = list(group)
        if fenced:
            elements += [{**code, "border": 1} for code in _preformatted("".join(run.text for run in runs))]
        elif inline := _inline_elements(_joined(_lines(runs))):
            elements.append({"type": "rich_text_quote", "elements": inline})
    return {"type": "rich_text", "elements": elements or [{"type": "rich_text_quote", "elements": [_placeholder()]}]}


def message_runs(text: str) -> tuple[Run, ...]:
    """Return a message's runs: fences, inline code, and the rest; an unclosed fence runs to the end."""
    runs: list[Run] = []
    end = 0
    for fence in _FENCE.finditer(text):
        runs += _inline_runs(text[end : fence.start()])
        if code := fence[1].strip("\n"):
            runs.append(Run(code, code=True, fenced=True))
        end = fence.end()
    return tuple(runs + _inline_runs(text[end:]))


def rich_text_block(runs: Sequence[Run]) -> Block:
    """Return runs as one rich_text block; a placeholder where there is nothing to see."""
    elements: list[Block] = []
    for fenced, group in groupby(runs, key=lambda run: run.fenced):
        if fenced:
            elements += _preformatted("".join(run.text for run in group))
        else:
            elements += _paragraphs(list(group))
    if not elements:
        elements = [{"type": "rich_text_section", "elements": [_placeholder()]}]
    return {"type": "rich_text", "elements": elements}


def _placeholder() -> Block:
    return {"type": "text", "text": texts.NO_TEXT, "style": {"italic": True}}


def plain_words(runs: Iterable[Run]) -> str:
    """Return runs as one line of plain words, for screen readers."""
    text = "".join(f" {run.text} " if run.fenced else run.text for run in runs)
    words: str = _WHITE_SPACE.sub(" ", text)
    return words.strip()


def _inline_runs(text: str) -> list[Run]:
    runs: list[Run] = []
    end = 0
    for code in _INLINE_CODE.finditer(text):
        runs += [Run(text[end : code.start()]), Run(code[1], code=True)]
        end = code.end()
    return [run for run in [*runs, Run(text[end:])] if run.text]


def _with_fences(runs: Sequence[Run]) -> Iterator[Run]:
    """Mark code as fenced where it has several lines or a line of its own."""
    groups = [(code, list(group)) for code, group in groupby(runs, key=lambda run: run.code)]
    for index, (code, group) in enumerate(groups):
        before = groups[index - 1][1][-1].text if index else "\n"
        after = groups[index + 1][1][0].text if index + 1 < len(groups) else "\n"
        alone = before.rstrip(f" {ELLIPSIS}")[-1:] in {"", "\n"} and after.lstrip(f" {ELLIPSIS}")[:1] in {"", "\n"}
        several = any("\n" in run.text for run in group)
        fenced = code and (several or (alone and len(groups) > 1))
        if code and not fenced:
            # Slack draws a box around each piece of inline code; one name in three boxes is hard to read.
            yield Run("".join(run.text for run in group), bold=any(run.bold for run in group), code=True)
        else:
            yield from (replace(run, fenced=fenced) for run in group)


def _preformatted(code: str) -> list[Block]:
    text = code.strip("\n").rstrip()
    if not text.strip():
        return []
    return [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}]


def _paragraphs(runs: Sequence[Run]) -> list[Block]:
    """Return sections and quotes: consecutive lines that start with `>` are one quote."""
    blocks: list[Block] = []
    for quoted, group in groupby(_lines(runs), key=_is_quote):
        lines = list(group)
        content = _joined([_unquoted(line) for line in lines] if quoted else lines)
        if elements := _inline_elements(content):
            blocks.append({"type": "rich_text_quote" if quoted else "rich_text_section", "elements": elements})
    return blocks


def _lines(runs: Sequence[Run]) -> list[list[Run]]:
    lines: list[list[Run]] = [[]]
    for run in runs:
        first, *others = run.text.split("\n")
        lines[-1].append(replace(run, text=first))
        lines += [[replace(run, text=other)] for other in others]
    return [[run for run in line if run.text] for line in lines]


def _is_quote(line: Sequence[Run]) -> bool:
    return bool(line) and not line[0].code and line[0].text.startswith(">")


def _unquoted(line: Sequence[Run]) -> list[Run]:
    return [replace(line[0], text=line[0].text.lstrip(">").removeprefix(" ")), *line[1:]]


def _joined(lines: Sequence[Sequence[Run]]) -> list[Run]:
    """Return one or more lines as runs with newlines between them, none at either end, never two empty lines."""
    runs = [run for line in lines for run in [*line, Run("\n")]]
    merged = [
        Run("".join(run.text for run in group), bold=bold, code=code)
        for (bold, code), group in groupby(runs, key=lambda run: (run.bold, run.code))
    ]
    merged = [run if run.code else replace(run, text=_MANY_NEWLINES.sub("\n\n", run.text)) for run in merged]
    merged[0] = replace(merged[0], text=merged[0].text.lstrip("\n"))
    merged[-1] = replace(merged[-1], text=merged[-1].text.rstrip("\n"))
    return [run for run in merged if run.text]


def _inline_elements(runs: Sequence[Run]) -> list[Block]:
    if not any(run.text.strip() for run in runs):
        return []
    return [element for run in runs for element in _run_elements(run)]


def _run_elements(run: Run) -> Iterator[Block]:
    end = 0
    for start, stop, name in () if run.code else _emoji_names(run.text):
        if start > end:
            yield _text_element(run, run.text[end:start])
        if name is not None:
            yield {"type": "emoji", "name": name}
        end = stop
    if end < len(run.text):
        yield _text_element(run, run.text[end:])


def _emoji_names(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, name) of each known emoji name; None for a skin tone, which rich_text has no place for."""
    for group in _EMOJI_NAMES.finditer(text):
        follows_emoji = False
        for name in _EMOJI_NAME.finditer(text, group.start(), group.end()):
            if follows_emoji and name[1].startswith("skin-tone-"):
                yield name.start(), name.end(), None
            follows_emoji = emoji.emojize(name[0], language="alias") != name[0]
            if follows_emoji:
                yield name.start(), name.end(), name[1]


def _text_element(run: Run, text: str) -> Block:
    style = {name: True for name, holds in (("bold", run.bold), ("code", run.code)) if holds}
    return {"type": "text", "text": text, "style": style} if style else {"type": "text", "text": text}
