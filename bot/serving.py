"""Serving until told to stop: SIGTERM and SIGINT end the bot cleanly."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.app import start_bot
from bot.settings import Settings


async def serve(
    settings: Settings,
    *,
    on_ready: Callable[[tuple[str, ...]], None],
    log_lines_lost: Callable[[], int] = lambda: 0,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what runs, within ten seconds.

    Args:
        settings: Checked settings.
        on_ready: Called once the bot is connected, with sentences that its operator should read.
        log_lines_lost: How many lines of the log could not be written so far.

    Raises:
        StartError: The bot cannot start.
        ConnectionRefusedBySlackError: Slack does not let the app connect.
    """
    stop = asyncio.Event()
    with stopping_signals(stop):
        bot = await start_bot(settings, log_lines_lost=log_lines_lost)
        try:
            on_ready(bot.notices)
            await stop.wait()
        finally:
            await bot.stop()


@contextmanager
def stopping_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` when SIGTERM or SIGINT arrives while the block runs; the second one ends the process at once."""
    loop = asyncio.get_running_loop()
    kinds = (signal.SIGTERM, signal.SIGINT)

    def handle() -> None:
        stop.set()
        for kind in kinds:
            loop.remove_signal_handler(kind)

    for kind in kinds:
        loop.add_signal_handler(kind, handle)
    try:
        yield
    finally:
        for kind in kinds:
            loop.remove_signal_handler(kind)
