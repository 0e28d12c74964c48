"""Whoever asks: admitted, with what they may see now and the time that is left for an answer."""

from dataclasses import dataclass

from bot.action_state import STATE_SECONDS
from bot.buttons import Signer
from bot.payloads import Asked
from bot.services import Services
from bot.visibility import Person, Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """An admitted person, what they may see now, and by when they want an answer."""

    person: Person
    sight: Sight
    deadline: float


async def admit(services: Services, asked: Asked) -> Asking:
    """Return the admitted asker with what they may see; asked anew for every command and every press.

    Raises:
        RefusedError: This person is not served.
        SlackUnavailableError: Slack did not answer in time.
    """
    deadline = services.deadline()
    person = await services.access.admit(asked.user_id, asked.team_id, deadline=deadline)
    sight = await services.access.sight_of(person, deadline=deadline)
    return Asking(person=person, sight=sight, deadline=deadline)


def signer_for(services: Services, asked: Asked, *, search_id: str | None = None) -> Signer:
    """Return what signs the buttons of an answer to this person, from now on.

    Args:
        services: The bot's parts.
        asked: Who asks.
        search_id: The request id of the command that this answers, or whose answer was pressed in.
    """
    return Signer(
        secret=services.state_key,
        user_id=asked.user_id,
        team_id=asked.team_id,
        search_id=search_id,
        expires_s=int(services.clock()) + STATE_SECONDS,
    )
