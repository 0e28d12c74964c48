"""Opening artifacts of growing size: time beside `np.load`, memory, and searches. Part of `benchmarks.speed`.

Processes of their own call `python -m benchmarks.opening OPTION PATH`, which prints JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

# Before numpy is loaded, as `slackquery serve` does it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.archives import DUCKDB_MB, REPRESENTATIVE, FixedEmbedder, Report, Setup, opened, search_in
from benchmarks.timing import interleaved, rows
from retrieval import Artifact, Mode

_TURNS: Final = 5


def measure_growth(setup: Setup) -> Report:
    """Opening, memory and search times by size, each in a process of its own."""
    report: Report = {}
    for copies in setup.scales:
        path = setup.lean(copies)
        found = _in_process("--open", path)
        # A copy of the matrix, as numpy saves it: read by turns with the artifact, each time by a new process.
        saved = path.with_suffix(".npy")
        with opened(path) as (_, resident):
            assert resident.vectors is not None
            np.save(saved, resident.vectors.rows.take(np.arange(len(resident.vectors))))
        turns = [(_in_process("--time-open", path), _in_process("--time-load", saved)) for _ in range(_TURNS)]
        saved.unlink()
        report[f"lean_dev x{copies}"] = {**found, **_opening(turns)}
    return report


def _opening(turns: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> Report:
    """Summarise what opening and `np.load` took, in turn."""
    names = ("wall", "cpu")
    opening = {name: float(np.median([one[name] for one, _ in turns])) for name in names}
    loading = {name: float(np.median([one[name] for _, one in turns])) for name in names}
    return {
        "opening, seconds": {name: round(value, 3) for name, value in opening.items()},
        "of that reading into memory": round(float(np.median([one["load"] for one, _ in turns])), 3),
        "np.load, seconds": {name: round(value, 3) for name, value in loading.items()},
        "opening / np.load (<= 2.5)": {name: round(opening[name] / loading[name], 2) for name in names},
    }


def _in_process(option: str, path: Path) -> dict[str, Any]:
    program = [sys.executable, "-m", "benchmarks.opening", option, str(path)]
    found = subprocess.run(program, check=True, capture_output=True, text=True)  # noqa: S603 - our own module
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def time_opening(path: Path) -> dict[str, float]:
    """Return the seconds until an artifact is ready, in a process that has done nothing else."""
    started, used = time.perf_counter(), time.process_time()
    with Artifact(path, memory_mb=DUCKDB_MB) as artifact:
        connected = time.perf_counter()
        assert artifact.load().resident is not None, artifact.residency.detail
        ended = time.perf_counter()
        return {"wall": ended - started, "cpu": time.process_time() - used, "load": ended - connected}


def time_loading(path: Path) -> dict[str, float]:
    """Return the seconds that `np.load` takes, in a process that has done nothing else."""
    started, used = time.perf_counter(), time.process_time()
    matrix = np.load(path)
    return {"wall": time.perf_counter() - started, "cpu": time.process_time() - used, "bytes": matrix.nbytes}


def measure_opening(path: Path) -> Report:
    """Open one artifact in this process; peak memory and searches."""
    with Artifact(path, memory_mb=DUCKDB_MB) as artifact:
        resident = artifact.load().resident
        assert resident is not None, artifact.residency.detail
        assert resident.vectors is not None
        peak = peak_bytes()
        embedder = FixedEmbedder(artifact.info.dimensions or 0)
        ways = {mode.value: search_in(artifact, mode, embedder) for mode in Mode}
        times = interleaved(ways, REPRESENTATIVE, repeats=3)
        # Of the vectors as float32, which is what is allowed for.
        matrix, postings = 4 * resident.vectors.quantized.codes.size, len(resident.postings.rows)
    allowed = 1.25 * (matrix + 12 * postings) + 400e6
    return {
        "documents": artifact.info.document_count,
        "postings": postings,
        "resident_mb": round(resident.nbytes / 1e6),
        "peak_mb": round(peak / 1e6),
        "allowed_mb": round(allowed / 1e6),
        "peak / allowed (<= 1)": round(peak / allowed, 3),
        **rows(times),
    }


def peak_bytes() -> int:
    """Return the most memory this process has taken so far, bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status says nothing about VmHWM.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", type=Path, help="Measure searches and memory of this artifact.")
    parser.add_argument("--time-open", type=Path, help="Time opening this artifact.")
    parser.add_argument("--time-load", type=Path, help="Time `np.load` of this file.")
    arguments = parser.parse_args()
    ways = (
        (arguments.open, measure_opening),
        (arguments.time_open, time_opening),
        (arguments.time_load, time_loading),
    )
    for path, way in ways:
        if path is not None:
            print(json.dumps(way(path)))


if __name__ == "__main__":
    main()
