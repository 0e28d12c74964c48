"""Makes the pictures in docs/pictures: every surface of the bot, as the demo's page shows it.

Run it with `python -m tools.pictures`, or `make pictures`; `--only NAME` makes one, `--dark` the dark ones. It starts
the demo over the sample archive and needs a Chromium. Each surface stands alone, so that one that cannot be made does
not cost the others.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from playwright.async_api import Browser, Error, Locator, Page, async_playwright, expect

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
CACHE: Final = ROOT / "build" / "demo-cache"
_START_SECONDS: Final = 180
_SIZE: Final = (1180, 900)
_QUERY: Final = "rate limit 429 partner tier"
_FORM: Final = "Search the archive"
_HIT: Final = re.compile("^More")

Surface: TypeAlias = Callable[[Page], Awaitable[Locator | Page]]
"""Brings a page to where the surface shows, and returns what to keep of it."""


async def _search(page: Page, text: str) -> Locator:
    await _type(page, f"/slackquery {text}")
    answer = page.locator(".message.ephemeral").last
    await expect(answer).to_contain_text("archive of", timeout=20_000)
    return answer


async def _type(page: Page, line: str) -> None:
    await page.locator("#composer textarea").fill(line)
    await page.keyboard.press("Enter")


async def _go(page: Page, channel: str) -> None:
    await page.locator("#sidebar").get_by_text(channel, exact=True).click()
    await expect(page.locator("#place")).to_contain_text(channel)


async def _more(page: Page, text: str = _QUERY, *, channel: str | None = None) -> Locator:
    if channel is not None:
        await _go(page, channel)
    answer = await _search(page, text)
    await answer.get_by_role("button", name=_HIT).first.click()
    await expect(answer).to_contain_text("Document")
    return answer


async def answer(page: Page) -> Locator | Page:
    """A page of results."""
    await _search(page, _QUERY)
    return page


async def thread(page: Page) -> Locator | Page:
    """A thread under its hit."""
    shown = await _search(page, _QUERY)
    await shown.get_by_role("button", name=re.compile("^Expand thread")).first.click()
    await expect(shown).to_contain_text("this is the hit")
    return page


async def more(page: Page) -> Locator | Page:
    """A hit with its citation, and a vote on it."""
    shown = await _more(page)
    await shown.get_by_role("button", name="Good result").click()
    await expect(shown).to_contain_text("Your vote is kept")
    return shown


async def share_question(page: Page) -> Locator | Page:
    """The question before a hit is shared, with what would be posted."""
    shown = await _more(page, channel="general")
    await shown.get_by_role("button", name="Share to channel").click()
    await expect(shown).to_contain_text("Share this in")
    return shown


async def shared(page: Page) -> Locator | Page:
    """A shared hit as others see it."""
    shown = await _more(page, channel="general")
    await shown.get_by_role("button", name="Share to channel").click()
    await shown.get_by_role("button", name="Share", exact=True).click()
    posted = page.locator(".message:not(.ephemeral)", has_text="Shared by").last
    await expect(posted).to_be_visible()
    return posted


async def share_refused(page: Page) -> Locator | Page:
    """Why a hit is not shared."""
    shown = await _more(page, "FIRING partner gateway in:#incidents", channel="payments")
    await shown.get_by_role("button", name="Share to channel").click()
    await expect(shown).to_contain_text("Nothing was posted")
    return shown


async def form(page: Page) -> Locator | Page:
    """The search form, from the bare command."""
    await _type(page, "/slackquery ")
    field = page.get_by_role("dialog", name=_FORM).get_by_role("textbox").first
    await expect(field).to_be_focused(timeout=10_000)
    return page


async def modal_results(page: Page) -> Locator | Page:
    """Results in the modal that the form was."""
    await form(page)
    dialog = page.get_by_role("dialog", name=_FORM)
    await dialog.get_by_role("textbox").first.fill(_QUERY)
    await dialog.get_by_role("button", name="Search", exact=True).click()
    await expect(dialog).to_contain_text("archive of", timeout=20_000)
    return page


async def similar(page: Page) -> Locator | Page:
    """What is similar to a hit."""
    shown = await _more(page)
    await shown.get_by_role("button", name="Find similar").click()
    await expect(shown).to_contain_text("archive of", timeout=20_000)
    return page


async def recent(page: Page) -> Locator | Page:
    """One's own recent searches."""
    await _search(page, "why did the deploy fail")
    await _search(page, "rate limit 429 in:#payments")
    await _type(page, "/slackquery recent")
    shown = page.locator(".message.ephemeral").last
    await expect(shown).to_contain_text("why did the deploy fail", timeout=10_000)
    return shown


async def home(page: Page) -> Locator | Page:
    """The app's Home tab."""
    await _search(page, "why did the deploy fail")
    await page.locator("#sidebar").get_by_text("slackquery", exact=True).first.click()
    await expect(page.locator("#home")).to_contain_text("deploy fail", timeout=10_000)
    return page


async def admin(page: Page) -> Locator | Page:
    """The last day in figures, for admins."""
    answers = page.locator(".message.ephemeral")
    for text in (_QUERY, "why did the deploy fail", "zeppelin mode:lexical", "on call handover mode:semantic"):
        before = await answers.count()
        await _type(page, f"/slackquery {text}")
        await expect(answers).to_have_count(before + 1, timeout=20_000)
    await _type(page, "/slackquery admin")
    shown = answers.filter(has_text="The last 24 hours").last
    await expect(shown).to_be_visible(timeout=10_000)
    return shown


# The two that list searches come first, before the others make theirs.
SURFACES: Final[dict[str, Surface]] = {
    "recent": recent,
    "home": home,
    "answer": answer,
    "thread": thread,
    "more": more,
    "share-question": share_question,
    "shared": shared,
    "share-refused": share_refused,
    "form": form,
    "modal-results": modal_results,
    "similar": similar,
    "admin": admin,
}


@asynccontextmanager
async def _demo() -> AsyncIterator[str]:
    """Run the demo, without votes, searches and logs of an earlier run, and give the page's address."""
    for left in (*CACHE.glob("*/store.sqlite3*"), *CACHE.glob("*/audit/audit-*.jsonl")):
        left.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "demo", "--no-browser", "--cache", str(CACHE)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        line = b"" if process.stdout is None else await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        found = re.search(rb"http://\S+", line)
        if found is None:
            raise SystemExit(f"the demo did not start: {line!r}")
        yield found[0].decode()
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def _chromium() -> AsyncIterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("there is no chromium on PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        await browser.close()


async def _keep(browser: Browser, address: str, surface: Surface, target: Path, *, dark: bool) -> None:
    """Show a surface in a tab of its own and keep the picture."""
    width, height = _SIZE
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
    )
    try:
        page = await context.new_page()
        await page.goto(address)
        await expect(page.locator(".message").first).to_be_visible()
        kept = await surface(page)
        await page.wait_for_timeout(200)
        await kept.screenshot(path=target)
    finally:
        await context.close()


async def make_pictures(names: list[str], folder: Path, *, dark: bool = False) -> list[str]:
    """Make pictures and return the names of those that could not be made.

    Args:
        names: Keys of `SURFACES`.
        folder: Where they go, as NAME.png or NAME-dark.png; it exists.
        dark: Whether to make the dark ones.
    """
    missing = []
    async with _demo() as address, _chromium() as browser:
        for name in names:
            target = folder / f"{name}{'-dark' if dark else ''}.png"
            try:
                await _keep(browser, address, SURFACES[name], target, dark=dark)
            except (AssertionError, Error) as exc:
                missing.append(name)
                sys.stderr.write(f"{name} was not made: {str(exc).splitlines()[0]}\n")
            else:
                sys.stderr.write(f"{target}\n")
    return missing


def main() -> None:
    """Make what was asked for; exits with 1 where any is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=sorted(SURFACES), help="one surface; may be repeated")
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder they go to")
    parser.add_argument("--dark", action="store_true", help="the dark ones")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if asyncio.run(make_pictures(options.only or list(SURFACES), options.out, dark=options.dark)):
        sys.exit(1)


if __name__ == "__main__":
    main()
