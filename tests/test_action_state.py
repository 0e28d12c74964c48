"""The signed state of buttons."""

import base64
import hashlib
import hmac
import json
import secrets
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.action_state import (
    STATE_SECONDS,
    ContextState,
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    MoreState,
    NewSearchState,
    OldStateError,
    PageReference,
    PageState,
    State,
    StateError,
    StateTooLargeError,
    ThreadState,
    decode_state,
    encode_state,
)
from bot.buttons import Signer
from tests.block_examples import HERE, NOON_S, SECRET, TEAM, USER, make_signer

OWNER = {"user_id": USER, "team_id": TEAM, "expires_s": NOON_S + STATE_SECONDS}
PAGE = PageState(**OWNER, page=HERE)
STATES: list[State] = [
    PAGE,
    PageState(**OWNER, page=HERE.model_copy(update={"cursor": "abc", "offset": 9_995})),
    ThreadState(**OWNER, thread_id="T:C:1.0", document_id="T:C:2.0", offset=10, back=HERE),
    ThreadState(**OWNER, thread_id="T:C:1.0"),
    ContextState(**OWNER, document_id="T:C:2.0", back=HERE),
    MoreState(**OWNER, document_id="T:C:2.0"),
    NewSearchState(**OWNER, command="déjà vu 🎉"),
]


def decode(value: str | None, **changes: object) -> State:
    arguments = {"now_s": NOON_S, "user_id": USER, "team_id": TEAM} | changes
    return decode_state(value, SECRET, **arguments)


def signed(payload: bytes, version: str = "v1") -> str:
    """Sign a payload as the module does, written out once more."""
    body = f"{version}.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}"
    mac = hmac.new(SECRET, body.encode(), hashlib.sha256).digest()[:16]
    return f"{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


@pytest.mark.parametrize("state", STATES, ids=lambda state: f"{type(state).__name__}")
def test_a_state_comes_back_as_it_went(state: State) -> None:
    assert decode(encode_state(state, SECRET)) == state


@given(
    command=st.text(max_size=300),
    cursor=st.none() | st.text("abcdef0123456789-_", min_size=1, max_size=200),
    offset=st.integers(0, 10_000),
    now_s=st.integers(0, 2**40),
)
def test_any_command_comes_back_as_it_was_typed(command: str, cursor: str | None, offset: int, now_s: int) -> None:
    page = PageReference(command=command, timezone="Asia/Tokyo", now_s=now_s, cursor=cursor, offset=offset)
    state = PageState(**OWNER, page=page)

    try:
        value = encode_state(state, SECRET)
    except StateTooLargeError:
        return
    assert len(value) <= 2_000
    assert value.isascii()
    assert decode(value) == state


def test_the_value_has_the_documented_form() -> None:
    value = encode_state(PAGE, SECRET)

    body, _, mac = value.rpartition(".")
    payload = base64.urlsafe_b64decode(body.removeprefix("v1.") + "==")
    assert json.loads(zlib.decompress(payload))["k"] == "p"
    assert signed(payload) == value
    assert len(base64.urlsafe_b64decode(mac + "==")) == 16


def test_an_ordinary_search_leaves_most_of_a_button_free() -> None:
    assert len(encode_state(STATES[2], SECRET)) < 400


def test_a_state_that_does_not_fit_is_refused_whole() -> None:
    long = HERE.model_copy(update={"command": secrets.token_hex(3_000)})

    with pytest.raises(StateTooLargeError) as caught:
        encode_state(PageState(**OWNER, page=long), SECRET)

    assert caught.value.maximum == 2_000
    assert caught.value.length > 2_000


def test_every_single_changed_character_is_noticed() -> None:
    value = encode_state(PAGE, SECRET)

    for index, character in enumerate(value):
        for other in ("A", "b", "9", "_", ".", "é", " "):
            if other != character:
                with pytest.raises((ForgedStateError, OldStateError)):
                    decode(value[:index] + other + value[index + 1 :])


def test_every_truncation_is_noticed() -> None:
    value = encode_state(PAGE, SECRET)

    for length in range(len(value)):
        with pytest.raises(ForgedStateError):
            decode(value[:length])


def test_the_spare_bits_of_the_last_character_are_not_free_to_change() -> None:
    """Two base64 texts can decode to the same MAC; only the one that we wrote is accepted."""
    value = encode_state(PAGE, SECRET)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = alphabet[alphabet.index(value[-1]) ^ 1]
    assert base64.urlsafe_b64decode(value[-22:] + "==") == base64.urlsafe_b64decode(value[-22:-1] + twin + "==")

    with pytest.raises(ForgedStateError):
        decode(value[:-1] + twin)


@given(st.text(max_size=100) | st.none())
def test_garbage_is_a_typed_error(value: str | None) -> None:
    with pytest.raises(StateError):
        decode(value)


def test_another_secret_does_not_verify() -> None:
    with pytest.raises(ForgedStateError):
        decode_state(encode_state(PAGE, SECRET), b"other", now_s=NOON_S, user_id=USER, team_id=TEAM)


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        encode_state(PAGE, b"")


@pytest.mark.parametrize("version", ["v0", "v2", "v17"])
def test_another_version_is_called_old_even_with_its_own_good_signature(version: str) -> None:
    value = signed(zlib.compress(PAGE.model_dump_json(by_alias=True).encode()), version)

    with pytest.raises(OldStateError) as caught:
        decode(value)

    assert caught.value.version == version


@pytest.mark.parametrize(
    "payload",
    [
        b"not deflated",
        zlib.compress(b"not json"),
        zlib.compress(b'{"k":"z","u":"U","t":"T","e":1}'),
        zlib.compress(b'{"k":"n","u":"U","t":"T","e":1,"x":2}'),
        zlib.compress(b'{"k":"n","u":"U","t":"T","e":"1"}'),
        zlib.compress(b" " * 1_000_000),
    ],
    ids=["not deflated", "not json", "unknown kind", "unknown field", "wrong type", "a bomb"],
)
def test_a_genuine_value_of_another_shape_is_old(payload: bytes) -> None:
    with pytest.raises(OldStateError):
        decode(signed(payload))


def test_a_signed_payload_that_is_no_base64_is_refused() -> None:
    body = "v1.AAAAA"
    mac = hmac.new(SECRET, body.encode(), hashlib.sha256).digest()[:16]

    with pytest.raises(ForgedStateError):
        decode(f"{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}")


@pytest.mark.parametrize("changes", [{"user_id": "U0BEN"}, {"team_id": "T0OTHER"}])
def test_a_press_by_somebody_else_is_told_apart(changes: dict[str, object]) -> None:
    with pytest.raises(ForeignStateError):
        decode(encode_state(PAGE, SECRET), **changes)


def test_somebody_else_learns_nothing_about_the_age() -> None:
    with pytest.raises(ForeignStateError):
        decode(encode_state(PAGE, SECRET), user_id="U0BEN", now_s=NOON_S + 31 * 60)


def test_a_button_works_for_thirty_minutes() -> None:
    value = encode_state(PAGE, SECRET)

    assert decode(value, now_s=NOON_S + 30 * 60 - 1) == PAGE
    with pytest.raises(ExpiredStateError):
        decode(value, now_s=NOON_S + 30 * 60)


def test_an_expired_state_says_what_it_was_for() -> None:
    with pytest.raises(ExpiredStateError) as caught:
        decode(encode_state(PAGE, SECRET), now_s=NOON_S + 31 * 60)

    assert caught.value.state == PAGE


def test_the_first_page_keeps_the_search_and_forgets_the_place() -> None:
    page = HERE.model_copy(update={"cursor": "abc", "offset": 15})

    assert page.first_page() == HERE


def test_the_way_back_is_given_up_before_the_thread() -> None:
    long = HERE.model_copy(update={"command": secrets.token_hex(3_000)})

    state = decode(make_signer().thread("T:C:1.0", "T:C:2.0", back=long))

    assert state == ThreadState(**OWNER, thread_id="T:C:1.0", document_id="T:C:2.0")


def test_a_new_search_is_offered_without_a_command_that_does_not_fit() -> None:
    state = decode(make_signer().new_search(secrets.token_hex(3_000)))

    assert state == NewSearchState(**OWNER)


def test_a_signer_signs_for_its_owner_until_its_moment() -> None:
    signer = Signer(secret=SECRET, user_id="U0BEN", team_id=TEAM, expires_s=NOON_S + 5)

    state = decode(signer.context("T:C:2.0", back=HERE), user_id="U0BEN")

    assert state == ContextState(user_id="U0BEN", team_id=TEAM, expires_s=NOON_S + 5, document_id="T:C:2.0", back=HERE)


def test_more_carries_the_hit_and_the_page() -> None:
    assert decode(make_signer().more("T:C:2.0", back=HERE)) == MoreState(**OWNER, document_id="T:C:2.0", back=HERE)
