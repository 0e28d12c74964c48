"""The answer to a search: who asks is admitted, the engine is asked, and what it found is rendered and kept."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot import texts
from bot.action_state import PageReference
from bot.activity import keep_search
from bot.asking import Asking, admit, signer_for
from bot.blocks import HITS_PER_PAGE, ResultsView, render_results
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.suggestions import suggestions_for
from bot.visibility import telling_unconfirmed
from retrieval import (
    CursorError,
    CursorRangeError,
    CursorVisibilityError,
    Mode,
    NameDirectory,
    ParsedQuery,
    ResultPage,
    SearchRequest,
    StaleCursorError,
    encode_cursor,
    parse_query,
)

_UTC: Final = ZoneInfo("UTC")


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
    stopwatch = request.stopwatch
    with stopwatch.stage("access"):
        asking = await admit(services, request.asked)
    here = reference or PageReference(command=command, timezone=asking.person.timezone, now_s=int(services.clock()))
    with stopwatch.stage("names"):
        directory = await directory_for(services, asking, here.command)
        with telling_unconfirmed(asking.sight):
            parsed = await in_side_thread(_parse, here, directory, asking.person.user_id)
    search = _search_request(parsed, here.cursor)
    with stopwatch.stage("search"):
        page, restarts = await find_page(services, asking, search)
    if page.offset == 0:
        here = here.first_page()
    with stopwatch.stage("suggestions"):
        suggestions = await _suggestions(services, asking, page)
    view = ResultsView(
        page=page,
        here=here,
        understood=parsed.understood,
        now_us=int(services.clock() * 1_000_000),
        signer=signer_for(services, request.asked, search_id=request.search_id),
        cursor_at=cursor_maker(services, asking, page),
        workspace_url=services.identity.url,
        notices=(*notices, *restarts),
        suggestions=suggestions,
        with_votes=services.keeps_votes,
    )
    with stopwatch.stage("rendering"):
        # Cutting passages out of long messages takes milliseconds that others' acks need.
        message = await in_side_thread(render_results, view)
    keep_search(services, request, page, command=here.command, directory=directory, is_first=reference is None)
    return message


async def directory_for(services: Services, asking: Asking, command: str) -> NameDirectory:
    """Return the names that an asker may use in a command.

    Raises:
        SlackUnavailableError: The command names a person, and Slack did not list the people in time.
    """

    async def met() -> frozenset[str]:
        return await services.archive.authors(
            asker=asking.person.user_id, visibility=asking.sight.visibility, deadline=asking.deadline
        )

    return await services.names.directory_for(command, asking.sight, met=met, deadline=asking.deadline)


def _parse(here: PageReference, directory: NameDirectory, user_id: str) -> ParsedQuery:
    timezone = zone_of(here.timezone)
    now = datetime.fromtimestamp(here.now_s, UTC).astimezone(timezone)
    return parse_query(here.command, directory=directory, now=now, timezone=timezone, me=user_id)


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of that IANA name, UTC where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return _UTC


def _search_request(parsed: ParsedQuery, cursor: str | None) -> SearchRequest:
    return SearchRequest(
        text=parsed.text,
        mode=parsed.mode or Mode.HYBRID,
        filters=parsed.filters,
        sort=parsed.sort,
        limit=HITS_PER_PAGE,
        cursor=cursor,
    )


async def find_page(services: Services, asking: Asking, search: SearchRequest) -> tuple[ResultPage, tuple[str, ...]]:
    """Return the page; the first one, with the reason, where the cursor cannot be continued.

    Raises:
        CursorRangeError: The page lies past where paging ends.
        PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    notices: tuple[str, ...] = () if asking.sight.is_complete else (texts.UNCONFIRMED_CHANNELS,)
    try:
        return await _search(services, asking, search), notices
    except CursorRangeError:
        raise
    except CursorError as exc:
        first_page = await _search(services, asking, replace(search, cursor=None))
        return first_page, (_restart_reason(exc), *notices)


async def _search(services: Services, asking: Asking, search: SearchRequest) -> ResultPage:
    return await services.archive.search(
        search, asker=asking.person.user_id, visibility=asking.sight.visibility, deadline=asking.deadline
    )


def _restart_reason(error: CursorError) -> str:
    if isinstance(error, StaleCursorError):
        return texts.RESTARTED_NEW_ARCHIVE
    if isinstance(error, CursorVisibilityError):
        return texts.RESTARTED_VISIBILITY
    return texts.RESTARTED_UNDERSTANDING


def cursor_maker(services: Services, asking: Asking, page: ResultPage) -> Callable[[int], str]:
    """Return what gives the cursors of a page's search."""

    def cursor_at(offset: int) -> str:
        return encode_cursor(
            offset,
            artifact_id=page.artifact_id,
            request=page.request,
            visibility=asking.sight.visibility,
            fusion=services.fusion,
        )

    return cursor_at


async def _suggestions(services: Services, asking: Asking, page: ResultPage) -> tuple[str, ...]:
    if page.hits or page.offset:
        return ()
    return await suggestions_for(page.request, lambda other: _search(services, asking, other))
