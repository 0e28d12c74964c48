"""The manifest is one that Slack takes, and offers exactly what the bot answers."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot import texts
from bot.listeners.events import SUBSCRIBED_EVENTS
from bot.listeners.forms import SEARCH_ARCHIVE
from bot.listeners.shortcuts import FIND_SIMILAR, SHOW_IN_ARCHIVE

ROOT = Path(__file__).resolve().parent.parent
# Every Web API method that the bot calls, with the bot scope it needs (None: any token).
METHOD_SCOPES = {
    "auth.test": None,
    "apps.connections.open": None,
    "chat.getPermalink": None,
    "conversations.info": "channels:read",
    "conversations.list": "channels:read",
    "conversations.members": "channels:read",
    "users.conversations": "groups:read",
    "users.info": "users:read",
    "users.list": "users:read",
    "views.open": None,
    "views.publish": None,
    "views.push": None,
    "views.update": None,
}
EVENT_SCOPES = {
    name: "groups:read" if name.startswith("group_") else "channels:read"
    for name in SUBSCRIBED_EVENTS
    if name.startswith(("channel_", "group_", "member_"))
} | {
    "app_home_opened": None,
    "team_join": "users:read",
    "user_change": "users:read",
}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))


def test_lengths_and_forms_are_within_slacks_limits(manifest: dict[str, Any]) -> None:
    shown, features = manifest["display_information"], manifest["features"]

    assert manifest["_metadata"] == {"major_version": 1}
    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert 175 <= len(shown["long_description"]) <= 4000
    assert re.fullmatch(r"#[0-9a-f]{6}", shown["background_color"])
    assert re.fullmatch(r"[a-z0-9._-]{1,80}", features["bot_user"]["display_name"])
    for shortcut in features["shortcuts"]:
        assert len(shortcut["name"]) <= 24
        assert len(shortcut["description"]) <= 150
    for command in features["slash_commands"]:
        assert len(command["command"]) <= 32
        assert len(command["description"]) <= 2000
        assert len(command["usage_hint"]) <= 1000
        assert "url" not in command


def test_it_offers_the_command_and_the_shortcut_that_are_listened_to(manifest: dict[str, Any]) -> None:
    features = manifest["features"]

    assert [command["command"] for command in features["slash_commands"]] == [texts.COMMAND]
    assert features["slash_commands"][0]["should_escape"] is True
    assert [(one["type"], one["callback_id"]) for one in features["shortcuts"]] == [
        ("message", SHOW_IN_ARCHIVE),
        ("message", FIND_SIMILAR),
        ("global", SEARCH_ARCHIVE),
    ]
    assert features["app_home"]["home_tab_enabled"] is True


def test_it_subscribes_to_the_events_that_are_handled(manifest: dict[str, Any]) -> None:
    assert manifest["settings"]["event_subscriptions"]["bot_events"] == sorted(SUBSCRIBED_EVENTS)


def test_it_asks_for_the_scopes_that_calls_and_events_need_and_no_more(manifest: dict[str, Any]) -> None:
    needed = {"commands", *METHOD_SCOPES.values(), *EVENT_SCOPES.values()} - {None}

    assert set(manifest["oauth_config"]["scopes"]["bot"]) == needed
    assert set(EVENT_SCOPES) == set(SUBSCRIBED_EVENTS)
    assert "user" not in manifest["oauth_config"]["scopes"]


def test_the_list_of_methods_is_what_the_code_calls() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "bot").rglob("*.py"))
    called = re.findall(r"client\.((?:auth|apps|conversations|users|views|chat|team)_\w+)\(", source)

    assert {
        name.replace("apps_connections_open", "apps.connections.open").replace("_", ".", 1) for name in called
    } == set(METHOD_SCOPES)


def test_socket_mode_and_interactivity_are_on(manifest: dict[str, Any]) -> None:
    settings = manifest["settings"]

    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"] == {"is_enabled": True}
    assert settings["org_deploy_enabled"] is False


def test_the_procfile_starts_a_worker() -> None:
    """Socket Mode binds no port, so it is no `web` process."""
    assert (ROOT / "Procfile").read_text(encoding="utf-8").splitlines()[0] == "worker: slackquery serve"
