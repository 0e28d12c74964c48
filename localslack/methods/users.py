"""users.*: people, and the conversations of one person."""

from __future__ import annotations

from localslack.arguments import Arguments
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonObject
from localslack.methods.conversations import by_types, paged
from localslack.methods.method import Method
from localslack.pagination import page_of
from localslack.shapes import channel_json, user_json

_WHOLE_LIST = 1_000


def info(core: Core, arguments: Arguments) -> JsonObject:
    """Describe one person."""
    user = core.world.user(arguments.text("user"))
    return {"user": user_json(user, core.world, now=core.clock())}


def list_users(core: Core, arguments: Arguments) -> JsonObject:
    """List everybody by pages; without a limit all at once, refused where they are too many."""
    users = list(core.world.users.values())
    limit = arguments.limit(default=_WHOLE_LIST, most=_WHOLE_LIST)
    if arguments.find_text("limit") in {None, "0"} and len(users) > _WHOLE_LIST:
        raise ApiError("limit_required")
    limit = min(limit, core.page_items or limit)
    shown, cursor = page_of(users, lambda u: u.id, cursor=arguments.find_text("cursor"), limit=limit)
    now = core.clock()
    members = [user_json(user, core.world, now=now) for user in shown]
    return {
        "members": members,
        "cache_ts": int(now),
        "response_metadata": {"next_cursor": cursor},
    }


def conversations(core: Core, arguments: Arguments) -> JsonObject:
    """List a person's memberships (default: the bot's); private ones only where the bot is a member too."""
    world = core.world
    user_id = arguments.find_text("user") or world.bot_user_id
    world.user(user_id)
    kept = [
        channel
        for channel in by_types(core, arguments, world.channels_of(user_id))
        if channel.is_public or world.bot_user_id in channel.members
    ]
    return paged(core, arguments, kept, lambda channel: channel_json(channel, world, counts=False, membership=False))


METHODS = {
    "users.info": Method(run=info, scopes=("users:read",)),
    "users.list": Method(run=list_users, scopes=("users:read",)),
    "users.conversations": Method(run=conversations),
}
