"""Users and conversations in the shapes that Web API answers and events carry."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from localslack.json_types import JsonObject
from localslack.workspace import Channel, User
from localslack.world import World


def user_json(user: User, world: World, *, now: float) -> JsonObject:
    """Return a user as users.info shows it; deactivated people lack flags and time zone."""
    body: JsonObject = {
        "id": user.id,
        "team_id": user.team_id,
        "name": user.name,
        "deleted": user.deleted,
        "profile": _profile(user),
        "is_bot": user.is_bot,
        "is_app_user": False,
        "updated": 1700000000,
    }
    if user.deleted:
        return body
    local = datetime.fromtimestamp(now, tz=UTC).astimezone(ZoneInfo(user.tz))
    offset = local.utcoffset()
    return body | {
        "real_name": user.real_name or user.name,
        "tz": user.tz,
        "tz_label": local.tzname() or user.tz,
        "tz_offset": int(offset.total_seconds()) if offset else 0,
        "is_admin": user.is_admin,
        "is_owner": user.is_owner,
        "is_primary_owner": False,
        "is_restricted": user.is_guest,
        "is_ultra_restricted": user.is_ultra_restricted,
        **({"is_stranger": is_stranger(user, world)} if user.team_id != world.team.id else {}),
    }


def is_stranger(user: User, world: World) -> bool:
    """Whether an external user shares no channel with the bot."""
    shared = (c for c in world.channels_of(user.id) if world.bot_user_id in c.members)
    return user.team_id != world.team.id and next(shared, None) is None


def channel_json(channel: Channel, world: World, *, counts: bool, membership: bool) -> JsonObject:
    """Return a conversation.

    Args:
        channel: Which one.
        world: The workspace.
        counts: Whether to tell ``num_members``.
        membership: Whether to tell ``is_member`` (users.conversations does not).
    """
    body: JsonObject = {
        "id": channel.id,
        "created": channel.created,
        "is_archived": channel.is_archived,
        "is_im": channel.is_im,
        "is_org_shared": False,
        "context_team_id": world.team.id,
        "updated": channel.created * 1000,
    }
    if channel.is_im:
        return body | _im(channel, world)
    body |= _named(channel, world)
    if membership:
        body["is_member"] = world.bot_user_id in channel.members
    if counts:
        body["num_members"] = len(channel.members)
    return body


def _named(channel: Channel, world: World) -> JsonObject:
    """Return what only conversations with a name have: kind, sharing, topic and purpose."""
    return {
        "name": channel.name,
        "name_normalized": channel.name.lower(),
        "is_channel": channel.is_public,
        "is_group": channel.is_private and not channel.is_mpim,
        "is_mpim": channel.is_mpim,
        "is_private": channel.is_private or channel.is_mpim,
        "is_general": channel.is_general,
        "is_shared": channel.is_ext_shared,
        "is_ext_shared": channel.is_ext_shared,
        "is_pending_ext_shared": channel.is_pending_ext_shared,
        "is_read_only": channel.is_read_only,
        "shared_team_ids": _teams(channel, world),
        "unlinked": 0,
        "creator": channel.creator,
        "topic": {"value": channel.topic, "creator": channel.creator, "last_set": channel.created},
        "purpose": {"value": channel.purpose, "creator": channel.creator, "last_set": channel.created},
        "previous_names": [],
    }


def _im(channel: Channel, world: World) -> JsonObject:
    others = [member for member in channel.members if member != world.bot_user_id] or [world.bot_user_id]
    return {"user": others[0], "is_user_deleted": world.users[others[0]].deleted, "priority": 0}


def _teams(channel: Channel, world: World) -> list[str]:
    teams = {world.users[member].team_id for member in channel.members} if channel.is_ext_shared else set()
    return sorted({world.team.id} | teams)


def _profile(user: User) -> JsonObject:
    image = user.image or "https://a.slack-edge.com/avatar-unset_72.png"
    return {
        "real_name": user.real_name or user.name,
        "real_name_normalized": user.real_name or user.name,
        "display_name": user.display_name,
        "display_name_normalized": user.display_name,
        "title": user.title,
        "image_48": image,
        "image_72": image,
        "team": user.team_id,
    }
