"""The real bot as a process of its own, `slackquery serve`, with what it logs and what it takes of the machine."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from localslack.server import LocalSlack

START_SECONDS: Final = 60.0
# What may be logged as an error, seen by whoever reads the matrix.
_LOUD: Final = frozenset({"error", "critical"})


class BotEndedError(Exception):
    """The bot ended where it should not have."""


@dataclass
class BotLog:
    """What one process logged: how often each event, and every line of an error."""

    events: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Note one line; what is no JSON counts as `not_json`."""
        try:
            entry = json.loads(line)
        except ValueError:
            self.events["not_json"] += 1
            self.errors.append(line[:300])
            return
        self.events[str(entry.get("event"))] += 1
        if reason := entry.get("reason"):
            self.reasons[f"{entry.get('event')} {reason}"] += 1
        if entry.get("level") in _LOUD:
            self.errors.append(line[:600])


class BotProcess:
    """One `slackquery serve` against a local Slack.

    Attributes:
        log: What it has written so far, except where its output goes to a file.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: BotLog, reading: list[asyncio.Task[None]]) -> None:
        self.log = log
        self._process = process
        self._reading = reading

    @classmethod
    async def start(
        cls,
        slack: LocalSlack,
        environment: Mapping[str, str],
        *,
        log_to: Path | None = None,
        wait: bool = True,
        module: str = "bot",
    ) -> "BotProcess":
        """Start the bot and wait until it is connected.

        Args:
            slack: The local Slack.
            environment: Settings beside the tokens.
            log_to: A file that its output is appended to; else it is read here.
            wait: Whether to wait for its connection.
            module: What is run: the bot, or a module that adds to it.

        Raises:
            TimeoutError: It did not connect in time.
            BotEndedError: It ended instead.
        """
        before = slack.connections
        log, output = BotLog(), asyncio.subprocess.PIPE if log_to is None else log_to.open("ab")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, "serve"),
            env={
                "PATH": os.environ["PATH"],
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_APP_TOKEN": slack.app_token,
                "SLACK_API_URL": slack.api_url,
                **environment,
            },
            stdout=output,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        if log_to is not None:
            output.close()  # type: ignore[union-attr]  # The child has its own.
        streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
        self = cls(process, log, [])
        self._reading = [asyncio.create_task(self._read(stream)) for stream in streams]
        if wait:
            await self._wait_connected(slack, before + 1)
        return self

    async def _wait_connected(self, slack: LocalSlack, count: int) -> None:
        connecting = asyncio.create_task(slack.wait_connected(count, timeout=START_SECONDS))
        ending = asyncio.create_task(self._process.wait())
        await asyncio.wait({connecting, ending}, return_when=asyncio.FIRST_COMPLETED)
        ended = not connecting.done()
        (connecting if ended else ending).cancel()
        if ended:
            await asyncio.gather(*self._reading)
            raise BotEndedError("The bot ended at its start: " + " ".join(self.log.errors[-5:]))
        await connecting

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.log.take(line.decode("utf-8", "replace"))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    def hold_output(self, *, held: bool) -> None:
        """Stop reading what it writes, as a log shipper that hangs, or go on."""
        transport = self._process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]  # noqa: SLF001
        (transport.pause_reading if held else transport.resume_reading)()

    def address_bytes(self) -> int:
        """Return the size of its address space."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def memory_mib(self) -> float:
        """Return its resident memory, MiB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def open_files(self) -> int:
        """Return how many file descriptors it holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - names alone are wanted

    def loop_seconds(self) -> float:
        """Return the processor time of its main thread, in which the event loop runs, seconds."""
        return int(Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def threads(self) -> int:
        """Return how many threads it runs."""
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def wait(self, *, seconds: float) -> int | None:
        """Return its exit code once it has ended, None where it has not in time."""
        try:
            async with asyncio.timeout(seconds):
                code = await self._process.wait()
                await asyncio.gather(*self._reading)
        except TimeoutError:
            return None
        return code

    async def stop(self) -> int | None:
        """End it by SIGTERM, by SIGKILL where it does not end within fifteen seconds; return the exit code."""
        if self.running:
            self.signal(signal.SIGTERM)
            if await self.wait(seconds=15) is None:
                self._process.kill()
        return await self.wait(seconds=5)
