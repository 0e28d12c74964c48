"""The bot as it is served; appends the seconds of each of the engine's searches to the file that ENGINE_TIMES names."""

import os
import time
from pathlib import Path
from typing import Any, Final

import bot.archive
from bot.cli import main

FILE: Final = "ENGINE_TIMES"


def time_engine(path: Path) -> None:
    """Append how long each search took, from now on."""
    search = bot.archive.search_slack
    # Unbuffered: one write a search, which is there when the answer is.
    times = path.open("ab", buffering=0)

    def timed(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - passed on as it is
        started = time.perf_counter()
        try:
            return search(*given, **more)
        finally:
            times.write(f"{time.perf_counter() - started}\n".encode())

    bot.archive.search_slack = timed


if __name__ == "__main__":
    time_engine(Path(os.environ[FILE]))
    main()
