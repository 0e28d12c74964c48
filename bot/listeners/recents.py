"""A person's recent searches: the answer to `recent`, and the buttons under it."""

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.action_state import ClearRecentsState, OldStateError, RecentState, State, decode_state
from bot.answers import answer_search
from bot.asking import signer_for
from bot.buttons import CLEAR_RECENTS_ACTION, RECENT_ACTION, Signer
from bot.guard import Request
from bot.payloads import Asked, Body, Press
from bot.recent_blocks import RecentsView, render_recents
from bot.reply import Reply
from bot.services import Services


def register(app: AsyncApp, services: Services) -> None:
    """Register the buttons."""

    async def search_again(request: Request) -> None:
        await answer_again(services, request)

    async def clear(request: Request) -> None:
        await answer_clear(services, request)

    @app.action(RECENT_ACTION)
    async def handle_search(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, search_again, reply=Reply.to_body(body, client=services.client))

    @app.action(CLEAR_RECENTS_ACTION)
    async def handle_clear(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, clear, reply=Reply.to_body(body, client=services.client))


async def answer_recents(services: Services, request: Request) -> None:
    """Answer `recent`: the asker's own searches."""
    await services.access.admit(request.asked.user_id, request.asked.team_id, deadline=services.deadline())
    view = await recents_view(
        services, request.asked, signer=signer_for(services, request.asked, search_id=request.search_id)
    )
    await request.reply.show(render_recents(view))


async def answer_again(services: Services, request: Request) -> None:
    """Make a search again that its owner made before, in the place of the list."""
    state = pressed_state(services, request)
    if not isinstance(state, RecentState):
        raise OldStateError(version=state.kind)
    await request.reply.show(await answer_search(services, request, state.command))


async def answer_clear(services: Services, request: Request) -> None:
    """Erase the presser's searches and say so in the place of the list."""
    if not isinstance(state := pressed_state(services, request), ClearRecentsState):
        raise OldStateError(version=state.kind)
    if await clear_recents(services, request):
        view = RecentsView(recents=(), signer=signer_for(services, request.asked, search_id=request.search_id))
        await request.reply.show(render_recents(view, were_cleared=True))
    else:
        await request.reply.tell(texts.RECENTS_NOT_CLEARED)


async def clear_recents(services: Services, request: Request) -> bool:
    """Erase a person's searches; whoever is no longer served may still erase their own.

    Returns:
        Whether they are gone.
    """
    asked = request.asked
    return services.store is None or await services.store.forget_recents(asked.team_id, asked.user_id)


async def recents_view(services: Services, asked: Asked, *, signer: Signer, limit: int | None = None) -> RecentsView:
    """Return what is known of an admitted person's searches, the newest so many."""
    store = services.store
    if store is None or not store.keeps_recents:
        return RecentsView(recents=(), signer=signer, are_kept=False)
    found = await store.recents(asked.team_id, asked.user_id)
    return RecentsView(recents=found if found is None else found[:limit], signer=signer)


def pressed_state(services: Services, request: Request) -> State:
    """Return what a pressed button says.

    Raises:
        StateError: It cannot be acted on.
    """
    asked = request.asked
    state = decode_state(
        Press.model_validate(request.body).action.value,
        services.state_key,
        now_s=int(services.clock()),
        user_id=asked.user_id,
        team_id=asked.team_id,
    )
    request.belong_to(state.search_id)
    return state
