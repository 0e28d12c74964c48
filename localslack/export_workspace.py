"""Makes a workspace description from a Slack export, for trying the bot over one's own messages.

People and conversations have the ids of the export, so that they are the archive's. A folder that no
list names becomes the channel ``dir:NAME``. Where an export does not tell a public channel's members
(exports of public communities often do not), everybody who posted there and is still active is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from zoneinfo import available_timezones

from localslack.export_files import ExportFiles, open_export
from localslack.json_types import JsonObject
from localslack.messages import ts_key
from localslack.workspace import Workspace, WorkspaceError

BOT_USER = "USLACKQUERYBOT"
UNNAMED_TEAM = "T0LOCALDEMO"
_LISTS: dict[str, JsonObject] = {
    "channels.json": {},
    "groups.json": {"is_private": True},
    "mpims.json": {"is_mpim": True, "is_private": True},
    "dms.json": {"is_im": True},
}
_FLAGS = ("deleted", "is_bot", "is_admin", "is_owner", "is_restricted", "is_ultra_restricted")


def describe_export(
    export: Path, *, team_id: str | None = None, team_name: str | None = None, recent: int = 30
) -> Workspace:
    """Describe the workspace that an export comes from.

    Args:
        export: A zip or a folder.
        team_id: The workspace's id; by default the one that most of its people carry.
        team_name: Its name; by default the file's.
        recent: How many of each channel's newest messages stand in it at the start.

    Raises:
        WorkspaceError: it is no export, its lists are broken, or it has no active full member.
    """
    with open_export(export) as files:
        people = {row["id"]: row for row in files.rows("users.json") if isinstance(row.get("id"), str)}
        team = team_id or _team_of(people.values())
        users = [_user(row, team) for row in people.values()]
        days = files.day_files()
        channels = _channels(files, days, people)
        messages = list(_recent(files, days, channels, people, recent))
        older = _older(files, days, channels, shown={(one["channel"], one["ts"]) for one in messages})
    return Workspace.from_json(
        {
            "team": _team(team, team_name or export.stem),
            "users": users,
            "channels": [{k: v for k, v in channel.items() if k != "folder"} for channel in channels],
            "messages": messages,
            "older": older,
            "bot_user_id": BOT_USER,
            "acting_user_id": _acting(users, channels, team, label=export.name),
        }
    )


def _team(team_id: str, name: str) -> JsonObject:
    domain = "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-") or "workspace"
    return {"id": team_id, "name": name, "domain": domain, "url": f"https://{domain}.slack.example/"}


def _team_of(people: Iterable[JsonObject]) -> str:
    teams = Counter(row["team_id"] for row in people if isinstance(row.get("team_id"), str))
    return min(teams, key=lambda team: (-teams[team], team)) if teams else UNNAMED_TEAM


def _user(row: JsonObject, team_id: str) -> JsonObject:
    given = row.get("profile")
    profile: JsonObject = given if isinstance(given, dict) else {}
    zone = row.get("tz")
    names = {key: str(profile.get(key) or row.get(key) or "") for key in ("real_name", "display_name", "title")}
    return {
        "id": row["id"],
        "name": str(row.get("name") or row["id"].lower()),
        "team_id": str(row.get("team_id") or team_id),
        "tz": zone if zone in _zones() else "Etc/UTC",
        **names,
        **{flag: row.get(flag) is True for flag in _FLAGS},
    }


@cache
def _zones() -> frozenset[str]:
    # The standard library reads the whole time zone database at every call.
    return frozenset(available_timezones())


def _channels(files: ExportFiles, days: Mapping[str, list[str]], people: Mapping[str, JsonObject]) -> list[JsonObject]:
    listed = [_channel(row, flags) for name, flags in _LISTS.items() for row in files.rows(name) if "id" in row]
    folders = {channel["folder"] for channel in listed}
    unlisted = [
        {"id": f"dir:{folder}", "name": folder, "folder": folder, "members": []}
        for folder in days
        if folder not in folders
    ]
    channels = {channel["id"]: channel for channel in [*listed, *unlisted]}
    for channel in channels.values():
        known = [member for member in channel["members"] if member in people]
        channel["members"] = known or _authors(files, days.get(channel["folder"], []), people)
    return list(channels.values())


def _channel(row: JsonObject, flags: JsonObject) -> JsonObject:
    """Return one listed conversation; a DM's folder is named by its id, others' by their name."""
    name = str(row.get("name") or "")
    members = row.get("members")
    return {
        "id": str(row["id"]),
        "name": name,
        "folder": name or str(row["id"]),
        "members": [m for m in members if isinstance(m, str)] if isinstance(members, list) else [],
        "is_archived": row.get("is_archived") is True,
        "is_general": row.get("is_general") is True,
        "topic": _value(row.get("topic")),
        "purpose": _value(row.get("purpose")),
        "created": int(row.get("created") or 0),
        "creator": str(row.get("creator") or ""),
        **flags,
    }


def _value(text: object) -> str:
    return str(text.get("value") or "") if isinstance(text, dict) else ""


def _authors(files: ExportFiles, names: list[str], people: Mapping[str, JsonObject]) -> list[str]:
    posted = {message.get("user") for name in names for message in files.messages(name)}
    return [user_id for user_id, row in people.items() if user_id in posted and row.get("deleted") is not True]


def _recent(
    files: ExportFiles,
    days: Mapping[str, list[str]],
    channels: Iterable[JsonObject],
    people: Mapping[str, JsonObject],
    count: int,
) -> Iterator[JsonObject]:
    """Yield each channel's newest messages that people wrote outside threads, oldest first."""
    for channel in channels:
        newest: dict[str, JsonObject] = {}
        for name in reversed(days.get(channel["folder"], [])):
            for message in files.messages(name):
                if _is_shown(message, people):
                    newest.setdefault(message["ts"], message)
            if len(newest) >= count:
                break
        for ts in sorted(newest, key=ts_key)[-count:] if count else []:
            message = newest[ts]
            yield {"channel": channel["id"], "user": message["user"], "ts": ts, "text": message["text"]}


def _older(
    files: ExportFiles, days: Mapping[str, list[str]], channels: Iterable[JsonObject], *, shown: set[tuple[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the timestamps of all other messages by channel, each with the thread it replies in or ""."""
    older: dict[str, dict[str, str]] = {}
    for channel in channels:
        for name in days.get(channel["folder"], []):
            for message in files.messages(name):
                ts, thread = message["ts"], message.get("thread_ts")
                if (channel["id"], ts) not in shown:
                    reply_in = thread if isinstance(thread, str) and thread != ts else ""
                    older.setdefault(channel["id"], {})[ts] = reply_in
    return older


def _is_shown(message: JsonObject, people: Mapping[str, JsonObject]) -> bool:
    text = message.get("text")
    is_reply = message.get("thread_ts", message["ts"]) != message["ts"]
    plain = message.get("subtype") in {None, "me_message"} and isinstance(text, str) and text.strip() != ""
    return plain and not is_reply and message.get("user") in people


def _acting(users: list[JsonObject], channels: list[JsonObject], team_id: str, *, label: str) -> str:
    """Return the active full member who is in the most conversations; the first of them by id."""
    count = Counter(member for channel in channels for member in channel["members"])
    unfit = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted")
    fit: list[str] = [
        user["id"] for user in users if user["team_id"] == team_id and not any(user[flag] for flag in unfit)
    ]
    if not fit:
        raise WorkspaceError(f"{label}: no active full member to act as")
    return min(fit, key=lambda user_id: (-count[user_id], user_id))
