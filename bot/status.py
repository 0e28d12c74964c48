"""What `status` tells: the archive's age and what works; sizes and the indexer's troubles for admins only."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from bot import texts
from bot.services import Services
from bot.status_blocks import ArchiveSize, StatusView
from retrieval import ArtifactInfo
from retrieval.build_status import indexer_runs, read_status, status_problem


async def status_view(services: Services, *, user_id: str) -> StatusView:
    """Return what one person may see of the archive's state."""
    state = services.watch.state
    info = state.info
    size = None
    if info is not None and user_id in services.admins:
        size = await asyncio.to_thread(_size_of, info)
    modes = await asyncio.to_thread(services.archive.modes_now, info) if info is not None else ()
    notices: tuple[str, ...] = (texts.NEW_ARCHIVE_REFUSED,) if state.problem is not None and info is not None else ()
    if user_id in services.admins:
        notices += _loss_notices(services)
        if info is not None:
            notices += await asyncio.to_thread(_indexer_notices, info, services.clock())
    return StatusView(
        built_at_us=info.built_at_us if info is not None else None,
        now_us=int(services.clock() * 1_000_000),
        modes=modes,
        size=size,
        notices=notices,
    )


def _indexer_notices(info: ArtifactInfo, now_s: float) -> tuple[str, ...]:
    """Return what is wrong with the indexer of the archive's folder; nothing where none works there."""
    folder = Path(info.path).parent
    status = read_status(folder)
    if status is None:
        return ()
    problem = status_problem(status, running=indexer_runs(folder), now=datetime.fromtimestamp(now_s, UTC))
    return (problem,) if problem is not None else ()


def _loss_notices(services: Services) -> tuple[str, ...]:
    """Return what the logs lost, and which alerts hold."""
    dropped, alerts = services.audit.dropped, services.audit.alerts
    losses = (texts.audit_losses(dropped, is_failing=services.audit.problem is not None),) if dropped else ()
    return losses + tuple(texts.alert_holds(alert) for alert in (alerts.active if alerts is not None else ()))


def _size_of(info: ArtifactInfo) -> ArchiveSize:
    path = Path(info.path)
    return ArchiveSize(
        documents=info.document_count,
        vectors=info.vector_count,
        file_bytes=path.stat().st_size if path.exists() else None,
        artifact_id=info.artifact_id,
    )
