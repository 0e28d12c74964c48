"""What is wrong with a form's entries, and at which of its fields that shall stand."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot import texts
from bot.answers import directory_for, zone_of
from bot.asking import Asking, admit
from bot.form_fields import TEXT_CHARACTERS, FormBlock, FormFields, has_order_of_days, joined_up_to
from bot.guard import sentence_of
from bot.limits import text_length
from bot.payloads import Asked
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.visibility import UnconfirmedError, telling_unconfirmed
from retrieval import (
    NameDirectory,
    ParsedQuery,
    QueryTextError,
    RequestError,
    SearchRequest,
    UnknownNameError,
    parse_query,
    validate_request,
)


class FieldError(Exception):
    """An entry that cannot be searched with.

    Attributes:
        block: Its field.
        sentence: What to say there.
    """

    def __init__(self, block: FormBlock, sentence: str) -> None:
        super().__init__(sentence)
        self.block = block
        self.sentence = sentence


async def checked_command(services: Services, asked: Asked, fields: FormFields) -> str:
    """Return the query that a form stands for, with names for its channels and people.

    A channel that the asker may not see is answered as one that does not exist.

    Raises:
        FieldError: An entry cannot be searched with.
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    _check_alone(fields)
    asking = await admit(services, asked)
    directory = await directory_for(services, asking, fields.command())
    return await in_side_thread(_understand, services, asking, fields, directory)


def _check_alone(fields: FormFields) -> None:
    if not fields.pieces():
        raise FieldError(FormBlock.TEXT, texts.FORM_EMPTY)
    if text_length(fields.text) > TEXT_CHARACTERS:
        raise FieldError(FormBlock.TEXT, texts.form_text_too_long(TEXT_CHARACTERS))
    if not has_order_of_days(fields):
        raise FieldError(FormBlock.LAST_DAY, texts.FORM_DAYS_SWAPPED)


def _understand(services: Services, asking: Asking, fields: FormFields, directory: NameDirectory) -> str:
    """Understand the entries one after the other: the first that the others before it do not go with is wrong."""
    pieces = fields.pieces(directory)
    zone = zone_of(asking.person.timezone)
    parsed = None
    for count, (block, _) in enumerate(pieces, start=1):
        try:
            with telling_unconfirmed(asking.sight):
                parsed = _parsed(services, asking, joined_up_to(pieces, count), directory, zone)
        except (RequestError, UnconfirmedError) as exc:
            raise FieldError(block, _sentence(exc, block)) from exc
    if parsed is not None:
        _check_searchable(parsed)
    return fields.command(directory)


def _parsed(services: Services, asking: Asking, query: str, directory: NameDirectory, zone: ZoneInfo) -> ParsedQuery:
    now = datetime.fromtimestamp(services.clock(), zone)
    return parse_query(query, directory=directory, now=now, timezone=zone, me=asking.person.user_id)


def _check_searchable(parsed: ParsedQuery) -> None:
    try:
        validate_request(SearchRequest(text=parsed.text, filters=parsed.filters))
    except QueryTextError as exc:
        raise FieldError(FormBlock.TEXT, texts.FORM_EMPTY) from exc
    except RequestError as exc:
        raise FieldError(FormBlock.TEXT, sentence_of(exc)) from exc


def _sentence(error: RequestError | UnconfirmedError, block: FormBlock) -> str:
    reason = error.reason if isinstance(error, UnconfirmedError) else error
    if block is not FormBlock.CHANNELS or not isinstance(reason, UnknownNameError):
        return sentence_of(error)
    # The form gives ids alone: a name would be no help to whoever chose the channel from a list.
    if isinstance(error, UnconfirmedError):
        return f"{texts.FORM_CHANNEL_UNKNOWN} {texts.UNCONFIRMED_CHANNELS}"
    return texts.FORM_CHANNEL_UNKNOWN
