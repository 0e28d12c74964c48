"""Commands, clicks, modals and response URLs of the local Slack, as an app without an SDK sees them."""

from typing import Any

import pytest

from localslack.driver import NotVisibleError
from tests.localslack_factory import (
    BUTTONS,
    FORM,
    HandClock,
    bare_app,
    local_slack,
    manifest,
    modal,
    opened,
    typed,
)


async def test_command_payload_has_slacks_shape() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay from @ben in #general  & <b>")
        envelope = app.envelopes[-1]

    assert envelope["type"] == "slash_commands"
    assert envelope["accepts_response_payload"] is True
    assert payload["command"] == "/clay"
    assert payload["text"] == "from <@UBEN> in <#C1|general>  &amp; &lt;b&gt;"
    assert (payload["channel_id"], payload["channel_name"]) == ("C1", "general")
    assert (payload["team_id"], payload["user_id"]) == ("T1", "UADA")
    assert payload["is_enterprise_install"] == "false"
    assert payload["response_url"].startswith(slack.url + "/commands/")


async def test_command_name_ends_at_any_blank() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        texts = [(await typed(slack, app, line))["text"] for line in ("/clay", "/clay  ", "/clay\tred  clay ")]

    assert texts == ["", "", "red  clay"]


async def test_tokens_pass_when_they_name_something() -> None:
    """Links stand in brackets; a token for somebody passes, one typed by hand is text."""
    line = "/clay <@UBEN|ben> <#C1> <@UNOBODY> <!channel> https://a.b/?x&y c@ada"
    async with local_slack() as slack, bare_app(slack) as app:
        text = (await typed(slack, app, line))["text"]

    assert text == ("<@UBEN|ben> <#C1> &lt;@UNOBODY&gt; &lt;!channel&gt; <https://a.b/?x&amp;y> c@ada")


async def test_private_channel_names_are_not_told() -> None:
    """A private channel stands as an empty label, and only for those who see it."""
    async with local_slack() as slack, bare_app(slack) as app:
        of_ada = await typed(slack, app, "/clay in #secret")
        await slack.person("UGUEST").type("/clay in #secret", channel="C1")
        of_guest = app.payloads[-1]

    assert of_ada["text"] == "in <#G1|>"
    assert of_guest["text"] == "in #secret"


async def test_what_slack_answers_by_itself() -> None:
    """Unknown commands, threads, externals, archived channels: the app hears nothing."""
    async with local_slack() as slack, bare_app(slack) as app:
        ada, xenia = slack.person("UADA"), slack.person("UEXT")
        outcomes = [
            await ada.type("/glaze", channel="C1"),
            await ada.type("/clay", channel="C1", thread_ts="1700000000.000100"),
            await ada.type("/clay", channel="C3"),
            await xenia.type("/clay", channel="C4"),
        ]
        payloads = app.payloads

    codes = ["unknown_command", "command_in_thread", "not_allowed", "not_allowed"]
    assert [outcome.error for outcome in outcomes] == codes
    assert [error.code for error in ada.errors] == codes[:3]
    assert payloads == []


async def test_the_apps_own_conversation_may_be_closed_for_messages() -> None:
    """Without the Messages tab nobody can write to the app, not even a command."""
    async with local_slack() as slack, bare_app(slack) as app:
        channel = (await app.call("conversations.open", users="UADA"))["channel"]["id"]
        outcome = await slack.person("UADA").type("/clay", channel=channel)

    assert outcome.error == "not_allowed"


async def test_people_act_only_where_they_are() -> None:
    async with local_slack() as slack:
        with pytest.raises(NotVisibleError):
            await slack.person("UGUEST").type("/clay", channel="G1")
        with pytest.raises(NotVisibleError):
            slack.person("UGUEST").messages("C2")
        with pytest.raises(NotVisibleError):
            await slack.person("UADA").type("hello", channel="C2")
        with pytest.raises(NotVisibleError):
            slack.person("UGONE").messages("C1")
        assert [c.id for c in slack.person("UEXT").channels] == ["C4"]


async def test_ack_with_text_is_an_ephemeral_answer() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        app.answer = lambda _: {"text": "hello"}
        await typed(slack, app, "/clay")
        of_ada = slack.person("UADA").messages("C1")[-1]
        of_ben = slack.person("UBEN").messages("C1")[-1]

    assert (of_ada.plain_text, of_ada.is_ephemeral) == ("hello", True)
    assert of_ben.plain_text == "the kiln is hot"


async def test_in_channel_answer_shows_the_command_too() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay please")
        status, text = await app.post(payload["response_url"], text="for all", response_type="in_channel")
        seen = slack.person("UBEN").messages("C1")[-2:]

    assert (status, text) == (200, "ok")
    assert [(m.user_id, m.plain_text) for m in seen] == [("UADA", "/clay please"), ("UBOT", "for all")]


async def test_response_url_works_where_the_bot_is_no_member() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay", channel="D1")
        status, _ = await app.post(payload["response_url"], text="here too")
        seen = slack.person("UADA").messages("D1")

    assert payload["channel_name"] == "directmessage"
    assert status == 200
    assert [m.plain_text for m in seen] == ["here too"]


async def test_response_url_is_good_for_five_answers() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        answers = [await app.post(payload["response_url"], text=str(n)) for n in range(6)]

    assert [status for status, _ in answers] == [200] * 5 + [404]
    assert "used_url" in answers[-1][1]


async def test_response_url_expires_after_half_an_hour() -> None:
    clock = HandClock()
    async with local_slack(clock=clock) as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        clock.now += 30 * 60
        in_time, _ = await app.post(payload["response_url"], text="x")
        clock.now += 1
        late, body = await app.post(payload["response_url"], text="x")

    assert (in_time, late) == (200, 404)
    assert "expired_url" in body


async def test_typed_command_cannot_be_replaced() -> None:
    """replace_original on a command's response URL posts another message."""
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="one")
        await app.post(payload["response_url"], text="two", replace_original=True)
        seen = [m.plain_text for m in slack.person("UADA").messages("C1")]

    assert seen == ["the kiln is hot", "one", "two"]


async def test_click_carries_its_message_only_when_it_is_not_ephemeral() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="t", blocks=BUTTONS)
        await app.call("chat.postMessage", channel="C1", text="t", blocks=BUTTONS)
        ada = slack.person("UADA")
        ephemeral, public = ada.messages("C1")[-2:]
        await ada.click(ephemeral, text="Next")
        hidden = app.payloads[-1]
        await ada.choose(public, "Bake", action_id="more")
        shown = app.payloads[-1]

    action = hidden["actions"][0]
    assert (action["type"], action["action_id"], action["value"]) == ("button", "next", "v1")
    assert action["block_id"] == "row"
    assert hidden["container"]["is_ephemeral"] is True
    assert "message" not in hidden
    assert shown["message"]["ts"] == public.ts
    assert shown["actions"][0]["selected_option"]["value"] == "bake"
    assert shown["response_url"] != hidden["response_url"]


async def test_click_answer_replaces_or_deletes_the_message() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="t", blocks=BUTTONS)
        ada = slack.person("UADA")
        answer = ada.messages("C1")[-1]
        await ada.click(answer, action_id="next")
        address = app.payloads[-1]["response_url"]
        await app.post(address, text="page 2", replace_original=True, response_type="in_channel")
        page_two = ada.current_message(answer)
        await app.post(address, delete_original=True)
        left = [m.plain_text for m in ada.messages("C1")]

    assert (page_two.plain_text, page_two.is_ephemeral, page_two.is_edited) == ("page 2", True, True)
    assert left == ["the kiln is hot"]


async def test_others_cannot_press_buttons_that_they_do_not_see() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="t", blocks=BUTTONS)
        answer = slack.person("UADA").messages("C1")[-1]
        with pytest.raises(NotVisibleError):
            await slack.person("UBEN").click(answer, text="Next")
        with pytest.raises(NotVisibleError):
            await slack.person("UADA").click(answer, text="Previous")


async def test_bad_response_url_bodies() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        address = payload["response_url"]
        empty = await app.post(address)
        unknown = await app.post(address, text="x", colour="red")
        blocks = await app.post(address, blocks=[{"type": "nonsense"}])
        nowhere = await app.post(slack.url + "/commands/T/1/2", text="x")

    assert [status for status, _ in (empty, unknown, blocks, nowhere)] == [400, 400, 400, 404]
    assert "no_text" in empty[1]
    assert "invalid_blocks" in blocks[1]


async def test_trigger_ids_are_short_lived_and_single_use() -> None:
    clock = HandClock()
    async with local_slack(clock=clock) as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        clock.now += 3.1
        late = await app.call("views.open", trigger_id=payload["trigger_id"], view=modal("A"))
        payload = await typed(slack, app, "/clay")
        clock.now += 2.9
        good = await app.call("views.open", trigger_id=payload["trigger_id"], view=modal("A"))
        again = await app.call("views.open", trigger_id=payload["trigger_id"], view=modal("A"))
        wrong = await app.call("views.open", trigger_id="12.34.abc", view=modal("A"))

    assert good["ok"]
    assert [a["error"] for a in (late, again, wrong)] == [
        "expired_trigger_id",
        "exchanged_trigger_id",
        "invalid_trigger_id",
    ]


async def test_views_are_updated_by_hash() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        view = (await opened(slack, app, modal("A", external_id="one")))["view"]
        where = {"view_id": view["id"], "hash": view["hash"]}
        changed = await app.call("views.update", **where, view=modal("B"))
        stale = await app.call("views.update", **where, view=modal("C"))
        taken = await opened(slack, app, modal("D", external_id="two"))
        gone = await app.call("views.update", view_id=view["id"], view=modal("E"))

    assert changed["ok"]
    assert changed["view"]["hash"] != view["hash"]
    assert stale["error"] == "hash_conflict"
    assert taken["ok"]
    assert gone["error"] == "not_found"


async def test_external_ids_are_unique() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        await opened(slack, app, modal("A", external_id="one"))
        await slack.person("UBEN").type("/clay", channel="C1")
        trigger_id = app.payloads[-1]["trigger_id"]
        answer = await app.call("views.open", trigger_id=trigger_id, view=modal("B", external_id="one"))

    assert answer["error"] == "duplicate_external_id"


async def test_a_stack_holds_three_views() -> None:
    button = {"type": "button", "action_id": "up", "text": {"type": "plain_text", "text": "Up"}}
    blocks = [{"type": "actions", "elements": [button]}]
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, modal("1", blocks=blocks))
        answers = []
        for title in ("2", "3", "4"):
            await ada.click(ada.views[-1], text="Up")
            trigger_id = app.payloads[-1]["trigger_id"]
            answers.append(await app.call("views.push", trigger_id=trigger_id, view=modal(title, blocks=blocks)))
        titles = [view.title for view in ada.views]
        click = app.payloads[-1]

    assert [a.get("error") for a in answers] == [None, None, "push_limit_reached"]
    assert titles == ["1", "2", "3"]
    assert answers[1]["view"]["previous_view_id"] == answers[0]["view"]["id"]
    assert "response_url" not in click
    assert "channel" not in click


async def test_submission_carries_what_was_entered() -> None:
    """Empty optional inputs have null or an empty list; the empty ack closes the view."""
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, FORM)
        outcome = await ada.fill(ada.views[-1], {"what": "blue glaze", "how/mode": "Slow"}).submit()
        values = app.payloads[-1]["view"]["state"]["values"]

    assert outcome.acked
    assert values["what"]["text"] == {"type": "plain_text_input", "value": "blue glaze"}
    assert values["where"]["channels"] == {"type": "multi_channels_select", "selected_channels": []}
    assert values["how"]["mode"]["selected_option"]["value"] == "slow"
    assert ada.views == ()


async def test_required_fields_are_refused_without_asking_the_app() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, FORM)
        empty = await ada.fill(ada.views[-1], {}).submit()
        errors = dict(ada.views[-1].errors)
        long = await ada.fill(ada.views[-1], {"what": "x" * 21}).submit()
        count = len(app.payloads)

    assert (empty.error, long.error) == ("invalid_input", "invalid_input")
    assert list(errors) == ["what"]
    assert count == 1


@pytest.mark.parametrize(
    ("answer", "titles"),
    [
        ({"response_action": "errors", "errors": {"what": "No."}}, ["Form"]),
        ({"response_action": "update", "view": modal("Done")}, ["Done"]),
        ({"response_action": "push", "view": modal("Over")}, ["Form", "Over"]),
        ({"response_action": "clear"}, []),
    ],
)
async def test_response_actions(answer: dict[str, Any], titles: list[str]) -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, FORM)
        app.answer = lambda envelope: answer if envelope["payload"]["type"] == "view_submission" else {}
        outcome = await ada.fill(ada.views[-1], {"what": "x"}).submit()
        shown = [view.title for view in ada.views]
        errors = [dict(view.errors) for view in ada.views]

    assert outcome.acked
    assert shown == titles
    assert errors[:1] in ([], [{}], [answer.get("errors")])


async def test_errors_for_blocks_that_are_no_inputs_are_refused() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, FORM)
        app.answer = lambda _: {"response_action": "errors", "errors": {"text": "keyed by action"}}
        outcome = await ada.fill(ada.views[-1], {"what": "x"}).submit()

    assert outcome.error == "view_failed"


async def test_closing_is_told_only_where_asked_for() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await opened(slack, app, modal("quiet"))
        await ada.close(ada.views[-1])
        await opened(slack, app, FORM)
        await ada.close(ada.views[-1])
        kinds = [payload.get("type", "command") for payload in app.payloads]
        last = app.payloads[-1]

    assert kinds == ["command", "command", "view_closed"]
    assert last["is_cleared"] is False


async def test_entries_survive_an_update_with_the_same_ids() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        view = (await opened(slack, app, FORM))["view"]
        await ada.fill(ada.views[-1], {"what": "kept"}).enter()
        await app.call("views.update", view_id=view["id"], view={**FORM, "blocks": FORM["blocks"][:1]})
        values = ada.views[-1].values

    assert values == {"what": {"text": {"type": "plain_text_input", "value": "kept"}}}


async def test_message_shortcut_carries_the_message() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        outcome = await ada.shortcut("fire", message=ada.messages("C1")[0])
        payload = app.payloads[-1]
        undeclared = await ada.shortcut("freeze", message=ada.messages("C1")[0])

    assert outcome.acked
    assert (payload["type"], payload["callback_id"]) == ("message_action", "fire")
    assert payload["message"]["text"] == "the kiln is hot"
    assert payload["message_ts"] == "1700000000.000100"
    assert payload["channel"] == {"id": "C1", "name": "general"}
    assert undeclared.error == "not_allowed"


async def test_shortcuts_are_not_for_everybody() -> None:
    """None on ephemeral messages, none for external members; global ones not for guests."""
    async with local_slack() as slack, bare_app(slack) as app:
        payload = await typed(slack, app, "/clay")
        await app.post(payload["response_url"], text="mine")
        ada = slack.person("UADA")
        on_ephemeral = await ada.shortcut("fire", message=ada.messages("C1")[-1])
        of_guest = await slack.person("UGUEST").global_shortcut("ask")
        of_external = await slack.person("UEXT").global_shortcut("ask")
        of_ada = await ada.global_shortcut("ask")
        payload = app.payloads[-1]

    assert [o.error for o in (on_ephemeral, of_guest, of_external)] == ["not_allowed"] * 3
    assert of_ada.acked
    assert not {"channel", "message", "response_url"} & set(payload)


async def test_home_is_published_and_clicked_without_channel() -> None:
    view = {"type": "home", "blocks": BUTTONS}
    async with local_slack() as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        await ada.open_home()
        await slack.events.settled()
        event = app.payloads[-1]["event"]
        first = await app.call("views.publish", user_id="UADA", view=view)
        stale = await app.call("views.publish", user_id="UADA", view=view, hash="1.2")
        assert ada.home is not None
        await ada.click(ada.home, text="Next")
        click = app.payloads[-1]

    assert (event["type"], event["tab"], event["user"]) == ("app_home_opened", "home", "UADA")
    assert first["ok"]
    assert stale["error"] == "hash_conflict"
    assert click["view"]["type"] == "home"
    assert not {"channel", "response_url"} & set(click)


async def test_undeclared_features_are_not_there() -> None:
    """Without the Home tab, or without interactivity, Slack sends nothing."""
    bare = manifest(settings={"interactivity": {"is_enabled": False}})
    bare["features"]["app_home"] = {"home_tab_enabled": False}
    async with local_slack(manifest=bare) as slack, bare_app(slack) as app:
        ada = slack.person("UADA")
        home = await ada.open_home()
        shortcut = await ada.global_shortcut("ask")
        published = await app.call("views.publish", user_id="UADA", view={"type": "home", "blocks": []})

    assert (home.error, shortcut.error) == ("not_allowed", "not_allowed")
    assert published["error"] == "not_enabled"
