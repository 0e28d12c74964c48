"""What an answer over a response URL (or in a command's ack) does to what people see."""

from __future__ import annotations

from localslack.changes import Change
from localslack.core import Core
from localslack.errors import ApiError
from localslack.json_types import JsonView
from localslack.messages import Message
from localslack.response_urls import ResponseURL

_KNOWN = frozenset(
    {
        *("text", "blocks", "attachments", "response_type", "replace_original", "delete_original"),
        *("thread_ts", "unfurl_links", "unfurl_media", "mrkdwn", "metadata", "link_names", "parse"),
    }
)


def respond(core: Core, path: str, body: JsonView | None) -> tuple[int, str | None]:
    """Carry out one answer.

    Returns:
        The HTTP status and the error, None when it was accepted.
    """
    if refusal := core.response_urls.refusal(path):
        return 404, refusal
    if body is None:
        return 400, "invalid_payload"
    url = core.response_urls.use(path)
    try:
        _carry_out(core, url, body)
    except ApiError as exc:
        return 404 if exc.code == "channel_not_found" else 400, exc.code
    return 200, None


def show_answer(core: Core, url: ResponseURL, body: JsonView, *, method: str) -> None:
    """Show a new message in answer to what a person did.

    Raises:
        ApiError: the content is not acceptable.
    """
    in_channel = body.get("response_type") == "in_channel"
    if body.get("response_type") not in {None, "ephemeral", "in_channel"}:
        raise ApiError("invalid_arguments", messages=["invalid response_type"])
    surface = "message" if in_channel else "ephemeral"
    content = core.content.read(body, surface=surface, method=method)
    channel = core.world.channel(url.channel_id)
    if in_channel:
        _show_command(core, url)
    thread_ts = body.get("thread_ts") or (None if in_channel else url.thread_ts)
    core.post(
        channel,
        content,
        method=method,
        thread_ts=thread_ts,
        ephemeral_for=None if in_channel else url.user_id,
    )


def _carry_out(core: Core, url: ResponseURL, body: JsonView) -> None:
    _check_keys(body)
    source = core.store.find(url.channel_id, url.message_ts) if url.message_ts else None
    if body.get("delete_original") is True:
        _delete(core, source, body)
    elif body.get("replace_original") is True and url.source == "message":
        # A message that is gone (deleted, or ephemeral and reloaded) is silently not replaced.
        surface = "ephemeral" if source is None or source.ephemeral_for else "message"
        content = core.content.read(body, surface=surface, method="response_url")
        if source is not None:
            core.replace(source, content, method="response_url")
    else:
        show_answer(core, url, body, method="response_url")


def _check_keys(body: JsonView) -> None:
    unknown = sorted(set(body) - _KNOWN)
    if unknown:
        raise ApiError("invalid_arguments", messages=[f"unknown keys: {', '.join(unknown)}"])
    for key in ("replace_original", "delete_original", "unfurl_links", "unfurl_media", "mrkdwn"):
        if not isinstance(body.get(key, False), bool):
            raise ApiError("invalid_arguments", messages=[f"must provide a boolean [json-pointer:/{key}]"])


def _delete(core: Core, source: Message | None, body: JsonView) -> None:
    # SDKs send an empty text along.
    if {key for key, value in body.items() if value} - {"delete_original", "response_type"}:
        raise ApiError("invalid_arguments", messages=["delete_original must stand alone"])
    if source is not None:
        core.remove(source)


def _show_command(core: Core, url: ResponseURL) -> None:
    """Make the typed command visible to the channel, once."""
    if url.command_text is None:
        return
    message = core.store.add(
        Message(
            ts=core.store.next_ts(),
            channel_id=url.channel_id,
            user_id=url.user_id,
            text=url.command_text,
            typed_command=True,
        )
    )
    url.command_text = None
    people = core.audience(core.world.channel(url.channel_id))
    core.feed.publish(Change(kind="message", channel_id=url.channel_id, ts=message.ts), people)
