"""Slack's markup to readable text.

Source of the forms: https://docs.slack.dev/messaging/formatting-message-text (mentions, links, dates, escaping).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from retrieval.redaction import redact

# A private channel's name is not for everyone who can read the message; Slack shows the same words.
PRIVATE_CHANNEL: Final = "private-channel"

_MARK: Final = re.compile(r"<([@#!][^<>\n]*|[a-zA-Z][a-zA-Z0-9+.-]*:[^<>\n]*)>")
_ENTITY: Final = re.compile(r"&(amp|lt|gt);")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">"}
_SCHEME: Final = re.compile(r"^(?:https?://|mailto:|tel:)")


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called.

    Attributes:
        people: Name by user id.
        channels: Name by channel id.
        private_channel_ids: Channels whose names are not written into other channels' messages.
    """

    people: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    private_channel_ids: frozenset[str] = frozenset()

    def person(self, user_id: str, label: str = "") -> str:
        """Return `@name`, from the directory, else the label, else the id."""
        return "@" + (self.people.get(user_id) or label.lstrip("@") or user_id)

    def channel(self, channel_id: str, label: str = "") -> str:
        """Return `#name`; a private channel's name stays hidden."""
        if channel_id in self.private_channel_ids:
            return "#" + PRIVATE_CHANNEL
        return "#" + (self.channels.get(channel_id) or label.lstrip("#") or channel_id)


def readable_text(markup: str, names: Names) -> str:
    """Return message text with mentions, links and dates readable, and entities unescaped exactly once.

    URLs stay in the text so that they can be searched by string; code fences and emoji codes stay as they are.
    Nothing in the result looks like a Slack token.
    """
    pieces: list[str] = []
    end = 0
    for mark in _MARK.finditer(markup):
        pieces.extend((unescape(markup[end : mark.start()]), _render_mark(mark.group(1), names)))
        end = mark.end()
    pieces.append(unescape(markup[end:]))
    return redact("".join(pieces)).strip()


def unescape(text: str) -> str:
    """Undo Slack's escaping of `&`, `<` and `>` once: `&amp;lt;` becomes `&lt;`."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: _ENTITIES[match.group(1)], text)


def link_text(url: str, label: str) -> str:
    """Return `label (url)`, or only the URL where the label says no more."""
    bare = _SCHEME.sub("", url)
    shown = bare if url.startswith(("mailto:", "tel:")) else url
    if not label or label in {url, bare, bare.rstrip("/")}:
        return shown
    return f"{label} ({shown})"


def date_text(seconds: str) -> str:
    """Return a date mark's time in ISO form, UTC; the text itself where it is no time."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat(sep=" ")
    except (ValueError, OverflowError, OSError):
        return seconds


def _render_mark(mark: str, names: Names) -> str:
    target, _, label = mark.partition("|")
    label = unescape(label).strip()
    if target.startswith("@"):
        return names.person(target[1:], label)
    if target.startswith("#"):
        return names.channel(target[1:], label)
    if target.startswith("!"):
        return _render_command(target[1:], label)
    return link_text(unescape(target).strip(), label)


def _render_command(command: str, label: str) -> str:
    name, _, rest = command.partition("^")
    if name == "subteam":
        return "@" + (label.lstrip("@") or rest)
    if name == "date":
        return label or date_text(rest.partition("^")[0])
    return label or f"@{name}"
