"""What is kept of each answer: a line in the log without anybody's words, an audit entry, a recent search."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import structlog

from bot import texts
from bot.audit import AuditEntry, AuditEvent
from bot.guard import Request
from bot.services import Services
from retrieval import Document, ResultPage
from retrieval.directory import Directory
from retrieval.routing import main_script

_log = structlog.get_logger(__name__)


def keep_search(
    services: Services,
    request: Request,
    page: ResultPage,
    *,
    command: str,
    directory: Directory,
    is_first: bool,
) -> None:
    """Keep that a page of results was shown.

    Args:
        services: The bot's parts.
        request: Who asked.
        page: What was found.
        command: What was typed.
        directory: The names that the asker may use.
        is_first: Whether it answers a command; else a button.
    """
    event = AuditEvent.SEARCH if is_first else AuditEvent.PAGE
    timings_ms = request.timings_with(page.timings_ms)
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
        timings_ms=timings_ms,
    )
    if is_first and services.store is not None:
        shown = texts.typed_again(command, directory=directory)
        services.store.remember(request.asked.team_id, request.asked.user_id, command=command, shown=shown)
    services.audit.write(_search_entry(request, page, event=event, command=command, timings_ms=timings_ms))


def keep_similar(services: Services, request: Request, page: ResultPage) -> None:
    """Keep that messages similar to another one were shown; never its text."""
    timings_ms = request.timings_with(page.timings_ms)
    _log.info(
        "found_similar",
        user_id=request.asked.user_id,
        hits=len(page.hits),
        offset=page.offset,
        artifact_id=page.artifact_id,
        timings_ms=timings_ms,
    )
    entry = _search_entry(request, page, event=AuditEvent.SIMILAR, command="", timings_ms=timings_ms)
    services.audit.write(replace(entry, query=None, language=None, similar_to=page.request.similar_to))


def _search_entry(
    request: Request, page: ResultPage, *, event: AuditEvent, command: str, timings_ms: Mapping[str, float]
) -> AuditEntry:
    return replace(
        request.entry(event),
        query=command,
        mode=page.request.mode.value,
        route=page.route.value,
        language=main_script(page.request.text).casefold() or None,
        filters=page.request.filters,
        sort=page.request.sort.value,
        hits=len(page.hits),
        offset=page.offset,
        document_ids=tuple(hit.document.document_id for hit in page.hits),
        warnings=page.warnings,
        degraded=page.degraded,
        timings_ms=timings_ms,
        artifact_id=page.artifact_id,
    )


def keep_expansion(services: Services, request: Request, event: AuditEvent, documents: Iterable[Document]) -> None:
    """Keep that these messages of a thread or a channel were shown."""
    shown = tuple(dict.fromkeys(one.document_id for one in documents))
    _log.info("expanded", kind=event.value, user_id=request.asked.user_id, shown=len(shown))
    serving = services.watch.state.info
    artifact_id = serving.artifact_id if serving is not None else None
    services.audit.write(replace(request.entry(event), document_ids=shown, artifact_id=artifact_id))
