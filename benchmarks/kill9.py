"""Kill the indexer with SIGKILL at random moments of build, publish and prune, and look at what is left.

    python -m benchmarks.kill9 [--moments 20] [--seed 1] [--messages 300]

Half of the moments are points in time, half are single file operations (rename, unlink, symlink, chmod, fsync), killed
just before or just after. After each: the current artifact must open and validate, the next turn must publish, and no
temporary file may be left. Exit code 1 where any of that fails.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.indexing import Indexer
from retrieval import EmbeddingSpec, Retention
from retrieval.build_status import BuildOutcome, BuildStatus
from retrieval.builder import SilentProgress, WorkspaceIdentity
from retrieval.builder.cycle import Plan
from retrieval.manifest import read_manifest
from retrieval.publication import current_path, list_artifacts
from retrieval.validation import validate_file

LASTING = (
    "search-*.duckdb",
    "search-*.manifest.json",
    "current.*",
    "embeddings.sqlite*",
    "indexer.json",
    "*.lock",
)
OPERATIONS = ("replace", "rename", "unlink", "symlink", "chmod", "fsync")
# What the model was given and could not be kept: one call's texts.
BATCH = 64


class WordEmbedder:
    """A model of hashed words that notes every text in a file."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.spec = EmbeddingSpec(
            model="words", revision="1", query_prefix="", document_prefix="", native_dimensions=16, dimensions=16
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of norm 1."""
        with self._log.open("a", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
        rows = [np.frombuffer(hashlib.sha512(text.encode()).digest()[:16], dtype=np.uint8) - 127.5 for text in texts]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


def write_export(path: Path, messages: int) -> None:
    """Write an export of so many messages, each with a text of its own, in one step."""
    days: dict[str, list[dict[str, str]]] = {}
    for number in range(messages):
        second = 1_700_000_000 + number * 600
        day = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d")
        days.setdefault(day, []).append(
            {"type": "message", "ts": f"{second}.000100", "user": "U1", "text": f"text {number}"}
        )
    with zipfile.ZipFile(path.with_suffix(".new"), "w") as archive:
        archive.writestr("users.json", json.dumps([{"id": "U1", "team_id": "T1", "name": "ana"}]))
        archive.writestr("channels.json", json.dumps([{"id": "C1", "name": "general"}]))
        for day, entries in days.items():
            archive.writestr(f"general/{day}.json", json.dumps(entries))
    path.with_suffix(".new").replace(path)


def turn(folder: Path, source: Path) -> BuildStatus:
    """Run one turn that keeps nothing but the current artifact and the one before."""
    plan = Plan(
        sources=(source,),
        folder=folder,
        workspace=WorkspaceIdentity(workspace_id="T1"),
        retention=Retention(newest=2, hours=0),
    )
    embedder = WordEmbedder(folder.parent / "texts.log")
    return Indexer(plan, embedder=lambda: embedder, progress=SilentProgress()).run()


def in_child(work: Callable[[], bool], *, kill_after: float | None = None) -> int:
    """Run *work* in a fork; return 0 where it was true, 1 where not, -9 where it was killed."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(os.devnull, "w") as quiet:  # noqa: PTH123 - the descriptor alone is wanted
                os.dup2(quiet.fileno(), 1)
            code = 0 if work() else 1
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def arm(number: int, *, after: bool) -> list[str]:
    """Let this process kill itself at its file operation *number*, from 0; the list holds those that passed."""
    passed: list[str] = []

    def armed(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def operation(*args: object, **options: object) -> object:
            passed.append(name)
            if len(passed) - 1 == number and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **options)
            if len(passed) - 1 == number and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return operation

    for name in OPERATIONS:
        setattr(os, name, armed(name))
    return passed


def count_operations(folder: Path, source: Path) -> int:
    """Return how many file operations a turn makes."""
    note = folder.parent / "operations"

    def work() -> bool:
        passed = arm(-1, after=False)
        turn(folder, source)
        note.write_text(str(len(passed)))
        return True

    in_child(work)
    return int(note.read_text())


def is_valid(folder: Path) -> bool:
    """Return whether the current artifact opens and passes every check."""
    path = current_path(folder)
    return path is not None and validate_file(path, manifest=read_manifest(path)).document_count > 0


def temporaries(folder: Path) -> list[str]:
    """Return the files that should not be there."""
    lasting = {path for pattern in LASTING for path in folder.glob(pattern)}
    return sorted(path.name for path in folder.iterdir() if path not in lasting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=300)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - reproducible, not secret
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder, source = Path(name) / "artifacts", Path(name) / "export.zip"
        messages = arguments.messages
        for _ in range(2):
            write_export(source, messages)
            started = time.monotonic()
            assert in_child(lambda: turn(folder, source).outcome is BuildOutcome.PUBLISHED) == 0
            seconds = time.monotonic() - started
        operations = count_operations(folder, source)
        print(f"a turn takes {seconds:.2f} s and {operations} file operations; seed {arguments.seed}\n")
        print("| killed | left behind | current | next turn | left then |\n|---|---|---|---|---|")
        for moment in range(arguments.moments):
            messages += 30
            write_export(source, messages)
            if moment % 2:
                wait = chance.uniform(0, seconds)
                where = f"after {wait:.2f} s"
                code = in_child(lambda: turn(folder, source).outcome is BuildOutcome.PUBLISHED, kill_after=wait)
            else:
                number, after = chance.randrange(operations), chance.random() < 0.5
                where = f"{'after' if after else 'before'} operation {number}"
                code = in_child(lambda n=number, a=after: bool(arm(n, after=a)) or turn(folder, source) is None)  # type: ignore[misc]
            left = len(temporaries(folder))
            valid = in_child(lambda: is_valid(folder)) == 0
            published = in_child(lambda: turn(folder, source).outcome is BuildOutcome.PUBLISHED) == 0
            then = temporaries(folder)
            kept = len(list_artifacts(folder))
            faults += not valid or not published or bool(then) or kept > 3
            ended = where if code == -signal.SIGKILL else f"{where}: had ended ({code})"
            print(
                f"| {ended} | {left} | {'valid' if valid else 'BROKEN'} | {'published' if published else 'FAILED'} "
                f"| {', '.join(then) or 'nothing'} |",
                flush=True,
            )
        texts = [
            line for line in (Path(name) / "texts.log").read_text(encoding="utf-8").splitlines() if line[:5] == "text "
        ]
    repeated = len(texts) - len(set(texts))
    print(f"\n{len(set(texts)):,} texts, {repeated} given to the model twice (a kill may cost one call of {BATCH})")
    faults += repeated > arguments.moments * BATCH
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
