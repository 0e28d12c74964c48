"""Judges of what the bot sends that share no code with it nor with the local Slack.

Three of them: a structural walk with the rules this bot sets itself (nothing archived may ping, link or format);
the length limits of the PyPI package `slackblocks`; and, for tests marked `node`, the official npm package
`@slack/types` compiled to JSON Schema.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match
from slackblocks import _limits

CACHE = Path(__file__).parent.parent / ".cache" / "node" / "types"
PACKAGES = {"@slack/types": "3.2.0", "ts-json-schema-generator": "2.10.0"}
NPM_SECONDS = 300
REFEREE = (
    "import type { HomeView, KnownBlock, ModalView } from '@slack/types';\n"
    "export interface Referee { blocks: KnownBlock[]; home: HomeView; view: ModalView; }\n"
)

MESSAGE_CHARACTERS = 10_000
FALLBACK_CHARACTERS = 4_000
MODAL_BLOCKS = {"actions", "context", "divider", "header", "input", "rich_text", "section"}
PINGS = re.compile(r"<[@#]|<!(?!date\^)|(?<![\w])@(?:here|channel|everyone)\b", re.IGNORECASE)
LINK = re.compile(r"<(?!!date\^)[^>]*>")
DATE = re.compile(r"<!date\^\d+\^[^|<>^]+\|[^|<>]+>")
LONE_AMPERSAND = re.compile(r"&(?!amp;|lt;|gt;)")

# By type: which keys an object must have beside `type`, and which it may have.
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "section": (set(), {"text", "fields", "accessory", "expand"}),
    "input": ({"label", "element"}, {"hint", "optional", "dispatch_action"}),
    "context": ({"elements"}, set()),
    "actions": ({"elements"}, set()),
    "divider": (set(), set()),
    "header": ({"text"}, set()),
    "rich_text": ({"elements"}, set()),
    "plain_text": ({"text"}, {"emoji"}),
    "mrkdwn": ({"text", "verbatim"}, set()),
    "button": ({"text", "action_id"}, {"value", "url", "style", "accessibility_label", "confirm"}),
    "confirm": ({"title", "text", "confirm", "deny"}, {"style"}),
    "plain_text_input": (
        {"action_id"},
        {"placeholder", "initial_value", "focus_on_load", "max_length", "dispatch_action_config"},
    ),
    "multi_conversations_select": (
        {"action_id"},
        {"placeholder", "initial_conversations", "filter", "max_selected_items"},
    ),
    "multi_users_select": ({"action_id"}, {"placeholder", "initial_users", "max_selected_items"}),
    "datepicker": ({"action_id"}, {"placeholder", "initial_date"}),
    "checkboxes": ({"action_id", "options"}, {"initial_options"}),
    "static_select": ({"action_id", "options"}, {"placeholder", "initial_option"}),
    "rich_text_section": ({"elements"}, set()),
    "rich_text_quote": ({"elements"}, set()),
    "rich_text_preformatted": ({"elements"}, {"border"}),
    "link": ({"url", "text"}, set()),
    "text": ({"text"}, {"style"}),
    "emoji": ({"name"}, set()),
    "home": ({"blocks"}, {"callback_id", "private_metadata"}),
    "modal": ({"title", "blocks"}, {"submit", "close", "callback_id", "private_metadata", "external_id"}),
}
_INPUTS = {
    "plain_text_input",
    "multi_conversations_select",
    "multi_users_select",
    "datepicker",
    "checkboxes",
    "static_select",
}
_CHILDREN: dict[str, set[str]] = {
    "context": {"plain_text", "mrkdwn"},
    "actions": {"button"},
    "rich_text": {"rich_text_section", "rich_text_quote", "rich_text_preformatted"},
    "rich_text_section": {"text", "emoji", "link"},
    "rich_text_quote": {"text", "emoji"},
    "rich_text_preformatted": {"text"},
}
_TEXT_LIMITS = {
    "section": _limits.SECTION_TEXT_MAX_LENGTH,
    "header": _limits.HEADER_TEXT_MAX_LENGTH,
    "button": _limits.BUTTON_TEXT_MAX_LENGTH,
}
_CONFIRM_LIMITS = {
    "title": _limits.CONFIRMATION_TITLE_MAX_LENGTH,
    "text": _limits.CONFIRMATION_TEXT_MAX_LENGTH,
    "confirm": _limits.CONFIRMATION_CONFIRM_MAX_LENGTH,
    "deny": _limits.CONFIRMATION_DENY_MAX_LENGTH,
}
_ELEMENT_LIMITS = {
    "context": _limits.CONTEXT_ELEMENTS_MAX_ITEMS,
    "actions": _limits.ACTIONS_ELEMENTS_MAX_ITEMS,
}
_FIELD_LIMITS = {
    "value": _limits.BUTTON_VALUE_MAX_LENGTH,
    "url": _limits.BUTTON_URL_MAX_LENGTH,
    "accessibility_label": _limits.BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH,
    "action_id": _limits.ACTION_ID_MAX_LENGTH,
    "callback_id": _limits.VIEW_CALLBACK_ID_MAX_LENGTH,
    "private_metadata": _limits.VIEW_PRIVATE_METADATA_MAX_LENGTH,
}

Json = Mapping[str, Any]


def assert_legal_message(arguments: Json) -> None:
    """Fail unless a message's arguments are what Slack takes and what this bot may send."""
    text, blocks = arguments["text"], arguments["blocks"]
    assert arguments["unfurl_links"] is False, "links would unfurl"
    assert arguments["unfurl_media"] is False, "media would unfurl"
    assert text.strip(), "a screen reader would read nothing"
    assert units(text) <= FALLBACK_CHARACTERS, f"top-level text of {units(text)} characters"
    assert not PINGS.search(text), f"top-level text pings: {PINGS.search(text)}"
    assert not LINK.search(text), "top-level text links"
    assert not LONE_AMPERSAND.search(text), "top-level text is not escaped, or an entity was halved"
    assert 1 <= len(blocks) <= _limits.MESSAGE_BLOCKS_MAX_ITEMS, f"{len(blocks)} blocks"
    assert not any(block["type"] == "input" for block in blocks), "an input in a message"
    _assert_blocks(blocks)
    total = sum(units(string) for string in texts_of(blocks))
    assert total <= MESSAGE_CHARACTERS, f"{total} characters in all blocks"


def assert_legal_view(view: Json) -> None:
    """Fail unless a modal or a Home tab is what Slack takes."""
    _assert_keys(view, view["type"])
    for name, limit in (
        ("title", _limits.VIEW_TITLE_MAX_LENGTH),
        ("close", _limits.VIEW_CLOSE_MAX_LENGTH),
        ("submit", _limits.VIEW_SUBMIT_MAX_LENGTH),
    ):
        if name in view:
            assert view[name]["type"] == "plain_text"
            assert 1 <= units(view[name]["text"]) <= limit, f"{name} of {units(view[name]['text'])} characters"
    assert 1 <= len(view["blocks"]) <= _limits.VIEW_BLOCKS_MAX_ITEMS
    assert {block["type"] for block in view["blocks"]} <= MODAL_BLOCKS
    _assert_blocks(view["blocks"])
    assert len(json.dumps(view).encode()) <= 250_000


def units(text: str) -> int:
    """Return the length in UTF-16 units, the largest of what Slack may count; half a character fails."""
    return len(text.encode("utf-16-le")) // 2


def texts_of(content: object) -> Iterator[str]:
    """Yield every string under a `text` key, however deep."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key == "text" and isinstance(value, str):
                yield value
            else:
                yield from texts_of(value)
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for item in content:
            yield from texts_of(item)


def _assert_blocks(blocks: Sequence[Json]) -> None:
    json.dumps(blocks, ensure_ascii=False).encode()
    top = {"section", "context", "actions", "divider", "header", "rich_text", "input"}
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    assert len(ids) == len(set(ids)), "a block_id stands twice"
    for block in blocks:
        assert block["type"] in top, f"unexpected block {block['type']}"
        _assert_object(block)


def _assert_object(thing: Json) -> None:
    kind = thing["type"]
    _assert_keys(thing, kind)
    for key, limit in _FIELD_LIMITS.items():
        if key in thing:
            assert 1 <= units(thing[key]) <= limit, f"{key} of {units(thing[key])} characters"
    if "elements" in thing:
        _assert_elements(thing, kind)
    if isinstance(thing.get("text"), Mapping):
        assert thing["text"]["type"] == "plain_text" or kind == "section", f"marked-up text in {kind}"
        assert units(thing["text"]["text"]) <= _TEXT_LIMITS[kind]
        _assert_object(thing["text"])
    elif "text" in thing:
        _assert_text(thing, kind)
    if kind == "section":
        _assert_section(thing)
    if "confirm" in thing:
        _assert_confirm(thing["confirm"])
    if kind == "button":
        assert ("value" in thing) != ("url" in thing), "a button carries either state or a link"
    if "url" in thing:
        assert re.fullmatch(r"https?://[^\s<>]+", thing["url"]), f"broken link {thing['url']!r}"


def _assert_section(section: Json) -> None:
    assert "text" in section or "fields" in section, "a section without text"
    fields = section.get("fields", ())
    assert len(fields) <= _limits.SECTION_FIELDS_MAX_ITEMS
    for field in fields:
        assert units(field["text"]) <= _limits.SECTION_FIELDS_ITEM_MAX_LENGTH
        _assert_object(field)
    if "accessory" in section:
        assert section["accessory"]["type"] == "button", f"{section['accessory']['type']} beside a section"
        _assert_object(section["accessory"])


def _assert_confirm(confirm: Json) -> None:
    _assert_keys(confirm, "confirm")
    for name, limit in _CONFIRM_LIMITS.items():
        assert confirm[name]["type"] == "plain_text"
        assert units(confirm[name]["text"]) <= limit, f"{name} of {units(confirm[name]['text'])} characters"
        _assert_object(confirm[name])


def _assert_options(element: Json) -> None:
    options = element.get("options", ())
    assert len(options) <= (10 if element["type"] == "checkboxes" else 100)
    for option in options:
        assert 1 <= units(option["text"]["text"]) <= 75
        assert 1 <= units(option["value"]) <= 150
    assert units(element.get("initial_value", "")) <= 3_000


def _assert_elements(thing: Json, kind: str) -> None:
    elements = thing["elements"]
    assert 1 <= len(elements) <= _ELEMENT_LIMITS.get(kind, 10_000), f"{len(elements)} elements in {kind}"
    for element in elements:
        assert element["type"] in _CHILDREN[kind], f"{element['type']} in {kind}"
        _assert_object(element)
    ids = [element["action_id"] for element in elements if "action_id" in element]
    assert len(ids) == len(set(ids)), "an action_id stands twice in one block"


def _assert_text(thing: Json, kind: str) -> None:
    text = thing["text"]
    assert _limits.TEXT_MIN_LENGTH <= units(text) <= _limits.TEXT_MAX_LENGTH, f"{kind} of {units(text)} characters"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", text), "harmful character"
    if kind == "mrkdwn":
        assert thing["verbatim"] is True, "Slack would look for mentions and links"
        without_dates = DATE.sub("", text)
        assert not re.search(r"[<>]", without_dates), f"unescaped or linking markup: {text!r}"
        assert not LONE_AMPERSAND.search(text), f"not escaped: {text!r}"
    if kind == "plain_text":
        assert thing.get("emoji") is False, "names could turn into emoji"
    if "style" in thing:
        assert set(thing["style"]) <= {"bold", "italic", "code"}
        assert all(value is True for value in thing["style"].values())


def _assert_keys(thing: Json, kind: str) -> None:
    required, optional = _KEYS[kind]
    keys = set(thing) - {"type", "block_id"}
    assert required <= keys, f"{kind} lacks {required - keys}"
    assert keys <= required | optional, f"{kind} has unknown {keys - required - optional}"


class SlackTypes:
    """`@slack/types`, compiled to JSON Schema; knows structure but no lengths."""

    def __init__(self, schema: dict[str, Any]) -> None:
        definitions = schema["definitions"]
        self._blocks = Draft7Validator({"$ref": "#/definitions/KnownBlock", "definitions": definitions})
        self._views = Draft7Validator({"$ref": "#/definitions/ModalView", "definitions": definitions})
        self._homes = Draft7Validator({"$ref": "#/definitions/HomeView", "definitions": definitions})
        self._definitions = definitions

    def assert_blocks(self, blocks: Sequence[Json]) -> None:
        """Fail unless every block is one of `KnownBlock`."""
        for block in json.loads(json.dumps(blocks)):
            self._assert(self._blocks, block)

    def assert_view(self, view: Json) -> None:
        """Fail unless the view is a `ModalView`, or a `HomeView`."""
        self._assert(self._homes if view.get("type") == "home" else self._views, json.loads(json.dumps(view)))

    def _assert(self, validator: Draft7Validator, instance: object) -> None:
        error = best_match(validator.iter_errors(instance))
        assert error is None, f"{error.json_path}: {error.message[:500]}"


def slack_types() -> SlackTypes:
    """Return the compiled types; made once and kept in the cache folder.

    Without Node.js 20 and npm the test is skipped, with the reason; with CI=true it fails.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    # Test processes side by side share the cache; the first makes it, the others wait.
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiled = CACHE / "schema.json"
        pinned = json.dumps({"private": True, "dependencies": PACKAGES})
        stamp, referee = CACHE / "package.json", CACHE / "referee.ts"
        made_of = {stamp: pinned, referee: REFEREE}
        if not (
            compiled.exists() and all(path.exists() and path.read_text() == text for path, text in made_of.items())
        ):
            _require_node()
            stamp.write_text(pinned)
            _compile(compiled)
    return SlackTypes(json.loads(compiled.read_text()))


def _compile(compiled: Path) -> None:
    (CACHE / "referee.ts").write_text(REFEREE)
    _run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    script = CACHE / "node_modules" / "ts-json-schema-generator" / "bin" / "ts-json-schema-generator.js"
    _run("node", str(script), "--path", "referee.ts", "--type", "Referee", "--no-type-check", "-o", "new.json")
    (CACHE / "new.json").replace(compiled)


def _require_node() -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout if node else ""
    if npm and version and int(version.strip().lstrip("v").split(".")[0]) >= 20:
        return
    reason = f"needs Node.js 20 or newer and npm; found node {version.strip() or 'none'}, npm {npm or 'none'}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=NPM_SECONDS, check=False)
    assert done.returncode == 0, f"{command[0]} failed: {done.stderr[-2_000:]}{done.stdout[-1_000:]}"
