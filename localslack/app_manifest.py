"""The part of an app manifest that decides what Slack lets the app do and what it sends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from localslack.json_types import JsonView


class ManifestError(ValueError):
    """The manifest is not one; the message names the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A declared shortcut; ``kind`` is ``message`` or ``global``."""

    callback_id: str
    name: str
    kind: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppManifest:
    """What the app declares: commands (with should_escape), shortcuts, events, scopes, switches."""

    name: str
    bot_name: str
    commands: Mapping[str, bool]
    command_hints: Mapping[str, str]
    command_descriptions: Mapping[str, str]
    shortcuts: tuple[Shortcut, ...]
    events: frozenset[str]
    bot_scopes: frozenset[str]
    home_tab: bool
    messages_tab: bool
    socket_mode: bool
    interactivity: bool

    @staticmethod
    def from_mapping(manifest: JsonView) -> AppManifest:
        """Read a parsed manifest.yaml.

        Raises:
            ManifestError: a key that the stand-in needs is missing or of the wrong type, or a command, a
                shortcut or an event lacks the scope that Slack wants for it.
        """
        try:
            read = _read(_ManifestIn.model_validate(manifest))
        except ValidationError as exc:
            first = exc.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ManifestError(f"manifest: {place}: {first['msg']}") from exc
        _check_scopes(read)
        return read

    def find_shortcut(self, callback_id: str, kind: str) -> Shortcut | None:
        """Return the declared shortcut of that kind, or None."""
        wanted = (s for s in self.shortcuts if (s.callback_id, s.kind) == (callback_id, kind))
        return next(wanted, None)


_READS = ("channels:read", "groups:read", "im:read", "mpim:read")
_EVENT_SCOPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("channel_archive", "channel_created", "channel_deleted"), ("channels:read",)),
    **dict.fromkeys(("channel_rename", "channel_unarchive", "channel_left"), ("channels:read",)),
    **dict.fromkeys(("group_archive", "group_deleted", "group_rename"), ("groups:read",)),
    **dict.fromkeys(("group_unarchive", "group_left"), ("groups:read",)),
    **dict.fromkeys(("channel_id_changed", "channel_shared", "channel_unshared"), _READS),
    **dict.fromkeys(("member_joined_channel", "member_left_channel"), ("channels:read", "groups:read")),
    **dict.fromkeys(("team_join", "user_change"), ("users:read",)),
    "app_mention": ("app_mentions:read",),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
}
"""Any one of these scopes lets the app subscribe; events that are not listed need none or are unknown here."""


def _check_scopes(manifest: AppManifest) -> None:
    if (manifest.commands or manifest.shortcuts) and "commands" not in manifest.bot_scopes:
        raise ManifestError("manifest: slash commands and shortcuts need the scope commands")
    for event in sorted(manifest.events):
        wanted = _EVENT_SCOPES.get(event, ())
        if wanted and not manifest.bot_scopes.intersection(wanted):
            raise ManifestError(f"manifest: the event {event} needs one of the scopes {', '.join(wanted)}")


class _In(BaseModel):
    # The manifest's own schema is tested elsewhere; here unknown keys are none of our business.
    model_config = ConfigDict(extra="ignore", frozen=True)


class _DisplayIn(_In):
    name: str


class _HomeIn(_In):
    home_tab_enabled: bool = False
    messages_tab_enabled: bool = False


class _BotUserIn(_In):
    display_name: str


class _CommandIn(_In):
    command: str
    description: str
    usage_hint: str = ""
    should_escape: bool = False


class _ShortcutIn(_In):
    callback_id: str
    name: str
    type: str
    description: str = ""


class _FeaturesIn(_In):
    app_home: _HomeIn = _HomeIn()
    bot_user: _BotUserIn | None = None
    slash_commands: tuple[_CommandIn, ...] = ()
    shortcuts: tuple[_ShortcutIn, ...] = ()


class _ScopesIn(_In):
    bot: tuple[str, ...] = ()


class _OAuthIn(_In):
    scopes: _ScopesIn = _ScopesIn()


class _EventsIn(_In):
    bot_events: tuple[str, ...] = ()


class _InteractivityIn(_In):
    is_enabled: bool


class _SettingsIn(_In):
    event_subscriptions: _EventsIn = _EventsIn()
    interactivity: _InteractivityIn = _InteractivityIn(is_enabled=False)
    socket_mode_enabled: bool = False


class _ManifestIn(_In):
    display_information: _DisplayIn
    features: _FeaturesIn = _FeaturesIn()
    oauth_config: _OAuthIn = _OAuthIn()
    settings: _SettingsIn = _SettingsIn()


def _read(read: _ManifestIn) -> AppManifest:
    features = read.features
    name = read.display_information.name
    shortcuts = (
        Shortcut(callback_id=one.callback_id, name=one.name, kind=one.type, description=one.description)
        for one in features.shortcuts
    )
    return AppManifest(
        name=name,
        bot_name=features.bot_user.display_name if features.bot_user else name.lower(),
        commands={command.command: command.should_escape for command in features.slash_commands},
        command_hints={command.command: command.usage_hint for command in features.slash_commands},
        command_descriptions={command.command: command.description for command in features.slash_commands},
        shortcuts=tuple(shortcuts),
        events=frozenset(read.settings.event_subscriptions.bot_events),
        bot_scopes=frozenset(read.oauth_config.scopes.bot),
        home_tab=features.app_home.home_tab_enabled,
        messages_tab=features.app_home.messages_tab_enabled,
        socket_mode=read.settings.socket_mode_enabled,
        interactivity=read.settings.interactivity.is_enabled,
    )
