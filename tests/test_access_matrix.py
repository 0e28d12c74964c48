"""Who sees what, person by channel by surface: what must not be seen is answered as what does not exist."""

import asyncio
from pathlib import Path

import pytest

from bot import texts
from tests.access_worlds import (
    BOSS,
    CHANNELS,
    EXTERNAL,
    GONE,
    GUEST_IN,
    GUEST_OUT,
    MEMBER_IN,
    MEMBER_OUT,
    PEOPLE,
    ROBOT,
    STRANGER,
    ask_all,
    word,
)

Transcripts = dict[tuple[str, str], dict[str, str]]

SERVED = (MEMBER_IN, MEMBER_OUT, GUEST_IN, GUEST_OUT, BOSS)
REFUSED = {
    STRANGER: texts.REFUSED_OTHER_TEAM,
    EXTERNAL: texts.REFUSED_OTHER_TEAM,
    GONE: texts.REFUSED_DELETED,
    ROBOT: texts.REFUSED_BOT,
}
# Who sees what; whatever is not listed must not be seen. `botless`, `group_dm`, `dm` and `not_in_slack` are nobody's.
SEEN = {
    "public": {MEMBER_IN, MEMBER_OUT, BOSS, GUEST_IN},
    "archived": {MEMBER_IN, MEMBER_OUT, BOSS, GUEST_IN},
    "shared": {MEMBER_IN, MEMBER_OUT, BOSS, GUEST_IN},
    "private": {MEMBER_IN, GUEST_IN},
    "converted": {MEMBER_IN, GUEST_IN},
    "not_in_archive": {MEMBER_IN, GUEST_IN},
}
PAIRS = [(user_id, kind) for user_id in PEOPLE for kind in CHANNELS]
DIRECT = ("group_dm", "dm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Transcripts:
    """What everybody is answered where every channel exists."""
    return asyncio.run(ask_all(folder, CHANNELS, PEOPLE, missing=False))


@pytest.fixture(scope="module")
def without(folder: Path) -> Transcripts:
    """What everybody is answered about a channel where it does not exist."""
    return asyncio.run(ask_all(folder, CHANNELS, SERVED, missing=True))


@pytest.mark.parametrize(("user_id", "kind"), PAIRS)
def test_what_must_not_be_seen_is_answered_as_what_does_not_exist(
    whole: Transcripts, request: pytest.FixtureRequest, user_id: str, kind: str
) -> None:
    answers = whole[user_id, kind]
    if user_id in REFUSED:
        assert set(answers.values()) == {f"RefusedError: {REFUSED[user_id]}"}
        return
    nowhere = request.getfixturevalue("without")[user_id, kind]

    assert not any(texts.SOMETHING_WRONG in answer for answer in answers.values())
    if user_id in SEEN.get(kind, ()):
        assert_seen(answers, nowhere, kind)
    else:
        for surface, answer in answers.items():
            assert answer == nowhere[surface], surface


def assert_seen(answers: dict[str, str], nowhere: dict[str, str], kind: str) -> None:
    """The control: each surface does show the channel to those who may see it."""
    differing = {surface for surface, answer in answers.items() if answer != nowhere[surface]}
    if kind == "not_in_archive":
        # There is nothing to find, but its name is known.
        assert "channel by name" in differing
        assert answers["expand"] == nowhere["expand"]
        return
    assert differing >= set(answers) - {"search by meaning", "channel left out", "person by near name", "admin"}
    for surface in ("search by words", "expand", "thread", "context", "context of a file", "find by id"):
        assert f"common {word(kind)}" in answers[surface].replace('"}, {"', ""), surface


@pytest.fixture(scope="module")
def direct(folder: Path) -> tuple[Transcripts, Transcripts]:
    """The same about direct messages, where a setting lets them be searched."""
    return (
        asyncio.run(ask_all(folder, DIRECT, SERVED, missing=False, dms=True)),
        asyncio.run(ask_all(folder, DIRECT, SERVED, missing=True, dms=True)),
    )


@pytest.mark.parametrize("kind", DIRECT)
@pytest.mark.parametrize("user_id", SERVED)
def test_direct_messages_are_for_their_participants(
    direct: tuple[Transcripts, Transcripts], user_id: str, kind: str
) -> None:
    answers, nowhere = direct[0][user_id, kind], direct[1][user_id, kind]

    if user_id in {MEMBER_IN, GUEST_IN}:
        for surface in ("search by words", "expand", "thread", "context", "find by id"):
            assert answers[surface] != nowhere[surface], surface
    else:
        assert answers == nowhere


def test_an_archive_without_privacy_tables_serves_what_slack_confirms_alone(tmp_path: Path) -> None:
    """Also where direct messages are allowed: nothing says whose they are."""
    kinds = ("public", "private", "botless", *DIRECT)
    answers = asyncio.run(ask_all(tmp_path, kinds, SERVED, missing=False, contract=True, dms=True))

    for (user_id, kind), surfaces in answers.items():
        seen = user_id in SEEN.get(kind, ())
        assert (f"common {word(kind)}" in surfaces["expand"].replace('"}, {"', "")) == seen, (user_id, kind)
        assert ("NotFoundError" in surfaces["find by id"]) == (not seen), (user_id, kind)
