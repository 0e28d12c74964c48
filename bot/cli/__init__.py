"""The command line: `slackquery VERB`. Results go to stdout, everything else to stderr.

Exit codes: 0 done, 1 failed (one sentence), 2 wrong usage.
"""

from importlib.metadata import version

import click

from bot.cli.archive import artifacts, build, publish, rollback
from bot.cli.doctor import doctor
from bot.cli.evaluate import evaluate
from bot.cli.failures import SentenceGroup
from bot.cli.index import index
from bot.cli.logs import logs
from bot.cli.search import message, search, thread
from bot.cli.serve import demo, serve


@click.group(cls=SentenceGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("slackquery"), prog_name="slackquery")
def main() -> None:
    """Search a Slack workspace's whole archive, from inside Slack or from here.

    \b
    slackquery build export.zip --out archive --publish
    slackquery search "rate limit 429" --artifacts archive
    """


for command in (
    build,
    publish,
    rollback,
    artifacts,
    index,
    search,
    message,
    thread,
    evaluate,
    doctor,
    serve,
    demo,
    logs,
):
    main.add_command(command)
