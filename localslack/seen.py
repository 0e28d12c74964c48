"""Messages and views as one person sees them, with the controls that can be pressed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from localslack.blockkit.walk import blocks_within, elements_of
from localslack.json_types import JsonObject, JsonView
from localslack.messages import Message
from localslack.views import View
from localslack.world import World

_TOKEN = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One choice of a menu."""

    text: str
    value: str
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Something that can be pressed, chosen from or typed into.

    ``element`` is the Block Kit element itself; ``text`` a button's label or an input's label.
    """

    type: str
    block_id: str
    action_id: str
    text: str
    element: JsonObject
    value: str | None = None
    url: str | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """A message as one person sees it at one moment; ask again for what it became.

    Attributes:
        ts: Its timestamp; also of an ephemeral one.
        user_id: Who wrote it; ``by_app`` tells whether that was the app.
        plain_text: Everything readable but labels of controls: the blocks, else the text.
        typed_command: Whether it is the command line that an ``in_channel`` answer made visible.
    """

    ts: str
    channel_id: str
    user_id: str
    text: str
    blocks: tuple[JsonObject, ...]
    plain_text: str
    controls: tuple[Control, ...]
    thread_ts: str | None
    is_ephemeral: bool
    is_edited: bool
    by_app: bool
    typed_command: bool

    @property
    def response_type(self) -> str:
        """Return ``ephemeral`` or ``in_channel``."""
        return "ephemeral" if self.is_ephemeral else "in_channel"

    def button_texts(self) -> list[str]:
        """Return the labels of its buttons in reading order."""
        return [control.text for control in self.controls if control.type == "button"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenView:
    """A modal or Home tab as one person sees it at one moment.

    ``errors`` holds sentences by block_id, of the last submission that was refused.
    """

    id: str
    type: str
    title: str
    submit: str | None
    close: str | None
    callback_id: str
    private_metadata: str
    hash: str
    blocks: tuple[JsonObject, ...]
    plain_text: str
    controls: tuple[Control, ...]
    values: JsonObject
    errors: Mapping[str, str]

    def button_texts(self) -> list[str]:
        """Return the labels of its buttons in reading order."""
        return [control.text for control in self.controls if control.type == "button"]


def seen_message(message: Message, world: World) -> SeenMessage:
    """Return a message as people who may see it do."""
    shown = plain_text_of(message.blocks, world) if message.blocks else mrkdwn_as_read(message.text, world)
    return SeenMessage(
        ts=message.ts,
        channel_id=message.channel_id,
        user_id=message.user_id,
        text=message.text,
        blocks=tuple(message.blocks),
        plain_text=shown,
        controls=tuple(controls_of(message.blocks)),
        thread_ts=message.thread_ts,
        is_ephemeral=message.ephemeral_for is not None,
        is_edited=message.edited_ts is not None,
        by_app=message.by_app,
        typed_command=message.typed_command,
    )


def seen_view(view: View, world: World) -> SeenView:
    """Return a view as its person sees it."""
    spec = view.spec
    return SeenView(
        id=view.id,
        type=view.kind,
        title=_text(spec.get("title")),
        submit=_text(spec.get("submit")) or None,
        close=_text(spec.get("close")) or None,
        callback_id=str(spec.get("callback_id", "")),
        private_metadata=str(spec.get("private_metadata", "")),
        hash=view.hash,
        blocks=tuple(spec["blocks"]),
        plain_text=plain_text_of(spec["blocks"], world),
        controls=tuple(controls_of(spec["blocks"])),
        values=view.values,
        errors=dict(view.errors),
    )


def controls_of(blocks: Sequence[JsonView]) -> Iterator[Control]:
    """Yield the controls in reading order."""
    for block in blocks_within(blocks):
        for element in elements_of(block):
            label = _text(element.get("text")) or _text(block.get("label")) or _text(element.get("placeholder"))
            yield Control(
                type=str(element["type"]),
                block_id=str(block["block_id"]),
                action_id=str(element["action_id"]),
                text=label,
                element=element,
                value=element.get("value"),
                url=element.get("url"),
                options=tuple(_options(element)),
            )


def plain_text_of(blocks: Sequence[JsonView], world: World) -> str:
    """Return what is readable in blocks, a line for each text, without the labels of controls."""
    lines: list[str] = []
    for block in blocks_within(blocks):
        lines.extend(_lines(block, world))
    return "\n".join(line for line in lines if line)


def mrkdwn_as_read(text: str, world: World) -> str:
    """Return mrkdwn with tokens replaced by what stands there on the screen, entities decoded."""
    return html.unescape(_TOKEN.sub(lambda match: _token(match.group(1), world), text))


def _lines(block: JsonView, world: World) -> Iterator[str]:
    kind = block.get("type")
    if kind == "rich_text":
        for container in block["elements"]:
            yield _rich(container, world)
    elif kind == "table":
        for row in block["rows"]:
            yield " | ".join(_cell(cell, world) for cell in row)
    elif kind == "markdown":
        yield block["text"]
    else:
        for key in ("title", "subtitle", "text", "body", "label", "hint"):
            yield _object_text(block.get(key), world)
        yield from (_object_text(field, world) for field in block.get("fields", []))
        if kind == "context":
            yield " ".join(_object_text(element, world) for element in block["elements"])
        yield str(block.get("alt_text", ""))


def _cell(cell: JsonView, world: World) -> str:
    if cell["type"] == "rich_text":
        return " ".join(_rich(container, world) for container in cell["elements"])
    return str(cell["text"])


def _rich(element: JsonView, world: World) -> str:
    """Return the readable text of a rich text container or inline element."""
    kind = element["type"]
    if "elements" in element:
        return ("\n" if kind == "rich_text_list" else "").join(_rich(e, world) for e in element["elements"])
    if kind in {"user", "channel"}:
        return _token(f"@{element['user_id']}" if kind == "user" else f"#{element['channel_id']}", world)
    if kind == "link":
        return str(element.get("text") or element["url"])
    if kind == "date":
        return str(element.get("fallback") or element["timestamp"])
    marks = {"emoji": ":{name}:", "broadcast": "@{range}", "usergroup": "@{usergroup_id}", "color": "{value}"}
    return marks.get(kind, "{text}").format(**{"text": "", **element})


def _object_text(value: object, world: World) -> str:
    if not isinstance(value, dict):
        return ""
    if value.get("type") == "mrkdwn":
        return mrkdwn_as_read(value["text"], world)
    return _text(value) or str(value.get("alt_text", ""))


def _token(inside: str, world: World) -> str:
    target, _, label = inside.partition("|")
    if target.startswith("@"):
        user = world.users.get(target[1:])
        return "@" + (user.label if user else label or target[1:])
    if target.startswith("#"):
        channel = world.channels.get(target[1:])
        return "#" + (channel.name if channel else label or target[1:])
    if target.startswith("!"):
        return label or "@" + target[1:]
    return label or target


def _options(element: JsonView) -> Iterator[Option]:
    groups = element.get("option_groups") or []
    for option in [*element.get("options", []), *(option for group in groups for option in group["options"])]:
        yield Option(text=_text(option["text"]), value=option["value"], url=option.get("url"))
    for key in ("positive_button", "negative_button"):
        if key in element:
            yield Option(text=_text(element[key]["text"]), value=element[key]["value"])


def _text(value: object) -> str:
    return str(value.get("text", "")) if isinstance(value, dict) else ""
