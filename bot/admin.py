"""The answer to `admin`: what the audit file says, for those who are listed as admins."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bot import texts
from bot.action_state import AdminPage
from bot.admin_blocks import ENTRIES_PER_PAGE, MOST_ENTRIES, AdminView, render_admin
from bot.asking import signer_for
from bot.audit import AuditEvent
from bot.audit_reader import AuditRecord, LogFilter, newest_records, read_audit
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.status import status_view
from bot.status_blocks import render_sentence
from bot.summary import Summary, summarise
from bot.web_api import SlackUnavailableError

_DAY: Final = timedelta(hours=24)
_SERVED: Final = (AuditEvent.START.value, AuditEvent.SWAP.value, AuditEvent.STOP.value)
_NAME_SECONDS: Final = 2.0


async def answer_admin(services: Services, request: Request, page: AdminPage) -> RenderedMessage:
    """Return a page of the logs; a sentence for whoever is not listed as an admin, which tells nothing else.

    Raises:
        RefusedError: This person is not served at all.
        SlackUnavailableError: Slack did not say who they are in time.
        TimeoutError: The files are too large to be read in the time of an answer.
    """
    asked, deadline = request.asked, services.deadline()
    await services.access.admit(asked.user_id, asked.team_id, deadline=deadline)
    if asked.user_id not in services.admins:
        services.audit.write(replace(request.entry(AuditEvent.REFUSED), reason="not_admin"))
        return render_sentence(texts.ADMIN_REFUSED)
    # This look itself comes after what it shows, so that pages stay what they are.
    page = page if page.until_ms else page.model_copy(update={"until_ms": int(services.clock() * 1000)})
    services.audit.write(replace(request.entry(AuditEvent.ADMIN), reason=page.view))
    folder = services.audit.folder
    if folder is None:
        return render_sentence(texts.ADMIN_OFF)
    try:
        async with asyncio.timeout(max(0.0, deadline - services.monotonic())):
            view = await _view(services, request, page, folder)
    except OSError as exc:
        if isinstance(exc, TimeoutError):
            raise
        return render_sentence(texts.ADMIN_UNREADABLE)
    return await in_side_thread(render_admin, view)


async def _view(services: Services, request: Request, page: AdminPage, folder: Path) -> AdminView:
    until = datetime.fromtimestamp(page.until_ms / 1000, UTC)
    view = AdminView(
        page=page,
        signer=signer_for(services, request.asked, search_id=request.search_id),
        names={},
        notices=(await status_view(services, user_id=request.asked.user_id)).notices,
    )
    if page.view == "summary":
        return replace(view, summary=await asyncio.to_thread(_last_day, folder, until))
    events = _SERVED if page.view == "served" else ()
    count = min(page.offset + ENTRIES_PER_PAGE + 1, MOST_ENTRIES)
    wanted = LogFilter(until=until, events=events)
    newest = await asyncio.to_thread(newest_records, folder, count, wanted=wanted)
    shown = newest[page.offset : page.offset + ENTRIES_PER_PAGE]
    return replace(
        view,
        entries=shown,
        names=await _names(services, shown),
        has_older=len(newest) > page.offset + ENTRIES_PER_PAGE,
        notices=(*view.notices, *((texts.ADMIN_ENDS,) if len(newest) == MOST_ENTRIES else ())),
    )


def _last_day(folder: Path, until: datetime) -> Summary:
    return summarise(read_audit(folder, since=until - _DAY, until=until))


async def _names(services: Services, records: Sequence[AuditRecord]) -> dict[str, str]:
    """Return the names of those whom Slack tells of in time; the others keep their ids."""
    people = sorted({record.user_id for record in records if record.user_id})
    deadline = services.monotonic() + _NAME_SECONDS
    found = await asyncio.gather(*(_name(services, user_id, deadline=deadline) for user_id in people))
    return {user_id: name for user_id, name in zip(people, found, strict=True) if name}


async def _name(services: Services, user_id: str, *, deadline: float) -> str:
    try:
        user = await services.workspace.person(user_id, deadline=deadline)
    except (SlackUnavailableError, TimeoutError):
        return ""
    return user.profile.display_name or user.real_name or user.name
