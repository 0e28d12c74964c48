"""Faults on demand: what Slack or the network does on a bad day."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

FaultKind: TypeAlias = Literal[
    "rate_limited",  # 429 with Retry-After and {"ok": false, "error": "ratelimited"}
    "status_500",  # 500 with an HTML page
    "status_503",  # 503 with an empty body
    "malformed_json",  # 200 with half a JSON document
    "error",  # 200 with {"ok": false, "error": <error>}
    "slow",  # the answer is held back for `seconds`, then given as usual
    "drop",  # the connection is reset without an answer
    "response_url_404",  # the response_url says 404, as if it were unknown
    "duplicate_envelope",  # the next envelopes are sent twice
    "pong_blackout",  # until `clear`: pings are left unanswered, and no pings are sent
    "ignore_close",  # the other side's CLOSE frame is left unanswered
]
RESPONSE_URL = "response_url"
_SOCKET: frozenset[str] = frozenset({"duplicate_envelope", "pong_blackout", "ignore_close"})


@dataclass(slots=True, kw_only=True)
class Fault:
    """One ordered fault. ``times`` counts down; a negative number means until cleared."""

    kind: FaultKind
    method: str
    times: int
    seconds: float
    retry_after: int
    error: str


@dataclass(slots=True)
class Faults:
    """The faults that were ordered and are still to come, oldest order first."""

    ordered: list[Fault] = field(default_factory=list)

    def order(
        self,
        kind: FaultKind,
        *,
        method: str = "*",
        times: int = 1,
        seconds: float = 0.0,
        retry_after: int = 30,
        error: str = "internal_error",
    ) -> None:
        """Order a fault.

        Args:
            kind: What goes wrong, see ``FaultKind``.
            method: A Web API method, ``response_url``, or ``*`` for any method.
            times: How often; a negative number means until ``clear``.
            seconds: How long a ``slow`` answer is held back.
            retry_after: Seconds that a 429 names.
            error: The error of kind ``error``.

        Raises:
            ValueError: there is no such kind.
        """
        if kind not in get_args(FaultKind):
            raise ValueError(f"no such fault: {kind}; there are {', '.join(get_args(FaultKind))}")
        if kind == "response_url_404":
            method = RESPONSE_URL
        self.ordered.append(
            Fault(kind=kind, method=method, times=times, seconds=seconds, retry_after=retry_after, error=error)
        )

    def take(self, method: str) -> Fault | None:
        """Use up and return the next fault for a Web API method or ``response_url``, or None."""
        for fault in self.ordered:
            wanted = fault.method == method or (fault.method == "*" and method != RESPONSE_URL)
            if fault.kind not in _SOCKET and wanted:
                return self._use(fault)
        return None

    def take_socket(self, kind: FaultKind) -> bool:
        """Use up one socket fault of this kind; whether there was one."""
        found = next((fault for fault in self.ordered if fault.kind == kind), None)
        return found is not None and self._use(found) is found

    def is_on(self, kind: FaultKind) -> bool:
        """Whether a fault of this kind is ordered, without using it up."""
        return any(fault.kind == kind for fault in self.ordered)

    def clear(self) -> None:
        """Forget every order."""
        self.ordered.clear()

    def _use(self, fault: Fault) -> Fault:
        if fault.times > 0:
            fault.times -= 1
            if fault.times == 0:
                self.ordered.remove(fault)
        return fault
