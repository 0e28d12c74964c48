"""What a search form holds, and the query that says the same: one grammar for the form and for the command line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from bot.elements import escaped
from retrieval import Mode, NameDirectory, Sort
from retrieval.lexemes import Lexeme, LexemeKind, SlackForm, lexemes, readable, slack_form

TEXT_CHARACTERS: Final = 1_000
"""How long the words of a form may be: with ten channels and ten people a button still holds most such searches."""

_DAY: Final = timedelta(days=1)
# Of what looks like Slack's own forms in a typed text, only people and channels are read as such.
_TYPED_FORM: Final = re.compile(r"&lt;([@#][A-Z0-9]{2,20}(?:\|[^&<>|]{0,80})?)&gt;")
_NOT_IN_LABELS: Final = re.compile(r"[<>|&\n]")
_HAS: Final = ("link", "file", "code")


class FormBlock(StrEnum):
    """The block_id of each field."""

    TEXT = "form_text"
    CHANNELS = "form_channels"
    PEOPLE = "form_people"
    FIRST_DAY = "form_first_day"
    LAST_DAY = "form_last_day"
    KINDS = "form_kinds"
    MODE = "form_mode"
    SORT = "form_sort"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFields:
    """What stands in a search form.

    Attributes:
        text: Words, phrases and any modifier, as one types them.
        channel_ids: Any of these channels.
        user_ids: Any of these people.
        first_day: From this day on, in the asker's time zone.
        last_day: Up to and with this day.
        has: Any subset of `link`, `file`, `code`.
        is_thread: Only messages of threads.
        mode: How to rank.
        sort: The order.
    """

    text: str = ""
    channel_ids: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    first_day: date | None = None
    last_day: date | None = None
    has: tuple[str, ...] = ()
    is_thread: bool = False
    mode: Mode = Mode.HYBRID
    sort: Sort = Sort.RELEVANCE

    def pieces(self, names: NameDirectory | None = None) -> list[tuple[FormBlock, str]]:
        """Return the query's parts with the fields they come from, in the order in which they are understood.

        Args:
            names: Gives channels and people their names within the query; None leaves their ids alone.
        """
        dated = FormBlock.LAST_DAY if self.last_day else FormBlock.FIRST_DAY
        settings = [*(f"has:{kind}" for kind in self.has), *(["is:thread"] if self.is_thread else [])]
        return [
            *([(FormBlock.TEXT, _TYPED_FORM.sub(r"<\1>", escaped(self.text.strip())))] if self.text.strip() else []),
            *((FormBlock.CHANNELS, f"in:<#{one}{_channel_label(one, names)}>") for one in self.channel_ids),
            *((FormBlock.PEOPLE, f"from:<@{one}{_person_label(one, names)}>") for one in self.user_ids),
            *((dated, said) for said in _dates(self.first_day, self.last_day)),
            *((FormBlock.KINDS, said) for said in settings),
            *([(FormBlock.MODE, f"mode:{self.mode.value}")] if self.mode is not Mode.HYBRID else []),
            *([(FormBlock.SORT, f"sort:{self.sort.value}")] if self.sort is not Sort.RELEVANCE else []),
        ]

    def command(self, names: NameDirectory | None = None) -> str:
        """Return the query that says the same as the form, as a slash command would deliver it."""
        return " ".join(said for _, said in self.pieces(names))


def fields_of(command: str) -> FormFields:
    """Return the form that says the same as a command's text.

    What a field can hold goes into it; all else, such as `-in:` or `during:july`, stays in the text as typed.
    """
    found = _Found()
    pieces = lexemes(command)
    for piece, following in zip(pieces, [*pieces[1:], None], strict=False):
        if piece.kind is not LexemeKind.MODIFIER or not found.take(piece, following):
            found.text.append(_typed(piece))
    return FormFields(
        text=" ".join(found.text),
        channel_ids=tuple(dict.fromkeys(found.channel_ids)),
        user_ids=tuple(dict.fromkeys(found.user_ids)),
        first_day=found.first_day,
        last_day=found.last_day,
        has=tuple(kind for kind in _HAS if kind in found.has),
        is_thread=found.is_thread,
        mode=found.mode or Mode.HYBRID,
        sort=found.sort or Sort.RELEVANCE,
    )


@dataclass(slots=True, kw_only=True)
class _Found:
    """Fields as they are filled from a query's pieces."""

    text: list[str] = field(default_factory=list)
    channel_ids: list[str] = field(default_factory=list)
    user_ids: list[str] = field(default_factory=list)
    first_day: date | None = None
    last_day: date | None = None
    has: list[str] = field(default_factory=list)
    is_thread: bool = False
    mode: Mode | None = None
    sort: Sort | None = None

    def take(self, piece: Lexeme, following: Lexeme | None) -> bool:
        """Put a modifier into its field; return False where no field can hold it."""
        if piece.negated:
            return False
        match piece.key:
            case "in" | "from":
                return self._take_name(piece)
            case "after" | "before" | "on" | "during":
                return self._take_date(piece, following)
            case "has" if piece.value.lower() in _HAS:
                self.has.append(piece.value.lower())
            case "is" if piece.value.lower() == "thread":
                self.is_thread = True
            case "mode" if self.mode is None and piece.value.lower() in set(Mode):
                self.mode = Mode(piece.value.lower())
            case "sort" if self.sort is None and piece.value.lower() in set(Sort):
                self.sort = Sort(piece.value.lower())
            case _:
                return False
        return True

    def _take_name(self, piece: Lexeme) -> bool:
        form = slack_form(piece.value)
        sigil, ids = ("#", self.channel_ids) if piece.key == "in" else ("@", self.user_ids)
        if form is None or form.sigil != sigil:
            return False
        ids.append(form.target)
        return True

    def _take_date(self, piece: Lexeme, following: Lexeme | None) -> bool:
        first, last = _days_of(piece)
        # `after:2026-03-01 10:30` is a moment, which a day cannot say.
        is_moment = following is not None and following.is_plain_word and following.value[:1].isdigit()
        if is_moment or not (first or last) or (first and self.first_day) or (last and self.last_day):
            return False
        self.first_day, self.last_day = first or self.first_day, last or self.last_day
        return True


def _days_of(piece: Lexeme) -> tuple[date | None, date | None]:
    """Return the first and the last day that a modifier of dates stands for; None twice where it is no such."""
    start, dots, end = piece.value.partition("..")
    day, other = _iso_day(start), _iso_day(end)
    if piece.key in {"during", "on"} and day and dots and other and day <= other:
        return day, other
    if day is None or dots:
        return None, None
    return {
        "after": (day + _DAY, None),
        "before": (None, day - _DAY),
    }.get(piece.key, (day, day))


def _dates(first: date | None, last: date | None) -> list[str]:
    """Return the days in the grammar's words; `after:` and `before:` leave out the day that they name."""
    if first and first == last:
        return [f"on:{first.isoformat()}"]
    if first and last and first < last:
        return [f"during:{first.isoformat()}..{last.isoformat()}"]
    # No message is from before the first day that there is, or after the last: they narrow nothing.
    return [
        *([f"after:{(first - _DAY).isoformat()}"] if first and first > date.min else []),
        *([f"before:{(last + _DAY).isoformat()}"] if last and last < date.max else []),
    ]


def _iso_day(value: str) -> date | None:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # One day is counted on from it.
    return day if date.min < day < date.max and value == day.isoformat() else None


def _channel_label(channel_id: str, names: NameDirectory | None) -> str:
    channel = names.channel_by_id(channel_id) if names is not None else None
    return _label(channel.label if channel is not None else "")


def _person_label(user_id: str, names: NameDirectory | None) -> str:
    person = names.person_by_id(user_id) if names is not None else None
    return _label(person.label if person is not None else "")


def _label(name: str) -> str:
    plain = _NOT_IN_LABELS.sub("", name)
    return f"|{plain}" if plain else ""


def _typed(piece: Lexeme) -> str:
    """Return a piece as one would type it into the form's text."""
    value = readable(piece.value, name_form=_typed_form)
    said = f'"{value}"' if piece.quoted else value
    sign = "-" if piece.negated else ""
    return f"{sign}{piece.key}:{said}" if piece.kind is LexemeKind.MODIFIER else f"{sign}{said}"


def _typed_form(form: SlackForm) -> str:
    if form.sigil in {"#", "@"}:
        return f"<{form.sigil}{form.target}{_label(form.label)}>"
    if form.sigil == "!":
        return form.label or f"@{form.target.partition('^')[0]}"
    address = form.target.removeprefix("mailto:")
    return form.label if form.label and form.label in address else address


def has_order_of_days(fields: FormFields) -> bool:
    """Return whether the first day stands no later than the last, where both are given."""
    return not (fields.first_day and fields.last_day) or fields.first_day <= fields.last_day


def joined_up_to(pieces: Sequence[tuple[FormBlock, str]], count: int) -> str:
    """Return the query of the first *count* pieces."""
    return " ".join(said for _, said in pieces[:count])
