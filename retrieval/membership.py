"""Who is where by the archive's own word: for direct messages, and for the command line, where Slack is not asked."""

from collections.abc import Collection, Mapping

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.errors import RequestError
from retrieval.visibility import Visibility


def visibility_as(artifact: Artifact, user_id: str) -> Visibility:
    """Return what the archive says that *user_id* may see, as of its export.

    Public channels, for guests only those they are in; and the private channels and direct messages whose
    members they are listed among.

    Raises:
        RequestError: The archive carries no privacy tables, or does not know the user.

    Thread-safe.
    """
    needed = {schema.CHANNELS, schema.CHANNEL_MEMBERS, schema.USERS}
    if not needed <= artifact.info.capabilities:
        raise RequestError("This archive does not say who may see what, so --as cannot be used with it.")
    with artifact.cursor() as cursor:
        users = cursor.execute(
            f"SELECT workspace_id, is_guest, is_bot OR deleted FROM {schema.USERS} WHERE user_id = ?", [user_id]
        ).fetchall()
        if not users:
            raise RequestError(f"The archive knows no user {user_id}.")
        rows = cursor.execute(
            f"SELECT c.workspace_id, c.channel_id, c.is_private OR c.is_im OR c.is_mpim, m.user_id IS NOT NULL "
            f"FROM {schema.CHANNELS} c LEFT JOIN {schema.CHANNEL_MEMBERS} m "
            "ON m.workspace_id = c.workspace_id AND m.channel_id = c.channel_id AND m.user_id = ?",
            [user_id],
        ).fetchall()
    guests = {workspace: guest for workspace, guest, barred in users if not barred}
    allowed: dict[str, list[str]] = {workspace: [] for workspace in guests}
    for workspace, channel_id, private, member in rows:
        if workspace in guests and (member or not (private or guests[workspace])):
            allowed[workspace].append(channel_id)
    return Visibility.of_channels(allowed)


def direct_message_channels(
    artifact: Artifact, *, user_id: str, workspace_ids: Collection[str]
) -> Mapping[str, frozenset[str]]:
    """Return the DMs and group DMs that the archive lists *user_id* among the participants of.

    Args:
        artifact: Leased by the caller.
        user_id: The participant.
        workspace_ids: The workspaces to look in.

    Returns:
        Channel ids by workspace id; nothing where the archive carries no privacy tables.

    Thread-safe.
    """
    if not {schema.CHANNELS, schema.CHANNEL_MEMBERS} <= artifact.info.capabilities:
        return {}
    with artifact.cursor() as cursor:
        rows = cursor.execute(
            f"SELECT c.workspace_id, c.channel_id FROM {schema.CHANNELS} c JOIN {schema.CHANNEL_MEMBERS} m "
            "USING (workspace_id, channel_id) WHERE m.user_id = ? AND (c.is_im OR c.is_mpim) "
            "AND c.workspace_id IN (SELECT unnest(?::VARCHAR[]))",
            [user_id, sorted(workspace_ids)],
        ).fetchall()
    found: dict[str, set[str]] = {}
    for workspace_id, channel_id in rows:
        found.setdefault(workspace_id, set()).add(channel_id)
    return {workspace_id: frozenset(channels) for workspace_id, channels in found.items()}
