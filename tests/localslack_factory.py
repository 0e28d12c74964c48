"""A small workspace, a generous manifest and a bare-handed app for the local Slack's own tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from localslack.server import LocalSlack
from localslack.workspace import Workspace

BOT = "UBOT"
BUTTONS: list[dict[str, Any]] = [
    {"type": "section", "text": {"type": "plain_text", "text": "Pick"}},
    {
        "type": "actions",
        "block_id": "row",
        "elements": [
            {
                "type": "button",
                "action_id": "next",
                "value": "v1",
                "text": {"type": "plain_text", "text": "Next"},
            },
            {
                "type": "overflow",
                "action_id": "more",
                "options": [{"text": {"type": "plain_text", "text": "Bake"}, "value": "bake"}],
            },
        ],
    },
]
FORM: dict[str, Any] = {
    "type": "modal",
    "callback_id": "form",
    "title": {"type": "plain_text", "text": "Form"},
    "submit": {"type": "plain_text", "text": "Go"},
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "what",
            "label": {"type": "plain_text", "text": "What"},
            "element": {"type": "plain_text_input", "action_id": "text", "max_length": 20},
        },
        {
            "type": "input",
            "block_id": "where",
            "optional": True,
            "label": {"type": "plain_text", "text": "Where"},
            "element": {"type": "multi_channels_select", "action_id": "channels"},
        },
        {
            "type": "input",
            "block_id": "how",
            "optional": True,
            "label": {"type": "plain_text", "text": "How"},
            "element": {
                "type": "static_select",
                "action_id": "mode",
                "options": [{"text": {"type": "plain_text", "text": "Slow"}, "value": "slow"}],
            },
        },
    ],
}


def description() -> dict[str, Any]:
    """A description with a guest, an external member, a former member and every kind of channel."""
    return {
        "team": {"id": "T1", "name": "Kiln", "domain": "kiln", "url": "https://kiln.example/"},
        "users": [
            {"id": "UADA", "name": "ada", "real_name": "Ada Berg", "tz": "Europe/Berlin", "is_admin": True},
            {"id": "UBEN", "name": "ben", "display_name": "Ben the potter"},
            {"id": "UGUEST", "name": "gil", "is_restricted": True},
            {"id": "UEXT", "name": "xenia", "team_id": "T2"},
            {"id": "UGONE", "name": "olga", "deleted": True},
        ],
        "channels": [
            {"id": "C1", "name": "general", "members": ["UADA", "UBEN", "UGUEST", BOT], "is_general": True},
            {"id": "C2", "name": "glazes", "members": ["UBEN"]},
            {"id": "G1", "name": "secret", "members": ["UADA", "UBEN"], "is_private": True},
            {"id": "G2", "name": "kiln-team", "members": ["UADA", BOT], "is_private": True},
            {"id": "C3", "name": "old", "members": ["UADA", BOT], "is_archived": True},
            {"id": "C4", "name": "shared", "members": ["UADA", "UEXT", BOT], "is_ext_shared": True},
            {"id": "D1", "name": "", "members": ["UADA", "UBEN"], "is_im": True},
        ],
        "messages": [
            {"channel": "C1", "user": "UBEN", "ts": "1700000000.000100", "text": "the kiln is hot"},
        ],
        "bot_user_id": BOT,
        "acting_user_id": "UADA",
    }


def manifest(**changes: Any) -> dict[str, Any]:
    """A manifest that may do everything; ``scopes``, ``events`` and ``settings`` replace parts of it."""
    reads = [f"{kind}:{right}" for kind in ("channels", "groups", "im", "mpim") for right in ("read", "history")]
    return {
        "display_information": {"name": "Potter"},
        "features": {
            "app_home": {"home_tab_enabled": True},
            "bot_user": {"display_name": "potter"},
            "shortcuts": [
                {"name": "Fire", "type": "message", "callback_id": "fire", "description": "Fires it."},
                {"name": "Ask", "type": "global", "callback_id": "ask", "description": "Asks."},
            ],
            "slash_commands": [{"command": "/clay", "description": "Clay", "should_escape": True}],
        },
        "oauth_config": {
            "scopes": {
                "bot": changes.get("scopes", ["commands", "chat:write", "users:read", "team:read", "im:write", *reads])
            }
        },
        "settings": {
            "event_subscriptions": {
                "bot_events": changes.get(
                    "events",
                    [
                        *("app_home_opened", "member_joined_channel", "member_left_channel"),
                        *("channel_archive", "channel_unarchive", "channel_rename", "channel_deleted"),
                        *("channel_id_changed", "channel_shared", "channel_unshared", "channel_created"),
                        *("user_change", "message.channels", "group_rename"),
                    ],
                )
            },
            "interactivity": {"is_enabled": True},
            "socket_mode_enabled": True,
            **changes.get("settings", {}),
        },
    }


def local_slack(**options: Any) -> LocalSlack:
    """A stand-in over that workspace; options as LocalSlack's, or ``manifest``."""
    chosen = options.pop("manifest", manifest())
    return LocalSlack(Workspace.from_json(description()), chosen, **options)


class HandClock:
    """A clock that is moved by hand, from a fixed afternoon on."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


class BareApp:
    """An app without an SDK: one HTTP session, one socket, every envelope kept and answered by a function."""

    def __init__(self, slack: LocalSlack, http: aiohttp.ClientSession) -> None:
        self.slack = slack
        self.http = http
        self.envelopes: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Any] = lambda envelope: {}
        self.socket: aiohttp.ClientWebSocketResponse | None = None

    async def call(self, method: str, *, token: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a method with JSON arguments; the bot's token unless another is given."""
        headers = {"Authorization": f"Bearer {token or self.slack.bot_token}"}
        async with self.http.post(self.slack.api_url + method, json=arguments, headers=headers) as response:
            return json.loads(await response.text())

    async def post(self, address: str, **body: Any) -> tuple[int, str]:
        """Post to a response URL."""
        async with self.http.post(address, json=body) as response:
            return response.status, await response.text()

    async def connect(self) -> aiohttp.ClientWebSocketResponse:
        """Open a socket and read its hello."""
        opened = await self.call("apps.connections.open", token=self.slack.app_token)
        self.socket = await self.http.ws_connect(opened["url"])
        hello = json.loads((await self.socket.receive()).data)
        assert hello["type"] == "hello"
        return self.socket

    async def serve(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Ack every envelope with what ``answer`` returns; None leaves it unacked."""
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            envelope = json.loads(message.data)
            self.envelopes.append(envelope)
            if "envelope_id" not in envelope:
                continue
            answer = self.answer(envelope)
            if answer is not None:
                body = {"envelope_id": envelope["envelope_id"]}
                await socket.send_str(json.dumps(body | ({"payload": answer} if answer else {})))

    @property
    def payloads(self) -> list[dict[str, Any]]:
        """The payloads that came, oldest first."""
        return [envelope["payload"] for envelope in self.envelopes if "payload" in envelope]


@asynccontextmanager
async def bare_app(slack: LocalSlack, *, connected: bool = True) -> AsyncIterator[BareApp]:
    """Run a bare app against a stand-in that is already started."""
    async with aiohttp.ClientSession() as http:
        app = BareApp(slack, http)
        if not connected:
            yield app
            return
        socket = await app.connect()
        serving = asyncio.create_task(app.serve(socket))
        try:
            yield app
        finally:
            serving.cancel()
            await socket.close()


def modal(title: str, **extra: Any) -> dict[str, Any]:
    return {"type": "modal", "title": {"type": "plain_text", "text": title}, "blocks": [], **extra}


async def typed(slack: LocalSlack, app: BareApp, text: str, channel: str = "C1") -> dict[str, Any]:
    """Type a command as Ada and return its payload."""
    outcome = await slack.person("UADA").type(text, channel=channel)
    assert outcome.acked
    return app.payloads[-1]


async def opened(slack: LocalSlack, app: BareApp, view: dict[str, Any]) -> dict[str, Any]:
    """Open a modal for Ada by a fresh trigger."""
    payload = await typed(slack, app, "/clay")
    return await app.call("views.open", trigger_id=payload["trigger_id"], view=view)
