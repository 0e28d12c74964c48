"""Messages one under the other, as a thread or a channel has them: for blocks and for screen readers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.citations import author_name, bold_element, citation, file_words, time_element
from bot.elements import Block, characters, context, divider, mrkdwn, plain_text
from bot.limits import FALLBACK_CHARACTERS, text_length
from bot.rich_text import cut, harmless, message_block, message_runs, plain_words
from retrieval.models import Document

_LONGEST_MESSAGE: Final = 1_500
_SHORTEST_MESSAGE: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message of a list.

    Attributes:
        document: The message.
        place: Such as `3 of 14`; None for none.
        mark: What singles it out, such as `texts.THE_HIT`; None for an ordinary one.
    """

    document: Document
    place: str | None = None
    mark: str | None = None


def entry_blocks(entries: Sequence[Entry], *, budget: int) -> list[Block]:
    """Return two blocks a message: who and when, and the text, cut so that all of them fit.

    The marked message stands between two lines, so up to two more.

    Short messages leave their room to long ones.

    Args:
        entries: In the order to show.
        budget: Characters for all of them together.
    """
    headings = [_heading(entry) for entry in entries]
    room = max(0, budget - sum(characters(line) for line in headings) - len(entries) * len(texts.CUT_MESSAGE))
    bodies = [harmless(entry.document.text).strip() for entry in entries]
    shares = fair_shares([text_length(body) for body in bodies], room)
    blocks: list[Block] = []
    for entry, heading, body, share in zip(entries, headings, bodies, shares, strict=True):
        note = [plain_text(texts.CUT_MESSAGE)] if text_length(body) > share else []
        line = [divider()] if entry.mark is not None else []
        blocks += [*line, context([*heading, *note]), message_block(body, maximum=share), *line]
    return blocks


def spoken_entries(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """Return (who, where and when; the text; what singles it out) of every message, for screen readers."""
    spoken = []
    for entry in entries:
        text = cut(harmless(entry.document.text), FALLBACK_CHARACTERS)
        body = plain_words(message_runs(text)) or texts.NO_TEXT
        head = citation(entry.document)
        spoken.append((f"{entry.place}. {head}" if entry.place else head, body, entry.mark or ""))
    return spoken


def fair_shares(lengths: Sequence[int], total: int) -> list[int]:
    """Return how many characters each text may have, so that the sum stays within `total`.

    Everyone gets an equal part; what the short ones leave goes to the long ones. None gets more than 1,500,
    and none fewer than 120, even if that is more than `total`.
    """
    shares = [0] * len(lengths)
    left = total
    ordered = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for done, index in enumerate(ordered):
        part = min(_LONGEST_MESSAGE, left // (len(lengths) - done))
        shares[index] = max(_SHORTEST_MESSAGE, part)
        left -= min(lengths[index], shares[index])
    return shares


def _heading(entry: Entry) -> list[Block]:
    document = entry.document
    elements = [bold_element(author_name(document)), time_element(document.ts_us)]
    if entry.mark is not None:
        elements.insert(0, mrkdwn(f"*▶ {entry.mark}*"))
    if entry.place is not None:
        elements.append(plain_text(entry.place))
    if (file := file_words(document)) is not None:
        elements.append(plain_text(file))
    return elements
