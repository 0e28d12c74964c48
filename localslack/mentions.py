"""Finds everything in a message that Slack would turn into a mention.

Sources: docs.slack.dev "Formatting message text" (mention tokens, automatic parsing) and the text
object reference (``verbatim``). Where Slack is vague ("certain mentions will be automatically parsed"),
every raw mention counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from localslack.json_types import JsonView

_TOKEN = re.compile(r"<([^<>]*)>")
_RAW_BROADCAST = re.compile(r"(?<![\w@])@(here|channel|everyone)\b", re.IGNORECASE)
_RAW_NAME = re.compile(r"(?<![\w@])@([a-z0-9][a-z0-9._-]*)")
_BROADCASTS = frozenset({"here", "channel", "everyone"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One mention.

    Attributes:
        kind: ``user``, ``usergroup``, ``here``, ``channel`` or ``everyone``.
        target: The user or user group id; the kind itself for a broadcast.
        pointer: Where in the payload it stands (a JSON pointer).
        source: The characters, or the rich text element's type, that made it.
    """

    kind: str
    target: str
    pointer: str
    source: str


def mentions_in_text(text: str, *, pointer: str, parses_raw: bool, names: Mapping[str, str]) -> Iterator[Mention]:
    """Yield the mentions in mrkdwn.

    Args:
        text: As it was sent, entities not decoded: ``&lt;!channel&gt;`` is no token.
        pointer: Where it stands.
        parses_raw: Whether Slack also looks for bare ``@here`` (``verbatim`` false, or ``link_names``).
        names: User ids by user name, for bare ``@name``.
    """
    for match in _TOKEN.finditer(text):
        if mention := _token(match.group(1), match.group(0), pointer):
            yield mention
    if not parses_raw:
        return
    bare = _TOKEN.sub(" ", text)
    for match in _RAW_BROADCAST.finditer(bare):
        kind = match.group(1).lower()
        yield Mention(kind=kind, target=kind, pointer=pointer, source=match.group(0))
    for match in _RAW_NAME.finditer(bare.lower()):
        if user_id := names.get(match.group(1).rstrip(".-_")):
            yield Mention(kind="user", target=user_id, pointer=pointer, source=match.group(0))


def mentions_in_blocks(value: object, *, pointer: str, names: Mapping[str, str]) -> Iterator[Mention]:
    """Yield the mentions in blocks: mrkdwn and markdown text, and rich text elements that mention."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from mentions_in_blocks(item, pointer=f"{pointer}/{index}", names=names)
        return
    if not isinstance(value, dict):
        return
    yield from _own(value, pointer, names)
    for key, item in value.items():
        if isinstance(item, dict | list):
            yield from mentions_in_blocks(item, pointer=f"{pointer}/{key}", names=names)


def _own(value: JsonView, pointer: str, names: Mapping[str, str]) -> Iterator[Mention]:
    kind, text = value.get("type"), value.get("text")
    if kind in {"mrkdwn", "markdown"} and isinstance(text, str):
        raw = value.get("verbatim") is not True
        yield from mentions_in_text(text, pointer=f"{pointer}/text", parses_raw=raw, names=names)
    elif kind == "user" and "user_id" in value:
        yield Mention(kind="user", target=str(value["user_id"]), pointer=pointer, source="rich_text user")
    elif kind == "usergroup" and "usergroup_id" in value:
        target = str(value["usergroup_id"])
        yield Mention(kind="usergroup", target=target, pointer=pointer, source="rich_text usergroup")
    elif kind == "broadcast":
        range_ = str(value.get("range"))
        yield Mention(kind=range_, target=range_, pointer=pointer, source="rich_text broadcast")


def _token(inside: str, source: str, pointer: str) -> Mention | None:
    target = inside.partition("|")[0]
    if re.fullmatch(r"@[UW][A-Z0-9]*", target):
        return Mention(kind="user", target=target[1:], pointer=pointer, source=source)
    if target.startswith("!subteam^"):
        group = target.removeprefix("!subteam^")
        return Mention(kind="usergroup", target=group, pointer=pointer, source=source)
    if target.startswith("!") and target[1:].lower() in _BROADCASTS:
        kind = target[1:].lower()
        return Mention(kind=kind, target=kind, pointer=pointer, source=source)
    return None
