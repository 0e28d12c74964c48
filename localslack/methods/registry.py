"""All methods by name."""

from __future__ import annotations

from localslack.methods import basics, chat, conversations, users, views
from localslack.methods.method import Method

METHODS: dict[str, Method] = {
    **basics.METHODS,
    **chat.METHODS,
    **views.METHODS,
    **users.METHODS,
    **conversations.METHODS,
}
