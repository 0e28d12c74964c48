"""Failures as one sentence on stderr and exit code 1, without a traceback."""

import errno
from typing import Any, Final

import click

from bot.settings import SettingsError
from retrieval import RetrievalError

_PLAIN: Final = {
    errno.ENOSPC: "The disk is full",
    errno.EROFS: "The file system is read-only",
    errno.EACCES: "Permission is denied",
    errno.ENOENT: "There is no such file or folder",
}


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
            raise click.ClickException(_os_sentence(error)) from error


def _os_sentence(error: OSError) -> str:
    reason = _PLAIN.get(error.errno or 0, error.strerror or type(error).__name__)
    place = f": {error.filename}" if error.filename else ""
    return f"{reason}{place}."
