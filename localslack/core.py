"""What every part of the stand-in shares: the state, and the few steps that all roads go through."""

from __future__ import annotations

from dataclasses import dataclass, field

from localslack.app_manifest import AppManifest
from localslack.auth import Tokens
from localslack.changes import Change, ChangeKind, Feed
from localslack.content import Content, ContentReader
from localslack.faults import Faults
from localslack.ids import Stamps
from localslack.json_types import Clock
from localslack.messages import Message, MessageStore
from localslack.rate_limits import RateLimits
from localslack.recorder import Notification, Recorder
from localslack.response_urls import ResponseURLs
from localslack.socket_mode import SocketHub
from localslack.triggers import Triggers
from localslack.views import ViewStore
from localslack.workspace import Channel, Workspace
from localslack.world import World


@dataclass(slots=True, kw_only=True)
class UserError:
    """Something that Slack itself would tell a person.

    Attributes:
        code: ``operation_timeout`` (no ack in 3 s), ``dispatch_failed`` (no connection),
            ``unknown_command``, ``command_in_thread``, ``not_allowed`` (the person may not do this),
            ``view_failed`` (a submission's answer was unusable) or ``invalid_response``.
        text: The sentence that is shown.
        channel_id: Where it is shown, None for views and the Home tab.
    """

    code: str
    text: str
    channel_id: str | None = None


def new_core(
    workspace: Workspace,
    manifest: AppManifest,
    *,
    clock: Clock,
    tokens: Tokens,
    recorder: Recorder,
    ack_seconds: float,
    rate_limits: bool,
    message_blocks_chars: int,
    page_items: int | None,
) -> Core:
    """Return the state of a workspace that has just started; see ``LocalSlack`` for the arguments."""
    world, faults = World(workspace, manifest), Faults()
    names = {user.name.lower(): user.id for user in world.users.values()}
    return Core(
        clock=clock,
        manifest=manifest,
        world=world,
        tokens=tokens,
        store=MessageStore(Stamps(clock), workspace.messages, workspace.older),
        content=ContentReader(recorder, names, blocks_chars=message_blocks_chars),
        views=ViewStore(world, clock, recorder),
        triggers=Triggers(clock),
        response_urls=ResponseURLs(clock),
        recorder=recorder,
        faults=faults,
        limits=RateLimits(clock, enforced=rate_limits),
        feed=Feed(),
        hub=SocketHub(recorder=recorder, faults=faults, ack_seconds=ack_seconds, app_id=workspace.app_id),
        page_items=page_items,
    )


@dataclass(slots=True, kw_only=True)
class Core:
    """The stand-in's state. Belongs to the server's event loop."""

    clock: Clock
    manifest: AppManifest
    world: World
    tokens: Tokens
    store: MessageStore
    content: ContentReader
    views: ViewStore
    triggers: Triggers
    response_urls: ResponseURLs
    recorder: Recorder
    faults: Faults
    limits: RateLimits
    feed: Feed
    hub: SocketHub
    page_items: int | None = None
    base_url: str = ""
    errors: dict[str, list[UserError]] = field(default_factory=dict)

    def audience(self, channel: Channel) -> list[str]:
        """Return everybody who may see the channel now."""
        return [user_id for user_id in self.world.users if self.world.person_sees(user_id, channel)]

    def post(
        self,
        channel: Channel,
        content: Content,
        *,
        method: str,
        thread_ts: str | None = None,
        ephemeral_for: str | None = None,
    ) -> Message:
        """Put the app's accepted message into a channel and note whom it would notify."""
        message = self.store.add(
            Message(
                ts=self.store.next_ts(),
                channel_id=channel.id,
                user_id=self.world.bot_user_id,
                text=content.text,
                blocks=content.blocks,
                thread_ts=thread_ts,
                ephemeral_for=ephemeral_for,
                by_app=True,
            )
        )
        self.note_mentions(content, message, method=method)
        self.announce("message" if ephemeral_for is None else "ephemeral", message)
        return message

    def replace(self, message: Message, content: Content, *, method: str) -> None:
        """Give an app's message new content and note whom it would notify."""
        message.text, message.blocks, message.state = content.text, content.blocks, {}
        message.edited_ts = self.store.next_ts()
        self.note_mentions(content, message, method=method)
        self.announce("message_changed", message)

    def remove(self, message: Message) -> None:
        """Delete a message."""
        self.store.delete(message)
        self.announce("message_deleted", message)

    def announce(self, kind: ChangeKind, message: Message) -> None:
        """Tell those who see a message that it changed."""
        channel = self.world.channels.get(message.channel_id)
        people = [message.ephemeral_for] if message.ephemeral_for else self.audience(channel) if channel else []
        self.feed.publish(Change(kind=kind, channel_id=message.channel_id, ts=message.ts), people)

    def note_mentions(self, content: Content, message: Message, *, method: str) -> None:
        """Record the mentions of an accepted message as notifications."""
        self.recorder.notifications.extend(
            Notification(mention=mention, method=method, channel_id=message.channel_id, ts=message.ts)
            for mention in content.mentions
        )

    def tell(self, user_id: str, error: UserError) -> None:
        """Show a person an error of Slack's own."""
        self.errors.setdefault(user_id, []).append(error)
        self.feed.publish(Change(kind="error", channel_id=error.channel_id), [user_id])

    def reloaded(self, user_id: str) -> None:
        """Tell a person's listeners to look at everything again."""
        self.feed.publish(Change(kind="reload"), [user_id])
