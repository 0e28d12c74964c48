"""Faults under and inside the bot: of the archive's files, of the machine, and of too many people."""

import asyncio
import os
import resource
import shutil
import signal
import sqlite3
import time
from pathlib import Path
from typing import Final

from benchmarks.asking_users import Verdict
from benchmarks.bot_process import BotProcess
from benchmarks.fault_scene import Run, Scene, small_disk
from retrieval import publish, rollback
from retrieval.manifest import read_manifest


async def deleted(scene: Scene) -> None:
    """The file that is being served is deleted, its manifest and the link too; later it is published anew."""
    kept = scene.folder / "kept"
    shutil.copytree(scene.artifacts, kept, symlinks=True)
    for one in scene.artifacts.iterdir():
        one.unlink()
    await asyncio.sleep(2.0)
    await scene.ask()
    put_back(kept, scene.artifacts)
    scene.cleared()


def put_back(kept: Path, artifacts: Path) -> None:
    """Copy every artifact back by a rename, as `publish` does."""
    for one in sorted(kept.iterdir(), key=lambda path: path.is_symlink()):
        moving = artifacts.parent / "moving"
        if one.is_symlink():
            moving.symlink_to(one.readlink())
        else:
            shutil.copy2(one, moving)
        moving.replace(artifacts / one.name)


async def truncated(scene: Scene) -> None:
    """The file that is being served is cut to half its length; later another is published."""
    served = scene.files[1]
    served.chmod(0o644)
    os.truncate(served, served.stat().st_size // 2)
    await scene.ask()
    publish(scene.artifacts, scene.files[0])
    scene.cleared()


async def overwritten(scene: Scene) -> None:
    """The file that is being served is overwritten in place by another archive; later one is published properly."""
    served = scene.files[1]
    served.chmod(0o644)
    shutil.copyfile(scene.files[0], served)
    await scene.ask()
    publish(scene.artifacts, scene.files[0])
    scene.cleared()


async def corrupt_newcomer(scene: Scene) -> None:
    """What is published as new has four kilobytes of noise in its middle; later a good one is."""
    target = scene.files[0]
    good = target.read_bytes()
    target.chmod(0o644)
    target.write_bytes(good[: len(good) // 2] + os.urandom(4096) + good[len(good) // 2 + 4096 :])
    link = scene.artifacts / "next"
    link.symlink_to(target.name)
    link.replace(scene.artifacts / "current.duckdb")
    await asyncio.sleep(1.5)
    await scene.ask()
    publish(scene.artifacts, scene.files[1])
    scene.cleared()


async def swaps(scene: Scene) -> None:
    """A new archive every half second."""

    async def swap() -> None:
        for number in range(8):
            await asyncio.to_thread(publish, scene.artifacts, scene.files[number % 2])
            await asyncio.sleep(0.5)
        scene.cleared()

    await scene.ask_during(swap, count=60, apart=0.07)


async def rolled_back(scene: Scene) -> None:
    """The archive is rolled back while people ask."""
    manifest = read_manifest(scene.files[0])
    assert manifest is not None

    async def back() -> None:
        await asyncio.to_thread(rollback, scene.artifacts, manifest.artifact_id)
        scene.cleared()

    await scene.ask_during(back, count=40)


async def no_archive_at_start(scene: Scene) -> None:
    """The bot starts without any archive; later the first is published."""
    kept = scene.folder / "kept"
    scene.artifacts.rename(kept)
    scene.artifacts.mkdir()
    await scene.start_bot()
    await scene.ask()
    put_back(kept, scene.artifacts)
    scene.cleared()


async def memory_taken(scene: Scene) -> None:
    """The process gets no more memory from the system."""
    give_back = scene.limit(resource.RLIMIT_AS, scene.bot.address_bytes() + (1 << 20))
    await scene.ask(16)
    if scene.bot.running:
        give_back()
    scene.cleared()


async def files_taken(scene: Scene) -> None:
    """The process may open no more files."""
    give_back = scene.limit(resource.RLIMIT_NOFILE, scene.bot.open_files())
    await scene.ask()
    give_back()
    scene.cleared()


def clock_jumps(seconds: float) -> Run:
    """Set the bot's clock forward or back while people ask, and right it later."""

    async def run(scene: Scene) -> None:
        async def jump() -> None:
            scene.control.jump(seconds)

        await scene.ask_during(jump)
        await scene.ask()
        scene.control.jump(0.0)
        scene.cleared()

    return run


async def frozen(scene: Scene) -> None:
    """The process is stopped for two seconds, as by a busy machine."""

    async def freeze() -> None:
        scene.bot.signal(signal.SIGSTOP)
        await asyncio.sleep(2.0)
        scene.bot.signal(signal.SIGCONT)
        scene.cleared()

    await scene.ask_during(freeze)


async def huge_logs(scene: Scene) -> None:
    """The log and the audit file of the day hold ten gigabytes already."""
    log, audit = scene.folder / "bot.log", scene.folder / "audit"
    audit.mkdir(mode=0o700)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    for path in (log, audit / f"audit-{today}.0001.jsonl"):
        path.touch(mode=0o600)
        os.truncate(path, 10 * 10**9)
    await scene.start_bot(log_to=log)
    scene.cleared()
    await scene.ask(20)
    entries = sum(one.stat().st_size for one in audit.glob("*.jsonl")) - 10 * 10**9
    grown = log.stat().st_size - 10 * 10**9
    scene.notes.append(f"{grown:,} bytes of log and {entries:,} of audit were added")
    if grown <= 0 or entries <= 0:
        scene.failures.append("nothing was added to the log or the audit file")


async def stuck_log(scene: Scene) -> None:
    """Nobody reads what the process writes: the pipe is full."""
    scene.bot.hold_output(held=True)
    for _ in range(5):
        await scene.ask(60, hybrid=False, apart=0.0)
    scene.bot.hold_output(held=False)
    scene.cleared()


async def full_disk(scene: Scene) -> None:
    """The disk of log, audit file and small store is full; later there is room."""
    async with small_disk(scene.folder / "disk") as disk:
        scene.environment |= {
            "SLACKQUERY_AUDIT_DIR": str(disk / "audit"),
            "SLACKQUERY_STORE": str(disk / "store.sqlite3"),
        }
        await scene.start_bot(log_to=disk / "bot.log")
        await scene.healthy()
        filling = disk / "filling"
        with filling.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                scene.notes.append(f"disk: {error.strerror}")
        await scene.ask(20)
        filling.unlink(missing_ok=True)
        scene.cleared()
        await scene.recover_here()


async def audit_removed(scene: Scene) -> None:
    """Somebody deletes the audit folder."""
    shutil.rmtree(scene.folder / "audit")
    scene.cleared()
    await scene.ask()


async def store_locked(scene: Scene) -> None:
    """Another process holds the small store for itself."""
    with sqlite3.connect(scene.folder / "store.sqlite3", isolation_level=None, timeout=10) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        await scene.ask(12)
        holder.execute("ROLLBACK")
    holder.close()
    scene.cleared()


async def store_corrupt(scene: Scene) -> None:
    """The small store's file is noise."""
    store = scene.folder / "store.sqlite3"
    store.write_bytes(os.urandom(store.stat().st_size))
    await scene.ask()
    store.unlink()
    scene.cleared()


async def store_removed(scene: Scene) -> None:
    """The small store's files are deleted."""
    for one in scene.folder.glob("store.sqlite3*"):
        one.unlink()
    scene.cleared()
    await scene.ask()


async def at_once(count: int, scene: Scene) -> None:
    """So many people ask in the same moment."""
    commands = await scene.ask(count, apart=0.0)
    scene.cleared()
    slowest = max((one.ack_seconds for one in commands if one.ack_seconds is not None), default=0.0)
    scene.notes.append(f"slowest ack {slowest:.2f} s")


async def one_greedy(scene: Scene) -> None:
    """One person asks twelve times in the same moment, eight others once."""
    greedy = scene.unseen()[0]
    asking = asyncio.create_task(scene.ask_of([greedy] * 12, apart=0.0))
    others = await scene.ask(8)
    await asking
    scene.cleared()
    wrong = [one for one in others if scene.crowd.judge(one) is not Verdict.RIGHT]
    if wrong:
        scene.failures.append(f"{len(wrong)} others were not answered as usual")


async def terminated(scene: Scene) -> None:
    """SIGTERM while forty searches are asked; then another process is started."""
    old = scene.bot
    asking = asyncio.create_task(scene.ask(40, apart=0.01))
    await asyncio.sleep(0.25)
    began = time.monotonic()
    old.signal(signal.SIGTERM)
    scene.cleared()
    await end_well(scene, old, began)
    await scene.start_bot()
    await asking


async def end_well(scene: Scene, bot: BotProcess, began: float) -> None:
    """Wait for the end of a process that was told to stop."""
    code = await bot.wait(seconds=20)
    scene.notes.append(f"exit code {code} after {time.monotonic() - began:.1f} s")
    if code != 0 or time.monotonic() - began > 10:
        scene.failures.append("it did not end with 0 within ten seconds")


async def one_of_two_terminated(scene: Scene) -> None:
    """Two processes serve; one gets SIGTERM while people ask."""
    old = scene.bots[0]

    async def end() -> None:
        began = time.monotonic()
        old.signal(signal.SIGTERM)
        scene.cleared()
        await end_well(scene, old, began)

    await scene.ask_during(end, count=40)


async def two_share(scene: Scene) -> None:
    """Two processes serve, and every envelope comes twice, to either."""
    scene.fault("duplicate_envelope")
    await scene.ask(60)
    scene.slack.faults.clear()
    scene.cleared()
    shares = [one.log.events["searched"] for one in scene.bots]
    scene.notes.append(f"answered by either: {shares}")
    if not all(shares):
        scene.failures.append("one process did nothing")


ARCHIVE: Final = (
    ("the file that serves is deleted", deleted),
    ("the file that serves is cut to half", truncated),
    ("the file that serves is overwritten in place", overwritten),
    ("a corrupt newcomer", corrupt_newcomer),
    ("eight swaps in four seconds", swaps),
    ("rolled back while people ask", rolled_back),
)
MACHINE: Final = (
    ("the system gives no more memory", memory_taken),
    ("no more files may be opened", files_taken),
    ("the clock jumps an hour ahead", clock_jumps(3600.0)),
    ("the clock jumps an hour back", clock_jumps(-3600.0)),
    ("the process is stopped for 2 s", frozen),
    ("nobody reads the log's pipe", stuck_log),
    ("the audit folder is deleted", audit_removed),
    ("the small store is locked", store_locked),
    ("the small store is noise", store_corrupt),
    ("the small store is deleted", store_removed),
)
