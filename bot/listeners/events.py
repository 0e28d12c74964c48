"""Events that make what is known of the workspace out of date, and catch-alls that ack whatever else comes."""

import re
from typing import Final

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.buttons import OPEN_ACTION
from bot.guard import Request
from bot.home import press_reply, refresh_home
from bot.listeners.home import OPENED_EVENT
from bot.payloads import Body, home_of
from bot.services import Services

_log = structlog.get_logger(__name__)

CHANNEL_EVENTS: Final = (
    "channel_archive",
    "channel_created",
    "channel_deleted",
    "channel_id_changed",
    "channel_left",
    "channel_rename",
    "channel_shared",
    "channel_unarchive",
    "channel_unshared",
    "group_archive",
    "group_deleted",
    "group_left",
    "group_rename",
    "group_unarchive",
)
MEMBERSHIP_EVENTS: Final = ("member_joined_channel", "member_left_channel")
PERSON_EVENTS: Final = ("team_join", "user_change")
SUBSCRIBED_EVENTS: Final = (OPENED_EVENT, *CHANNEL_EVENTS, *MEMBERSHIP_EVENTS, *PERSON_EVENTS)
"""Exactly the events that manifest.yaml subscribes to."""

_ANYTHING: Final = re.compile(r"")


def register(app: AsyncApp, services: Services) -> None:
    """Register the events, and last of all what acks anything that no other listener takes."""
    _register_channel_events(app, services)
    _register_membership_events(app, services)
    _register_person_events(app, services)
    _register_catch_alls(app, services)


def _register_channel_events(app: AsyncApp, services: Services) -> None:
    async def drop_channels(event: Body) -> None:
        services.workspace.drop_channels()
        _log.info("channels_dropped", event_type=event.get("type"))

    for name in CHANNEL_EVENTS:
        app.event(name)(drop_channels)


def _register_membership_events(app: AsyncApp, services: Services) -> None:
    async def drop_memberships(event: Body) -> None:
        user_id = str(event.get("user"))
        if user_id == services.identity.bot_user_id:
            # Where the bot is decides what Slack tells of everybody.
            services.workspace.drop_channels()
        else:
            services.workspace.drop_memberships(user_id)
        _log.info("memberships_dropped", event_type=event.get("type"))

    for name in MEMBERSHIP_EVENTS:
        app.event(name)(drop_memberships)


def _register_person_events(app: AsyncApp, services: Services) -> None:
    async def drop_person(event: Body) -> None:
        user = event.get("user")
        user_id = user.get("id") if isinstance(user, dict) else user
        services.workspace.drop_person(str(user_id))
        _log.info("person_dropped", event_type=event.get("type"))

    for name in PERSON_EVENTS:
        app.event(name)(drop_person)


def _register_catch_alls(app: AsyncApp, services: Services) -> None:
    """Ack what nobody listens to: a link button, a button of another version, an event of a later one.

    Unacked, Slack shows a warning beside the button and sends the event again three times.
    """

    async def say_outdated(request: Request) -> None:
        await request.reply.tell(texts.BUTTON_OLD)
        if home_of(request.body) is not None:
            await refresh_home(services, request)

    async def ack_only(ack: AsyncAck, body: Body) -> None:
        await ack()
        _log.info("only_acked", payload_type=body.get("type"), what=_what(body))

    async def ack_press(ack: AsyncAck, body: Body) -> None:
        await ack_only(ack, body)
        if _what(body) != OPEN_ACTION:
            services.guard.start(body, say_outdated, reply=press_reply(body, client=services.client))

    app.action(_ANYTHING)(ack_press)
    app.shortcut(_ANYTHING)(ack_only)
    app.view(_ANYTHING)(ack_only)
    app.view_closed(_ANYTHING)(ack_only)
    app.options(_ANYTHING)(ack_only)
    app.event(_ANYTHING)(ack_only)


def _what(body: Body) -> str | None:
    actions = body.get("actions")
    if isinstance(actions, list) and actions and isinstance(actions[0], dict):
        return str(actions[0].get("action_id"))
    event = body.get("event")
    if isinstance(event, dict):
        return str(event.get("type"))
    return str(body["callback_id"]) if "callback_id" in body else None
