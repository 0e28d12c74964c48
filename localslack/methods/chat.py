"""chat.*: posting, changing and deleting the app's messages, and permalinks."""

from __future__ import annotations

from localslack.arguments import Arguments
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonObject
from localslack.messages import Message, message_json
from localslack.methods.method import Method
from localslack.workspace import Channel

UPDATE_CHARS = 4_000
EPHEMERAL_BYTES = 4_000


def post_message(core: Core, arguments: Arguments) -> JsonObject:
    """Post in a channel that the bot is in, or in a DM with the user named instead of a channel."""
    channel = _writable(core, arguments.text("channel"))
    thread_ts = _thread(core, channel, arguments)
    content = core.content.read(arguments.raw, surface="message", method="chat.postMessage")
    message = core.post(channel, content, method="chat.postMessage", thread_ts=thread_ts)
    return {"channel": channel.id, "ts": message.ts, "message": message_json(message, core.world)}


def post_ephemeral(core: Core, arguments: Arguments) -> JsonObject:
    """Show a message to one member of a channel."""
    user_id = arguments.text("user")
    channel = _writable(core, arguments.text("channel"))
    if core.world.users.get(user_id) is None or core.world.users[user_id].deleted:
        raise ApiError("user_not_found")
    if user_id not in channel.members:
        raise ApiError("user_not_in_channel")
    thread_ts = _thread(core, channel, arguments)
    content = core.content.read(
        arguments.raw,
        surface="ephemeral",
        method="chat.postEphemeral",
        text_limit=EPHEMERAL_BYTES,
        text_size=lambda text: len(text.encode()),
    )
    message = core.post(channel, content, method="chat.postEphemeral", ephemeral_for=user_id, thread_ts=thread_ts)
    return {"message_ts": message.ts}


def update(core: Core, arguments: Arguments) -> JsonObject:
    """Change one of the bot's own messages; ephemeral ones cannot be found."""
    channel, message = _own(core, arguments, error="cant_update_message")
    content = core.content.read(arguments.raw, surface="message", method="chat.update", text_limit=UPDATE_CHARS)
    core.replace(message, content, method="chat.update")
    body = message_json(message, core.world)
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": body}


def delete(core: Core, arguments: Arguments) -> JsonObject:
    """Delete one of the bot's own messages."""
    channel, message = _own(core, arguments, error="cant_delete_message")
    core.remove(message)
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(core: Core, arguments: Arguments) -> JsonObject:
    """Return the address of a message."""
    channel = core.world.channel_for_bot(arguments.text("channel"))
    ts = arguments.text("message_ts")
    thread_ts = core.store.thread_of(channel.id, ts)
    if thread_ts is None:
        raise ApiError("message_not_found")
    link = f"{core.world.team.url}archives/{channel.id}/p{ts.replace('.', '')}"
    if thread_ts:
        link += f"?thread_ts={thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _writable(core: Core, name: str) -> Channel:
    """Return the channel that the bot may post in, opening a DM when a user is named."""
    if name in core.world.users:
        return core.world.open_dm({name, core.world.bot_user_id}, created=int(core.clock()))
    channel = core.world.channel_for_bot(name)
    if channel.is_archived:
        raise ApiError("is_archived")
    may_join_in = channel.is_public and "chat:write.public" in core.manifest.bot_scopes
    if core.world.bot_user_id not in channel.members and not may_join_in:
        raise ApiError("not_in_channel")
    return channel


def _thread(core: Core, channel: Channel, arguments: Arguments) -> str | None:
    thread_ts = arguments.find_text("thread_ts")
    if thread_ts is not None and core.store.find(channel.id, thread_ts) is None:
        raise ApiError("thread_not_found")
    return thread_ts


def _own(core: Core, arguments: Arguments, *, error: str) -> tuple[Channel, Message]:
    channel = core.world.channel_for_bot(arguments.text("channel"))
    message = core.store.find(channel.id, arguments.text("ts"))
    if message is None or message.ephemeral_for is not None:
        raise ApiError("message_not_found")
    if not message.by_app:
        raise ApiError(error)
    return channel, message


_WRITE = ("chat:write",)
METHODS = {
    "chat.postMessage": Method(run=post_message, scopes=_WRITE),
    "chat.postEphemeral": Method(run=post_ephemeral, scopes=_WRITE),
    "chat.update": Method(run=update, scopes=_WRITE),
    "chat.delete": Method(run=delete, scopes=_WRITE),
    "chat.getPermalink": Method(run=get_permalink),
}
