"""Pages of a list, by cursors that name the last item shown, so that insertions do not shift them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

from localslack.errors import ApiError

Item = TypeVar("Item")


def page_of(
    items: Sequence[Item], key: Callable[[Item], str], *, cursor: str | None, limit: int
) -> tuple[list[Item], str]:
    """Return one page and the cursor of the next, "" after the last.

    Raises:
        ApiError: ``invalid_cursor`` when the cursor is not one of ours or its item is gone.
    """
    start = 0
    if cursor is not None:
        keys = [key(item) for item in items]
        last = _decode(cursor)
        if last not in keys:
            raise ApiError("invalid_cursor")
        start = keys.index(last) + 1
    shown = list(items[start : start + limit])
    more = start + limit < len(items)
    return shown, _encode(key(shown[-1])) if more and shown else ""


def _encode(last: str) -> str:
    return base64.b64encode(f"next:{last}".encode()).decode()


def _decode(cursor: str) -> str:
    try:
        text = base64.b64decode(cursor, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise ApiError("invalid_cursor") from exc
    if not text.startswith("next:"):
        raise ApiError("invalid_cursor")
    return text.removeprefix("next:")
