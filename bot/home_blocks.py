"""The Home tab: a search box, one's recent searches, short help, and for admins how the bot is doing."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.buttons import HOME_CLEAR_ACTION, HOME_FORM_ACTION, HOME_RECENT_ACTION, HOME_SEARCH_ACTION, HOME_TEXT_ACTION
from bot.citations import archive_freshness, local_time
from bot.elements import Block, actions, button, context, divider, header, mrkdwn, plain_text, section
from bot.form_fields import TEXT_CHARACTERS
from bot.notes import note_blocks, note_lines
from bot.recent_blocks import RecentsView, clear_button, recent_rows, recents_sentence
from bot.rich_text import cut, harmless

HOME_VIEW: Final = "home"
"""The tab's callback_id."""

TEXT_BLOCK: Final = "home_search_text"
SHOWN_RECENTS: Final = 10
_SENTENCE_CHARACTERS: Final = 2_000
_PRESSED: Final = "pressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedArchive:
    """An archive that this process served.

    Attributes:
        since_us: Since when, Unix microseconds.
        documents: What it holds.
    """

    since_us: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What only admins see.

    Attributes:
        lines: Sentences about what works and what does not; literal.
        served: The archives that this process served, newest first.
    """

    lines: Sequence[str]
    served: Sequence[ServedArchive]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """Everything that the Home tab shows.

    Attributes:
        built_at_us: When the archive was built, Unix microseconds; None where none is being served.
        now_us: The present, Unix microseconds.
        recents: The reader's own searches, of which ten are shown; its signer signs the buttons.
        notices: Sentences to put on top; literal.
        health: For admins only; None for everyone else.
    """

    built_at_us: int | None
    now_us: int
    recents: RecentsView
    notices: tuple[str, ...] = ()
    health: Health | None = None


def render_home(view: HomeView) -> Block:
    """Return the Home tab."""
    blocks = [
        header(texts.HOME_TITLE),
        context([_freshness(view)]),
        *note_blocks(note_lines(view.notices)),
        _search_box(),
        actions(
            [
                button(texts.SEARCH, HOME_SEARCH_ACTION, value=_PRESSED, style="primary"),
                button(texts.HOME_FORM, HOME_FORM_ACTION, value=_PRESSED),
            ]
        ),
        divider(),
        *_recents(view.recents),
        divider(),
        section(mrkdwn("\n".join([texts.HOME_HELP, *(f"• {line}" for line in texts.HOME_HELP_LINES)]))),
    ]
    if view.health is not None:
        blocks += [divider(), *_health(view.health)]
    return _home(blocks)


def plain_home(sentence: str) -> Block:
    """Return a Home tab that says one sentence, such as that this person is not served."""
    return _home([section(plain_text(cut(harmless(sentence).strip(), _SENTENCE_CHARACTERS) or texts.SOMETHING_WRONG))])


def _home(blocks: Sequence[Block]) -> Block:
    """Return the view; its private_metadata tells two that show the same from two that differ."""
    content = json.dumps(blocks, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    return {
        "type": "home",
        "callback_id": HOME_VIEW,
        "private_metadata": hashlib.sha256(content).hexdigest()[:16],
        "blocks": list(blocks),
    }


def _freshness(view: HomeView) -> Block:
    if view.built_at_us is None:
        return plain_text(texts.STATUS_NO_ARCHIVE)
    return mrkdwn(texts.capitalised(archive_freshness(view.built_at_us, view.now_us)))


def _search_box() -> Block:
    return {
        "type": "input",
        "block_id": TEXT_BLOCK,
        "dispatch_action": True,
        "label": plain_text(texts.HOME_TEXT),
        "element": {
            "type": "plain_text_input",
            "action_id": HOME_TEXT_ACTION,
            "placeholder": plain_text(texts.FORM_TEXT_PLACEHOLDER),
            "max_length": TEXT_CHARACTERS,
            "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
        },
    }


def _recents(view: RecentsView) -> list[Block]:
    title = section(mrkdwn(f"*{texts.RECENTS_TITLE}*"))
    sentence = recents_sentence(view)
    if sentence is not None:
        return [title, context([plain_text(sentence)])]
    shown = (view.recents or ())[:SHOWN_RECENTS]
    return [
        {**title, "accessory": clear_button(view.signer, action_id=HOME_CLEAR_ACTION)},
        *recent_rows(shown, view.signer, action_id=HOME_RECENT_ACTION),
    ]


def _health(health: Health) -> list[Block]:
    blocks = [section(mrkdwn(texts.HOME_ADMINS)), *note_blocks(note_lines(health.lines))]
    if health.served:
        times = [f"• {texts.served_since(local_time(one.since_us), one.documents)}" for one in health.served]
        blocks.append(context([mrkdwn("\n".join([texts.HOME_SWAPS, *times]))]))
    return blocks
