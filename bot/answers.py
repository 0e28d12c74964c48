"""The answers: who may ask is decided, the engine is asked, what it found is rendered and kept in the audit file."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog

from bot import texts
from bot.action_state import STATE_SECONDS, ContextState, PageReference, ThreadState
from bot.audit import AuditEntry, AuditEvent
from bot.blocks import HITS_PER_PAGE, ResultsView, render_results
from bot.buttons import Signer
from bot.elements import Block, RenderedMessage
from bot.guard import Request
from bot.message_blocks import thread_view
from bot.payloads import Asked
from bot.services import Services
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
from bot.visibility import Person, Sight
from retrieval import (
    CursorError,
    CursorRangeError,
    CursorVisibilityError,
    Document,
    MessageContext,
    Mode,
    NameDirectory,
    ParsedQuery,
    ResultPage,
    SearchRequest,
    StaleCursorError,
    Thread,
    parse_query,
)
from retrieval.cursor import encode_cursor

_log = structlog.get_logger(__name__)

_UTC: Final = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """An admitted person, what they may see now, and by when they want an answer."""

    person: Person
    sight: Sight
    deadline: float


async def admit(services: Services, asked: Asked) -> _Asking:
    """Return the admitted asker with what they may see; asked anew for every command and every press.

    Raises:
        RefusedError: This person is not served.
        SlackUnavailableError: Slack did not answer in time.
    """
    deadline = services.deadline()
    person = await services.access.admit(asked.user_id, asked.team_id, deadline=deadline)
    sight = await services.access.sight_of(person, deadline=deadline)
    return _Asking(person=person, sight=sight, deadline=deadline)


def signer_for(services: Services, asked: Asked) -> Signer:
    """Return what signs the buttons of an answer to this person, from now on."""
    return Signer(
        secret=services.state_key,
        user_id=asked.user_id,
        team_id=asked.team_id,
        expires_s=int(services.clock()) + STATE_SECONDS,
    )


async def answer_search(
    services: Services,
    request: Request,
    command: str,
    *,
    reference: PageReference | None = None,
    notices: tuple[str, ...] = (),
) -> RenderedMessage:
    """Return a page of results.

    Args:
        services: The bot's parts.
        request: Who asks.
        command: The command's text as typed.
        reference: The page that a button asks for; None for the first page of a new command.
        notices: Sentences to put first.

    Raises:
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    here = reference or PageReference(command=command, timezone=asking.person.timezone, now_s=int(services.clock()))
    directory = await services.names.directory_for(command, asking.sight, deadline=asking.deadline)
    parsed = await asyncio.to_thread(_parse, here, directory, asking.person.user_id)
    search = _search_request(parsed, here.cursor)
    page, restarts = await _find_page(services, asking, search)
    if page.offset == 0:
        here = here.first_page()
    _keep_search(services, request, page, command=here.command, is_first=reference is None)
    return await _render_page(
        services, request, asking, page, understood=parsed.understood, here=here, notices=(*notices, *restarts)
    )


def _parse(here: PageReference, directory: NameDirectory, user_id: str) -> ParsedQuery:
    try:
        timezone = ZoneInfo(here.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        timezone = _UTC
    now = datetime.fromtimestamp(here.now_s, UTC).astimezone(timezone)
    return parse_query(here.command, directory=directory, now=now, timezone=timezone, me=user_id)


def _search_request(parsed: ParsedQuery, cursor: str | None) -> SearchRequest:
    return SearchRequest(
        text=parsed.text,
        mode=parsed.mode or Mode.HYBRID,
        filters=parsed.filters,
        sort=parsed.sort,
        limit=HITS_PER_PAGE,
        cursor=cursor,
    )


async def _find_page(services: Services, asking: _Asking, search: SearchRequest) -> tuple[ResultPage, tuple[str, ...]]:
    """Return the page; the first one, with the reason, where the cursor cannot be continued."""
    notices: tuple[str, ...] = () if asking.sight.is_complete else (texts.UNCONFIRMED_CHANNELS,)
    try:
        return await _search(services, asking, search), notices
    except CursorRangeError:
        raise
    except CursorError as exc:
        first_page = await _search(services, asking, replace(search, cursor=None))
        return first_page, (_restart_reason(exc), *notices)


async def _search(services: Services, asking: _Asking, search: SearchRequest) -> ResultPage:
    return await services.archive.search(
        search, asker=asking.person.user_id, visibility=asking.sight.visibility, deadline=asking.deadline
    )


def _restart_reason(error: CursorError) -> str:
    if isinstance(error, StaleCursorError):
        return texts.RESTARTED_NEW_ARCHIVE
    if isinstance(error, CursorVisibilityError):
        return texts.RESTARTED_VISIBILITY
    return texts.RESTARTED_UNDERSTANDING


async def _render_page(
    services: Services,
    request: Request,
    asking: _Asking,
    page: ResultPage,
    *,
    understood: str,
    here: PageReference,
    notices: tuple[str, ...],
) -> RenderedMessage:
    def cursor_at(offset: int) -> str:
        return encode_cursor(
            offset,
            artifact_id=page.artifact_id,
            request=page.request,
            visibility=asking.sight.visibility,
            fusion=services.fusion,
        )

    view = ResultsView(
        page=page,
        here=here,
        understood=understood,
        now_us=int(services.clock() * 1_000_000),
        signer=signer_for(services, request.asked),
        cursor_at=cursor_at,
        workspace_url=services.identity.url,
        notices=notices,
    )
    # Cutting passages out of long messages takes milliseconds that others' acks need.
    return await asyncio.to_thread(render_results, view)


async def answer_thread(services: Services, request: Request, state: ThreadState) -> RenderedMessage:
    """Return a page of a thread as a message.

    Raises:
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    thread = await _find_thread(services, asking, state)
    _keep_expansion(services, request, AuditEvent.EXPAND, [one.document_id for one in thread.messages])
    view = ThreadView(
        thread=thread,
        marked_id=state.document_id,
        signer=signer_for(services, request.asked),
        back=state.back,
        workspace_url=services.identity.url,
    )
    return await asyncio.to_thread(render_thread, view)


async def view_thread(services: Services, request: Request, state: ThreadState) -> Block:
    """Return a page of a thread as a modal; raises as `answer_thread`."""
    asking = await admit(services, request.asked)
    thread = await _find_thread(services, asking, state)
    _keep_expansion(services, request, AuditEvent.EXPAND, [one.document_id for one in thread.messages])
    signer = signer_for(services, request.asked)
    return await asyncio.to_thread(
        thread_view,
        thread=thread,
        context=None,
        marked_id=state.document_id,
        signer=signer,
        workspace_url=services.identity.url,
    )


async def _find_thread(services: Services, asking: _Asking, state: ThreadState) -> Thread:
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
    context = await _find_context(services, asking, state.document_id)
    _keep_expansion(services, request, AuditEvent.CONTEXT, [one.document_id for one in _documents(context)])
    view = ContextView(
        context=context,
        signer=signer_for(services, request.asked),
        back=state.back,
        workspace_url=services.identity.url,
    )
    return await asyncio.to_thread(render_context, view)


async def _find_context(services: Services, asking: _Asking, document_id: str) -> MessageContext:
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
    _keep_expansion(services, request, AuditEvent.CONTEXT, [one.document_id for one in shown])
    return await asyncio.to_thread(
        thread_view,
        thread=thread,
        context=context,
        marked_id=document_id,
        signer=signer_for(services, request.asked),
        workspace_url=services.identity.url,
    )


def _keep_search(services: Services, request: Request, page: ResultPage, *, command: str, is_first: bool) -> None:
    event = AuditEvent.SEARCH if is_first else AuditEvent.PAGE
    _log.info(
        "searched",
        kind=event.value,
        user_id=request.asked.user_id,
        mode=page.request.mode.value,
        route=page.route.value,
        hits=len(page.hits),
        offset=page.offset,
        degraded=page.degraded,
        artifact_id=page.artifact_id,
        timings_ms=dict(page.timings_ms),
    )
    if services.audit is None:
        return
    services.audit.write(
        AuditEntry(
            event=event,
            request_id=request.request_id,
            user_id=request.asked.user_id,
            team_id=request.asked.team_id,
            channel_id=request.asked.channel_id,
            query=command,
            mode=page.request.mode.value,
            route=page.route.value,
            filters=page.request.filters,
            sort=page.request.sort.value,
            hits=len(page.hits),
            offset=page.offset,
            document_ids=tuple(hit.document.document_id for hit in page.hits),
            warnings=page.warnings,
            degraded=page.degraded,
            timings_ms=page.timings_ms,
            artifact_id=page.artifact_id,
        )
    )


def _keep_expansion(services: Services, request: Request, event: AuditEvent, document_ids: list[str]) -> None:
    _log.info("expanded", kind=event.value, user_id=request.asked.user_id, shown=len(document_ids))
    if services.audit is None:
        return
    serving = services.watch.state.info
    services.audit.write(
        AuditEntry(
            event=event,
            request_id=request.request_id,
            user_id=request.asked.user_id,
            team_id=request.asked.team_id,
            channel_id=request.asked.channel_id,
            document_ids=tuple(dict.fromkeys(document_ids)),
            artifact_id=serving.artifact_id if serving else None,
        )
    )
