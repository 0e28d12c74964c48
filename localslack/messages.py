"""What is written in channels, seen by each person: posts for everybody, ephemeral ones for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from localslack.ids import Stamps
from localslack.json_types import JsonObject
from localslack.workspace import SeedMessage
from localslack.world import World


@dataclass(slots=True, kw_only=True)
class Message:
    """One message. ``ephemeral_for`` is the only person who sees it; None means everybody there."""

    ts: str
    channel_id: str
    user_id: str
    text: str
    blocks: list[JsonObject] = field(default_factory=list)
    thread_ts: str | None = None
    ephemeral_for: str | None = None
    by_app: bool = False
    edited_ts: str | None = None
    typed_command: bool = False
    subtype: str | None = None
    state: JsonObject = field(default_factory=dict)

    @property
    def is_reply(self) -> bool:
        """Whether it stands in a thread below its first message."""
        return self.thread_ts is not None and self.thread_ts != self.ts


class MessageStore:
    """Every message, by channel in order of arrival. Belongs to the server's event loop."""

    def __init__(
        self, stamps: Stamps, seeds: Sequence[SeedMessage] = (), older: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._stamps = stamps
        self._posts: dict[str, dict[str, Message]] = {}
        self._older = {channel_id: dict(stamps) for channel_id, stamps in (older or {}).items()}
        for seed in seeds:
            self.add(
                Message(
                    ts=seed.ts,
                    channel_id=seed.channel_id,
                    user_id=seed.user_id,
                    text=seed.text,
                    thread_ts=seed.thread_ts,
                )
            )

    def add(self, message: Message) -> Message:
        """Keep a message and return it."""
        self._posts.setdefault(message.channel_id, {})[message.ts] = message
        return message

    def next_ts(self) -> str:
        """Return a fresh message timestamp."""
        return self._stamps.next()

    def find(self, channel_id: str, ts: str) -> Message | None:
        """Return the message with that timestamp, ephemeral ones too, or None."""
        return self._posts.get(channel_id, {}).get(ts)

    def thread_of(self, channel_id: str, ts: str) -> str | None:
        """Return the thread that a message replies in, "" outside threads, None where there is no such message.

        Messages that nobody sees here, but that exist, are known too; ephemeral ones are not.
        """
        message = self.find(channel_id, ts)
        if message is None:
            return self._older.get(channel_id, {}).get(ts)
        if message.ephemeral_for is not None:
            return None
        return (message.thread_ts or "") if message.is_reply else ""

    def forget_older(self, channel_id: str, ts: str) -> bool:
        """Drop a message that nobody sees here; returns whether there was one."""
        return self._older.get(channel_id, {}).pop(ts, None) is not None

    def delete(self, message: Message) -> None:
        """Take a message away; nothing happens when it is gone already."""
        self._posts.get(message.channel_id, {}).pop(message.ts, None)

    def posts(self, channel_id: str) -> list[Message]:
        """Return the channel's messages that everybody there sees, oldest first."""
        return sorted(
            (m for m in self._posts.get(channel_id, {}).values() if m.ephemeral_for is None),
            key=lambda message: ts_key(message.ts),
        )

    def seen_by(self, user_id: str, channel_id: str) -> list[Message]:
        """Return what one person sees in the channel, oldest first, replies among them."""
        kept = (m for m in self._posts.get(channel_id, {}).values() if m.ephemeral_for in {None, user_id})
        return sorted(kept, key=lambda message: ts_key(message.ts))

    def replies(self, channel_id: str, thread_ts: str) -> list[Message]:
        """Return a thread: its first message and the replies, oldest first."""
        return [m for m in self.posts(channel_id) if thread_ts in {m.ts, m.thread_ts}]

    def forget_ephemeral(self, user_id: str) -> None:
        """Drop every ephemeral message of one person, as reloading Slack does."""
        for message in [m for m in self._all() if m.ephemeral_for == user_id]:
            self.delete(message)

    def rename_channel(self, channel_id: str, new_channel_id: str) -> None:
        """Carry a channel's messages over to its new id."""
        moved = self._posts.pop(channel_id, {})
        for message in moved.values():
            message.channel_id = new_channel_id
        self._posts[new_channel_id] = moved
        self._older[new_channel_id] = self._older.pop(channel_id, {})

    def drop_channel(self, channel_id: str) -> None:
        """Drop a deleted channel's messages."""
        self._posts.pop(channel_id, None)
        self._older.pop(channel_id, None)

    def _all(self) -> Iterator[Message]:
        for channel in self._posts.values():
            yield from channel.values()


def ts_key(ts: str) -> tuple[int, int]:
    """Return a sort key for a timestamp of any precision: seconds, then microseconds."""
    whole, _, part = ts.partition(".")
    return int(whole or 0), int((part + "000000")[:6])


def message_json(message: Message, world: World) -> JsonObject:
    """Return a message as history and payloads show it."""
    body: JsonObject = {
        "type": "message",
        "user": message.user_id,
        "ts": message.ts,
        "text": message.text,
        "team": world.team.id,
    }
    if message.blocks:
        body["blocks"] = message.blocks
    if message.subtype:
        body["subtype"] = message.subtype
    if message.by_app:
        body |= {"bot_id": world.bot_id, "app_id": world.app_id}
    if message.thread_ts:
        body["thread_ts"] = message.thread_ts
    if message.edited_ts:
        body["edited"] = {"user": message.user_id, "ts": message.edited_ts}
    return body
