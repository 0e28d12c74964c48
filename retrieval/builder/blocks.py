"""The readable text of Block Kit blocks and of attachments."""

from collections.abc import Iterator, Mapping
from typing import Final

from retrieval.builder.markup import Names, date_text, link_text, readable_text, unescape
from retrieval.redaction import redact

Block = Mapping[str, object]

# Blocks can nest (containers, carousels, lists); an archive is data, so its depth is not trusted.
MAX_DEPTH: Final = 12


def blocks_text(blocks: list[Block], names: Names) -> str:
    """Return what a reader of the blocks sees, a line for each block; buttons and menus are left out."""
    return _joined((_block(block, names, 0) for block in blocks), "\n")


def attachments_text(attachments: list[Block], names: Names) -> str:
    """Return what a reader of the attachments sees; the fallback only where there is nothing else."""
    return _joined((_attachment(attachment, names) for attachment in attachments), "\n")


def is_unfurl(attachment: Block) -> bool:
    """Return whether an attachment is Slack's preview of a link, not the poster's own content."""
    return any(key in attachment for key in ("from_url", "original_url", "is_msg_unfurl", "is_app_unfurl"))


def _attachment(attachment: Block, names: Names) -> str:
    title = readable_text(_string(attachment, "title"), names)
    link = _string(attachment, "title_link")
    fields = (
        _joined((readable_text(_string(entry, key), names) for key in ("title", "value")), ": ")
        for entry in _records(attachment.get("fields"))
    )
    parts = [
        readable_text(_string(attachment, "pretext"), names),
        _string(attachment, "author_name"),
        redact(link_text(unescape(link), title)) if link else title,
        readable_text(_string(attachment, "text"), names),
        *fields,
        blocks_text(_records(attachment.get("blocks")), names),
    ]
    text = _joined(parts, "\n")
    return text or readable_text(_string(attachment, "fallback"), names)


def _block(block: Block, names: Names, depth: int) -> str:
    if depth > MAX_DEPTH:
        return ""
    kind = _string(block, "type")
    if kind == "rich_text":
        return _joined((_rich(element, names, depth + 1) for element in _records(block.get("elements"))), "\n")
    if kind == "table":
        return _table(block, names, depth)
    parts = [_text_object(block.get(key), names) for key in ("title", "subtitle", "text", "body", "alt_text")]
    parts += [_text_object(entry, names) for entry in _records(block.get("fields"))]
    if kind != "actions":
        parts += [_text_object(entry, names) for entry in _records(block.get("elements"))]
    parts += [
        _block(child, names, depth + 1) for key in ("child_blocks", "cards") for child in _records(block.get(key))
    ]
    return _joined(parts, "\n")


def _table(block: Block, names: Names, depth: int) -> str:
    rows = block.get("rows")
    lines = (
        _joined((_cell(cell, names, depth) for cell in _records(row)), " | ")
        for row in (rows if isinstance(rows, list) else [])
    )
    return _joined(lines, "\n")


def _cell(cell: Block, names: Names, depth: int) -> str:
    return _string(cell, "text") or _block(cell, names, depth + 1)


def _text_object(value: object, names: Names) -> str:
    if isinstance(value, str):
        return readable_text(value, names)
    if not isinstance(value, Mapping):
        return ""
    kind = _string(value, "type")
    text = _string(value, "text")
    if kind == "mrkdwn":
        return readable_text(text, names)
    if kind == "image":
        return redact(_string(value, "alt_text"))
    return redact(text) if kind == "plain_text" else ""


def _rich(element: Block, names: Names, depth: int) -> str:
    """Return a rich text element's text; its strings are literal, not markup."""
    if depth > MAX_DEPTH:
        return ""
    kind = _string(element, "type")
    children = _records(element.get("elements"))
    if kind == "rich_text_list":
        return _joined(("• " + _rich(child, names, depth + 1) for child in children), "\n")
    inner = "".join(_inline(child, names) for child in children)
    if kind == "rich_text_preformatted":
        return f"```\n{inner}\n```" if inner else ""
    if kind == "rich_text_quote":
        return "\n".join(f"> {line}" for line in inner.splitlines())
    return inner


def _inline(element: Block, names: Names) -> str:
    kind = _string(element, "type")
    text = redact(_string(element, "text"))
    if kind == "text":
        style = element.get("style")
        return f"`{text}`" if isinstance(style, Mapping) and style.get("code") else text
    if kind == "link":
        return redact(link_text(unescape(_string(element, "url")), unescape(text)))
    if kind == "user":
        return names.person(_string(element, "user_id"))
    if kind == "channel":
        return names.channel(_string(element, "channel_id"))
    return _rare_inline(kind, element)


def _rare_inline(kind: str, element: Block) -> str:
    if kind == "emoji":
        return f":{_string(element, 'name')}:"
    if kind == "broadcast":
        return "@" + _string(element, "range")
    if kind == "usergroup":
        return "@" + _string(element, "usergroup_id")
    if kind == "date":
        return _string(element, "fallback") or date_text(str(element.get("timestamp", "")))
    return _string(element, "value") if kind == "color" else ""


def _string(record: Block, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _records(value: object) -> list[Block]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _joined(parts: Iterator[str] | list[str], separator: str) -> str:
    return separator.join(part for part in parts if part.strip())
