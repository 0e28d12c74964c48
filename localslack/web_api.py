"""The HTTP side: /api/METHOD and the response URLs, with faults, limits, tokens and scopes before each."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from localslack.arguments import Arguments, read_arguments
from localslack.auth import check_token, need_scopes
from localslack.core import Core
from localslack.errors import ApiError
from localslack.faults import RESPONSE_URL, Fault
from localslack.json_types import JsonObject
from localslack.methods.registry import METHODS
from localslack.responding import respond

_SECRET_ARGUMENTS = frozenset({"token"})


class WebAPI:
    """Answers the app's HTTP requests."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def add_routes(self, app: web.Application) -> None:
        """Add the API's routes to an application."""
        app.router.add_route("GET", "/api/{method}", self.handle_method)
        app.router.add_route("POST", "/api/{method}", self.handle_method)
        for prefix in ("commands", "actions", "app-actions"):
            app.router.add_post(f"/{prefix}/{{team}}/{{id}}/{{secret}}", self.handle_response_url)

    async def handle_method(self, request: web.Request) -> web.StreamResponse:
        """Answer one method call."""
        name = request.match_info["method"]
        if fault := self._core.faults.take(name):
            if fault.kind != "slow":
                self._core.recorder.call(name, {}, status=_status(fault), error=fault.kind)
                return _faulty(fault, request)
            await asyncio.sleep(fault.seconds)
        arguments: JsonObject = {}
        try:
            arguments = await read_arguments(request)
            limited = self._limited(name, arguments)
            if limited is not None:
                return limited
            body: JsonObject = {"ok": True, **self._run(name, Arguments(arguments), request)}
        except ApiError as exc:
            body = exc.body()
        shown = {key: value for key, value in arguments.items() if key not in _SECRET_ARGUMENTS}
        self._core.recorder.call(name, shown, error=body.get("error"))
        headers = {"X-OAuth-Scopes": ",".join(sorted(self._core.manifest.bot_scopes))}
        return web.json_response(body, headers=headers)

    async def handle_response_url(self, request: web.Request) -> web.StreamResponse:
        """Take one answer for a response URL: "ok", or an error as JSON."""
        if fault := self._core.faults.take(RESPONSE_URL):
            if fault.kind != "slow":
                self._core.recorder.call(RESPONSE_URL, {}, status=_status(fault), error=fault.kind)
                return _faulty(fault, request)
            await asyncio.sleep(fault.seconds)
        body = await _response_body(request)
        status, error = respond(self._core, request.path, body)
        self._core.recorder.call(RESPONSE_URL, body or {}, status=status, error=error)
        if error is None:
            return web.Response(text="ok")
        return web.json_response({"ok": False, "error": error}, status=status)

    def _limited(self, name: str, arguments: JsonObject) -> web.Response | None:
        channel_id = str(arguments.get("channel", ""))
        wait = self._core.limits.seconds_to_wait(name, channel_id=channel_id)
        if not wait:
            return None
        self._core.recorder.call(name, {}, status=429, error="ratelimited")
        return _ratelimited(wait)

    def _run(self, name: str, arguments: Arguments, request: web.Request) -> JsonObject:
        method = METHODS.get(name)
        if method is None:
            raise ApiError("unknown_method", facts={"req_method": name})
        header, argument = request.headers.get("Authorization"), arguments.find_text("token")
        check_token(self._core.tokens, wanted=method.caller, header=header, argument=argument)
        need_scopes(self._core.manifest, method.scopes)
        return method.run(self._core, arguments)


async def _response_body(request: web.Request) -> JsonObject | None:
    """Return the JSON object that was posted, also as a form's ``payload``; None when it is none."""
    text = await request.text()
    if request.content_type == "application/x-www-form-urlencoded":
        text = str((await request.post()).get("payload", ""))
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _status(fault: Fault) -> int:
    statuses = {"rate_limited": 429, "status_500": 500, "status_503": 503, "response_url_404": 404, "drop": 0}
    return statuses.get(fault.kind, 200)


def _faulty(fault: Fault, request: web.Request) -> web.StreamResponse:
    if fault.kind == "rate_limited":
        return _ratelimited(fault.retry_after)
    if fault.kind == "status_500":
        return web.Response(status=500, text="<html>Server Error</html>", content_type="text/html")
    if fault.kind == "status_503":
        return web.Response(status=503)
    if fault.kind == "malformed_json":
        return web.Response(text='{"ok": tru', content_type="application/json")
    if fault.kind == "response_url_404":
        return web.json_response({"ok": False, "error": "no_service"}, status=404)
    if fault.kind == "drop" and request.transport is not None:
        request.transport.abort()
    return web.json_response({"ok": False, "error": fault.error})


def _ratelimited(seconds: int) -> web.Response:
    body = {"ok": False, "error": "ratelimited"}
    return web.json_response(body, status=429, headers={"Retry-After": str(seconds)})
