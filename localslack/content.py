"""What a message says, checked and recorded the same way on every road it may come."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from localslack.blockkit.check import check_message_blocks
from localslack.blockkit.finish import finished_blocks
from localslack.blockkit.walk import text_length
from localslack.errors import ApiError, invalid_arguments, invalid_blocks
from localslack.json_types import JsonObject, JsonView
from localslack.mentions import Mention, mentions_in_blocks, mentions_in_text
from localslack.recorder import Recorder, SentPayload

TEXT_CHARS = 40_000
MARKDOWN_CHARS = 12_000
_KEPT = (
    *("text", "blocks", "markdown_text", "response_type", "replace_original", "delete_original"),
    *("thread_ts", "unfurl_links", "unfurl_media"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """An accepted message's text and blocks (with ids), and the mentions that Slack finds in it."""

    text: str
    blocks: list[JsonObject]
    mentions: tuple[Mention, ...]


class ContentReader:
    """Checks what the app wants to say. ``blocks_chars`` bounds the readable text of all blocks."""

    def __init__(self, recorder: Recorder, names: Mapping[str, str], *, blocks_chars: int) -> None:
        self._recorder = recorder
        self._names = names
        self._blocks_chars = blocks_chars

    def read(
        self,
        raw: JsonView,
        *,
        surface: str,
        method: str,
        text_limit: int = TEXT_CHARS,
        text_size: Callable[[str], int] = len,
    ) -> Content:
        """Check and record one message.

        Args:
            raw: ``text``, ``blocks`` (a list or JSON text), ``markdown_text``, ``link_names``, ``parse``.
            surface: ``message`` or ``ephemeral``, for the record.
            method: The Web API method, ``response_url`` or ``ack``, for the record.
            text_limit: How long ``text`` may be.
            text_size: How that is measured; in characters by default.

        Raises:
            ApiError: ``no_text``, ``msg_too_long``, ``markdown_text_conflict``,
                ``invalid_blocks_format``, ``invalid_blocks``, ``invalid_attachments`` (two tables) or
                ``msg_blocks_too_long``.
        """
        payload = {key: raw[key] for key in _KEPT if raw.get(key) is not None}
        try:
            payload["blocks"] = blocks = _blocks(raw.get("blocks"))
            text = self._checked(raw, blocks)
            if text_size(text) > text_limit:
                raise ApiError("msg_too_long")
        except ApiError as exc:
            self._record(surface, method, payload, (exc.code, *exc.messages))
            raise
        self._record(surface, method, payload, ())
        return Content(
            text=text[:TEXT_CHARS], blocks=finished_blocks(blocks), mentions=self._mentions(raw, text, blocks)
        )

    def _checked(self, raw: JsonView, blocks: list[JsonObject]) -> str:
        text = raw.get("text") or ""
        markdown = raw.get("markdown_text")
        if not isinstance(text, str):
            raise invalid_arguments("must provide a string [json-pointer:/text]")
        if raw.get("attachments") not in (None, "", "[]", []):
            raise invalid_arguments("attachments are not supported by this stand-in")
        if markdown is not None:
            if text or blocks:
                raise ApiError("markdown_text_conflict")
            if not isinstance(markdown, str) or len(markdown) > MARKDOWN_CHARS:
                raise ApiError("msg_too_long")
            return markdown
        if not text.strip() and not blocks:
            raise ApiError("no_text")
        self._check_blocks(blocks)
        return text

    def _check_blocks(self, blocks: list[JsonObject]) -> None:
        problems = check_message_blocks(blocks)
        if any(problem.message == "only_one_table_allowed" for problem in problems):
            raise ApiError("invalid_attachments", messages=[str(problem) for problem in problems])
        if problems:
            raise invalid_blocks(problems)
        if text_length(blocks) > self._blocks_chars:
            raise ApiError("msg_blocks_too_long")

    def _mentions(self, raw: JsonView, text: str, blocks: list[JsonObject]) -> tuple[Mention, ...]:
        links = str(raw.get("link_names", "")).lower() in {"1", "true"}
        raw_text = links or raw.get("parse") == "full" or raw.get("markdown_text") is not None
        found = [*mentions_in_text(text, pointer="/text", parses_raw=raw_text, names=self._names)]
        found.extend(mentions_in_blocks(blocks, pointer="/blocks", names=self._names))
        return tuple(found)

    def _record(self, surface: str, method: str, payload: JsonObject, problems: tuple[str, ...]) -> None:
        self._recorder.payload(SentPayload(surface=surface, method=method, payload=payload, problems=problems))


def _blocks(value: object) -> list[JsonObject]:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value else []
        except json.JSONDecodeError as exc:
            raise ApiError("invalid_blocks_format") from exc
    if value is None:
        return []
    if not isinstance(value, list):
        raise ApiError("invalid_blocks_format")
    return value
