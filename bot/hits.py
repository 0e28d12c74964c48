"""More and votes: one hit, looked up anew and redrawn, and what its reader says of it."""

from dataclasses import replace

import structlog

from bot import texts
from bot.action_state import Judged, MoreState, ShareState, VoteState
from bot.activity import keep_expansion
from bot.asking import Asking, admit, signer_for
from bot.audit import AuditEvent
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.more_blocks import MoreView, render_more
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.store_records import Verdict, Vote
from bot.visibility import telling_unconfirmed
from retrieval import Document

_log = structlog.get_logger(__name__)

HitState = MoreState | VoteState | ShareState
"""What every button of a redrawn hit carries."""


async def answer_more(services: Services, request: Request, state: MoreState) -> RenderedMessage:
    """Return the hit with what can be done with it.

    Raises:
        NotFoundError: The archive does not hold it, or not for this asker: the same words for both.
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    asking = await admit(services, request.asked)
    document = await find_hit(services, asking, state.document_id)
    keep_expansion(services, request, AuditEvent.EXPAND, [document])
    return await redraw_hit(services, request, state, document)


async def answer_vote(services: Services, request: Request, state: VoteState) -> RenderedMessage:
    """Keep a vote, or withdraw it, and return the hit with the vote that there is now; raises as `answer_more`."""
    asking = await admit(services, request.asked)
    document = await find_hit(services, asking, state.document_id)
    said = await _keep_vote(services, request, state)
    return await redraw_hit(services, request, state, document, notices=(said,))


async def find_hit(services: Services, asking: Asking, document_id: str) -> Document:
    """Return a message or file passage that the asker may see now; raises as `answer_more`."""
    with telling_unconfirmed(asking.sight):
        found = await services.archive.message(
            document_id,
            asker=asking.person.user_id,
            visibility=asking.sight.visibility,
            deadline=asking.deadline,
            before=0,
            after=0,
        )
    return found.message


async def redraw_hit(
    services: Services, request: Request, state: HitState, document: Document, *, notices: tuple[str, ...] = ()
) -> RenderedMessage:
    """Return a hit with what can be done with it, the asker's present vote marked.

    Args:
        services: The bot's parts.
        request: Who asks.
        state: What the pressed button carried.
        document: The hit, which the asker may see.
        notices: Sentences to put first.
    """
    judged = state.judged if services.keeps_votes else None
    view = MoreView(
        document=document,
        signer=signer_for(services, request.asked, search_id=request.search_id),
        workspace_name=services.identity.team_name or document.workspace_name or "",
        back=state.back,
        judged=judged,
        is_cut=state.is_cut and services.keeps_votes,
        present=await _present_vote(services, request, state, judged),
        may_share=request.asked.channel_id is not None,
        notices=notices,
        workspace_url=services.identity.url,
    )
    return await in_side_thread(render_more, view)


async def _present_vote(services: Services, request: Request, state: HitState, judged: Judged | None) -> Verdict | None:
    if services.store is None or judged is None:
        return None
    return await services.store.vote_of(
        request.asked.team_id, request.asked.user_id, query_key=judged.query_key, document_id=state.document_id
    )


async def _keep_vote(services: Services, request: Request, state: VoteState) -> str:
    """Keep or withdraw the vote, and return what to say of that."""
    if services.store is None or state.judged is None:
        return texts.VOTE_NOT_KEPT
    verdict = None if state.verdict is None else Verdict(state.verdict)
    if verdict is None:
        done = await services.store.withdraw(
            request.asked.team_id,
            request.asked.user_id,
            query_key=state.judged.query_key,
            document_id=state.document_id,
        )
    else:
        done = await services.store.vote(_vote(services, request, state, state.judged, verdict=verdict))
    _keep(services, request, state, "withdrawn" if verdict is None else verdict.value, is_kept=done)
    if not done:
        return texts.VOTE_NOT_KEPT
    return texts.VOTE_WITHDRAWN if verdict is None else texts.VOTE_KEPT


def _vote(services: Services, request: Request, state: VoteState, judged: Judged, *, verdict: Verdict) -> Vote:
    return Vote(
        team_id=request.asked.team_id,
        user_id=request.asked.user_id,
        query_key=judged.query_key,
        document_id=state.document_id,
        verdict=verdict,
        text=judged.text,
        understood=judged.understood,
        command=judged.command,
        mode=judged.mode,
        rank=judged.rank,
        artifact_id=judged.artifact_id,
        voted_us=int(services.clock() * 1_000_000),
    )


def _keep(services: Services, request: Request, state: VoteState, said: str, *, is_kept: bool) -> None:
    """Keep that there was a vote: what was said, never about which words."""
    _log.info("voted", user_id=request.asked.user_id, said=said, is_kept=is_kept)
    services.audit.write(
        replace(
            request.entry(AuditEvent.VOTE),
            document_ids=(state.document_id,),
            artifact_id=state.judged.artifact_id if state.judged is not None else None,
            reason=said if is_kept else f"{said}, not kept",
        )
    )
