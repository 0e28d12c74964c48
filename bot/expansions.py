"""Threads and neighbours, as messages and as modals: asked of the engine, rendered, and kept in the audit file."""

from bot.action_state import ContextState, ThreadState
from bot.activity import keep_expansion
from bot.asking import Asking, admit, signer_for
from bot.audit import AuditEvent
from bot.elements import Block, RenderedMessage
from bot.guard import Request
from bot.message_blocks import thread_view
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.thread_blocks import (
    NEIGHBOURS_AFTER,
    NEIGHBOURS_BEFORE,
    THREAD_PAGE_MESSAGES,
    ContextView,
    ThreadView,
    render_context,
    render_thread,
    thread_page_offset,
)
from bot.visibility import telling_unconfirmed
from retrieval import Document, MessageContext, Thread


async def answer_thread(services: Services, request: Request, state: ThreadState) -> RenderedMessage:
    """Return a page of a thread as a message.

    Raises:
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    with telling_unconfirmed(asking.sight):
        thread = await _find_thread(services, asking, state)
    keep_expansion(services, request, AuditEvent.EXPAND, thread.messages)
    view = ThreadView(
        thread=thread,
        marked_id=state.document_id,
        signer=signer_for(services, request.asked, search_id=request.search_id),
        back=state.back,
        workspace_url=services.identity.url,
    )
    return await in_side_thread(render_thread, view)


async def view_thread(services: Services, request: Request, state: ThreadState) -> Block:
    """Return a page of a thread as a modal; raises as `answer_thread`."""
    asking = await admit(services, request.asked)
    with telling_unconfirmed(asking.sight):
        thread = await _find_thread(services, asking, state)
    keep_expansion(services, request, AuditEvent.EXPAND, thread.messages)
    signer = signer_for(services, request.asked, search_id=request.search_id)
    return await in_side_thread(
        thread_view,
        thread=thread,
        context=None,
        marked_id=state.document_id,
        signer=signer,
        workspace_url=services.identity.url,
    )


async def _find_thread(services: Services, asking: Asking, state: ThreadState) -> Thread:
    """Return the part that the state asks for: by offset, else the page that holds the hit."""
    thread = await services.archive.thread(
        state.thread_id,
        asker=asking.person.user_id,
        visibility=asking.sight.visibility,
        deadline=asking.deadline,
        limit=THREAD_PAGE_MESSAGES,
        offset=state.offset,
        around=state.document_id,
    )
    if state.offset is not None or state.document_id is None:
        return thread
    # Pages begin at multiples of their size, so that Earlier and Later meet the same pages again.
    place = next((number for number, one in enumerate(thread.messages) if one.document_id == state.document_id), None)
    offset = thread_page_offset(thread.offset + (place or 0))
    return await _find_thread(services, asking, state.model_copy(update={"offset": offset}))


async def answer_context(services: Services, request: Request, state: ContextState) -> RenderedMessage:
    """Return a message among its neighbours.

    Raises:
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    with telling_unconfirmed(asking.sight):
        context = await _find_context(services, asking, state.document_id)
    keep_expansion(services, request, AuditEvent.CONTEXT, _documents(context))
    view = ContextView(
        context=context,
        signer=signer_for(services, request.asked, search_id=request.search_id),
        back=state.back,
        workspace_url=services.identity.url,
    )
    return await in_side_thread(render_context, view)


async def _find_context(services: Services, asking: Asking, document_id: str) -> MessageContext:
    return await services.archive.message(
        document_id,
        asker=asking.person.user_id,
        visibility=asking.sight.visibility,
        deadline=asking.deadline,
        before=NEIGHBOURS_BEFORE,
        after=NEIGHBOURS_AFTER,
    )


def _documents(context: MessageContext) -> list[Document]:
    return [*context.before, context.message, *context.after]


async def view_message(services: Services, request: Request, *, channel_id: str, ts: str) -> Block:
    """Return the modal with a message of Slack's, its thread and its neighbours.

    Raises:
        NotFoundError: The archive does not hold it, or not for this asker: the same words for both.
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    with telling_unconfirmed(asking.sight):
        document_id = await services.archive.find_message(
            services.workspace_ids(asking.person.team_id),
            channel_id=channel_id,
            ts=ts,
            asker=asking.person.user_id,
            visibility=asking.sight.visibility,
            deadline=asking.deadline,
        )
    context = await _find_context(services, asking, document_id)
    thread = None
    if context.message.thread_id is not None and context.message.thread_size > 1:
        signer_state = ThreadState(
            user_id=asking.person.user_id,
            team_id=asking.person.team_id,
            expires_s=0,
            thread_id=context.message.thread_id,
            document_id=document_id,
        )
        thread = await _find_thread(services, asking, signer_state)
    shown = [*_documents(context), *(thread.messages if thread else ())]
    keep_expansion(services, request, AuditEvent.CONTEXT, shown)
    return await in_side_thread(
        thread_view,
        thread=thread,
        context=context,
        marked_id=document_id,
        signer=signer_for(services, request.asked, search_id=request.search_id),
        workspace_url=services.identity.url,
    )
