"""Reads JSON from bytes: without floats, without tokens, and with the byte where it breaks."""

import json
from typing import Final

from retrieval.builder.report import Ledger
from retrieval.redaction import remove_tokens

# Floats would round timestamps; a number with a point stays the text that it is.
_DECODER: Final = json.JSONDecoder(parse_float=str, strict=False)


def read_json(content: bytes, label: str, ledger: Ledger) -> object | None:
    """Return the value that *content* holds, or None where it cannot be parsed; the ledger says where and why.

    Args:
        content: UTF-8, with or without a byte order mark.
        label: The file's name for the ledger.
        ledger: Takes what is unreadable and how many tokens were removed.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        ledger.skip_file(label, error.start, "not UTF-8")
        return None
    clean, removed = remove_tokens(text)
    ledger.count("tokens_removed", removed)
    try:
        value, end = _DECODER.raw_decode(clean.lstrip())
        lead = len(clean) - len(clean.lstrip())
        if clean[lead + end :].strip():
            raise json.JSONDecodeError("Extra data", clean, lead + end)
    except json.JSONDecodeError:
        ledger.skip_file(label, *_fault(text, len(content) - len(text.encode())))
        return None
    except (RecursionError, ValueError) as error:
        ledger.skip_file(label, None, str(error))
        return None
    return value if value is not None else []


def _fault(text: str, mark: int) -> tuple[int, str]:
    """Return the byte where *text* stops being JSON, and why; *mark* bytes stand before it in the file."""
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return mark + len(text[: error.pos].encode()), error.msg
    return 0, "not JSON"
