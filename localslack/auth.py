"""Tokens and scopes: who calls, with what right, as the manifest grants it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from localslack.app_manifest import AppManifest
from localslack.errors import ApiError
from localslack.ids import new_secret


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of the installed app, and the one that guards the page."""

    bot: str = field(default_factory=lambda: f"xoxb-test-{new_secret()}")
    app: str = field(default_factory=lambda: f"xapp-test-{new_secret()}")
    page: str = field(default_factory=lambda: new_secret(32))


def check_token(tokens: Tokens, *, wanted: str, header: str | None, argument: str | None) -> None:
    """Check a call's token.

    Args:
        tokens: The tokens that exist.
        wanted: ``bot``, ``app`` or ``none``; an ``app`` token counts only in the header.
        header: The Authorization header.
        argument: The ``token`` argument.

    Raises:
        ApiError: ``not_authed``, ``invalid_auth`` or ``not_allowed_token_type``.
    """
    if wanted == "none":
        return
    given = _bearer(header) or (argument if wanted == "bot" else None)
    if not given:
        raise ApiError("not_authed")
    if given not in {tokens.bot, tokens.app}:
        raise ApiError("invalid_auth")
    if given != (tokens.app if wanted == "app" else tokens.bot):
        raise ApiError("not_allowed_token_type")


def need_scopes(manifest: AppManifest, scopes: Iterable[str]) -> None:
    """Check that the app was granted all of these scopes.

    Raises:
        ApiError: ``missing_scope`` with ``needed`` and ``provided``.
    """
    missing = [scope for scope in scopes if scope not in manifest.bot_scopes]
    if missing:
        provided = ",".join(sorted(manifest.bot_scopes))
        raise ApiError("missing_scope", facts={"needed": ",".join(missing), "provided": provided})


def _bearer(header: str | None) -> str | None:
    if header is None or not header.startswith("Bearer "):
        return None
    return header.removeprefix("Bearer ").strip()
