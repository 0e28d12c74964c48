"""The page in headless Chromium, with keyboard and mouse, over the stand-in and a tiny app."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from localslack.auth import Tokens
from localslack.page_routes import page_address
from localslack.server import LocalSlack
from tests.browser import browser, keep_screenshot, open_page
from tests.page_app import PageApp, form, page_stand_in, said_in

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

Stage = tuple[LocalSlack, PageApp, Page]


@pytest_asyncio.fixture(loop_scope="module")
async def stage(browser: Browser) -> AsyncIterator[Stage]:
    """The stand-in, the app, and the page opened as Ada in #general."""
    async with page_stand_in() as (slack, app), open_page(browser) as page:
        await show(page, slack)
        yield slack, app, page


async def show(page: Page, slack: LocalSlack) -> None:
    await page.goto(page_address(slack))
    await expect(page.locator(".message").first).to_be_visible()


async def search(page: Page) -> Any:
    """Type the command with the keyboard alone and return the answer's message."""
    await page.get_by_role("textbox", name="Message #general").focus()
    await page.keyboard.type("/cl")
    await page.keyboard.press("Tab")
    await page.keyboard.type("rate limit 429")
    await page.keyboard.press("Enter")
    answer = page.locator(".message.ephemeral")
    await expect(answer).to_contain_text("page 1")
    return answer


async def test_token_leaves_the_address_and_survives_a_reload(stage: Stage) -> None:
    slack, _, page = stage

    assert page.url == f"{slack.url}/"
    await page.reload()
    await expect(page.locator(".message").first).to_be_visible()


async def test_without_token_nothing_is_shown(stage: Stage, browser: Browser) -> None:
    slack, _, _ = stage

    async with open_page(browser) as stranger:
        await stranger.goto(f"{slack.url}/?token=wrong")
        await expect(stranger.get_by_role("heading")).to_have_text(
            "This page needs the address that was printed in the terminal"
        )
        assert "kiln" not in await stranger.content()


async def test_banner_says_it_is_not_slack(stage: Stage) -> None:
    _, _, page = stage

    await expect(page.get_by_role("banner").first).to_contain_text("Local stand-in, not Slack")


async def test_command_is_offered_and_answered_by_keyboard(stage: Stage) -> None:
    """Typing a slash offers the command; its answer shows every kind of block, to this person only."""
    slack, _, page = stage

    answer = await search(page)

    await expect(answer).to_contain_text("Only visible to you")
    await expect(answer.get_by_role("heading", name="Results")).to_be_visible()
    await expect(answer.locator("strong", has_text="429").first).to_be_visible()
    await expect(answer.locator("time", has_text="2026-03-03 10:12 AM")).to_be_visible()
    await expect(answer.locator("pre")).to_contain_text("Retry-After: 17")
    await expect(answer.locator("blockquote")).to_have_text("come back later")
    await expect(answer.get_by_role("radio")).to_have_count(2)
    await expect(answer.get_by_role("checkbox")).to_have_count(2)
    await expect(answer.get_by_role("combobox")).to_have_count(2)
    await expect(answer.get_by_role("link", name="the document")).to_have_attribute("rel", "noopener noreferrer")
    assert slack.person("UADA").messages("C1")[-1].is_ephemeral


async def test_next_replaces_the_message_and_keeps_the_focus(stage: Stage) -> None:
    _, _, page = stage
    answer = await search(page)

    for number in (2, 3):
        await answer.get_by_role("button", name="Next").focus()
        await page.keyboard.press("Enter")
        await expect(answer).to_contain_text(f"page {number}")
    focused = await page.evaluate("document.activeElement.textContent")

    assert focused == "Next"
    await expect(page.locator(".message.ephemeral")).to_have_count(1)


async def test_ephemeral_message_is_gone_after_a_reload(stage: Stage) -> None:
    _, _, page = stage
    await search(page)

    await page.reload()

    await expect(page.locator(".message").first).to_be_visible()
    await expect(page.locator(".message.ephemeral")).to_have_count(0)


async def test_confirm_question_is_asked_first(stage: Stage) -> None:
    _, app, page = stage
    answer = await search(page)

    await answer.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="No").click()
    assert app.actions == []
    await answer.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Do it").click()

    await expect(page.locator(".message.ephemeral")).to_have_count(0)


async def test_menus_and_choices_reach_the_app(stage: Stage) -> None:
    _, app, page = stage
    answer = await search(page)

    await answer.get_by_role("button", name="More choices").press("Enter")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await answer.get_by_role("combobox").nth(1).click()
    await page.keyboard.type("ben")
    await page.keyboard.press("Enter")
    await answer.get_by_role("radio").nth(1).check()
    await answer.get_by_role("checkbox").nth(0).check()
    await answer.locator("input[type=date]").fill("2026-03-01")
    for _ in range(50):
        if len(app.actions) == 5:
            break
        await page.wait_for_timeout(50)

    said = {action["action_id"]: action for action in app.actions}
    assert said["more"]["selected_option"]["value"] == "not relevant"
    assert said["person"]["selected_user"] == "UBEN"
    assert said["sort"]["selected_option"]["value"] == "oldest"
    assert [one["value"] for one in said["has"]["selected_options"]] == ["links"]
    assert said["day"]["selected_date"] == "2026-03-01"


async def test_command_without_ack_says_so_and_keeps_the_text(stage: Stage) -> None:
    _, _, page = stage
    field = page.get_by_role("textbox", name="Message #general")

    await field.fill("/clay stuck")
    await field.press("Enter")

    await expect(page.get_by_role("alert").filter(has_text="operation_timeout")).to_be_visible()
    await expect(field).to_have_value("/clay stuck")


async def test_unknown_command_says_so(stage: Stage) -> None:
    _, _, page = stage
    field = page.get_by_role("textbox", name="Message #general")

    await field.fill("/nothing here")
    await field.press("Enter")

    await expect(page.get_by_role("alert").filter(has_text="/nothing is not a valid command")).to_be_visible()


async def test_button_is_busy_then_tells_the_failure(stage: Stage) -> None:
    _, _, page = stage
    answer = await search(page)
    button = answer.get_by_role("button", name="Stuck")

    await button.click()
    await expect(button).to_have_attribute("aria-busy", "true")

    await expect(answer.get_by_role("alert")).to_contain_text("operation_timeout")
    await expect(button).not_to_have_attribute("aria-busy", "true")


async def test_message_menu_opens_the_shortcuts_modal(stage: Stage) -> None:
    """By mouse: hover, menu, shortcut, errors at the field, submit; the focus comes back to the menu button."""
    _, app, page = stage
    message = page.locator(".message", has_text="the kiln is hot")

    await message.hover()
    await message.get_by_role("button", name="More message actions").click()
    await page.get_by_role("menuitem", name="Fire").click()
    dialog = page.get_by_role("dialog", name="Fire")
    await expect(dialog).to_contain_text("About: the kiln is hot")
    await dialog.get_by_role("button", name="Search").click()
    await expect(dialog).to_contain_text("Please complete this required field.")
    assert app.submitted == []
    await page.keyboard.type("bad")
    await page.keyboard.press("Enter")
    await expect(dialog).to_contain_text("Not this word.")
    await expect(dialog.get_by_role("textbox", name="Words")).to_be_focused()
    await dialog.get_by_role("textbox", name="Words").fill("clay")
    await dialog.get_by_role("combobox", name="Channels").click()
    await page.get_by_role("option", name="#general").click()
    await dialog.get_by_role("button", name="Search").click()

    await expect(dialog).to_be_hidden()
    assert [said_in(state) for state in app.submitted] == ["bad", "clay"]
    assert app.submitted[-1]["where"]["channels"]["selected_conversations"] == ["C1"]
    assert await page.evaluate("document.activeElement.getAttribute('aria-label')") == "More message actions"


async def test_modal_stack_by_keyboard(stage: Stage) -> None:
    """Escape closes the top view only, the cross all of them; entries below are kept."""
    slack, _, page = stage

    await page.get_by_role("button", name="Shortcuts").press("Enter")
    await page.keyboard.press("Enter")
    first = page.get_by_role("dialog", name="Ask")
    await first.get_by_role("textbox", name="Words").fill("kept")
    await first.get_by_role("button", name="Another").press("Enter")
    await expect(page.get_by_role("dialog", name="Second")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(first.get_by_role("textbox", name="Words")).to_have_value("kept")
    await first.get_by_role("button", name="Another").press("Enter")
    await expect(page.get_by_role("dialog", name="Second")).to_be_visible()
    await page.get_by_role("button", name="Close", exact=True).click()

    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert slack.person("UADA").views == ()


async def test_open_view_is_updated_without_losing_what_was_typed(stage: Stage) -> None:
    slack, app, page = stage
    await page.get_by_role("button", name="Shortcuts").press("Enter")
    await page.keyboard.press("Enter")
    words = page.get_by_role("dialog").get_by_role("textbox", name="Words")
    await words.fill("half a wo")

    await app.app.call("views.update", view_id=slack.person("UADA").views[-1].id, view=form("Asked", note="Found 3"))

    await expect(page.get_by_role("dialog", name="Asked")).to_contain_text("Found 3")
    await expect(words).to_have_value("half a wo")
    await expect(words).to_be_focused()


async def test_focus_stays_inside_a_modal(stage: Stage) -> None:
    _, _, page = stage
    await page.get_by_role("button", name="Shortcuts").press("Enter")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()

    places = []
    for _ in range(14):
        await page.keyboard.press("Tab")
        places.append(
            await page.evaluate(
                "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
            )
        )

    assert all(places)


async def test_home_tab(stage: Stage) -> None:
    _, _, page = stage

    await page.get_by_role("button", name="Potter", exact=True).click()
    await expect(page.locator("#home")).to_contain_text("Nothing yet")
    await page.get_by_role("textbox", name="Search").fill("clay")
    await page.keyboard.press("Enter")

    await expect(page.locator("#home")).to_contain_text("You said clay")


async def test_acting_as_somebody_else_changes_what_is_seen(stage: Stage) -> None:
    """Other channels, another time zone, and not the first person's private answer."""
    _, _, page = stage
    await search(page)
    await expect(page.locator("[data-channel=G2]")).to_be_visible()

    await page.get_by_label("Acting as").select_option("UBEN")

    await expect(page.locator("[data-channel=G2]")).to_have_count(0)
    await expect(page.locator("[data-channel=C2]")).to_be_visible()
    await expect(page.locator(".message.ephemeral")).to_have_count(0)
    await expect(page.locator(".message .stamp").first).to_have_text("10:13 PM")


async def test_plain_message_and_thread(stage: Stage) -> None:
    slack, _, page = stage
    field = page.get_by_role("textbox", name="Message #general")

    await field.fill("who fired *this*?")
    await field.press("Enter")
    message = page.locator(".message", has_text="who fired this?")
    await message.hover()
    await message.get_by_role("button", name="Reply in thread").click()
    await page.get_by_role("textbox", name="Reply").fill("I did")
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("complementary", name="Thread").locator(".message")).to_have_count(2)
    await expect(message.get_by_role("button", name="1 reply")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("complementary", name="Thread")).to_be_hidden()
    assert slack.person("UBEN").messages("C1")[-1].text == "I did"


async def test_message_of_somebody_else_appears_by_itself(stage: Stage) -> None:
    slack, _, page = stage

    await slack.person("UBEN").type("glaze is ready", channel="C1")
    await slack.person("UBEN").type("psst", channel="D1")

    await expect(page.locator(".message", has_text="glaze is ready")).to_be_visible()
    await expect(page.get_by_role("button", name="Ben the potter , unread")).to_be_visible()


async def test_permalink_opens_inside_the_page(stage: Stage) -> None:
    _, _, page = stage
    answer = await search(page)

    await answer.get_by_role("link", name="the kiln").click()

    await expect(page.locator(".message.revealed")).to_contain_text("the kiln is hot")
    assert len(page.context.pages) == 1


async def test_hostile_message_is_inert(stage: Stage) -> None:
    slack, _, page = stage
    text = "<script>window.hacked=1</script> <img src=x onerror=window.hacked=1> <javascript:window.hacked=1|press me>"

    await slack.person("UBEN").type(text, channel="C1")
    message = page.locator(".message", has_text="press me")
    await expect(message).to_be_visible()
    await message.get_by_text("press me").click()

    assert await page.evaluate("window.hacked") is None
    await expect(message.locator("img, script, a")).to_have_count(0)


async def test_archived_channel_is_read_only_and_unjoined_one_can_be_joined(stage: Stage) -> None:
    slack, _, page = stage

    await page.locator("[data-channel=C3]").click()
    await expect(page.locator(".composer").first).to_be_hidden()
    await page.locator("[data-channel=C2]").click()
    await page.get_by_role("button", name="Join channel").click()

    await expect(page.get_by_role("textbox", name="Message #glazes")).to_be_visible()
    assert "UADA" in slack.world.channels["C2"].members


async def test_messages_are_walked_with_arrow_keys(stage: Stage) -> None:
    """One message is a tab stop; arrows move; Tab goes on to the message's own menu."""
    slack, _, page = stage
    await slack.person("UBEN").type("second", channel="C1")
    await expect(page.locator(".message")).to_have_count(2)

    await page.locator(".message").last.focus()
    await page.keyboard.press("ArrowUp")
    assert "the kiln is hot" in await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("Tab")

    assert await page.evaluate("document.activeElement.getAttribute('aria-label')") == "Reply in thread"


async def test_page_asks_nothing_of_other_machines(stage: Stage) -> None:
    slack, _, page = stage
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    await search(page)
    await page.reload()
    await expect(page.locator(".message").first).to_be_visible()

    assert [url for url in asked if not url.startswith((slack.url, slack.url.replace("http", "ws")))] == []


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [("light", 1280, False), ("dark", 1280, True), ("narrow", 360, False), ("narrow-dark", 360, True)],
)
async def test_pictures_to_look_at(browser: Browser, name: str, width: int, dark: bool) -> None:
    """Keeps pictures; nothing may be wider than the window."""
    async with page_stand_in() as (slack, _), open_page(browser, width=width, height=800, dark=dark) as page:
        await show(page, slack)
        answer = await search(page)
        await keep_screenshot(page, f"page-{name}-answer")
        wide = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        too_wide = await page.evaluate(
            "[...document.querySelectorAll('#channel *')]"
            ".filter((one) => one.getBoundingClientRect().right > window.innerWidth + 1).length"
        )
        await answer.get_by_role("button", name="Search form").click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await keep_screenshot(page, f"page-{name}-modal")

    assert not wide
    assert too_wide == 0


async def test_new_run_with_another_token_is_told(browser: Browser) -> None:
    """A tab of an earlier run says that it needs the new address, instead of reconnecting for ever."""
    async with open_page(browser) as page:
        async with page_stand_in() as (slack, _):
            port = slack.port
            await show(page, slack)
        await expect(page.get_by_text("Reconnecting…")).to_be_visible()
        async with page_stand_in(port=port):
            gate = page.get_by_role("heading", name="This page needs the address that was printed in the terminal")
            await expect(gate).to_be_visible(timeout=15_000)


async def test_connection_that_was_lost_comes_back(browser: Browser) -> None:
    """The stand-in goes and comes again with the same token; what is new there is read."""
    tokens = Tokens()
    async with open_page(browser) as page:
        async with page_stand_in(tokens=tokens) as (slack, _):
            port = slack.port
            await show(page, slack)
        await expect(page.get_by_text("Reconnecting…")).to_be_visible()
        async with page_stand_in(port=port, tokens=tokens) as (slack, _):
            await slack.person("UBEN").type("while you were away", channel="C1")

            await expect(page.locator(".message", has_text="while you were away")).to_be_visible(timeout=15_000)
            await expect(page.get_by_text("Reconnecting…")).to_be_hidden()


async def test_draft_belongs_to_the_person_and_the_channel(stage: Stage) -> None:
    _, _, page = stage
    field = page.get_by_role("textbox", name="Message #general")

    await field.fill("half a thought")
    await page.get_by_label("Acting as").select_option("UBEN")
    await expect(field).to_have_value("")
    await page.get_by_label("Acting as").select_option("UADA")

    await expect(field).to_have_value("half a thought")


async def test_tab_walks_through_the_whole_page(stage: Stage) -> None:
    """No place keeps the keyboard: sidebar, messages and field are all passed, and the round starts again."""
    _, _, page = stage
    await page.evaluate("document.activeElement.blur()")
    where = "(document.activeElement.closest('nav, aside, #channel, .composer, .banner, .skip') ?? document.body)"

    places = []
    for _ in range(40):
        await page.keyboard.press("Tab")
        places.append(await page.evaluate(f"{where}.className || {where}.id"))

    assert {"skip", "sidebar", "scroller", "composer"} <= set(places)
    assert places.count("composer") < 10


async def test_quick_change_of_channels_shows_the_last(stage: Stage) -> None:
    """The answers for channels that were left meanwhile are dropped."""
    slack, _, page = stage
    await slack.person("UBEN").type("only in secret", channel="G1")

    await page.evaluate(
        "for (const id of ['C3', 'C4', 'G2', 'G1']) document.querySelector(`[data-channel=${id}]`).click()"
    )

    await expect(page.get_by_role("heading", level=1)).to_have_text("secret")
    await expect(page.locator(".message")).to_have_text([re.compile("only in secret")])
