"""What `status` tells: the archive's age and what works; sizes for admins only."""

import asyncio
from pathlib import Path

from bot import texts
from bot.services import Services
from bot.status_blocks import ArchiveSize, StatusView
from retrieval import ArtifactInfo


async def status_view(services: Services, *, user_id: str) -> StatusView:
    """Return what one person may see of the archive's state."""
    state = services.watch.state
    info = state.info
    size = None
    if info is not None and user_id in services.admins:
        size = await asyncio.to_thread(_size_of, info)
    modes = await asyncio.to_thread(services.archive.modes_now, info) if info is not None else ()
    notices = (texts.NEW_ARCHIVE_REFUSED,) if state.problem is not None and info is not None else ()
    return StatusView(
        built_at_us=info.built_at_us if info is not None else None,
        now_us=int(services.clock() * 1_000_000),
        modes=modes,
        size=size,
        notices=notices,
    )


def _size_of(info: ArtifactInfo) -> ArchiveSize:
    path = Path(info.path)
    return ArchiveSize(
        documents=info.document_count,
        vectors=info.vector_count,
        file_bytes=path.stat().st_size if path.exists() else None,
        artifact_id=info.artifact_id,
    )
