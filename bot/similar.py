"""What in the archive is similar to a message: by its stored vector, else by the text that Slack sent."""

from typing import Final

from bot import texts
from bot.action_state import PageReference
from bot.activity import keep_similar
from bot.answers import cursor_maker, find_page
from bot.asking import Asking, admit, signer_for
from bot.blocks import HITS_PER_PAGE, ResultsView, render_results
from bot.citations import author_name, channel_name
from bot.elements import RenderedMessage
from bot.guard import Request
from bot.rich_text import one_line
from bot.services import Services
from bot.side_thread import in_side_thread
from bot.status_blocks import render_sentence
from bot.visibility import telling_unconfirmed
from retrieval import EmbeddingError, Mode, NotFoundError, QueryTextError, ResultPage, SearchRequest

# How much of a message's text is compared where the archive does not hold it: about what a model reads of it, and
# little enough for every button to hold it.
_TEXT_CHARACTERS: Final = 600
_TEXT_BYTES: Final = 1_000
_QUOTED_CHARACTERS: Final = 80


async def answer_similar(
    services: Services, request: Request, reference: PageReference, *, notices: tuple[str, ...] = ()
) -> RenderedMessage:
    """Return a page of what is similar to a document, or to a text.

    Args:
        services: The bot's parts.
        request: Who asks.
        reference: Which page, of what.
        notices: Sentences to put first.

    Raises:
        NotFoundError: The archive does not hold the document, or not for this asker: the same words for both.
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    with request.stopwatch.stage("access"):
        asking = await admit(services, request.asked)
    return await _answer(services, request, asking, reference, notices=notices)


async def answer_similar_message(
    services: Services, request: Request, *, channel_id: str, ts: str, text: str
) -> RenderedMessage:
    """Return what is similar to a message of Slack's.

    Args:
        services: The bot's parts.
        request: Who asks.
        channel_id: Its channel.
        ts: Its timestamp.
        text: Its text as Slack sent it; compared where the archive does not hold the message, or not for this asker.

    Raises:
        RefusedError, SlackUnavailableError, PoolError, TimeoutError, RetrievalError: See `bot.guard`.
    """
    with request.stopwatch.stage("access"):
        asking = await admit(services, request.asked)
    try:
        document_id = await services.archive.find_message(
            services.workspace_ids(asking.person.team_id),
            channel_id=channel_id,
            ts=ts,
            asker=asking.person.user_id,
            visibility=asking.sight.visibility,
            deadline=asking.deadline,
        )
        reference = PageReference(command="", similar_to=document_id)
    except NotFoundError:
        said = _beginning(texts.typed_again(text))
        if not said:
            return render_sentence(texts.SIMILAR_WITHOUT_TEXT)
        reference = PageReference(command="", similar_text=said)
    return await _answer(services, request, asking, reference)


async def _answer(
    services: Services,
    request: Request,
    asking: Asking,
    reference: PageReference,
    *,
    notices: tuple[str, ...] = (),
) -> RenderedMessage:
    search = SearchRequest(
        text=reference.similar_text or "",
        mode=Mode.SEMANTIC,
        limit=HITS_PER_PAGE,
        cursor=reference.cursor,
        similar_to=reference.similar_to,
        folds_threads=True,
    )
    try:
        with telling_unconfirmed(asking.sight), request.stopwatch.stage("search"):
            page, restarts = await find_page(services, asking, search)
    except EmbeddingError:
        return render_sentence(texts.SIMILAR_NO_MEANING if reference.similar_to else texts.SIMILAR_NOT_NOW)
    except QueryTextError:
        return render_sentence(texts.SIMILAR_WITHOUT_TEXT)
    here = reference if page.offset else reference.first_page()
    view = ResultsView(
        page=page,
        here=here,
        understood=_understood(page, reference),
        now_us=int(services.clock() * 1_000_000),
        signer=signer_for(services, request.asked, search_id=request.search_id),
        cursor_at=cursor_maker(services, asking, page),
        workspace_url=services.identity.url,
        notices=(*notices, *restarts),
    )
    with request.stopwatch.stage("rendering"):
        message = await in_side_thread(render_results, view)
    keep_similar(services, request, page)
    return message


def _beginning(text: str) -> str:
    line = one_line(text, maximum=_TEXT_CHARACTERS)
    return line.encode()[:_TEXT_BYTES].decode(errors="ignore")


def _understood(page: ResultPage, reference: PageReference) -> str:
    source = page.source
    if source is None:
        return texts.similar_to_text(one_line(reference.similar_text or "", maximum=_QUOTED_CHARACTERS))
    quoted = one_line(source.text, maximum=_QUOTED_CHARACTERS)
    return texts.similar_to(author_name(source), channel_name(source), quoted)
