"""The demo as a newcomer uses it: `slackquery demo` in a process of its own, and a headless Chromium.

Screenshots are kept under build/screenshots.
"""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser import SCREENSHOTS, browser, keep_screenshot, open_page, running_demo, show

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

# Building the sample's vectors takes seconds on an idle machine; a build is reused while nothing changes.
GUEST = "U0LWNICO001"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo() -> AsyncIterator[str]:
    """The address of a running demo, which must end cleanly."""
    async with running_demo() as address:
        yield address


@pytest_asyncio.fixture(loop_scope="module")
async def page(demo: str, browser: Browser) -> AsyncIterator[Page]:
    async with open_page(browser) as page:
        await show(page, demo)
        yield page


async def search(page: Page, text: str) -> Locator:
    """Type a command into the message field and return the answer."""
    await page.locator("#composer textarea").fill(f"/slackquery {text}")
    await page.keyboard.press("Enter")
    answer = page.locator(".message.ephemeral").last
    await expect(answer).to_contain_text("archive of", timeout=15_000)
    return answer


async def test_search_next_to_the_end_expand_and_back(page: Page) -> None:
    answer = await search(page, "rate limit 429")
    await expect(answer).to_contain_text("results 1 to 5")
    await expect(answer.locator("strong", has_text="429").first).to_be_visible()
    await expect(answer).to_contain_text("why: exact 429")
    await keep_screenshot(page, "demo-results")

    await answer.get_by_role("button", name=re.compile("^Expand thread")).first.click()
    await expect(answer).to_contain_text("this is the hit")
    await keep_screenshot(page, "demo-thread")
    await answer.get_by_role("button", name="Back to results").click()
    await expect(answer).to_contain_text("results 1 to 5")

    following = answer.get_by_role("button", name="Next")
    pages = 1
    while await following.count():
        first = pages * 5 + 1
        await following.click()
        await expect(answer).to_contain_text(re.compile(rf"results? {first}\b"))
        pages += 1
        if pages > 40:
            break
    await expect(answer).to_contain_text("Not searched")
    await keep_screenshot(page, "demo-last-page")
    assert 2 <= pages <= 40
    await expect(page.locator(".message.ephemeral")).to_have_count(1)


async def test_show_in_archive_from_the_menu_of_a_message(page: Page) -> None:
    message = page.locator(".message").first
    await message.hover()
    await message.get_by_role("button", name="More message actions").click()
    await page.get_by_role("menuitem", name="Show in archive").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("this is the message", timeout=15_000)
    await keep_screenshot(page, "demo-show-in-archive")

    await dialog.get_by_role("button", name="Close").first.click()

    await expect(dialog).to_have_count(0)


async def test_a_guest_finds_only_what_stands_in_their_own_channels(page: Page) -> None:
    mine = await search(page, '"Happy Thanksgiving"')
    await expect(mine).to_contain_text("result 1")
    await page.get_by_label("Acting as").select_option(GUEST)
    await expect(page.locator("#place")).not_to_contain_text("general")

    answer = await search(page, '"Happy Thanksgiving"')
    await expect(answer).to_contain_text("Nothing found")
    await expect(answer).not_to_contain_text("calm Friday")

    await expect(await search(page, "rate limit 429")).to_contain_text("results 1 to 5")


async def test_help_and_nothing_found(page: Page) -> None:
    await page.locator("#composer textarea").fill("/slackquery help")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message.ephemeral").last).to_contain_text("Narrow it down")
    await keep_screenshot(page, "demo-help")
    answer = await search(page, '"no such words anywhere" in:#general')

    await expect(answer).to_contain_text("Nothing found")
    await keep_screenshot(page, "demo-nothing-found")


async def test_the_answer_is_readable_in_the_dark_and_on_a_narrow_screen(demo: str, browser: Browser) -> None:
    async with open_page(browser, dark=True) as dark:
        await show(dark, demo)
        await search(dark, "why did the deploy fail")
        await keep_screenshot(dark, "demo-results-dark")
    async with open_page(browser, width=420, height=860) as narrow:
        await show(narrow, demo)
        await search(narrow, "why did the deploy fail")
        await keep_screenshot(narrow, "demo-results-narrow")
        wider = await narrow.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    assert wider <= 0
    assert (SCREENSHOTS / "demo-results-narrow.png").stat().st_size > 10_000
