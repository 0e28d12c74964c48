"""The Home tab and recent searches as people use them: the demo in a headless Chromium, by mouse and by keyboard.

Screenshots are kept under build/screenshots. The demo's store outlives a run, so every search here is a new one.
"""

import re
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from bot import texts
from tests.browser import browser, keep_screenshot, open_page, show
from tests.test_browser_demo import demo

__all__ = ["browser", "demo"]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

SLOW_MS = 15_000


@pytest_asyncio.fixture(loop_scope="module")
async def page(demo: str, browser: Browser) -> AsyncIterator[Page]:
    async with open_page(browser) as page:
        await show(page, demo)
        yield page


def fresh(text: str) -> str:
    """A search that nobody made before."""
    return f"{text} {uuid.uuid4().hex[:6]}"


async def open_home(page: Page) -> Locator:
    """Open the app's Home tab and return it."""
    # Opening the tab opens a conversation with the app, of the same name.
    await page.get_by_role("region", name="Apps").get_by_role("button", name="slackquery").click()
    home = page.locator("#home")
    await expect(home).to_contain_text(texts.HOME_TITLE, timeout=SLOW_MS)
    return home


async def close_modal(page: Page) -> None:
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


def row(place: Locator, text: str) -> Locator:
    """The row of a recent search."""
    return place.locator(".block.section", has_text=text)


async def test_a_search_from_the_home_tab_by_mouse(page: Page) -> None:
    home, query = await open_home(page), fresh("rate limit partner")
    await home.get_by_role("textbox", name=texts.HOME_TEXT).fill(query)
    await home.get_by_role("button", name=texts.SEARCH, exact=True).first.click()

    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("results 1 to 5", timeout=SLOW_MS)
    await dialog.get_by_role("button", name=texts.NEXT, exact=True).click()
    await expect(dialog).to_contain_text("results 6 to 10", timeout=SLOW_MS)
    await keep_screenshot(page, "home-results")
    await close_modal(page)

    await expect(row(home, query)).to_be_visible(timeout=SLOW_MS)
    await keep_screenshot(page, "home")


async def test_a_search_from_the_home_tab_by_keyboard_alone(page: Page) -> None:
    home, query = await open_home(page), fresh("harbour deploy")
    box = home.get_by_role("textbox", name=texts.HOME_TEXT)
    await box.focus()
    await page.keyboard.type(query)
    await page.keyboard.press("Enter")

    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("archive of", timeout=SLOW_MS)
    await close_modal(page)
    again = home.get_by_role("button", name=re.compile(f"^{re.escape(texts.search_for(query))}"))
    await again.focus()
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("dialog")).to_contain_text(query, timeout=SLOW_MS)


async def test_more_options_hand_the_text_over_to_the_form(page: Page) -> None:
    home = await open_home(page)
    await home.get_by_role("textbox", name=texts.HOME_TEXT).fill("outage in:#payments")
    await home.get_by_role("button", name=texts.HOME_FORM).click()

    dialog = page.get_by_role("dialog", name=texts.FORM_TITLE)
    await expect(dialog.get_by_role("textbox", name=texts.FORM_TEXT)).to_have_value(re.compile("^outage"))
    await keep_screenshot(page, "home-form")


async def test_recent_lists_a_search_makes_it_again_and_clears(page: Page) -> None:
    query = fresh("lunch")
    await command(page, query)
    await expect(page.locator(".message.ephemeral").last).to_contain_text("archive of", timeout=SLOW_MS)
    await command(page, "recent")
    shown = page.locator(".message.ephemeral").last
    await expect(shown).to_contain_text(texts.RECENTS_TITLE, timeout=SLOW_MS)
    await keep_screenshot(page, "recent")
    await shown.get_by_role("button", name=texts.search_for(query)).click()
    await expect(shown).to_contain_text("archive of", timeout=SLOW_MS)

    await command(page, "recent")
    shown = page.locator(".message.ephemeral").last
    await expect(shown).to_contain_text(query, timeout=SLOW_MS)
    await shown.get_by_role("button", name=texts.CLEAR_RECENTS).click()
    asked = page.get_by_role("alertdialog").or_(page.get_by_role("dialog"))
    await expect(asked).to_contain_text(texts.CLEAR_RECENTS_QUESTION)
    await keep_screenshot(page, "recent-clear")
    await asked.get_by_role("button", name=texts.CLEAR, exact=True).click()
    await expect(shown).to_contain_text(texts.RECENTS_CLEARED, timeout=SLOW_MS)

    home = await open_home(page)
    await expect(home).to_contain_text(texts.RECENTS_NONE, timeout=SLOW_MS)
    await keep_screenshot(page, "home-empty")


async def command(page: Page, text: str) -> None:
    """Type a command and wait until it was answered by a message more."""
    count = await page.locator(".message.ephemeral").count()
    await page.locator("#composer textarea").fill(f"/slackquery {text}")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message.ephemeral")).to_have_count(count + 1)


async def test_it_can_be_read_in_the_dark(demo: str, browser: Browser) -> None:
    async with open_page(browser, width=900, dark=True) as page:
        await show(page, demo)
        query = fresh("why did the deploy fail in:#payments after:2025-03-01")
        await command(page, query)
        home = await open_home(page)
        await expect(row(home, query)).to_be_visible(timeout=SLOW_MS)
        await expect(home.get_by_role("button", name=texts.SEARCH, exact=True).first).to_be_visible()
        await keep_screenshot(page, "home-dark")
        assert not await home.evaluate("node => node.scrollWidth > node.clientWidth + 1")
