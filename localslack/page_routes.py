"""The page's routes: its files, a JSON API to act as people, and a live feed.

Everything a person does here goes through ``localslack.driver.Person``, as the tests' own actions do, so the
page can do nothing that somebody at a screen could not.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from aiohttp import WSMsgType, web
from pydantic import ValidationError

from localslack.changes import Change
from localslack.driver import NotVisibleError, Outcome, Person, SeenMessage, SeenView
from localslack.input_state import entered
from localslack.json_types import JsonObject
from localslack.page_bodies import (
    ActionBody,
    Body,
    CloseBody,
    JoinBody,
    SayBody,
    ShortcutBody,
    SubmitBody,
    entered_value,
)
from localslack.page_files import serve_emoji, serve_file, serve_index
from localslack.page_guard import SOCKET_PROTOCOL, PageGuard
from localslack.page_json import (
    app_json,
    channel_page_json,
    channels_json,
    message_json,
    people_json,
    reply_count,
    thread_json,
    views_json,
)

if TYPE_CHECKING:
    from localslack.server import LocalSlack

_BodyT = TypeVar("_BodyT", bound=Body)

_HEARTBEAT_SECONDS = 20.0
_GONE = "That is no longer there."
_PRESSED = frozenset({"button", "icon_button", "workflow_button"})


def page_address(slack: LocalSlack) -> str:
    """Return the address to open in a browser; it carries the page's token."""
    return f"{slack.url}/?token={slack.page_token}"


def add_page_routes(app: web.Application, slack: LocalSlack) -> None:
    """Add the page to the stand-in; for ``LocalSlack(extend=[add_page_routes])``."""
    PageRoutes(slack).add_to(app)


class PageRoutes:
    """Answers the page. Belongs to the server's event loop."""

    def __init__(self, slack: LocalSlack) -> None:
        self._slack = slack
        self._core = slack.core
        self._guard = PageGuard(token=slack.page_token, port=lambda: slack.port)

    def add_to(self, app: web.Application) -> None:
        """Add every route."""
        guard = self._guard
        app.router.add_get("/", guard.wrap(serve_index, needs_token=False))
        reads = {
            "workspace": self._workspace,
            "emoji": serve_emoji,
            "channels": self._channels,
            "messages": self._messages,
            "thread": self._thread,
            "views": self._views,
            "live": self._live,
        }
        for name, handler in reads.items():
            app.router.add_get(f"/page/api/{name}", guard.wrap(_sentences(handler), needs_token=True))
        for name, action in self._actions().items():
            app.router.add_post(f"/page/api/{name}", guard.wrap(_sentences(action), needs_token=True))
        app.router.add_get("/page/{path:.+}", guard.wrap(serve_file, needs_token=False))

    def _actions(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        return {
            "say": self._action(SayBody, self._say),
            "action": self._action(ActionBody, self._act),
            "shortcut": self._action(ShortcutBody, self._shortcut),
            "submit": self._action(SubmitBody, self._submit),
            "close": self._action(CloseBody, self._close),
            "join": self._action(JoinBody, self._join),
            "home": self._action(Body, self._open_home),
            "reload": self._action(Body, self._reload),
        }

    # What is read.

    async def _workspace(self, _request: web.Request) -> web.StreamResponse:
        team = self._core.world.team
        return web.json_response(
            {
                "team": {"name": team.name, "url": team.url},
                "acting_user_id": self._slack.workspace.acting_user_id,
                "people": people_json(self._core),
                "app": app_json(self._core.manifest, bot_user_id=self._core.world.bot_user_id),
            }
        )

    async def _channels(self, request: web.Request) -> web.StreamResponse:
        person = self._person(request.query.get("user"))
        return web.json_response({"channels": channels_json(self._core, person.user_id)})

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        person, channel_id = self._place(request)
        before, around = request.query.get("before"), request.query.get("around")
        return web.json_response(
            channel_page_json(self._core, person.user_id, channel_id, before=before, around=around)
        )

    async def _thread(self, request: web.Request) -> web.StreamResponse:
        person, channel_id = self._place(request)
        return web.json_response(thread_json(self._core, person.user_id, channel_id, request.query.get("ts", "")))

    async def _views(self, request: web.Request) -> web.StreamResponse:
        person = self._person(request.query.get("user"))
        return web.json_response(views_json(self._core, person.user_id))

    def _person(self, user_id: str | None) -> Person:
        try:
            return self._slack.person(user_id or "")
        except KeyError as exc:
            raise NotVisibleError(f"There is no user {user_id!r}.") from exc

    def _place(self, request: web.Request) -> tuple[Person, str]:
        person = self._person(request.query.get("user"))
        channel_id = request.query.get("channel", "")
        self._check_sees(person, channel_id)
        return person, channel_id

    def _check_sees(self, person: Person, channel_id: str) -> None:
        channel = self._core.world.channels.get(channel_id)
        if channel is None or not self._core.world.person_sees(person.user_id, channel):
            raise NotVisibleError(f"There is no channel {channel_id!r} for this person.")

    # What is done.

    def _action(
        self, shape: type[_BodyT], act: Callable[[Person, _BodyT], Awaitable[Outcome]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return a handler that reads the body, acts, and tells what Slack would show the person."""

        async def handle(request: web.Request) -> web.StreamResponse:
            body = shape.model_validate_json(await request.read())
            person = self._person(body.user)
            told = len(person.errors)
            try:
                outcome = await act(person, body)
            except NotVisibleError as exc:
                return web.json_response({"ok": False, "error": {"code": "not_visible", "text": f"{_GONE} ({exc})"}})
            return web.json_response(_result(person, outcome, told))

        return handle

    async def _say(self, person: Person, body: SayBody) -> Outcome:
        return await person.type(body.text, channel=body.channel, thread_ts=body.thread_ts)

    async def _act(self, person: Person, body: ActionBody) -> Outcome:
        place = self._find_place(person, body)
        self._enter(person, place, body.values)
        action = body.action
        action_id, block_id = str(action.get("action_id", "")), str(action.get("block_id", ""))
        if action.get("type") in _PRESSED:
            return await person.click(place, action_id=action_id, block_id=block_id)
        return await person.choose(place, entered_value(action), action_id=action_id, block_id=block_id)

    async def _shortcut(self, person: Person, body: ShortcutBody) -> Outcome:
        if body.channel is None or body.ts is None:
            return await person.global_shortcut(body.callback_id)
        return await person.shortcut(body.callback_id, message=self._find_message(person, body.channel, body.ts))

    async def _submit(self, person: Person, body: SubmitBody) -> Outcome:
        view = self._find_view(person, body.view_id)
        self._enter(person, view, body.values)
        return await person.submit(view)

    async def _close(self, person: Person, body: CloseBody) -> Outcome:
        view = self._find_view(person, body.view_id)
        return await (person.close_all() if body.all else person.close(view))

    async def _join(self, person: Person, body: JoinBody) -> Outcome:
        self._check_sees(person, body.channel)
        self._slack.join(body.channel, person.user_id)
        return Outcome(acked=True, seconds=0.0)

    async def _open_home(self, person: Person, _body: Body) -> Outcome:
        return await person.open_home()

    async def _reload(self, person: Person, _body: Body) -> Outcome:
        await person.reload()
        return Outcome(acked=True, seconds=0.0)

    def _find_place(self, person: Person, body: ActionBody) -> SeenMessage | SeenView:
        if body.view_id is not None:
            return self._find_view(person, body.view_id)
        return self._find_message(person, body.channel or "", body.ts or "")

    def _find_message(self, person: Person, channel_id: str, ts: str) -> SeenMessage:
        found = [message for message in person.messages(channel_id) if message.ts == ts]
        if not found:
            raise NotVisibleError(f"no message {ts}")
        return found[0]

    def _find_view(self, person: Person, view_id: str) -> SeenView:
        shown = [*person.views, *([person.home] if person.home else [])]
        found = [view for view in shown if view.id == view_id]
        if not found:
            raise NotVisibleError(f"no view {view_id}")
        return found[0]

    def _enter(self, person: Person, place: SeenMessage | SeenView, values: dict[str, dict[str, JsonObject]]) -> None:
        """Put what the page's inputs hold into the view's or the message's state, without telling the app."""
        for control in place.controls:
            state = values.get(control.block_id, {}).get(control.action_id)
            if state is None or state.get("type") != control.type:
                continue
            try:
                if isinstance(place, SeenView):
                    person.enter(place, control, entered_value(state))
                elif message := self._core.store.find(place.channel_id, place.ts):
                    held = message.state.setdefault(control.block_id, {})
                    held[control.action_id] = entered(control.element, entered_value(state))
            except ValueError as exc:
                raise NotVisibleError(str(exc)) from exc

    # What changes.

    async def _live(self, request: web.Request) -> web.StreamResponse:
        person = self._person(request.query.get("user"))
        socket = web.WebSocketResponse(protocols=[SOCKET_PROTOCOL], heartbeat=_HEARTBEAT_SECONDS)
        await socket.prepare(request)
        changes = self._slack.changes(person.user_id)
        telling = asyncio.create_task(self._tell(socket, person, changes))
        try:
            # The task runs up to its first wait; from the greeting on, nothing is missed.
            await asyncio.sleep(0)
            await socket.send_json({"kind": "hello"})
            async for frame in socket:
                if frame.type is WSMsgType.ERROR:
                    break
        finally:
            telling.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await telling
        return socket

    async def _tell(self, socket: web.WebSocketResponse, person: Person, changes: AsyncIterator[Change]) -> None:
        async for change in changes:
            for event in self._events_of(person, change):
                await socket.send_json(event)

    def _events_of(self, person: Person, change: Change) -> list[JsonObject]:
        """Return what the page is told of a change: the ids, and what stands there now."""
        event: JsonObject = {"kind": change.kind, "channel_id": change.channel_id, "ts": change.ts}
        if change.kind in {"view", "home"}:
            return [event | views_json(self._core, person.user_id)]
        if change.channel_id is None or change.ts is None or change.kind == "message_deleted":
            return [event]
        message = self._message(person, change.channel_id, change.ts)
        if message is None:
            return []
        events = [event | {"message": message}]
        root_ts = message["thread_ts"]
        if root_ts and root_ts != change.ts and (root := self._message(person, change.channel_id, root_ts)):
            events.append({**event, "kind": "message_changed", "ts": root_ts, "message": root})
        return events

    def _message(self, person: Person, channel_id: str, ts: str) -> JsonObject | None:
        message = self._core.store.find(channel_id, ts)
        if message is None or message.ephemeral_for not in {None, person.user_id}:
            return None
        count = reply_count(self._core, person.user_id, channel_id, ts)
        return message_json(self._core, message, reply_count=count)


def _result(person: Person, outcome: Outcome, told: int) -> JsonObject:
    """Say what came of an action; a refused form is no error, its sentences come with the view."""
    if outcome.error in {None, "invalid_input"}:
        return {"ok": True, "error": None}
    sentences = [error.text for error in person.errors[told:] if error.code == outcome.error]
    text = sentences[-1] if sentences else f"This didn't work: {outcome.error}"
    return {"ok": False, "error": {"code": outcome.error, "text": text}}


def _sentences(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Answer a request for what is not there with 404, and one that makes no sense with 400, in a sentence."""

    async def spoken(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except NotVisibleError as exc:
            return web.json_response({"ok": False, "error": str(exc)}, status=404)
        except ValidationError as exc:
            first = exc.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            return web.json_response({"ok": False, "error": f"request body: {place}: {first['msg']}"}, status=400)

    return spoken
