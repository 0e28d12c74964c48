"""What one user may see by the archive's own word; for the command line, where Slack cannot be asked."""

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
