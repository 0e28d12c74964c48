"""What a Web API method is: a function, whose token it takes and the scopes it always needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from localslack.arguments import Arguments
from localslack.core import Core
from localslack.json_types import JsonObject

Run: TypeAlias = Callable[[Core, Arguments], JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method. ``run`` returns the answer without ``ok`` or raises ApiError."""

    run: Run
    caller: Literal["bot", "app", "none"] = "bot"
    scopes: tuple[str, ...] = ()
