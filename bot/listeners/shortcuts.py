"""The message shortcut "Show in archive": a modal at once, then what the archive holds."""

from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.expansions import view_message
from bot.guard import Request
from bot.message_blocks import loading_view, not_found_view
from bot.payloads import Body, MessageShortcut
from bot.reply import Reply
from bot.services import Services
from retrieval import NotFoundError

SHOW_IN_ARCHIVE: Final = "show_in_archive"


def register(app: AsyncApp, services: Services) -> None:
    """Register the message shortcut."""

    async def answer(request: Request) -> None:
        await answer_show_in_archive(services, request)

    @app.message_shortcut(SHOW_IN_ARCHIVE)
    async def handle_show_in_archive(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, answer, reply=Reply.to_body(body, client=services.client))


async def answer_show_in_archive(services: Services, request: Request) -> None:
    """Open the modal before anything else, because the trigger lives three seconds, and then fill it."""
    shortcut = MessageShortcut.model_validate(request.body)
    if not await request.reply.open_view(loading_view(), trigger_id=shortcut.trigger_id):
        await request.reply.tell(texts.VIEW_NOT_OPENED)
        return
    try:
        view = await view_message(services, request, channel_id=shortcut.channel.id, ts=shortcut.message_ts)
    except NotFoundError:
        view = not_found_view()
    await request.reply.update_view(view)
