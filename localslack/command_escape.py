"""What Slack does to the text of a command before the app gets it (``should_escape``).

The documentation shows users as ``<@U012ABCDEF>``, public channels as ``<#C012ABCDE|name>`` and private
ones as ``<#C012ABCDE|>``; links stand in angle brackets, and ``&``, ``<`` and ``>`` are entities.
"""

from __future__ import annotations

import re

from localslack.workspace import Channel, User
from localslack.world import World

_PIECE = re.compile(
    r"<[@#](?P<token>[^<>|\s]+)(?:\|[^<>]*)?>"
    r"|(?P<url>https?://[^\s<>]+)"
    r"|(?<![\w@])@(?P<user>[\w.\-]+)"
    r"|(?<![\w#&])#(?P<channel>[\w.\-]+)"
)


def escaped_command_text(text: str, user_id: str, world: World) -> str:
    """Return the text as the app gets it; names that nobody has stay as typed."""
    out, end = [], 0
    for match in _PIECE.finditer(text):
        out += [_entities(text[end : match.start()]), _piece(match, user_id, world)]
        end = match.end()
    return "".join([*out, _entities(text[end:])])


def _piece(match: re.Match[str], user_id: str, world: World) -> str:
    if match["token"]:
        # The composer's own completion puts tokens in; what somebody typed by hand names nothing.
        known = match["token"] in world.users or match["token"] in world.channels
        return match[0] if known else _entities(match[0])
    if match["url"]:
        return f"<{_entities(match['url'])}>"
    if match["user"]:
        user = _user(match["user"], world)
        return f"<@{user.id}>" if user else match[0]
    channel = _channel(match["channel"], user_id, world)
    if channel is None:
        return match[0]
    return f"<#{channel.id}|{channel.name if channel.is_public else ''}>"


def _user(name: str, world: World) -> User | None:
    named = (u for u in world.users.values() if name.lower() in {u.name.lower(), u.display_name.lower()})
    return next(named, None)


def _channel(name: str, user_id: str, world: World) -> Channel | None:
    named = (c for c in world.channels.values() if c.name == name and not (c.is_im or c.is_mpim))
    return next((channel for channel in named if world.person_sees(user_id, channel)), None)


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
