"""Cursors: opaque text that says where a list goes on, and over what it was made.

A cursor holds no query and no secret: only the artifact's id, digests of the request and of what the asker may
see, and an offset. It is checked against the request that comes with it; it grants nothing.
"""

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import asdict
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.errors import (
    CursorMismatchError,
    CursorRangeError,
    CursorVisibilityError,
    MalformedCursorError,
    StaleCursorError,
)
from retrieval.models import Filters, Fusion, SearchRequest
from retrieval.visibility import Visibility

MAX_OFFSET: Final = 10_000
_PREFIX: Final = "sq1."
_MAX_CHARS: Final = 1_000


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    a: str
    q: str
    v: str
    o: int


def fingerprint(request: SearchRequest, fusion: Fusion) -> str:
    """Return a digest of what *request* asks for, whatever the order of its filters' values; 16 hex digits.

    Limit and cursor do not take part: pages of any size walk through the same list.
    """
    content: list[object] = [
        request.text,
        request.mode.value,
        request.sort.value,
        fusion.value,
        _order_free(request.filters),
    ]
    if request.similar_to is not None or request.folds_threads:
        # Only where they are used, so that cursors from before they were known stay good.
        content += [request.similar_to, request.folds_threads]
    if request.asked_at_us is not None:
        content += [request.asked_at_us]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def encode_cursor(
    offset: int, *, artifact_id: str, request: SearchRequest, visibility: Visibility, fusion: Fusion
) -> str:
    """Return the cursor that goes on at *offset*, counted from 0; ASCII, some 130 characters."""
    payload = _Payload(a=artifact_id, q=fingerprint(request, fusion), v=visibility.fingerprint(), o=offset)
    data = payload.model_dump_json().encode()
    sealed = data + zlib.crc32(data).to_bytes(4, "big")
    return _PREFIX + base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def decode_cursor(
    text: str, *, artifact_id: str, request: SearchRequest, visibility: Visibility, fusion: Fusion
) -> int:
    """Return the offset that *text* holds, once it fits everything else.

    Raises:
        MalformedCursorError: Not a cursor of this version, truncated or altered.
        StaleCursorError: Made over another artifact.
        CursorMismatchError: Made for another query, mode, order or filter.
        CursorVisibilityError: Made when the asker could see other things.
        CursorRangeError: The offset is outside 0..10,000.
    """
    payload = _parse(text)
    if payload.a != artifact_id:
        raise StaleCursorError(cursor_artifact_id=payload.a, artifact_id=artifact_id)
    if payload.q != fingerprint(request, fusion):
        raise CursorMismatchError("This cursor belongs to another query, mode or filter.")
    if payload.v != visibility.fingerprint():
        raise CursorVisibilityError("What you may see has changed since this page was shown. Search again.")
    if not 0 <= payload.o <= MAX_OFFSET:
        raise CursorRangeError(offset=payload.o, maximum=MAX_OFFSET)
    return payload.o


def _parse(text: str) -> _Payload:
    malformed = MalformedCursorError("This is not a cursor of slackquery, or it was cut or altered.")
    if not text.startswith(_PREFIX) or len(text) > _MAX_CHARS or not text.isascii():
        raise malformed
    body = text[len(_PREFIX) :]
    try:
        sealed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        data, check = sealed[:-4], sealed[-4:]
        if zlib.crc32(data).to_bytes(4, "big") != check:
            raise malformed
        return _Payload.model_validate_json(data)
    except (binascii.Error, ValidationError) as error:
        raise malformed from error


def _order_free(filters: Filters) -> dict[str, object]:
    return {
        name: sorted(value) if isinstance(value, tuple) else value for name, value in sorted(asdict(filters).items())
    }
