"""The local Slack's Block Kit validator: what Slack refuses is refused, at the place where it stands."""

from typing import Any

import pytest
from slackblocks import _limits

from localslack.blockkit.check import check_message_blocks, check_view
from localslack.blockkit.finish import finished_blocks
from localslack.blockkit.walk import text_length

TEXT = {"type": "plain_text", "text": "x"}


def plain(length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": "x" * length}


def button(**extra: Any) -> dict[str, Any]:
    return {"type": "button", "text": TEXT, **extra}


def option(**extra: Any) -> dict[str, Any]:
    return {"text": TEXT, "value": "v", **extra}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def rich(*elements: Any) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}


def asking(element: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"type": "input", "label": TEXT, "element": element, **extra}


def modal(*blocks: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"type": "modal", "title": TEXT, "submit": TEXT, "blocks": list(blocks), **extra}


def select(count: int, **extra: Any) -> dict[str, Any]:
    options = [option(value=str(number)) for number in range(count)]
    return {"type": "static_select", "options": options, **extra}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "section", "text": mrkdwn(3000)},
        {"type": "section", "fields": [plain(2000)] * 10},
        {"type": "section", "text": TEXT, "accessory": {"type": "overflow", "options": [option()]}},
        {"type": "header", "text": plain(150)},
        {"type": "context", "elements": [TEXT] * 10},
        actions(button(value="v" * 2000, url="https://kiln.example/a", style="danger")),
        actions(*[button(action_id=str(number)) for number in range(25)]),
        actions(select(100)),
        {"type": "image", "image_url": "https://kiln.example/a.png", "alt_text": "a"},
        rich({"type": "text", "text": "a", "style": {"bold": True}}, {"type": "link", "url": "https://a.b"}),
        rich(),
        {"type": "markdown", "text": "# a"},
        {"type": "table", "rows": [[{"type": "raw_text", "text": ""}]]},
        asking({"type": "plain_text_input"}),
    ],
)
def test_good_blocks(block: dict[str, Any]) -> None:
    assert check_message_blocks([block]) == []


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"type": "nonsense"}, "unsupported type: nonsense [json-pointer:/blocks/0/type]"),
        ({"type": "section"}, "must provide at least one of: text, fields [json-pointer:/blocks/0]"),
        ({"type": "section", "text": plain(0)}, "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        (
            {"type": "section", "text": mrkdwn(3001)},
            "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
        ),
        (
            {"type": "section", "fields": [plain(2001)]},
            "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
        ),
        ({"type": "section", "fields": [TEXT] * 11}, "no more than 10 items allowed [json-pointer:/blocks/0/fields]"),
        (
            {"type": "section", "text": TEXT, "colour": 1},
            "invalid additional property: colour [json-pointer:/blocks/0]",
        ),
        ({"type": "header", "text": mrkdwn(1)}, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"),
        ({"type": "header", "text": plain(151)}, "must be less than 151 characters [json-pointer:/blocks/0/text/text]"),
        ({"type": "context", "elements": []}, "no fewer than 1 items allowed [json-pointer:/blocks/0/elements]"),
        (
            {"type": "context", "elements": [button()]},
            "unsupported type: button [json-pointer:/blocks/0/elements/0/type]",
        ),
        (actions(*[button()] * 26), "no more than 25 items allowed [json-pointer:/blocks/0/elements]"),
        (
            actions(button(text=plain(76))),
            "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
        ),
        (actions(button(text=mrkdwn(1))), "unsupported type: mrkdwn [json-pointer:/blocks/0/elements/0/text/type]"),
        (
            actions(button(value="v" * 2001)),
            "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
        ),
        (actions(button(style="blue")), "must be one of: primary, danger [json-pointer:/blocks/0/elements/0/style]"),
        (
            actions({"type": "overflow", "options": [option()] * 6}),
            "no more than 5 items allowed [json-pointer:/blocks/0/elements/0/options]",
        ),
        (
            actions({"type": "overflow", "options": [option(value="v" * 151)]}),
            "must be less than 151 characters [json-pointer:/blocks/0/elements/0/options/0/value]",
        ),
        (
            actions({"type": "static_select"}),
            "must provide exactly one of: options, option_groups [json-pointer:/blocks/0/elements/0]",
        ),
        (
            actions({"type": "radio_buttons", "options": [option()] * 11}),
            "no more than 10 items allowed [json-pointer:/blocks/0/elements/0/options]",
        ),
        (
            {"type": "image", "image_url": "file:///a", "alt_text": "a"},
            "failed to match the pattern https?://\\S+ [json-pointer:/blocks/0/image_url]",
        ),
        (
            rich({"type": "text", "text": ""}),
            "must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]",
        ),
        (
            rich({"type": "text", "text": "a", "style": {"blink": True}}),
            "invalid additional property: blink [json-pointer:/blocks/0/elements/0/elements/0/style]",
        ),
        (rich(None), "must provide an object [json-pointer:/blocks/0/elements/0/elements/0]"),
        (
            {"type": "rich_text", "elements": [{"type": "text", "text": "a"}]},
            "unsupported type: text [json-pointer:/blocks/0/elements/0/type]",
        ),
        (
            {"type": "section", "text": {"type": "plain_text", "text": "a", "emoji": 1}},
            "must provide a boolean [json-pointer:/blocks/0/text/emoji]",
        ),
        (
            {"type": "section", "text": {"type": "plain_text", "text": "a", "verbatim": True}},
            "invalid additional property: verbatim [json-pointer:/blocks/0/text]",
        ),
        (
            {"type": "section", "text": TEXT, "block_id": "b" * 256},
            "must be less than 256 characters [json-pointer:/blocks/0/block_id]",
        ),
    ],
)
def test_bad_blocks(block: dict[str, Any], message: str) -> None:
    assert [str(problem) for problem in check_message_blocks([block])] == [message]


def test_rules_that_span_blocks() -> None:
    """Ids are unique: blocks in a message, actions in a block; tables and markdown count together."""
    section = {"type": "section", "text": TEXT, "block_id": "one"}
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]}
    found = {
        "blocks": check_message_blocks([{"type": "divider"}] * 51),
        "block ids": check_message_blocks([section, section]),
        "action ids": check_message_blocks([actions(button(action_id="a"), button(action_id="a"))]),
        "tables": check_message_blocks([table, table]),
        "markdown": check_message_blocks([{"type": "markdown", "text": "x" * 6001}] * 2),
        "initial": check_message_blocks([actions(select(2, initial_option=option(value="9")))]),
        "values": check_message_blocks([actions({"type": "static_select", "options": [option()] * 2})]),
    }

    assert {name: problems[0].message for name, problems in found.items()} == {
        "blocks": "no more than 50 items allowed",
        "block ids": "duplicate block_id: one",
        "action ids": "duplicate action_id: a",
        "tables": "only_one_table_allowed",
        "markdown": "markdown blocks must hold less than 12001 characters in all",
        "initial": "initial option must exactly match one of the options",
        "values": "options must have different values",
    }
    assert check_message_blocks([actions(button(action_id="a")), actions(button(action_id="a"))]) == []


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (modal(), None),
        (modal(title=plain(24)), None),
        (modal(title=plain(25)), "must be less than 25 characters [json-pointer:/view/title/text]"),
        (modal(submit=plain(25)), "must be less than 25 characters [json-pointer:/view/submit/text]"),
        ({"type": "modal", "blocks": []}, "missing required field: title [json-pointer:/view]"),
        (modal(*[{"type": "divider"}] * 100), None),
        (modal(*[{"type": "divider"}] * 101), "no more than 100 items allowed [json-pointer:/view/blocks]"),
        (modal({"type": "markdown", "text": "a"}), "unsupported type: markdown [json-pointer:/view/blocks/0/type]"),
        (modal(private_metadata="x" * 3001), "must be less than 3001 characters [json-pointer:/view/private_metadata]"),
        (
            {"type": "modal", "title": TEXT, "blocks": [asking({"type": "plain_text_input"})]},
            "missing required field: submit (the view has inputs) [json-pointer:/view]",
        ),
        (
            modal(*[asking({"type": "plain_text_input", "focus_on_load": True})] * 2),
            "only one element may set focus_on_load [json-pointer:/view/blocks]",
        ),
        (
            modal(asking({"type": "plain_text_input", "max_length": 3001})),
            "must be less than or equal to 3000 [json-pointer:/view/blocks/0/element/max_length]",
        ),
        (modal(asking(button())), "unsupported type: button [json-pointer:/view/blocks/0/element/type]"),
        ({"type": "home", "blocks": []}, None),
        ({"type": "home", "blocks": [], "title": TEXT}, "invalid additional property: title [json-pointer:/view]"),
        ("modal", "must provide an object [json-pointer:/view]"),
    ],
)
def test_views(view: Any, message: str | None) -> None:
    assert [str(problem) for problem in check_view(view)] == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("limit", "block"),
    [
        (_limits.SECTION_TEXT_MAX_LENGTH, lambda n: {"type": "section", "text": plain(n)}),
        (_limits.SECTION_FIELDS_ITEM_MAX_LENGTH, lambda n: {"type": "section", "fields": [plain(n)]}),
        (_limits.HEADER_TEXT_MAX_LENGTH, lambda n: {"type": "header", "text": plain(n)}),
        (_limits.CONTEXT_ELEMENTS_MAX_ITEMS, lambda n: {"type": "context", "elements": [TEXT] * n}),
        (_limits.ACTIONS_ELEMENTS_MAX_ITEMS, lambda n: actions(*[button()] * n)),
        (_limits.BUTTON_TEXT_MAX_LENGTH, lambda n: actions(button(text=plain(n)))),
        (_limits.BUTTON_VALUE_MAX_LENGTH, lambda n: actions(button(value="v" * n))),
        (_limits.BUTTON_URL_MAX_LENGTH, lambda n: actions(button(url="https://" + "a" * (n - 8)))),
        (_limits.OPTION_VALUE_MAX_LENGTH, lambda n: actions({"type": "overflow", "options": [option(value="v" * n)]})),
        (_limits.SELECT_OPTIONS_MAX_ITEMS, lambda n: actions(select(n))),
        (_limits.SELECT_PLACEHOLDER_MAX_LENGTH, lambda n: actions(select(1, placeholder=plain(n)))),
        (_limits.INPUT_LABEL_MAX_LENGTH, lambda n: {**asking({"type": "email_text_input"}), "label": plain(n)}),
        (_limits.TABLE_ROWS_MAX_ITEMS, lambda n: {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]] * n}),
        (_limits.MARKDOWN_TEXT_MAX_LENGTH, lambda n: {"type": "markdown", "text": "x" * n}),
        (
            _limits.IMAGE_ALT_TEXT_MAX_LENGTH,
            lambda n: {"type": "image", "image_url": "https://a.b", "alt_text": "x" * n},
        ),
        (_limits.BLOCK_ID_MAX_LENGTH, lambda n: {"type": "divider", "block_id": "b" * n}),
        (_limits.ACTION_ID_MAX_LENGTH, lambda n: actions(button(action_id="a" * n))),
        (_limits.CONFIRMATION_TEXT_MAX_LENGTH, lambda n: actions(button(confirm={"text": plain(n)}))),
    ],
)
def test_limits_are_those_of_an_independent_list(limit: int, block: Any) -> None:
    """The published package slackblocks has the same numbers: at the limit good, one over bad."""
    assert check_message_blocks([block(limit)]) == []
    assert check_message_blocks([block(limit + 1)]) != []


def test_finished_blocks_have_ids_and_defaults() -> None:
    """Slack gives ids to what has none, keeps those given, and keeps none of a markdown block."""
    sent = [actions(button(action_id="mine")), {"type": "markdown", "text": "a", "block_id": "lost"}]
    done = finished_blocks(sent)

    assert done[0]["elements"][0]["action_id"] == "mine"
    assert done[0]["elements"][0]["text"]["emoji"] is True
    assert done[0]["block_id"]
    assert done[1]["block_id"] != "lost"
    assert "block_id" not in sent[0]


def test_text_length_counts_what_is_readable() -> None:
    blocks = [
        {"type": "section", "text": plain(10), "fields": [plain(5)]},
        actions(button(text=plain(4), value="v" * 100)),
        rich({"type": "text", "text": "abc"}, {"type": "link", "url": "https://a.b"}),
    ]

    assert text_length(blocks) == 10 + 5 + 4 + 3 + len("https://a.b")
