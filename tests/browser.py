"""A headless Chromium for tests marked ``browser``: Debian's, driven through playwright."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

_BUILD = Path(__file__).parent.parent / "build"
SCREENSHOTS = _BUILD / "screenshots"
# One for each of xdist's workers: two demos at once would build one archive and write one store.
DEMO_CACHE = _BUILD / f"demo-cache-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
_START_SECONDS = 180

_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Return the Chromium to use; without one the test is skipped, or fails with CI=true."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        sentence = "no chromium on PATH: the page is not tested in a browser"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run a Chromium until the block ends."""
    path = chromium_path()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def open_page(
    browser: Browser, *, width: int = 1280, height: int = 860, dark: bool = False
) -> AsyncIterator[Page]:
    """Open an empty tab of its own profile.

    An exception in the page's script, or something that its Content-Security-Policy had to stop, fails the
    test at the end.
    """
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda line: broken.append(line.text) if "Security Policy" in line.text else None)
    try:
        yield page
    finally:
        await context.close()
    assert broken == []


@asynccontextmanager
async def running_demo() -> AsyncIterator[str]:
    """Run `slackquery demo` until the block ends, and give its address; it must end cleanly."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "demo", "--no-browser", "--cache", str(DEMO_CACHE)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        found = re.search(rb"http://\S+", line)
        assert found, line
        yield found[0].decode()
    finally:
        if process.returncode is None:
            process.terminate()
        code = await asyncio.wait_for(process.wait(), 15)
    assert code == 0


async def show(page: Page, address: str) -> None:
    """Open the demo's page and wait until it shows its channel."""
    await page.goto(address)
    await expect(page.locator(".message").first).to_be_visible()


async def keep_screenshot(page: Page, name: str) -> Path:
    """Keep what the page shows under build/screenshots and return the file."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    target = SCREENSHOTS / f"{name}.png"
    await page.screenshot(path=target)
    return target


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Provide one Chromium for a module, whose tests and fixtures run on the module's event loop."""
    async with chromium() as running:
        yield running
