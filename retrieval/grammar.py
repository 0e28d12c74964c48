"""The query grammar: what an asker typed, understood.

| typed | meaning |
|---|---|
| `in:#general` `-in:general` | any of these channels; none of these |
| `from:@ada` `from:me` `-from:"Mara Lind"` | any of these authors; none of these |
| `before:` `after:` `on:` `during:` | a date in the asker's zone, of one word or several; several modifiers intersect |
| `mode:` `has:` `is:` `sort:` | lexical, semantic, hybrid; link, file, code; thread; relevance, newest, oldest |
| `"rate limit"` `-"rate limit"` | must contain; must not |
| `-word` | must not contain the word; `--word`, `->` and a lone `-` are text |

Everything else is text, also `10:30`, `http://x.io/a`, `foo:bar` and an unfinished quote. A known modifier with an
empty or unknown value is an error and not text: a filter that is quietly not applied misleads. In quotes it is text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from retrieval.analyzer import fold, token_spans
from retrieval.dates import MAX_DATE_WORDS, parse_period
from retrieval.directory import Directory, NamedChannel, NamedPerson
from retrieval.errors import FilterError, QuerySyntaxError, UnknownNameError
from retrieval.lexemes import Lexeme, LexemeKind, SlackForm, lexemes, readable, slack_form, unescape
from retrieval.models import Filters, Mode, Sort
from retrieval.periods import DateModifier, Period

MAX_VALUES: Final = 100
MAX_DATES: Final = 20
_MAX_NAME_WORDS: Final = 4
# An error repeats no more than this of what it could not understand.
_MAX_REPEATED: Final = 80

_ID: Final = re.compile(r"[A-Z0-9]+")

_Choice = TypeVar("_Choice", bound=StrEnum)


class _Has(StrEnum):
    LINK = "link"
    FILE = "file"
    CODE = "code"


class _Is(StrEnum):
    THREAD = "thread"


_EXAMPLES: Final = {
    "in": "in:#general",
    "from": "from:@ada",
    "before": "before:2026-03-01",
    "after": "after:yesterday",
    "on": "on:2026-03-01",
    "during": "during:july",
    "mode": "mode:lexical",
    "has": "has:link",
    "is": "is:thread",
    "sort": "sort:newest",
}
_HAS_WORDS: Final = {"link": "with a link", "file": "with a file", "code": "with code"}
_SORT_WORDS: Final = {
    Sort.RELEVANCE: "best match first",
    Sort.NEWEST: "newest first",
    Sort.OLDEST: "oldest first",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query as understood.

    Attributes:
        text: What is ranked: the words and the words of phrases, in order, single-spaced. Empty where the query
            consists of modifiers and exclusions only.
        mode: The mode that was typed, or None.
        filters: Everything that narrows. Excluded words stand as typed, without punctuation around them; an
            exclusion that is no single token of an index, such as a URL, an emoji or a run of CJK, stands among the
            excluded phrases.
        sort: The order that was typed, else by relevance.
        understood: One line of plain text that repeats all of it, such as
            `rate limit 429 in #payments, from @Mara Lind, after 1 Mar 2026`. As long as what was typed, and
            unescaped: not to be read as markup.
    """

    text: str
    mode: Mode | None
    filters: Filters
    sort: Sort
    understood: str


def parse_query(
    text: str, *, directory: Directory, now: datetime, timezone: ZoneInfo, me: str | None = None
) -> ParsedQuery:
    """Understand *text*, with or without Slack's escaping and forms.

    Linear in the length of *text*. Thread-safe.

    Args:
        text: As typed, or as a slash command delivers it.
        directory: The names that the asker may use.
        now: The present moment, aware.
        timezone: The asker's, whose days dates are.
        me: The asker's user id, for `from:me`.

    Raises:
        QuerySyntaxError: A modifier whose value is missing or cannot be understood, or that stands twice with
            different values where only one can hold.
        UnknownNameError: A channel or person that *directory* does not hold.
        AmbiguousNameError: A part of a name that fits several.
        FilterError: More than 100 values of a kind, more than 20 dates, or dates that leave nothing.
        ValueError: *now* is naive.
    """
    if now.tzinfo is None:
        raise ValueError("now must be an aware datetime")
    reader = _QueryReader(directory=directory, now=now, timezone=timezone, me=me)
    reader.read(lexemes(text))
    return reader.parsed()


@dataclass(slots=True, kw_only=True)
class _QueryReader:
    """Takes lexemes one by one and collects what they say."""

    directory: Directory
    now: datetime
    timezone: ZoneInfo
    me: str | None
    words: list[str] = field(default_factory=list)
    shown_words: list[str] = field(default_factory=list)
    channels: dict[str, str] = field(default_factory=dict)
    excluded_channels: dict[str, str] = field(default_factory=dict)
    authors: dict[str, str] = field(default_factory=dict)
    excluded_authors: dict[str, str] = field(default_factory=dict)
    dates: list[tuple[DateModifier, Period]] = field(default_factory=list)
    has: dict[str, None] = field(default_factory=dict)
    phrases: dict[str, str] = field(default_factory=dict)
    excluded_phrases: dict[str, None] = field(default_factory=dict)
    excluded_words: dict[str, None] = field(default_factory=dict)
    exclusions: dict[str, str] = field(default_factory=dict)
    mode: Mode | None = None
    sort: Sort | None = None
    is_thread: bool = False

    def read(self, pieces: Sequence[Lexeme]) -> None:
        position = 0
        while position < len(pieces):
            piece = pieces[position]
            position += 1
            if piece.kind is LexemeKind.MODIFIER:
                position += self._modifier(piece, pieces[position : position + MAX_DATE_WORDS - 1])
            elif piece.negated:
                self._exclude(piece)
            else:
                self._include(piece)

    def parsed(self) -> ParsedQuery:
        start, end = self._interval()
        return ParsedQuery(
            text=" ".join(self.words),
            mode=self.mode,
            filters=Filters(
                channel_ids=tuple(self.channels),
                author_ids=tuple(self.authors),
                excluded_channel_ids=tuple(self.excluded_channels),
                excluded_author_ids=tuple(self.excluded_authors),
                start_ts_us=start,
                end_ts_us=end,
                has=tuple(self.has),
                is_thread=self.is_thread,
                phrases=tuple(self.phrases),
                excluded_phrases=tuple(self.excluded_phrases),
                excluded_words=tuple(self.excluded_words),
            ),
            sort=self.sort or Sort.RELEVANCE,
            understood=self._understood(),
        )

    def _include(self, piece: Lexeme) -> None:
        said = self._readable(piece.value)
        if not said:
            return
        if piece.kind is LexemeKind.PHRASE:
            _add(self.phrases, said, said, what="phrases")
        self.shown_words.append(f"“{said}”" if piece.kind is LexemeKind.PHRASE else said)
        self.words.append(said)

    def _exclude(self, piece: Lexeme) -> None:
        said = self._readable(piece.value)
        if not said:
            return
        word = None if piece.kind is LexemeKind.PHRASE else _single_word(said)
        if word is None:
            self.excluded_phrases[said] = None
        else:
            self.excluded_words[word] = None
        _add(self.exclusions, said, said, what="exclusions")

    def _modifier(self, piece: Lexeme, following: Sequence[Lexeme]) -> int:
        """Take a modifier in; return how many of the *following* lexemes belong to its value."""
        if piece.negated and piece.key not in {"in", "from"}:
            raise _syntax_error(piece, f"Only in: and from: can be excluded with -, not {piece.key}:.")
        if not piece.value.strip().strip("#@" if piece.key in {"in", "from"} else None):
            raise _syntax_error(piece, f"{piece.key}: needs a value right after it, such as {_EXAMPLES[piece.key]}.")
        if piece.key == "in":
            self._channel(piece)
            return 0
        if piece.key == "from":
            return self._author(piece, following)
        if piece.key in set(DateModifier):
            return self._date(piece, following)
        self._setting(piece)
        return 0

    def _setting(self, piece: Lexeme) -> None:
        if piece.key == "has":
            self.has[_choice(piece, _Has).value] = None
        elif piece.key == "is":
            self.is_thread = _choice(piece, _Is) is _Is.THREAD
        elif piece.key == "mode":
            self.mode = _once(piece, self.mode, _choice(piece, Mode))
        else:
            self.sort = _once(piece, self.sort, _choice(piece, Sort))

    def _channel(self, piece: Lexeme) -> None:
        form = slack_form(piece.value)
        if form and form.sigil != "#":
            raise _syntax_error(piece, f"{piece.key}: takes a channel, such as {_EXAMPLES['in']}.")
        channel = self._linked_channel(form) if form else self.directory.find_channel(self._readable(piece.value))
        values = self.excluded_channels if piece.negated else self.channels
        _add(values, channel.channel_id, channel.label, what="channels")

    def _linked_channel(self, form: SlackForm) -> NamedChannel:
        if known := self.directory.channel_by_id(form.target):
            return known
        # The label must not lead to another channel that happens to have the name now, but it is what the asker
        # saw, so the refusal is that of an unknown name, word for word.
        name = form.label or form.target
        raise UnknownNameError(kind="channel", name=name, suggestions=self.directory.nearest_channels(name))

    def _author(self, piece: Lexeme, following: Sequence[Lexeme]) -> int:
        person, taken = self._person(piece, following)
        values = self.excluded_authors if piece.negated else self.authors
        _add(values, person.user_id, person.label, what="people")
        return taken

    def _person(self, piece: Lexeme, following: Sequence[Lexeme]) -> tuple[NamedPerson, int]:
        form = slack_form(piece.value)
        if form and form.sigil in {"#", "!"}:
            raise _syntax_error(piece, f"{piece.key}: takes a person, such as {_EXAMPLES['from']}.")
        if form and form.sigil == "@":
            return self._mentioned_person(form), 0
        name = self._readable(piece.value)
        if name.lstrip("@").lower() == "me" and not piece.quoted:
            return self._myself(piece), 0
        if not piece.quoted:
            for more in range(min(_plain_words(following), _MAX_NAME_WORDS - 1), 0, -1):
                longer = self._joined(name, following[:more])
                if self.directory.is_person(longer):
                    return self.directory.find_person(longer), more
        return self.directory.find_person(name), 0

    def _mentioned_person(self, form: SlackForm) -> NamedPerson:
        if known := self.directory.person_by_id(form.target):
            return known
        if _ID.fullmatch(form.target):
            return NamedPerson(user_id=form.target, display_name=form.label)
        return self.directory.find_person(form.target)

    def _myself(self, piece: Lexeme) -> NamedPerson:
        if self.me is None:
            raise _syntax_error(piece, "from:me does not work here, because nobody is signed in. Name the person.")
        return self.directory.person_by_id(self.me) or NamedPerson(user_id=self.me, display_name="me")

    def _date(self, piece: Lexeme, following: Sequence[Lexeme]) -> int:
        if len(self.dates) == MAX_DATES:
            raise FilterError(f"A query can hold {MAX_DATES} dates at most.")
        first = self._readable(piece.value)
        for more in range(0 if piece.quoted else _plain_words(following), -1, -1):
            typed = self._joined(first, following[:more])
            period = parse_period(typed, now=self.now, timezone=self.timezone)
            if period is not None:
                self.dates.append((DateModifier(piece.key), period))
                return more
        raise _syntax_error(
            piece,
            f"“{_cut(first)}” after {piece.key}: is not a date. Try 2026-03-01, yesterday, last week, 7d or july 2025.",
        )

    def _interval(self) -> tuple[int | None, int | None]:
        bounds = [period.bounds(modifier) for modifier, period in self.dates]
        start = max((first for first, _ in bounds if first is not None), default=None)
        end = min((last for _, last in bounds if last is not None), default=None)
        if start is not None and end is not None and start > end:
            typed = ", ".join(dict.fromkeys(period.describe(modifier) for modifier, period in self.dates))
            raise FilterError(f"No time fits all of these dates: {typed}.")
        return start, end

    def _understood(self) -> str:
        clauses = [
            *_listed("in", (f"#{label}" for label in self.channels.values())),
            *_listed("not in", (f"#{label}" for label in self.excluded_channels.values())),
            *_listed("from", (f"@{label}" for label in self.authors.values())),
            *_listed("not from", (f"@{label}" for label in self.excluded_authors.values())),
            *dict.fromkeys(period.describe(modifier) for modifier, period in self.dates),
            *(_HAS_WORDS[kind] for kind in self.has),
            *(["in a thread"] if self.is_thread else []),
            *_listed("without", (f"“{said}”" for said in self.exclusions)),
            *([f"{self.mode.value} mode"] if self.mode else []),
            *([_SORT_WORDS[self.sort]] if self.sort else []),
        ]
        words = " ".join(self.shown_words) or ("everything" if clauses else "")
        return f"{words} {', '.join(clauses)}".strip()

    def _joined(self, first: str, following: Sequence[Lexeme]) -> str:
        return " ".join([first, *(self._readable(piece.value) for piece in following)]).rstrip(",;")

    def _readable(self, value: str) -> str:
        """Return *value* unescaped, single-spaced, with names for Slack's forms."""
        return " ".join(readable(value, name_form=self._form_text).split())

    def _form_text(self, form: SlackForm) -> str:
        if form.sigil == "@":
            person = self.directory.person_by_id(form.target)
            return f"@{person.label if person else form.label or form.target}"
        if form.sigil == "#":
            channel = self.directory.channel_by_id(form.target)
            return f"#{channel.label if channel else form.label or form.target}"
        if form.sigil == "!":
            return form.label or f"@{form.target.partition('^')[0]}"
        return _link_text(form)


def _plain_words(following: Sequence[Lexeme]) -> int:
    """Return how many lexemes at the beginning of *following* are plain words."""
    for count, piece in enumerate(following):
        if not piece.is_plain_word:
            return count
    return len(following)


def _single_word(typed: str) -> str | None:
    """Return *typed* without punctuation around it where it is one token of an index, else None."""
    spans = token_spans(typed)
    if len(spans) != 1:
        return None
    surface = typed[spans[0].start : spans[0].end]
    return surface if fold(surface) == spans[0].tokens[0] else None


def _link_text(form: SlackForm) -> str:
    """Return what was typed for a link: Slack turns a typed `x.io` into `<http://x.io|x.io>`."""
    address = form.target.removeprefix("mailto:")
    if not form.label:
        return address
    if form.label in address:
        return form.label
    return f"{form.label} {address}"


def _choice(piece: Lexeme, choices: type[_Choice]) -> _Choice:
    value = unescape(piece.value).strip().lower()
    for choice in choices:
        if choice.value == value:
            return choice
    allowed = ", ".join(f"{piece.key}:{choice.value}" for choice in choices)
    verb = "is not one of" if len(choices) > 1 else "is not"
    raise _syntax_error(piece, f"{piece.key}:{_cut(value)} {verb} {allowed}.")


def _once(piece: Lexeme, before: _Choice | None, choice: _Choice) -> _Choice:
    if before is not None and before is not choice:
        raise _syntax_error(piece, f"{piece.key}: stands twice, as {before.value} and as {choice.value}. Keep one.")
    return choice


def _add(values: dict[str, str], key: str, label: str, *, what: str) -> None:
    if key not in values and len(values) == MAX_VALUES:
        raise FilterError(f"A query can hold {MAX_VALUES} {what} at most.")
    values.setdefault(key, label)


def _listed(preposition: str, labels: Iterable[str]) -> list[str]:
    joined = " or ".join(labels)
    return [f"{preposition} {joined}"] if joined else []


def _syntax_error(piece: Lexeme, message: str) -> QuerySyntaxError:
    typed = f"{'-' if piece.negated else ''}{piece.key}:"
    # As the asker saw it: ids and angle brackets are nothing that one types.
    said = readable(piece.value, name_form=lambda form: f"{form.sigil}{form.label or form.target}")
    hint = f' To search for the text itself, put it in quotes: "{typed}{_cut(said)}".'
    return QuerySyntaxError(message + hint, modifier=typed, value=unescape(piece.value))


def _cut(value: str) -> str:
    return value if len(value) <= _MAX_REPEATED else f"{value[:_MAX_REPEATED]}…"
