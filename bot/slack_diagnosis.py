"""What is right and wrong with the app in Slack: its tokens, its scopes, the clock, and whose archive it serves."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.settings import Settings
from bot.web_api import error_code
from retrieval import Finding, Level

NEEDED_SCOPES: Final = frozenset({"channels:read", "commands", "groups:read", "users:read"})
"""The bot scopes that manifest.yaml asks for."""

_SECONDS: Final = 10
_MOST_ADMINS: Final = 20
_CLOCK_WARN_SECONDS: Final = 30.0
_CLOCK_FAIL_SECONDS: Final = 300.0
_INSTALL: Final = "api.slack.com/apps > your app > OAuth & Permissions"
_BOT_REMEDIES: Final[Mapping[str, str]] = {
    "invalid_auth": f"Copy the bot token (xoxb-) again from {_INSTALL}.",
    "not_authed": f"Copy the bot token (xoxb-) from {_INSTALL}.",
    "token_revoked": f"The app was uninstalled: install it to the workspace again ({_INSTALL}) and copy the new token.",
    "token_expired": f"Switch token rotation off, install the app again ({_INSTALL}) and copy the new token.",
    "account_inactive": f"Its account is switched off: install the app again ({_INSTALL}) and copy the new token.",
}
_MAKE_ANOTHER: Final = (
    "Basic Information > App-Level Tokens: make one with the scope connections:write, and copy it (xapp-)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackIdentity:
    """Whose workspace the bot token belongs to."""

    team_id: str
    team_name: str


class SlackDiagnosis:
    """Asks Slack about the tokens; nothing is connected and nothing is changed.

    Args:
        settings: Which tokens, and which Slack.
        clock: Tells the time, Unix seconds.

    Attributes:
        identity: Whose workspace it is; None until `findings` has learnt it.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._client = AsyncWebClient(
            settings.slack_bot_token.get_secret_value(), base_url=settings.slack_api_url, timeout=_SECONDS
        )
        self.identity: SlackIdentity | None = None

    async def findings(self) -> AsyncIterator[Finding]:
        """Yield the findings, each as soon as it is known."""
        try:
            answer = await self._client.auth_test()
        except SlackApiError as exc:
            code = error_code(exc)
            remedy = _BOT_REMEDIES.get(code, f"Look {code} up at docs.slack.dev/reference/methods/auth.test.")
            yield _fail("bot token", f"Slack does not accept SLACK_BOT_TOKEN ({code}).", remedy)
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, ValueError) as exc:
            yield _fail(
                "slack",
                f"Slack cannot be reached at {self._settings.slack_api_url} ({type(exc).__name__}).",
                "Look at SLACK_API_URL, at this machine's network and at its proxy.",
            )
            return
        else:
            self.identity = SlackIdentity(team_id=str(answer["team_id"]), team_name=str(answer.get("team") or ""))
            yield _ok("bot token", f"Bot of {self.identity.team_name} ({self.identity.team_id}).")
            yield _scopes(answer)
            yield _clock(answer, now_s=self._clock())
        yield await self._app_token()
        if self.identity is not None:
            async for finding in self._admins():
                yield finding

    async def _app_token(self) -> Finding:
        try:
            await self._client.apps_connections_open(app_token=self._settings.slack_app_token.get_secret_value())
        except SlackApiError as exc:
            code = error_code(exc)
            if code == "missing_scope":
                return _fail("app token", "SLACK_MAKE_ANOTHER lacks the scope connections:write.", _MAKE_ANOTHER)
            return _fail(
                "app token", f"Slack does not accept SLACK_MAKE_ANOTHER for Socket Mode ({code}).", _MAKE_ANOTHER
            )
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, ValueError) as exc:
            return _fail("app token", f"Slack did not answer ({type(exc).__name__}).", "Try again in a minute.")
        return _ok("app token", "Socket Mode may be used.")

    async def _admins(self) -> AsyncIterator[Finding]:
        for user_id in sorted(self._settings.admins)[:_MOST_ADMINS]:
            try:
                answer = await self._client.users_info(user=user_id)
            except SlackApiError as exc:
                if error_code(exc) not in ("user_not_found", "users_not_found", "user_not_visible"):
                    continue
                yield Finding(
                    name="admins",
                    level=Level.WARN,
                    detail=f"SLACKQUERY_ADMINS names {user_id}, whom Slack does not know.",
                    remedy="Write the member id from the person's profile in Slack (More > Copy member ID).",
                )
            except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, ValueError):
                return
            else:
                if (answer.get("user") or {}).get("deleted"):
                    yield Finding(
                        name="admins",
                        level=Level.WARN,
                        detail=f"SLACKQUERY_ADMINS names {user_id}, whose account is deactivated.",
                        remedy="Take it out of SLACKQUERY_ADMINS.",
                    )


def _scopes(answer: AsyncSlackResponse) -> Finding:
    header = _header(answer, "x-oauth-scopes")
    if header is None:
        return Finding(
            name="scopes",
            level=Level.WARN,
            detail="Slack did not say which scopes the bot token has.",
            remedy="Compare OAuth & Permissions with manifest.yaml by hand.",
        )
    granted = {scope.strip() for scope in header.split(",") if scope.strip()}
    if missing := sorted(NEEDED_SCOPES - granted):
        return _fail(
            "scopes",
            f"The bot token lacks {', '.join(missing)}.",
            f"Paste manifest.yaml under App Manifest, install the app again ({_INSTALL}), and copy the new token.",
        )
    if further := sorted(granted - NEEDED_SCOPES):
        return Finding(
            name="scopes",
            level=Level.WARN,
            detail=f"The bot token may do more than it needs: {', '.join(further)}.",
            remedy="Take these scopes away, unless you gave them on purpose.",
        )
    return _ok("scopes", "The bot token has what manifest.yaml asks for, and nothing else.")


def _clock(answer: AsyncSlackResponse, *, now_s: float) -> Finding:
    header = _header(answer, "date")
    try:
        slack_s = parsedate_to_datetime(header or "").timestamp()
    except ValueError:
        return _ok("clock", "Slack did not say what time it is.")
    apart = now_s - slack_s
    if abs(apart) < _CLOCK_WARN_SECONDS:
        return _ok("clock", "It agrees with Slack's.")
    return Finding(
        name="clock",
        level=Level.FAIL if abs(apart) >= _CLOCK_FAIL_SECONDS else Level.WARN,
        detail=f"This machine is {abs(apart):,.0f} seconds {'ahead of' if apart > 0 else 'behind'} Slack's time.",
        remedy="Let the machine set its clock (timedatectl set-ntp true): ages, `yesterday` and buttons go by it.",
    )


def _header(answer: AsyncSlackResponse, name: str) -> str | None:
    found = {str(key).lower(): str(value) for key, value in answer.headers.items()}
    return found.get(name)


def _ok(name: str, detail: str) -> Finding:
    return Finding(name=name, level=Level.OK, detail=detail)


def _fail(name: str, detail: str, remedy: str) -> Finding:
    return Finding(name=name, level=Level.FAIL, detail=detail, remedy=remedy)
