"""Web API arguments, however they came: query, form, multipart or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aiohttp import web

from localslack.errors import ApiError, invalid_arguments
from localslack.json_types import JsonObject

_TRUE = frozenset({"1", "true", "True"})
_FALSE = frozenset({"0", "false", "False", ""})


class Arguments:
    """The arguments of one call, read by type; wrong types are ``invalid_arguments``."""

    def __init__(self, raw: JsonObject) -> None:
        self.raw = raw

    def find_text(self, name: str) -> str | None:
        """Return a string argument; None when absent or empty."""
        value = self.raw.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, bool | dict | list):
            raise invalid_arguments(f"must provide a string [json-pointer:/{name}]")
        return str(value)

    def text(self, name: str) -> str:
        """Return a string argument that must be there.

        Raises:
            ApiError: ``invalid_arguments`` when it is absent or empty.
        """
        value = self.find_text(name)
        if value is None:
            raise invalid_arguments(f"missing required field: {name}")
        return value

    def flag(self, name: str, default: str = "0") -> bool:
        """Return a boolean argument: JSON booleans, 1/0 or true/false."""
        value = str(self.raw.get(name, default))
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise invalid_arguments(f"must provide a boolean [json-pointer:/{name}]")

    def limit(self, *, default: int, most: int) -> int:
        """Return ``limit``, the size of a page.

        Raises:
            ApiError: ``invalid_limit`` when it is no whole number from 1 to ``most``.
        """
        text = self.find_text("limit")
        if text is None or text == "0":
            return default
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
            raise ApiError("invalid_limit")
        return int(text)

    def words(self, name: str, *, default: str) -> Sequence[str]:
        """Return a comma-separated argument, blanks dropped."""
        text = self.find_text(name) or default
        return [word.strip() for word in text.split(",") if word.strip()]

    def json_value(self, name: str, *, error: str) -> object:
        """Return a structured argument, given as JSON text or (in JSON bodies) as itself; None if absent.

        Raises:
            ApiError: ``error`` when the text is not JSON.
        """
        value = self.raw.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            parsed: object = json.loads(value)
        except json.JSONDecodeError as exc:
            raise ApiError(error) from exc
        return parsed


async def read_arguments(request: web.Request) -> JsonObject:
    """Read a request's arguments, the query's first and the body's over them.

    A token counts in a form only; Slack takes none from a query or a JSON body.

    Raises:
        ApiError: ``invalid_json``, ``json_not_object``, ``invalid_form_data`` or ``invalid_post_type``.
    """
    arguments: JsonObject = {name: value for name, value in request.query.items() if name != "token"}
    if request.method != "POST":
        return arguments
    kind = request.content_type
    if kind == "application/json":
        arguments |= await _json_body(request)
        arguments.pop("token", None)
    elif kind in {"application/x-www-form-urlencoded", "multipart/form-data"}:
        try:
            form = await request.post()
        except ValueError as exc:
            raise ApiError("invalid_form_data") from exc
        arguments |= {name: value for name, value in form.items() if isinstance(value, str)}
    elif request.can_read_body:
        raise ApiError("invalid_post_type")
    return arguments


async def _json_body(request: web.Request) -> JsonObject:
    text = await request.text()
    if not text.strip():
        return {}
    try:
        body = json.loads(text)
    except json.JSONDecodeError as exc:
        raise ApiError("invalid_json") from exc
    if not isinstance(body, dict):
        raise ApiError("json_not_object")
    return body
