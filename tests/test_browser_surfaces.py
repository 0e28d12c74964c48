"""Forms, shortcuts and results in modals, as a person uses them in a headless Chromium, by mouse and by keyboard.

Screenshots are kept under build/screenshots.
"""

import re
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


async def command(page: Page, text: str = "") -> None:
    """Type a command into the message field."""
    await page.locator("#composer textarea").fill(f"/slackquery {text}")
    await page.keyboard.press("Enter")


async def open_form(page: Page) -> Locator:
    """Open the form by the bare command and return the dialog."""
    await command(page)
    dialog = page.get_by_role("dialog", name=texts.FORM_TITLE)
    await expect(dialog).to_be_visible()
    await expect(field(dialog)).to_be_visible()
    return dialog


def field(dialog: Locator) -> Locator:
    return dialog.get_by_role("textbox", name=texts.FORM_TEXT)


async def choose(dialog: Locator, label: str, *names: str) -> None:
    """Choose from a list by typing a part of each name."""
    box = dialog.get_by_role("combobox", name=label)
    for name in names:
        await box.click()
        await box.fill(name)
        await box.press("Enter")


async def search(page: Page, text: str) -> Locator:
    """Search by the form and return the dialog with the results."""
    dialog = await open_form(page)
    await field(dialog).fill(text)
    await dialog.get_by_role("button", name=texts.SEARCH, exact=True).click()
    await expect(dialog).to_contain_text("archive of", timeout=SLOW_MS)
    return dialog


async def test_the_form_with_every_field_by_mouse(page: Page) -> None:
    dialog = await open_form(page)
    await keep_screenshot(page, "form-empty")
    await field(dialog).fill("rate limit")
    await choose(dialog, texts.FORM_CHANNELS, "payments", "incidents")
    await choose(dialog, texts.FORM_PEOPLE, "Priya")
    await dialog.get_by_label(texts.FORM_FIRST_DAY).fill("2025-11-01")
    await dialog.get_by_label(texts.FORM_LAST_DAY).fill("2026-06-30")
    await choose(dialog, texts.FORM_SORT, "Newest")
    await keep_screenshot(page, "form-filled")
    await dialog.get_by_role("button", name=texts.SEARCH, exact=True).click()

    await expect(dialog).to_contain_text("archive of", timeout=SLOW_MS)
    understood = "in #payments or #incidents, from @Priya, during 1 Nov 2025 to 30 Jun 2026, newest first"
    await expect(dialog).to_contain_text(f"rate limit {understood}")
    await keep_screenshot(page, "form-results")


async def test_the_form_by_keyboard_alone(page: Page) -> None:
    await page.locator("#composer textarea").focus()
    await page.keyboard.type("/slackquery ")
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=texts.FORM_TITLE)
    await expect(field(dialog)).to_be_focused()
    await page.keyboard.type("rate limit 429")
    await page.keyboard.press("Tab")
    await expect(dialog.get_by_role("combobox", name=texts.FORM_CHANNELS)).to_be_focused()
    await page.keyboard.type("paym")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("button", name="Remove #payments")).to_be_visible()
    await field(dialog).focus()
    await page.keyboard.press("Enter")
    await expect(dialog).to_contain_text("rate limit 429 in #payments", timeout=SLOW_MS)

    following = dialog.get_by_role("button", name="Next")
    await following.focus()
    await page.keyboard.press("Enter")
    await expect(dialog).to_contain_text("results 6 to 10")
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(page.locator("#composer textarea")).to_be_focused()


async def test_errors_stand_at_their_field_and_take_the_focus(page: Page) -> None:
    dialog = await open_form(page)
    await dialog.get_by_role("button", name=texts.SEARCH, exact=True).click()
    await expect(dialog).to_contain_text(texts.FORM_EMPTY)
    await expect(field(dialog)).to_be_focused()
    await expect(field(dialog)).to_have_attribute("aria-invalid", "true")
    await field(dialog).fill("429 in:paymnts")
    await dialog.get_by_label(texts.FORM_FIRST_DAY).fill("2026-02-01")
    await dialog.get_by_role("button", name=texts.SEARCH, exact=True).click()

    await expect(dialog).to_contain_text("Did you mean payments?")
    await expect(dialog.get_by_label(texts.FORM_FIRST_DAY)).to_have_value("2026-02-01")
    await keep_screenshot(page, "form-error")


async def test_pages_threads_and_the_way_back_in_the_modal(page: Page) -> None:
    dialog = await search(page, "rate limit 429")
    await expect(dialog).to_contain_text("results 1 to 5")
    await keep_screenshot(page, "modal-results")
    await dialog.get_by_role("button", name="Next").click()
    await expect(dialog).to_contain_text("results 6 to 10")
    await dialog.get_by_role("button", name="Previous").click()
    await expect(dialog).to_contain_text("results 1 to 5")
    await dialog.get_by_role("button", name=re.compile("^Expand thread")).first.click()
    await expect(dialog).to_contain_text("this is the hit")
    await keep_screenshot(page, "modal-thread")
    await dialog.get_by_role("button", name="Back to results").click()
    await expect(dialog).to_contain_text("results 1 to 5")

    await dialog.get_by_role("button", name="New search").click()
    await expect(field(dialog)).to_have_value("rate limit 429")


async def test_a_new_page_of_results_is_read_from_its_top(page: Page) -> None:
    dialog = await search(page, "rate limit 429")
    following = dialog.get_by_role("button", name="Next")
    await following.scroll_into_view_if_needed()
    await following.click()
    await expect(dialog).to_contain_text("results 6 to 10")

    await expect(dialog.get_by_text("results 6 to 10")).to_be_in_viewport()


async def test_new_search_under_an_answer_opens_the_form_filled_in(page: Page) -> None:
    await command(page, "timeouts in:#payments mode:lexical sort:newest")
    answer = page.locator(".message.ephemeral").last
    await expect(answer).to_contain_text("archive of", timeout=SLOW_MS)
    await answer.get_by_role("button", name="New search").click()
    dialog = page.get_by_role("dialog", name=texts.FORM_TITLE)

    await expect(field(dialog)).to_have_value("timeouts")
    await expect(dialog.get_by_role("button", name="Remove #payments")).to_be_visible()
    await expect(dialog.get_by_role("combobox", name=texts.FORM_MODE)).to_have_value("Words only")
    await keep_screenshot(page, "form-from-results")


async def test_find_similar_from_the_menu_of_a_message(page: Page) -> None:
    first = page.locator(".message").first
    await first.hover()
    await first.get_by_role("button", name="More message actions").click()
    await keep_screenshot(page, "message-menu")
    await page.get_by_role("menuitem", name=texts.FIND_SIMILAR).click()
    dialog = page.get_by_role("dialog", name=texts.SIMILAR_TITLE)
    await expect(dialog).to_contain_text("similar to", timeout=SLOW_MS)
    await keep_screenshot(page, "modal-similar")
    await dialog.get_by_role("button", name="Next").click()

    await expect(dialog).to_contain_text("results 6 to 10")


async def test_similar_ones_lie_over_the_results_they_were_started_from(page: Page) -> None:
    dialog = await search(page, "rate limit 429")
    await dialog.get_by_role("button", name="More, result 1").click()
    await dialog.get_by_role("button", name=texts.FIND_SIMILAR).click()
    over = page.get_by_role("dialog", name=texts.SIMILAR_TITLE)
    await expect(over).to_contain_text("similar to", timeout=SLOW_MS)
    await keep_screenshot(page, "modal-similar-over-results")
    await over.get_by_role("button", name="Back", exact=True).click()
    await expect(dialog.get_by_role("button", name=texts.BACK_TO_RESULTS)).to_be_visible()
    await dialog.get_by_role("button", name=texts.BACK_TO_RESULTS).click()

    await expect(dialog).to_contain_text("results 1 to 5")


async def test_the_message_menu_by_keyboard(page: Page) -> None:
    first = page.locator(".message").first
    await first.focus()
    button = first.get_by_role("button", name="More message actions")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem").first).to_be_focused()
    await page.keyboard.type("S")
    await expect(page.get_by_role("menuitem", name="Show in archive")).to_be_focused()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Show in archive")
    await expect(dialog).to_contain_text("this is the message", timeout=SLOW_MS)
    await page.keyboard.press("Escape")

    await expect(dialog).to_have_count(0)


async def test_the_global_shortcut_by_mouse_and_by_keyboard(page: Page) -> None:
    await page.get_by_role("button", name="Shortcuts").click()
    await keep_screenshot(page, "global-shortcuts")
    await page.get_by_role("menuitem", name="Search the archive").click()
    dialog = page.get_by_role("dialog", name=texts.FORM_TITLE)
    await expect(field(dialog)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)

    await page.locator("#composer textarea").focus()
    await page.keyboard.type("/search")
    await page.keyboard.press("Enter")
    await expect(field(dialog)).to_be_focused()


async def test_form_and_results_in_the_dark_and_on_a_narrow_screen(demo: str, browser: Browser) -> None:
    async with open_page(browser, dark=True) as dark:
        await show(dark, demo)
        dialog = await open_form(dark)
        await choose(dialog, texts.FORM_CHANNELS, "payments")
        await keep_screenshot(dark, "form-dark")
        await field(dialog).fill("rate limit 429")
        await field(dialog).press("Enter")
        await expect(dialog).to_contain_text("archive of", timeout=SLOW_MS)
        await keep_screenshot(dark, "modal-results-dark")
    async with open_page(browser, width=420, height=860) as narrow:
        await show(narrow, demo)
        dialog = await open_form(narrow)
        await keep_screenshot(narrow, "form-narrow")
        await field(dialog).fill("rate limit 429")
        await field(dialog).press("Enter")
        await expect(dialog).to_contain_text("archive of", timeout=SLOW_MS)
        await keep_screenshot(narrow, "modal-results-narrow")
        wider = await narrow.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    assert wider <= 0
