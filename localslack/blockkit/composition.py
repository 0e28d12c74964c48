"""Rules for composition objects: text, options, confirmation dialogs, filters, images."""

from __future__ import annotations

from localslack.blockkit.rules import Bool, ByType, Items, Obj, Rule, Str, typed

HTTP_URL = r"https?://\S+"
ANY_URL = r"[A-Za-z][A-Za-z0-9+.\-]*:\S+"


def plain(most: int = 3000) -> ByType:
    """Return the rule for a plain_text object of 1 to ``most`` characters."""
    return ByType({"plain_text": typed("plain_text", {"text": Str(most)}, {"emoji": Bool()})})


def mrkdwn(most: int = 3000) -> ByType:
    """Return the rule for a mrkdwn object of 1 to ``most`` characters."""
    return ByType({"mrkdwn": typed("mrkdwn", {"text": Str(most)}, {"verbatim": Bool()})})


def text(most: int = 3000) -> ByType:
    """Return the rule for either kind of text object."""
    return ByType({**plain(most).kinds, **mrkdwn(most).kinds})


def url(most: int = 3000) -> Str:
    """Return the rule for a link with any scheme."""
    return Str(most, pattern=ANY_URL)


IMAGE_SOURCE: dict[str, Rule] = {
    "image_url": Str(3000, pattern=HTTP_URL),
    "slack_file": Obj({}, {"id": Str(), "url": Str(3000)}, exactly_one=("id", "url")),
}

CONFIRM = Obj(
    {"text": text(300)},
    {
        "title": plain(100),
        "confirm": plain(30),
        "deny": plain(30),
        "style": Str(choices=("primary", "danger")),
    },
)

_DESCRIBED: dict[str, Rule] = {"description": plain(75)}
PLAIN_OPTION = Obj({"text": plain(75), "value": Str(150)}, _DESCRIBED)
"""An option of a select menu."""
ANY_OPTION = Obj({"text": text(75), "value": Str(150)}, {"description": text(75)})
"""An option of checkboxes or radio buttons."""
OVERFLOW_OPTION = Obj({"text": plain(75), "value": Str(150)}, {**_DESCRIBED, "url": url()})

OPTION_GROUP = Obj({"label": plain(75), "options": Items(PLAIN_OPTION, most=100, least=1)})

DISPATCH_CONFIG = Obj(
    {},
    {"trigger_actions_on": Items(Str(choices=("on_enter_pressed", "on_character_entered")), most=2, least=1)},
)

CONVERSATION_FILTER = Obj(
    {},
    {
        "include": Items(Str(choices=("im", "mpim", "private", "public")), least=1),
        "exclude_external_shared_channels": Bool(),
        "exclude_bot_users": Bool(),
    },
    at_least_one=("include", "exclude_external_shared_channels", "exclude_bot_users"),
)
