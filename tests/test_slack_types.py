"""Every kind of answer against Slack's own published types."""

import pytest

from tests.block_examples import messages, views
from tests.blockkit_referee import SlackTypes, slack_types

pytestmark = pytest.mark.node


@pytest.fixture(scope="session")
def types() -> SlackTypes:
    return slack_types()


def test_every_message_has_the_structure_that_slack_publishes(types: SlackTypes) -> None:
    for name, message in messages().items():
        try:
            types.assert_blocks(message.blocks)
        except AssertionError as exc:
            pytest.fail(f"{name}: {exc}")


def test_every_modal_has_the_structure_that_slack_publishes(types: SlackTypes) -> None:
    for name, view in views().items():
        try:
            types.assert_view(view)
        except AssertionError as exc:
            pytest.fail(f"{name}: {exc}")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "context", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "x"}}]},
        {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
        {"type": "section", "text": {"type": "plain_text", "text": "x"}, "surprise": 1},
        {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "emoji"}]}]},
        {"type": "no_such_block"},
    ],
)
def test_the_referee_refuses_what_slack_does_not_publish(types: SlackTypes, block: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        types.assert_blocks([block])


def test_the_referee_refuses_a_modal_without_a_title(types: SlackTypes) -> None:
    with pytest.raises(AssertionError):
        types.assert_view({"type": "modal", "blocks": []})
