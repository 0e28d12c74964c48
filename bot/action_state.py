"""The signed state that a button carries in its `value`.

```
StateError
├── ForgedStateError      not made by us, cut, or altered
├── OldStateError         made by another version of the bot
├── ForeignStateError     made for somebody else
└── ExpiredStateError     ours, but too old; carries what it said

StateTooLargeError        (a ValueError) the state does not fit into a button
```

A value reads `v1.PAYLOAD.MAC`: the payload is JSON with short names, deflated and base64url; the MAC is
HMAC-SHA256 over `v1.PAYLOAD`, cut to 16 bytes. The state is signed, not encrypted: it holds only what its
owner typed and was shown. Everything here is pure and thread-safe.
"""

import base64
import binascii
import hashlib
import hmac
import re
import zlib
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bot.limits import BUTTON_VALUE_CHARACTERS

STATE_VERSION: Final = "v1"
STATE_SECONDS: Final = 30 * 60
"""How long a button works: as long as Slack keeps a response_url alive."""

_MAC_BYTES = 16
_SHAPE = re.compile(r"(v\d{1,4})\.([A-Za-z0-9_-]{1,3000})\.([A-Za-z0-9_-]{22})", re.ASCII)
_VERSION = re.compile(r"v\d{1,4}\.", re.ASCII)
_MAXIMUM_OFFSET = 10_000
_MAXIMUM_PAYLOAD_BYTES = 100_000


class StateTooLargeError(ValueError):
    """The encoded state is longer than a button's value may be.

    Attributes:
        length: Its length in characters.
        maximum: What Slack allows.
    """

    def __init__(self, *, length: int, maximum: int = BUTTON_VALUE_CHARACTERS) -> None:
        super().__init__(f"The button's state has {length} characters; Slack allows {maximum}.")
        self.length = length
        self.maximum = maximum


class StateError(Exception):
    """A button's value cannot be acted on; `bot.texts.sentence_for` says it to the person."""


class ForgedStateError(StateError):
    """The value is not ours, or it was cut or altered."""


class OldStateError(StateError):
    """The value was made by another version of the bot.

    Attributes:
        version: The version that the value names.
    """

    def __init__(self, *, version: str) -> None:
        super().__init__(f"The button's state has version {version}, not {STATE_VERSION}.")
        self.version = version


class ForeignStateError(StateError):
    """The value was made for another person or another workspace."""


class ExpiredStateError(StateError):
    """The value is genuine and belongs to the presser, but its time is over.

    Attributes:
        state: What it said, so that the answer can offer the same search afresh.
    """

    def __init__(self, *, state: "State") -> None:
        super().__init__("The button's time is over.")
        self.state = state


class _Compact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, strict=True)


class PageReference(_Compact):
    """Which page of which search: enough to parse the command again to the same request.

    Attributes:
        command: The command's text as typed, modifiers and all.
        timezone: The asker's IANA time zone when they typed it.
        now_s: Unix seconds that `yesterday` and `7d` were counted from.
        cursor: The engine's cursor for this page; None for the first.
        offset: How many hits stand before this page.
        similar_to: The document that the results are similar to; None where a command was typed.
        similar_text: The text that they are similar to, of a message that the archive does not hold.
        back: The page of other results that this search was started from; it has no `back` of its own.
    """

    command: str = Field(validation_alias="q", serialization_alias="q")
    timezone: str = Field(validation_alias="z", serialization_alias="z", default="UTC")
    now_s: int = Field(validation_alias="n", serialization_alias="n", default=0)
    cursor: str | None = Field(validation_alias="c", serialization_alias="c", default=None)
    offset: int = Field(validation_alias="o", serialization_alias="o", default=0, ge=0, le=_MAXIMUM_OFFSET)
    similar_to: str | None = Field(validation_alias="s", serialization_alias="s", default=None)
    similar_text: str | None = Field(validation_alias="x", serialization_alias="x", default=None)
    back: "PageReference | None" = Field(validation_alias="b", serialization_alias="b", default=None)

    @property
    def is_similar(self) -> bool:
        """Whether it is a page of what is similar to a message."""
        return self.similar_to is not None or self.similar_text is not None

    @property
    def typed(self) -> str:
        """The command that led here, itself or before its results were left for similar ones; may be empty."""
        return self.command or (self.back.command if self.back is not None else "")

    def first_page(self) -> "PageReference":
        """Return the same search at its beginning."""
        return self.model_copy(update={"cursor": None, "offset": 0})


class _Owned(_Compact):
    user_id: str = Field(validation_alias="u", serialization_alias="u")
    team_id: str = Field(validation_alias="t", serialization_alias="t")
    expires_s: int = Field(validation_alias="e", serialization_alias="e")
    # Which command's answer the button stands under: joins its presses to it in the logs.
    search_id: str | None = Field(validation_alias="r", serialization_alias="r", default=None, max_length=32)


class PageState(_Owned):
    """Show this page of results: Next, Previous, Back to results, Search again."""

    kind: Literal["p"] = Field(validation_alias="k", serialization_alias="k", default="p")
    page: PageReference = Field(validation_alias="p", serialization_alias="p")


class ThreadState(_Owned):
    """Show part of a thread: Expand thread, Earlier, Later.

    Attributes:
        thread_id: The thread.
        document_id: The hit to mark; None for none.
        offset: How many of its messages stand before the part; None asks for the part that holds the hit.
        back: The page to go back to; None where there is none or where it would not fit.
    """

    kind: Literal["t"] = Field(validation_alias="k", serialization_alias="k", default="t")
    thread_id: str = Field(validation_alias="i", serialization_alias="i")
    document_id: str | None = Field(validation_alias="d", serialization_alias="d", default=None)
    offset: int | None = Field(validation_alias="o", serialization_alias="o", default=None, ge=0)
    back: PageReference | None = Field(validation_alias="b", serialization_alias="b", default=None)


class ContextState(_Owned):
    """Show a message with its neighbours in the channel: Context.

    Attributes:
        document_id: The message.
        back: The page to go back to; None where there is none or where it would not fit.
    """

    kind: Literal["c"] = Field(validation_alias="k", serialization_alias="k", default="c")
    document_id: str = Field(validation_alias="d", serialization_alias="d")
    back: PageReference | None = Field(validation_alias="b", serialization_alias="b", default=None)


class Judged(_Compact):
    """Which result of which search a vote is about.

    Attributes:
        query_key: Which query, as `bot.store_records.query_key` gives it.
        text: The words that were ranked.
        understood: How the whole query was understood, in words.
        command: What was typed.
        mode: How was searched.
        rank: Where the hit stood, from 1.
        artifact_id: The archive it was shown from.
    """

    query_key: str = Field(validation_alias="k", serialization_alias="k")
    text: str = Field(validation_alias="t", serialization_alias="t")
    understood: str = Field(validation_alias="w", serialization_alias="w")
    command: str = Field(validation_alias="q", serialization_alias="q")
    mode: Literal["lexical", "semantic", "hybrid"] = Field(validation_alias="m", serialization_alias="m")
    rank: int = Field(validation_alias="r", serialization_alias="r", ge=1)
    artifact_id: str = Field(validation_alias="a", serialization_alias="a")


class _OneHit(_Owned):
    document_id: str = Field(validation_alias="d", serialization_alias="d")
    back: PageReference | None = Field(validation_alias="b", serialization_alias="b", default=None)
    judged: Judged | None = Field(validation_alias="j", serialization_alias="j", default=None)
    is_cut: bool = Field(validation_alias="x", serialization_alias="x", default=False)


class MoreState(_OneHit):
    """Redraw one hit with what else can be done with it: More, Cancel.

    Attributes:
        document_id: The hit.
        back: The page it stands on; None where it would not fit.
        judged: What a vote on it would be about; None where it cannot be voted on.
        is_cut: Whether `judged` is missing because it did not fit.
    """

    kind: Literal["m"] = Field(validation_alias="k", serialization_alias="k", default="m")


class VoteState(_OneHit):
    """Vote on a hit, or withdraw the vote; as `MoreState`, with `judged` always there.

    Attributes:
        verdict: `good`, `not_relevant`, or None to withdraw.
    """

    kind: Literal["v"] = Field(validation_alias="k", serialization_alias="k", default="v")
    verdict: Literal["good", "not_relevant"] | None = Field(validation_alias="v", serialization_alias="v", default=None)


class ShareState(_OneHit):
    """Share a hit in the channel it was shown in: ask first, then post; as `MoreState`.

    Attributes:
        channel_id: Where to post, once that was confirmed; None to ask.
        nonce: Makes each question another one, so that its answer counts once; None to ask.
    """

    kind: Literal["s"] = Field(validation_alias="k", serialization_alias="k", default="s")
    channel_id: str | None = Field(validation_alias="c", serialization_alias="c", default=None)
    nonce: str | None = Field(validation_alias="n", serialization_alias="n", default=None)


class NewSearchState(_Owned):
    """Start afresh: New search.

    Attributes:
        command: What was typed last, to start from; None for nothing.
    """

    kind: Literal["n"] = Field(validation_alias="k", serialization_alias="k", default="n")
    command: str | None = Field(validation_alias="q", serialization_alias="q", default=None)


class RecentState(_Owned):
    """Make a search again that was made before: Search, in the list of recent searches.

    Attributes:
        command: What was typed then.
    """

    kind: Literal["r"] = Field(validation_alias="k", serialization_alias="k", default="r")
    command: str = Field(validation_alias="q", serialization_alias="q")


class ClearRecentsState(_Owned):
    """Erase one's recent searches: Clear."""

    kind: Literal["x"] = Field(validation_alias="k", serialization_alias="k", default="x")


class AdminPage(_Compact):
    """Which page of the logs.

    Attributes:
        view: `summary`, `events`, or `served`: the archives that were served.
        offset: How many entries stand before this page.
        until_ms: Unix milliseconds of the first page, so that pages stay where they are; 0 for now.
    """

    view: Literal["summary", "events", "served"] = Field(
        validation_alias="v", serialization_alias="v", default="summary"
    )
    offset: int = Field(validation_alias="o", serialization_alias="o", default=0, ge=0, le=_MAXIMUM_OFFSET)
    until_ms: int = Field(validation_alias="n", serialization_alias="n", default=0, ge=0)


class AdminState(_Owned):
    """Show a page of the logs: Summary, Last entries, Archives, Newer, Older; who may is asked anew at each press."""

    kind: Literal["l"] = Field(validation_alias="k", serialization_alias="k", default="l")
    page: AdminPage = Field(validation_alias="p", serialization_alias="p")


State = (
    PageState
    | ThreadState
    | ContextState
    | MoreState
    | VoteState
    | ShareState
    | NewSearchState
    | RecentState
    | ClearRecentsState
    | AdminState
)
_STATES: TypeAdapter[State] = TypeAdapter(Annotated[State, Field(discriminator="kind")])


def encode_state(state: State, secret: bytes) -> str:
    """Return the button value that carries `state`.

    Args:
        state: What the button shall do, for whom, until when.
        secret: The signing key; the same in every process that may get the press.

    Returns:
        ASCII, at most 2,000 characters.

    Raises:
        StateTooLargeError: It would be longer. Offer less instead of cutting it.
        ValueError: The secret is empty.
    """
    payload = zlib.compress(state.model_dump_json(by_alias=True, exclude_none=True).encode(), 9)
    body = f"{STATE_VERSION}.{_to_base64(payload)}"
    value = f"{body}.{_mac(body, secret)}"
    if len(value) > BUTTON_VALUE_CHARACTERS:
        raise StateTooLargeError(length=len(value))
    return value


def decode_state(value: str | None, secret: bytes, *, now_s: int, user_id: str, team_id: str) -> State:
    """Return the state that a pressed button carries, if the presser may act on it.

    The MAC is compared in constant time and before anything is unpacked.

    Args:
        value: The button's value as the payload has it; None where the payload has none.
        secret: The signing key.
        now_s: Unix seconds of the press.
        user_id: Who pressed, from the payload.
        team_id: The presser's workspace, from the payload.

    Raises:
        ForgedStateError: Not ours, cut or altered.
        OldStateError: Made by another version of the bot.
        ForeignStateError: Made for another person or workspace; said before its age is looked at.
        ExpiredStateError: Genuine but too old; carries the state.
        ValueError: The secret is empty.
    """
    state = _read(_verified(value or "", secret))
    if (state.user_id, state.team_id) != (user_id, team_id):
        raise ForeignStateError("The button was made for somebody else.")
    if now_s >= state.expires_s:
        raise ExpiredStateError(state=state)
    return state


def _verified(value: str, secret: bytes) -> bytes:
    """Return the payload of a genuine value of this version, still deflated."""
    version = _VERSION.match(value)
    if version is not None and version[0] != f"{STATE_VERSION}.":
        raise OldStateError(version=version[0][:-1])
    shape = _SHAPE.fullmatch(value)
    if shape is None:
        raise ForgedStateError("The button's state does not have the form of ours.")
    # The MAC is compared as text: its last character has spare bits, and two texts that decode to the
    # same bytes must not both pass.
    if not hmac.compare_digest(_mac(f"{shape[1]}.{shape[2]}", secret).encode(), shape[3].encode()):
        raise ForgedStateError("The button's state was altered.")
    return _from_base64(shape[2])


def _read(payload: bytes) -> State:
    """Return the state in a genuine payload; a shape that this version does not know is an old one."""
    try:
        text = zlib.decompressobj().decompress(payload, _MAXIMUM_PAYLOAD_BYTES)
        return _STATES.validate_json(text)
    except (zlib.error, ValidationError) as exc:
        raise OldStateError(version=STATE_VERSION) from exc


def _mac(body: str, secret: bytes) -> str:
    if not secret:
        raise ValueError("The secret that signs button state is empty.")
    return _to_base64(hmac.new(secret, body.encode(), hashlib.sha256).digest()[:_MAC_BYTES])


def _to_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as exc:
        raise ForgedStateError("The button's state is not base64.") from exc
