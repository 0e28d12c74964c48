"""Makes identifiers in Slack's forms: message timestamps, envelope, view, trigger and file-like ids."""

from __future__ import annotations

import secrets
import string
import uuid

from localslack.json_types import Clock

_UPPER = string.ascii_uppercase + string.digits
_ANY = string.ascii_letters + string.digits


class Stamps:
    """Gives message timestamps: the clock's seconds with six decimals, never the same one twice."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_us = 0

    def next(self) -> str:
        """Return a ts later than every earlier one, even while the clock stands still."""
        self._last_us = max(self._last_us + 1, int(self._clock() * 1_000_000))
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"


def new_id(prefix: str, length: int = 10) -> str:
    """Return ``prefix`` and random capitals and digits, as ids of views, events and bots look."""
    return prefix + "".join(secrets.choice(_UPPER) for _ in range(length))


def new_short_id() -> str:
    """Return five random characters, as Slack gives to blocks and actions without an id."""
    return "".join(secrets.choice(_ANY) for _ in range(5))


def new_envelope_id() -> str:
    """Return a random UUID, as Socket Mode envelopes carry."""
    return str(uuid.uuid4())


def new_secret(length: int = 24) -> str:
    """Return letters and digits that cannot be guessed, for tickets, tokens and response URLs."""
    return "".join(secrets.choice(_ANY) for _ in range(length))


def new_trigger_id() -> str:
    """Return a trigger id in the form a.b.hex, such as 13345224609.738474920.8088930838d88f."""
    first, second = secrets.randbelow(9 * 10**10) + 10**10, secrets.randbelow(9 * 10**8) + 10**8
    return f"{first}.{second}.{secrets.token_hex(16)}"
