"""People who ask the bot planted questions, and a judge of every answer that comes back.

The judge sits in the local Slack: it notes each command as it leaves and each answer as Slack takes it, by
response_url, so it knows whose answer it is. Nothing that the bot says about itself is believed.
"""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np
from aiohttp import web

from benchmarks.planted import LOBBY, MARK, NOTE, Planted, words
from bot import texts
from localslack.seen import plain_text_of
from localslack.server import LocalSlack

ANSWER_SECONDS: Final = 15.0
# In an answer's heading, where the query got no vector.
_WITHOUT_MEANING: Final = "keyword search only"
_SENTENCES: Final = (
    texts.BUSY,
    texts.USER_BUSY,
    texts.STOPPING,
    texts.TOOK_TOO_LONG,
    texts.SOMETHING_WRONG,
    texts.SLACK_DID_NOT_ANSWER,
    texts.NO_ARCHIVE,
    texts.ARCHIVE_UNUSABLE,
    texts.ARCHIVE_REPLACED,
    texts.MEANING_OFF,
)


class Verdict(StrEnum):
    """What became of a command."""

    RIGHT = "right"
    DEGRADED = "degraded"
    SENTENCE = "sentence"
    REFUSED = "refused"  # A sentence too: too many at once.
    UNDELIVERED = "undelivered"  # The bot answered, Slack did not take it.
    LOST = "lost"
    NOT_ACKED = "not acked"  # Slack tells its user so.
    WRONG = "wrong"
    FOREIGN = "foreign"


@dataclass
class Answer:
    """One answer as Slack got it: the readable text, and whether Slack took it."""

    at: float
    text: str
    taken: bool


@dataclass
class Command:
    """One command with what came of it; moments of the monotonic clock."""

    number: int
    person: str
    word: str
    hybrid: bool
    sent: float
    acked: bool = False
    ack_seconds: float | None = None
    error: str | None = None
    answers: list[Answer] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        """What is typed: the word in quotes, so that what must be found is known in every mode.

        Hybrid ones hold a word of their own, so that no vector is remembered.
        """
        own = "".join(chr(97 + int(digit)) for digit in f"{self.number:06}")
        rest = f"{own}zq" if self.hybrid else "mode:lexical"
        return f'{rest} "{self.word}" -q{self.number:06}'

    @property
    def taken(self) -> list[Answer]:
        """The answers that Slack took."""
        return [one for one in self.answers if one.taken]

    @property
    def seconds(self) -> float | None:
        """From the command to its answer."""
        return self.taken[0].at - self.sent if self.taken else None


class Crowd:
    """The people, the road to the bot, and the judge. For the local Slack's event loop.

    Attributes:
        commands: Everything that was asked, oldest first.
    """

    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self.commands: list[Command] = []
        self._by_path: dict[str, Command] = {}
        self._numbers = itertools.count(1)
        self._words = words()
        self._slack: LocalSlack | None = None
        self._chance = random.Random(11)  # noqa: S311 - reproducible, not secret

    def attach(self, application: web.Application, slack: LocalSlack) -> None:
        """Look on at what goes by the local Slack; for its `extend`."""
        self._slack = slack
        deliver = slack.core.hub.deliver

        async def noted(envelope: Any, **more: Any) -> Any:  # noqa: ANN401 - passed on as it is
            if envelope.kind == "slash_commands" and (mark := MARK.search(envelope.payload["text"])):
                address = envelope.payload["response_url"]
                self._by_path["/" + address.split("://", 1)[1].split("/", 1)[1]] = self.commands[int(mark[1]) - 1]
            return await deliver(envelope, **more)

        slack.core.hub.deliver = noted  # type: ignore[method-assign]  # A benchmark looks on from outside.

        @web.middleware
        async def note(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            command = self._by_path.get(request.path)
            if command is None:
                return await handler(request)
            body = await request.read()
            response = await handler(request)
            taken = isinstance(response, web.Response) and response.text == "ok"
            command.answers.append(Answer(at=time.monotonic(), text=self._read(body), taken=taken))
            if taken:
                command.answered.set()
            return response

        application.middlewares.append(note)

    def _read(self, body: bytes) -> str:
        assert self._slack is not None
        content = json.loads(body)
        return plain_text_of(content.get("blocks", []), self._slack.core.world) or str(content.get("text", ""))

    async def ask(self, person: str, *, hybrid: bool | None = None) -> Command:
        """Type a command; returns once it was acked or not."""
        assert self._slack is not None
        command = Command(
            number=next(self._numbers),
            person=person,
            word=self._chance.choice(self._words),
            hybrid=self._chance.random() < 0.5 if hybrid is None else hybrid,
            sent=time.monotonic(),
        )
        self.commands.append(command)
        outcome = await self._slack.person(person).type(f"/slackquery {command.text}", channel=LOBBY)
        command.acked, command.ack_seconds = outcome.acked, outcome.seconds if outcome.acked else None
        command.error = outcome.error
        return command

    async def ask_and_wait(
        self, person: str, *, hybrid: bool | None = None, seconds: float = ANSWER_SECONDS
    ) -> Command:
        """Type a command and wait for its answer, as long as that."""
        command = await self.ask(person, hybrid=hybrid)
        if command.acked:
            await self.wait_for(command, seconds=seconds)
        return command

    @staticmethod
    async def wait_for(command: Command, *, seconds: float = ANSWER_SECONDS) -> None:
        """Wait for a command's answer, as long as that."""
        try:
            async with asyncio.timeout(seconds):
                await command.answered.wait()
        except TimeoutError:
            return

    async def work(self, person: str, *, until: float, think: tuple[float, float], seed: int) -> None:
        """Ask, read, think, ask again, until that moment of the monotonic clock."""
        assert self._slack is not None
        chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
        await asyncio.sleep(chance.uniform(0.0, think[1]))
        while time.monotonic() < until:
            await self.ask_and_wait(person)
            await self._slack.person(person).reload()
            await asyncio.sleep(max(0.0, min(chance.uniform(*think), until - time.monotonic())))

    def judge(self, command: Command) -> Verdict:
        """Return what became of a command."""
        if command.taken:
            return self._judge_answer(command, command.taken[0].text)
        if command.answers:
            return Verdict.UNDELIVERED
        return Verdict.LOST if command.acked else Verdict.NOT_ACKED

    def _judge_answer(self, command: Command, text: str) -> Verdict:
        shown = frozenset(int(number) for number in NOTE.findall(text))
        marks = {int(number) for number in MARK.findall(text)}
        if not shown <= self.planted.visible(command.person) or not marks <= {command.number}:
            return Verdict.FOREIGN
        # A sentence says again what was searched for, the mark in it.
        if not marks or (not shown and _is_sentence(text)):
            return self._judge_sentence(text, shown)
        unconfirmed = texts.UNCONFIRMED_CHANNELS in text
        expected = self.planted.expected(command.person, command.word)
        if unconfirmed:
            expected = self.planted.notes[command.word, LOBBY]
        if expected != shown:
            return Verdict.WRONG
        # Without a vector an answer lists what the words find, which is what was planted.
        return Verdict.DEGRADED if unconfirmed or _WITHOUT_MEANING in text else Verdict.RIGHT

    @staticmethod
    def _judge_sentence(text: str, shown: frozenset[int]) -> Verdict:
        if shown or not _is_sentence(text):
            return Verdict.WRONG
        is_refusal = texts.BUSY in text or texts.USER_BUSY in text
        return Verdict.REFUSED if is_refusal else Verdict.SENTENCE

    def tally(self, commands: Iterable[Command]) -> "Tally":
        """Return what became of these commands."""
        commands = list(commands)
        return Tally(
            sent=len(commands),
            acked=sum(command.acked for command in commands),
            verdicts=Counter(self.judge(command) for command in commands),
            doubles=sum(len(command.taken) > 1 for command in commands),
            acks=[command.ack_seconds for command in commands if command.ack_seconds is not None],
            answers=[command.seconds for command in commands if command.seconds is not None],
        )


def _is_sentence(text: str) -> bool:
    return any(sentence in text for sentence in _SENTENCES)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What became of some commands: counts, and the seconds to acks and answers.

    Attributes:
        doubles: Commands with more than one answer.
    """

    sent: int
    acked: int
    verdicts: Counter[Verdict]
    doubles: int
    acks: list[float]
    answers: list[float]

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        return {
            "sent": self.sent,
            "acked": self.acked,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "answered twice": self.doubles,
        }

    @property
    def broken(self) -> int:
        """How many of them must not have gone as they did: wrong, another's, twice, or lost."""
        return (
            self.verdicts[Verdict.WRONG] + self.verdicts[Verdict.FOREIGN] + self.verdicts[Verdict.LOST] + self.doubles
        )


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Return p50, p95 and p99 in milliseconds; nothing where there are none."""
    if not seconds:
        return {}
    values = np.percentile(np.array(seconds) * 1e3, (50, 95, 99))
    return {name: round(float(value), 1) for name, value in zip(("p50_ms", "p95_ms", "p99_ms"), values, strict=True)}
