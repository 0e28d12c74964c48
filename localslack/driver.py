"""People who use the workspace: they type, click, choose, fill in, and read only what they can see.

Whatever a person does here is what somebody at a screen could do. An action on something that the person
does not see raises ``NotVisibleError`` and never reaches the app; what Slack itself would answer (no ack
in time, an unknown command) stands in ``Person.errors`` and in the action's ``Outcome``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from localslack.command_escape import escaped_command_text
from localslack.core import Core, UserError
from localslack.events import Events
from localslack.input_state import entered, find_option
from localslack.interactions import Interactions, Outcome
from localslack.json_types import JsonObject, JsonView
from localslack.membership import Membership
from localslack.messages import Message
from localslack.reader import NotVisibleError, Reader
from localslack.seen import Control, SeenMessage, SeenView
from localslack.workspace import Channel

__all__ = [
    "Control",
    "Form",
    "NotVisibleError",
    "Outcome",
    "Person",
    "SeenMessage",
    "SeenView",
    "UserError",
]

_POLL_SECONDS = 0.01
_PRESSED = frozenset({"button", "icon_button", "workflow_button"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a person works with: the state and the roads to the app."""

    core: Core
    interactions: Interactions
    membership: Membership
    events: Events


class Person(Reader):
    """One user of the workspace. Get it from ``LocalSlack.person``; belongs to the event loop."""

    def __init__(self, user_id: str, desk: Desk) -> None:
        super().__init__(user_id, desk.core)
        self.opened_urls: list[str] = []
        self._desk = desk

    async def type(self, text: str, *, channel: str, thread_ts: str | None = None) -> Outcome:
        """Type a line and press Enter: a command when it begins with a slash, else a message.

        Returns once the app acked the command, or failed to; messages are posted at once.

        Raises:
            NotVisibleError: the person is no member of the channel.
        """
        place = self._visible_channel(channel)
        if self.user_id not in place.members:
            raise NotVisibleError(f"{self.user_id} is no member of {channel} and cannot write there")
        if place.is_archived:
            return self._refused("not_allowed", "This channel is archived.", channel)
        if place.is_read_only and not self.user.is_admin:
            return self._refused("not_allowed", "Only admins can write in this channel.", channel)
        if place.is_im and self._core.world.bot_user_id in place.members and not self._core.manifest.messages_tab:
            return self._refused("not_allowed", "Sending messages to this app has been turned off.", channel)
        if text.startswith("/"):
            if thread_ts is not None:
                sentence = f"{text.split(maxsplit=1)[0]} is not supported in threads. Sorry!"
                return self._refused("command_in_thread", sentence, channel)
            return await self._desk.interactions.command(self.user, place, text)
        self._desk.membership.say(self._written(place, text, thread_ts), place)
        return Outcome(acked=True, seconds=0.0)

    async def click(
        self,
        place: SeenMessage | SeenView,
        *,
        action_id: str | None = None,
        text: str | None = None,
        block_id: str | None = None,
        index: int = 0,
    ) -> Outcome:
        """Press a button that is there now.

        Args:
            place: The message or view; it is looked up again, so it may have changed meanwhile.
            action_id: The button's action id, if given.
            text: The button's label, if given.
            block_id: The button's block, if given.
            index: Which of the buttons that match, from 0 in reading order.

        Raises:
            NotVisibleError: there is no such button for this person.
        """
        buttons = [
            control
            for control in self._controls(place, action_id=action_id, block_id=block_id)
            if control.type in _PRESSED and text in {None, control.text}
        ]
        if len(buttons) <= index:
            wanted = text or action_id or block_id
            raise NotVisibleError(f"{self.user_id} sees no button {wanted!r} (number {index}) there")
        button = buttons[index]
        action: JsonObject = {"text": button.element.get("text")}
        for key in ("value", "style", "url"):
            if key in button.element:
                action[key] = button.element[key]
        if button.url:
            self.opened_urls.append(button.url)
        return await self._act(place, button, action)

    async def choose(
        self,
        place: SeenMessage | SeenView,
        option: object,
        *,
        action_id: str | None = None,
        block_id: str | None = None,
        index: int = 0,
    ) -> Outcome:
        """Choose from an overflow menu, a select, radio buttons, or give any other input a value.

        ``option`` is an option's value or text; for users, channels and dates the id or date itself; a
        list where several may be chosen. In an input block without ``dispatch_action`` the app is not told.

        Raises:
            NotVisibleError: there is no such control or option for this person.
        """
        menus = [
            control
            for control in self._controls(place, action_id=action_id, block_id=block_id)
            if control.type not in _PRESSED
        ]
        if len(menus) <= index:
            raise NotVisibleError(f"{self.user_id} sees no menu {action_id or block_id!r} there")
        menu = menus[index]
        try:
            action = self._chosen(place, menu, option)
        except ValueError as exc:
            raise NotVisibleError(f"{menu.action_id}: {exc}") from exc
        if not self._dispatches(place, menu):
            return Outcome(acked=True, seconds=0.0)
        return await self._act(place, menu, action)

    async def shortcut(self, callback_id: str, *, message: SeenMessage) -> Outcome:
        """Use a message shortcut from a message's menu; Slack offers none on ephemeral messages.

        Raises:
            NotVisibleError: the person does not see the message (any more).
        """
        return await self._desk.interactions.message_shortcut(self.user, self._post(message), callback_id)

    async def global_shortcut(self, callback_id: str) -> Outcome:
        """Use a global shortcut."""
        return await self._desk.interactions.global_shortcut(self.user, callback_id)

    def fill(self, view: SeenView, values: Mapping[str, object]) -> Form:
        """Prepare to fill in a view; nothing happens before ``Form.submit`` or ``Form.enter``.

        Args:
            view: An open modal of this person.
            values: By ``block_id/action_id``, or either alone where it is unambiguous. See ``choose``
                for the values; None or "" empties an input.
        """
        return Form(person=self, view=view, values=dict(values))

    async def close(self, view: SeenView) -> Outcome:
        """Close the top modal, by its close button.

        Raises:
            NotVisibleError: the view is not this person's top modal.
        """
        stack = self._core.views.stack(self.user_id)
        if not stack or stack[-1].id != view.id:
            raise NotVisibleError(f"{view.id} is not the top modal of {self.user_id}")
        closed = stack[-1]
        if closed.spec.get("clear_on_close"):
            return await self.close_all()
        self._core.views.close_top(self.user_id)
        return await self._desk.interactions.closed(self.user, closed, cleared=False)

    async def close_all(self) -> Outcome:
        """Close every modal at once; returns what came of the first one's notice."""
        outcome = Outcome(acked=True, seconds=0.0)
        for view in self._core.views.close_all(self.user_id):
            outcome = await self._desk.interactions.closed(self.user, view, cleared=True)
        return outcome

    async def open_home(self) -> Outcome:
        """Open the app's Home tab, of which the app is told if it subscribed."""
        if not self._core.manifest.home_tab:
            return self._refused("not_allowed", "This app has no Home tab.", None)
        members = {self.user_id, self._core.world.bot_user_id}
        channel = self._core.world.open_dm(members, created=int(self._core.clock()))
        event: JsonObject = {
            "type": "app_home_opened",
            "user": self.user_id,
            "channel": channel.id,
            "tab": "home",
        }
        if (view := self._core.views.home(self.user_id)) is not None:
            event["view"] = self._core.views.json(view)
        self._desk.events.send(event)
        return Outcome(acked=True, seconds=0.0)

    async def reload(self) -> None:
        """Reload Slack: ephemeral messages and open modals are gone."""
        self._core.store.forget_ephemeral(self.user_id)
        self._core.views.close_all(self.user_id)
        self._core.reloaded(self.user_id)

    def enter(self, view: SeenView, control: Control, value: object) -> None:
        """Set one input of a view without telling the app.

        Raises:
            NotVisibleError: the view is gone.
            ValueError: the menu offers no such option, or the control takes no value.
        """
        state = entered(control.element, value)
        self._view(view).values[control.block_id][control.action_id] = state

    async def submit(self, view: SeenView) -> Outcome:
        """Press the submit button; inputs hold what was entered.

        Raises:
            NotVisibleError: the view is not this person's top modal.
        """
        open_view = self._view(view)
        if self._core.views.stack(self.user_id)[-1:] != [open_view]:
            raise NotVisibleError(f"{view.id} is not the top modal of {self.user_id}")
        return await self._desk.interactions.submit(self.user, open_view)

    def _written(self, channel: Channel, text: str, thread_ts: str | None) -> Message:
        store, world = self._core.store, self._core.world
        return store.add(
            Message(
                ts=store.next_ts(),
                channel_id=channel.id,
                user_id=self.user_id,
                text=escaped_command_text(text, self.user_id, world),
                thread_ts=thread_ts,
            )
        )

    def _controls(self, place: SeenMessage | SeenView, *, action_id: str | None, block_id: str | None) -> list[Control]:
        now = self.current_view(place) if isinstance(place, SeenView) else self.current_message(place)
        return [
            control
            for control in now.controls
            if action_id in {None, control.action_id}
            and block_id in {None, control.block_id}
            and self.user_id in control.element.get("visible_to_user_ids", [self.user_id])
        ]

    def _chosen(self, place: SeenMessage | SeenView, menu: Control, option: object) -> JsonObject:
        """Enter a choice and return the keys that an action says it with."""
        if menu.type == "overflow":
            chosen = find_option(menu.element, str(option))
            if chosen.get("url"):
                self.opened_urls.append(chosen["url"])
            return {"selected_option": chosen}
        if menu.type == "feedback_buttons":
            if option not in {offered.value for offered in menu.options}:
                raise ValueError(f"no choice {option!r}")
            return {"value": option}
        state = entered(menu.element, option)
        values = self._view(place).values if isinstance(place, SeenView) else self._post(place).state
        values.setdefault(menu.block_id, {})[menu.action_id] = state
        return {key: value for key, value in state.items() if key != "type"}

    def _dispatches(self, place: SeenMessage | SeenView, control: Control) -> bool:
        block = _block_of(place, control)
        return block is None or block["type"] != "input" or bool(block.get("dispatch_action"))

    async def _act(self, place: SeenMessage | SeenView, control: Control, said: JsonObject) -> Outcome:
        action: JsonObject = {
            "type": control.type,
            "block_id": control.block_id,
            "action_id": control.action_id,
            **said,
            "action_ts": self._core.store.next_ts(),
        }
        if isinstance(place, SeenView):
            return await self._desk.interactions.view_action(self.user, self._view(place), action, control.element)
        return await self._desk.interactions.message_action(self.user, self._post(place), action, control.element)

    def _refused(self, code: str, text: str, channel_id: str | None) -> Outcome:
        self._core.tell(self.user_id, UserError(code=code, text=text, channel_id=channel_id))
        return Outcome(acked=False, seconds=0.0, error=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A view with the values that a person is about to enter."""

    person: Person
    view: SeenView
    values: dict[str, object]

    async def enter(self) -> None:
        """Enter the values; inputs that dispatch tell the app at once.

        Raises:
            NotVisibleError: there is no such input, or a name is ambiguous.
        """
        for name, value in self.values.items():
            control = self._find(name)
            await self.person.choose(self.view, value, action_id=control.action_id, block_id=control.block_id)

    async def submit(self) -> Outcome:
        """Enter the values and press the submit button.

        ``Outcome.error`` is ``invalid_input`` when Slack's own client refuses (a required field is
        empty); the sentences stand in ``SeenView.errors``.
        """
        await self.enter()
        return await self.person.submit(self.view)

    def _find(self, name: str) -> Control:
        block_id, slash, action_id = name.partition("/")
        controls = self.person.current_view(self.view).controls
        found = [
            control
            for control in controls
            if ((control.block_id, control.action_id) == (block_id, action_id))
            or (not slash and name in {control.block_id, control.action_id})
        ]
        if len(found) != 1:
            raise NotVisibleError(f"{len(found)} inputs are called {name!r} in view {self.view.id}")
        return found[0]


def _block_of(place: SeenMessage | SeenView, control: Control) -> JsonView | None:
    return next((block for block in place.blocks if block.get("block_id") == control.block_id), None)
