"""Slack's official clients as referees: what they make of the local Slack without knowing that it is one.

Each does auth.test, connects, gets a command, acks it, posts a message and opens a modal.
"""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.aiohttp import SocketModeClient as AiohttpSocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from localslack.server import LocalSlack
from tests.localslack_factory import local_slack

REFEREES = Path(__file__).parent / "referees"
CACHE = Path(__file__).parent.parent / ".cache" / "node" / "clients"
VIEW: dict[str, Any] = {"type": "modal", "title": {"type": "plain_text", "text": "Hello"}, "blocks": []}


async def _command_is_answered(slack: LocalSlack, *, text: str, title: str) -> None:
    """Type the command as Ada and look for the message and the modal."""
    await slack.wait_connected()
    ada = slack.person("UADA")
    outcome = await ada.type("/clay more please", channel="C1")
    message = await ada.wait_for_message("C1", lambda seen: seen.plain_text == text)
    view = await ada.wait_for_view()

    assert outcome.acked
    assert message.by_app
    assert view.title == title
    assert ada.errors == []


def _sync_listener(web: WebClient, told: list[str]) -> Callable[[Any, SocketModeRequest], None]:
    def listener(client: Any, request: SocketModeRequest) -> None:
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        told.append(request.payload["text"])
        web.chat_postMessage(channel="C1", text="from python")
        web.views_open(trigger_id=request.payload["trigger_id"], view=VIEW)

    return listener


async def test_sync_python_clients() -> None:
    """slack_sdk's WebClient and built-in Socket Mode client, which live in threads."""
    async with local_slack() as slack:
        web = WebClient(slack.bot_token, base_url=slack.api_url)
        socket = SocketModeClient(app_token=slack.app_token, web_client=web)
        told: list[str] = []
        socket.socket_mode_request_listeners.append(_sync_listener(web, told))
        who = await asyncio.to_thread(web.auth_test)
        await asyncio.to_thread(socket.connect)
        await _command_is_answered(slack, text="from python", title="Hello")
        await asyncio.to_thread(socket.close)

    assert who["user_id"] == "UBOT"
    assert told == ["more please"]


async def test_async_python_clients() -> None:
    """slack_sdk's AsyncWebClient (reads by GET) and aiohttp Socket Mode client."""
    async with local_slack() as slack:
        web = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        socket = AiohttpSocketModeClient(app_token=slack.app_token, web_client=web)

        async def listener(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
            await web.chat_postMessage(channel="C1", text="from asyncio")
            await web.views_open(trigger_id=request.payload["trigger_id"], view=VIEW)

        socket.socket_mode_request_listeners.append(listener)
        who = await web.auth_test()
        user = await web.users_info(user="UBEN")
        await socket.connect()
        await _command_is_answered(slack, text="from asyncio", title="Hello")
        await socket.close()

    assert who["team_id"] == "T1"
    assert user["user"]["profile"]["display_name"] == "Ben the potter"


async def test_async_pages_and_errors() -> None:
    """The SDK's own pagination walks to the end, and errors come as its exceptions."""
    async with local_slack() as slack:
        web = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        ids = [c["id"] async for page in await web.conversations_list(limit=2) for c in page["channels"]]
        with pytest.raises(SlackApiError) as caught:
            await web.chat_postMessage(channel="C1", blocks=[{"type": "nonsense"}], text="x")

    assert ids == ["C1", "C2", "C3", "C4"]
    assert caught.value.response["error"] == "invalid_blocks"


async def test_bolt_app_over_aiohttp() -> None:
    """A whole Bolt app: command, button, respond() and a modal's submission."""
    async with local_slack() as slack:
        client = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        app = AsyncApp(token=slack.bot_token, client=client)
        button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
        form = {
            **VIEW,
            "callback_id": "form",
            "submit": {"type": "plain_text", "text": "Send"},
            "blocks": [
                {
                    "type": "input",
                    "block_id": "word",
                    "label": {"type": "plain_text", "text": "Word"},
                    "element": {"type": "plain_text_input", "action_id": "text"},
                }
            ],
        }
        submitted: list[str] = []

        @app.command("/clay")
        async def command(ack: Any, respond: Any) -> None:
            await ack()
            await respond(text="pick", blocks=[{"type": "actions", "elements": [button]}])

        @app.action("go")
        async def go(ack: Any, body: Any, client: Any, respond: Any) -> None:
            await ack()
            await client.views_open(trigger_id=body["trigger_id"], view=form)
            await respond(text="gone", replace_original=True)

        @app.view("form")
        async def form_sent(ack: Any, view: Any) -> None:
            await ack()
            submitted.append(view["state"]["values"]["word"]["text"]["value"])

        handler = AsyncSocketModeHandler(app, slack.app_token)
        await handler.connect_async()
        ada = slack.person("UADA")
        await slack.wait_connected()
        await ada.type("/clay", channel="C1")
        answer = await ada.wait_for_message("C1", lambda seen: seen.button_texts() == ["Go"])
        await ada.click(answer, text="Go")
        view = await ada.wait_for_view()
        await ada.wait_until(lambda: ada.current_message(answer).plain_text == "gone")
        outcome = await ada.fill(view, {"word": "stoneware"}).submit()
        await handler.close_async()

    assert outcome.acked
    assert submitted == ["stoneware"]
    assert ada.views == ()
    assert slack.recorder.rejected == []


async def test_bolt_reconnects_after_each_fault() -> None:
    """Refresh, CLOSE, FIN and RST: the aiohttp client comes back and the next command is answered."""
    async with local_slack() as slack:
        client = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        app = AsyncApp(token=slack.bot_token, client=client)

        @app.command("/clay")
        async def command(ack: Any) -> None:
            await ack("here")

        handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=0.3)
        await handler.connect_async()
        ada = slack.person("UADA")
        outcomes = []
        await slack.wait_connected()
        for fault in ("refresh", "close", "fin", "rst"):
            before = slack.core.hub.total_connections
            if fault == "refresh":
                await slack.disconnect("refresh_requested", close_after=0.2)
            elif fault == "close":
                await slack.close_frames()
            else:
                getattr(slack, fault)()
            await ada.wait_until(lambda seen=before: slack.core.hub.total_connections > seen, timeout=15)
            await slack.wait_connected()
            outcomes.append(await ada.type("/clay", channel="C1"))
        await handler.close_async()

    assert [outcome.acked for outcome in outcomes] == [True] * 4


def _unavailable(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must run the Node referee: {reason}")
    pytest.skip(f"the Node referee cannot run: {reason}")


async def _run(*command: str, cwd: Path, seconds: float) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def _install() -> None:
    """Install the packages once into the cache; a lock keeps parallel test runs apart."""
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = (REFEREES / "package.json").read_text(encoding="utf-8")
    with (CACHE / "lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        done = CACHE / "installed.json"
        if done.exists() and done.read_text(encoding="utf-8") == wanted:
            return
        (CACHE / "package.json").write_text(wanted, encoding="utf-8")
        command = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
        code, _, err = await _run(*command, cwd=CACHE, seconds=120)
        if code:
            _unavailable(f"npm install failed: {err[-500:]}")
        done.write_text(wanted, encoding="utf-8")


@pytest.mark.node
async def test_node_clients() -> None:
    """@slack/web-api 8 and @slack/socket-mode 3."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        _unavailable("no node and npm on the path")
    _, version, _ = await _run("node", "--version", cwd=REFEREES, seconds=10)
    if int(version.strip().lstrip("v").split(".")[0]) < 20:
        _unavailable(f"node {version.strip()} is older than 20")
    await _install()
    async with local_slack() as slack:
        script = str(REFEREES / "referee.mjs")
        arguments = (slack.api_url, slack.bot_token, slack.app_token, "C1")
        running = asyncio.create_task(_run("node", script, *arguments, cwd=CACHE, seconds=30))
        waiting = asyncio.create_task(slack.wait_connected(timeout=20))
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        assert not running.done(), running.result()
        await waiting
        await _command_is_answered(slack, text="from node", title="Node")
        code, out, err = await running

    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["user"] == "UBOT"
    assert (told["command"], told["text"]) == ("/clay", "more please")
    assert told["refused"] == "exchanged_trigger_id"
    assert told["pages"] == [["C1", "C2"], ["C3", "C4"]]
