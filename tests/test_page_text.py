"""The page's own modules in a real browser: mrkdwn, dates, links, rich text, inputs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page

from localslack import page_files
from localslack.page_guard import PageGuard
from tests.browser import browser, open_page

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

# 2026-03-03 09:12:05 UTC, a Tuesday.
TUESDAY = 1772529125

CONTEXT = """
const ctx = {
  teamUrl: "https://northwind.example/", me: "U1", zone: "Asia/Tokyo", now: () => 1772529125 + 86400,
  people: new Map([["U1", {id: "U1", label: "ada", realName: "Ada L"}], ["U2", {id: "U2", label: "mara"}]]),
  channels: new Map([["C1", {id: "C1", name: "general", kind: "public", members: ["U1"]}]]),
  emoji: {tada: "🎉", "100": "💯", woman_shrugging: "🤷"}, openPermalink: (link) => { window.opened = link; },
  openChannel: (id) => { window.channel = id; },
};
"""


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A tab on the page's own address and under its own headers, with nothing behind it."""
    server: TestServer
    guard = PageGuard(token="page-test-token", port=lambda: server.port or 0)
    app = web.Application()
    app.router.add_get("/", guard.wrap(page_files.serve_index, needs_token=False))
    app.router.add_get("/page/{path:.+}", guard.wrap(page_files.serve_file, needs_token=False))
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    async with open_page(browser) as tab:
        await tab.goto(str(server.make_url("/")))
        await tab.wait_for_selector(".gate")
        yield tab
    await server.close()


async def run(page: Page, script: str, argument: Any = None) -> Any:
    """Run a script with the page's modules as `load(name)` and the context as `ctx`."""
    body = f"async (argument) => {{ const load = (name) => import(`/page/js/${{name}}.js`); {CONTEXT} {script} }}"
    return await page.evaluate(body, argument)


async def draw_mrkdwn(page: Page, source: str, *, verbatim: bool = False) -> str:
    """Return the HTML that a mrkdwn source becomes."""
    script = """
      const { mrkdwn } = await load("inline");
      const box = document.createElement("div");
      box.append(...mrkdwn(argument.source, ctx, { verbatim: argument.verbatim }));
      document.body.replaceChildren(box);
      return box.innerHTML;
    """
    return str(await run(page, script, {"source": source, "verbatim": verbatim}))


async def test_page_without_stand_in_says_so(page: Page) -> None:
    assert "token" in (await page.inner_text(".gate"))


async def test_mrkdwn_styles(page: Page) -> None:
    """Styles stand at word edges only, nest, and never cross a line or a code span."""
    cases = {
        "*b* _i_ ~s~ `c`": '<strong>b</strong> <em>i</em> <s>s</s> <code class="code">c</code>',
        "snake_case_name 2*3*4 a~b~c": "snake_case_name 2*3*4 a~b~c",
        "*bold _both_*": "<strong>bold <em>both</em></strong>",
        "*a\nb*": "*a<br>b*",
        "* a *": "* a *",
        "`*a*`": '<code class="code">*a*</code>',
        "(*a*), *b*.": "(<strong>a</strong>), <strong>b</strong>.",
        "&lt;b&gt; &amp;amp;": "&lt;b&gt; &amp;amp;",
        "10:30:45 :tada: :unknown_one:": (
            '10:30:45 <span class="emoji" role="img" aria-label="tada" title=":tada:">🎉</span> :unknown_one:'
        ),
        "&gt; one\n&gt; two\nafter": "<blockquote>one<br>two</blockquote>after",
        "": "",
    }

    drawn = {source: await draw_mrkdwn(page, source) for source in cases}

    assert drawn == cases


async def test_mrkdwn_code_block_is_literal(page: Page) -> None:
    html = await draw_mrkdwn(page, "before\n```a *b* &lt;i&gt;\n<https://x.example|x>```\nafter")

    assert "<code>a *b* &lt;i&gt;\nx</code>" in html
    assert html.startswith("before<pre")
    assert html.endswith("</pre>after")


async def test_mentions_and_channels(page: Page) -> None:
    """A hidden channel is "private channel", a seen one leads there, the reader's own mention stands out."""
    html = await draw_mrkdwn(page, "<@U1> <@U2> <@U9|nine> <#C9> <#C1> <!here> <!subteam^S1|@oncall>")
    await page.click("text=#general")

    assert '<span class="mention mention-me">@ada</span>' in html
    assert ">@mara<" in html
    assert ">@nine<" in html
    assert ">private channel<" in html
    assert ">@here<" in html
    assert ">@oncall<" in html
    assert await page.evaluate("window.channel") == "C1"


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("{date_num}", "2026-03-03"),
        ("{date_short} {time}", "Mar 3, 2026 6:12 PM"),
        ("{date_long}", "Tuesday, March 3rd, 2026"),
        ("{date_pretty} at {time_secs}", "Yesterday at 6:12:05 PM"),
        ("on {date_short_pretty}", "on yesterday"),
        ("{ago}", "1 day ago"),
        ("{nonsense}", "{nonsense}"),
    ],
)
async def test_date_tokens_in_the_readers_zone(page: Page, pattern: str, shown: str) -> None:
    await draw_mrkdwn(page, f"<!date^{TUESDAY}^{pattern}|fallback>")

    assert await page.inner_text("time") == shown


async def test_impossible_date_shows_its_fallback(page: Page) -> None:
    html = await draw_mrkdwn(page, "<!date^99999999999999^{date}|some day>")

    assert "some day" in html


@pytest.mark.parametrize(
    "source", ["<javascript:alert(1)|x>", "<data:text/html,hi|x>", "<vbscript:x|x>", "<file:///etc|x>"]
)
async def test_only_web_and_mail_addresses_are_links(page: Page, source: str) -> None:
    html = await draw_mrkdwn(page, source)

    assert "<a" not in html
    assert ">x<" in html


async def test_web_links_open_apart(page: Page) -> None:
    html = await draw_mrkdwn(page, "<https://example.org/a?b=1&amp;c=2|*label*> <mailto:a@example.org>")

    assert 'href="https://example.org/a?b=1&amp;c=2"' in html
    assert html.count('rel="noopener noreferrer"') == 2
    assert "<strong>label</strong>" in html


async def test_permalink_opens_inside(page: Page) -> None:
    await draw_mrkdwn(
        page, "<https://northwind.example/archives/C1/p1772529125000100?thread_ts=1772529000.000200|there>"
    )
    await page.click("text=there")

    assert await page.evaluate("window.opened") == {
        "channel": "C1",
        "ts": "1772529125.000100",
        "threadTs": "1772529000.000200",
    }


async def test_bare_addresses_are_live_unless_verbatim(page: Page) -> None:
    source = "see https://example.org/x, @here"

    assert 'href="https://example.org/x"' in await draw_mrkdwn(page, source)
    assert await draw_mrkdwn(page, source, verbatim=True) == source


@pytest.mark.parametrize(
    "source",
    [
        "<script>window.hacked = 1</script>",
        '<img src=x onerror="window.hacked = 1">',
        "&lt;script&gt;window.hacked = 1&lt;/script&gt;",
        '<https://x.example/" onmouseover="window.hacked=1|x>',
        "<!date^1^{date}^javascript:window.hacked=1|x>",
        "```<svg onload=window.hacked=1>```",
        "<@U1|<img src=x onerror=window.hacked=1>>",
    ],
)
async def test_markup_in_messages_is_inert(page: Page, source: str) -> None:
    html = await draw_mrkdwn(page, source)
    made = await page.evaluate(
        "[...document.body.querySelectorAll('script, img, svg, [onerror], [onmouseover]')].length"
    )

    assert made == 0, html
    assert await page.evaluate("window.hacked") is None


async def test_long_hostile_text_is_quick(page: Page) -> None:
    """40,000 marks of one kind take no noticeable time."""
    script = """
      const { parseMrkdwn } = await load("mrkdwn");
      const start = performance.now();
      const marks = ["*", "_a ", "<", ":", "`", "*a ", "&gt;", "```"];
      for (const mark of marks) parseMrkdwn(mark.repeat(40000 / mark.length));
      return performance.now() - start;
    """

    assert await run(page, script) < 4000


async def test_rich_text_kinds(page: Page) -> None:
    """Every element of rich_text is drawn; text is literal, never parsed."""
    script = """
      const { richText } = await load("richtext");
      const node = richText({ elements: argument }, ctx);
      document.body.replaceChildren(node);
      return node.innerHTML;
    """
    html = await run(
        page,
        script,
        [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "text", "text": "<!channel> *x*\n"},
                    {"type": "text", "text": "b", "style": {"bold": True, "italic": True, "strike": True}},
                    {"type": "text", "text": "c", "style": {"code": True}},
                    {"type": "link", "url": "javascript:alert(1)", "text": "bad"},
                    {"type": "emoji", "name": "unknown", "unicode": "1f389"},
                    {"type": "emoji", "name": "woman-shrugging"},
                    {"type": "user", "user_id": "U2"},
                    {"type": "broadcast", "range": "channel"},
                    {"type": "date", "timestamp": TUESDAY, "format": "{date_num}", "fallback": "x"},
                ],
            },
            {
                "type": "rich_text_list",
                "style": "ordered",
                "indent": 1,
                "offset": 4,
                "elements": [{"elements": [{"type": "text", "text": "five"}]}],
            },
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "a\n  <b>"}]},
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "q"}]},
        ],
    )

    assert "&lt;!channel&gt; *x*<br>" in html
    assert "<strong><em><s>b</s></em></strong>" in html
    assert '<span class="dead-link" title="Not a web address, so not a link">bad</span>' in html
    assert "🎉" in html
    assert "🤷" in html
    assert "2026-03-03" in html
    assert '<ol class="rich-list indent-1" start="5"><li>five</li></ol>' in html
    assert "a\n  &lt;b&gt;" in html
    assert "<blockquote>q</blockquote>" in html


async def test_required_inputs_are_refused_before_the_app_hears(page: Page) -> None:
    script = """
      const { missingEntries } = await load("requirements");
      const { Values } = await load("values");
      const values = new Values();
      const input = (id, element, more) =>
        ({ type: "input", block_id: id, element: { action_id: "a", ...element }, ...more });
      values.set("short", "a", { type: "plain_text_input", value: "ab" });
      values.set("mail", "a", { type: "email_text_input", value: "nobody" });
      values.set("list", "a", { type: "checkboxes", selected_options: [] });
      values.set("good", "a", { type: "plain_text_input", value: "abc" });
      return missingEntries([
        input("none", {}), input("free", {}, { optional: true }), input("short", { min_length: 3 }),
        input("mail", {}), input("list", {}), input("good", { min_length: 3 }),
      ], values);
    """

    assert sorted(await run(page, script)) == ["list", "mail", "none", "short"]


async def test_commands_are_offered_while_typing(page: Page) -> None:
    script = """
      const { suggestCommands, usageHint } = await load("composer");
      const commands = [{ command: "/find", description: "Find", usage_hint: "[words]" }];
      const shortcuts = [{ name: "Find more", description: "", run: () => {} }];
      const titles = (text) => suggestCommands(text, commands, shortcuts).map((one) => one.title);
      const offered = ["/", "/fi", "/x", "find", "/find x"].map(titles);
      return [...offered, usageHint("/find x", commands), usageHint("x", commands)];
    """

    assert await run(page, script) == [
        ["/find [words]", "Find more"],
        ["/find [words]", "Find more"],
        [],
        [],
        [],
        "/find [words]",
        "",
    ]
