"""A tiny app for the page's tests: it answers a command with every kind of block, and opens modals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from localslack.page_routes import add_page_routes
from localslack.server import LocalSlack
from tests.localslack_factory import BareApp, bare_app, local_slack

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def option(text: str, detail: str | None = None) -> Json:
    described = {"description": plain(detail)} if detail else {}
    return {"text": plain(text), "value": text.lower(), **described}


def button(text: str, action_id: str, **more: Any) -> Json:
    return {"type": "button", "text": plain(text), "action_id": action_id, **more}


def page_of_results(number: int) -> list[Json]:
    """One page of an answer, with every kind of block that a message may hold."""
    when = "<!date^1772529125^{date_num} {time}|then>"
    rich = [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "text", "text": "the partner tier answers "},
                {"type": "text", "text": "429", "style": {"bold": True}},
                {"type": "text", "text": " <img src=x onerror=window.hacked=1> <!channel> "},
                {"type": "link", "url": "https://kiln.example/archives/C1/p1700000000000100", "text": "the kiln"},
            ],
        },
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "HTTP/1.1 429\nRetry-After: 17"}]},
        {"type": "rich_text_quote", "elements": [{"type": "text", "text": "come back later"}]},
        {
            "type": "rich_text_list",
            "style": "bullet",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "a point"}]}],
        },
    ]
    confirm = {
        "title": plain("Really?"),
        "text": mrkdwn("It is *final*."),
        "confirm": plain("Do it"),
        "deny": plain("No"),
    }
    return [
        {"type": "context", "block_id": "top", "elements": [mrkdwn(f"*rate limit 429* | page {number}")]},
        {"type": "header", "block_id": "head", "text": plain("Results :tada:")},
        {
            "type": "context",
            "block_id": "who",
            "elements": [
                {"type": "image", "image_url": "https://kiln.example/a.png", "alt_text": "Ada Berg"},
                mrkdwn(f"*Ada Berg* <#C1> {when}"),
            ],
        },
        {"type": "rich_text", "block_id": "rich", "elements": rich},
        {
            "type": "section",
            "block_id": "section",
            "text": mrkdwn("In <#G1> and <@UBEN>: _see_ <https://example.org/doc|the document>"),
            "accessory": {
                "type": "static_select",
                "action_id": "mode",
                "placeholder": plain("Mode"),
                "options": [option("Hybrid"), option("Lexical")],
            },
        },
        {"type": "divider", "block_id": "line"},
        {"type": "image", "block_id": "image", "image_url": "https://kiln.example/c.png", "alt_text": "A chart"},
        {
            "type": "actions",
            "block_id": "choices",
            "elements": [
                {"type": "datepicker", "action_id": "day", "placeholder": plain("Day")},
                {"type": "users_select", "action_id": "person", "placeholder": plain("Someone")},
                {
                    "type": "radio_buttons",
                    "action_id": "sort",
                    "options": [option("Newest"), option("Oldest", "first things first")],
                },
                {"type": "checkboxes", "action_id": "has", "options": [option("Links"), option("Files")]},
            ],
        },
        {
            "type": "actions",
            "block_id": "buttons",
            "elements": [
                button("Next", "next", style="primary", value=str(number + 1)),
                button("Delete", "delete", style="danger", confirm=confirm),
                button("Search form", "form"),
                button("Stuck", "stuck"),
                {"type": "overflow", "action_id": "more", "options": [option("Find similar"), option("Not relevant")]},
            ],
        },
    ]


def form(title: str = "Search", *, note: str | None = None) -> Json:
    """A modal with inputs; ``note`` adds a line above them."""
    blocks: list[Json] = [{"type": "section", "block_id": "note", "text": plain(note)}] if note else []
    blocks += [
        {
            "type": "input",
            "block_id": "words",
            "label": plain("Words"),
            "hint": plain("What to look for"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        {
            "type": "input",
            "block_id": "where",
            "optional": True,
            "label": plain("Channels"),
            "element": {"type": "multi_conversations_select", "action_id": "channels"},
        },
        {"type": "actions", "block_id": "go", "elements": [button("Another", "push")]},
    ]
    return {
        "type": "modal",
        "callback_id": "form",
        "title": plain(title),
        "submit": plain("Search"),
        "close": plain("Cancel"),
        "blocks": blocks,
    }


def home(said: str) -> Json:
    """A Home tab with a field that tells the app at Enter."""
    field = {"type": "plain_text_input", "action_id": "home_text"}
    return {
        "type": "home",
        "blocks": [
            {"type": "header", "block_id": "title", "text": plain("Your searches")},
            {"type": "section", "block_id": "said", "text": plain(said)},
            {"type": "input", "block_id": "field", "dispatch_action": True, "label": plain("Search"), "element": field},
        ],
    }


class PageApp:
    """Answers envelopes; ``submitted`` holds the state of every submission."""

    def __init__(self, app: BareApp) -> None:
        self.app = app
        self.submitted: list[Json] = []
        self.actions: list[Json] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        app.answer = self.answer

    def answer(self, envelope: Json) -> Json | None:
        payload = envelope["payload"]
        kind = "command" if "command" in payload else payload["type"]
        handler = getattr(self, f"on_{kind}", None)
        return handler(payload) if handler else {}

    def later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def on_command(self, payload: Json) -> Json | None:
        if payload["text"] == "stuck":
            return None
        self.later(self.app.post(payload["response_url"], blocks=page_of_results(1), response_type="ephemeral"))
        return {}

    def on_block_actions(self, payload: Json) -> Json | None:
        action = payload["actions"][0]
        self.actions.append(action)
        name = action["action_id"]
        if name == "stuck":
            return None
        if name == "next":
            blocks = page_of_results(int(action["value"]))
            self.later(self.app.post(payload["response_url"], blocks=blocks, replace_original=True))
        elif name == "delete":
            self.later(self.app.post(payload["response_url"], delete_original=True))
        elif name == "form":
            self.later(self.app.call("views.open", trigger_id=payload["trigger_id"], view=form()))
        elif name == "push":
            self.later(self.app.call("views.push", trigger_id=payload["trigger_id"], view=form("Second")))
        elif name == "home_text":
            self.later(self.publish(payload["user"]["id"], f"You said {action['value']}"))
        return {}

    def on_message_action(self, payload: Json) -> Json:
        note = f"About: {payload['message']['text']}"
        self.later(self.app.call("views.open", trigger_id=payload["trigger_id"], view=form("Fire", note=note)))
        return {}

    def on_shortcut(self, payload: Json) -> Json:
        self.later(self.app.call("views.open", trigger_id=payload["trigger_id"], view=form("Ask")))
        return {}

    def on_view_submission(self, payload: Json) -> Json:
        values = payload["view"]["state"]["values"]
        self.submitted.append(values)
        if values["words"]["text"]["value"] == "bad":
            return {"response_action": "errors", "errors": {"words": "Not this word."}}
        return {}

    def on_event_callback(self, payload: Json) -> Json:
        if payload["event"]["type"] == "app_home_opened":
            self.later(self.publish(payload["event"]["user"], "Nothing yet"))
        return {}

    async def publish(self, user_id: str, said: str) -> None:
        await self.app.call("views.publish", user_id=user_id, view=home(said))


@asynccontextmanager
async def page_stand_in(**options: Any) -> AsyncIterator[tuple[LocalSlack, PageApp]]:
    """Run the stand-in with its page and the tiny app; options as LocalSlack's."""
    async with local_slack(extend=[add_page_routes], **options) as slack, bare_app(slack) as app:
        yield slack, PageApp(app)


def said_in(state: Mapping[str, Any]) -> str | None:
    """The words of a submission."""
    value = state["words"]["text"]["value"]
    return None if value is None else str(value)
