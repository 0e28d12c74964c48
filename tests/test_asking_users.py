"""The judge of the load driver and the fault matrix: what it must call wrong, another's, lost or twice."""

import pytest

from benchmarks.asking_users import Answer, Command, Crowd, Verdict
from benchmarks.planted import LOBBY, Planted, group_channel
from bot import texts

PLANTED = Planted.of(10)
ASKER = PLANTED.people[1]


def judged(*answers: str, taken: bool = True, acked: bool = True) -> Verdict:
    crowd = Crowd(PLANTED)
    return crowd.judge(command(*answers, taken=taken, acked=acked))


def command(*answers: str, taken: bool = True, acked: bool = True) -> Command:
    asked = Command(number=7, person=ASKER, word=WORD, hybrid=False, sent=0.0, acked=acked)
    asked.answers.extend(Answer(at=1.0, text=text, taken=taken) for text in answers)
    return asked


WORD = next(word for word, channel in PLANTED.notes if channel == LOBBY)
RIGHT = PLANTED.expected(ASKER, WORD)


def shown(numbers: frozenset[int], *, mark: int = 7, said: str = "") -> str:
    return f"{WORD} without “q{mark:06}” {said}\n" + "\n".join(f"note {number:04} about" for number in numbers)


def test_each_person_is_to_be_shown_three_messages_of_a_word() -> None:
    assert len(RIGHT) == 3


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (shown(RIGHT), Verdict.RIGHT),
        (shown(RIGHT, said="keyword search only"), Verdict.DEGRADED),
        (shown(PLANTED.notes[WORD, LOBBY], said=texts.UNCONFIRMED_CHANNELS), Verdict.DEGRADED),
        (shown(PLANTED.notes[WORD, LOBBY]), Verdict.WRONG),
        (shown(frozenset()), Verdict.WRONG),
        (shown(RIGHT | PLANTED.notes[WORD, group_channel(2)]), Verdict.FOREIGN),
        (shown(RIGHT, mark=8), Verdict.FOREIGN),
        (texts.TOOK_TOO_LONG, Verdict.SENTENCE),
        (texts.BUSY, Verdict.REFUSED),
        (texts.USER_BUSY, Verdict.REFUSED),
        ("something else", Verdict.WRONG),
    ],
)
def test_an_answer_is_judged_by_what_it_shows(answer: str, verdict: Verdict) -> None:
    assert judged(answer) is verdict


def test_without_an_answer_it_matters_whether_it_was_acked_and_whether_slack_took_one() -> None:
    assert judged() is Verdict.LOST
    assert judged(acked=False) is Verdict.NOT_ACKED
    assert judged(shown(RIGHT), taken=False) is Verdict.UNDELIVERED


def test_two_answers_to_one_command_are_counted() -> None:
    tally = Crowd(PLANTED).tally([command(shown(RIGHT), shown(RIGHT)), command(shown(RIGHT))])

    assert (tally.doubles, tally.broken) == (1, 1)
