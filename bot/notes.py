"""Small print: sentences under or over an answer."""

from collections.abc import Sequence
from typing import Final

from bot.elements import Block, context, plain_text
from bot.rich_text import one_line

_NOTE_CHARACTERS: Final = 300
_NOTES: Final = 6


def note_lines(sentences: Sequence[str]) -> list[str]:
    """Return each sentence once, on one line of at most 300 characters; the first six, none empty."""
    lines = [one_line(sentence, maximum=_NOTE_CHARACTERS) for sentence in sentences]
    return list(dict.fromkeys(line for line in lines if line))[:_NOTES]


def note_blocks(lines: Sequence[str]) -> list[Block]:
    """Return lines, as `note_lines` gives them, as one block of small print; no block for no lines."""
    return [context([plain_text("\n".join(lines))])] if lines else []
