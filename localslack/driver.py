"""People who use the workspace: they type, click, choose, fill in and read only what they can see.

Public shape (being filled in; names will stay)::

    @dataclass(frozen=True)
    class Outcome:                          # what one action came to
        acked: bool; seconds: float; error: str | None   # error: what Slack would show, see UserError.code

    @dataclass(frozen=True)
    class UserError:                        # Person.errors, oldest first
        code: "operation_timeout" | "dispatch_failed" | "interaction_failed" | "view_failed" | "unknown_command" | ...
        text: str; channel_id: str | None

    @dataclass(frozen=True)
    class SeenMessage:                      # a message as one person sees it
        ts; channel_id; user_id (author); bot_id; text; blocks (list of JSON); thread_ts; is_ephemeral; is_edited
        response_type: "ephemeral" | "in_channel"
        plain_text -> str                   # everything a reader sees: blocks flattened, else text
        controls -> tuple[Control, ...]     # buttons, overflow menus, selects, in reading order

    @dataclass(frozen=True)
    class SeenView:                         # a modal, or the Home tab
        id; type ("modal" | "home"); title; submit; close; callback_id; private_metadata; hash; blocks; plain_text; controls
        errors: Mapping[block_id, sentence] # what the last submission was refused for

    @dataclass(frozen=True)
    class Control:
        type ("button", "overflow", "static_select", ...); block_id; action_id; text; value; url; options: tuple[Option, ...]

    class Person:
        user_id; user -> User; errors: list[UserError]
        async def type(text, *, channel, thread_ts=None) -> Outcome     # "/command …" or a plain message
        def messages(channel, *, thread_ts=None) -> list[SeenMessage]   # oldest first, ephemeral ones too
        async def wait_for_message(channel, wanted: Callable[[SeenMessage], bool], *, timeout=5.0) -> SeenMessage
        async def wait_for_view(wanted=..., *, timeout=5.0) -> SeenView
        async def wait_until(condition: Callable[[], bool], *, timeout=5.0) -> None
        async def click(place: SeenMessage | SeenView, *, action_id=None, text=None, block_id=None) -> Outcome
        async def choose(place, option: str, *, action_id=None, block_id=None) -> Outcome  # option's text or value
        async def shortcut(callback_id, *, message: SeenMessage) -> Outcome
        async def global_shortcut(callback_id) -> Outcome
        views -> tuple[SeenView, ...]       # the modal stack, top last
        home -> SeenView | None
        def fill(view, {"block_id/action_id" or "block_id" or "action_id": value}) -> Form   # Form.submit() -> Outcome
        async def close(view) -> Outcome    # top modal only; sends view_closed where notify_on_close
        async def close_all() -> Outcome    # the "clear" cross
        async def open_home() -> Outcome    # sends app_home_opened where subscribed
        async def reload() -> None          # ephemeral messages are gone
        channels -> tuple[Channel, ...]     # what the person's sidebar lists

An action whose target the person cannot see raises ``NotVisibleError``; it never reaches the bot.
"""
