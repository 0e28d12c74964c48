"""Whom a message would notify, by every form that Slack knows."""

from typing import Any

import pytest

from localslack.mentions import mentions_in_blocks, mentions_in_text
from tests.localslack_factory import bare_app, local_slack

NAMES = {"ada": "UADA", "ben.k": "UBEN"}
HOSTILE = "<!channel> <@UADA> @here &lt;@UBEN&gt; <https://evil.example|docs> <!subteam^S1>"


def kinds(text: str, *, raw: bool) -> list[tuple[str, str]]:
    found = mentions_in_text(text, pointer="/text", parses_raw=raw, names=NAMES)
    return [(mention.kind, mention.target) for mention in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<@UADA>", [("user", "UADA")]),
        ("<@W12|somebody>", [("user", "W12")]),
        ("<!channel> <!here|here> <!everyone>", [("channel",) * 2, ("here",) * 2, ("everyone",) * 2]),
        ("<!subteam^S123|@potters>", [("usergroup", "S123")]),
        ("<#C1|general> <https://a.b|@here> <!date^1^{date}|x>", []),
        ("&lt;!channel&gt; &lt;@UADA&gt;", []),
        ("`<@UADA>`", [("user", "UADA")]),
        ("@here @channel @ada", []),
    ],
)
def test_tokens(text: str, found: list[tuple[str, str]]) -> None:
    """Escaped tokens are text; links, dates and channels notify nobody; bare words need raw parsing."""
    assert kinds(text, raw=False) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@here now", [("here", "here")]),
        ("@Channel, please", [("channel", "channel")]),
        ("mail a@here.example or @heretic", []),
        ("ask @ada. or @ben.k", [("user", "UADA"), ("user", "UBEN")]),
        ("<https://a.b|@here>", []),
    ],
)
def test_bare_words(text: str, found: list[tuple[str, str]]) -> None:
    assert kinds(text, raw=True) == found


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ({"type": "section", "text": {"type": "mrkdwn", "text": "@here"}}, ["here"]),
        ({"type": "section", "text": {"type": "mrkdwn", "text": "@here", "verbatim": True}}, []),
        ({"type": "section", "text": {"type": "mrkdwn", "text": "<!here>", "verbatim": True}}, ["here"]),
        ({"type": "section", "text": {"type": "plain_text", "text": "<!here> @here"}}, []),
        ({"type": "markdown", "text": "<@UADA>"}, ["user"]),
        ({"type": "rich_text", "elements": [{"elements": [{"type": "user", "user_id": "UADA"}]}]}, ["user"]),
        ({"type": "rich_text", "elements": [{"elements": [{"type": "broadcast", "range": "here"}]}]}, ["here"]),
        (
            {"type": "rich_text", "elements": [{"elements": [{"type": "usergroup", "usergroup_id": "S"}]}]},
            ["usergroup"],
        ),
        ({"type": "rich_text", "elements": [{"elements": [{"type": "text", "text": "<!here> @here"}]}]}, []),
    ],
)
def test_blocks(block: dict[str, Any], found: list[str]) -> None:
    assert [m.kind for m in mentions_in_blocks([block], pointer="/blocks", names=NAMES)] == found


async def test_accepted_messages_are_recorded_on_every_road() -> None:
    """Posts, updates, ephemeral messages and response URLs; nothing for what Slack refused."""
    async with local_slack() as slack, bare_app(slack) as app:
        posted = await app.call("chat.postMessage", channel="C1", text="<!here>")
        await app.call("chat.update", channel="C1", ts=posted["ts"], text="<@UADA>")
        await app.call("chat.postEphemeral", channel="C1", user="UBEN", text="@ada", link_names=True)
        await slack.person("UADA").type("/clay", channel="C1")
        await app.post(app.payloads[-1]["response_url"], text="<!everyone>")
        await app.call("chat.postMessage", channel="C2", text="<!channel>")
        found = [(n.method, n.mention.kind) for n in slack.recorder.notifications]

    assert found == [
        ("chat.postMessage", "here"),
        ("chat.update", "user"),
        ("chat.postEphemeral", "user"),
        ("response_url", "everyone"),
    ]


async def test_hostile_text_in_rich_text_notifies_nobody() -> None:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": HOSTILE}]}
    blocks = [{"type": "rich_text", "elements": [section]}]
    async with local_slack() as slack, bare_app(slack) as app:
        await app.call("chat.postMessage", channel="C1", blocks=blocks)
        seen = slack.person("UBEN").messages("C1")[-1].plain_text
        quiet = list(slack.recorder.notifications)
        await app.call("chat.postMessage", channel="C1", text=HOSTILE)
        loud = [n.mention.kind for n in slack.recorder.notifications]

    assert seen == HOSTILE
    assert quiet == []
    assert loud == ["channel", "user", "usergroup"]
