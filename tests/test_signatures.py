"""Signatures: a text that holds a string always survives, and few others do."""

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.resident import texts
from retrieval.resident.signatures import PLANES, Signatures

# Few letters, so that strings occur by chance.
LETTERS = st.text(st.sampled_from("abk1_. é上"), max_size=30)


def signatures(contents: list[str]) -> Signatures:
    """The signatures of some texts."""
    ends = np.cumsum([0, *(len(one.encode()) + 1 for one in contents)])
    return Signatures.of("\0".join((*contents, "")).encode(), ends)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(contents=st.lists(LETTERS, max_size=40), wanted=st.lists(LETTERS.filter(bool), min_size=1, max_size=3))
def test_a_text_that_holds_all_survives(contents: list[str], wanted: list[str]) -> None:
    possible = signatures(contents).possible([one.encode() for one in wanted]).tolist()

    assert possible == sorted(set(possible))
    assert {place for place, text in enumerate(contents) if all(one in text for one in wanted)} <= set(possible)
    assert set(possible) <= set(range(len(contents)))


def test_few_others_survive() -> None:
    """Messages of the length that people write, of letters at random: one in fifty at most for eight letters."""
    chance = np.random.default_rng(1)
    contents = ["".join(chance.choice(list("abcdefghijklmnopqrstuvwxyz _-0123456789"), 240)) for _ in range(2000)]
    holding = signatures(contents)

    assert [len(holding.possible([one.encode()])) <= 40 for one in ("err_4392", "deploy-7", "qzxwvkjp")] == [True] * 3
    assert 0.1 < np.unpackbits(holding.planes, axis=1, count=2000).mean() < 0.3


@pytest.mark.parametrize("wanted", ["a", "ab"])
def test_what_is_shorter_than_three_bytes_rules_nothing_out(wanted: str) -> None:
    assert signatures(["abc", "", "xyz"]).possible([wanted.encode()]).tolist() == [0, 1, 2]


def test_three_bytes_are_spread_over_all_planes() -> None:
    """Else fewer bits than are paid for would tell texts apart."""
    chance = np.random.default_rng(2)
    content = chance.integers(97, 123, 60_000, dtype=np.uint8).tobytes()
    planes = Signatures.of(content, np.array([0, len(content)])).planes

    assert planes.shape == (PLANES, 1)
    assert (planes[:, 0] > 0).mean() > 0.97


def test_odd_characters_are_folded_as_duckdb_folds_them() -> None:
    """`bytes.lower` leaves them, and a signature without them would lose the text."""
    for one in texts.ODD_CHARACTERS:
        row = duckdb.execute("SELECT lower(?)", [f"A{one}b"]).fetchone()
        assert row is not None
        assert texts._folded(f"A{one}b".encode()) == row[0].encode()
