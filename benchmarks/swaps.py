"""Searches while the artifact is swapped: an hour of hourly swaps pressed into minutes.

    python -m benchmarks.swaps EXPORT.zip [--users 16] [--seconds 120] [--every 2] [--folder DIR] [--rollback]

Two artifacts of the export are published in turn (with --rollback by `rollback`), and the store looks twice a second.
Each answer must come whole from the artifact that it was leased from. Printed: latencies without and with swaps,
failed and mixed answers, open files and memory by half minute.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from retrieval import ArtifactStore, Mode, SearchRequest, Visibility, publish, rollback, search_slack
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.publication import list_artifacts


@dataclass
class Tally:
    """What the users met."""

    milliseconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    mixed: int = 0
    by_artifact: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def search_on(store: ArtifactStore, words: list[str], stop: threading.Event, tally: Tally, *, seed: int) -> None:
    """Search until told to stop, a tenth of a second apart."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    while not stop.wait(chance.uniform(0.0, 0.2)):
        request = SearchRequest(text=" ".join(chance.sample(words, 2)), mode=Mode.LEXICAL)
        started = time.perf_counter()
        try:
            with store.lease() as artifact:
                page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
                own = artifact.info.artifact_id
        except Exception as error:  # noqa: BLE001 - what went wrong is the result
            tally.failed.append(f"{type(error).__name__}: {error}")
            continue
        with tally.lock:
            tally.milliseconds.append((time.perf_counter() - started) * 1000)
            tally.mixed += page.artifact_id != own
            tally.by_artifact[own] = tally.by_artifact.get(own, 0) + 1


def run(store: ArtifactStore, words: list[str], *, users: int, seconds: float, swap: "Swapper | None") -> Tally:
    """Let *users* search for *seconds*, with swaps or without."""
    tally, stop = Tally(), threading.Event()
    threads = [
        threading.Thread(target=search_on, args=(store, words, stop, tally), kwargs={"seed": seed})
        for seed in range(users)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        if swap is not None:
            swap.step()
    stop.set()
    for thread in threads:
        thread.join()
    return tally


class Swapper:
    """Publishes two artifacts in turn and lets the store look."""

    def __init__(self, store: ArtifactStore, folder: Path, *, every: float, by_rollback: bool) -> None:
        self._store, self._folder, self._every, self._by_rollback = store, folder, every, by_rollback
        self._due = self._note = time.monotonic()
        self.swaps = 0
        self.notes: list[tuple[int, int, float]] = []
        self._began = time.monotonic()

    def step(self) -> None:
        """Swap where it is time, look, and note files and memory every half minute."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self._every
            entries = list_artifacts(self._folder)
            other = next(entry for entry in entries if not entry.current)
            if self._by_rollback and other.manifest is not None:
                rollback(self._folder, other.manifest.artifact_id)
            else:
                publish(self._folder, other.path)
        outcome = self._store.refresh()
        assert outcome.problem is None, outcome.problem
        self.swaps += outcome.changed
        if now >= self._note:
            self._note = now + 30
            self.notes.append((round(now - self._began), len(os.listdir("/proc/self/fd")), memory_mb()))  # noqa: PTH208


def memory_mb() -> float:
    """Return this process's resident memory, MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def quantile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=1000, method="inclusive")[round(share * 1000) - 1]


def build_two(export: Path, folder: Path) -> list[str]:
    """Build the export twice and publish one; return words to search for."""
    for hours in (1, 0):
        built = datetime.now(UTC) - timedelta(hours=hours)
        result = build_artifact(
            [export],
            folder,
            workspace=WorkspaceIdentity(workspace_id="T0BENCH"),
            embedder=None,
            lenient=True,
            clock=lambda at=built: at,  # type: ignore[misc]
        )
    publish(folder, result.artifact)
    return "the how package build error version file test function release update issue data report code".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=float, default=2)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rollback", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name) / "artifacts"
        words = build_two(arguments.export, folder)
        store = ArtifactStore(folder)
        assert store.refresh().changed
        calm = run(store, words, users=arguments.users, seconds=arguments.seconds / 2, swap=None)
        swapper = Swapper(store, folder, every=arguments.every, by_rollback=arguments.rollback)
        busy = run(store, words, users=arguments.users, seconds=arguments.seconds, swap=swapper)
        store.close()
    print(f"{arguments.export.name}, {arguments.users} users, {swapper.swaps} swaps in {arguments.seconds:g} s\n")
    print("| | searches | p50, ms | p95, ms | p99, ms | failed | mixed |\n|---|---|---|---|---|---|---|")
    for label, tally in (("without swaps", calm), ("with swaps", busy)):
        figures = " | ".join(f"{quantile(tally.milliseconds, share):.0f}" for share in (0.5, 0.95, 0.99))
        print(f"| {label} | {len(tally.milliseconds):,} | {figures} | {len(tally.failed)} | {tally.mixed} |")
    print("\n| second | open files | memory, MiB |\n|---|---|---|")
    for second, files, memory in swapper.notes:
        print(f"| {second} | {files} | {memory:.0f} |")
    for failure in sorted(set(busy.failed))[:5]:
        print(failure)
    sys.exit(1 if busy.failed or calm.failed or busy.mixed else 0)


if __name__ == "__main__":
    main()
