"""Links into Slack, built from the workspace's URL: no call to Slack is needed.

Source of the form: https://docs.slack.dev/reference/methods/chat.getPermalink
"""

from typing import Final
from urllib.parse import urlencode, urlsplit

# A channel of an export that no list mentions has no id, so no link can lead there.
UNLISTED_PREFIX: Final = "dir:"


def message_permalink(workspace_url: str | None, channel_id: str, ts: str, thread_ts: str | None) -> str | None:
    """Return the link to a message, or None where it cannot be known.

    Args:
        workspace_url: Such as `https://example.slack.com`; anything but http(s) with a host counts as unknown.
        channel_id: The channel; `dir:NAME` has no link.
        ts: The message's ts, such as `1700000000.000100`.
        thread_ts: Its thread's ts; a reply's link names it, a root's does not.
    """
    if not workspace_url or channel_id.startswith(UNLISTED_PREFIX):
        return None
    address = urlsplit(workspace_url)
    if address.scheme not in {"http", "https"} or not address.netloc:
        return None
    link = f"{address.scheme}://{address.netloc}/archives/{channel_id}/p{ts.replace('.', '')}"
    if thread_ts is None or thread_ts == ts:
        return link
    return f"{link}?{urlencode({'thread_ts': thread_ts, 'cid': channel_id})}"
