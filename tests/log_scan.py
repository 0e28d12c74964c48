"""What a log must not hold, looked for in everything that a test logged."""

import re

_TOKEN = re.compile(r"\b(?:xox[a-z]|xapp)-[\w.-]{4,}", re.IGNORECASE)
_SHORTEST_PHRASE = 12
# Messages of the archives that the tests search, as far as no event's or field's name could hold the same words.
_MESSAGES = (
    "hit rate limit 429 again",
    "the checkout outage e4392",
    "about the outage",
    "lunch is at the harbour",
    "harbour place has no terrace",
    "secret merger",
    "archived zebra paper",
    "platypus joined",
    "<!channel>",
    "we saw 429 again",
)
TYPED: set[str] = set()
"""What was typed in the local Slack since the process began."""


def type_heard(text: str) -> None:
    """Keep what somebody typed, for the search in the log; a command without its name."""
    said = text.partition(" ")[2] if text.startswith("/") else text
    if len(said.strip()) >= _SHORTEST_PHRASE:
        TYPED.add(said.strip().casefold())


def indiscretions(written: str) -> list[str]:
    """Return what a log holds of tokens, archived messages and what was typed."""
    if not written:
        return []
    folded = written.casefold()
    found = [f"a token: {match[0][:8]}…" for match in _TOKEN.finditer(written)]
    found += [f"a message: {text}" for text in _MESSAGES if text in folded]
    return found + [f"what was typed: {text}" for text in sorted(TYPED) if text in folded]
