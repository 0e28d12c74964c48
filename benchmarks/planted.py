"""An archive whose right answers are known beforehand, for driving the bot under load and faults.

Every message reads `note 0123 about WORD ...`. Each word stands in two messages of a public channel and in one of each
group's private channel, so what a person must be shown for it is three messages, and the ones of the other groups are
what nobody else may see. Each command carries a number of its own as an excluded word, `-q000123`, which the answer's
heading repeats: that is how an answer is matched with what was asked.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from localslack.workspace import Channel, Team, User, Workspace
from retrieval import EmbedderFactory, publish
from retrieval.builder import WorkspaceIdentity, build_artifact
from tests.export_factory import TEAM_ID, ExportFactory

URL: Final = "https://example.slack.com/"
LOBBY: Final = "CLOBBY"
SPARE: Final = "CSPARE"
"""A channel without messages, renamed where the bot is to ask Slack for its channels anew."""

BOT: Final = "UBOT"
GROUPS: Final = 5
WORDS: Final = 40
NOTE: Final = re.compile(r"note (\d{4}) about")
MARK: Final = re.compile(r"q(\d{6})")
_SYLLABLES: Final = ("ba", "ko", "du", "fi", "ge", "hu", "jo", "la", "mi", "nu")
_FILLING: Final = "paper window harbour copper garden signal winter letter bridge kettle orange market".split()
_START: Final = 1_760_000_000


def words() -> tuple[str, ...]:
    """Return the words that are planted; no two share a stem and none stands in any other text."""
    return tuple(
        f"{_SYLLABLES[number // 10]}{_SYLLABLES[number % 10]}{_SYLLABLES[(number * 3 + 1) % 10]}x"
        for number in range(WORDS)
    )


def group_channel(group: int) -> str:
    """Return a group's private channel."""
    return f"CGROUP{group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """People and what each must be shown.

    Attributes:
        people: Their ids; the group of number n is n modulo five.
        notes: The numbers of the messages that hold a word, by word and channel.
        channel_of: The channel of every message, by its number.
    """

    people: tuple[str, ...]
    notes: dict[tuple[str, str], frozenset[int]]
    channel_of: dict[int, str]

    @classmethod
    def of(cls, people: int, *, filling: int = 60) -> "Planted":
        """Return so many people, with as many messages as it takes and `filling` others beside them."""
        notes: dict[tuple[str, str], frozenset[int]] = {}
        channel_of: dict[int, str] = {}
        for word in words():
            for channel, count in ((LOBBY, 2), *((group_channel(group), 1) for group in range(GROUPS))):
                first = len(channel_of)
                notes[word, channel] = frozenset(range(first, first + count))
                channel_of |= dict.fromkeys(range(first, first + count), channel)
        channel_of |= dict.fromkeys(range(len(channel_of), len(channel_of) + filling), LOBBY)
        return cls(people=tuple(f"U{number:04}" for number in range(people)), notes=notes, channel_of=channel_of)

    def channels_of(self, person: str) -> tuple[str, str]:
        """Return the channels with messages that a person is in."""
        return LOBBY, group_channel(int(person[1:]) % GROUPS)

    def expected(self, person: str, word: str) -> frozenset[int]:
        """Return the numbers of the messages that a person must be shown for a word."""
        return frozenset().union(*(self.notes[word, channel] for channel in self.channels_of(person)))

    def visible(self, person: str) -> frozenset[int]:
        """Return the numbers of all messages that a person may see."""
        mine = self.channels_of(person)
        return frozenset(number for number, channel in self.channel_of.items() if channel in mine)

    def workspace(self) -> Workspace:
        """Return the workspace as Slack has it now; the bot is in every private channel."""
        groups = [[one for one in self.people if int(one[1:]) % GROUPS == group] for group in range(GROUPS)]
        return Workspace(
            team=Team(id=TEAM_ID, name="Example", domain="example", url=URL),
            users=tuple(User(id=one, name=one.lower(), real_name=one, team_id=TEAM_ID) for one in self.people),
            channels=(
                Channel(id=LOBBY, name="lobby", members=self.people, is_general=True),
                Channel(id=SPARE, name="spare", members=()),
                *(
                    Channel(
                        id=group_channel(group), name=f"group-{group}", members=(*groups[group], BOT), is_private=True
                    )
                    for group in range(GROUPS)
                ),
            ),
            bot_user_id=BOT,
            acting_user_id=self.people[0],
        )

    def export(self) -> ExportFactory:
        """Return the export that the archive is built from."""
        chance = random.Random(7)  # noqa: S311 - reproducible, not secret
        made = ExportFactory()
        author = self.people[0]
        made.user(author, name=author.lower(), display_name=author.lower(), real_name=author)
        made.channel(LOBBY, "lobby", members=[author])
        for group in range(GROUPS):
            made.channel(group_channel(group), f"group-{group}", kind="private", members=[author])
        word_of = {number: word for (word, _), numbers in self.notes.items() for number in numbers}
        for number, channel in self.channel_of.items():
            filling = " ".join(chance.choices(_FILLING, k=6))
            text = f"note {number:04} about {word_of.get(number, 'nothing')} {filling}"
            made.message(channel, f"{_START + number * 1800}.000100", text, user=author)
        return made


def build_planted(
    planted: Planted, folder: Path, *, embedders: EmbedderFactory | None = None, artifacts: int = 1
) -> Sequence[Path]:
    """Build the archive so many times, each with an hour of its own, and publish the last; return the files."""
    source = planted.export().write_folder(folder.with_name(folder.name + "-export"))
    built = []
    for number in range(artifacts):
        at = datetime.now(UTC) - timedelta(hours=artifacts - 1 - number)
        result = build_artifact(
            [source],
            folder,
            workspace=WorkspaceIdentity(workspace_id=TEAM_ID, name="Example", url=URL),
            embedder=(embedders or EmbedderFactory()).for_build(),
            clock=lambda at=at: at,  # type: ignore[misc]
        )
        built.append(result.artifact)
    publish(folder, built[-1])
    return built
