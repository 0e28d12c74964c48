"""Slack's rate limits: calls per method and minute by tier, posts per channel and second."""

from __future__ import annotations

from collections import defaultdict, deque
from math import ceil

from localslack.json_types import Clock

TIERS = {2: 20, 3: 50, 4: 100}
"""Calls a minute that each tier allows at least."""

METHOD_TIERS = {
    "chat.postEphemeral": 4,
    "chat.update": 3,
    "chat.delete": 3,
    "views.open": 4,
    "views.push": 4,
    "views.update": 4,
    "views.publish": 4,
    "users.info": 4,
    "users.list": 2,
    "users.conversations": 3,
    "conversations.list": 2,
    "conversations.info": 3,
    "conversations.members": 4,
    "conversations.history": 3,
    "conversations.replies": 3,
    "conversations.open": 3,
    "team.info": 3,
    "apps.connections.open": 3,
}
POSTS_PER_SECOND = 1


class RateLimits:
    """Counts calls in sliding windows. When ``enforced`` is False everything passes."""

    def __init__(self, clock: Clock, *, enforced: bool) -> None:
        self.enforced = enforced
        self._clock = clock
        self._calls: dict[str, deque[float]] = defaultdict(deque)

    def seconds_to_wait(self, method: str, *, channel_id: str | None = None) -> int:
        """Count a call; return 0, or the whole seconds that Retry-After names."""
        if not self.enforced:
            return 0
        if method == "chat.postMessage":
            return self._count(f"post:{channel_id}", POSTS_PER_SECOND, 1.0)
        tier = METHOD_TIERS.get(method)
        return self._count(method, TIERS[tier], 60.0) if tier else 0

    def _count(self, key: str, most: int, window: float) -> int:
        now, calls = self._clock(), self._calls[key]
        while calls and calls[0] <= now - window:
            calls.popleft()
        if len(calls) >= most:
            return max(1, ceil(calls[0] + window - now))
        calls.append(now)
        return 0
