"""Where the answer to one payload goes: its own response_url, or the modal it belongs to."""

import asyncio

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.http_retry.async_handler import AsyncRetryHandler
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
    AsyncServerErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.elements import Block, RenderedMessage
from bot.message_blocks import error_view
from bot.payloads import Body, response_url_of, view_id_of
from bot.status_blocks import render_sentence
from bot.web_api import error_code

_log = structlog.get_logger(__name__)

_SEND_SECONDS = 10


def _retry_handlers() -> list[AsyncRetryHandler]:
    """Return what tries once more after a reset connection, a 429 or a 5xx; the answer's time limits all."""
    return [
        AsyncConnectionErrorRetryHandler(),
        AsyncRateLimitErrorRetryHandler(),
        AsyncServerErrorRetryHandler(),
    ]


class Reply:
    """Sends the answer to one payload; never raises because Slack did not take it, but logs that.

    Every payload has a response_url of its own, good for five uses in thirty minutes; it is the only way to
    change an ephemeral message. In a modal there is none: the modal itself is redrawn.

    Args:
        client: Slack's Web API with the bot's token.
        response_url: The payload's own, None where it has none.
        view_id: The modal that was pressed in, None outside modals.
        is_press: Whether the payload is a press, whose answer replaces the message it sits in.
    """

    def __init__(
        self, client: AsyncWebClient, *, response_url: str | None, view_id: str | None, is_press: bool
    ) -> None:
        self._client = client
        self._response_url = response_url
        self._view_id = view_id
        self._is_press = is_press

    @classmethod
    def to_body(cls, body: Body, *, client: AsyncWebClient) -> "Reply":
        """Return the reply to a payload."""
        return cls(
            client,
            response_url=response_url_of(body),
            view_id=view_id_of(body),
            is_press=body.get("type") == "block_actions",
        )

    @property
    def is_in_view(self) -> bool:
        """Whether the answer belongs into a modal."""
        return self._view_id is not None

    async def show(self, message: RenderedMessage) -> bool:
        """Answer: in place of the message that was pressed in, else as a new message for the asker alone.

        Returns:
            Whether Slack took it.
        """
        return await self._post(message, replace_original=self._is_press)

    async def tell(self, sentence: str) -> bool:
        """Say a sentence without taking away what the asker was looking at.

        Returns:
            Whether Slack took it.
        """
        if self._view_id is not None:
            return await self.update_view(error_view(sentence))
        return await self._post(render_sentence(sentence), replace_original=False)

    async def open_view(self, view: Block, *, trigger_id: str) -> bool:
        """Open a modal and send all further answers into it; the trigger lives three seconds.

        Returns:
            Whether Slack opened it.
        """
        try:
            answer = await self._client.views_open(trigger_id=trigger_id, view=view)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            self._log_failure("view_not_opened", exc)
            return False
        self._view_id = str(answer["view"]["id"])
        return True

    async def update_view(self, view: Block) -> bool:
        """Redraw the modal.

        Returns:
            Whether Slack took it; a modal that was closed meanwhile is no fault.
        """
        try:
            await self._client.views_update(view_id=self._view_id, view=view)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            self._log_failure("view_not_updated", exc)
            return False
        return True

    async def _post(self, message: RenderedMessage, *, replace_original: bool) -> bool:
        if self._response_url is None:
            _log.warning("answer_without_response_url")
            return False
        webhook = AsyncWebhookClient(self._response_url, timeout=_SEND_SECONDS, retry_handlers=_retry_handlers())
        body = message.arguments() | {"response_type": "ephemeral", "replace_original": replace_original}
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                answer = await webhook.send_dict(body)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            self._log_failure("answer_not_sent", exc)
            return False
        if answer.status_code != 200:
            _log.error("answer_refused", status=answer.status_code, body=str(answer.body)[:200])
            return False
        return True

    @staticmethod
    def _log_failure(event: str, error: Exception) -> None:
        reason = error_code(error) if isinstance(error, SlackApiError) else type(error).__name__
        _log.error(event, reason=reason)
