"""One scene of the fault matrix: a local Slack, the bot as a process, people it has not seen, and what goes wrong."""

import asyncio
import mmap
import resource
import shutil
import struct
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.asking_users import Command, Crowd, Verdict
from benchmarks.bot_process import BotProcess
from benchmarks.load import bot_environment, local_slack
from benchmarks.planted import SPARE, Planted
from localslack.faults import FaultKind
from localslack.server import LocalSlack
from tests.fake_endpoint import FakeEndpoint

PEOPLE: Final = 240
RECOVERY_SECONDS: Final = 60.0
_MISFORTUNE: Final = Path(__file__).parent / "misfortune"
_PROBE_SECONDS: Final = 0.1


class SceneError(Exception):
    """The scene could not be set: what was to be broken did not work before."""


@dataclass(frozen=True, kw_only=True)
class Archives:
    """The archive, built once for all scenes.

    Attributes:
        folder: The published artifacts.
        files: The same archive at two times, oldest first; the second is current.
    """

    planted: Planted
    folder: Path
    files: tuple[Path, ...]


class Control:
    """What `misfortune/sitecustomize.py` reads in the bot's process."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._block = mmap.mmap(file.fileno(), 16)
        self.environment = {"PYTHONPATH": str(_MISFORTUNE), "FAULT_MATRIX_CONTROL": str(path)}

    def jump(self, seconds: float) -> None:
        """Set the bot's clock so far ahead of the real one."""
        struct.pack_into("d", self._block, 0, seconds)

    def fail_lookups(self, count: int) -> None:
        """Let so many look-ups of localhost fail."""
        struct.pack_into("q", self._block, 8, count)

    @property
    def lookups_left(self) -> int:
        """How many are still to fail."""
        return int(struct.unpack_from("q", self._block, 8)[0])


@dataclass(kw_only=True)
class Scene:
    """What a fault has at hand.

    Attributes:
        artifacts: A copy of the archive's folder, for this scene alone.
        files: The two artifacts in that folder.
        bots: Every process that was started, oldest first.
        cleared_at: When the fault was over, by the monotonic clock.
        notes: What is to be said of it beside the counts.
        failures: What did not go as it must, beside the counts.
        recovery: How long recovery took, where the fault's own coroutine has waited for it.
        counted: How many commands had been asked before it did; None where it did not.
    """

    slack: LocalSlack
    crowd: Crowd
    folder: Path
    artifacts: Path
    files: tuple[Path, ...]
    endpoint: FakeEndpoint
    control: Control
    environment: dict[str, str]
    bots: list[BotProcess] = field(default_factory=list)
    cleared_at: float = 0.0
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    recovery: float | None = None
    counted: int | None = None
    _unseen: int = 0

    @property
    def bot(self) -> BotProcess:
        """The process that was started last."""
        return self.bots[-1]

    async def start_bot(self, *, log_to: Path | None = None) -> BotProcess:
        """Start one more process and wait until it is connected."""
        self.bots.append(await BotProcess.start(self.slack, self.environment, log_to=log_to))
        return self.bot

    def unseen(self, count: int = 1) -> list[str]:
        """Return people of whom the bot knows nothing yet."""
        people = self.crowd.planted.people
        taken = [people[at % len(people)] for at in range(self._unseen, self._unseen + count)]
        self._unseen += count
        return taken

    async def ask(self, count: int = 8, *, hybrid: bool | None = None, apart: float = 0.02) -> list[Command]:
        """Let so many unseen people ask, a moment apart, and wait for all answers."""
        return await self.ask_of(self.unseen(count), hybrid=hybrid, apart=apart)

    async def ask_of(self, people: list[str], *, hybrid: bool | None = None, apart: float = 0.02) -> list[Command]:
        """Let these people ask, a moment apart, and wait for all answers."""

        async def one(at: int, person: str) -> Command:
            await asyncio.sleep(at * apart)
            return await self.crowd.ask_and_wait(person, hybrid=hybrid)

        return list(await asyncio.gather(*(one(at, person) for at, person in enumerate(people))))

    async def ask_during(
        self, act: Callable[[], Awaitable[None]], *, count: int = 12, apart: float = 0.05, after: float = 0.2
    ) -> list[Command]:
        """Let people ask while, a moment after the first of them, something happens."""
        asking = asyncio.create_task(self.ask(count, apart=apart))
        await asyncio.sleep(after)
        await act()
        return await asking

    def fault(self, kind: FaultKind, *, method: str = "*", times: int = -1, **more: float) -> None:
        """Order a fault of the local Slack, by default until it is cleared."""
        self.slack.fault(kind, method=method, times=times, **more)  # type: ignore[arg-type]

    async def forget_channels(self) -> None:
        """Let the bot ask Slack for its channels anew, by an event."""
        before = self.bot.log.events["channels_dropped"]
        self.slack.rename(SPARE, f"spare-{before}")
        await wait_until(lambda: self.bot.log.events["channels_dropped"] > before, seconds=10)

    def cleared(self) -> None:
        """Say that the fault is over now: recovery is counted from here."""
        self.cleared_at = time.monotonic()

    def limit(self, kind: int, soft: int) -> Callable[[], None]:
        """Lower a limit of the running bot; returns what puts the old one back."""
        old = resource.prlimit(self.bot.pid, kind)
        resource.prlimit(self.bot.pid, kind, (soft, old[1]))
        return lambda: resource.prlimit(self.bot.pid, kind, old) and None

    async def healthy(self) -> None:
        """Make sure that all is well before something breaks.

        Raises:
            TimeoutError: It is not.
        """
        async with asyncio.timeout(90):
            while True:
                command = await self.crowd.ask_and_wait(self.unseen()[0], hybrid=True)
                if self.crowd.judge(command) is Verdict.RIGHT:
                    return
                await asyncio.sleep(_PROBE_SECONDS)

    async def recover_here(self) -> None:
        """Wait for recovery inside the fault's own coroutine, for what is there only so long."""
        self.counted = len(self.crowd.commands)
        self.recovery = await self.recover()
        if self.recovery is None:
            self.failures.append("not recovered in time")

    async def recover(self) -> float | None:
        """Ask until three answers in a row are right; return the seconds from the fault's end to the first of them.

        None where that takes more than a minute.
        """
        right: list[Command] = []
        until = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < until:
            command = await self.crowd.ask_and_wait(self.unseen()[0], hybrid=len(right) != 1)
            right = [*right, command] if self.crowd.judge(command) is Verdict.RIGHT else []
            if len(right) == 3:
                return max(0.0, right[0].taken[0].at - self.cleared_at)
            await asyncio.sleep(_PROBE_SECONDS)
        return None


async def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: It did not in time.
    """
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition may be about anything.
            await asyncio.sleep(0.02)


Run: TypeAlias = Callable[[Scene], Awaitable[None]]
"""What a fault does in its scene."""


@asynccontextmanager
async def scene(
    archives: Archives, folder: Path, *, settings: Mapping[str, str], endpoint: FakeEndpoint
) -> AsyncIterator[Scene]:
    """Set a scene without a bot; whatever was started is ended afterwards."""
    artifacts = folder / "artifacts"
    shutil.copytree(archives.folder, artifacts, symlinks=True)
    crowd, control = Crowd(archives.planted), Control(folder / "control")
    async with local_slack(crowd) as slack:
        environment = bot_environment(artifacts, folder, endpoint) | control.environment
        made = Scene(
            slack=slack,
            crowd=crowd,
            folder=folder,
            artifacts=artifacts,
            files=tuple(artifacts / one.name for one in archives.files),
            endpoint=endpoint,
            control=control,
            environment=environment | {"SLACKQUERY_SWAP_CHECK_SECONDS": "1"} | dict(settings),
        )
        try:
            yield made
        finally:
            slack.faults.clear()
            for bot in made.bots:
                await bot.stop()


@asynccontextmanager
async def small_disk(path: Path, *, size: str = "12m") -> AsyncIterator[Path]:
    """Mount a small disk of its own at a path for the duration of the block; only root may.

    Raises:
        SceneError: It cannot be mounted.
    """
    path.mkdir()  # noqa: ASYNC240 - nothing else runs meanwhile
    # Tools of the system, by their names: where they lie differs.
    mounted = subprocess.run(  # noqa: S603, ASYNC221
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        raise SceneError("a small disk cannot be mounted here; that takes root")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)  # noqa: S603, S607, ASYNC221
