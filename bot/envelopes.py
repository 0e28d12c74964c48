"""Which Socket Mode envelopes and events were already taken, so that none is answered twice."""

from collections import OrderedDict
from collections.abc import Callable

# Slack redelivers an event three times within minutes. Commands and presses are not redelivered, but a
# socket that reconnects may hand one over twice.
KEPT_SECONDS = 3600.0
KEPT_COUNT = 20_000


class SeenEnvelopes:
    """Remembers ids for an hour, at most 20,000 of them, oldest forgotten first. For one event loop.

    Args:
        monotonic: A clock in seconds.
    """

    def __init__(self, *, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._seen: OrderedDict[str, float] = OrderedDict()

    def take(self, *ids: str) -> bool:
        """Return whether none of these ids was taken before, and remember all of them.

        Args:
            ids: The ids of one delivery: its envelope_id and, for an event, its event_id.
        """
        now = self._monotonic()
        while self._seen and next(iter(self._seen.values())) < now - KEPT_SECONDS:
            self._seen.popitem(last=False)
        is_new = not any(one in self._seen for one in ids)
        for one in ids:
            self._seen.setdefault(one, now)
        while len(self._seen) > KEPT_COUNT:
            self._seen.popitem(last=False)
        return is_new
