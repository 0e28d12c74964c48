"""What a person's Home tab shows, and how it gets there."""

import asyncio
from typing import Final

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot import texts
from bot.buttons import Signer
from bot.elements import Block
from bot.guard import Request
from bot.home_blocks import SHOWN_RECENTS, Health, HomeView, ServedArchive, plain_home, render_home
from bot.modal_blocks import message_modal
from bot.payloads import Asked, Body, Home, home_of, trigger_of
from bot.recent_blocks import RecentsView
from bot.reply import Reply
from bot.services import Services
from bot.status import status_view
from bot.status_blocks import StatusView, render_sentence
from bot.visibility import RefusedError
from bot.web_api import SlackUnavailableError, error_code

_log = structlog.get_logger(__name__)

_DAY: Final = 86_400
# A Home tab stays as it is for as long as nobody opens it again.
_BUTTON_DAYS: Final = 31
_PUBLISH_SECONDS: Final = 10


class TabReply(Reply):
    """The reply to somebody who opened the tab: what is told becomes the tab where there was none.

    Args:
        client: Slack's Web API with the bot's token.
        user_id: Who opened it.
        shown: The tab that they see, None where there is none yet.
    """

    def __init__(self, client: AsyncWebClient, *, user_id: str, shown: Home | None) -> None:
        super().__init__(client, response_url=None, view_id=None, is_press=False)
        self._user_id = user_id
        self._shown = shown

    async def tell(self, sentence: str) -> bool:
        """Say a sentence on a tab that is still empty; one that shows something keeps it."""
        return self._shown is not None or await self.replace(plain_home(sentence))

    async def replace(self, view: Block) -> bool:
        """Publish a tab, unless the person sees it already, or a newer one.

        Returns:
            Whether they see it now.
        """
        if self._shown is not None and self._shown.private_metadata == view["private_metadata"]:
            return True
        shown_hash = self._shown.hash if self._shown is not None else None
        if not await publish(self._client, self._user_id, view, shown_hash=shown_hash):
            return False
        self._shown = Home(type="home", private_metadata=str(view["private_metadata"]))
        return True


class PressReply(Reply):
    """The reply to a press on the tab, which has no message and no response_url: a modal, opened when needed."""

    def __init__(self, client: AsyncWebClient, *, trigger_id: str) -> None:
        super().__init__(client, response_url=None, view_id=None, is_press=True)
        self._trigger_id = trigger_id

    async def tell(self, sentence: str) -> bool:
        """Say a sentence in the modal."""
        if self.is_in_view:
            return await super().tell(sentence)
        modal = message_modal(render_sentence(sentence), title=texts.FORM_TITLE)
        return await self.open_view(modal, trigger_id=self._trigger_id)


def press_reply(body: Body, *, client: AsyncWebClient) -> Reply:
    """Return the reply to a press wherever it was made, on the Home tab too."""
    if home_of(body) is None:
        return Reply.to_body(body, client=client)
    return PressReply(client, trigger_id=trigger_of(body))


async def home_for(services: Services, asked: Asked, *, notices: tuple[str, ...] = ()) -> Block:
    """Return the Home tab of a person.

    Args:
        services: The bot's parts.
        asked: Whose.
        notices: Sentences to put on top.

    Raises:
        RefusedError: This person is not served.
        SlackUnavailableError: Slack did not say who they are in time.
    """
    await services.access.admit(asked.user_id, asked.team_id, deadline=services.deadline())
    status = await status_view(services, user_id=asked.user_id)
    is_admin = asked.user_id in services.admins
    return render_home(
        HomeView(
            built_at_us=status.built_at_us,
            now_us=status.now_us,
            recents=await _recents(services, asked),
            notices=(*notices, *(() if is_admin else status.notices)),
            health=_health(services, status) if is_admin else None,
        )
    )


async def refresh_home(services: Services, request: Request, *, notices: tuple[str, ...] = ()) -> None:
    """Show the presser's tab as it is now, unless it shows that already.

    It never raises: the press was answered elsewhere, and the tab is drawn again when it is opened next.
    """
    try:
        view = await home_for(services, request.asked, notices=notices)
    except (RefusedError, SlackUnavailableError) as exc:
        _log.info("home_not_refreshed", reason=type(exc).__name__)
        return
    shown = home_of(request.body)
    if shown is None or shown.private_metadata != view["private_metadata"]:
        await publish(services.client, request.asked.user_id, view)


async def publish(client: AsyncWebClient, user_id: str, view: Block, *, shown_hash: str | None = None) -> bool:
    """Publish a person's Home tab; what Slack does not take is logged and never raised.

    Args:
        client: Slack's Web API with the bot's token.
        user_id: Whose.
        view: The tab.
        shown_hash: What they see; where that has changed meanwhile, somebody published a newer one, which stays.

    Returns:
        Whether they see it, or a newer one.
    """
    try:
        async with asyncio.timeout(_PUBLISH_SECONDS):
            await client.views_publish(user_id=user_id, view=view, hash=shown_hash)
    except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
        reason = error_code(exc) if isinstance(exc, SlackApiError) else type(exc).__name__
        if reason == "hash_conflict":
            return True
        _log.error("home_not_published", reason=reason, user_id=user_id)
        return False
    return True


async def _recents(services: Services, asked: Asked) -> RecentsView:
    # The same all day long, so that a tab that shows the same is the same.
    expires_s = (int(services.clock()) // _DAY + _BUTTON_DAYS) * _DAY
    signer = Signer(secret=services.state_key, user_id=asked.user_id, team_id=asked.team_id, expires_s=expires_s)
    store = services.store
    if store is None or not store.keeps_recents:
        return RecentsView(recents=(), signer=signer, are_kept=False)
    return RecentsView(recents=await store.recents(asked.team_id, asked.user_id, limit=SHOWN_RECENTS), signer=signer)


def _health(services: Services, status: StatusView) -> Health:
    watch, now, now_s = services.watch, services.monotonic(), services.clock()
    lines = [
        *((watch.state.problem,) if watch.state.problem is not None else ()),
        *status.notices,
        _store_line(services),
    ]
    served = [
        ServedArchive(
            since_us=int((now_s - (now - swap.at)) * 1_000_000),
            documents=swap.info.document_count,
        )
        for swap in watch.swaps
    ]
    return Health(lines=lines, served=served)


def _store_line(services: Services) -> str:
    store = services.store
    if store is None:
        return texts.STORE_OFF
    return texts.STORE_WORKS if store.problem is None else texts.STORE_FAILS
