"""Which workspace an artifact is of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from retrieval.builder.source import Source
from retrieval.errors import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceIdentity:
    """What the operator says about the workspace; None where the sources shall tell.

    Attributes:
        workspace_id: Defaults to the team_id of the sources' people.
        name: The workspace's name.
        url: Such as `https://example.slack.com`; without it there are no permalinks.
    """

    workspace_id: str | None = None
    name: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The workspace as documents carry it.

    Attributes:
        slug: From the URL's host, else from the name, else the id in lower case.
    """

    workspace_id: str
    name: str | None
    url: str | None
    slug: str


def resolve_workspace(identity: WorkspaceIdentity, sources: Sequence[Source]) -> Workspace:
    """Return the workspace that the operator or the sources name.

    Raises:
        SourceError: Nobody names one, or the sources are of different ones.
    """
    workspace_id = identity.workspace_id or _team_id(sources)
    name = identity.name or next((found for s in reversed(sources) if (found := s.workspace_name)), None)
    url = identity.url or next((found for s in reversed(sources) if (found := s.workspace_url)), None)
    return Workspace(workspace_id=workspace_id, name=name, url=url, slug=_slug(workspace_id, name, url))


def _team_id(sources: Sequence[Source]) -> str:
    # Guests from other companies bring their own team; the most frequent one is the workspace's.
    teams = {source.team_ids[0]: source.label for source in sources if source.team_ids}
    if not teams:
        raise SourceError("The sources do not say which workspace they are of; name it with --workspace-id.")
    if len(teams) > 1:
        named = ", ".join(f"{label} of {team}" for team, label in sorted(teams.items()))
        raise SourceError(f"The sources are of different workspaces ({named}); build them one by one.")
    return next(iter(teams))


def _slug(workspace_id: str, name: str | None, url: str | None) -> str:
    host = urlsplit(url).hostname if url else None
    text = host.split(".")[0] if host else name or ""
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-") or workspace_id.lower()
