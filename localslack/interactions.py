"""Commands, clicks, shortcuts and submissions: the payloads that the app gets, and what its ack does."""

from __future__ import annotations

from dataclasses import dataclass

from localslack.changes import Change
from localslack.command_escape import escaped_command_text
from localslack.core import Core, UserError
from localslack.errors import ApiError
from localslack.input_state import initial_state, refusals, unknown_error_blocks
from localslack.json_types import JsonObject, JsonView
from localslack.messages import Message, message_json
from localslack.recorder import Delivery
from localslack.responding import show_answer
from localslack.response_urls import ResponseURL
from localslack.socket_mode import Envelope
from localslack.views import View
from localslack.workspace import Channel, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one action of a person came to.

    Attributes:
        acked: Whether the app acknowledged in time (True also for what Slack settles by itself).
        seconds: Seconds from sending to the ack; 0.0 where nothing was sent or acked.
        error: What Slack shows the person instead, a ``UserError.code``, or None.
    """

    acked: bool
    seconds: float
    error: str | None = None


class Interactions:
    """Builds and sends what people's actions cause. Belongs to the server's event loop."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def command(self, user: User, channel: Channel, text: str) -> Outcome:
        """Send a typed command; ``text`` is the whole line."""
        name, rest = (*text.split(maxsplit=1), "")[:2]
        core = self._core
        if name not in core.manifest.commands:
            return self._refuse(user, "unknown_command", f"{name} is not a valid command.", channel.id)
        if core.world.is_external(user.id):
            return self._refuse(user, "not_allowed", f"{name} belongs to another workspace.", channel.id)
        url = core.response_urls.give("command", channel_id=channel.id, user_id=user.id, command_text=text)
        rest = rest.strip()
        payload = self._command_payload(user, channel)
        payload |= {
            "command": name,
            "text": escaped_command_text(rest, user.id, core.world) if core.manifest.commands[name] else rest,
            "response_url": core.base_url + url.path,
            "trigger_id": core.triggers.give(user.id),
        }
        envelope = Envelope(kind="slash_commands", what=name, payload=payload, answers=True)
        delivery = await core.hub.deliver(envelope)
        if delivery.status != "acked":
            return self._failed(user, delivery, f"{name} failed with the error", channel.id)
        return self._command_ack(user, url, delivery)

    async def message_action(self, user: User, message: Message, action: JsonObject, element: JsonView) -> Outcome:
        """Send a click or choice in a message."""
        core = self._core
        message.state = initial_state(message.blocks, message.state)
        url = core.response_urls.give(
            "message",
            channel_id=message.channel_id,
            user_id=user.id,
            message_ts=message.ts,
            thread_ts=message.thread_ts,
        )
        is_ephemeral = message.ephemeral_for is not None
        container: JsonObject = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel_id,
            "is_ephemeral": is_ephemeral,
        }
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        payload = self._payload(user, "block_actions") | {
            "container": container,
            "trigger_id": core.triggers.give(user.id),
            "channel": self._channel(core.world.channel(message.channel_id)),
            "response_url": core.base_url + url.path,
            "state": {"values": message.state},
            "actions": [action],
        }
        if not is_ephemeral:
            payload["message"] = message_json(message, core.world)
        return await self._interact(user, payload, what=str(element["action_id"]), channel_id=message.channel_id)

    async def view_action(self, user: User, view: View, action: JsonObject, element: JsonView) -> Outcome:
        """Send a click or choice in a modal or on the Home tab: no channel, no response_url."""
        payload = self._payload(user, "block_actions") | {
            "container": {"type": "view", "view_id": view.id},
            "trigger_id": self._core.triggers.give(user.id, view_id=view.id),
            "view": self._core.views.json(view),
            "hash": view.hash,
            "state": {"values": view.values},
            "actions": [action],
        }
        return await self._interact(user, payload, what=str(element["action_id"]), channel_id=None)

    async def message_shortcut(self, user: User, message: Message, callback_id: str) -> Outcome:
        """Use a message shortcut; the answer goes to the conversation, never to the thread."""
        core = self._core
        if core.manifest.find_shortcut(callback_id, "message") is None or message.ephemeral_for:
            return self._refuse(user, "not_allowed", "There is no such shortcut here.", message.channel_id)
        if core.world.is_external(user.id):
            return self._refuse(user, "not_allowed", "The app belongs to another workspace.", message.channel_id)
        url = core.response_urls.give("shortcut", channel_id=message.channel_id, user_id=user.id)
        payload = self._payload(user, "message_action") | {
            "callback_id": callback_id,
            "action_ts": core.store.next_ts(),
            "trigger_id": core.triggers.give(user.id),
            "response_url": core.base_url + url.path,
            "message_ts": message.ts,
            "channel": self._channel(core.world.channel(message.channel_id)),
            "message": message_json(message, core.world),
        }
        return await self._interact(user, payload, what=callback_id, channel_id=message.channel_id)

    async def global_shortcut(self, user: User, callback_id: str) -> Outcome:
        """Use a global shortcut: no channel, no message, no response_url."""
        core = self._core
        if core.manifest.find_shortcut(callback_id, "global") is None or user.is_guest:
            return self._refuse(user, "not_allowed", "There is no such shortcut.", None)
        if core.world.is_external(user.id):
            return self._refuse(user, "not_allowed", "The app belongs to another workspace.", None)
        payload = self._payload(user, "shortcut") | {
            "callback_id": callback_id,
            "action_ts": core.store.next_ts(),
            "trigger_id": core.triggers.give(user.id),
        }
        return await self._interact(user, payload, what=callback_id, channel_id=None)

    async def submit(self, user: User, view: View) -> Outcome:
        """Submit a modal, after the checks that Slack's own client makes."""
        core = self._core
        if "submit" not in view.spec:
            return self._refuse(user, "not_allowed", "This view cannot be submitted.", None)
        view.errors = refusals(view.spec["blocks"], view.values)
        if view.errors:
            self._changed(view)
            return Outcome(acked=True, seconds=0.0, error="invalid_input")
        payload = self._payload(user, "view_submission") | {
            "trigger_id": core.triggers.give(user.id, view_id=view.id),
            "view": core.views.json(view),
            "response_urls": self._view_urls(user, view),
        }
        envelope = Envelope(
            kind="interactive", what=str(view.spec.get("callback_id", "")), payload=payload, answers=True
        )
        delivery = await core.hub.deliver(envelope)
        if delivery.status != "acked":
            return self._failed(user, delivery, "We had some trouble connecting. Try again?", None)
        return self._submission_ack(user, view, delivery)

    async def closed(self, user: User, view: View, *, cleared: bool) -> Outcome:
        """Tell the app that a modal was closed, if the view asked for it."""
        self._changed(view)
        if not view.spec.get("notify_on_close"):
            return Outcome(acked=True, seconds=0.0)
        payload = self._payload(user, "view_closed") | {
            "view": self._core.views.json(view),
            "is_cleared": cleared,
        }
        return await self._interact(user, payload, what=str(view.spec.get("callback_id", "")), channel_id=None)

    async def _interact(self, user: User, payload: JsonObject, *, what: str, channel_id: str | None) -> Outcome:
        if not self._core.manifest.interactivity:
            return self._refuse(user, "not_allowed", "This app is not configured for this.", channel_id)
        envelope = Envelope(kind="interactive", what=what, payload=payload, answers=True)
        delivery = await self._core.hub.deliver(envelope)
        if delivery.status != "acked":
            return self._failed(user, delivery, "This didn't work:", channel_id)
        return _acked(delivery)

    def _command_ack(self, user: User, url: ResponseURL, delivery: Delivery) -> Outcome:
        answer = delivery.ack_payload
        if answer and (answer.get("text") or answer.get("blocks")):
            try:
                show_answer(self._core, url, answer, method="ack")
            except ApiError as exc:
                return self._refuse(user, "invalid_response", f"The answer was refused: {exc.code}", url.channel_id)
        return _acked(delivery)

    def _submission_ack(self, user: User, view: View, delivery: Delivery) -> Outcome:
        answer = delivery.ack_payload or {}
        try:
            self._response_action(user, view, answer)
        except ApiError as exc:
            return self._refuse(user, "view_failed", f"We had some trouble connecting ({exc.code}).", None)
        self._changed(view)
        return _acked(delivery)

    def _response_action(self, user: User, view: View, answer: JsonView) -> None:
        """Carry out what a submission's ack asks for; an empty one closes the view."""
        views, kind = self._core.views, answer.get("response_action")
        if kind is None:
            views.close_top(user.id)
        elif kind == "clear":
            views.close_all(user.id)
        elif kind == "errors":
            errors = answer.get("errors")
            if not isinstance(errors, dict) or not errors:
                raise ApiError("invalid_arguments", messages=["errors must be an object"])
            if unknown := unknown_error_blocks(errors, view.spec["blocks"]):
                raise ApiError("invalid_arguments", messages=[f"no such input blocks: {unknown}"])
            view.errors = {key: str(sentence) for key, sentence in errors.items()}
        elif kind == "update":
            spec = views.checked(answer.get("view"), method="ack")
            views.update(view, spec, expected_hash=None)
        elif kind == "push":
            views.push(user.id, views.checked(answer.get("view"), method="ack"))
        else:
            raise ApiError("invalid_arguments", messages=[f"unknown response_action {kind}"])

    def _view_urls(self, user: User, view: View) -> list[JsonObject]:
        """Mint response URLs for conversation menus with ``response_url_enabled``."""
        found = []
        for block in view.spec["blocks"]:
            element = block.get("element", {})
            if not element.get("response_url_enabled"):
                continue
            state = view.values[block["block_id"]][element["action_id"]]
            channel_id = state.get("selected_conversation") or state.get("selected_channel")
            if channel_id:
                url = self._core.response_urls.give("view", channel_id=channel_id, user_id=user.id)
                ids = {"block_id": block["block_id"], "action_id": element["action_id"]}
                address = self._core.base_url + url.path
                found.append({**ids, "channel_id": channel_id, "response_url": address})
        return found

    def _command_payload(self, user: User, channel: Channel) -> JsonObject:
        world = self._core.world
        name = "directmessage" if channel.is_im else channel.name if channel.is_public else "privategroup"
        return {
            "token": "test-verification",
            "team_id": world.team.id,
            "team_domain": world.team.domain,
            "channel_id": channel.id,
            "channel_name": name,
            "user_id": user.id,
            "user_name": user.name,
            "api_app_id": world.app_id,
            "is_enterprise_install": "false",
        }

    def _payload(self, user: User, kind: str) -> JsonObject:
        world = self._core.world
        external = world.is_external(user.id)
        return {
            "type": kind,
            "token": "test-verification",
            # An external member's payload names that member's own workspace.
            "team": {"id": user.team_id, "domain": "elsewhere" if external else world.team.domain},
            "enterprise": None,
            "is_enterprise_install": False,
            "api_app_id": world.app_id,
            "user": {
                "id": user.id,
                "username": user.name,
                "name": user.name,
                "team_id": user.team_id,
            },
        }

    def _channel(self, channel: Channel) -> JsonObject:
        name = "directmessage" if channel.is_im else channel.name if channel.is_public else "privategroup"
        return {"id": channel.id, "name": name}

    def _refuse(self, user: User, code: str, text: str, channel_id: str | None) -> Outcome:
        self._core.tell(user.id, UserError(code=code, text=text, channel_id=channel_id))
        return Outcome(acked=False, seconds=0.0, error=code)

    def _failed(self, user: User, delivery: Delivery, text: str, channel_id: str | None) -> Outcome:
        code = "dispatch_failed" if delivery.status == "undeliverable" else "operation_timeout"
        return self._refuse(user, code, f"{text} {code}", channel_id)

    def _changed(self, view: View) -> None:
        self._core.feed.publish(Change(kind="view", view_id=view.id), [view.user_id])


def _acked(delivery: Delivery) -> Outcome:
    return Outcome(acked=True, seconds=delivery.seconds or 0.0)
