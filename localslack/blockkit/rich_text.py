"""Rules for rich_text: its containers, its inline elements and their styles."""

from __future__ import annotations

from localslack.blockkit.composition import url
from localslack.blockkit.rules import Bool, ByType, Int, Items, Obj, Rule, Str, typed

_STYLE = Obj({}, {name: Bool() for name in ("bold", "code", "italic", "strike", "underline")})
_STYLED: dict[str, Rule] = {"style": _STYLE}
_ID = Str(64)

INLINE = ByType(
    {
        "text": typed("text", {"text": Str()}, _STYLED),
        "link": typed("link", {"url": url()}, {**_STYLED, "text": Str(), "unsafe": Bool()}),
        "emoji": typed("emoji", {"name": Str(255)}, {**_STYLED, "unicode": Str(), "url": url()}),
        "user": typed("user", {"user_id": _ID}, _STYLED),
        "usergroup": typed("usergroup", {"usergroup_id": _ID}, _STYLED),
        "team": typed("team", {"team_id": _ID}, _STYLED),
        "channel": typed("channel", {"channel_id": _ID}, _STYLED),
        "broadcast": typed("broadcast", {"range": Str(choices=("here", "channel", "everyone"))}, _STYLED),
        "color": typed("color", {"value": Str(pattern="#[0-9a-fA-F]{6}")}, _STYLED),
        "date": typed("date", {"timestamp": Int(0), "format": Str()}, {**_STYLED, "url": url(), "fallback": Str()}),
    }
)
"""What may stand inside a section, a quote or a list item."""

_BORDER: dict[str, Rule] = {"border": Int(0, 1)}
_SECTION = typed("rich_text_section", {"elements": Items(INLINE)})
_LIST = typed(
    "rich_text_list",
    {
        "elements": Items(ByType({"rich_text_section": _SECTION}), least=1),
        "style": Str(choices=("bullet", "ordered")),
    },
    {**_BORDER, "indent": Int(0, 8), "offset": Int(0)},
)
_QUOTE = typed("rich_text_quote", {"elements": Items(INLINE)}, _BORDER)
_PREFORMATTED = typed("rich_text_preformatted", {"elements": Items(INLINE.only(["text", "link"]))}, _BORDER)

CONTAINERS = ByType(
    {
        "rich_text_section": _SECTION,
        "rich_text_list": _LIST,
        "rich_text_quote": _QUOTE,
        "rich_text_preformatted": _PREFORMATTED,
    }
)

RICH_TEXT = typed("rich_text", {"elements": Items(CONTAINERS, least=1)}, {"block_id": Str(255)})
"""A whole rich_text block; Slack refuses one without any element."""
