"""auth.test, api.test, team.info and apps.connections.open."""

from __future__ import annotations

from localslack.arguments import Arguments
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonObject
from localslack.methods.method import Method
from localslack.socket_mode import check_socket_mode


def auth_test(core: Core, arguments: Arguments) -> JsonObject:
    """Tell whose token it is."""
    del arguments
    world = core.world
    return {
        "url": world.team.url,
        "team": world.team.name,
        "user": world.users[world.bot_user_id].name,
        "team_id": world.team.id,
        "user_id": world.bot_user_id,
        "bot_id": world.bot_id,
        "is_enterprise_install": False,
    }


def api_test(core: Core, arguments: Arguments) -> JsonObject:
    """Give the arguments back, or the error that they ask for."""
    del core
    if error := arguments.find_text("error"):
        raise ApiError(error, facts={"args": arguments.raw})
    return {"args": arguments.raw}


def team_info(core: Core, arguments: Arguments) -> JsonObject:
    """Describe the workspace."""
    wanted = arguments.find_text("team")
    team = core.world.team
    if wanted not in {None, team.id}:
        raise ApiError("team_not_found")
    return {"team": {"id": team.id, "name": team.name, "domain": team.domain, "url": team.url, "icon": {}}}


def apps_connections_open(core: Core, arguments: Arguments) -> JsonObject:
    """Give a WebSocket address that works once."""
    del arguments
    check_socket_mode(enabled=core.manifest.socket_mode)
    return {"url": core.hub.open_ticket(core.base_url)}


METHODS = {
    "auth.test": Method(run=auth_test),
    "api.test": Method(run=api_test, caller="none"),
    "team.info": Method(run=team_info, scopes=("team:read",)),
    "apps.connections.open": Method(run=apps_connections_open, caller="app"),
}
