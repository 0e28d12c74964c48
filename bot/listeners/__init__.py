"""Bolt's listeners, one module a feature: each acks, and hands its work to the guard."""

from slack_bolt.app.async_app import AsyncApp

from bot.listeners import actions, admin, commands, events, forms, home, recents, shortcuts
from bot.services import Services


def register_listeners(app: AsyncApp, services: Services) -> None:
    """Register every listener; the catch-alls of `events` come last, because the first that fits takes it."""
    commands.register(app, services)
    actions.register(app, services)
    shortcuts.register(app, services)
    forms.register(app, services)
    recents.register(app, services)
    home.register(app, services)
    admin.register(app, services)
    events.register(app, services)
