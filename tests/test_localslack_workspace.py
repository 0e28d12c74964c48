"""The description of a workspace: read strictly, written back the same."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from localslack.app_manifest import AppManifest, ManifestError
from localslack.workspace import Workspace, WorkspaceError, load_workspace
from tests.localslack_factory import description, manifest


def test_description_survives_the_way_there_and_back(tmp_path: Path) -> None:
    workspace = Workspace.from_json(description())
    file = tmp_path / "workspace.json"
    file.write_text(json.dumps(workspace.to_json()), encoding="utf-8")

    assert load_workspace(file) == workspace
    assert workspace.users[0].label == "Ada Berg"
    assert workspace.users[1].label == "Ben the potter"


def test_defaults_are_those_of_the_docstring() -> None:
    workspace = Workspace.from_json(description())

    assert {user.team_id for user in workspace.users if user.id != "UEXT"} == {"T1"}
    assert workspace.users[1].tz == "Etc/UTC"
    assert [channel.is_public for channel in workspace.channels] == [True, True, False, False, True, True, False]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("team", "name"), None, "team.name"),
        (("users", 0, "nickname"), "x", "users.0.nickname"),
        (("users", 1, "id"), "UADA", "two users have the id UADA"),
        (("channels", 1, "id"), "C1", "two channels have the id C1"),
        (("channels", 0, "members"), ["UNOBODY"], "channel C1: no such users"),
        (("acting_user_id",), "UNOBODY", "acting_user_id UNOBODY"),
        (("messages", 0, "channel"), "C99", "message 1700000000.000100"),
    ],
)
def test_what_is_wrong_is_named(path: tuple[Any, ...], value: object, words: str) -> None:
    broken: Any = description()
    place = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    with pytest.raises(WorkspaceError, match=words):
        Workspace.from_json(broken)


@pytest.mark.parametrize(("text", "words"), [("{", "not JSON"), ("[]", "expected a JSON object")])
def test_files_that_are_no_description(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "workspace.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(WorkspaceError, match=words):
        load_workspace(file)


def test_manifest_gives_what_the_app_declares() -> None:
    read = AppManifest.from_mapping(manifest())

    assert read.commands == {"/clay": True}
    assert read.bot_name == "potter"
    assert (read.home_tab, read.socket_mode, read.interactivity) == (True, True, True)


def test_manifest_without_a_name_is_refused() -> None:
    with pytest.raises(ManifestError, match="display_information"):
        AppManifest.from_mapping({"features": {}})


def test_scopes_must_cover_commands_and_events() -> None:
    """Slack would not take a manifest whose events or commands lack their scopes."""
    with pytest.raises(ManifestError, match="user_change needs one of the scopes users:read"):
        AppManifest.from_mapping(manifest(scopes=["commands"], events=["user_change"]))
    with pytest.raises(ManifestError, match="need the scope commands"):
        AppManifest.from_mapping(manifest(scopes=["users:read"], events=["user_change"]))


def test_this_projects_manifest_is_consistent() -> None:
    text = (Path(__file__).parent.parent / "manifest.yaml").read_text(encoding="utf-8")

    assert "/slackquery" in AppManifest.from_mapping(yaml.safe_load(text)).commands
