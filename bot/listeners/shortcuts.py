"""The message shortcuts: a modal at once, then what the archive holds."""

from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.expansions import view_message
from bot.guard import Request
from bot.message_blocks import loading_view, not_found_view
from bot.modal_blocks import loading_modal
from bot.payloads import Body, MessageShortcut
from bot.reply import Reply
from bot.services import Services
from bot.similar import answer_similar_message
from retrieval import NotFoundError

SHOW_IN_ARCHIVE: Final = "show_in_archive"
FIND_SIMILAR: Final = "find_similar"


def register(app: AsyncApp, services: Services) -> None:
    """Register the message shortcuts."""

    async def show_in_archive(request: Request) -> None:
        await answer_show_in_archive(services, request)

    async def find_similar(request: Request) -> None:
        await answer_find_similar(services, request)

    @app.message_shortcut(SHOW_IN_ARCHIVE)
    async def handle_show_in_archive(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, show_in_archive, reply=Reply.to_body(body, client=services.client))

    @app.message_shortcut(FIND_SIMILAR)
    async def handle_find_similar(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, find_similar, reply=Reply.to_body(body, client=services.client))


async def answer_show_in_archive(services: Services, request: Request) -> None:
    """Open the modal before anything else, because the trigger lives three seconds, and then fill it."""
    shortcut = MessageShortcut.model_validate(request.body)
    if not await request.reply.open_view(loading_view(), trigger_id=shortcut.trigger_id):
        await request.reply.tell(texts.view_not_opened(texts.ARCHIVE_VIEW_TITLE))
        return
    try:
        view = await view_message(services, request, channel_id=shortcut.channel.id, ts=shortcut.message_ts)
    except NotFoundError:
        view = not_found_view()
    await request.reply.update_view(view)


async def answer_find_similar(services: Services, request: Request) -> None:
    """Open the modal before anything else, and then fill it with a first page of results."""
    shortcut = MessageShortcut.model_validate(request.body)
    if not await request.reply.open_view(loading_modal(texts.SIMILAR_TITLE), trigger_id=shortcut.trigger_id):
        await request.reply.tell(texts.view_not_opened(texts.FIND_SIMILAR))
        return
    message = await answer_similar_message(
        services,
        request,
        channel_id=shortcut.channel.id,
        ts=shortcut.message_ts,
        text=shortcut.message.text,
    )
    await request.reply.show(message)
