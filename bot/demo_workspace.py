"""The local Slack's workspace for an export: the same people and channels, and each channel's last messages."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot.elements import escaped
from localslack.workspace import Channel, SeedMessage, Team, User, Workspace
from retrieval import (
    Artifact,
    Document,
    DocumentKind,
    Filters,
    SearchRequest,
    Sort,
    Visibility,
    search_slack,
)
from retrieval.builder.directory import Directory, read_directory
from retrieval.builder.opening import open_source
from retrieval.builder.report import Ledger
from retrieval.builder.workspace import WorkspaceIdentity, resolve_workspace
from retrieval.permalinks import UNLISTED_PREFIX

_SEED_MESSAGES: Final = 30
_BOT_USER: Final = "USLACKQUERYBOT"
_UNNAMED_TEAM: Final = "T0LOCALDEMO"


def identity_of(export: Path) -> WorkspaceIdentity:
    """Return the workspace that an export names; one that names none gets an id and the file's name.

    Raises:
        SourceError: The export cannot be read.
    """
    source = open_source(export, Ledger())
    return WorkspaceIdentity(
        workspace_id=source.team_ids[0] if source.team_ids else _UNNAMED_TEAM,
        name=source.workspace_name or export.stem,
        url=source.workspace_url,
    )


def describe_workspace(export: Path) -> Workspace:
    """Return the workspace that an export comes from; nobody in it is an admin, all are in UTC.

    Raises:
        SourceError: The export cannot be read.
        WorkspaceError: Nobody is in it.
    """
    ledger = Ledger()
    source = open_source(export, ledger)
    identity = resolve_workspace(identity_of(export), [source])
    directory = read_directory([source], ledger)
    users = _users(directory, team_id=identity.workspace_id)
    described = Workspace(
        team=Team(
            id=identity.workspace_id,
            name=identity.name or identity.slug,
            domain=identity.slug,
            url=identity.url or f"https://{identity.slug}.slack.example/",
        ),
        users=users,
        channels=_channels(directory, {user.id for user in users}),
        bot_user_id=_BOT_USER,
        acting_user_id=_acting_user(directory, users),
    )
    return Workspace.from_json(described.to_json())


def _users(directory: Directory, *, team_id: str) -> tuple[User, ...]:
    return tuple(
        User(
            id=person.user_id,
            name=person.name or person.user_id.lower(),
            team_id=team_id,
            real_name=person.real_name,
            display_name=person.display_name,
            deleted=person.deleted,
            is_bot=person.is_bot,
            is_restricted=person.is_guest,
        )
        for person in directory.people.values()
    )


def _channels(directory: Directory, user_ids: set[str]) -> tuple[Channel, ...]:
    """Return the conversations that have an id of Slack's; a folder that no list names is unknown to Slack."""
    return tuple(
        Channel(
            id=channel.channel_id,
            name=channel.name,
            members=tuple(member for member in channel.members if member in user_ids),
            is_private=channel.is_private,
            is_im=channel.is_im,
            is_mpim=channel.is_mpim,
            is_archived=channel.is_archived,
            is_ext_shared=channel.is_ext_shared,
        )
        for channel in directory.channels.values()
        if not channel.channel_id.startswith(UNLISTED_PREFIX)
    )


def _acting_user(directory: Directory, users: tuple[User, ...]) -> str:
    """Return the full member who is in the most channels, the first of them by id; empty where there is none."""
    counts = Counter(member for channel in directory.channels.values() for member in channel.members)
    members = [user for user in users if not (user.deleted or user.is_bot or user.is_guest)]
    return min(members, key=lambda user: (-counts[user.id], user.id)).id if members else ""


def with_messages(workspace: Workspace, *, folder: Path) -> Workspace:
    """Return the workspace with each channel's last messages, so that there is something to use shortcuts on.

    Args:
        workspace: Its people and channels.
        folder: Holds the archive that the messages come from.

    Raises:
        ArtifactError: There is no archive to read.
    """
    known = {user.id for user in workspace.users}
    seeds: list[SeedMessage] = []
    with Artifact(folder / "current.duckdb") as artifact:
        for channel in workspace.channels:
            seeds += [_seed(one) for one in _last_messages(artifact, channel.id) if one.author_id in known]
    return replace(workspace, messages=tuple(seeds))


def _last_messages(artifact: Artifact, channel_id: str) -> list[Document]:
    """Return the newest messages of a channel that begin a thread or stand alone, oldest first."""
    request = SearchRequest(
        text="",
        filters=Filters(channel_ids=(channel_id,), kinds=(DocumentKind.MESSAGE,)),
        sort=Sort.NEWEST,
        limit=_SEED_MESSAGES,
    )
    page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
    documents = [hit.document for hit in page.hits if not hit.document.is_thread_reply]
    return sorted(documents, key=lambda one: (one.ts_us, one.document_id))


def _seed(document: Document) -> SeedMessage:
    seconds, micros = divmod(document.ts_us, 1_000_000)
    return SeedMessage(
        channel_id=document.channel_id,
        user_id=document.author_id or "",
        ts=f"{seconds}.{micros:06d}",
        text=escaped(document.text),
    )
