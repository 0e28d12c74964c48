"""The local Slack as a whole: starting, stopping, the live feed, faults of answers, what people read."""

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from localslack.changes import Change
from localslack.driver import NotVisibleError
from localslack.server import LocalSlack
from localslack.workspace import Channel
from tests.localslack_factory import FORM, HandClock, bare_app, local_slack, opened, typed


async def test_it_listens_on_loopback_and_stops_twice() -> None:
    slack = local_slack()
    await slack.start()
    taken = local_slack(port=slack.port)
    with pytest.raises(OSError, match="address already in use"):
        await taken.start()
    await taken.stop()
    await slack.stop()
    await slack.stop()
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(slack.api_url + "api.test")

    assert slack.url == f"http://127.0.0.1:{slack.port}"


async def test_stopping_does_not_wait_for_connections() -> None:
    slack = local_slack()
    await slack.start()
    async with bare_app(slack):
        started = time.monotonic()
        await slack.stop()

    assert time.monotonic() - started < 2


async def test_routes_can_be_added() -> None:
    """The page is such an extension."""

    async def hello(_: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(text="hello")

    def extend(app: aiohttp.web.Application, slack: LocalSlack) -> None:
        app.router.add_get("/", hello)

    async with (
        local_slack(extend=[extend]) as slack,
        aiohttp.ClientSession() as http,
        http.get(slack.url) as response,
    ):
        assert await response.text() == "hello"


async def test_tokens_are_random_and_distinct() -> None:
    one, two = local_slack(), local_slack()

    assert len({one.bot_token, one.app_token, one.page_token, two.bot_token}) == 4
    assert one.bot_token.startswith("xoxb-test-")
    assert one.app_token.startswith("xapp-test-")


async def test_unknown_people_and_faults_are_refused() -> None:
    slack = local_slack()

    with pytest.raises(KeyError, match="UNOBODY"):
        slack.person("UNOBODY")
    with pytest.raises(ValueError, match="no such fault: earthquake"):
        slack.fault("earthquake")  # type: ignore[arg-type]
    assert slack.person("UADA") is slack.person("UADA")


async def _listen(slack: LocalSlack, user_id: str, heard: list[Change]) -> None:
    async for change in slack.changes(user_id):
        heard += [change]


async def test_each_person_hears_of_what_that_person_sees() -> None:
    """An ephemeral answer is heard by one, a post by all who see the channel, a private change by members."""
    async with local_slack() as slack, bare_app(slack) as app:
        heard: dict[str, list[Change]] = {"UADA": [], "UBEN": [], "UGUEST": []}
        tasks = [asyncio.create_task(_listen(slack, user, changes)) for user, changes in heard.items()]
        await asyncio.sleep(0)
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="mine")
        await app.call("chat.postMessage", channel="C1", text="ours")
        slack.rename("G2", "kilns")
        await slack.person("UADA").type("/nothing", channel="C1")
        await slack.person("UADA").reload()
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    kinds = {user: [change.kind for change in changes] for user, changes in heard.items()}
    assert kinds == {
        "UADA": ["ephemeral", "message", "channel", "error", "reload"],
        "UBEN": ["message"],
        "UGUEST": ["message"],
    }
    assert heard["UBEN"][0].channel_id == "C1"


async def test_nothing_is_missed_between_asking_and_listening() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        changes = slack.changes("UBEN")
        await app.call("chat.postMessage", channel="C1", text="ours")
        first = await asyncio.wait_for(anext(changes), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(changes), 0.01)
        await app.call("chat.postMessage", channel="C1", text="more")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(changes), 0.01)

    assert first.kind == "message"


async def test_views_are_heard_of() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        heard: list[Change] = []
        task = asyncio.create_task(_listen(slack, "UADA", heard))
        await asyncio.sleep(0)
        await opened(slack, app, FORM)
        await slack.person("UADA").close_all()
        await app.call("views.publish", user_id="UADA", view={"type": "home", "blocks": []})
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert [change.kind for change in heard] == ["view", "view", "home"]


async def test_slow_answers_and_dead_response_urls() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        slack.fault("slow", method="auth.test", seconds=0.3)
        started = time.monotonic()
        answer = await app.call("auth.test")
        took = time.monotonic() - started
        payload = await typed(slack, app, "/clay")
        slack.fault("response_url_404")
        slack.fault("slow", method="response_url", seconds=0.05)
        dead = await app.post(payload["response_url"], text="x")
        alive = await app.post(payload["response_url"], text="x")
        slack.fault("error", method="users.info", error="fatal_error")
        failed = await app.call("users.info", user="UADA")

    assert answer["ok"]
    assert took >= 0.3
    assert (dead[0], alive[0]) == (404, 200)
    assert failed["error"] == "fatal_error"


async def test_a_fault_for_every_method_spares_response_urls() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        slack.fault("status_500", times=-1)
        alive = await app.post(payload["response_url"], text="x")
        slack.faults.clear()
        answer = await app.call("auth.test")

    assert alive[0] == 200
    assert answer["ok"]


async def test_posts_are_limited_to_one_a_second_and_channel() -> None:
    clock = HandClock()
    async with local_slack(rate_limits=True, clock=clock) as slack, bare_app(slack, connected=False) as app:
        posts = [await app.call("chat.postMessage", channel=channel, text="x") for channel in ("C1", "C1", "G2")]
        clock.now += 1
        later = await app.call("chat.postMessage", channel="C1", text="x")

    assert [post.get("error") for post in posts] == [None, "ratelimited", None]
    assert later["ok"]


async def test_timestamps_are_unique_while_the_clock_stands_still() -> None:
    async with local_slack(clock=HandClock()) as slack, bare_app(slack, connected=False) as app:
        stamps = [(await app.call("chat.postMessage", channel="C1", text="x"))["ts"] for _ in range(3)]

    assert stamps == ["1790000000.000000", "1790000000.000001", "1790000000.000002"]


async def test_views_over_250_kilobytes() -> None:
    text = {"type": "plain_text", "text": "x" * 3000}
    big = {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Big"},
        "blocks": [{"type": "section", "text": text}] * 90,
    }
    async with local_slack() as slack, bare_app(slack) as app:
        answer = await opened(slack, app, big)
        fits = await opened(slack, app, {**big, "blocks": big["blocks"][:70]})

    assert answer["error"] == "view_too_large"
    assert fits["ok"]


async def test_what_people_read() -> None:
    """Names for mentions, labels for links, decoded entities; labels of controls are apart."""
    rich: dict[str, Any] = {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [{"type": "text", "text": "one "}, {"type": "emoji", "name": "fire"}],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "user", "user_id": "UBEN"},
                            {"type": "link", "url": "https://a.b", "text": " there"},
                            {"type": "date", "timestamp": 1, "format": "{date}", "fallback": " then"},
                        ],
                    },
                ],
            }
        ],
    }
    button = {"type": "button", "text": {"type": "plain_text", "text": "Press"}}
    blocks = [
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "&lt;a&gt; <@UADA> <#C1> <https://a.b|c> <!date^1^{date}|d>"},
        },
        rich,
        {"type": "context", "elements": [{"type": "plain_text", "text": "x"}, {"type": "mrkdwn", "text": "y"}]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "1"}, {"type": "raw_text", "text": "2"}]]},
        {"type": "actions", "elements": [button]},
    ]
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        posted = await app.call("chat.postMessage", channel="C1", blocks=blocks)
        seen = slack.person("UBEN").messages("C1")[-1]

    assert posted["ok"]
    assert seen.plain_text.splitlines() == [
        "<a> @Ada Berg #general c d",
        "one :fire:",
        "@Ben the potter there then",
        "x y",
        "1 | 2",
    ]
    assert seen.button_texts() == ["Press"]


async def test_forms_find_inputs_by_name_and_dispatch_what_dispatches() -> None:
    """An input with dispatch_action tells the app at once; a name that fits two inputs is refused."""
    asking = {**FORM["blocks"][0], "dispatch_action": True}
    chosen = {
        "type": "actions",
        "block_id": "more",
        "elements": [
            {"type": "users_select", "action_id": "who"},
            {"type": "multi_users_select", "action_id": "all"},
        ],
    }
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, {**FORM, "blocks": [asking, chosen]})
        with pytest.raises(NotVisibleError, match="2 inputs are called 'more'"):
            await ada.fill(ada.views[-1], {"more": "UBEN"}).submit()
        await ada.fill(ada.views[-1], {"text": "red", "who": "UBEN", "more/all": ["UADA", "UBEN"]}).submit()
        actions = [p["actions"][0] for p in app.payloads if p.get("type") == "block_actions"]
        values = app.payloads[-1]["view"]["state"]["values"]

    assert [(a["action_id"], a["type"]) for a in actions] == [
        ("text", "plain_text_input"),
        ("who", "users_select"),
        ("all", "multi_users_select"),
    ]
    assert actions[1]["selected_user"] == "UBEN"
    assert values["more"]["all"]["selected_users"] == ["UADA", "UBEN"]


async def test_conversation_menus_can_mint_response_urls() -> None:
    menu = {"type": "conversations_select", "action_id": "to", "response_url_enabled": True}
    block = {"type": "input", "block_id": "b", "label": {"type": "plain_text", "text": "To"}, "element": menu}
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, {**FORM, "blocks": [block]})
        await ada.fill(ada.views[-1], {"to": "C2"}).submit()
        url = app.payloads[-1]["response_urls"][0]
        status, _ = await app.post(url["response_url"], text="hi", response_type="in_channel")
        seen = slack.person("UBEN").messages("C2")

    assert (url["channel_id"], url["block_id"], url["action_id"]) == ("C2", "b", "to")
    assert status == 200
    assert [m.plain_text for m in seen] == ["hi"]


async def test_external_members_press_buttons_in_their_own_name() -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    async with local_slack() as slack, bare_app(slack) as app:
        blocks = [{"type": "actions", "elements": [button]}]
        await app.call("chat.postMessage", channel="C4", text="x", blocks=blocks)
        xenia = slack.person("UEXT")
        outcome = await xenia.click(xenia.messages("C4")[-1], text="Go")
        payload = app.payloads[-1]

    assert outcome.acked
    assert (payload["user"]["team_id"], payload["team"]["id"]) == ("T2", "T2")


async def test_link_buttons_open_and_are_told() -> None:
    link = {
        "type": "button",
        "action_id": "open",
        "url": "https://kiln.example/x",
        "text": {"type": "plain_text", "text": "Open"},
    }
    async with local_slack(ack_seconds=0.05) as slack, bare_app(slack) as app:
        await app.call("chat.postMessage", channel="C1", text="x", blocks=[{"type": "actions", "elements": [link]}])
        app.answer = lambda _: None
        ada = slack.person("UADA")
        outcome = await ada.click(ada.messages("C1")[-1], text="Open")

    assert ada.opened_urls == ["https://kiln.example/x"]
    assert app.payloads[-1]["actions"][0]["url"] == "https://kiln.example/x"
    assert outcome.error == "operation_timeout"


async def test_new_channels_are_there_at_once() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        slack.create_channel(Channel(id="C7", name="wheel", members=("UADA",)))
        await slack.events.settled()
        event = app.payloads[-1]["event"]
        names = [channel.name for channel in slack.person("UBEN").channels]

    assert (event["type"], event["channel"]["name"]) == ("channel_created", "wheel")
    assert "wheel" in names
