"""The channels and people that one asker may name in a query.

A directory knows only what its caller puts into it, and the caller puts in only what the asker may see. Whatever
it says, a suggestion, an ambiguity, an unknown name, therefore comes from the allowed set alone, and an id that it
does not hold is refused with the same words as a name that does not exist.
"""

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from retrieval.errors import AmbiguousNameError, UnknownNameError

MAX_SUGGESTIONS: Final = 3
MAX_LISTED: Final = 10
# Comparing costs the square of the length, and nobody misspells a name this long.
_MAX_SUGGESTED_FROM: Final = 80

_CHANNEL_ID: Final = re.compile(r"[CGD](?=[A-Z]*[0-9])[A-Z0-9]+")
_PERSON_ID: Final = re.compile(r"[UWB](?=[A-Z]*[0-9])[A-Z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedChannel:
    """A channel that the asker may see.

    Attributes:
        channel_id: Slack's id.
        name: Its name without `#`; empty where it has none, as direct messages do.
    """

    channel_id: str
    name: str

    @property
    def label(self) -> str:
        """What a reader knows it by: its name, else its id."""
        return self.name or self.channel_id


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPerson:
    """A person who may be named as an author.

    Attributes:
        user_id: Slack's id.
        name: The user name, such as `mara`.
        display_name: What Slack shows beside messages; may be empty.
        real_name: The full name; may be empty.
        deleted: Whether the account is deactivated. An active account of the same name comes first.
    """

    user_id: str
    name: str = ""
    display_name: str = ""
    real_name: str = ""
    deleted: bool = False

    @property
    def label(self) -> str:
        """What a reader knows them by: display name, else real name, else user name, else id."""
        return self.display_name or self.real_name or self.name or self.user_id


class Directory(Protocol):
    """What the grammar needs to know of names."""

    def find_channel(self, name: str) -> NamedChannel:
        """Return the channel called *name*, an id, a name or a part of one name only.

        Raises:
            UnknownNameError: Nothing of that name, or an id that is not held.
            AmbiguousNameError: It fits several.
        """
        ...

    def find_person(self, name: str) -> NamedPerson:
        """Return the person called *name*, an id, any of their names or a part of one person's only.

        Raises:
            UnknownNameError: Nobody of that name.
            AmbiguousNameError: It fits several.
        """
        ...

    def is_person(self, name: str) -> bool:
        """Tell whether *name* is in full somebody's name."""
        ...

    def nearest_channels(self, name: str) -> Sequence[str]:
        """Return the names of the channels that *name* may be a misspelling of, nearest first, never itself."""
        ...

    def channel_by_id(self, channel_id: str) -> NamedChannel | None:
        """Return the channel with exactly this id, if it is held."""
        ...

    def person_by_id(self, user_id: str) -> NamedPerson | None:
        """Return the person with exactly this id, if they are held."""
        ...


class NameDirectory:
    """A directory over two plain lists.

    Names are compared whatever their case and compatibility form. An id comes first, then a full name, then a part
    of a name. Immutable once made, so safe in any number of threads. Building is linear; a full name is a dictionary
    look-up; a part of a name and a suggestion read every name.
    """

    def __init__(self, channels: Sequence[NamedChannel], people: Sequence[NamedPerson]) -> None:
        self._channels = {channel.channel_id: channel for channel in channels}
        self._people = {person.user_id: person for person in people}
        self._channel_labels = _unique_labels({key: (one.label,) for key, one in self._channels.items()})
        self._person_labels = _unique_labels(
            {key: (one.label, f"{one.label} (@{one.name})") for key, one in self._people.items()}
        )
        self._channel_names = _index(
            (key, (one.name, self._channel_labels[key])) for key, one in self._channels.items()
        )
        self._person_names = _index(
            (key, (one.name, one.display_name, one.real_name, self._person_labels[key]))
            for key, one in self._people.items()
        )

    def find_channel(self, name: str) -> NamedChannel:
        """Return the channel called *name*; a leading `#` does not count.

        Raises:
            UnknownNameError: Nothing of that name, or an id that is not held: the same words for both.
            AmbiguousNameError: It fits several; `matches` are names that find exactly one each.
        """
        wanted = name.strip()
        if known := self._channels.get(wanted):
            return known
        wanted = wanted.lstrip("#")
        found: Sequence[str] = self._channel_names.get(_key(wanted), ())
        if not found and not _CHANNEL_ID.fullmatch(wanted):
            found = _partial(self._channel_names, wanted)
        return self._channels[self._only(found, self._channel_labels, kind="channel", name=wanted)]

    def find_person(self, name: str) -> NamedPerson:
        """Return the person called *name*; a leading `@` does not count.

        An id of a person's form that is not held stands for itself: authors outnumber the members of a workspace
        (shared channels, apps), and a filter by an id tells nothing that the asker's own results would not.

        Raises:
            UnknownNameError: Nobody of that name.
            AmbiguousNameError: It fits several; `matches` are names that find exactly one each.
        """
        wanted = name.strip()
        if known := self._people.get(wanted):
            return known
        wanted = wanted.lstrip("@")
        found: Sequence[str] = self._person_names.get(_key(wanted), ())
        if not found and _PERSON_ID.fullmatch(wanted):
            return NamedPerson(user_id=wanted)
        found = self._preferred(found or _partial(self._person_names, wanted))
        return self._people[self._only(found, self._person_labels, kind="person", name=wanted)]

    def is_person(self, name: str) -> bool:
        """Tell whether *name* is in full somebody's name."""
        return _key(name.strip().lstrip("@")) in self._person_names

    def nearest_channels(self, name: str) -> Sequence[str]:
        """Return the names of up to 3 channels that *name* may be a misspelling of, nearest first, never itself."""
        return _suggestions(name, self._channel_labels.values())

    def channel_by_id(self, channel_id: str) -> NamedChannel | None:
        """Return the channel with exactly this id, if it is held."""
        return self._channels.get(channel_id)

    def person_by_id(self, user_id: str) -> NamedPerson | None:
        """Return the person with exactly this id, if they are held."""
        return self._people.get(user_id)

    def _preferred(self, found: Sequence[str]) -> Sequence[str]:
        """Return the one active account among deactivated ones of the same name, else all of *found*."""
        active = [user_id for user_id in found if not self._people[user_id].deleted]
        return active if len(active) == 1 else found

    @staticmethod
    def _only(found: Sequence[str], labels: Mapping[str, str], *, kind: str, name: str) -> str:
        if len(found) == 1:
            return found[0]
        shown = name if len(name) <= _MAX_SUGGESTED_FROM else f"{name[:_MAX_SUGGESTED_FROM]}…"
        if not found:
            raise UnknownNameError(kind=kind, name=shown, suggestions=_suggestions(name, labels.values()))
        matches = sorted(labels[identifier] for identifier in found)
        raise AmbiguousNameError(kind=kind, name=shown, matches=matches[:MAX_LISTED])


def _key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _index(entries: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Return folded name -> the ids that carry it, each once, in the order given."""
    index: dict[str, dict[str, None]] = defaultdict(dict)
    for identifier, names in entries:
        for name in names:
            if folded := _key(name):
                index[folded][identifier] = None
    return {name: tuple(identifiers) for name, identifiers in index.items()}


def _unique_labels(candidates: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return for every id the first of its candidates that nobody else has, else its label with the id."""
    carriers: dict[str, int] = defaultdict(int)
    for labels in candidates.values():
        for label in {_key(label) for label in labels}:
            carriers[label] += 1
    return {
        identifier: next((label for label in labels if carriers[_key(label)] == 1), f"{labels[0]} ({identifier})")
        for identifier, labels in candidates.items()
    }


def _partial(index: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    part = _key(name)
    if not part:
        return ()
    found = (identifier for known, identifiers in index.items() if part in known for identifier in identifiers)
    return tuple(dict.fromkeys(found))


def _suggestions(name: str, labels: Iterable[str]) -> list[str]:
    """Return the nearest labels, nearest first; never the name itself, which was just said not to exist."""
    wanted = _key(name)
    if len(wanted) > _MAX_SUGGESTED_FROM:
        return []
    by_key = {_key(label): label for label in sorted(labels)}
    by_key.pop(wanted, None)
    return [by_key[near] for near in difflib.get_close_matches(wanted, list(by_key), n=MAX_SUGGESTIONS)]
