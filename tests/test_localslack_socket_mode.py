"""Socket Mode of the local Slack: tickets, hello, deadlines, acks, retries, refresh and cut lines."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.localslack_factory import BareApp, bare_app, local_slack, manifest


async def test_a_ticket_admits_once() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        opened = await app.call("apps.connections.open", token=slack.app_token)
        socket = await app.http.ws_connect(opened["url"])
        hello = json.loads((await socket.receive()).data)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await app.http.ws_connect(opened["url"])
        await socket.close()

    assert opened["url"].startswith(f"ws://127.0.0.1:{slack.port}/link/?ticket=")
    assert hello["type"] == "hello"
    assert hello["num_connections"] == 1
    assert hello["connection_info"] == {"app_id": "A0LOCALTEST"}
    assert hello["debug_info"]["approximate_connection_time"] > 0


async def test_socket_mode_must_be_declared() -> None:
    off = manifest(settings={"socket_mode_enabled": False})
    async with local_slack(manifest=off) as slack, bare_app(slack, connected=False) as app:
        answer = await app.call("apps.connections.open", token=slack.app_token)

    assert answer["error"] == "access_denied"


async def test_eleventh_connection_is_turned_away() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        sockets = [await app.connect() for _ in range(10)]
        opened = await app.call("apps.connections.open", token=slack.app_token)
        extra = await app.http.ws_connect(opened["url"])
        message = json.loads((await extra.receive()).data)
        connections = slack.connections
        for socket in [*sockets, extra]:
            await socket.close()

    assert message["reason"] == "too_many_websockets"
    assert connections == 10


async def test_each_payload_goes_to_one_of_the_connections() -> None:
    """Over 24 commands both connections get some, and none comes twice."""
    async with local_slack() as slack, bare_app(slack) as first, bare_app(slack) as second:
        for _ in range(24):
            await slack.person("UADA").type("/clay", channel="C1")
        counts = (len(first.payloads), len(second.payloads))

    assert sum(counts) == 24
    assert min(counts) > 0


async def test_no_ack_in_time_is_told_to_the_person() -> None:
    async with local_slack(ack_seconds=0.05) as slack, bare_app(slack) as app:
        app.answer = lambda _: None
        ada = slack.person("UADA")
        outcome = await ada.type("/clay", channel="C1")

    assert outcome.error == "operation_timeout"
    assert [error.code for error in ada.errors] == ["operation_timeout"]
    assert slack.recorder.deliveries[-1].status == "timed_out"


async def test_nobody_connected() -> None:
    async with local_slack() as slack:
        outcome = await slack.person("UADA").type("/clay", channel="C1")

    assert outcome.error == "dispatch_failed"


async def test_late_acks_change_nothing() -> None:
    async with local_slack(ack_seconds=0.05) as slack, bare_app(slack) as app:
        app.answer = lambda _: None
        await slack.person("UADA").type("/clay", channel="C1")
        ack = {"envelope_id": app.envelopes[-1]["envelope_id"], "payload": {"text": "too late"}}
        assert app.socket is not None
        await app.socket.send_str(json.dumps(ack))
        delivery = slack.recorder.deliveries[-1]
        await slack.person("UADA").wait_until(lambda: delivery.status == "late")
        seen = [m.plain_text for m in slack.person("UADA").messages("C1")]

    assert seen == ["the kiln is hot"]


@pytest.mark.parametrize(("size", "status"), [(20_479, "acked"), (20_480, "too_large")])
async def test_acks_of_twenty_kilobytes_are_dropped(size: int, status: str) -> None:
    async with local_slack(ack_seconds=0.2) as slack, bare_app(slack) as app:
        empty = len(json.dumps({"envelope_id": "x" * 36, "payload": {"text": ""}}))
        app.answer = lambda _: {"text": "x" * (size - empty)}
        outcome = await slack.person("UADA").type("/clay", channel="C1")
        delivery = slack.recorder.deliveries[-1]

    assert (delivery.status, delivery.ack_bytes) == (status, size)
    assert outcome.acked == (status == "acked")


async def test_acks_count_on_any_connection() -> None:
    """SDKs ack over the new connection what came over the old one."""
    async with local_slack() as slack, bare_app(slack) as app:
        app.answer = lambda _: None
        typing = asyncio.create_task(slack.person("UADA").type("/clay", channel="C1"))
        await slack.person("UADA").wait_until(lambda: bool(app.envelopes))
        other = await app.connect()
        await other.send_str(json.dumps({"envelope_id": app.envelopes[0]["envelope_id"]}))
        outcome = await typing
        await other.close()

    assert outcome.acked


async def test_events_are_repeated_with_the_same_envelope() -> None:
    options: dict[str, Any] = {"ack_seconds": 0.05, "event_retry_seconds": (0.01, 0.01, 0.01)}
    async with local_slack(**options) as slack, bare_app(slack) as app:
        app.answer = lambda envelope: {} if envelope["retry_attempt"] == 2 else None
        slack.rename("C1", "kilns")
        await slack.events.settled()
        envelopes = app.envelopes

    assert [e["retry_attempt"] for e in envelopes] == [0, 1, 2]
    assert [e["retry_reason"] for e in envelopes] == ["", "timeout", "timeout"]
    assert len({e["envelope_id"] for e in envelopes}) == 1
    assert len({e["payload"]["event_id"] for e in envelopes}) == 1
    assert envelopes[0]["accepts_response_payload"] is False


async def test_duplicate_envelopes_on_demand() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        slack.fault("duplicate_envelope")
        await slack.person("UADA").type("/clay", channel="C1")
        await slack.person("UADA").wait_until(lambda: len(app.envelopes) == 2)
        ids = {envelope["envelope_id"] for envelope in app.envelopes}

    assert len(ids) == 1


async def test_refresh_warns_then_asks_then_closes() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        socket = await app.connect()
        await slack.disconnect("warning")
        await slack.disconnect("refresh_requested", close_after=0.05)
        messages = [await socket.receive() for _ in range(3)]

    assert [json.loads(m.data)["reason"] for m in messages[:2]] == ["warning", "refresh_requested"]
    assert messages[2].type is aiohttp.WSMsgType.CLOSE


async def test_payloads_avoid_a_connection_that_is_about_to_close() -> None:
    async with local_slack() as slack, bare_app(slack) as old:
        await slack.disconnect("refresh_requested", close_after=30)
        async with bare_app(slack) as new:
            for _ in range(8):
                await slack.person("UADA").type("/clay", channel="C1")
            counts = (len(old.payloads), len(new.payloads))

    assert counts == (0, 8)


@pytest.mark.parametrize("cut", ["fin", "rst"])
async def test_lines_can_be_cut(cut: str) -> None:
    """The client sees its connection end without a CLOSE frame, and may come again."""
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        socket = await app.connect()
        getattr(slack, cut)()
        message = await asyncio.wait_for(socket.receive(), 2)
        again = await app.connect()
        connections = slack.connections
        await again.close()

    assert message.type in {aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR, aiohttp.WSMsgType.CLOSE}
    assert socket.close_code in {None, 1006}
    assert connections == 1


async def test_close_frames_on_demand() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        socket = await app.connect()
        await slack.close_frames()
        message = await asyncio.wait_for(socket.receive(), 2)

    assert message.type is aiohttp.WSMsgType.CLOSE


async def test_pings_are_answered_until_blacked_out() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        opened = await app.call("apps.connections.open", token=slack.app_token)
        socket = await app.http.ws_connect(opened["url"], autoping=False)
        frames = [await socket.receive(), await socket.receive()]
        await socket.ping(b"one")
        pong = await asyncio.wait_for(socket.receive(), 2)
        slack.fault("pong_blackout", times=-1)
        await socket.ping(b"two")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(socket.receive(), 0.2)
        await socket.close()

    assert {frame.type for frame in frames} == {aiohttp.WSMsgType.PING, aiohttp.WSMsgType.TEXT}
    assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"one")


async def test_ignored_close_leaves_the_client_waiting() -> None:
    async with local_slack() as slack, bare_app(slack, connected=False) as app:
        opened = await app.call("apps.connections.open", token=slack.app_token)
        timeout = aiohttp.ClientWSTimeout(ws_close=0.2)
        socket = await app.http.ws_connect(opened["url"], timeout=timeout)
        slack.fault("ignore_close")
        await socket.close()
        connections = slack.connections

    assert socket.close_code == 1006
    assert connections == 0


async def _events_of(app: BareApp, *, times: int) -> list[str]:
    await app.slack.events.settled()
    kinds = [payload["event"]["type"] for payload in app.payloads]
    assert len(kinds) == times
    return kinds


async def test_changes_are_told_where_the_app_may_know() -> None:
    """Public channels and channels with the bot; never a private one without it."""
    async with local_slack() as slack, bare_app(slack) as app:
        slack.join("C1", "UEXT")
        slack.leave("C1", "UEXT")
        slack.join("C2", "UADA")
        slack.join("G1", "UGUEST")
        slack.rename("G1", "very-secret")
        slack.rename("G2", "team-kiln")
        slack.archive("C2")
        slack.unarchive("C2")
        slack.share("C1")
        slack.unshare("C4")
        slack.change_user("UBEN", is_restricted=True)
        slack.change_channel_id("G2", "C22")
        slack.change_channel_id("C1", "C11")
        slack.delete_channel("C2")
        kinds = await _events_of(app, times=11)

    assert sorted(kinds) == sorted(
        [
            *("member_joined_channel", "member_left_channel", "group_rename", "channel_archive"),
            *("channel_unarchive", "channel_shared", "channel_unshared", "user_change"),
            *("channel_id_changed", "channel_id_changed", "channel_deleted"),
        ]
    )
    assert [m.plain_text for m in slack.person("UBEN").messages("C11")] == ["the kiln is hot"]
    assert "UEXT" not in slack.world.channels["C4"].members


async def test_undeclared_events_are_not_sent() -> None:
    async with local_slack(manifest=manifest(events=[])) as slack, bare_app(slack) as app:
        slack.rename("C1", "kilns")
        await slack.person("UADA").type("hello", channel="C1")
        await _events_of(app, times=0)


async def test_turning_private_is_told_in_a_message_only() -> None:
    async with local_slack() as slack, bare_app(slack) as app:
        await slack.person("UBEN").type("hello @ada", channel="C1")
        slack.make_private("C1")
        await slack.events.settled()
        events = [payload["event"] for payload in app.payloads]

    assert [event.get("text") for event in events] == ["hello <@UADA>"]
    assert slack.world.channels["C1"].is_private
