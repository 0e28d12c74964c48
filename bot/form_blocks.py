"""The search form as a modal, and what somebody entered into it."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from pydantic import BaseModel, ConfigDict

from bot import texts
from bot.elements import Block, plain_text, section
from bot.form_fields import FormBlock, FormFields
from bot.limits import text_length
from bot.payloads import Body
from bot.rich_text import cut, harmless
from retrieval import Mode, Sort

SEARCH_FORM: Final = "search_form"
"""The form's callback_id."""

FORM_NOTE: Final = "form_note"
SELECTED_ITEMS: Final = 10
"""How many channels, and how many people, a form takes."""

_THREAD: Final = "thread"
_INPUT: Final = "value"
# What a plain_text_input may start with.
_INITIAL_CHARACTERS: Final = 3_000


class _Option(BaseModel):
    model_config = ConfigDict(extra="ignore")

    value: str


class _Entry(BaseModel):
    """One input's state, whatever its type; only the keys of its own type are there."""

    model_config = ConfigDict(extra="ignore")

    value: str | None = None
    selected_conversations: tuple[str, ...] = ()
    selected_users: tuple[str, ...] = ()
    selected_date: date | None = None
    selected_options: tuple[_Option, ...] = ()
    selected_option: _Option | None = None


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore")

    values: dict[str, dict[str, _Entry]]


class _View(BaseModel):
    model_config = ConfigDict(extra="ignore")

    state: _State


class _Submission(BaseModel):
    model_config = ConfigDict(extra="ignore")

    view: _View


def form_view(fields: FormFields, *, note: str | None = None) -> Block:
    """Return the search form.

    Args:
        fields: What stands in it already.
        note: A sentence to put on top, such as why the last search did not work; literal.
    """
    said = cut(harmless(note).strip(), 2_000) if note else ""
    blocks = [{**section(plain_text(said)), "block_id": FORM_NOTE}] if said else []
    return {
        "type": "modal",
        "callback_id": SEARCH_FORM,
        "title": plain_text(texts.FORM_TITLE),
        "submit": plain_text(texts.SEARCH),
        "close": plain_text(texts.CLOSE),
        "blocks": [*blocks, *_inputs(fields)],
    }


def read_form(body: Body) -> FormFields:
    """Return what was entered, from the payload of a submission.

    Raises:
        ValueError: It is no submission of this form.
    """
    values = _Submission.model_validate(body).view.state.values

    def entry(block: FormBlock) -> _Entry:
        return values.get(block.value, {}).get(_INPUT) or _Entry()

    mode, sort = entry(FormBlock.MODE).selected_option, entry(FormBlock.SORT).selected_option
    kinds = [option.value for option in entry(FormBlock.KINDS).selected_options]
    if unknown := set(kinds) - texts.FORM_KIND_LABELS.keys():
        raise ValueError(f"{min(unknown)[:80]!r} is no kind of this form.")
    return FormFields(
        text=(entry(FormBlock.TEXT).value or "").strip(),
        channel_ids=entry(FormBlock.CHANNELS).selected_conversations,
        user_ids=entry(FormBlock.PEOPLE).selected_users,
        first_day=entry(FormBlock.FIRST_DAY).selected_date,
        last_day=entry(FormBlock.LAST_DAY).selected_date,
        has=tuple(kind for kind in kinds if kind != _THREAD),
        is_thread=_THREAD in kinds,
        mode=Mode(mode.value) if mode is not None else Mode.HYBRID,
        sort=Sort(sort.value) if sort is not None else Sort.RELEVANCE,
    )


def _inputs(fields: FormFields) -> list[Block]:
    return [
        _input(FormBlock.TEXT, texts.FORM_TEXT, _text_element(fields.text), hint=texts.FORM_TEXT_HINT),
        _input(FormBlock.CHANNELS, texts.FORM_CHANNELS, _channels_element(fields.channel_ids)),
        _input(FormBlock.PEOPLE, texts.FORM_PEOPLE, _people_element(fields.user_ids)),
        _input(FormBlock.FIRST_DAY, texts.FORM_FIRST_DAY, _date_element(fields.first_day)),
        _input(FormBlock.LAST_DAY, texts.FORM_LAST_DAY, _date_element(fields.last_day)),
        _input(FormBlock.KINDS, texts.FORM_KINDS, _kinds_element(fields)),
        # These hold a choice from the start, so that Slack need not call them optional.
        {**_input(FormBlock.MODE, texts.FORM_MODE, _menu(texts.FORM_MODES, fields.mode)), "optional": False},
        {**_input(FormBlock.SORT, texts.FORM_SORT, _menu(texts.FORM_SORTS, fields.sort)), "optional": False},
    ]


def _input(block: FormBlock, label: str, element: Block, *, hint: str | None = None) -> Block:
    made: Block = {
        "type": "input",
        "block_id": block.value,
        "label": plain_text(label),
        "element": {**element, "action_id": _INPUT},
        "optional": True,
    }
    return made if hint is None else {**made, "hint": plain_text(hint)}


def _text_element(text: str) -> Block:
    element: Block = {
        "type": "plain_text_input",
        "focus_on_load": True,
        "placeholder": plain_text(texts.FORM_TEXT_PLACEHOLDER),
    }
    initial = text if text_length(text) <= _INITIAL_CHARACTERS else cut(text, _INITIAL_CHARACTERS)
    return {**element, "initial_value": initial} if initial else element


def _channels_element(channel_ids: Sequence[str]) -> Block:
    element: Block = {
        "type": "multi_conversations_select",
        "placeholder": plain_text(texts.FORM_ANY_CHANNEL),
        "filter": {"include": ["public", "private"]},
        "max_selected_items": SELECTED_ITEMS,
    }
    chosen = list(channel_ids[:SELECTED_ITEMS])
    return {**element, "initial_conversations": chosen} if chosen else element


def _people_element(user_ids: Sequence[str]) -> Block:
    element: Block = {
        "type": "multi_users_select",
        "placeholder": plain_text(texts.FORM_ANYBODY),
        "max_selected_items": SELECTED_ITEMS,
    }
    chosen = list(user_ids[:SELECTED_ITEMS])
    return {**element, "initial_users": chosen} if chosen else element


def _date_element(day: date | None) -> Block:
    element: Block = {"type": "datepicker", "placeholder": plain_text(texts.FORM_ANY_DAY)}
    return {**element, "initial_date": day.isoformat()} if day else element


def _kinds_element(fields: FormFields) -> Block:
    options = {value: _option(label, value) for value, label in texts.FORM_KIND_LABELS.items()}
    chosen = [options[kind] for kind in (*fields.has, *([_THREAD] if fields.is_thread else []))]
    element: Block = {"type": "checkboxes", "options": list(options.values())}
    return {**element, "initial_options": chosen} if chosen else element


def _menu(labels: Mapping[Mode, str] | Mapping[Sort, str], chosen: Mode | Sort) -> Block:
    options = {value.value: _option(label, value.value) for value, label in labels.items()}
    return {"type": "static_select", "options": list(options.values()), "initial_option": options[chosen.value]}


def _option(label: str, value: str) -> Block:
    return {"text": plain_text(label), "value": value}
