"""Slack's markup as a person reads it."""

import pytest

from retrieval.builder.markup import Names, readable_text

NAMES = Names(
    people={"U1": "Ana", "W2": "Björn"},
    channels={"C1": "general", "C9": "secret-plans"},
    private_channel_ids=frozenset({"C9"}),
)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("hi <@U1>, <@W2|bj>", "hi @Ana, @Björn"),
        ("<@U404|oldname> left", "@oldname left"),
        ("<@U404>", "@U404"),
        ("see <#C1|general> and <#C1>", "see #general and #general"),
        ("<#C404|gone> <#C404>", "#gone #C404"),
        ("<#C9|secret-plans>", "#private-channel"),
        ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@oncall> <!subteam^S2>", "@oncall @S2"),
        ("<https://a.example/x?b=1&amp;c=2>", "https://a.example/x?b=1&c=2"),
        ("<https://a.example|docs>", "docs (https://a.example)"),
        ("<https://a.example/x|a.example/x>", "https://a.example/x"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<mailto:a@b.example|write me>", "write me (a@b.example)"),
        ("<!date^1700000000^{date}|in November>", "in November"),
        ("<!date^1700000000^{date}>", "2023-11-14 22:13:20+00:00"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("```if (a &lt; b &amp;&amp; c &gt; d) {}```", "```if (a < b && c > d) {}```"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("List<String> x", "List<String> x"),
    ],
)
def test_marks_become_readable(markup: str, text: str) -> None:
    assert readable_text(markup, NAMES) == text


def test_an_escaped_mention_is_not_a_mention() -> None:
    assert readable_text("&lt;@U1&gt;", NAMES) == "<@U1>"


def test_a_token_hidden_across_marks_goes() -> None:
    assert "xoxb-" not in readable_text("xox<!b>-test <https://a.example|xoxb-test>", Names())


def test_unclosed_and_nested_marks_do_no_harm() -> None:
    assert readable_text("<@U1 <https://a.example", NAMES) == "<@U1 <https://a.example"
