"""Small composable rules: each looks at one JSON value and notes what Slack would object to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Problem:
    """One objection and where it stands (a JSON pointer from the payload's root)."""

    message: str
    pointer: str

    def __str__(self) -> str:
        """Return the sentence as Slack's ``response_metadata.messages`` spell it."""
        return f"{self.message} [json-pointer:{self.pointer}]"


class Rule(Protocol):
    """Judges one value."""

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Append to ``found`` what is wrong with ``value``, which stands at pointer ``at``."""


@dataclass(frozen=True, slots=True)
class Str:
    """A string of bounded length (in characters), optionally one of some choices or of a pattern."""

    most: int = 1_000_000
    least: int = 1
    choices: tuple[str, ...] = ()
    pattern: str = ""

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check type, length, choices and pattern."""
        if not isinstance(value, str):
            found.append(Problem("must provide a string", at))
        elif len(value) > self.most:
            found.append(Problem(f"must be less than {self.most + 1} characters", at))
        elif len(value) < self.least:
            found.append(Problem(f"must be more than {self.least - 1} characters", at))
        elif self.choices and value not in self.choices:
            found.append(Problem(f"must be one of: {', '.join(self.choices)}", at))
        elif self.pattern and not re.fullmatch(self.pattern, value, flags=re.DOTALL):
            found.append(Problem(f"failed to match the pattern {self.pattern}", at))


@dataclass(frozen=True, slots=True)
class Bool:
    """A JSON boolean."""

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check the type; 0 and 1 are not booleans."""
        if not isinstance(value, bool):
            found.append(Problem("must provide a boolean", at))


@dataclass(frozen=True, slots=True)
class Int:
    """A JSON integer within bounds, both inclusive."""

    least: int = -(2**53)
    most: int = 2**53

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check type and bounds."""
        if not isinstance(value, int) or isinstance(value, bool):
            found.append(Problem("must provide an integer", at))
        elif value < self.least:
            found.append(Problem(f"must be greater than or equal to {self.least}", at))
        elif value > self.most:
            found.append(Problem(f"must be less than or equal to {self.most}", at))


@dataclass(frozen=True, slots=True)
class Number:
    """Any JSON number."""

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check the type."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            found.append(Problem("must provide a number", at))


@dataclass(frozen=True, slots=True)
class Items:
    """An array of bounded length whose items all obey one rule."""

    item: Rule
    most: int = 1_000_000
    least: int = 0

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check type and length, then every item."""
        if not isinstance(value, list):
            found.append(Problem("must provide an array", at))
            return
        if len(value) > self.most:
            found.append(Problem(f"no more than {self.most} items allowed", at))
        if len(value) < self.least:
            found.append(Problem(f"no fewer than {self.least} items allowed", at))
        for index, item in enumerate(value):
            self.item.check(item, f"{at}/{index}", found)


@dataclass(frozen=True, slots=True)
class Obj:
    """An object with these keys and no others.

    ``exactly_one`` and ``at_least_one`` name groups of optional keys of which one must be there.
    """

    required: Mapping[str, Rule] = field(default_factory=dict)
    optional: Mapping[str, Rule] = field(default_factory=dict)
    exactly_one: tuple[str, ...] = ()
    at_least_one: tuple[str, ...] = ()

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check for missing and unknown keys, then every known key's value."""
        if not isinstance(value, dict):
            found.append(Problem("must provide an object", at))
            return
        found.extend(Problem(f"missing required field: {key}", at) for key in self.required if key not in value)
        self._check_groups(value, at, found)
        for key, item in value.items():
            rule = self.required.get(key) or self.optional.get(key)
            if rule is None:
                found.append(Problem(f"invalid additional property: {key}", at))
            else:
                rule.check(item, f"{at}/{key}", found)

    def _check_groups(self, value: Mapping[str, object], at: str, found: list[Problem]) -> None:
        if self.exactly_one and sum(key in value for key in self.exactly_one) != 1:
            found.append(Problem(f"must provide exactly one of: {', '.join(self.exactly_one)}", at))
        if self.at_least_one and not any(key in value for key in self.at_least_one):
            found.append(Problem(f"must provide at least one of: {', '.join(self.at_least_one)}", at))


@dataclass(frozen=True, slots=True)
class ByType:
    """An object whose ``type`` decides its rule; types outside the mapping are not allowed here."""

    kinds: Mapping[str, Rule]

    def check(self, value: object, at: str, found: list[Problem]) -> None:
        """Check that the type is known and allowed, then the object."""
        if not isinstance(value, dict):
            found.append(Problem("must provide an object", at))
            return
        kind = value.get("type")
        rule = self.kinds.get(kind) if isinstance(kind, str) else None
        if rule is None:
            found.append(Problem(f"unsupported type: {kind}", f"{at}/type"))
            return
        rule.check(value, at, found)

    def only(self, names: Sequence[str]) -> ByType:
        """Return the same rule for these types alone."""
        return ByType({name: self.kinds[name] for name in names})


def typed(kind: str, required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Obj:
    """Return the rule for an object whose ``type`` is ``kind``."""
    return Obj({"type": Str(choices=(kind,)), **required}, optional or {})
