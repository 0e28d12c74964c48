"""Rules for block elements: buttons, menus, pickers and inputs, and where each may stand."""

from __future__ import annotations

from localslack.blockkit.composition import (
    ANY_OPTION,
    CONFIRM,
    CONVERSATION_FILTER,
    DISPATCH_CONFIG,
    HTTP_URL,
    IMAGE_SOURCE,
    OPTION_GROUP,
    OVERFLOW_OPTION,
    PLAIN_OPTION,
    plain,
    url,
)
from localslack.blockkit.rich_text import RICH_TEXT
from localslack.blockkit.rules import Bool, ByType, Int, Items, Obj, Rule, Str, typed

_ACTION: dict[str, Rule] = {"action_id": Str(255)}
_CONFIRMED: dict[str, Rule] = {**_ACTION, "confirm": CONFIRM}
_FOCUSED: dict[str, Rule] = {**_CONFIRMED, "focus_on_load": Bool()}
_PLACED: dict[str, Rule] = {**_FOCUSED, "placeholder": plain(150)}
_MULTI: dict[str, Rule] = {**_PLACED, "max_selected_items": Int(1)}
_INPUT: dict[str, Rule] = {
    **_ACTION,
    "focus_on_load": Bool(),
    "placeholder": plain(150),
    "dispatch_action_config": DISPATCH_CONFIG,
    "initial_value": Str(3000, least=0),
}
_STYLE = Str(choices=("primary", "danger"))
_DATE = Str(pattern=r"\d{4}-\d{2}-\d{2}")
_TIME = Str(pattern=r"\d{2}:\d{2}")
_IDS = Items(Str(64))

_BUTTON = typed(
    "button",
    {"text": plain(75)},
    {
        **_CONFIRMED,
        "value": Str(2000),
        "url": url(),
        "style": _STYLE,
        "accessibility_label": Str(75),
    },
)
IMAGE = Obj(
    {"type": Str(choices=("image",)), "alt_text": Str(2000)},
    IMAGE_SOURCE,
    exactly_one=("image_url", "slack_file"),
)
_WORKFLOW_BUTTON = typed(
    "workflow_button",
    {
        "text": plain(75),
        "workflow": Obj(
            {
                "trigger": Obj(
                    {"url": Str(3000, pattern=HTTP_URL)},
                    {"customizable_input_parameters": Items(Obj({"name": Str(), "value": Str()}))},
                )
            }
        ),
    },
    {**_CONFIRMED, "style": _STYLE, "accessibility_label": Str(75)},
)


def _static_select(kind: str, initial: dict[str, Rule], base: dict[str, Rule]) -> Obj:
    return Obj(
        {"type": Str(choices=(kind,))},
        {
            **base,
            **initial,
            "options": Items(PLAIN_OPTION, most=100, least=1),
            "option_groups": Items(OPTION_GROUP, most=100, least=1),
        },
        exactly_one=("options", "option_groups"),
    )


_SELECTS: dict[str, Rule] = {
    "static_select": _static_select("static_select", {"initial_option": PLAIN_OPTION}, _PLACED),
    "multi_static_select": _static_select(
        "multi_static_select", {"initial_options": Items(PLAIN_OPTION, most=100, least=1)}, _MULTI
    ),
    "external_select": typed(
        "external_select", {}, {**_PLACED, "initial_option": PLAIN_OPTION, "min_query_length": Int(0)}
    ),
    "multi_external_select": typed(
        "multi_external_select",
        {},
        {**_MULTI, "initial_options": Items(PLAIN_OPTION, most=100, least=1), "min_query_length": Int(0)},
    ),
    "users_select": typed("users_select", {}, {**_PLACED, "initial_user": Str(64)}),
    "multi_users_select": typed("multi_users_select", {}, {**_MULTI, "initial_users": _IDS}),
    "channels_select": typed(
        "channels_select", {}, {**_PLACED, "initial_channel": Str(64), "response_url_enabled": Bool()}
    ),
    "multi_channels_select": typed("multi_channels_select", {}, {**_MULTI, "initial_channels": _IDS}),
    "conversations_select": typed(
        "conversations_select",
        {},
        {
            **_PLACED,
            "initial_conversation": Str(64),
            "default_to_current_conversation": Bool(),
            "response_url_enabled": Bool(),
            "filter": CONVERSATION_FILTER,
        },
    ),
    "multi_conversations_select": typed(
        "multi_conversations_select",
        {},
        {
            **_MULTI,
            "initial_conversations": _IDS,
            "default_to_current_conversation": Bool(),
            "filter": CONVERSATION_FILTER,
        },
    ),
}
_CHOICES: dict[str, Rule] = {
    "checkboxes": typed(
        "checkboxes",
        {"options": Items(ANY_OPTION, most=10, least=1)},
        {**_FOCUSED, "initial_options": Items(ANY_OPTION, most=10, least=1)},
    ),
    "radio_buttons": typed(
        "radio_buttons",
        {"options": Items(ANY_OPTION, most=10, least=1)},
        {**_FOCUSED, "initial_option": ANY_OPTION},
    ),
}
_PICKERS: dict[str, Rule] = {
    "datepicker": typed("datepicker", {}, {**_PLACED, "initial_date": _DATE}),
    "timepicker": typed("timepicker", {}, {**_PLACED, "initial_time": _TIME, "timezone": Str(64)}),
    "datetimepicker": typed("datetimepicker", {}, {**_FOCUSED, "initial_date_time": Int(1_000_000_000, 9_999_999_999)}),
}
_INPUTS: dict[str, Rule] = {
    "plain_text_input": typed(
        "plain_text_input",
        {},
        {**_INPUT, "multiline": Bool(), "min_length": Int(0, 3000), "max_length": Int(1, 3000)},
    ),
    "email_text_input": typed("email_text_input", {}, _INPUT),
    "url_text_input": typed("url_text_input", {}, _INPUT),
    "number_input": typed(
        "number_input",
        {"is_decimal_allowed": Bool()},
        {**_INPUT, "min_value": Str(), "max_value": Str()},
    ),
    "rich_text_input": typed(
        "rich_text_input",
        {},
        {
            **{key: rule for key, rule in _INPUT.items() if key != "initial_value"},
            "initial_value": RICH_TEXT,
            "min_lines": Int(1, 100),
            "max_lines": Int(1, 100),
        },
    ),
    "file_input": typed("file_input", {}, {**_ACTION, "filetypes": Items(Str()), "max_files": Int(1, 10)}),
}
_OVERFLOW: dict[str, Rule] = {
    "overflow": typed("overflow", {"options": Items(OVERFLOW_OPTION, most=5, least=1)}, _CONFIRMED)
}
_FEEDBACK_CHOICE = Obj({"text": plain(75), "value": Str(2000)}, {"accessibility_label": Str(75)})

ACTION_ELEMENTS = ByType(
    {
        "button": _BUTTON,
        "workflow_button": _WORKFLOW_BUTTON,
        **_SELECTS,
        **_CHOICES,
        **_PICKERS,
        **_OVERFLOW,
        "rich_text_input": _INPUTS["rich_text_input"],
    }
)
"""What an actions block may hold."""

ACCESSORIES = ByType(
    {
        "button": _BUTTON,
        "workflow_button": _WORKFLOW_BUTTON,
        "image": IMAGE,
        **_SELECTS,
        **_CHOICES,
        "datepicker": _PICKERS["datepicker"],
        "timepicker": _PICKERS["timepicker"],
        **_OVERFLOW,
    }
)
"""What may stand beside a section."""

INPUT_ELEMENTS = ByType({**_SELECTS, **_CHOICES, **_PICKERS, **_INPUTS})
"""What an input block may ask with."""

CONTEXT_ACTION_ELEMENTS = ByType(
    {
        "feedback_buttons": typed(
            "feedback_buttons",
            {"positive_button": _FEEDBACK_CHOICE, "negative_button": _FEEDBACK_CHOICE},
            _ACTION,
        ),
        "icon_button": typed(
            "icon_button",
            {"icon": Str(64), "text": plain()},
            {
                **_CONFIRMED,
                "value": Str(2000),
                "accessibility_label": Str(75),
                "visible_to_user_ids": Items(Str(64), most=10),
            },
        ),
    }
)

BUTTONS = ByType({"button": _BUTTON})
