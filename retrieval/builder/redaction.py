"""Takes secrets out of text: Slack tokens, and the query strings of Slack file URLs that carry them."""

import re
from typing import Final

REMOVED: Final = "[token removed]"

_TOKEN: Final = re.compile(r"xox[a-z]-[\w-]*", re.IGNORECASE)
_TOKEN_START: Final = re.compile(r"xox[a-z]-", re.IGNORECASE)
# Hosts and paths under which Slack serves uploads; a permalink into a conversation keeps its query.
_FILE_URL: Final = re.compile(
    r"(https?://(?:files\.slack\.com/|[\w.-]*slack-files\.com/|[\w-]+\.slack\.com/files)[^\s<>|?#)\"']*)\?[^\s<>|)\"']*"
)


def redact(text: str) -> str:
    """Return *text* without anything that looks like a Slack token, and file URLs without their query."""
    return remove_tokens(text)[0]


def remove_tokens(text: str) -> tuple[str, int]:
    """Return *text* without secrets, and how many tokens were taken out.

    Pure and safe on JSON text: what is put in needs no escaping. Upper and lower case count alike, because
    the index folds case.
    """
    found = sum(1 for _ in _TOKEN_START.finditer(text))
    if "slack" in text:
        text = _FILE_URL.sub(r"\1", text)
    return (_TOKEN.sub(REMOVED, text) if found else text), found


def holds_token(text: str) -> bool:
    """Return whether something that looks like the start of a Slack token stands in *text*."""
    return _TOKEN_START.search(text) is not None
