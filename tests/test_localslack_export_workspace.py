"""Describing a workspace from an export: the archive's own ids, members where the export tells none."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from localslack.export_workspace import BOT_USER, UNNAMED_TEAM, describe_export
from localslack.workspace import Workspace, WorkspaceError


def said(ts: int, user: str | None, text: str, **extra: Any) -> dict[str, Any]:
    return {"type": "message", "ts": f"{ts}.000100", "user": user, "text": text, **extra}


FILES: dict[str, Any] = {
    "users.json": [
        {"id": "U1", "team_id": "T9", "name": "ada", "tz": "Asia/Tokyo", "profile": {"display_name": "Ada"}},
        {"id": "U2", "team_id": "T9", "name": "ben", "deleted": True, "profile": {}},
        {"id": "U3", "team_id": "T9", "name": "gil", "is_restricted": True, "tz": "Nowhere/Town"},
        {"id": "U4", "team_id": "T7", "name": "xen"},
        {"id": "U5", "team_id": "T9"},
    ],
    "channels.json": [
        {"id": "C1", "name": "general", "members": ["U1", "U3", "UNOBODY"], "created": "1433558319"},
        {"id": "C2", "name": "open", "topic": {"value": "anything"}},
    ],
    "groups.json": [{"id": "G1", "name": "quiet", "members": ["U5"]}],
    "dms.json": [{"id": "D1", "members": ["U1", "U5"]}],
    "mpims.json": [{"id": "G2", "name": "mpdm-a--b-1", "members": ["U1", "U3", "U5"]}],
    "canvases.json": [{"id": "F1"}],
    "general/2024-01-01.json": [said(10, "U1", "one"), said(11, "U2", "two &amp; a half")],
    "general/2024-01-02.json": [
        said(20, "U1", "three"),
        said(21, "U1", "in a thread", thread_ts="20.000100"),
        said(22, "U1", "joined", subtype="channel_join"),
        said(23, None, "by a bot", subtype="bot_message"),
    ],
    "open/2024-01-01.json": [said(30, "U1", "x"), said(31, "U2", "y"), said(32, "U4", "z")],
    "open/canvas_in_the_conversation.json": {"not": "a list"},
    "lost/2024-01-01.json": [said(40, "U5", "found")],
}


def as_folder(root: Path, *, without: tuple[str, ...] = ()) -> Path:
    for name, content in FILES.items():
        if name not in without:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(json.dumps(content), encoding="utf-8")
    return root


def as_zip(path: Path, *, prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(prefix + name, json.dumps(content))
    return path


def members(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    return {channel.id: channel.members for channel in workspace.channels}


def test_channels_keep_their_ids_and_members(tmp_path: Path) -> None:
    """Listed members count; without a list the active people who posted; unlisted folders are channels."""
    workspace = describe_export(as_folder(tmp_path))

    assert members(workspace) == {
        "C1": ("U1", "U3"),
        "C2": ("U1", "U4"),
        "G1": ("U5",),
        "D1": ("U1", "U5"),
        "G2": ("U1", "U3", "U5"),
        "dir:lost": ("U5",),
    }
    kinds = {c.id: (c.is_public, c.is_private, c.is_mpim, c.is_im) for c in workspace.channels}
    assert kinds["dir:lost"] == (True, False, False, False)
    assert (kinds["G1"], kinds["D1"][3], kinds["G2"][2]) == ((False, True, False, False), True, True)


def test_folder_zip_and_nested_zip_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "kiln"
    folder.mkdir()
    plain, nested = as_zip(tmp_path / "kiln.zip"), as_zip(tmp_path / "nested.zip", prefix="kiln/")

    described = describe_export(as_folder(folder))

    assert describe_export(plain) == described
    assert describe_export(nested, team_name="kiln") == described


def test_people(tmp_path: Path) -> None:
    """Unknown time zones become UTC; the most common team is the workspace's; a full member acts."""
    workspace = describe_export(as_folder(tmp_path))
    users = {user.id: user for user in workspace.users}

    assert workspace.team.id == "T9"
    assert (users["U1"].tz, users["U1"].display_name) == ("Asia/Tokyo", "Ada")
    assert users["U3"].tz == "Etc/UTC"
    assert users["U3"].is_guest
    assert users["U4"].team_id == "T7"
    assert users["U5"].name == "u5"
    assert workspace.acting_user_id == "U1"
    assert workspace.bot_user_id == BOT_USER


def test_newest_messages_stand_in_their_channels(tmp_path: Path) -> None:
    """People's messages outside threads, oldest first, as many as asked for."""
    two = describe_export(as_folder(tmp_path), recent=2)
    none = describe_export(tmp_path, recent=0)

    assert [m.text for m in two.messages if m.channel_id == "C1"] == ["two &amp; a half", "three"]
    assert [m.channel_id for m in two.messages if m.text == "found"] == ["dir:lost"]
    assert none.messages == ()


def test_exports_without_team_ids(tmp_path: Path) -> None:
    as_folder(tmp_path)
    users = [{"id": "U1", "name": "ada"}]
    (tmp_path / "users.json").write_text(json.dumps(users), encoding="utf-8")

    assert describe_export(tmp_path).team.id == UNNAMED_TEAM
    assert describe_export(tmp_path, team_id="TX").team.id == "TX"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "users.json: not JSON"),
        ("{}", "users.json: expected a JSON list"),
        ("[]", "no active full member"),
    ],
)
def test_broken_lists_are_named(tmp_path: Path, content: str, words: str) -> None:
    as_folder(tmp_path)
    (tmp_path / "users.json").write_text(content, encoding="utf-8")

    with pytest.raises(WorkspaceError, match=words):
        describe_export(tmp_path)


def test_what_is_no_export(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("hello", encoding="utf-8")

    with pytest.raises(WorkspaceError, match=r"no users\.json"):
        describe_export(tmp_path)
    with pytest.raises(WorkspaceError, match="neither a folder nor a zip"):
        describe_export(text)
