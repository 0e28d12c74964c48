"""Names: found by id, in full or by a part, and never beyond what the directory holds."""

import pytest

from retrieval.directory import NamedChannel, NameDirectory, NamedPerson
from retrieval.errors import AmbiguousNameError, UnknownNameError

CHANNELS = (
    NamedChannel(channel_id="C1", name="general"),
    NamedChannel(channel_id="C2", name="payments"),
    NamedChannel(channel_id="C3", name="payments-eu"),
    NamedChannel(channel_id="D4", name=""),
    NamedChannel(channel_id="C5", name="zürich-office"),
)
PEOPLE = (
    NamedPerson(user_id="U1", name="ada", display_name="Ada B.", real_name="Ada Byron"),
    NamedPerson(user_id="U2", name="mlind", display_name="Mara Lind", real_name="Mara Lind"),
    NamedPerson(user_id="U3", name="mvos", display_name="Mara Vos"),
    NamedPerson(user_id="U4", name="kim", display_name="Kim"),
    NamedPerson(user_id="U5", name="kim.old", display_name="Kim", deleted=True),
    NamedPerson(user_id="U6", name="lee1", display_name="Lee"),
    NamedPerson(user_id="U7", name="lee2", display_name="Lee"),
    NamedPerson(user_id="W8", real_name="Noor Haddad"),
)


@pytest.fixture
def directory() -> NameDirectory:
    return NameDirectory(CHANNELS, PEOPLE)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("general", "C1"),
        ("#general", "C1"),
        ("##general", "C1"),
        (" General ", "C1"),
        ("C1", "C1"),
        ("gen", "C1"),
        ("payments", "C2"),  # In full, although it is a part of payments-eu.
        ("-eu", "C3"),
        ("D4", "D4"),
        ("ZÜRICH-office", "C5"),
        ("zu\u0308rich-office", "C5"),  # Decomposed, as macOS types it.
    ],
)
def test_finds_the_channel(directory: NameDirectory, typed: str, expected: str) -> None:
    assert directory.find_channel(typed).channel_id == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("ada", "U1"),
        ("@ada", "U1"),
        ("ADA BYRON", "U1"),
        ("ada  b.", "U1"),
        ("byron", "U1"),
        ("mara lind", "U2"),
        ("lind", "U2"),
        ("U3", "U3"),
        ("kim", "U4"),  # The active account comes before the deactivated one.
        ("kim.old", "U5"),
        ("Lee (@lee2)", "U7"),
        ("noor", "W8"),
    ],
)
def test_finds_the_person(directory: NameDirectory, typed: str, expected: str) -> None:
    assert directory.find_person(typed).user_id == expected


def test_a_part_of_two_channel_names_asks_which(directory: NameDirectory) -> None:
    with pytest.raises(AmbiguousNameError) as caught:
        directory.find_channel("pay")
    assert caught.value.matches == ("payments", "payments-eu")


def test_a_name_that_two_people_share_is_answered_by_names_that_tell_them_apart(directory: NameDirectory) -> None:
    with pytest.raises(AmbiguousNameError) as caught:
        directory.find_person("lee")
    assert caught.value.matches == ("Lee (@lee1)", "Lee (@lee2)")
    assert {directory.find_person(match).user_id for match in caught.value.matches} == {"U6", "U7"}


def test_channels_of_one_name_are_told_apart_by_their_ids() -> None:
    twins = [NamedChannel(channel_id="C1", name="ops"), NamedChannel(channel_id="C2", name="ops")]
    with pytest.raises(AmbiguousNameError) as caught:
        NameDirectory(twins, []).find_channel("ops")
    assert caught.value.matches == ("ops (C1)", "ops (C2)")


def test_an_ambiguity_lists_ten_at_most() -> None:
    many = [NamedChannel(channel_id=f"C{number}", name=f"team-{number:02}") for number in range(40)]
    with pytest.raises(AmbiguousNameError) as caught:
        NameDirectory(many, []).find_channel("team")
    assert caught.value.matches == tuple(f"team-{number:02}" for number in range(10))


def test_a_near_miss_offers_the_nearest_first(directory: NameDirectory) -> None:
    with pytest.raises(UnknownNameError) as caught:
        directory.find_channel("paymets")
    assert caught.value.suggestions == ("payments", "payments-eu")


def test_suggestions_come_only_from_what_is_held() -> None:
    with pytest.raises(UnknownNameError) as caught:
        NameDirectory(CHANNELS[:1], []).find_channel("paymets")
    assert caught.value.suggestions == ()


def test_an_unknown_channel_id_is_refused_like_an_unknown_name(directory: NameDirectory) -> None:
    sentences = set()
    for typed in ("C777", "zzqq7"):
        with pytest.raises(UnknownNameError) as caught:
            directory.find_channel(typed)
        sentences.add(str(caught.value).replace(typed, "X"))
    assert len(sentences) == 1


def test_an_unknown_channel_id_is_not_taken_for_a_part_of_a_name() -> None:
    directory = NameDirectory([NamedChannel(channel_id="C1", name="c777-rollout")], [])
    with pytest.raises(UnknownNameError):
        directory.find_channel("C777")
    assert directory.find_channel("c777").channel_id == "C1"


def test_an_unknown_person_id_stands_for_itself(directory: NameDirectory) -> None:
    assert directory.find_person("U0AB12").user_id == "U0AB12"


def test_a_name_in_capitals_is_no_id(directory: NameDirectory) -> None:
    with pytest.raises(UnknownNameError):
        directory.find_person("WILLIAM")


@pytest.mark.parametrize("typed", ["", " ", "#", "@"])
def test_an_empty_name_is_unknown(directory: NameDirectory, typed: str) -> None:
    with pytest.raises(UnknownNameError):
        directory.find_channel(typed)
    with pytest.raises(UnknownNameError):
        directory.find_person(typed.replace("#", "@"))


def test_a_very_long_name_is_refused_in_a_short_sentence(directory: NameDirectory) -> None:
    with pytest.raises(UnknownNameError) as caught:
        directory.find_channel("x" * 5_000)
    assert len(str(caught.value)) < 200


def test_is_person_wants_the_name_in_full(directory: NameDirectory) -> None:
    assert directory.is_person("@Mara Lind")
    assert not directory.is_person("Mara")


def test_labels_fall_back_to_the_id() -> None:
    assert NamedChannel(channel_id="D4", name="").label == "D4"
    assert NamedPerson(user_id="U9").label == "U9"
    assert NamedPerson(user_id="U9", name="kit").label == "kit"
