"""What blocks and attachments say."""

from retrieval.builder.blocks import attachments_text, blocks_text, is_unfurl
from retrieval.builder.markup import Names

NAMES = Names(people={"U1": "Ana"}, channels={"C1": "general"})


def test_rich_text_is_read_with_lists_code_and_quotes() -> None:
    section = [
        {"type": "text", "text": "ask "},
        {"type": "user", "user_id": "U1"},
        {"type": "text", "text": " in "},
        {"type": "channel", "channel_id": "C1"},
        {"type": "text", "text": " about "},
        {"type": "link", "url": "https://a.example", "text": "docs"},
        {"type": "emoji", "name": "tada"},
        {"type": "text", "text": "x < y", "style": {"code": True}},
        {"type": "broadcast", "range": "here"},
    ]
    item = {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]}
    code = [{"type": "text", "text": "a &amp; b"}]
    block = {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_section", "elements": section},
            {"type": "rich_text_list", "elements": [item]},
            {"type": "rich_text_preformatted", "elements": code},
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "said"}]},
        ],
    }

    assert blocks_text([block], NAMES).split("\n") == [
        "ask @Ana in #general about docs (https://a.example):tada:`x < y`@here",
        "• one",
        "```",
        "a &amp; b",
        "```",
        "> said",
    ]


def test_sections_headers_context_and_tables_are_read_and_buttons_are_not() -> None:
    blocks: list[dict[str, object]] = [
        {"type": "header", "text": {"type": "plain_text", "text": "Deploy"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "by <@U1>"},
            "fields": [{"type": "mrkdwn", "text": "*ok*"}],
        },
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "build 7"}, {"type": "image", "alt_text": "logo"}]},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Approve"}}]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, {"type": "raw_text", "text": "b"}]]},
        {"type": "markdown", "text": "plain **text**"},
        {"type": "divider"},
    ]

    assert blocks_text(blocks, NAMES).split("\n") == [
        "Deploy",
        "by @Ana",
        "*ok*",
        "build 7",
        "logo",
        "a | b",
        "plain **text**",
    ]


def test_an_attachment_gives_its_parts_and_the_fallback_only_alone() -> None:
    full = {
        "fallback": "short",
        "pretext": "new",
        "title": "Bug 7",
        "title_link": "https://bugs.example/7",
        "text": "it &lt;fails&gt;",
        "fields": [{"title": "Status", "value": "open"}],
    }

    assert attachments_text([full], NAMES) == "new\nBug 7 (https://bugs.example/7)\nit <fails>\nStatus: open"
    assert attachments_text([{"fallback": "only this"}], NAMES) == "only this"


def test_previews_of_links_are_told_from_own_content() -> None:
    assert is_unfurl({"from_url": "https://a.example", "text": "x"})
    assert not is_unfurl({"text": "x"})


def test_broken_and_endlessly_nested_blocks_do_no_harm() -> None:
    deep: dict[str, object] = {"type": "section", "text": {"type": "mrkdwn", "text": "bottom"}}
    for _ in range(500):
        deep = {"type": "container", "child_blocks": [deep]}

    assert blocks_text([deep, {"type": 7}, {"type": "rich_text", "elements": "no"}], NAMES) == ""
