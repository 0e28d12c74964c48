"""Trigger ids: the right to open a modal, for three seconds and once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localslack.errors import ApiError
from localslack.ids import new_trigger_id
from localslack.json_types import Clock

TRIGGER_SECONDS = 3.0


@dataclass(slots=True, kw_only=True)
class Trigger:
    """Who acted and when; ``view_id`` is the modal in which it happened, if any."""

    user_id: str
    sent_at: float
    view_id: str | None = None
    used: bool = False


class Triggers:
    """Gives out and takes back trigger ids."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._given: dict[str, Trigger] = {}

    def give(self, user_id: str, *, view_id: str | None = None) -> str:
        """Return a new trigger id of this person, valid from now."""
        trigger_id = new_trigger_id()
        self._given[trigger_id] = Trigger(user_id=user_id, sent_at=self._clock(), view_id=view_id)
        return trigger_id

    def redeem(self, trigger_id: str) -> Trigger:
        """Use a trigger id up and return whose it was.

        Raises:
            ApiError: ``invalid_trigger_id`` (not of the form a.b.hex, or never given),
                ``expired_trigger_id`` (after 3 s) or ``exchanged_trigger_id`` (second use).
        """
        trigger = self._given.get(trigger_id)
        if trigger is None or not re.fullmatch(r"\d+\.\d+\.[0-9a-f]+", trigger_id):
            raise ApiError("invalid_trigger_id")
        if trigger.used:
            raise ApiError("exchanged_trigger_id")
        if self._clock() - trigger.sent_at > TRIGGER_SECONDS:
            raise ApiError("expired_trigger_id")
        trigger.used = True
        return trigger
