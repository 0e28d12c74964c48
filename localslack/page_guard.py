"""Who may open the page and its API: the right host, the right origin, the right token."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SOCKET_PROTOCOL = "localslack.v1"
"""WebSocket subprotocol of the live feed; the token travels beside it as ``token.<token>``."""

_TOKEN_PREFIX = "token."  # noqa: S105 - a name before the token, not a token
_HOSTS = ("127.0.0.1", "localhost")


class PageRefusedError(Exception):
    """A request that the page's door turns away.

    Attributes:
        status: 401 for the token, 403 for host, origin or a page of another site.
        sentence: What a person is told.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class PageGuard:
    """Checks every request of the page.

    The token keeps out other programs of this machine, Host keeps out a name that somebody else points at
    127.0.0.1 (DNS rebinding), Origin and Sec-Fetch-Site keep out other pages in the same browser. The token
    is no cookie: cookies of 127.0.0.1 go to every port, so to every other local program's page.

    ``port`` is asked at each request, because it is known only once the server listens.
    """

    token: str
    port: Callable[[], int]

    def check_place(self, request: web.Request) -> None:
        """Refuse a wrong Host, or an Origin other than the page's own.

        Raises:
            PageRefusedError: 403.
        """
        if request.host not in {f"{host}:{self.port()}" for host in _HOSTS}:
            raise PageRefusedError(403, "This page answers under 127.0.0.1 and localhost only.")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            raise PageRefusedError(403, "A page of another origin may not use this one.")

    def check_caller(self, request: web.Request) -> None:
        """Refuse an API call that is not the page's own: place, fetch site, Origin where browsers send it, token.

        Raises:
            PageRefusedError: 401 for the token, else 403.
        """
        self.check_place(request)
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise PageRefusedError(403, "A page of another site may not use this one.")
        is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
        if (request.method != "GET" or is_socket) and "Origin" not in request.headers:
            raise PageRefusedError(403, "This call must come from the page itself.")
        if not secrets.compare_digest(_token_of(request, is_socket=is_socket).encode(), self.token.encode()):
            raise PageRefusedError(401, "The token is missing or not the one of this run.")

    def wrap(self, handler: Handler, *, needs_token: bool) -> Handler:
        """Return the handler behind the checks; every answer carries the security headers."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                (self.check_caller if needs_token else self.check_place)(request)
                response = await handler(request)
            except PageRefusedError as exc:
                response = web.json_response({"ok": False, "error": exc.sentence}, status=exc.status)
            if not response.prepared:
                response.headers.update(self.headers())
            return response

        return guarded

    def headers(self) -> dict[str, str]:
        """Return the headers of every answer: nothing from elsewhere, nothing inline, no frames, no referrer."""
        sockets = " ".join(f"ws://{host}:{self.port()}" for host in _HOSTS)
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'"
        )
        return {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }


def _token_of(request: web.Request, *, is_socket: bool) -> str:
    """Return the token of the Authorization header, or of the WebSocket's offered protocols; "" without one."""
    if is_socket:
        offered = [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        return next((part[len(_TOKEN_PREFIX) :] for part in offered if part.startswith(_TOKEN_PREFIX)), "")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""
