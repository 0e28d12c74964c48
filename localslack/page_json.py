"""What the page is told, as JSON: people, channels, messages and views as one person sees them."""

from __future__ import annotations

from localslack.app_manifest import AppManifest
from localslack.core import Core
from localslack.json_types import JsonObject
from localslack.messages import Message, ts_key
from localslack.seen import seen_message
from localslack.views import View
from localslack.workspace import Channel, User

PAGE_MESSAGES = 60
"""Messages in one answer; the page asks for earlier ones."""


def people_json(core: Core) -> list[JsonObject]:
    """Return everybody in the workspace, in the description's order."""
    return [_person(user) for user in core.world.users.values()]


def _person(user: User) -> JsonObject:
    return {
        "id": user.id,
        "label": user.label,
        "real_name": user.real_name,
        "title": user.title,
        "tz": user.tz,
        "is_bot": user.is_bot,
        "is_guest": user.is_guest,
        "is_admin": user.is_admin,
        "deleted": user.deleted,
    }


def app_json(manifest: AppManifest, *, bot_user_id: str) -> JsonObject:
    """Return what the page can offer of the app: its commands, shortcuts and Home tab."""
    return {
        "name": manifest.name,
        "bot_user_id": bot_user_id,
        "has_home": manifest.home_tab,
        "commands": [
            {"command": command, "description": manifest.command_descriptions[command], "usage_hint": hint}
            for command, hint in manifest.command_hints.items()
        ],
        "shortcuts": [
            {
                "callback_id": shortcut.callback_id,
                "name": shortcut.name,
                "type": shortcut.kind,
                "description": shortcut.description,
            }
            for shortcut in manifest.shortcuts
        ],
    }


def channels_json(core: Core, user_id: str) -> list[JsonObject]:
    """Return the channels that the person may open; members by id for direct messages only."""
    world = core.world
    return [_channel(one, user_id) for one in world.channels.values() if world.person_sees(user_id, one)]


def _channel(channel: Channel, user_id: str) -> JsonObject:
    is_direct = channel.is_im or channel.is_mpim
    return {
        "id": channel.id,
        "name": channel.name,
        "kind": _kind(channel),
        "is_archived": channel.is_archived,
        "is_member": user_id in channel.members,
        "topic": channel.topic,
        "purpose": channel.purpose,
        "member_count": len(channel.members),
        "members": list(channel.members) if is_direct else [],
    }


def _kind(channel: Channel) -> str:
    if channel.is_im or channel.is_mpim:
        return "im" if channel.is_im else "mpim"
    return "private" if channel.is_private else "public"


def message_json(core: Core, message: Message, *, reply_count: int = 0) -> JsonObject:
    """Return one message; ``spoken`` is what a screen reader is told when it comes."""
    seen = seen_message(message, core.world)
    return {
        "ts": seen.ts,
        "channel_id": seen.channel_id,
        "user_id": seen.user_id,
        "text": seen.text,
        "blocks": list(seen.blocks),
        "thread_ts": seen.thread_ts,
        "is_ephemeral": seen.is_ephemeral,
        "is_edited": seen.is_edited,
        "is_app": seen.by_app,
        "reply_count": reply_count,
        "spoken": seen.plain_text,
    }


def channel_page_json(
    core: Core, user_id: str, channel_id: str, *, before: str | None, around: str | None
) -> JsonObject:
    """Return a stretch of a channel, oldest first, without thread replies.

    Args:
        core: The stand-in's state.
        user_id: Who looks; the caller has checked that this person may.
        channel_id: The channel.
        before: Only messages earlier than this ts, the newest of those.
        around: The stretch around this ts; for a reply, around the first message of its thread. The
            newest messages where there is no such message.
    """
    seen = core.store.seen_by(user_id, channel_id)
    counts = _reply_counts(seen)
    rows = [message for message in seen if not message.is_reply]
    start, end = _stretch(rows, seen, before=before, around=around)
    return {
        "messages": [message_json(core, one, reply_count=counts.get(one.ts, 0)) for one in rows[start:end]],
        "has_earlier": start > 0,
        "has_later": before is None and end < len(rows),
        "thread_ts": _thread_of(seen, around),
    }


def thread_json(core: Core, user_id: str, channel_id: str, ts: str) -> JsonObject:
    """Return a thread as one person sees it: its first message and the replies, oldest first."""
    seen = core.store.seen_by(user_id, channel_id)
    rows = [message for message in seen if ts in {message.ts, message.thread_ts}]
    return {"messages": [message_json(core, one, reply_count=len(rows) - 1) for one in rows]}


def view_json(core: Core, view: View) -> JsonObject:
    """Return a modal or Home tab: what is shown of it, and what its last submission was refused for."""
    whole = core.views.json(view)
    shown = {key: whole[key] for key in ("id", "type", "title", "submit", "close", "blocks")}
    return {**shown, "errors": dict(view.errors)}


def views_json(core: Core, user_id: str) -> JsonObject:
    """Return a person's open modals, top last, and the Home tab (None while none was published)."""
    home = core.views.home(user_id)
    stack = [view_json(core, view) for view in core.views.stack(user_id)]
    return {"views": stack, "home": None if home is None else view_json(core, home)}


def reply_count(core: Core, user_id: str, channel_id: str, ts: str) -> int:
    """Return how many replies to a message the person sees."""
    return _reply_counts(core.store.seen_by(user_id, channel_id)).get(ts, 0)


def _reply_counts(messages: list[Message]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for message in messages:
        if message.is_reply and message.thread_ts is not None:
            counts[message.thread_ts] = counts.get(message.thread_ts, 0) + 1
    return counts


def _thread_of(seen: list[Message], ts: str | None) -> str | None:
    return next((message.thread_ts for message in seen if message.ts == ts and message.is_reply), None)


def _stretch(rows: list[Message], seen: list[Message], *, before: str | None, around: str | None) -> tuple[int, int]:
    """Return start and end (exclusive) of the rows to show."""
    if before is not None:
        end = sum(1 for row in rows if ts_key(row.ts) < ts_key(before))
        return max(0, end - PAGE_MESSAGES), end
    wanted = _thread_of(seen, around) or around
    place = next((index for index, row in enumerate(rows) if row.ts == wanted), None)
    if place is None:
        return max(0, len(rows) - PAGE_MESSAGES), len(rows)
    end = min(len(rows), place + PAGE_MESSAGES // 2)
    return max(0, end - PAGE_MESSAGES), end
