"""Searches while the artifact is swapped: an hour of hourly swaps pressed into minutes.

    python -m benchmarks.swaps EXPORT.zip [--users 16] [--seconds 120] [--every 2] [--pause 1] [--rollback]

Two artifacts of the export are published in turn by a process of its own (with --rollback by `rollback`), as an
indexer is one, and the store looks four times a second. A user searches, in all three modes, and pauses for a random
time about --pause seconds. Each answer must come whole from the artifact that it was leased from. Printed: latencies
without and with swaps, failed and mixed answers, open files and memory by half minute.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event as EventType
from pathlib import Path

from retrieval import ArtifactStore, Mode, SearchRequest, Visibility, publish, rollback, search_slack
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.minilm import MiniLMEmbedder
from retrieval.publication import list_artifacts

# One for all users, as a bot has one.
EMBEDDER = MiniLMEmbedder()


@dataclass
class Tally:
    """What the users met."""

    milliseconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    mixed: int = 0
    by_artifact: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def search_on(
    store: ArtifactStore, words: list[str], stop: threading.Event, tally: Tally, *, seed: int, pause: float
) -> None:
    """Search until told to stop, with pauses."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    while not stop.wait(chance.uniform(0.0, 2 * pause)):
        request = SearchRequest(text=" ".join(chance.sample(words, 2)), mode=chance.choice(list(Mode)))
        started = time.perf_counter()
        try:
            with store.lease() as artifact:
                page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=EMBEDDER)
                own = artifact.info.artifact_id
        except Exception as error:  # noqa: BLE001 - what went wrong is the result
            tally.failed.append(f"{type(error).__name__}: {error}")
            continue
        with tally.lock:
            tally.milliseconds.append((time.perf_counter() - started) * 1000)
            tally.mixed += page.artifact_id != own
            tally.by_artifact[own] = tally.by_artifact.get(own, 0) + 1


def run(
    store: ArtifactStore, words: list[str], *, users: int, seconds: float, pause: float, watch: "Watch | None"
) -> Tally:
    """Let *users* search for *seconds*, with swaps or without."""
    tally, stop = Tally(), threading.Event()
    threads = [
        threading.Thread(target=search_on, args=(store, words, stop, tally), kwargs={"seed": seed, "pause": pause})
        for seed in range(users)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.25)
        if watch is not None:
            watch.step()
    stop.set()
    for thread in threads:
        thread.join()
    return tally


class Watch:
    """Looks for another artifact, as the bot does, and notes files and memory every half minute."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._began = self._note = time.monotonic()
        self.swaps = 0
        self.notes: list[tuple[int, int, float]] = []

    def step(self) -> None:
        """Look once."""
        outcome = self._store.refresh()
        assert outcome.problem is None, outcome.problem
        self.swaps += outcome.changed
        if (now := time.monotonic()) >= self._note:
            self._note = now + 30
            self.notes.append((round(now - self._began), len(os.listdir("/proc/self/fd")), memory_mb()))  # noqa: PTH208


def keep_swapping(folder: Path, every: float, stopped: "EventType", *, by_rollback: bool) -> None:
    """Publish the artifact that is not current, until told to stop; the work of a process of its own."""
    due = time.monotonic()
    while not stopped.wait(max(0.0, due - time.monotonic())):
        due += every
        other = next(entry for entry in list_artifacts(folder) if not entry.current)
        if by_rollback and other.manifest is not None:
            rollback(folder, other.manifest.artifact_id)
        else:
            publish(folder, other.path)


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
            embedder=MiniLMEmbedder(),
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
    parser.add_argument("--pause", type=float, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rollback", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name) / "artifacts"
        words = build_two(arguments.export, folder)
        store = ArtifactStore(folder)
        assert store.refresh().changed
        counts = {"users": arguments.users, "pause": arguments.pause}
        calm = run(store, words, seconds=arguments.seconds / 2, watch=None, **counts)
        watch, context = Watch(store), multiprocessing.get_context("spawn")
        stopped = context.Event()
        indexer = context.Process(
            target=keep_swapping, args=(folder, arguments.every, stopped), kwargs={"by_rollback": arguments.rollback}
        )
        indexer.start()
        busy = run(store, words, seconds=arguments.seconds, watch=watch, **counts)
        stopped.set()
        indexer.join()
        store.close()
    print(f"{arguments.export.name}, {arguments.users} users, {watch.swaps} swaps in {arguments.seconds:g} s\n")
    print("| | searches | p50, ms | p95, ms | p99, ms | failed | mixed |\n|---|---|---|---|---|---|---|")
    for label, tally in (("without swaps", calm), ("with swaps", busy)):
        figures = " | ".join(f"{quantile(tally.milliseconds, share):.0f}" for share in (0.5, 0.95, 0.99))
        print(f"| {label} | {len(tally.milliseconds):,} | {figures} | {len(tally.failed)} | {tally.mixed} |")
    print("\n| second | open files | memory, MiB |\n|---|---|---|")
    for second, files, memory in watch.notes:
        print(f"| {second} | {files} | {memory:.0f} |")
    for failure in sorted(set(busy.failed))[:5]:
        print(failure)
    sys.exit(1 if busy.failed or calm.failed or busy.mixed else 0)


if __name__ == "__main__":
    main()
