"""The figures that are read when monitoring looks, and what makes a bot sick or not ready."""

from collections.abc import Callable
from typing import Final

from bot.connection import SocketConnection
from bot.monitor import Monitor
from bot.retrieval_pool import RetrievalPool
from bot.services import Services

# The connection replaces itself after twenty seconds; where that has not helped for this long, a restart may.
SICK_SECONDS: Final = 180.0


def watch_figures(services: Services, *, pool: RetrievalPool, log_lines_lost: Callable[[], int]) -> None:
    """Let the metrics show what stands elsewhere.

    Args:
        services: The bot's parts.
        pool: Runs the searches.
        log_lines_lost: How many lines of the log could not be written so far.
    """
    watch, store, audit = services.watch, services.store, services.audit

    def archive_age() -> float:
        info = watch.state.info
        return services.clock() - info.built_at_us / 1_000_000 if info is not None else float("nan")

    metrics = audit.metrics
    metrics.watch("searches_in_flight", "Searches that run or wait.", lambda: pool.load)
    metrics.watch("searches_waiting", "Searches that wait for a thread.", lambda: pool.waiting)
    metrics.watch("requests_in_flight", "Commands and presses that are being answered.", lambda: services.guard.running)
    metrics.watch("artifact_age_seconds", "Since the archive that serves was built.", archive_age)
    metrics.watch(
        "artifact_problem", "1 while a newer archive cannot be used.", lambda: watch.state.problem is not None
    )
    metrics.watch("audit_lines_lost", "Entries that the audit file's disk did not take.", lambda: audit.dropped)
    metrics.watch("log_lines_lost", "Lines of the log that could not be written.", log_lines_lost)
    metrics.watch(
        "store_failures", "Calls of the small store that were left out.", lambda: store.failures if store else 0
    )
    metrics.watch("alerts", "Alerts that hold now.", lambda: len(audit.alerts.active) if audit.alerts else 0)


def monitor_of(services: Services, connection: SocketConnection) -> Monitor:
    """Return what answers monitoring, not yet listening."""

    async def sick() -> tuple[str, ...]:
        if connection.down_seconds < SICK_SECONDS:
            return ()
        return (f"There has been no connection to Slack for {connection.down_seconds:.0f} seconds.",)

    async def unready() -> tuple[str, ...]:
        missing = () if services.watch.state.info is not None else ("There is no archive to search.",)
        return missing if await connection.is_connected() else (*missing, "There is no connection to Slack.")

    return Monitor(services.audit.metrics, sick=sick, unready=unready)
