"""conversations.*: channels, members and history, as far as the bot may see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from localslack.arguments import Arguments
from localslack.auth import need_scopes
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonObject
from localslack.messages import Message, message_json, ts_key
from localslack.methods.method import Method
from localslack.pagination import page_of
from localslack.shapes import channel_json
from localslack.workspace import Channel

LIMIT = 999
DEFAULT_LIMIT = 100
_SCOPES = {
    "public_channel": "channels",
    "private_channel": "groups",
    "mpim": "mpim",
    "im": "im",
}


def channel_type(channel: Channel) -> str:
    """Return the word that ``types`` arguments use for this conversation."""
    if channel.is_im:
        return "im"
    if channel.is_mpim:
        return "mpim"
    return "private_channel" if channel.is_private else "public_channel"


def by_types(core: Core, arguments: Arguments, channels: Iterable[Channel]) -> list[Channel]:
    """Keep the conversations of the types asked for (default public), and not archived ones if so asked.

    Raises:
        ApiError: ``invalid_types``; ``missing_scope`` naming the read scope of every type that lacks it.
    """
    types = arguments.words("types", default="public_channel")
    if any(name not in _SCOPES for name in types):
        raise ApiError("invalid_types")
    need_scopes(core.manifest, [f"{_SCOPES[name]}:read" for name in types])
    no_archived = arguments.flag("exclude_archived")
    return [c for c in channels if channel_type(c) in types and not (no_archived and c.is_archived)]


def paged(
    core: Core, arguments: Arguments, channels: list[Channel], shape: Callable[[Channel], JsonObject]
) -> JsonObject:
    """Return one page of conversations."""
    limit = arguments.limit(default=DEFAULT_LIMIT, most=LIMIT)
    limit = min(limit, core.page_items or limit)
    shown, cursor = page_of(channels, lambda c: c.id, cursor=arguments.find_text("cursor"), limit=limit)
    return {
        "channels": [shape(channel) for channel in shown],
        "response_metadata": {"next_cursor": cursor},
    }


def list_channels(core: Core, arguments: Arguments) -> JsonObject:
    """List every public channel, and the other conversations that the bot is in."""
    world = core.world
    visible = [c for c in world.channels.values() if c.is_public or world.bot_user_id in c.members]
    kept = by_types(core, arguments, visible)
    return paged(core, arguments, kept, lambda c: channel_json(c, world, counts=True, membership=True))


def info(core: Core, arguments: Arguments) -> JsonObject:
    """Describe one conversation."""
    channel = _readable(core, arguments, "read")
    counts = arguments.flag("include_num_members")
    return {"channel": channel_json(channel, core.world, counts=counts, membership=True)}


def members(core: Core, arguments: Arguments) -> JsonObject:
    """List the members of a conversation, external ones too."""
    channel = _readable(core, arguments, "read")
    limit = arguments.limit(default=DEFAULT_LIMIT, most=LIMIT)
    limit = min(limit, core.page_items or limit)
    shown, cursor = page_of(channel.members, str, cursor=arguments.find_text("cursor"), limit=limit)
    return {"members": shown, "response_metadata": {"next_cursor": cursor}}


def open_conversation(core: Core, arguments: Arguments) -> JsonObject:
    """Open a DM or group DM with people, or find one again by its id."""
    if channel_id := arguments.find_text("channel"):
        channel = core.world.channel_for_bot(channel_id)
        if not (channel.is_im or channel.is_mpim):
            raise ApiError("method_not_supported_for_channel_type")
        return {"channel": {"id": channel.id}, "no_op": True, "already_open": True}
    people = arguments.words("users", default="")
    if not people:
        raise ApiError("users_list_not_supplied")
    need_scopes(core.manifest, ["im:write" if len(people) == 1 else "mpim:write"])
    for person in people:
        if core.world.user(person).deleted:
            raise ApiError("user_disabled")
    channel = core.world.open_dm({*people, core.world.bot_user_id}, created=int(core.clock()))
    if arguments.flag("return_im"):
        return {"channel": channel_json(channel, core.world, counts=False, membership=True)}
    return {"channel": {"id": channel.id}}


def history(core: Core, arguments: Arguments) -> JsonObject:
    """Return a conversation's messages, newest first, replies apart."""
    channel = _joined(core, arguments)
    top = [m for m in core.store.posts(channel.id) if not m.is_reply]
    return _messages(core, arguments, list(reversed(_between(top, arguments))))


def replies(core: Core, arguments: Arguments) -> JsonObject:
    """Return a thread, oldest first."""
    channel = _joined(core, arguments)
    ts = arguments.text("ts")
    thread = core.store.replies(channel.id, ts)
    if not thread:
        raise ApiError("thread_not_found")
    return _messages(core, arguments, _between(thread, arguments))


def _messages(core: Core, arguments: Arguments, kept: list[Message]) -> JsonObject:
    limit = arguments.limit(default=DEFAULT_LIMIT, most=LIMIT)
    limit = min(limit, core.page_items or limit)
    shown, cursor = page_of(kept, lambda m: m.ts, cursor=arguments.find_text("cursor"), limit=limit)
    return {
        "messages": [message_json(message, core.world) for message in shown],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


def _between(messages: list[Message], arguments: Arguments) -> list[Message]:
    oldest, latest = arguments.find_text("oldest"), arguments.find_text("latest")
    inclusive = arguments.flag("inclusive")
    low = ts_key(oldest) if oldest else (-1, 0)
    high = ts_key(latest) if latest else (2**62, 0)
    inside = (m for m in messages if low <= ts_key(m.ts) <= high)
    return [m for m in inside if inclusive or ts_key(m.ts) not in {low, high}]


def _readable(core: Core, arguments: Arguments, right: str) -> Channel:
    channel = core.world.channel_for_bot(arguments.text("channel"))
    need_scopes(core.manifest, [f"{_SCOPES[channel_type(channel)]}:{right}"])
    return channel


def _joined(core: Core, arguments: Arguments) -> Channel:
    channel = _readable(core, arguments, "history")
    if core.world.bot_user_id not in channel.members:
        raise ApiError("not_in_channel")
    return channel


METHODS = {
    "conversations.list": Method(run=list_channels),
    "conversations.info": Method(run=info),
    "conversations.members": Method(run=members),
    "conversations.open": Method(run=open_conversation),
    "conversations.history": Method(run=history),
    "conversations.replies": Method(run=replies),
}
