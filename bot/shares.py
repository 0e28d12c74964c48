"""Share: asked first, then posted for everybody in the channel, once; both times only after `bot.sharing` allows it."""

import hashlib
import secrets
from dataclasses import replace
from typing import Final

import structlog

from bot import texts
from bot.action_state import ShareState
from bot.asking import Asking, admit, signer_for
from bot.audit import AuditEvent
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.hits import find_hit, redraw_hit
from bot.reply import Published
from bot.services import Services
from bot.share_blocks import SharedHit, ShareQuestion, render_question, render_shared
from bot.sharing import Shareable, ShareRefusal, ShareRefusedError, confirm_share
from bot.side_thread import in_side_thread
from retrieval import Document

_log = structlog.get_logger(__name__)

_SENTENCES: Final = {
    ShareRefusal.NO_CHANNEL: texts.SHARE_NO_CHANNEL,
    ShareRefusal.UNKNOWN_CHANNEL: texts.SHARE_UNKNOWN_CHANNEL,
    ShareRefusal.LEFT: texts.SHARE_LEFT,
    ShareRefusal.ARCHIVED: texts.SHARE_ARCHIVED,
    ShareRefusal.READ_ONLY: texts.SHARE_READ_ONLY,
    ShareRefusal.EXTERNAL: texts.SHARE_EXTERNAL,
    ShareRefusal.PRIVATE_SOURCE: texts.SHARE_PRIVATE_SOURCE,
    ShareRefusal.GUESTS: texts.SHARE_GUESTS,
    ShareRefusal.TOO_MANY: texts.SHARE_TOO_MANY,
    ShareRefusal.DELETED: texts.SHARE_DELETED,
    ShareRefusal.UNCONFIRMED: texts.SHARE_UNCONFIRMED,
}
_NOT_POSTED: Final = {
    Published.REFUSED: texts.SHARE_NOT_TAKEN,
    Published.UNKNOWN: texts.SHARE_NOT_CONFIRMED,
}


async def answer_share(services: Services, request: Request, state: ShareState) -> RenderedMessage:
    """Ask before a hit is posted, or post it; return the question, or the hit with what came of it.

    Raises:
        NotFoundError: The archive does not hold it, or not for this asker: the same words for both.
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    document = await find_hit(services, asking, state.document_id)
    try:
        allowed = await _allow(services, request, state, document, asking=asking)
    except ShareRefusedError as exc:
        _keep(services, request, state, AuditEvent.REFUSED, reason=f"share_{exc.refusal}")
        return await redraw_hit(services, request, state, document, notices=(_SENTENCES[exc.refusal],))
    hit = await _shared_hit(services, asking, document, allowed)
    if state.channel_id is None or state.nonce is None:
        return await _ask(services, request, state, hit, channel_name=allowed.channel_name)
    said = await _post(services, request, state, hit, channel_name=allowed.channel_name)
    return await redraw_hit(services, request, state, document, notices=(said,))


async def _allow(
    services: Services, request: Request, state: ShareState, document: Document, *, asking: Asking
) -> Shareable:
    """Return the leave to post where the asker stands, which must be where they were asked about.

    Raises:
        ShareRefusedError: There is none.
    """
    here = None if request.reply.is_in_view else request.asked.channel_id
    if state.channel_id is not None and state.channel_id != here:
        raise ShareRefusedError(ShareRefusal.NO_CHANNEL)
    return await confirm_share(services.workspace, document, here, sharer=asking.person, deadline=asking.deadline)


async def _shared_hit(services: Services, asking: Asking, document: Document, allowed: Shareable) -> SharedHit:
    user = await services.workspace.person(asking.person.user_id, deadline=asking.deadline)
    name = user.profile.display_name or user.profile.real_name or user.real_name or user.name
    serving = services.watch.state.info
    return SharedHit(
        document=document,
        permalink=allowed.permalink,
        sharer=name,
        built_at_us=serving.built_at_us if serving is not None else 0,
    )


async def _ask(
    services: Services, request: Request, state: ShareState, hit: SharedHit, *, channel_name: str
) -> RenderedMessage:
    question = ShareQuestion(
        hit=hit,
        channel_id=request.asked.channel_id or "",
        channel_name=channel_name,
        nonce=secrets.token_hex(6),
        signer=signer_for(services, request.asked, search_id=request.search_id),
        back=state.back,
        judged=state.judged,
    )
    return await in_side_thread(render_question, question)


async def _post(services: Services, request: Request, state: ShareState, hit: SharedHit, *, channel_name: str) -> str:
    """Post the hit unless this very question was answered before, and return what to say of that."""
    if not await services.once.take(_key(state)):
        _keep(services, request, state, AuditEvent.REFUSED, reason="share_repeated")
        return texts.ALREADY_SHARED
    published = await request.reply.publish(await in_side_thread(render_shared, hit))
    if published is Published.POSTED:
        _keep(services, request, state, AuditEvent.SHARE)
        return texts.shared_in(channel_name)
    _keep(services, request, state, AuditEvent.ERROR, reason=f"share_{published}")
    return _NOT_POSTED[published]


def _key(state: ShareState) -> str:
    asked = "\0".join([state.team_id, state.user_id, state.channel_id or "", state.document_id, state.nonce or ""])
    return f"share {hashlib.sha256(asked.encode()).hexdigest()[:32]}"


def _keep(
    services: Services, request: Request, state: ShareState, event: AuditEvent, *, reason: str | None = None
) -> None:
    _log.info("share", kind=event.value, user_id=request.asked.user_id, reason=reason)
    serving = services.watch.state.info
    services.audit.write(
        replace(
            request.entry(event),
            document_ids=(state.document_id,),
            artifact_id=serving.artifact_id if serving is not None else None,
            reason=reason,
        )
    )
