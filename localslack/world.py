"""The living workspace: people, channels and memberships as they are now, and who may see what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from localslack.app_manifest import AppManifest
from localslack.errors import ApiError
from localslack.ids import new_id
from localslack.workspace import Channel, Team, User, Workspace


class World:
    """The workspace after everything that has happened since the start.

    Users and channels are frozen records in two dictionaries; a change puts a new record in place.
    Not thread-safe: it belongs to the server's event loop.
    """

    def __init__(self, workspace: Workspace, manifest: AppManifest) -> None:
        self.team: Team = workspace.team
        self.app_id = workspace.app_id
        self.bot_user_id = workspace.bot_user_id
        self.bot_id = new_id("B")
        self.users: dict[str, User] = {user.id: user for user in workspace.users}
        self.channels: dict[str, Channel] = {channel.id: channel for channel in workspace.channels}
        if self.bot_user_id not in self.users:
            self.users[self.bot_user_id] = User(
                id=self.bot_user_id,
                name=manifest.bot_name,
                real_name=manifest.name,
                display_name=manifest.name,
                team_id=self.team.id,
                is_bot=True,
            )

    def user(self, user_id: str) -> User:
        """Return a user.

        Raises:
            ApiError: ``user_not_found``.
        """
        if user_id not in self.users:
            raise ApiError("user_not_found")
        return self.users[user_id]

    def channel(self, channel_id: str) -> Channel:
        """Return a channel whoever may see it.

        Raises:
            ApiError: ``channel_not_found``.
        """
        if channel_id not in self.channels:
            raise ApiError("channel_not_found")
        return self.channels[channel_id]

    def channel_for_bot(self, channel_id: str) -> Channel:
        """Return a channel that the bot may know of: any public one, others only as a member.

        Raises:
            ApiError: ``channel_not_found`` also for what exists but is hidden from the bot.
        """
        channel = self.channel(channel_id)
        if not channel.is_public and self.bot_user_id not in channel.members:
            raise ApiError("channel_not_found")
        return channel

    def is_external(self, user_id: str) -> bool:
        """Whether the user belongs to another workspace (Slack Connect)."""
        return self.users[user_id].team_id != self.team.id

    def person_sees(self, user_id: str, channel: Channel) -> bool:
        """Whether the person may open the channel: members always, full members also public ones."""
        user = self.users[user_id]
        if user.deleted:
            return False
        if user_id in channel.members:
            return True
        return channel.is_public and not user.is_guest and not self.is_external(user_id)

    def channels_of(self, user_id: str) -> Iterator[Channel]:
        """Yield the channels that the user is a member of, in the description's order."""
        return (channel for channel in self.channels.values() if user_id in channel.members)

    def change_channel(self, channel_id: str, **fields: Any) -> Channel:  # noqa: ANN401 - dataclass fields
        """Put a changed record in the channel's place and return it."""
        self.channels[channel_id] = replace(self.channel(channel_id), **fields)
        return self.channels[channel_id]

    def change_user(self, user_id: str, **fields: Any) -> User:  # noqa: ANN401 - dataclass fields
        """Put a changed record in the user's place and return it."""
        self.users[user_id] = replace(self.user(user_id), **fields)
        return self.users[user_id]

    def find_dm(self, members: set[str]) -> Channel | None:
        """Return the DM or group DM between exactly these people, or None."""
        candidates = (c for c in self.channels.values() if c.is_im or c.is_mpim)
        return next((channel for channel in candidates if set(channel.members) == members), None)

    def open_dm(self, members: set[str], *, created: int) -> Channel:
        """Return the DM (two people) or group DM (more) between these people, made where needed."""
        if found := self.find_dm(members):
            return found
        names = "-".join(sorted(self.users[member].name for member in members))
        is_im = len(members) <= 2
        channel = Channel(
            id=new_id("D" if is_im else "G"),
            name="" if is_im else f"mpdm-{names}-1",
            members=tuple(sorted(members)),
            is_im=is_im,
            is_mpim=not is_im,
            is_private=not is_im,
            created=created,
        )
        self.channels[channel.id] = channel
        return channel
