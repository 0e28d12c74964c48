"""Failures as one sentence on stderr and exit code 1, without a traceback."""

from typing import Any

import click

from bot.sentences import os_sentence
from bot.settings import SettingsError
from retrieval import RetrievalError


class SentenceGroup(click.Group):
    """A group whose commands end in a sentence where they fail in a way that the user can understand."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command; known errors become `click.ClickException`, whose exit code is 1."""
        try:
            return super().invoke(ctx)
        except (RetrievalError, SettingsError) as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise click.ClickException(os_sentence(error)) from error
