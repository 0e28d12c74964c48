"""A headless Chromium for tests marked ``browser``: Debian's, driven through playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

SCREENSHOTS = Path(__file__).parent.parent / "build" / "screenshots"

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
