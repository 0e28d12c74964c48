"""`slackquery serve` and `slackquery demo`."""

import asyncio
import os
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Final

import click

# First, before anything loads numpy: it says how many threads numpy's products take.
from bot.settings import EngineSettings, Settings, load_settings

# isort: split
from bot.app import StartError
from bot.cli.output import ConsoleProgress, say
from bot.connection import ConnectionRefusedBySlackError
from bot.log import configure_logging
from bot.log_stream import PatientStream
from bot.serving import serve as serve_until_stopped

_THREAD_SECONDS: Final = 1.0
_LOG_SECONDS: Final = 0.5


@click.command()
def serve() -> None:
    """Serve /slackquery in Slack until SIGTERM; what is running then is finished.

    Settings come from the environment and from .env; logs go to stdout, one JSON object a line.

    \b
    slackquery serve
    """
    settings = Settings.load()
    log = PatientStream(sys.stdout)
    configure_logging(level=settings.log_level, stream=log)

    def on_ready(notices: tuple[str, ...]) -> None:
        for notice in notices:
            say(notice)

    try:
        asyncio.run(serve_until_stopped(settings, on_ready=on_ready, log_lines_lost=lambda: log.lost))
    except (StartError, ConnectionRefusedBySlackError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        log.finish(timeout_seconds=_LOG_SECONDS)
    _leave()


def _leave() -> None:
    """End the process although a thread may hang in a read that nobody can interrupt."""
    until = time.monotonic() + _THREAD_SECONDS
    left = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    for thread in left:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in left):
        sys.stdout.flush()
        sys.stderr.flush()
        # The interpreter would wait for them without end.
        os._exit(0)


@click.command()
@click.option(
    "--export",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    help="A Slack export (zip or folder) to search instead of the sample.",
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Port of the page; any free one unless given.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Folder for the built archive; var/demo in a checkout, else ~/.cache/slackquery/demo.",
)
def demo(*, export: Path | None, port: int, no_browser: bool, cache: Path | None) -> None:
    """Try the bot in the browser: the real bot against a Slack on this machine.

    \b
    slackquery demo
    slackquery demo --export my-export.zip
    """
    # The demo brings the builder and the local Slack, which no other command needs.
    from bot.demo import DemoError, default_cache, prepare_demo, run_demo  # noqa: PLC0415

    settings = load_settings(EngineSettings)
    configure_logging(level="ERROR", stream=sys.stderr)

    def on_ready(address: str) -> None:
        click.echo(f"slackquery is ready at {address}")
        say("Type /slackquery and what you look for. Ctrl-C ends it.")
        if not no_browser:
            webbrowser.open(address)

    try:
        archive = prepare_demo(
            export, cache=cache or default_cache(), settings=settings, progress=ConsoleProgress(), say=say
        )
        asyncio.run(run_demo(archive, settings=settings, port=port, on_ready=on_ready))
    except (DemoError, StartError, ConnectionRefusedBySlackError) as error:
        raise click.ClickException(str(error)) from error
