"""The page's own files: index.html, CSS and JavaScript modules, and the emoji that it can name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import emoji
from aiohttp import web

PAGE_FOLDER = Path(__file__).parent / "page"

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

# Slack's names that the emoji package lists under others only.
_SLACK_NAMES = {
    "large_green_circle": "green_circle",
    "large_yellow_circle": "yellow_circle",
    "large_orange_circle": "orange_circle",
    "large_purple_circle": "purple_circle",
    "facepalm": "person_facepalming",
    "shrug": "person_shrugging",
    "simple_smile": "slightly_smiling_face",
}


async def serve_index(_request: web.Request) -> web.StreamResponse:
    """Answer with the page. It holds no data, so it needs no token; its script asks with one."""
    return _file(PAGE_FOLDER / "index.html")


async def serve_file(request: web.Request) -> web.StreamResponse:
    """Answer with one of the page's files; anything else is not found."""
    wanted = (PAGE_FOLDER / request.match_info["path"]).resolve()
    if not wanted.is_relative_to(PAGE_FOLDER.resolve()) or wanted.suffix not in _TYPES or not wanted.is_file():
        return web.json_response({"ok": False, "error": "There is no such file."}, status=404)
    return _file(wanted)


async def serve_emoji(_request: web.Request) -> web.StreamResponse:
    """Answer with characters by emoji name, without colons."""
    return web.json_response(emoji_names())


@cache
def emoji_names() -> dict[str, str]:
    """Return the character of every emoji name and alias; skin tones are left out."""
    names: dict[str, str] = {}
    for character, facts in emoji.EMOJI_DATA.items():
        if facts["status"] != emoji.STATUS["fully_qualified"]:
            continue
        for name in (facts["en"], *facts.get("alias", ())):
            if "skin_tone" not in name:
                names[name.strip(":")] = character
    return names | {slack: names[other] for slack, other in _SLACK_NAMES.items() if other in names}


def _file(path: Path) -> web.Response:
    return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8")
