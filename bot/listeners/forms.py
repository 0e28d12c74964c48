"""The search form: opened from anywhere, checked while its submission waits, answered within the same modal.

A submission has three seconds. Until `_CHECK_SECONDS` are over it is understood, so that what is wrong stands at its
field; whether that was in time or not, the modal then says at once that it is searching, and is filled later.
"""

import asyncio
from typing import Final
from uuid import uuid4

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.action_state import NewSearchState, StateError, decode_state
from bot.answers import answer_search
from bot.buttons import OPEN_FORM_ACTION
from bot.form_blocks import SEARCH_FORM, form_view, read_form
from bot.form_check import FieldError, checked_command
from bot.form_fields import FormFields, fields_of
from bot.guard import Request
from bot.modal_blocks import loading_modal
from bot.payloads import Asked, Body, Press, trigger_of
from bot.reply import Reply
from bot.services import Services

_log = structlog.get_logger(__name__)

SEARCH_ARCHIVE: Final = "search_archive"
"""The global shortcut's callback_id."""

_CHECK_SECONDS: Final = 1.5


def register(app: AsyncApp, services: Services) -> None:
    """Register the global shortcut, the button that opens the form, and the form's submission."""

    async def open_from_shortcut(request: Request) -> None:
        await open_form(services, request, trigger_of(request.body))

    async def open_from_button(request: Request) -> None:
        await open_form(services, request, trigger_of(request.body), command=_command_of(services, request))

    @app.global_shortcut(SEARCH_ARCHIVE)
    async def handle_shortcut(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, open_from_shortcut, reply=Reply.to_body(body, client=services.client))

    @app.action(OPEN_FORM_ACTION)
    async def handle_button(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, open_from_button, reply=Reply.to_body(body, client=services.client))

    @app.view(SEARCH_FORM)
    async def handle_submission(ack: AsyncAck, body: Body) -> None:
        await _take_submission(services, ack, body)


async def open_form(services: Services, request: Request, trigger_id: str, *, command: str = "") -> bool:  # noqa: ARG001 - the signature of all answers.
    """Open the search form, or show it in the modal that was pressed in.

    Nothing is asked of Slack before, because the trigger lives three seconds; the form shows nothing but what its own
    reader typed, and whoever submits it is admitted then.

    Args:
        services: The bot's parts.
        request: Who asks.
        trigger_id: From the payload.
        command: What the form shall begin with, as a slash command's text; empty for nothing.

    Returns:
        Whether Slack took it; where not, the asker was told.
    """
    view = form_view(fields_of(command))
    if request.reply.is_in_modal:
        return await request.reply.update_view(view)
    if trigger_id and await request.reply.open_view(view, trigger_id=trigger_id):
        return True
    _log.info("form_not_opened", user_id=request.asked.user_id)
    await request.reply.tell(texts.FORM_NOT_OPENED)
    return False


def _command_of(services: Services, request: Request) -> str:
    """Return the search that a button holds; none where it holds nothing that its presser may use."""
    value = Press.model_validate(request.body).action.value
    if not value:
        return ""
    try:
        asked = request.asked
        now_s = int(services.clock())
        state = decode_state(value, services.state_key, now_s=now_s, user_id=asked.user_id, team_id=asked.team_id)
    except StateError as exc:
        # The form is of use without it, and what the button held was only there to begin with.
        _log.info("form_opened_empty", reason=type(exc).__name__)
        return ""
    return (state.command or "") if isinstance(state, NewSearchState) else ""


async def _take_submission(services: Services, ack: AsyncAck, body: Body) -> None:
    """Ack with errors at their fields, or with a modal that says it is searching, which is then filled."""
    fields, command, errors = FormFields(), "", {}
    try:
        fields = read_form(body)
        command = fields.command()
        async with asyncio.timeout(_CHECK_SECONDS):
            command = await checked_command(services, Asked.from_body(body), fields)
    except FieldError as exc:
        errors = {exc.block.value: exc.sentence}
    except Exception as exc:  # noqa: BLE001 - whatever it is, the search meets it again and answers it.
        _log.info("form_not_checked", reason=type(exc).__name__)
    if errors:
        await ack(response_action="errors", errors=errors)
        return
    reply = Reply.to_body(body, client=services.client)
    external_id = uuid4().hex
    reply.fill(title=texts.FORM_TITLE, external_id=external_id, command=command)
    reply.tell_with(lambda sentence: form_view(fields, note=sentence))

    async def answer(request: Request) -> None:
        await request.reply.show(await answer_search(services, request, command))

    await ack(response_action="update", view=loading_modal(texts.FORM_TITLE, command=command, external_id=external_id))
    services.guard.start(body, answer, reply=reply)
