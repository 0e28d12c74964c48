"""Presses of buttons: pages, threads, context, new search; in a message or in a modal."""

import re
from dataclasses import replace
from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.action_state import (
    ContextState,
    ExpiredStateError,
    ForeignStateError,
    MoreState,
    NewSearchState,
    OldStateError,
    PageReference,
    PageState,
    ShareState,
    State,
    StateError,
    ThreadState,
    VoteState,
    decode_state,
)
from bot.answers import answer_search
from bot.asking import signer_for
from bot.audit import AuditEvent
from bot.buttons import (
    CONTEXT_ACTION,
    HIT_ACTIONS,
    NEW_SEARCH_ACTION,
    PAGE_ACTIONS,
    SIMILAR_ACTION,
    THREAD_ACTIONS,
)
from bot.elements import RenderedMessage
from bot.expansions import answer_context, answer_thread, view_thread
from bot.guard import Request
from bot.hits import answer_more, answer_vote
from bot.listeners.forms import open_form
from bot.modal_blocks import loading_modal
from bot.payloads import Body, Press, trigger_of
from bot.reply import Reply
from bot.services import Services
from bot.shares import answer_share
from bot.similar import answer_similar
from bot.status_blocks import render_state_error

_ACTIONS: Final = (*PAGE_ACTIONS, *THREAD_ACTIONS, *HIT_ACTIONS, CONTEXT_ACTION, NEW_SEARCH_ACTION)


def register(app: AsyncApp, services: Services) -> None:
    """Register one listener for every button that carries state."""

    async def answer(request: Request) -> None:
        await answer_press(services, request)

    @app.action(re.compile(rf"^({'|'.join(_ACTIONS)})$"))
    async def handle_press(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, answer, reply=Reply.to_body(body, client=services.client))


async def answer_press(services: Services, request: Request) -> None:
    """Answer a press in the place it was made in; a button that cannot be acted on says why."""
    action = Press.model_validate(request.body).action
    try:
        state = decode_state(
            action.value,
            services.state_key,
            now_s=int(services.clock()),
            user_id=request.asked.user_id,
            team_id=request.asked.team_id,
        )
    except StateError as exc:
        if isinstance(exc, ExpiredStateError):
            request.belong_to(exc.state.search_id)
        await _answer_unusable(services, request, exc)
        return
    request.belong_to(state.search_id)
    await _act(services, request, state)


async def _act(services: Services, request: Request, state: State) -> None:
    """Do what an authentic state says."""
    match state:
        case PageState() if state.page.is_similar and request.reply.is_in_modal:
            message = await _answer_over(services, request, state.page)
        case PageState():
            message = await _answer_page(services, request, state.page)
        case ThreadState() if request.reply.is_in_archive_view:
            await request.reply.update_view(await view_thread(services, request, state))
            return
        case ThreadState():
            message = await answer_thread(services, request, state)
        case ContextState():
            message = await answer_context(services, request, state)
        case MoreState():
            message = await answer_more(services, request, state)
        case VoteState():
            message = await answer_vote(services, request, state)
        case ShareState():
            message = await answer_share(services, request, state)
        case NewSearchState():
            command = request.reply.command or state.command or ""
            await open_form(services, request, trigger_of(request.body), command=command)
            return
        case _:
            raise OldStateError(version=state.kind)
    await request.reply.show(message)


async def _answer_page(
    services: Services, request: Request, page: PageReference, *, notices: tuple[str, ...] = ()
) -> RenderedMessage:
    if page.is_similar:
        return await answer_similar(services, request, page, notices=notices)
    return await answer_search(services, request, page.command, reference=page, notices=notices)


async def _answer_over(services: Services, request: Request, page: PageReference) -> RenderedMessage:
    """Answer Find similar in a modal of its own over the one with the hit, or in that one where no more fit."""
    is_first = Press.model_validate(request.body).action.action_id == SIMILAR_ACTION
    view = loading_modal(texts.SIMILAR_TITLE, command=page.typed)
    if is_first and await request.reply.push_view(view, trigger_id=trigger_of(request.body)):
        # What it was started from lies under it.
        page = page.model_copy(update={"back": None})
    return await _answer_page(services, request, page)


async def _answer_unusable(services: Services, request: Request, error: StateError) -> None:
    _keep_refusal(services, request, error)
    if isinstance(error, ForeignStateError) or (request.reply.is_in_modal and not isinstance(error, ExpiredStateError)):
        # Somebody else's results stay as they are, and so does a modal, whose other buttons may well work.
        await request.reply.tell(texts.sentence_for(error))
        return
    if isinstance(error, ExpiredStateError) and isinstance(error.state, PageState):
        fresh = error.state.page.first_page()
        message = await _answer_page(services, request, fresh, notices=(texts.RESTARTED_EXPIRED,))
        await request.reply.show(message)
        return
    signer = signer_for(services, request.asked, search_id=request.search_id)
    await request.reply.show(render_state_error(error, signer=signer, now_s=int(services.clock())))


def _keep_refusal(services: Services, request: Request, error: StateError) -> None:
    services.audit.write(replace(request.entry(AuditEvent.REFUSED), reason=type(error).__name__))
