"""The composition root: puts the bot together from its settings, and starts and stops its parts in order."""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import aiohttp
import structlog
from apscheduler.triggers.interval import IntervalTrigger
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.alerts import AlertLimits, SegmentAlerts
from bot.archive import Archive
from bot.artifact_watch import ArtifactWatch, Refreshable
from bot.audit import AuditEntry, AuditEvent, AuditFile
from bot.connection import SocketConnection
from bot.deny_list import DenyList, DenyListError
from bot.directory import NameSource
from bot.embedders import embedder_factory
from bot.envelopes import SeenEnvelopes
from bot.figures import monitor_of, watch_figures
from bot.guard import Guard
from bot.journal import Journal
from bot.listeners import register_listeners
from bot.live_workspace import LiveWorkspace
from bot.metrics import Metrics
from bot.monitor import Monitor, MonitorError
from bot.once import Once
from bot.retrieval_pool import RetrievalPool
from bot.services import Identity, Services
from bot.settings import Settings
from bot.store import Store
from bot.visibility import AccessRules
from bot.web_api import WebAPI, error_code, open_session
from retrieval import ArtifactInfo, ArtifactStore
from retrieval.errors import RemoteArtifactError
from retrieval.remote import PulledStore, RemoteArtifacts, RemoteOptions

_log = structlog.get_logger(__name__)

_SLACK_SECONDS: Final = 10
# Of the ten seconds between SIGTERM and the end: acks under way, answers under way, then the files.
_ACK_SECONDS: Final = 1.0
_DRAIN_SECONDS: Final = 5.5
_AUDIT_SECONDS: Final = 2.0
_STORE_SECONDS: Final = 0.5
_ALERT_CHECK_SECONDS: Final = 30


class StartError(Exception):
    """The bot cannot start; the sentence says what to look at."""


class Bot:
    """A running bot: made by `start_bot`, ended by `stop`. For one event loop.

    Attributes:
        services: The parts that listeners call.
        connection: The Socket Mode connection.
        notices: Sentences for whoever started it, such as that nothing of the archive fits the bot's team.
        monitor: What monitoring asks; None where the setting is unset.
    """

    def __init__(
        self,
        *,
        services: Services,
        connection: SocketConnection,
        store: ArtifactStore,
        pool: RetrievalPool,
        notices: tuple[str, ...],
    ) -> None:
        self.services = services
        self.connection = connection
        self.notices = notices
        self.monitor: Monitor | None = None
        self._store = store
        self._pool = pool

    async def stop(self) -> None:
        """Take no more work, finish what runs, and close everything; within ten seconds."""
        _log.info("stopping", running=self.services.guard.running)
        await self.connection.stop(seconds=_ACK_SECONDS)
        self.services.watch.stop()
        await self.services.guard.drain(seconds=_DRAIN_SECONDS)
        if self.services.client.session is not None:
            await self.services.client.session.close()
        self._pool.close()
        self._store.close()
        if self.services.store is not None:
            await asyncio.to_thread(self.services.store.close, timeout_seconds=_STORE_SECONDS)
        if self.monitor is not None:
            await self.monitor.stop()
        self.services.audit.write(AuditEntry(event=AuditEvent.STOP, request_id=self.services.run_id))
        await asyncio.to_thread(self.services.audit.close, timeout_seconds=_AUDIT_SECONDS)
        _log.info("stopped")


async def start_bot(
    settings: Settings,
    *,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    log_lines_lost: Callable[[], int] = lambda: 0,
) -> Bot:
    """Put the bot together, look for the archive once, connect to Slack, and serve.

    Args:
        settings: Checked settings; `artifacts` must be set.
        clock: Tells the time, Unix seconds.
        monotonic: A clock in seconds that never goes back.
        log_lines_lost: How many lines of the log could not be written so far.

    Raises:
        StartError: A setting is missing, or Slack does not accept the bot's token.
        ConnectionRefusedBySlackError: Slack does not let the app connect.
    """
    if settings.artifacts is None:
        raise StartError("SLACKQUERY_ARTIFACTS is not set.")
    client = AsyncWebClient(
        settings.slack_bot_token.get_secret_value(), base_url=settings.slack_api_url, timeout=_SLACK_SECONDS
    )
    identity = await _identify(client)
    store = ArtifactStore(
        settings.artifacts,
        memory_mb=settings.memory_mb,
        resident_mb=settings.resident_mb,
        query_seconds=settings.answer_seconds,
        key=settings.manifest_key,
    )
    pool = RetrievalPool(workers=settings.workers, queue_limit=settings.queue_limit, user_limit=settings.user_limit)
    services = _build_services(
        settings, client=client, identity=identity, store=store, pool=pool, clock=clock, monotonic=monotonic
    )
    app = _build_app(client, identity, services)
    await services.watch.check()
    notices = _notices(services)
    connection = SocketConnection(
        app,
        app_token=settings.slack_app_token.get_secret_value(),
        seen=SeenEnvelopes(monotonic=monotonic),
        store=services.store,
        metrics=services.audit.metrics,
        acks=services.guard.acks,
        monotonic=monotonic,
    )
    client.session = open_session(seconds=_SLACK_SECONDS)
    bot = Bot(services=services, connection=connection, store=store, pool=pool, notices=notices)
    watch_figures(services, pool=pool, log_lines_lost=log_lines_lost)
    if settings.metrics_port is not None:
        bot.monitor = monitor_of(services, connection)
    await _begin(bot, metrics_port=settings.metrics_port)
    return bot


async def _begin(bot: Bot, *, metrics_port: int | None) -> None:
    services = bot.services
    try:
        if bot.monitor is not None and metrics_port is not None:
            await bot.monitor.start(metrics_port)
        await bot.connection.start()
    except MonitorError as exc:
        await bot.stop()
        raise StartError(str(exc)) from exc
    except BaseException:
        await bot.stop()
        raise
    services.watch.scheduler.add_job(services.audit.look, IntervalTrigger(seconds=_ALERT_CHECK_SECONDS, timezone="UTC"))
    services.watch.start()
    info = services.watch.state.info
    artifact_id = info.artifact_id if info is not None else None
    services.audit.write(AuditEntry(event=AuditEvent.START, request_id=services.run_id, artifact_id=artifact_id))
    _log.info("started", team_id=services.identity.team_id, artifact_id=info.artifact_id if info else None)


async def _identify(client: AsyncWebClient) -> Identity:
    """Return who the bot is: the one auth.test, so that no request has to wait for another."""
    try:
        answer = await client.auth_test()
    except SlackApiError as exc:
        raise StartError(f"Slack does not accept SLACK_BOT_TOKEN ({error_code(exc)}).") from exc
    except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as exc:
        raise StartError(f"Slack cannot be reached at SLACK_API_URL ({type(exc).__name__}).") from exc
    url = str(answer.get("url") or "")
    return Identity(
        team_id=str(answer["team_id"]),
        team_name=str(answer.get("team") or ""),
        url=url if url.endswith("/") else url + "/",
        bot_id=str(answer.get("bot_id") or ""),
        bot_user_id=str(answer["user_id"]),
        enterprise_id=str(answer["enterprise_id"]) if answer.get("enterprise_id") else None,
    )


def _build_services(
    settings: Settings,
    *,
    client: AsyncWebClient,
    identity: Identity,
    store: ArtifactStore,
    pool: RetrievalPool,
    clock: Callable[[], float],
    monotonic: Callable[[], float],
) -> Services:
    run_id = uuid.uuid4().hex[:12]
    audit = Journal(
        file=_open_audit(settings, clock=clock),
        metrics=Metrics(),
        alerts=_open_alerts(settings, monotonic=monotonic),
    )
    small_store = _open_store(settings, clock=clock, monotonic=monotonic)
    workspace = LiveWorkspace(client, web_api=WebAPI(monotonic=monotonic), monotonic=monotonic)
    archive = Archive(
        store,
        pool=pool,
        embedders=embedder_factory(settings),
        fusion=settings.fusion,
        monotonic=monotonic,
        on_embedding_failure=audit.metrics.embedding_failed,
        asks_service=settings.embedding_url is not None,
    )
    return Services(
        identity=identity,
        client=client,
        workspace=workspace,
        access=_build_access(settings, identity, workspace, archive=archive, monotonic=monotonic),
        names=NameSource(workspace),
        archive=archive,
        watch=_build_watch(settings, identity, store=store, archive=archive, audit=audit, run_id=run_id),
        guard=Guard(audit=audit),
        audit=audit,
        run_id=run_id,
        store=small_store,
        once=Once(small_store),
        workspace_ids=settings.workspace_ids_of,
        fusion=settings.fusion,
        state_key=settings.derive_key("button state"),
        admins=settings.admins,
        answer_seconds=settings.answer_seconds,
        clock=clock,
        monotonic=monotonic,
    )


def _build_access(
    settings: Settings,
    identity: Identity,
    workspace: LiveWorkspace,
    *,
    archive: Archive,
    monotonic: Callable[[], float],
) -> AccessRules:
    denied = DenyList(settings.deny)
    try:
        denied.ids()
    except DenyListError as exc:
        raise StartError(str(exc)) from exc
    return AccessRules(
        workspace,
        team_id=identity.team_id,
        workspace_ids=settings.workspace_ids_of,
        denied=denied,
        direct=archive if settings.dms else None,
        monotonic=monotonic,
    )


def _open_audit(settings: Settings, *, clock: Callable[[], float]) -> AuditFile | None:
    if settings.audit_dir is None:
        return None
    return AuditFile(
        settings.audit_dir,
        query_text=settings.audit_query_text,
        key=settings.derive_key("audit"),
        max_bytes=settings.audit_file_mb * 1_000_000,
        keep_days=settings.audit_days,
        clock=lambda: datetime.fromtimestamp(clock(), UTC),
    )


def _open_alerts(settings: Settings, *, monotonic: Callable[[], float]) -> SegmentAlerts | None:
    if settings.alert_minutes == 0:
        return None
    limits = AlertLimits(
        window_seconds=settings.alert_minutes * 60,
        searches=settings.alert_searches,
        no_hit=settings.alert_no_hit,
        degraded=settings.alert_degraded,
        p95_ms=settings.alert_p95_ms,
    )
    return SegmentAlerts(limits, monotonic=monotonic)


def _open_store(settings: Settings, *, clock: Callable[[], float], monotonic: Callable[[], float]) -> Store | None:
    if settings.store is None:
        return None
    return Store(
        settings.store,
        keeps_votes=settings.votes,
        keeps_recents=settings.recents,
        clock=clock,
        monotonic=monotonic,
    )


def _build_watch(
    settings: Settings,
    identity: Identity,
    *,
    store: ArtifactStore,
    archive: Archive,
    audit: Journal,
    run_id: str,
) -> ArtifactWatch:
    def on_swap(info: ArtifactInfo) -> None:
        _log.info("archive_swapped", artifact_id=info.artifact_id, documents=info.document_count)
        if notice := team_notice(info, identity, settings.workspace_ids_of(identity.team_id)):
            _log.error("archive_of_another_team", notice=notice)
        asyncio.get_running_loop().run_in_executor(None, archive.warm, info)
        audit.metrics.serve_archive(info.artifact_id, documents=info.document_count, vectors=info.vector_count)
        audit.write(AuditEntry(event=AuditEvent.SWAP, request_id=run_id, artifact_id=info.artifact_id))

    def on_problem(problem: str) -> None:
        _log.error("archive_not_usable", problem=problem)
        audit.write(AuditEntry(event=AuditEvent.ERROR, request_id=run_id, reason="archive_not_usable"))

    return ArtifactWatch(
        _watched(settings, store),
        interval_seconds=settings.swap_check_seconds,
        on_swap=on_swap,
        on_problem=on_problem,
    )


def _watched(settings: Settings, store: ArtifactStore) -> Refreshable:
    """Return the store itself, or one that is filled from a web server first."""
    if settings.artifact_url is None or settings.artifacts is None:
        return store
    options = RemoteOptions(allow_public=settings.artifact_allow_public, key=settings.manifest_key)
    try:
        return PulledStore(store, RemoteArtifacts(settings.artifact_url, settings.artifacts, options=options))
    except RemoteArtifactError as exc:
        raise StartError(f"SLACKQUERY_ARTIFACT_URL cannot be used: {exc}") from exc


def _build_app(client: AsyncWebClient, identity: Identity, services: Services) -> AsyncApp:
    token = client.token

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.enterprise_id,
            team_id=identity.team_id,
            bot_token=token,
            bot_id=identity.bot_id,
            bot_user_id=identity.bot_user_id,
        )

    # With a function of ours, Bolt asks Slack nothing before a listener runs: an auth.test that took three
    # seconds would lose the first command.
    logger = logging.getLogger("slack_bolt")
    logger.addFilter(_is_worth_logging)
    # Listeners return as soon as they have acked, so Bolt may wait for them: it then sends the ack at once, where it
    # would otherwise begin the work and look for the ack ten milliseconds later.
    app = AsyncApp(client=client, authorize=authorize, logger=logger, process_before_response=True)
    register_listeners(app, services)
    return app


def _is_worth_logging(record: logging.LogRecord) -> bool:
    # Bolt warns of the very things that are done on purpose here.
    message = record.getMessage()
    return "will be ignored" not in message and "will be unused" not in message


def _notices(services: Services) -> tuple[str, ...]:
    """Return what whoever starts the bot should know at once."""
    state = services.watch.state
    if state.info is None:
        return (f"There is no archive to serve yet: {state.problem}",)
    notice = team_notice(state.info, services.identity, services.workspace_ids(services.identity.team_id))
    return (notice,) if notice is not None else ()


def team_notice(info: ArtifactInfo, identity: Identity, workspace_ids: Sequence[str]) -> str | None:
    """Return that nothing of an archive belongs to the bot's team, and what to set; None where some does.

    Args:
        info: The archive.
        identity: The bot's.
        workspace_ids: The archive's workspace ids that are this team's, by settings.
    """
    if not set(workspace_ids).isdisjoint(info.workspace_ids):
        return None
    held = ", ".join(info.workspace_ids) or "no workspace"
    pair = f"{info.workspace_ids[0] if info.workspace_ids else 'WORKSPACE'}={identity.team_id}"
    return (
        f"Nothing in the archive belongs to the bot's team {identity.team_id}, so every search will be empty. "
        f"The archive holds {held}; if that is the same workspace, set SLACKQUERY_TEAMS={pair}."
    )
