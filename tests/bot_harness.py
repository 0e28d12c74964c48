"""The real bot, connected over real sockets to the local Slack, over a small archive whose answers are known.

`build_archive` builds with the real builder and the embedded model, once a test process. `running_bot` starts a
local Slack and the bot in the test's own event loop; both go by the same clock, which a test may set forward.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from bot.app import Bot, start_bot
from bot.settings import Settings
from localslack.seen import SeenMessage
from localslack.server import LocalSlack
from localslack.workspace import Channel, Team, User, Workspace
from retrieval import EmbedderFactory, publish
from retrieval.builder import WorkspaceIdentity, build_artifact
from tests.blockkit_referee import CACHE, SlackTypes, assert_legal_message, assert_legal_view, slack_types
from tests.export_factory import TEAM_ID, ExportFactory

ROOT = Path(__file__).resolve().parent.parent
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))
URL = "https://example.slack.com/"

ADA, BEN, GUS, DORA, ROBO, EVE, CLEO = "U1", "U2", "U3GUEST", "U4GONE", "U5BOT", "U6OTHER", "U7"
CROWD = tuple(f"U{number}" for number in range(20, 32))
GENERAL, PAYMENTS, SECRET, OLD, SHARED = "C1", "C2", "C3SECRET", "C4OLD", "C5SHARED"

RATE_LIMITS = 23
THREAD_REPLIES = 24
START = 1_760_000_000
HOSTILE = "<!channel> <@U1> &lt;@U2&gt; <https://evil.example|docs> hostile"


def workspace() -> Workspace:
    """Return the workspace as Slack has it now."""

    def user(user_id: str, name: str, **more: Any) -> User:
        return User(id=user_id, name=name, real_name=name.title(), display_name=name, **{"team_id": TEAM_ID, **more})

    everybody = (ADA, BEN, CLEO, *CROWD)
    return Workspace(
        team=Team(id=TEAM_ID, name="Example", domain="example", url=URL),
        users=(
            user(ADA, "ada", tz="America/Los_Angeles", is_admin=True),
            user(BEN, "ben", tz="Europe/London"),
            user(CLEO, "cleo"),
            user(GUS, "gus", is_restricted=True),
            user(DORA, "dora", deleted=True),
            user(ROBO, "robo", is_bot=True),
            user(EVE, "eve", team_id="T9OTHER"),
            *(user(user_id, f"member{user_id.lower()}") for user_id in CROWD),
        ),
        channels=(
            Channel(id=GENERAL, name="general", members=(*everybody, GUS, DORA, ROBO), is_general=True),
            Channel(id=PAYMENTS, name="payments", members=everybody),
            Channel(id=SECRET, name="secret-plans", members=(ADA,), is_private=True),
            Channel(id=OLD, name="old-stuff", members=(), is_archived=True),
            Channel(id=SHARED, name="shared-eve", members=(ADA, EVE), is_ext_shared=True),
        ),
        bot_user_id="UBOT",
        acting_user_id=ADA,
        older=newer_export().stamps(),
    )


def export() -> ExportFactory:
    """Return the export that the archive is built from."""
    made = ExportFactory()
    for user_id, name in ((ADA, "ada"), (BEN, "ben"), (CLEO, "cleo"), (GUS, "gus")):
        made.user(user_id, name=name, display_name=name, real_name=name.title())
    made.channel(GENERAL, "general", members=[ADA, BEN, CLEO, GUS])
    made.channel(PAYMENTS, "payments", members=[ADA, BEN, CLEO])
    made.channel(SECRET, "secret-plans", kind="private", members=[ADA])
    made.channel(OLD, "old-stuff", members=[], is_archived=True)
    for number in range(RATE_LIMITS):
        text = f"The partner tier hit rate limit 429 again, case {number}" + " and waits" * number
        made.message(PAYMENTS, f"{START + number * 7200}.000100", text, user=BEN)
    replies = [f"Reply number {number} about the outage" for number in range(1, THREAD_REPLIES + 1)]
    made.thread(GENERAL, f"{START + 500_000}.000100", ["The checkout outage E4392 began at noon", *replies])
    made.message(GENERAL, f"{START + 600_000}.000100", "Lunch is at the harbour on Friday", user=CLEO)
    made.message(GENERAL, f"{START + 600_060}.000100", "The harbour place has no terrace", user=ADA)
    made.message(SECRET, f"{START + 610_000}.000100", "The secret merger is called rate limit 429", user=ADA)
    made.message(OLD, f"{START + 620_000}.000100", "The archived zebra paper is in the drawer", user=CLEO)
    made.message(GENERAL, f"{START + 630_000}.000100", HOSTILE, user=CLEO)
    made.message(GENERAL, f"{START + 640_000}.000100", "giant " + "&amp;" * 8_000 + " 🎉👩‍👩‍👧 " * 40, user=BEN)
    made.message(GENERAL, f"{START + 650_000}.000100", "rtl שלום עולם and ```\ncode <b>&amp;</b>\n``` fence", user=BEN)
    return made


def newer_export() -> ExportFactory:
    """Return the export of an hour later: one message more."""
    made = export()
    made.message(PAYMENTS, f"{START + 700_000}.000100", "A platypus joined the partner tier", user=CLEO)
    return made


def build_archive(folder: Path, *, made: ExportFactory | None = None, embedders: EmbedderFactory | None = None) -> Path:
    """Build an archive in `folder`, publish it there, and return its file."""
    where = folder.with_name(folder.name + "-export")
    (made or export()).write_folder(where)
    result = build_artifact(
        [where],
        folder,
        workspace=WorkspaceIdentity(workspace_id=TEAM_ID, name="Example", url=URL),
        embedder=(embedders or EmbedderFactory()).for_build(),
        clock=lambda: datetime.now(UTC),
    )
    publish(folder, result.artifact)
    return result.artifact


def copy_archive(folder: Path, target: Path) -> Path:
    """Copy a folder of artifacts, symlink as symlink, and return the copy."""
    shutil.copytree(folder, target, symlinks=True)
    return target


class Clock:
    """The real time, which a test may set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@dataclass(frozen=True, kw_only=True)
class Office:
    """A running bot in its local Slack."""

    slack: LocalSlack
    bot: Bot
    clock: Clock
    artifacts: Path

    async def ask(self, text: str, *, user: str = ADA, channel: str = GENERAL) -> SeenMessage:
        """Type `/slackquery text` and return the answer."""
        person = self.slack.person(user)
        before = {message.ts for message in person.messages(channel)}
        outcome = await person.type(f"/slackquery {text}".strip(), channel=channel)
        assert outcome.acked, outcome
        return await person.wait_for_message(channel, lambda seen: seen.by_app and seen.ts not in before, timeout=15)

    async def press(self, message: SeenMessage, label: str, *, user: str = ADA, nth: int = 0) -> SeenMessage:
        """Press a button by its label and return what the message became."""
        person = self.slack.person(user)
        place = person.current_message(message)
        control = [one for one in place.controls if one.text == label][nth]
        payloads = len(self.slack.recorder.payloads)
        outcome = await person.click(place, action_id=control.action_id, block_id=control.block_id)
        assert outcome.acked, outcome
        await person.wait_until(lambda: len(self.slack.recorder.payloads) > payloads, timeout=15)
        return person.current_message(message)

    async def press_and_tell(self, message: SeenMessage, label: str, *, said: str, user: str = ADA) -> SeenMessage:
        """Press a button that is answered by a sentence of its own, the message staying as it was; return that."""
        person = self.slack.person(user)
        before = person.current_message(message)
        await person.click(before, text=label)
        told = await person.wait_for_message(
            message.channel_id, lambda seen: seen.by_app and said in seen.plain_text, timeout=15
        )
        assert person.current_message(message).plain_text == before.plain_text
        return told

    def newest(self, user: str = ADA, channel: str = GENERAL) -> SeenMessage:
        """Return the newest message of the bot that a person sees."""
        return [seen for seen in self.slack.person(user).messages(channel) if seen.by_app][-1]


@asynccontextmanager
async def running_bot(artifacts: Path, **settings: Any) -> AsyncIterator[Office]:
    """Run a local Slack and the bot for the duration of the block.

    When the block ends well, everything the bot sent must have been legal, by the local Slack and by an independent
    referee, and must have notified nobody.
    """
    clock = Clock()
    async with LocalSlack(workspace(), MANIFEST, clock=clock) as slack:
        bot = await start_bot(bot_settings(slack, artifacts, **settings), clock=clock)
        try:
            await slack.wait_connected()
            yield Office(slack=slack, bot=bot, clock=clock, artifacts=artifacts)
        finally:
            await bot.stop()
        assert_all_legal(slack)


def bot_settings(slack: LocalSlack, artifacts: Path, **settings: Any) -> Settings:
    """Return the bot's settings for a local Slack."""
    return Settings.of(
        slack_bot_token=slack.bot_token,
        slack_app_token=slack.app_token,
        slack_api_url=slack.api_url,
        artifacts=artifacts,
        **{"audit_dir": None, "store": None, **settings},
    )


def assert_all_legal(slack: LocalSlack) -> None:
    """Check everything that was ever sent: by the local Slack, our referee, and Slack's own types once compiled."""
    assert slack.recorder.rejected == []
    assert slack.recorder.notifications == []
    for call in (one for one in slack.recorder.calls_to("response_url") if one.arguments):
        assert_legal_message(call.arguments)
    for sent in slack.recorder.payloads:
        if sent.surface in {"modal", "home"}:
            assert_legal_view(sent.payload)
    if (CACHE / "schema.json").exists():
        assert_structure(slack, slack_types())


def assert_structure(slack: LocalSlack, types: SlackTypes) -> None:
    """Check everything that was ever sent against Slack's published types."""
    for sent in slack.recorder.payloads:
        if sent.surface in {"modal", "home"}:
            types.assert_view(sent.payload)
        else:
            types.assert_blocks(sent.payload["blocks"])


async def eventually(condition: Callable[[], bool], *, seconds: float = 5.0) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: It did not in time.
    """
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition may be about anything.
            await asyncio.sleep(0.01)
