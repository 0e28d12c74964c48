"""The Home tab: shown when it is opened, and its search box, recent searches and buttons.

A press there comes without channel, message and response_url: its answers are a modal and the tab itself.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import texts
from bot.action_state import ClearRecentsState, OldStateError, RecentState, State, StateError
from bot.answers import answer_search
from bot.buttons import (
    HOME_CLEAR_ACTION,
    HOME_FORM_ACTION,
    HOME_RECENT_ACTION,
    HOME_SEARCH_ACTION,
    HOME_TEXT_ACTION,
)
from bot.form_blocks import form_view
from bot.form_fields import FormFields, fields_of
from bot.guard import Request, sentence_of
from bot.home import TabReply, home_for, press_reply, refresh_home
from bot.home_blocks import TEXT_BLOCK, plain_home
from bot.listeners.forms import open_form
from bot.listeners.recents import clear_recents, pressed_state
from bot.modal_blocks import loading_modal
from bot.payloads import Asked, Body, home_of, trigger_of
from bot.services import Services
from bot.visibility import RefusedError

OPENED_EVENT: Final = "app_home_opened"
_HOME_TAB: Final = "home"

_Answer: TypeAlias = Callable[[Services, Request], Awaitable[None]]


def register(app: AsyncApp, services: Services) -> None:
    """Register the event and the tab's buttons."""

    @app.event(OPENED_EVENT)
    async def handle_opened(event: Body, body: Body) -> None:
        if event.get("tab") != _HOME_TAB:
            return
        asked = Asked.from_body(body)
        reply = TabReply(services.client, user_id=asked.user_id, shown=home_of(body))

        async def show(_: Request) -> None:
            await show_home(services, asked, reply)

        services.guard.start(body, show, reply=reply)

    _register_press(app, services, HOME_SEARCH_ACTION, answer_box)
    _register_press(app, services, HOME_TEXT_ACTION, answer_box)
    _register_press(app, services, HOME_FORM_ACTION, answer_form)
    _register_press(app, services, HOME_RECENT_ACTION, answer_recent)
    _register_press(app, services, HOME_CLEAR_ACTION, answer_clear)


def _register_press(app: AsyncApp, services: Services, action_id: str, answer: _Answer) -> None:
    async def work(request: Request) -> None:
        await answer(services, request)

    @app.action(action_id)
    async def handle_press(ack: AsyncAck, body: Body) -> None:
        await ack()
        services.guard.start(body, work, reply=press_reply(body, client=services.client))


async def show_home(services: Services, asked: Asked, reply: TabReply) -> None:
    """Publish a person's tab; whoever is not served gets one that says so and nothing else.

    Raises:
        RefusedError: This person is not served.
        SlackUnavailableError: Slack did not say who they are in time.
    """
    try:
        view = await home_for(services, asked)
    except RefusedError as exc:
        await reply.replace(plain_home(sentence_of(exc)))
        raise
    await reply.replace(view)


async def answer_box(services: Services, request: Request) -> None:
    """Search for what stands in the search box; where that is empty, open the search form."""
    text = _entered(request)
    if not text:
        await answer_form(services, request)
        return
    await _search(services, request, FormFields(text=text).command())


async def answer_form(services: Services, request: Request) -> None:
    """Open the search form with what stands in the search box."""
    command = FormFields(text=_entered(request)).command()
    if not await open_form(services, request, trigger_of(request.body), command=command):
        await refresh_home(services, request, notices=(texts.HOME_NOT_OPENED,))


async def answer_recent(services: Services, request: Request) -> None:
    """Make a search again that the tab lists."""
    state = await _state(services, request)
    if isinstance(state, RecentState):
        await _search(services, request, state.command)


async def answer_clear(services: Services, request: Request) -> None:
    """Erase the presser's recent searches and show the tab without them."""
    state = await _state(services, request)
    if not isinstance(state, ClearRecentsState):
        return
    if await clear_recents(services, request):
        await refresh_home(services, request)
    else:
        await request.reply.tell(texts.RECENTS_NOT_CLEARED)


async def _search(services: Services, request: Request, command: str) -> None:
    """Show a search's results in a modal, and then the tab with that search among the recent ones."""
    reply = request.reply
    if not await reply.open_view(loading_modal(texts.FORM_TITLE, command=command), trigger_id=trigger_of(request.body)):
        await refresh_home(services, request, notices=(texts.HOME_NOT_OPENED,))
        return
    reply.fill(title=texts.FORM_TITLE, command=command)
    # What is wrong with a search is told where it can be mended.
    reply.tell_with(lambda sentence: form_view(fields_of(command), note=sentence))
    await reply.show(await answer_search(services, request, command))
    await refresh_home(services, request)


async def _state(services: Services, request: Request) -> State | None:
    """Return what the button says; where it cannot be acted on, say so and show the tab afresh."""
    try:
        state = pressed_state(services, request)
        if isinstance(state, RecentState | ClearRecentsState):
            return state
        raise OldStateError(version=state.kind)
    except StateError as exc:
        await request.reply.tell(sentence_of(exc))
        await refresh_home(services, request)
        return None


def _entered(request: Request) -> str:
    home = home_of(request.body)
    return home.entered(TEXT_BLOCK, HOME_TEXT_ACTION) if home is not None else ""
