"""What every listener needs, put together once by `bot.app`."""

from collections.abc import Callable
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.archive import Archive
from bot.artifact_watch import ArtifactWatch
from bot.directory import NameSource
from bot.guard import Guard
from bot.journal import Journal
from bot.live_workspace import LiveWorkspace
from bot.once import Once
from bot.store import Store
from bot.visibility import AccessRules
from retrieval import Fusion


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the bot is, from one auth.test at start.

    Attributes:
        url: The workspace's address with a slash at its end.
    """

    team_id: str
    team_name: str
    url: str
    bot_id: str
    bot_user_id: str
    enterprise_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts that listeners call; all of them for one event loop.

    Attributes:
        client: Slack's Web API with the bot's token.
        audit: Keeps and counts what happens.
        store: Votes and recent searches; None where nothing is kept.
        once: What must not be done twice.
        run_id: Stands where a request's id would, for what nobody asked for: start, swaps, stop.
        state_key: Signs the buttons.
        admins: User ids that also see sizes in `status`.
        answer_seconds: Time budget of one answer.
        clock: Tells the time, Unix seconds.
        monotonic: A clock in seconds; deadlines are moments of it.
    """

    identity: Identity
    client: AsyncWebClient
    workspace: LiveWorkspace
    access: AccessRules
    names: NameSource
    archive: Archive
    watch: ArtifactWatch
    guard: Guard
    audit: Journal
    run_id: str
    store: Store | None
    once: Once
    workspace_ids: Callable[[str], tuple[str, ...]]
    fusion: Fusion
    state_key: bytes
    admins: frozenset[str]
    answer_seconds: float
    clock: Callable[[], float]
    monotonic: Callable[[], float]

    @property
    def keeps_votes(self) -> bool:
        """Whether votes are kept at all."""
        return self.store is not None and self.store.keeps_votes

    def deadline(self) -> float:
        """Return the moment by which an answer that begins now has to be there."""
        return self.monotonic() + self.answer_seconds
