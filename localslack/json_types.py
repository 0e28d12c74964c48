"""Names for the JSON that crosses every door of the stand-in.

The stand-in is all doors: what a bot sends is arbitrary JSON until it has been judged, and what Slack
sends is JSON by contract. Records of our own (people, channels, messages, faults) are dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""One JSON object that we build or have checked to be an object."""

JsonView: TypeAlias = Mapping[str, Any]
"""One JSON object that is only read."""

Clock: TypeAlias = Callable[[], float]
"""Tells the time as Unix seconds; injected, so that tests can wait half an hour in no time."""
