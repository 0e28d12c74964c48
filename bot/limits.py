"""Slack's numbers, each with where it comes from, and how a text's length is counted.

Sources: [DOC] Slack's documentation (docs.slack.dev, named page); [TYPES] the comments of the npm package
@slack/types 3.2.0; [ISSUE] a report with maintainers' answers; [OURS] a margin of our own.
"""

from typing import Final

MESSAGE_BLOCKS: Final = 50
"""[DOC] reference/block-kit/blocks: blocks in one message."""

VIEW_BLOCKS: Final = 100
"""[DOC] surfaces/modals: blocks in one modal or Home view."""

MESSAGE_CHARACTERS: Final = 10_000
"""[OURS] all texts of one message's blocks together, counted as sent.

Slack answers `msg_blocks_too_long` somewhere above 11,000 to 13,000 [ISSUE bolt-js#2509, bolt-js#2867].
"""

VIEW_CHARACTERS: Final = 10_000
"""[OURS] all texts of one modal together; Slack's own limit is 250 KB of JSON [DOC views.open]."""

FALLBACK_CHARACTERS: Final = 4_000
"""[DOC] chat.postMessage: the length to keep a message's top-level text to."""

TEXT_CHARACTERS: Final = 3_000
"""[DOC] composition-objects/text: one text object; at least 1."""

CONTEXT_ELEMENTS: Final = 10
"""[TYPES] elements of one context block."""

ACTIONS_ELEMENTS: Final = 25
"""[TYPES] elements of one actions block; seen live in adobe/spacecat-api-service#176."""

BUTTON_TEXT_CHARACTERS: Final = 75
"""[TYPES] a button's text; Slack may show about 30 of them."""

BUTTON_VALUE_CHARACTERS: Final = 2_000
"""[TYPES] a button's value."""

BUTTON_URL_CHARACTERS: Final = 3_000
"""[TYPES] a button's url."""

ACCESSIBILITY_LABEL_CHARACTERS: Final = 75
"""[TYPES] what a screen reader says for a button instead of its text."""

ACTION_ID_CHARACTERS: Final = 255
"""[DOC] block-elements/button: an action_id; a block_id has the same limit."""

HEADER_CHARACTERS: Final = 150
"""[TYPES] a header's plain text."""

VIEW_TITLE_CHARACTERS: Final = 24
"""[DOC] surfaces/modals: title, submit and close of a view, each."""

PRIVATE_METADATA_CHARACTERS: Final = 3_000
"""[DOC] surfaces/modals: a view's private_metadata."""


def text_length(text: str) -> int:
    """Return how long Slack may find `text`: in UTF-16 units, never fewer than its code points.

    Slack does not say what it counts; JavaScript clients count UTF-16 units, the larger of the two.
    """
    # Known of a string without looking through it, and true of most.
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
