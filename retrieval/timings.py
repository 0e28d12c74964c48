"""Timing the stages of a search."""

import contextlib
import time
from collections.abc import Iterator


class Stopwatch:
    """Milliseconds by stage, by a monotonic clock; for one thread."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent in the block to stage *name*."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - begun) * 1000
            self._stages[name] = self._stages.get(name, 0.0) + spent

    def milliseconds(self) -> dict[str, float]:
        """Return the stages with `other` for what lies between them and `total`, rounded to microseconds."""
        total = (time.perf_counter() - self._started) * 1000
        stages = {name: round(spent, 3) for name, spent in self._stages.items()}
        stages["other"] = round(max(total - sum(self._stages.values()), 0.0), 3)
        return {**stages, "total": round(total, 3)}
