"""An envelope or event is taken once."""

from bot.envelopes import KEPT_COUNT, KEPT_SECONDS, SeenEnvelopes


def test_an_id_is_new_once() -> None:
    seen = SeenEnvelopes(monotonic=lambda: 0.0)

    assert seen.take("e1")
    assert not seen.take("e1")
    assert seen.take("e2")


def test_an_event_in_another_envelope_is_the_same_event() -> None:
    seen = SeenEnvelopes(monotonic=lambda: 0.0)
    seen.take("e1", "Ev1")

    assert not seen.take("e2", "Ev1")
    assert not seen.take("e2")


def test_ids_are_forgotten_after_an_hour() -> None:
    now = [0.0]
    seen = SeenEnvelopes(monotonic=lambda: now[0])
    seen.take("e1")
    now[0] = KEPT_SECONDS + 1

    assert seen.take("e1")


def test_the_oldest_is_forgotten_first_when_there_are_too_many() -> None:
    seen = SeenEnvelopes(monotonic=lambda: 0.0)
    for number in range(KEPT_COUNT + 1):
        seen.take(f"e{number}")

    assert not seen.take("e1")
    assert seen.take("e0")
