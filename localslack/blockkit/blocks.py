"""Rules for whole blocks, and which of them each surface takes."""

from __future__ import annotations

from localslack.blockkit.composition import HTTP_URL, IMAGE_SOURCE, mrkdwn, plain, text
from localslack.blockkit.elements import (
    ACCESSORIES,
    ACTION_ELEMENTS,
    BUTTONS,
    CONTEXT_ACTION_ELEMENTS,
    IMAGE,
    INPUT_ELEMENTS,
)
from localslack.blockkit.rich_text import RICH_TEXT
from localslack.blockkit.rules import Bool, ByType, Int, Items, Number, Obj, Rule, Str, typed

_ID: dict[str, Rule] = {"block_id": Str(255)}

_SECTION = Obj(
    {"type": Str(choices=("section",))},
    {
        **_ID,
        "text": text(3000),
        "fields": Items(text(2000), most=10, least=1),
        "accessory": ACCESSORIES,
        "expand": Bool(),
    },
    at_least_one=("text", "fields"),
)
_IMAGE = Obj(
    {"type": Str(choices=("image",)), "alt_text": Str(2000)},
    {**_ID, **IMAGE_SOURCE, "title": plain(2000)},
    exactly_one=("image_url", "slack_file"),
)
_CONTEXT_ELEMENT = ByType({**text(3000).kinds, "image": IMAGE})
_CELL = ByType(
    {
        "raw_text": typed("raw_text", {"text": Str(least=0)}),
        "raw_number": typed("raw_number", {"value": Number(), "text": Str()}),
        "rich_text": RICH_TEXT,
    }
)
_COLUMN = Obj({}, {"align": Str(choices=("left", "center", "right")), "is_wrapped": Bool()})
_CARD = Obj(
    {"type": Str(choices=("card",))},
    {
        **_ID,
        "hero_image": IMAGE,
        "icon": IMAGE,
        "title": mrkdwn(150),
        "subtitle": mrkdwn(150),
        "body": mrkdwn(200),
        "actions": Items(BUTTONS, most=3),
    },
    at_least_one=("hero_image", "title", "actions", "body"),
)
_TASK = typed(
    "task_card",
    {
        "task_id": Str(),
        "title": Str(),
        "status": Str(choices=("pending", "in_progress", "complete", "error")),
    },
    {
        **_ID,
        "details": RICH_TEXT,
        "output": RICH_TEXT,
        "sources": Items(typed("url", {"url": Str(3000, pattern=HTTP_URL), "text": Str()})),
    },
)
_VIDEO = typed(
    "video",
    {
        "video_url": Str(3000, pattern=HTTP_URL),
        "thumbnail_url": Str(3000, pattern=HTTP_URL),
        "alt_text": Str(2000),
        "title": plain(199),
    },
    {
        **_ID,
        "title_url": Str(2000, pattern="https://.*"),
        "author_name": Str(49),
        "provider_name": Str(50),
        "provider_icon_url": Str(2000),
        "description": plain(200),
    },
)
_BASIC: dict[str, Rule] = {
    "section": _SECTION,
    "divider": typed("divider", {}, _ID),
    "header": typed("header", {"text": plain(150)}, _ID),
    "context": typed("context", {"elements": Items(_CONTEXT_ELEMENT, most=10, least=1)}, _ID),
    "actions": typed("actions", {"elements": Items(ACTION_ELEMENTS, most=25, least=1)}, _ID),
    "image": _IMAGE,
    "rich_text": RICH_TEXT,
    "video": _VIDEO,
    "input": typed(
        "input",
        {"label": plain(2000), "element": INPUT_ELEMENTS},
        {**_ID, "hint": plain(2000), "optional": Bool(), "dispatch_action": Bool()},
    ),
    "file": typed("file", {"source": Str(choices=("remote",)), "external_id": Str(255)}, _ID),
    "table": typed(
        "table",
        {"rows": Items(Items(_CELL, most=20, least=1), most=100, least=1)},
        {**_ID, "column_settings": Items(_COLUMN, most=20)},
    ),
}
_CONTAINER = Obj(
    {
        "type": Str(choices=("container",)),
        "child_blocks": Items(ByType(_BASIC), most=10, least=1),
    },
    {
        **_ID,
        "title": plain(150),
        "rich_text_title": RICH_TEXT,
        "subtitle": text(150),
        "width": Str(choices=("narrow", "standard", "wide", "full")),
        "icon": IMAGE,
        "is_collapsible": Bool(),
        "default_collapsed": Bool(),
        "has_header_divider": Bool(),
    },
)
BLOCKS = ByType(
    {
        **_BASIC,
        "markdown": typed("markdown", {"text": Str(12_000)}, _ID),
        "context_actions": typed("context_actions", {"elements": Items(CONTEXT_ACTION_ELEMENTS, most=5, least=1)}, _ID),
        "alert": typed(
            "alert",
            {"text": text(200)},
            {**_ID, "level": Str(choices=("default", "info", "warning", "error", "success"))},
        ),
        "card": _CARD,
        "carousel": typed("carousel", {"elements": Items(_CARD, most=10, least=1)}, _ID),
        "container": _CONTAINER,
        "data_table": typed(
            "data_table",
            {"rows": Items(Items(_CELL, most=20, least=1), most=201, least=2), "caption": Str()},
            {**_ID, "page_size": Int(1, 100), "row_header_column_index": Int(0)},
        ),
        "task_card": _TASK,
        "plan": typed("plan", {"title": Str()}, {**_ID, "tasks": Items(_TASK, most=50)}),
    }
)
"""Every block type that @slack/types 3.2.0 knows."""

MESSAGE_BLOCKS = BLOCKS
"""What a message may hold."""

VIEW_BLOCKS = BLOCKS.only(
    (
        *("actions", "alert", "card", "context", "divider", "header"),
        *("image", "input", "rich_text", "section", "video"),
    )
)
"""What a modal or the Home tab may hold (slackblocks 3.0.0's surface table)."""
