"""A message's top-level text: the whole answer in words, for notifications and screen readers."""

from collections.abc import Sequence
from typing import Final

from bot.citations import inert
from bot.limits import FALLBACK_CHARACTERS, text_length
from bot.rich_text import cut

_SHORTEST_BODY: Final = 40


def fallback_text(
    *,
    head: Sequence[str],
    entries: Sequence[tuple[str, str, str]] = (),
    tail: Sequence[str] = (),
) -> str:
    """Return lines as a message's top-level text, at most 4,000 characters after escaping, without pings.

    Every entry keeps its head and foot; where the whole would be too long, the bodies are cut alike.

    Args:
        head: Lines before the entries; literal.
        entries: (head, body, foot) each: who, where and when; the text; why. Foot may be empty.
        tail: Lines after them.
    """
    low, high = _SHORTEST_BODY, max([_SHORTEST_BODY, *(text_length(body) for _, body, _ in entries)])
    whole = _composed(head, entries, tail, high)
    if text_length(whole) <= FALLBACK_CHARACTERS:
        return whole
    while low < high:
        middle = (low + high + 1) // 2
        fits = text_length(_composed(head, entries, tail, middle)) <= FALLBACK_CHARACTERS
        low, high = (middle, high) if fits else (low, middle - 1)
    return _shortened(_composed(head, entries, tail, low))


def _composed(head: Sequence[str], entries: Sequence[tuple[str, str, str]], tail: Sequence[str], body_room: int) -> str:
    lines = list(head)
    for start, body, foot in entries:
        lines.append(f"{start}: {cut(body, body_room)}" + (f" ({foot})" if foot else ""))
    return "\n".join(inert(line) for line in [*lines, *tail])


def _shortened(text: str) -> str:
    """Cut escaped text without leaving half an entity at its end."""
    if text_length(text) <= FALLBACK_CHARACTERS:
        return text
    shorter = cut(text, FALLBACK_CHARACTERS)
    start = shorter.rfind("&")
    halved = start >= 0 and ";" not in shorter[start:]
    return shorter[:start] + shorter[-1] if halved else shorter
