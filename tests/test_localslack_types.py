"""The validator against Slack's own published types: whatever those refuse, the local Slack refuses too.

One block of every kind is bent in every place (a key more, a key less, a value of another type); the
official npm package judges each bent block by structure. The local Slack may refuse more (lengths, empty
lists), never less.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from localslack.blockkit.check import check_message_blocks, check_view
from tests.blockkit_referee import SlackTypes, slack_types

TEXT = {"type": "plain_text", "text": "x", "emoji": True}
MRKDWN = {"type": "mrkdwn", "text": "x", "verbatim": True}
URL = "https://kiln.example/x"
OPTION = {"text": TEXT, "value": "v"}
CONFIRM = {"title": TEXT, "text": TEXT, "confirm": TEXT, "deny": TEXT, "style": "danger"}
IMAGE = {"type": "image", "image_url": URL, "alt_text": "a"}
WORD = {"type": "text", "text": "a"}
SECTION = {"type": "rich_text_section", "elements": [WORD]}
STYLE = {"bold": True, "code": True, "italic": False, "strike": False, "underline": True}
BLOCKS: list[dict[str, Any]] = [
    {"type": "section", "block_id": "b", "text": MRKDWN, "fields": [TEXT], "expand": True, "accessory": IMAGE},
    {
        "type": "section",
        "text": TEXT,
        "accessory": {
            "type": "overflow",
            "action_id": "a",
            "options": [{**OPTION, "description": TEXT, "url": URL}],
            "confirm": CONFIRM,
        },
    },
    {"type": "header", "text": TEXT},
    {"type": "divider"},
    {"type": "context", "elements": [TEXT, MRKDWN, IMAGE]},
    {
        "type": "actions",
        "elements": [
            {"type": "button", "text": TEXT, "action_id": "a", "value": "v", "url": URL, "style": "primary"},
            {
                "type": "static_select",
                "options": [OPTION],
                "placeholder": TEXT,
                "initial_option": OPTION,
                "focus_on_load": True,
            },
            {"type": "users_select", "initial_user": "U1"},
            {"type": "multi_channels_select", "initial_channels": ["C1"], "max_selected_items": 1},
            {"type": "conversations_select", "filter": {"include": ["public"]}, "response_url_enabled": True},
            {"type": "datepicker", "initial_date": "2026-01-01"},
            {"type": "timepicker", "initial_time": "10:00", "timezone": "Europe/Berlin"},
            {"type": "datetimepicker", "initial_date_time": 1_700_000_000},
            {"type": "checkboxes", "options": [OPTION], "initial_options": [OPTION]},
            {"type": "radio_buttons", "options": [OPTION]},
        ],
    },
    {
        "type": "input",
        "label": TEXT,
        "hint": TEXT,
        "optional": True,
        "dispatch_action": False,
        "element": {
            "type": "plain_text_input",
            "multiline": True,
            "min_length": 0,
            "max_length": 3,
            "initial_value": "a",
            "placeholder": TEXT,
            "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
        },
    },
    {"type": "input", "label": TEXT, "element": {"type": "number_input", "is_decimal_allowed": True}},
    {
        "type": "input",
        "label": TEXT,
        "element": {"type": "static_select", "option_groups": [{"label": TEXT, "options": [OPTION]}]},
    },
    {"type": "input", "label": TEXT, "element": {"type": "file_input", "filetypes": ["txt"], "max_files": 1}},
    {**IMAGE, "title": TEXT},
    {"type": "markdown", "text": "a"},
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {**WORD, "style": STYLE},
                    {"type": "link", "url": URL, "text": "t", "unsafe": True},
                    {"type": "emoji", "name": "a", "unicode": "1f600"},
                    {"type": "user", "user_id": "U1"},
                    {"type": "channel", "channel_id": "C1"},
                    {"type": "usergroup", "usergroup_id": "S1"},
                    {"type": "team", "team_id": "T1"},
                    {"type": "broadcast", "range": "here"},
                    {"type": "date", "timestamp": 1, "format": "{date}", "fallback": "f", "url": URL},
                    {"type": "color", "value": "#ffffff"},
                ],
            },
            {"type": "rich_text_list", "style": "bullet", "indent": 1, "border": 1, "elements": [SECTION]},
            {"type": "rich_text_quote", "border": 0, "elements": [WORD]},
            {"type": "rich_text_preformatted", "elements": [WORD, {"type": "link", "url": URL}]},
        ],
    },
    {
        "type": "table",
        "rows": [[{"type": "raw_text", "text": "a"}, {"type": "rich_text", "elements": [SECTION]}]],
        "column_settings": [{"align": "left", "is_wrapped": True}],
    },
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "positive_button": {"text": TEXT, "value": "p"},
                "negative_button": {"text": TEXT, "value": "n", "accessibility_label": "x"},
            },
            {"type": "icon_button", "icon": "trash", "text": TEXT, "value": "v"},
        ],
    },
    {"type": "alert", "text": TEXT, "level": "info"},
    {"type": "card", "title": MRKDWN, "body": MRKDWN, "actions": [{"type": "button", "text": TEXT}]},
    {"type": "carousel", "elements": [{"type": "card", "title": MRKDWN}]},
    {"type": "container", "title": TEXT, "width": "full", "child_blocks": [{"type": "divider"}]},
    {"type": "video", "video_url": URL, "thumbnail_url": URL, "alt_text": "a", "title": TEXT},
    {
        "type": "plan",
        "title": "t",
        "tasks": [{"type": "task_card", "task_id": "1", "title": "t", "status": "complete"}],
    },
    {
        "type": "data_table",
        "caption": "c",
        "page_size": 5,
        "rows": [[{"type": "raw_text", "text": "a"}], [{"type": "raw_number", "value": 1, "text": "1"}]],
    },
]


VIEW: dict[str, Any] = {
    "type": "modal",
    "title": TEXT,
    "submit": TEXT,
    "close": TEXT,
    "private_metadata": "m",
    "callback_id": "c",
    "external_id": "e",
    "clear_on_close": True,
    "notify_on_close": True,
    "blocks": [{"type": "header", "text": TEXT}],
}


@pytest.fixture(scope="session")
def types() -> SlackTypes:
    return slack_types()


def refused_by(types: SlackTypes, block: dict[str, Any]) -> bool:
    try:
        types.assert_blocks([block])
    except AssertionError:
        return True
    return False


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every object inside a block, with the way to it."""
    if isinstance(value, dict):
        yield path, value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def bent(block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The block with one thing wrong (or harmlessly different), with a name for it."""

    def copy_and_place(path: tuple[str | int, ...]) -> tuple[dict[str, Any], Any]:
        changed = place = copy.deepcopy(block)
        for step in path:
            place = place[step]  # type: ignore[index]
        return changed, place

    for path, node in places(block):
        changed, place = copy_and_place(path)
        place["surprise"] = 1
        yield f"{path} with a surprise", changed
        for key in node:
            changed, place = copy_and_place(path)
            del place[key]
            yield f"{path} without {key}", changed
            for other in (7, "odd", True, [], {}, None):
                changed, place = copy_and_place(path)
                place[key] = other
                yield f"{path} with {key}={other!r}", changed


@pytest.mark.node
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block["type"])
def test_whatever_the_published_types_refuse_is_refused(types: SlackTypes, block: dict[str, Any]) -> None:
    assert check_message_blocks([block]) == []
    assert not refused_by(types, block)
    assert refused_by(types, {**block, "surprise": 1})

    accepted = [(name, changed) for name, changed in bent(block) if not check_message_blocks([changed])]
    missed = [name for name, changed in accepted if refused_by(types, changed)]

    assert missed == []


@pytest.mark.node
def test_whatever_the_published_view_type_refuses_is_refused(types: SlackTypes) -> None:
    assert check_view(VIEW) == []
    types.assert_view(VIEW)

    for name, changed in bent(VIEW):
        if not check_view(changed) and changed.get("type") == "modal":
            try:
                types.assert_view(changed)
            except AssertionError as exc:
                pytest.fail(f"{name}: {exc}")
