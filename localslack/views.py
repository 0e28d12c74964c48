"""Modals and Home tabs: what each person has open, with ids, hashes, stacks and entered values."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

from localslack.blockkit.check import check_view, view_is_too_large
from localslack.blockkit.finish import finished_blocks
from localslack.errors import ApiError
from localslack.ids import new_id
from localslack.input_state import initial_state
from localslack.json_types import Clock, JsonObject, JsonView
from localslack.recorder import Recorder, SentPayload
from localslack.world import World

STACK_DEPTH = 3


@dataclass(slots=True, kw_only=True)
class View:
    """One view of one person. ``errors`` holds what the last submission was refused for, by block_id."""

    id: str
    user_id: str
    spec: JsonObject
    hash: str
    values: JsonObject
    root_view_id: str
    previous_view_id: str | None = None
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return ``modal`` or ``home``."""
        return str(self.spec["type"])


class ViewStore:
    """Every open view. Belongs to the server's event loop."""

    def __init__(self, world: World, clock: Clock, recorder: Recorder) -> None:
        self._world = world
        self._clock = clock
        self._recorder = recorder
        self._stacks: dict[str, list[View]] = {}
        self._homes: dict[str, View] = {}

    def checked(self, spec: object, *, method: str, kinds: tuple[str, ...] = ("modal",)) -> JsonObject:
        """Validate and record a view that the app sent, and return it.

        Raises:
            ApiError: ``invalid_arguments`` with the problems, ``view_too_large``, or
                ``duplicate_external_id``.
        """
        problems = [str(problem) for problem in check_view(spec)]
        if isinstance(spec, dict) and not problems:
            if spec["type"] not in kinds:
                problems.append(f"unsupported type: {spec['type']} [json-pointer:/view/type]")
            if view_is_too_large(spec):
                problems.append("view_too_large")
        shown: JsonObject = spec if isinstance(spec, dict) else {"value": spec}
        surface = "home" if shown.get("type") == "home" else "modal"
        self._recorder.payload(SentPayload(surface=surface, method=method, payload=shown, problems=tuple(problems)))
        if problems == ["view_too_large"]:
            raise ApiError("view_too_large")
        if problems:
            raise ApiError("invalid_arguments", messages=problems)
        return shown

    def stack(self, user_id: str) -> list[View]:
        """Return the person's open modals, top last."""
        return list(self._stacks.get(user_id, []))

    def home(self, user_id: str) -> View | None:
        """Return the person's Home tab, None while nothing was published."""
        return self._homes.get(user_id)

    def find(self, view_id: str) -> View | None:
        """Return an open view by its id, or None."""
        return next((view for view in self._all() if view.id == view_id), None)

    def open(self, user_id: str, spec: JsonObject) -> View:
        """Open a modal; modals that were open are gone."""
        self._check_external_id(spec, but=None)
        view = self._new(user_id, spec)
        self._stacks[user_id] = [view]
        return view

    def push(self, user_id: str, spec: JsonObject) -> View:
        """Open a modal over the open one.

        Raises:
            ApiError: ``push_limit_reached`` at three, ``not_found`` where nothing is open.
        """
        stack = self._stacks.get(user_id, [])
        if not stack:
            raise ApiError("not_found")
        if len(stack) >= STACK_DEPTH:
            raise ApiError("push_limit_reached")
        self._check_external_id(spec, but=None)
        view = self._new(user_id, spec)
        view.root_view_id, view.previous_view_id = stack[0].id, stack[-1].id
        stack.append(view)
        return view

    def update(self, view: View, spec: JsonObject, *, expected_hash: str | None) -> View:
        """Change an open view; inputs with the same ids and type keep what was entered.

        Raises:
            ApiError: ``hash_conflict`` when the hash given is not the view's present one.
        """
        if expected_hash is not None and expected_hash != view.hash:
            raise ApiError("hash_conflict")
        self._check_external_id(spec, but=view)
        finished = {**spec, "blocks": finished_blocks(spec["blocks"])}
        view.values = initial_state(finished["blocks"], view.values)
        view.spec, view.hash, view.errors = finished, self._new_hash(), {}
        return view

    def publish(self, user_id: str, spec: JsonObject, *, expected_hash: str | None) -> View:
        """Set a person's Home tab.

        Raises:
            ApiError: ``hash_conflict``.
        """
        current = self._homes.get(user_id)
        if current is not None:
            return self.update(current, spec, expected_hash=expected_hash)
        self._homes[user_id] = self._new(user_id, spec)
        return self._homes[user_id]

    def find_open(self, *, view_id: str | None, external_id: str | None) -> View:
        """Return the view that views.update names.

        Raises:
            ApiError: ``invalid_arguments`` unless exactly one is given; ``not_found``.
        """
        if (view_id is None) == (external_id is None):
            raise ApiError("invalid_arguments", messages=["must provide exactly one of view_id, external_id"])
        for view in self._all():
            if view.id == view_id or (external_id and view.spec.get("external_id") == external_id):
                return view
        raise ApiError("not_found")

    def close_top(self, user_id: str) -> View | None:
        """Close the person's top modal and return it."""
        stack = self._stacks.get(user_id, [])
        return stack.pop() if stack else None

    def close_all(self, user_id: str) -> list[View]:
        """Close every modal of a person and return them, top first."""
        return list(reversed(self._stacks.pop(user_id, [])))

    def json(self, view: View) -> JsonObject:
        """Return a view as answers and payloads show it."""
        spec = view.spec
        body: JsonObject = {
            "id": view.id,
            "team_id": self._world.team.id,
            "app_id": self._world.app_id,
            "app_installed_team_id": self._world.team.id,
            "bot_id": self._world.bot_id,
            "type": view.kind,
            "title": spec.get("title", {"type": "plain_text", "text": "View Title", "emoji": True}),
            "submit": spec.get("submit"),
            "close": spec.get("close"),
            "blocks": spec["blocks"],
            "private_metadata": spec.get("private_metadata", ""),
            "callback_id": spec.get("callback_id", ""),
            "external_id": spec.get("external_id", ""),
            "state": {"values": view.values},
            "hash": view.hash,
            "clear_on_close": spec.get("clear_on_close", False),
            "notify_on_close": spec.get("notify_on_close", False),
            "root_view_id": view.root_view_id,
            "previous_view_id": view.previous_view_id,
        }
        return body

    def _new(self, user_id: str, spec: JsonView) -> View:
        finished = {**spec, "blocks": finished_blocks(spec["blocks"])}
        view_id = new_id("V")
        return View(
            id=view_id,
            user_id=user_id,
            spec=finished,
            hash=self._new_hash(),
            values=initial_state(finished["blocks"]),
            root_view_id=view_id,
        )

    def _new_hash(self) -> str:
        salt = hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:8]
        return f"{int(self._clock())}.{salt}"

    def _check_external_id(self, spec: JsonView, *, but: View | None) -> None:
        external_id = spec.get("external_id")
        taken = (v for v in self._all() if v is not but and v.spec.get("external_id") == external_id)
        if external_id and next(taken, None) is not None:
            raise ApiError("duplicate_external_id")

    def _all(self) -> Iterator[View]:
        for stack in self._stacks.values():
            yield from stack
        yield from self._homes.values()
