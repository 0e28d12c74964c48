"""Which of a long query's words are searched for, and what each counts."""

import pytest

from retrieval.errors import ArtifactReadError
from retrieval.lexical import MAX_QUERY_TOKENS, inverse_frequency, rarest_tokens

LONG = tuple(f"w{place}" for place in range(MAX_QUERY_TOKENS + 3))


def test_a_short_query_keeps_every_word() -> None:
    assert rarest_tokens(("the", "unknown"), {"the": 900}) == ("the", "unknown")


def test_a_long_query_loses_its_commonest_words() -> None:
    frequencies = dict.fromkeys(LONG, 5) | {"w0": 900, "w7": 800, "w9": 700}

    assert rarest_tokens(LONG, frequencies) == tuple(word for word in LONG if word not in {"w0", "w7", "w9"})


def test_words_that_no_document_holds_are_dropped_first() -> None:
    frequencies = {word: 900 for word in LONG if word not in {"w1", "w2", "w3"}}

    assert rarest_tokens(LONG, frequencies) == tuple(frequencies)


def test_of_equally_rare_words_the_earlier_stay() -> None:
    assert rarest_tokens(LONG, dict.fromkeys(LONG, 5)) == LONG[:MAX_QUERY_TOKENS]


@pytest.mark.parametrize("frequency", [-1, 11])
def test_an_index_that_cannot_be_is_an_error_of_ours(frequency: int) -> None:
    """Found by benchmarks.fuzz, artifact-tables:5:245: a logarithm of less than nothing."""
    with pytest.raises(ArtifactReadError, match=f"says that {frequency} of 10 documents"):
        inverse_frequency(10, frequency)
