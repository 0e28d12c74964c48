"""`/slackquery`: a search, or one of the words that stand alone."""

from functools import partial
from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.action_state import AdminPage
from bot.admin import answer_admin
from bot.answers import answer_search, directory_for
from bot.asking import admit, signer_for
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.listeners.forms import open_form
from bot.listeners.recents import answer_recents
from bot.payloads import Body, Command, trigger_of
from bot.reply import Reply
from bot.retrieval_pool import PoolError
from bot.services import Services
from bot.status import status_view
from bot.status_blocks import render_help, render_problem, render_status, render_usage
from bot.visibility import RefusedError
from bot.web_api import SlackUnavailableError
from retrieval import NameDirectory, QueryTextError, RequestError, RetrievalError

HELP: Final = "help"
STATUS: Final = "status"
RECENT: Final = "recent"
ADMIN: Final = "admin"


def register(app: AsyncApp, services: Services) -> None:
    """Register the slash command."""

    async def answer(request: Request) -> None:
        await answer_command(services, request)

    @app.command(texts.COMMAND)
    async def handle_command(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, answer, reply=Reply.to_body(body, client=services.client))


async def answer_command(services: Services, request: Request) -> None:
    """Answer a slash command: one of the words that stand alone, a search, or nothing, which opens the form."""
    text = Command.model_validate(request.body).text.strip()
    word = text.casefold()
    if word == HELP:
        await request.reply.show(render_help())
    elif word == RECENT:
        await answer_recents(services, request)
    elif word == ADMIN:
        await request.reply.show(await answer_admin(services, request, AdminPage()))
    elif word == STATUS:
        await services.access.admit(request.asked.user_id, request.asked.team_id, deadline=services.deadline())
        await request.reply.show(render_status(await status_view(services, user_id=request.asked.user_id)))
    elif not text:
        await open_form(services, request, trigger_of(request.body))
    else:
        await request.reply.show(await _answer_text(services, request, text))


async def _answer_text(services: Services, request: Request, text: str) -> RenderedMessage:
    try:
        return await answer_search(services, request, text)
    except QueryTextError as exc:
        return render_usage(texts.sentence_for(exc))
    except RefusedError:
        raise
    except Exception as exc:
        names = await _names_for(services, request, text) if isinstance(exc, RequestError) else None
        typed = texts.typed_again(text, directory=names)
        signer = signer_for(services, request.asked, search_id=request.search_id)
        request.reply.say_with(partial(render_problem, typed=typed, command=text, signer=signer))
        raise


async def _names_for(services: Services, request: Request, command: str) -> NameDirectory | None:
    """Return the names that the asker may use, to say again what they typed; None where they are not at hand."""
    try:
        return await directory_for(services, await admit(services, request.asked), command)
    except (RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError):
        return None
