"""The buttons under the answer to `admin`."""

import re
from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.action_state import AdminState, OldStateError
from bot.admin import answer_admin
from bot.buttons import ADMIN_ACTIONS, ADMIN_NEWER_ACTION, ADMIN_OLDER_ACTION
from bot.guard import Request
from bot.listeners.recents import pressed_state
from bot.payloads import Body
from bot.reply import Reply
from bot.services import Services

_ACTIONS: Final = (*ADMIN_ACTIONS.values(), ADMIN_NEWER_ACTION, ADMIN_OLDER_ACTION)


def register(app: AsyncApp, services: Services) -> None:
    """Register the buttons."""

    async def show(request: Request) -> None:
        await show_page(services, request)

    @app.action(re.compile(rf"^({'|'.join(_ACTIONS)})$"))
    async def handle_press(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, show, reply=Reply.to_body(body, client=services.client))


async def show_page(services: Services, request: Request) -> None:
    """Show the page that the pressed button names, in the place of the one it stands under."""
    state = pressed_state(services, request)
    if not isinstance(state, AdminState):
        raise OldStateError(version=state.kind)
    await request.reply.show(await answer_admin(services, request, state.page))
