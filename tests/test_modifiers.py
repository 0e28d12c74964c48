"""has:, is:, in:, from:, phrases and exclusions in each of the three modes, through the real bot in a local Slack."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from localslack.seen import SeenMessage
from tests.bot_harness import ADA, BEN, CLEO, GENERAL, PAYMENTS, Office, build_archive, running_bot
from tests.export_factory import ExportFactory

# One bot for all of them: nothing that is asked here changes anything.
pytestmark = pytest.mark.asyncio(loop_scope="module")

START = 1_770_000_000
MARKS = ("plainmark", "linkmark", "codemark", "filemark", "rootmark", "replymark", "traymark", "paymentmark")
MODES = ("lexical", "semantic", "hybrid")


def export() -> ExportFactory:
    """Return an export of messages about one thing, each of another kind, oldest first as in `MARKS`."""
    made = ExportFactory()
    for user_id, name in ((ADA, "ada"), (BEN, "ben"), (CLEO, "cleo")):
        made.user(user_id, name=name, display_name=name, real_name=name.title())
    made.channel(GENERAL, "general", members=[ADA, BEN, CLEO])
    made.channel(PAYMENTS, "payments", members=[ADA, BEN, CLEO])

    def stamp(number: int) -> str:
        return f"{START + number * 3600}.000100"

    made.message(GENERAL, stamp(0), "The invoice printer jams, plainmark", user=ADA)
    made.message(GENERAL, stamp(1), "The invoice printer jams, linkmark <https://printer.example/manual>", user=ADA)
    made.message(GENERAL, stamp(2), "The invoice printer jams, codemark `reset_printer()`", user=ADA)
    photo = {"id": "F1", "name": "jam.png", "mimetype": "image/png", "filetype": "png", "size": 10}
    made.message(GENERAL, stamp(3), "The invoice printer jams, filemark", user=ADA, files=[photo])
    made.thread(GENERAL, stamp(4), ["The invoice printer jams, rootmark", "The invoice printer works, replymark"])
    made.message(GENERAL, stamp(6), "The invoice printer jams in tray two, traymark", user=BEN)
    made.message(PAYMENTS, stamp(7), "The invoice printer jams, paymentmark", user=CLEO)
    return made


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modifiers") / "archive"
    build_archive(folder, made=export())
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(archive: Path) -> AsyncIterator[Office]:
    async with running_bot(archive) as office:
        yield office


async def found(office: Office, command: str) -> list[str]:
    """Return the marks of everything found, in order, over all pages."""
    message = await office.ask(command)
    marks = shown(message)
    while "Next" in message.button_texts():
        message = await office.press(message, "Next")
        marks += shown(message)
    return marks


def shown(message: SeenMessage) -> list[str]:
    """Return the marks in the passages of one page, in order."""
    passages = [block for block in message.blocks if block["type"] == "rich_text"]
    return re.findall("|".join(MARKS), repr(passages))


SETS = [
    ("", set(MARKS)),
    ("has:link", {"linkmark"}),
    ("has:code", {"codemark"}),
    ("has:file", {"filemark"}),
    ("is:thread", {"rootmark", "replymark"}),
    ('"tray two"', {"traymark"}),
    ("“tray two”", {"traymark"}),
    ('"TRAY two"', {"traymark"}),
    ("-tray", set(MARKS) - {"traymark"}),
    ('-"tray two"', set(MARKS) - {"traymark"}),
    ('-"two tray"', set(MARKS)),
    ("-works", set(MARKS) - {"replymark"}),
    ("in:#payments", {"paymentmark"}),
    ("-in:#payments", set(MARKS) - {"paymentmark"}),
    ("from:@ben", {"traymark"}),
    ("-from:@ben -from:@cleo", set(MARKS) - {"traymark", "paymentmark"}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("modifiers", "wanted"), SETS, ids=[one[0] or "none" for one in SETS])
async def test_what_is_left_is_the_same_in_every_mode(
    office: Office, mode: str, modifiers: str, wanted: set[str]
) -> None:
    marks = await found(office, f"invoice printer {modifiers} mode:{mode}")

    # Hybrid shows one message a thread and counts the others.
    folded = {"rootmark", "replymark"} if mode == "hybrid" and {"rootmark", "replymark"} <= wanted else set()
    assert set(marks) - folded == wanted - folded
    assert len(set(marks) & folded) == (1 if folded else 0)
    assert len(marks) == len(set(marks))


@pytest.mark.parametrize("mode", MODES)
async def test_the_order_is_the_same_in_every_mode(office: Office, mode: str) -> None:
    newest = await found(office, f"invoice printer sort:newest mode:{mode}")
    oldest = await found(office, f"sort:oldest invoice mode:{mode} printer")

    places = [MARKS.index(mark) for mark in newest]
    assert places == sorted(places, reverse=True)
    assert len(places) == len(MARKS) - (mode == "hybrid")  # hybrid lists a thread once
    if mode != "hybrid":
        assert oldest == newest[::-1]


@pytest.mark.parametrize("mode", MODES)
async def test_the_answer_repeats_how_each_modifier_was_understood(office: Office, mode: str) -> None:
    answer = await office.ask(f'invoice "tray two" -works has:link is:thread sort:newest mode:{mode}')
    first = answer.plain_text.splitlines()[0]

    for said in ("invoice", "tray two", "works", "link", "thread", "newest"):
        assert said in first, said
