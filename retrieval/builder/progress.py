"""How a build tells how far it is; the command line draws bars, tests and other callers need nothing."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Shows the stages of a build."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """Begin a stage of *total* steps (None where unknown); the value is called with each number of steps done."""
        ...


class SilentProgress:
    """Shows nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:  # noqa: ARG002 (the protocol's names)
        """Begin a stage that nobody watches."""
        yield lambda _steps: None
