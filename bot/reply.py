"""Where the answer to one payload goes: its own response_url, or the modal it belongs to."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

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
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot import texts
from bot.elements import Block, RenderedMessage
from bot.message_blocks import ARCHIVE_VIEW_CALLBACK
from bot.modal_blocks import message_modal, modal_with_note, title_of
from bot.payloads import Body, Modal, modal_of, response_url_of, view_id_of
from bot.status_blocks import render_sentence
from bot.web_api import error_code

_log = structlog.get_logger(__name__)

_SEND_SECONDS = 10
_STALE = "hash_conflict"
_CLOSED = "not_found"
_FULL = "push_limit_reached"
# Seconds between tries while an ack is on its way; about three in all, as long as Slack waits for it.
_ACK_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.8, 0.8)


def _retry_handlers() -> list[AsyncRetryHandler]:
    """Return what tries once more after a reset connection, a 429 or a 5xx; the answer's time limits all."""
    return [
        AsyncConnectionErrorRetryHandler(),
        AsyncRateLimitErrorRetryHandler(),
        AsyncServerErrorRetryHandler(),
    ]


class Published(StrEnum):
    """What became of a message for everybody; `unknown` where Slack did not say."""

    POSTED = "posted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Reply:
    """Sends the answer to one payload; never raises because Slack did not take it, but logs that.

    Every payload has a response_url of its own, good for five uses in thirty minutes; it is the only way to
    change an ephemeral message. In a modal there is none: the modal itself is redrawn.

    Args:
        client: Slack's Web API with the bot's token.
        response_url: The payload's own, None where it has none.
        view_id: The modal that was pressed in, None outside modals.
        is_press: Whether the payload is a press, whose answer replaces the message it sits in.
        modal: The modal as it was when it was pressed in; None outside modals.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        *,
        response_url: str | None,
        view_id: str | None,
        is_press: bool,
        modal: Modal | None = None,
    ) -> None:
        self._client = client
        self._response_url = response_url
        self._view_id = view_id
        self._is_press = is_press
        self._modal = modal
        self._title = modal.title.text if modal is not None and modal.title.text else texts.FORM_TITLE
        self._command = modal.private_metadata if modal is not None else ""
        # A submission's hash is that of the form, which its ack has replaced.
        self._hash = modal.hash if modal is not None and is_press else None
        self._problem: Callable[[str], Block] | None = None
        self._said: Callable[[str], RenderedMessage] = render_sentence
        self._expected: str | None = None

    @classmethod
    def to_body(cls, body: Body, *, client: AsyncWebClient) -> "Reply":
        """Return the reply to a payload."""
        return cls(
            client,
            response_url=response_url_of(body),
            view_id=view_id_of(body),
            is_press=body.get("type") == "block_actions",
            modal=modal_of(body),
        )

    @property
    def is_in_view(self) -> bool:
        """Whether the answer belongs into a modal."""
        return self._view_id is not None

    @property
    def is_in_modal(self) -> bool:
        """Whether the answer belongs into a modal that was pressed in, the Home tab being none."""
        return self._modal is not None

    @property
    def is_in_archive_view(self) -> bool:
        """Whether it belongs into the modal of "Show in archive", which has no way back to results."""
        return self._modal is not None and self._modal.callback_id == ARCHIVE_VIEW_CALLBACK

    @property
    def command(self) -> str:
        """What the modal's search was, in full; empty where there is none."""
        return self._command

    def fill(self, *, title: str, command: str = "", external_id: str | None = None) -> None:
        """Take it that the modal now holds nothing but a title, and that `command` is what it searches for.

        Args:
            title: The title.
            command: The command in full.
            external_id: That of the empty modal where an ack puts it there. An ack and a call travel on different
                ways, and Slack may meet the call first: the id lets the answer wait until the empty modal is
                there, instead of being painted over by it.
        """
        self._modal, self._title, self._command, self._hash = None, title, command, None
        self._expected = external_id

    def tell_with(self, make: Callable[[str], Block]) -> None:
        """Let sentences be told as the modal that `make` gives for them."""
        self._problem = make

    def say_with(self, make: Callable[[str], RenderedMessage]) -> None:
        """Let sentences that are told outside modals be said by the message that `make` gives for them."""
        self._said = make

    async def show(self, message: RenderedMessage) -> bool:
        """Answer: in the modal, else in place of the message that was pressed in, else as a new message.

        A new message is for the asker alone.

        Returns:
            Whether Slack took it.
        """
        if self._view_id is not None:
            return await self.update_view(message_modal(message, title=self._title, command=self._command))
        return await self._post(message, replace_original=self._is_press)

    async def publish(self, message: RenderedMessage) -> Published:
        """Post a message that everybody in the conversation sees, beside the one that was pressed in.

        Tried once, over a connection of its own: a second try after a lost answer would post it twice, and one that is
        kept open may have been closed at the other end.
        """
        if self._response_url is None:
            return Published.REFUSED
        patience: list[AsyncRetryHandler] = [AsyncRateLimitErrorRetryHandler()]
        webhook = AsyncWebhookClient(self._response_url, timeout=_SEND_SECONDS, retry_handlers=patience)
        body = message.arguments() | {"response_type": "in_channel", "replace_original": False}
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                answer = await webhook.send_dict(body)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            self._log_failure("message_not_posted", exc)
            return Published.REFUSED if isinstance(exc, aiohttp.ClientConnectorError) else Published.UNKNOWN
        if answer.status_code == 200:
            return Published.POSTED
        _log.error("message_refused", status=answer.status_code, body=str(answer.body)[:200])
        return Published.UNKNOWN if answer.status_code >= 500 else Published.REFUSED

    async def tell(self, sentence: str) -> bool:
        """Say a sentence without taking away what the asker was looking at.

        Returns:
            Whether Slack took it.
        """
        if self._view_id is not None:
            return await self.update_view(self._telling(sentence))
        return await self._post(self._said(sentence), replace_original=False)

    def _telling(self, sentence: str) -> Block:
        if self._problem is not None:
            return self._problem(sentence)
        if self._modal is not None:
            return modal_with_note(self._modal, sentence)
        return message_modal(render_sentence(sentence), title=self._title, command=self._command)

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
        self._opened(view, answer)
        return True

    async def push_view(self, view: Block, *, trigger_id: str) -> bool:
        """Open a modal over the one that was pressed in and send all further answers into it.

        Returns:
            Whether Slack opened it: where three lie on each other already, it does not, and the one that was
            pressed in is the place to answer.
        """
        try:
            answer = await self._client.views_push(trigger_id=trigger_id, view=view)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            if isinstance(exc, SlackApiError) and error_code(exc) == _FULL:
                _log.info("view_stack_full")
            else:
                self._log_failure("view_not_pushed", exc)
            return False
        self._opened(view, answer)
        return True

    def _opened(self, view: Block, answer: AsyncSlackResponse) -> None:
        self._view_id, self._hash = str(answer["view"]["id"]), answer["view"].get("hash")
        self._modal, self._title = None, title_of(view)
        self._command = str(view.get("private_metadata", ""))

    async def update_view(self, view: Block) -> bool:
        """Redraw the modal, also where it was redrawn since the press that is answered: the last answer stays.

        Returns:
            Whether Slack took it; a modal that was closed meanwhile is no fault.
        """
        try:
            answer = await self._send_view(view)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
            if isinstance(exc, SlackApiError) and error_code(exc) == _CLOSED:
                _log.info("view_closed")
            else:
                self._log_failure("view_not_updated", exc)
            return False
        self._hash = answer["view"].get("hash")
        return True

    async def _send_view(self, view: Block) -> AsyncSlackResponse:
        if self._expected is not None:
            return await self._send_expected(view, external_id=self._expected)
        try:
            return await self._client.views_update(view_id=self._view_id, view=view, hash=self._hash)
        except SlackApiError as exc:
            if error_code(exc) != _STALE:
                raise
            _log.info("view_redrawn_since")
            return await self._client.views_update(view_id=self._view_id, view=view)

    async def _send_expected(self, view: Block, *, external_id: str) -> AsyncSlackResponse:
        """Fill the modal that an ack puts there, once it is there."""
        for pause in _ACK_PAUSES:
            try:
                answer = await self._client.views_update(external_id=external_id, view=view)
            except SlackApiError as exc:
                if error_code(exc) != _CLOSED:
                    raise
                await asyncio.sleep(pause)
            else:
                self._expected = None
                return answer
        # Closed, or an ack that Slack dropped; then the form is still there and takes the answer.
        self._expected = None
        return await self._client.views_update(view_id=self._view_id, view=view)

    async def _post(self, message: RenderedMessage, *, replace_original: bool) -> bool:
        if self._response_url is None:
            _log.warning("answer_without_response_url")
            return False
        webhook = AsyncWebhookClient(
            self._response_url,
            timeout=_SEND_SECONDS,
            session=self._client.session,
            retry_handlers=_retry_handlers(),
        )
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
