"""Failures as one sentence on stderr and exit code 1, without a traceback."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from bot.sentences import os_sentence
from bot.settings import SettingsError
from retrieval import RetrievalError


class SentenceGroup(click.Group):
    """A group whose commands end in a sentence where they fail in a way that the user can understand."""

    def __init__(self, *arguments: Any, places: Mapping[str, str] | None = None, **options: Any) -> None:  # noqa: ANN401
        """Make a group of the commands at *places*, `module:attribute` by name, each imported when it is wanted."""
        super().__init__(*arguments, **options)
        self._places = dict(places or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._places})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None where there is none of that name."""
        if cmd_name in self._places:
            module, _, attribute = self._places[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        return super().get_command(ctx, cmd_name)

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
