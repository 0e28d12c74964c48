"""Takes secrets out of text: Slack tokens, and the query strings of Slack file URLs that carry them."""

import re
from typing import Final

# Without a space, so that a URL that held a token is still one piece when its query goes.
REMOVED: Final = "[token-removed]"

_TOKEN: Final = re.compile(r"xox[a-z]-[\w-]*", re.IGNORECASE)
_TOKEN_START: Final = re.compile(r"xox[a-z]-", re.IGNORECASE)
# Hosts and paths under which Slack serves uploads; a permalink into a conversation keeps its query.
_FILE_URL: Final = re.compile(
    r"(https?://(?:files\.slack\.com/|[\w.-]*slack-files\.com/|[\w-]+\.slack\.com/files)[^\s<>|?#)\"']*)\?[^\s<>|)\"']*"
)


def redact(text: str) -> str:
    """Return *text* without anything that looks like a Slack token, and file URLs without their query."""
    if "slack" in text:
        text = _FILE_URL.sub(r"\1", text)
    return remove_tokens(text)[0]


def remove_tokens(text: str) -> tuple[str, int]:
    """Return *text* without tokens, and how many were taken out.

    Safe on the text of JSON: neither what is taken out nor what is put in holds a quote or a backslash. Upper
    and lower case count alike, because the index folds case.
    """
    return _TOKEN.subn(REMOVED, text) if holds_token(text) else (text, 0)


def holds_token(text: str) -> bool:
    """Return whether something that looks like the start of a Slack token stands in *text*."""
    # Looking for three letters is several times faster, and nearly always enough: no other character folds to them, and
    # bytes are lowered faster than characters.
    return b"xox" in text.encode("utf-8", "surrogatepass").lower() and _TOKEN_START.search(text) is not None
