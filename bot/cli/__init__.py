"""The command line: `slackquery VERB`. Results go to stdout, everything else to stderr.

Exit codes: 0 done, 1 failed (one sentence), 2 wrong usage.
"""

from importlib.metadata import version
from typing import Final

import click

from bot.cli.failures import SentenceGroup

# Where each command stands. Only the one that is run is imported: a search must not wait for Slack's libraries.
COMMANDS: Final = {
    "build": "bot.cli.archive:build",
    "publish": "bot.cli.archive:publish",
    "rollback": "bot.cli.archive:rollback",
    "artifacts": "bot.cli.archive:artifacts",
    "index": "bot.cli.index:index",
    "search": "bot.cli.search:search",
    "message": "bot.cli.search:message",
    "thread": "bot.cli.search:thread",
    "similar": "bot.cli.similar:similar",
    "eval": "bot.cli.evaluate:evaluate",
    "doctor": "bot.cli.doctor:doctor",
    "serve": "bot.cli.serve:serve",
    "demo": "bot.cli.serve:demo",
    "logs": "bot.cli.logs:logs",
}


@click.group(
    cls=SentenceGroup,
    places=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version("slackquery"), prog_name="slackquery")
def main() -> None:
    """Search a Slack workspace's whole archive, from inside Slack or from here.

    \b
    slackquery build export.zip --out archive --publish
    slackquery search "rate limit 429" --artifacts archive
    """
