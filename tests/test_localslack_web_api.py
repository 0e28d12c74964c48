"""The Web API of the local Slack: tokens, scopes, arguments, visibility, pages, posting."""

import json
from typing import Any

import aiohttp
import pytest

from localslack.server import LocalSlack
from localslack.workspace import Workspace
from tests.localslack_factory import BareApp, HandClock, bare_app, description, local_slack, manifest


async def test_tokens_are_told_apart() -> None:
    """No token, an unknown one and one of the wrong type have three different errors."""
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        async with app.http.post(slack.api_url + "auth.test") as response:
            nobody = await response.json()
        stranger = await app.call("auth.test", token="xoxb-test-unknown")
        app_level = await app.call("auth.test", token=slack.app_token)
        bot_level = await app.call("apps.connections.open")

    assert nobody["error"] == "not_authed"
    assert stranger["error"] == "invalid_auth"
    assert app_level["error"] == "not_allowed_token_type"
    assert bot_level["error"] == "not_allowed_token_type"


async def test_app_token_as_an_argument_is_refused() -> None:
    """apps.connections.open takes its token in the header only."""
    async with local_slack() as slack, aiohttp.ClientSession() as http:
        form = {"token": slack.app_token}
        async with http.post(slack.api_url + "apps.connections.open", data=form) as response:
            body = await response.json()

    assert body == {"ok": False, "error": "not_authed"}


async def test_tokens_in_queries_and_json_bodies_do_not_count() -> None:
    """A form may carry the token, a query or a JSON body may not."""
    async with local_slack() as slack, aiohttp.ClientSession() as http:
        token = {"token": slack.bot_token}
        errors = []
        for request in (
            http.get(slack.api_url + "auth.test", params=token),
            http.post(slack.api_url + "auth.test", json=token),
            http.post(slack.api_url + "auth.test", data=token),
        ):
            async with request as response:
                errors.append((await response.json()).get("error"))

    assert errors == ["not_authed", "not_authed", None]


async def test_missing_scope_names_needed_and_provided() -> None:
    """The manifest's scopes decide, for conversations by the types asked for."""
    few = manifest(scopes=["channels:read", "commands"], events=[])
    async with local_slack(manifest=few) as slack, bare_app(slack, connected=False) as app:
        post = await app.call("chat.postMessage", channel="C1", text="x")
        listed = await app.call("conversations.list", types="public_channel,private_channel,im")
        fine = await app.call("conversations.list")

    assert (post["error"], post["needed"]) == ("missing_scope", "chat:write")
    assert post["provided"] == "channels:read,commands"
    assert (listed["error"], listed["needed"]) == ("missing_scope", "groups:read,im:read")
    assert fine["ok"]


async def test_get_form_multipart_and_json_say_the_same() -> None:
    """Arguments may come on four roads."""
    async with local_slack() as slack, aiohttp.ClientSession() as http:
        address = slack.api_url + "users.info"
        http.headers["Authorization"] = f"Bearer {slack.bot_token}"
        multipart = aiohttp.FormData({"user": "UADA"}, default_to_multipart=True)
        answers = []
        for request in (
            http.get(address, params={"user": "UADA"}),
            http.post(address, data={"user": "UADA"}),
            http.post(address, data=multipart),
            http.post(address, json={"user": "UADA"}),
        ):
            async with request as response:
                answers.append((await response.json())["user"]["name"])

    assert answers == ["ada"] * 4


@pytest.mark.parametrize(
    ("body", "error"), [("{", "invalid_json"), ("[1]", "json_not_object"), ('"x"', "json_not_object")]
)
async def test_bad_json_bodies(body: str, error: str) -> None:
    async with local_slack() as slack, aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {slack.bot_token}", "Content-Type": "application/json"}
        async with http.post(slack.api_url + "auth.test", data=body, headers=headers) as response:
            answer = await response.json()

    assert answer["error"] == error


async def test_unknown_method() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        answer = await app.call("search.messages", query="x")

    assert answer == {"ok": False, "error": "unknown_method", "req_method": "search.messages"}


async def test_auth_test_and_team_info_describe_the_workspace() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        who = await app.call("auth.test")
        team = await app.call("team.info")
        echo = await app.call("api.test", foo="bar")

    assert (who["team_id"], who["user_id"], who["user"]) == ("T1", "UBOT", "potter")
    assert team["team"]["domain"] == "kiln"
    assert echo["args"] == {"foo": "bar"}


async def test_lists_hide_private_channels_without_the_bot() -> None:
    """conversations.list tells public channels and those the bot is in; info knows no others."""
    every = "public_channel,private_channel,mpim,im"
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        listed = await app.call("conversations.list", types=every)
        hidden = await app.call("conversations.info", channel="G1")
        hidden_members = await app.call("conversations.members", channel="G1")
        unarchived = await app.call("conversations.list", types=every, exclude_archived=True)

    assert [c["id"] for c in listed["channels"]] == ["C1", "C2", "G2", "C3", "C4"]
    assert hidden["error"] == hidden_members["error"] == "channel_not_found"
    assert "C3" not in [c["id"] for c in unarchived["channels"]]


async def test_users_conversations_tells_private_ones_only_where_the_bot_is() -> None:
    """Ada is in a private channel and a DM that the bot shares not; neither is told."""
    every = "public_channel,private_channel,mpim,im"
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        of_ada = await app.call("users.conversations", user="UADA", types=every)
        of_ben = await app.call("users.conversations", user="UBEN", types=every)
        public_only = await app.call("users.conversations", user="UADA")
        unknown = await app.call("users.conversations", user="UNOBODY")

    assert [c["id"] for c in of_ada["channels"]] == ["C1", "G2", "C3", "C4"]
    assert [c["id"] for c in of_ben["channels"]] == ["C1", "C2"]
    assert [c["id"] for c in public_only["channels"]] == ["C1", "C3", "C4"]
    assert "is_member" not in of_ada["channels"][0]
    assert unknown["error"] == "user_not_found"


async def test_pages_follow_cursors_to_the_end() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        seen, cursor = [], ""
        for _ in range(9):
            page = await app.call("conversations.members", channel="C1", limit=3, cursor=cursor)
            seen.append(page["members"])
            cursor = page["response_metadata"]["next_cursor"]
            if not cursor:
                break

    assert seen == [["UADA", "UBEN", "UGUEST"], ["UBOT"]]


async def test_bad_cursors_and_limits() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        errors = [
            (await app.call("users.list", cursor="bm90IG91cnM="))["error"],
            (await app.call("conversations.list", limit=1000))["error"],
            (await app.call("conversations.list", limit="many"))["error"],
            (await app.call("conversations.list", types="everything"))["error"],
        ]

    assert errors == ["invalid_cursor", "invalid_limit", "invalid_limit", "invalid_types"]


async def test_server_may_answer_with_smaller_pages() -> None:
    """A page may hold fewer items than asked for before the end."""
    async with local_slack(page_items=2) as slack, bare_app(slack, connected=False) as app:
        page = await app.call("conversations.list", limit=200)

    assert len(page["channels"]) == 2
    assert page["response_metadata"]["next_cursor"]


async def test_users_info_shows_guests_strangers_and_former_members() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        users = {u: (await app.call("users.info", user=u))["user"] for u in ("UADA", "UGUEST", "UEXT", "UGONE")}
        slack.leave("C4", "UEXT")
        alone = (await app.call("users.info", user="UEXT"))["user"]

    assert users["UADA"]["tz"] == "Europe/Berlin"
    assert users["UADA"]["is_admin"]
    assert users["UGUEST"]["is_restricted"]
    assert not users["UGUEST"]["is_ultra_restricted"]
    assert (users["UEXT"]["team_id"], users["UEXT"]["is_stranger"]) == ("T2", False)
    assert alone["is_stranger"]
    assert users["UGONE"]["deleted"]
    assert "tz" not in users["UGONE"]


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C2", "not_in_channel"), ("G1", "channel_not_found"), ("C3", "is_archived"), ("C99", "channel_not_found")],
)
async def test_posting_where_the_bot_may_not(channel: str, error: str) -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        answer = await app.call("chat.postMessage", channel=channel, text="hello")

    assert answer["error"] == error


async def test_ephemeral_needs_a_member_and_is_seen_by_that_one_only() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        stranger = await app.call("chat.postEphemeral", channel="C4", user="UBEN", text="psst")
        shown = await app.call("chat.postEphemeral", channel="C1", user="UBEN", text="psst")
        update = await app.call("chat.update", channel="C1", ts=shown["message_ts"], text="loud")
        ben, ada = slack.person("UBEN"), slack.person("UADA")
        before = [m.plain_text for m in ben.messages("C1")]
        of_ada = [m.plain_text for m in ada.messages("C1")]
        await ben.reload()
        after = [m.plain_text for m in ben.messages("C1")]

    assert stranger["error"] == "user_not_in_channel"
    assert update["error"] == "message_not_found"
    assert before == ["the kiln is hot", "psst"]
    assert of_ada == after == ["the kiln is hot"]


async def test_ephemeral_text_is_measured_in_bytes() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        where = {"channel": "C1", "user": "UBEN"}
        fits = await app.call("chat.postEphemeral", **where, text="é" * 2000)
        long = await app.call("chat.postEphemeral", **where, text="é" * 2001)

    assert fits["ok"]
    assert long["error"] == "msg_too_long"


async def test_own_messages_can_be_changed_and_deleted_and_linked() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        posted = await app.call("chat.postMessage", channel="C1", text="one")
        where = {"channel": "C1", "ts": posted["ts"]}
        changed = await app.call("chat.update", **where, text="two")
        link = await app.call("chat.getPermalink", channel="C1", message_ts=posted["ts"])
        others = await app.call("chat.update", channel="C1", ts="1700000000.000100", text="mine")
        texts = [m.plain_text for m in slack.person("UADA").messages("C1")]
        await app.call("chat.delete", **where)
        left = [m.plain_text for m in slack.person("UADA").messages("C1")]

    assert changed["message"]["edited"]["user"] == "UBOT"
    assert link["permalink"] == f"https://kiln.example/archives/C1/p{posted['ts'].replace('.', '')}"
    assert others["error"] == "cant_update_message"
    assert texts == ["the kiln is hot", "two"]
    assert left == ["the kiln is hot"]


async def test_history_and_replies() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        reply = await app.call("chat.postMessage", channel="C1", text="yes", thread_ts="1700000000.000100")
        history = await app.call("conversations.history", channel="C1")
        replies = await app.call("conversations.replies", channel="C1", ts="1700000000.000100")
        outside = await app.call("conversations.history", channel="C2")

    assert [m["text"] for m in history["messages"]] == ["the kiln is hot"]
    assert [m["ts"] for m in replies["messages"]] == ["1700000000.000100", reply["ts"]]
    assert outside["error"] == "not_in_channel"


async def test_dm_is_opened_for_a_user_named_as_channel() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        opened = await app.call("conversations.open", users="UBEN")
        posted = await app.call("chat.postMessage", channel="UBEN", text="hi")
        seen = slack.person("UBEN").messages(posted["channel"])

    assert posted["channel"] == opened["channel"]["id"]
    assert [m.plain_text for m in seen] == ["hi"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "no_text"),
        ({"blocks": "[{"}, "invalid_blocks_format"),
        ({"blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"text": "a", "markdown_text": "b"}, "markdown_text_conflict"),
        ({"text": "a" * 40_001}, "msg_too_long"),
        (
            {"blocks": [{"type": "section", "text": {"type": "plain_text", "text": "a" * 2500}}] * 5},
            "msg_blocks_too_long",
        ),
    ],
)
async def test_unacceptable_content(arguments: dict[str, Any], error: str) -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        answer = await app.call("chat.postMessage", channel="C1", **arguments)
        rejected = slack.recorder.rejected

    assert answer["error"] == error
    assert len(rejected) == 1


async def test_block_problems_say_where() -> None:
    blocks = [{"type": "divider"}, {"type": "actions", "elements": []}]
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        answer = await app.call("chat.postMessage", channel="C1", blocks=json.dumps(blocks))

    assert answer["response_metadata"]["messages"] == [
        "[ERROR] no fewer than 1 items allowed [json-pointer:/blocks/1/elements]"
    ]


async def test_payloads_are_written_as_json_lines(tmp_path: Any) -> None:
    lines = tmp_path / "payloads.jsonl"
    async with local_slack(record_to=lines) as slack, bare_app(slack, connected=False) as app:
        await app.call("chat.postMessage", channel="C1", text="hello")
        await app.call("views.publish", user_id="UADA", view={"type": "home", "blocks": []})

    kept = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(line["surface"], line["method"], line["problems"]) for line in kept] == [
        ("message", "chat.postMessage", []),
        ("home", "views.publish", []),
    ]


async def _status(app: BareApp, method: str) -> tuple[int, str, str | None]:
    headers = {"Authorization": f"Bearer {app.slack.bot_token}"}
    async with app.http.post(app.slack.api_url + method, headers=headers) as response:
        return response.status, await response.text(), response.headers.get("Retry-After")


async def test_http_faults_on_demand() -> None:
    """Each ordered fault strikes once, at its method only."""
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        slack.fault("rate_limited", method="auth.test", retry_after=7)
        slack.fault("status_500", method="team.info")
        slack.fault("status_503", method="api.test")
        slack.fault("malformed_json", method="users.list")
        limited = await _status(app, "auth.test")
        after = await _status(app, "auth.test")
        broken = await _status(app, "team.info")
        unavailable = await _status(app, "api.test")
        half = await _status(app, "users.list")
        slack.fault("drop")
        with pytest.raises(aiohttp.ClientError):
            await _status(app, "auth.test")

    assert (limited[0], limited[2]) == (429, "7")
    assert after[0] == 200
    assert (broken[0], unavailable[0], half[0]) == (500, 503, 200)
    with pytest.raises(json.JSONDecodeError):
        json.loads(half[1])


async def test_tiers_are_enforced_when_asked_for() -> None:
    """conversations.list is tier 2: the 21st call within a minute is refused, other methods are not."""
    clock = HandClock()
    async with local_slack(rate_limits=True, clock=clock) as slack, bare_app(slack, connected=False) as app:
        statuses = [(await _status(app, "conversations.list"))[0] for _ in range(20)]
        refused = await _status(app, "conversations.list")
        other = await _status(app, "team.info")
        clock.now += 60
        later = await _status(app, "conversations.list")

    assert set(statuses) == {200}
    assert (refused[0], refused[2]) == (429, "60")
    assert (other[0], later[0]) == (200, 200)


async def test_a_deleted_message_has_no_address() -> None:
    """Messages that stand only in an archive have one too, until they are deleted."""
    older = {"C1": {"1600000000.000100": "", "1600000060.000100": "1600000000.000100"}}
    async with (
        LocalSlack(Workspace.from_json(description() | {"older": older}), manifest()) as slack,
        bare_app(slack, connected=False) as app,
    ):

        async def address(ts: str) -> str:
            answer = await app.call("chat.getPermalink", channel="C1", message_ts=ts)
            return str(answer.get("permalink") or answer["error"])

        before = [await address(ts) for ts in ("1600000000.000100", "1600000060.000100", "1700000000.000100")]
        for ts in ("1600000060.000100", "1700000000.000100"):
            slack.delete_message("C1", ts)
        after = [await address(ts) for ts in ("1600000060.000100", "1700000000.000100", "1600000000.000200")]

    assert before == [
        "https://kiln.example/archives/C1/p1600000000000100",
        "https://kiln.example/archives/C1/p1600000060000100?thread_ts=1600000000.000100&cid=C1",
        "https://kiln.example/archives/C1/p1700000000000100",
    ]
    assert after == ["message_not_found"] * 3


async def test_a_read_only_channel_says_so() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        slack.make_read_only("C1")
        told = await app.call("conversations.info", channel="C1")
        written = await slack.person("UBEN").type("hello", channel="C1")

    assert told["channel"]["is_read_only"] is True
    assert written.error == "not_allowed"
