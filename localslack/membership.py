"""Changes of the workspace itself, each with the event that Slack sends for it.

Slack tells an app about a channel if it is public or the app's bot is in it; about joins and leaves only
where the bot is (its own included). That a channel turned private is told in a message of the channel
only (``channel_convert_to_private``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from localslack.changes import Change
from localslack.core import Core
from localslack.errors import ApiError
from localslack.events import MESSAGE_EVENTS, Events
from localslack.json_types import JsonObject
from localslack.messages import Message
from localslack.methods.conversations import channel_type
from localslack.shapes import user_json
from localslack.workspace import Channel, User


class Membership:
    """Carries out changes by hand: who is where, and what channels are."""

    def __init__(self, core: Core, events: Events) -> None:
        self._core = core
        self._events = events

    def join(self, channel_id: str, user_id: str) -> None:
        """Add a member; nothing happens when the user is one already."""
        channel = self._core.world.channel(channel_id)
        self._core.world.user(user_id)
        if user_id in channel.members:
            return
        channel = self._core.world.change_channel(channel_id, members=(*channel.members, user_id))
        self._moved("member_joined_channel", channel, user_id)

    def leave(self, channel_id: str, user_id: str) -> None:
        """Remove a member; nothing happens when the user is none."""
        before = self._core.world.channel(channel_id)
        if user_id not in before.members:
            return
        kept = tuple(member for member in before.members if member != user_id)
        self._core.world.change_channel(channel_id, members=kept)
        self._moved("member_left_channel", before, user_id)

    def archive(self, channel_id: str) -> None:
        """Archive a channel."""
        channel = self._change(channel_id, is_archived=True)
        self._tell(channel, "archive", {"channel": channel_id, "user": channel.creator})

    def unarchive(self, channel_id: str) -> None:
        """Take a channel out of the archive."""
        channel = self._change(channel_id, is_archived=False)
        self._tell(channel, "unarchive", {"channel": channel_id, "user": channel.creator})

    def rename(self, channel_id: str, name: str) -> None:
        """Give a channel another name."""
        channel = self._change(channel_id, name=name)
        body = {"id": channel_id, "name": name, "created": channel.created}
        self._tell(channel, "rename", {"channel": body})

    def make_private(self, channel_id: str) -> None:
        """Turn a public channel private; its id stays."""
        channel = self._change(channel_id, is_private=True)
        if self._core.world.bot_user_id in channel.members:
            message = self._core.store.add(
                Message(
                    ts=self._core.store.next_ts(),
                    channel_id=channel_id,
                    user_id=channel.creator or self._core.world.bot_user_id,
                    text="made this channel private",
                    subtype="channel_convert_to_private",
                )
            )
            self.say(message, channel)

    def make_read_only(self, channel_id: str) -> None:
        """Let nobody but admins write in a channel; Slack sends no event for that."""
        self._change(channel_id, is_read_only=True)

    def share(self, channel_id: str) -> None:
        """Share a channel with another workspace."""
        channel = self._change(channel_id, is_ext_shared=True)
        self._tell_plain(channel, {"type": "channel_shared", "connected_team_id": "T0OTHER", "channel": channel_id})

    def unshare(self, channel_id: str) -> None:
        """End the sharing; members from elsewhere are gone."""
        world = self._core.world
        inside = tuple(m for m in world.channel(channel_id).members if not world.is_external(m))
        channel = self._change(channel_id, is_ext_shared=False, members=inside)
        event = {
            "type": "channel_unshared",
            "previously_connected_team_id": "T0OTHER",
            "channel": channel_id,
            "is_ext_shared": False,
        }
        self._tell_plain(channel, event)

    def change_id(self, channel_id: str, new_channel_id: str) -> None:
        """Give a channel another id, as sharing a private one does."""
        world = self._core.world
        channel = world.change_channel(channel_id, id=new_channel_id)
        del world.channels[channel_id]
        world.channels[new_channel_id] = channel
        self._core.store.rename_channel(channel_id, new_channel_id)
        self._seen_by(self._core.audience(channel))
        event = {
            "type": "channel_id_changed",
            "old_channel_id": channel_id,
            "new_channel_id": new_channel_id,
        }
        self._tell_plain(channel, event)

    def delete_channel(self, channel_id: str) -> None:
        """Delete a channel with everything in it."""
        channel = self._core.world.channel(channel_id)
        people = self._core.audience(channel)
        del self._core.world.channels[channel_id]
        self._core.store.drop_channel(channel_id)
        self._seen_by(people)
        self._tell(channel, "deleted", {"channel": channel_id})

    def create_channel(self, channel: Channel) -> None:
        """Add a channel."""
        self._core.world.channels[channel.id] = channel
        self._seen_by(self._core.audience(channel))
        if channel.is_public:
            body = {
                "id": channel.id,
                "name": channel.name,
                "created": channel.created,
                "creator": channel.creator,
            }
            self._events.send({"type": "channel_created", "channel": body})

    def change_user(self, user_id: str, **fields: Any) -> User:  # noqa: ANN401 - dataclass fields
        """Change a person's record (``deleted=True``, ``is_restricted=True``, a name, a time zone)."""
        user = self._core.world.change_user(user_id, **fields)
        body = user_json(user, self._core.world, now=self._core.clock())
        self._events.send({"type": "user_change", "user": body, "cache_ts": int(self._core.clock())})
        self._seen_by(self._core.world.users)
        return user

    def delete_message(self, channel_id: str, ts: str) -> None:
        """Delete anybody's message, as its author or an admin does; apps learn of it only where they subscribed.

        Raises:
            ApiError: ``message_not_found``.
        """
        message = self._core.store.find(channel_id, ts)
        if message is None:
            if not self._core.store.forget_older(channel_id, ts):
                raise ApiError("message_not_found")
            return
        self._core.remove(message)

    def say(self, message: Message, channel: Channel) -> None:
        """Tell people of a new message, and the app where it subscribed and is a member."""
        self._core.announce("message", message)
        kind = channel_type(channel)
        if self._core.world.bot_user_id not in channel.members:
            return
        event: JsonObject = {
            "type": "message",
            "channel": channel.id,
            "user": message.user_id,
            "text": message.text,
            "ts": message.ts,
            "channel_type": {"public_channel": "channel", "private_channel": "group"}.get(kind, kind),
        }
        event |= {"thread_ts": message.thread_ts} if message.thread_ts else {}
        event |= {"subtype": message.subtype} if message.subtype else {}
        self._events.send(event, subscription=MESSAGE_EVENTS[kind])
        if f"<@{self._core.world.bot_user_id}>" in message.text:
            self._events.send({**event, "type": "app_mention"})

    def _change(self, channel_id: str, **fields: Any) -> Channel:  # noqa: ANN401 - dataclass fields
        before = self._core.audience(self._core.world.channel(channel_id))
        channel = self._core.world.change_channel(channel_id, **fields)
        self._seen_by([*before, *self._core.audience(channel)])
        return channel

    def _moved(self, event: str, channel: Channel, user_id: str) -> None:
        self._seen_by([*self._core.audience(channel), user_id])
        if self._core.world.bot_user_id not in {*channel.members, user_id}:
            return
        self._events.send(
            {
                "type": event,
                "user": user_id,
                "channel": channel.id,
                "channel_type": "C" if channel.is_public else "G",
                "team": self._core.world.users[user_id].team_id,
            }
        )

    def _tell(self, channel: Channel, what: str, body: JsonObject) -> None:
        kind = "channel" if channel.is_public else "group"
        self._tell_plain(channel, {"type": f"{kind}_{what}", **body})

    def _tell_plain(self, channel: Channel, event: JsonObject) -> None:
        if channel.is_public or self._core.world.bot_user_id in channel.members:
            self._events.send(event)

    def _seen_by(self, user_ids: Iterable[str]) -> None:
        self._core.feed.publish(Change(kind="channel"), user_ids)
