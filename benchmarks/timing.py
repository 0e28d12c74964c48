"""Timing several ways of doing the same thing side by side, so that what else the machine does hits all alike."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Input = TypeVar("Input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What one way took, milliseconds.

    Attributes:
        count: How often it was done.
        p50: The median of wall-clock time.
        p95: Its 95th percentile.
        maximum: Its longest.
        cpu_p50: The median of processor time, all threads.
    """

    count: int
    p50: float
    p95: float
    maximum: float
    cpu_p50: float

    def row(self) -> dict[str, float]:
        """Return it for JSON, rounded."""
        return {
            "count": self.count,
            "p50_ms": round(self.p50, 3),
            "p95_ms": round(self.p95, 3),
            "max_ms": round(self.maximum, 3),
            "cpu_p50_ms": round(self.cpu_p50, 3),
        }


def interleaved(
    ways: Mapping[str, Callable[[Input], object]], inputs: Iterable[Input], *, repeats: int = 3
) -> dict[str, Times]:
    """Time every way on every input in turn, *repeats* times over; each is done once before, untimed."""
    inputs = list(inputs)
    for way in ways.values():
        way(inputs[0])
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for one in inputs:
            for name, way in ways.items():
                started, used = time.perf_counter(), time.process_time()
                way(one)
                cpu[name].append((time.process_time() - used) * 1e3)
                wall[name].append((time.perf_counter() - started) * 1e3)
    return {name: summary(wall[name], cpu[name]) for name in ways}


def summary(wall: list[float], cpu: list[float]) -> Times:
    """Summarise wall-clock and processor times, milliseconds."""
    return Times(
        count=len(wall),
        p50=float(np.percentile(wall, 50)),
        p95=float(np.percentile(wall, 95)),
        maximum=max(wall),
        cpu_p50=float(np.percentile(cpu, 50)) if cpu else float("nan"),
    )


def rows(times: Mapping[str, Times]) -> dict[str, dict[str, float]]:
    """Return times for JSON."""
    return {name: one.row() for name, one in times.items()}


def seconds(way: Callable[[], object]) -> float:
    """Return how long *way* takes by the wall clock."""
    started = time.perf_counter()
    way()
    return time.perf_counter() - started
