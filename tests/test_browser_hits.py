"""More, votes and Share as people use them: the demo in a headless Chromium, by mouse and by keyboard.

Screenshots are kept under build/screenshots.
"""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from bot import texts
from tests.browser import DEMO_CACHE, browser, keep_screenshot, open_page, running_demo, show

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

OTHER = "U0LWTHEO001"
QUERY = "rate limit 429 partner tier"
OF_INCIDENTS = "FIRING partner gateway in:#incidents"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo() -> AsyncIterator[str]:
    """The address of a running demo without votes of an earlier run, which must end cleanly."""
    for left in DEMO_CACHE.glob("*/store.sqlite3*"):
        left.unlink(missing_ok=True)
    async with running_demo() as address:
        yield address


@pytest_asyncio.fixture(loop_scope="module")
async def page(demo: str, browser: Browser) -> AsyncIterator[Page]:
    async with open_page(browser) as page:
        await show(page, demo)
        yield page


async def go(page: Page, channel: str) -> None:
    """Choose a channel in the sidebar."""
    await page.locator("#sidebar").get_by_text(channel, exact=True).click()
    await expect(page.locator("#place")).to_contain_text(channel)


async def search(page: Page, text: str) -> Locator:
    """Type a command into the message field and return the answer."""
    count = await page.locator(".message.ephemeral").count()
    await page.locator("#composer textarea").fill(f"/slackquery {text}")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message.ephemeral")).to_have_count(count + 1)
    answer = page.locator(".message.ephemeral").nth(count)
    await expect(answer).to_contain_text("archive of", timeout=15_000)
    return answer


async def press(answer: Locator, name: str) -> None:
    """Click a button by its whole name, or by the name that a result's number follows."""
    await answer.get_by_role("button", name=re.compile(rf"^{re.escape(name)}(, result 1)?$")).first.click()


async def press_by_keyboard(page: Page, answer: Locator, name: str) -> None:
    """Reach a button by Tab alone, and press it with Enter."""
    wanted = answer.get_by_role("button", name=re.compile(rf"^{re.escape(name)}(, result 1)?$")).first
    await expect(wanted).to_be_visible()
    for _ in range(60):
        if await wanted.evaluate("node => node === document.activeElement"):
            break
        await page.keyboard.press("Shift+Tab")
    await expect(wanted).to_be_focused()
    await page.keyboard.press("Enter")


async def test_more_votes_and_back_by_mouse(page: Page) -> None:
    answer = await search(page, QUERY)
    await press(answer, texts.MORE)
    await expect(answer).to_contain_text("Workspace Lindwerk")
    await expect(answer.locator("code", has_text="T0LINDWERK:")).to_be_visible()
    await keep_screenshot(page, "hits-more")

    await press(answer, texts.GOOD_RESULT)
    await expect(answer).to_contain_text(texts.VOTE_KEPT)
    voted = answer.get_by_role("button", name=texts.your_vote(texts.GOOD_RESULT))
    await expect(voted).to_have_text(texts.marked(texts.GOOD_RESULT))
    await keep_screenshot(page, "hits-voted")
    await press(answer, texts.NOT_RELEVANT)
    await expect(answer.get_by_role("button", name=texts.your_vote(texts.NOT_RELEVANT))).to_be_visible()
    await expect(voted).to_have_count(0)
    await answer.get_by_role("button", name=texts.your_vote(texts.NOT_RELEVANT)).click()
    await expect(answer).to_contain_text(texts.VOTE_WITHDRAWN)
    await press(answer, texts.BACK_TO_RESULTS)

    await expect(answer).to_contain_text("results 1 to 5")
    await expect(page.locator(".message.ephemeral")).to_have_count(1)


async def test_more_votes_and_back_by_keyboard(page: Page) -> None:
    answer = await search(page, QUERY)
    await press_by_keyboard(page, answer, texts.MORE)
    await expect(answer).to_contain_text("Workspace Lindwerk")
    await press_by_keyboard(page, answer, texts.GOOD_RESULT)
    await expect(answer).to_contain_text(texts.VOTE_KEPT)
    await press_by_keyboard(page, answer, texts.your_vote(texts.GOOD_RESULT))
    await expect(answer).to_contain_text(texts.VOTE_WITHDRAWN)
    await press_by_keyboard(page, answer, texts.BACK_TO_RESULTS)

    await expect(answer).to_contain_text("results 1 to 5")


async def test_a_share_is_asked_about_and_then_seen_by_others(page: Page, demo: str, browser: Browser) -> None:
    await go(page, "random")
    answer = await search(page, OF_INCIDENTS)
    await press(answer, texts.MORE)
    await press(answer, texts.SHARE_TO_CHANNEL)
    await expect(answer).to_contain_text(texts.share_question("random"))
    await keep_screenshot(page, "hits-share-question")
    public = page.locator(".message:not(.ephemeral)", has_text="Shared by Mara")
    await expect(public).to_have_count(0)
    await press(answer, texts.CANCEL)
    await expect(answer).to_contain_text("Workspace Lindwerk")
    await expect(public).to_have_count(0)

    await press(answer, texts.SHARE_TO_CHANNEL)
    await press(answer, texts.SHARE)
    await expect(answer).to_contain_text(texts.shared_in("random"))
    await expect(public).to_have_count(1)
    await keep_screenshot(page, "hits-shared")

    async with open_page(browser) as other:
        await show(other, demo)
        await other.get_by_label("Acting as").select_option(OTHER)
        await go(other, "random")
        seen = other.locator(".message:not(.ephemeral)", has_text="Shared by Mara")
        await expect(seen.locator("blockquote")).to_contain_text("FIRING")
        link = seen.get_by_role("link", name=texts.OPEN_IN_SLACK)
        await expect(link).to_have_attribute("href", re.compile(r"/archives/C0LWINCIDEN/p\d{16}"))
        await keep_screenshot(other, "hits-shared-seen-by-another")
        await expect(other.locator(".message.ephemeral")).to_have_count(0)


async def test_a_share_by_keyboard(page: Page) -> None:
    await go(page, "releases")
    answer = await search(page, OF_INCIDENTS)
    for name, then in (
        (texts.MORE, "Workspace Lindwerk"),
        (texts.SHARE_TO_CHANNEL, texts.share_question("releases")),
        (texts.SHARE, texts.shared_in("releases")),
    ):
        await press_by_keyboard(page, answer, name)
        await expect(answer).to_contain_text(then)

    await expect(page.locator(".message:not(.ephemeral)", has_text="Shared by Mara")).to_have_count(1)


@pytest.mark.parametrize(
    ("channel", "query", "sentence"),
    [
        ("payments", OF_INCIDENTS, texts.SHARE_GUESTS),
        ("general", "in:#security mode:lexical key", texts.SHARE_PRIVATE_SOURCE),
    ],
)
async def test_a_refusal_says_why_and_keeps_the_hit(page: Page, channel: str, query: str, sentence: str) -> None:
    await go(page, channel)
    answer = await search(page, query)
    await press(answer, texts.MORE)
    await press(answer, texts.SHARE_TO_CHANNEL)

    await expect(answer).to_contain_text(sentence)
    await expect(answer.get_by_role("button", name=texts.BACK_TO_RESULTS)).to_be_visible()
    await expect(page.locator(".message:not(.ephemeral)", has_text="Shared by")).to_have_count(0)
    await keep_screenshot(page, f"hits-share-refused-{channel}")


@pytest.mark.parametrize(("name", "width", "dark"), [("dark", 1280, True), ("narrow", 420, False)])
async def test_the_hit_is_readable_in_the_dark_and_on_a_narrow_screen(
    demo: str, browser: Browser, name: str, width: int, *, dark: bool
) -> None:
    async with open_page(browser, width=width, dark=dark) as page:
        await show(page, demo)
        answer = await search(page, QUERY)
        await press(answer, texts.MORE)
        await press(answer, texts.GOOD_RESULT if dark else texts.NOT_RELEVANT)
        await expect(answer).to_contain_text(texts.VOTE_KEPT)
        await keep_screenshot(page, f"hits-more-{name}")
        await press(answer, texts.SHARE_TO_CHANNEL)
        await expect(answer).to_contain_text("Share this in")
        await keep_screenshot(page, f"hits-share-{name}")
        wider = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    assert wider <= 0
