"""A page of results as one Slack message."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import Judged, PageReference, StateTooLargeError
from bot.buttons import (
    BACK_ACTION,
    CONTEXT_ACTION,
    MORE_ACTION,
    NEW_SEARCH_ACTION,
    NEXT_ACTION,
    OPEN_ACTION,
    PREVIOUS_ACTION,
    THREAD_ACTION,
    Signer,
)
from bot.citations import (
    archive_freshness,
    bold_element,
    citation,
    document_line,
    link_to,
)
from bot.elements import (
    Block,
    RenderedMessage,
    actions,
    button,
    characters,
    context,
    divider,
    link_button,
    mrkdwn,
    plain_text,
    section,
)
from bot.fallback import fallback_text
from bot.limits import MESSAGE_BLOCKS, MESSAGE_CHARACTERS
from bot.notes import note_blocks, note_lines
from bot.rich_text import Run, one_line, passage_runs, plain_words, rich_text_block
from bot.store_records import query_key
from retrieval.identifiers import find_identifiers
from retrieval.models import Hit, Mode, ResultPage, Retriever
from retrieval.notices import DEGRADED, NEWEST_ONLY, OLDEST_ONLY
from retrieval.passages import make_passage

HITS_PER_PAGE: Final = 5
_DEGRADED: Final = DEGRADED.partition("{")[0]
PASSAGE_CHARACTERS: Final = 300
_UNDERSTOOD_CHARACTERS: Final = 400
_LAST_OFFSET: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsView:
    """Everything that a page of results shows.

    Attributes:
        page: What the engine found; at most `HITS_PER_PAGE` of its hits are shown.
        here: This very page, so that a thread can lead back to it.
        understood: How the command was understood, in words, such as `rate limit 429 in #payments`.
        now_us: The present, Unix microseconds, for the archive's age.
        signer: Makes the buttons' values.
        cursor_at: Gives the engine's cursor for a page that starts after so many hits; asked only where
            fewer hits fit than the page has.
        workspace_url: From auth.test, for hits without a permalink; None where unknown.
        notices: Sentences of the bot to put first, such as why the results restarted.
        not_searched: Sentences for the last page: what was not looked at.
        suggestions: Sentences for an answer without hits: what else to try, best first; where empty, they
            are chosen by what was searched.
        with_more: Whether a hit has a More button.
        with_votes: Whether votes are kept.
    """

    page: ResultPage
    here: PageReference
    understood: str
    now_us: int
    signer: Signer
    cursor_at: Callable[[int], str]
    workspace_url: str | None = None
    notices: tuple[str, ...] = ()
    not_searched: tuple[str, ...] = (texts.NOT_SEARCHED,)
    suggestions: tuple[str, ...] = ()
    with_more: bool = True
    with_votes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownHit:
    """One hit as blocks, and the same in words."""

    blocks: list[Block]
    head: str
    body: str
    foot: str


def render_results(view: ResultsView, *, budget: int = MESSAGE_CHARACTERS) -> RenderedMessage:
    """Return a page of results, or the answer that nothing was found.

    A hit that does not fit any more is left for the next page, which Next then starts at; the first always
    fits.

    Args:
        view: What to show.
        budget: Characters of all texts together, at least 6,000.

    Returns:
        `shown` says how many hits stand in the message.
    """
    if not view.page.hits and view.page.offset == 0:
        return _nothing_found(view)
    offered = [_shown_hit(view, hit) for hit in view.page.hits[:HITS_PER_PAGE]]
    message = _with_hits(view, offered)
    while len(offered) > 1 and not _fits(message, budget):
        offered.pop()
        message = _with_hits(view, offered)
    return message


def _fits(message: RenderedMessage, budget: int) -> bool:
    return len(message.blocks) <= MESSAGE_BLOCKS and characters(message.blocks) <= budget


def _with_hits(view: ResultsView, hits: Sequence[_ShownHit]) -> RenderedMessage:
    first, last = view.page.offset + 1, view.page.offset + len(hits)
    shown = texts.results_range(first, last) if hits else texts.NO_RESULTS
    notes = note_lines([*view.notices, *_warnings(view.page)])
    navigation, ending = _navigation(view, len(hits))
    closing = note_lines(ending)
    blocks = [_first_line(view, shown), *note_blocks(notes), divider()]
    for hit in hits:
        blocks += [*hit.blocks, divider()]
    blocks += [navigation, *note_blocks(closing)]
    text = fallback_text(
        head=[f"{_understood(view)}: {shown}. {_summary(view)}.", *notes],
        entries=[(hit.head, hit.body, hit.foot) for hit in hits],
        tail=closing,
    )
    return RenderedMessage(text=text, blocks=tuple(blocks), shown=len(hits))


def _nothing_found(view: ResultsView) -> RenderedMessage:
    attempts = note_lines(view.suggestions or _default_suggestions(view.page))
    notes = note_lines([*view.notices, *_warnings(view.page)])
    paragraph = "\n".join([texts.NOTHING_FOUND, *(f"• {attempt}" for attempt in attempts)])
    closing = [texts.ABSENCE_IS_NO_PROOF, *note_lines(view.not_searched)]
    blocks = [
        _first_line(view, texts.NO_RESULTS),
        *note_blocks(notes),
        section(plain_text(paragraph)),
        actions([*_back_buttons(view), _new_search_button(view)]),
        *note_blocks(closing),
    ]
    head = [texts.nothing_found(_understood(view)), f"{_summary(view)}.", *notes, *attempts, *closing]
    return RenderedMessage(text=fallback_text(head=head), blocks=tuple(blocks), shown=0)


def _understood(view: ResultsView) -> str:
    return one_line(view.understood, maximum=_UNDERSTOOD_CHARACTERS) or texts.EVERYTHING


def _first_line(view: ResultsView, shown: str) -> Block:
    page = view.page
    how = _how(page)
    fresh = archive_freshness(page.built_at_us, view.now_us)
    return context([bold_element(_understood(view)), mrkdwn(f"{how} | {shown} | {fresh}")])


def _how(page: ResultPage) -> str:
    if _is_listing(page):
        return texts.LISTED
    return texts.mode_words(page.request.mode, page.route, degraded=page.degraded)


def _is_listing(page: ResultPage) -> bool:
    """Return whether there were no words, so that whatever fits the filters is listed by time."""
    return not {NEWEST_ONLY, OLDEST_ONLY}.isdisjoint(page.warnings)


def _summary(view: ResultsView) -> str:
    """Return mode and freshness in words, for screen readers."""
    page = view.page
    how = _how(page)
    fresh = texts.freshness(texts.moment(page.built_at_us), texts.age(page.built_at_us, view.now_us))
    return f"{texts.capitalised(how)}, {fresh}"


def _shown_hit(view: ResultsView, hit: Hit) -> _ShownHit:
    request = view.page.request
    passage = make_passage(
        hit.document.text,
        terms=view.page.terms,
        phrases=request.filters.phrases,
        max_chars=PASSAGE_CHARACTERS,
    )
    runs = passage_runs(passage)
    foot = _why_line(view.page, hit)
    blocks = [document_line(hit.document, rank=hit.rank), rich_text_block(runs)]
    if foot:
        blocks.append(context([plain_text(foot)]))
    if buttons := _hit_buttons(view, hit):
        blocks.append(actions(buttons))
    return _ShownHit(blocks=blocks, head=f"{hit.rank}. {citation(hit.document)}", body=_spoken(runs), foot=foot)


def _spoken(runs: Sequence[Run]) -> str:
    return plain_words(runs) or texts.NO_TEXT


def _why_line(page: ResultPage, hit: Hit) -> str:
    words = _exact_words(page, hit)
    ordered = sorted(hit.reasons, key=lambda addend: addend.retriever is not Retriever.EXACT)
    reasons = [texts.rank_words(addend.retriever, addend.rank, exact_words=words) for addend in ordered]
    parts = [texts.why(reasons)] if reasons else []
    if hit.more_in_thread > 0:
        parts.append(texts.more_in_thread(hit.more_in_thread))
    return " | ".join(parts)


def _exact_words(page: ResultPage, hit: Hit) -> list[str]:
    """Return up to three identifiers and phrases of the query that stand in the hit as they are."""
    text = hit.document.text.casefold()
    asked = dict.fromkeys([*page.request.filters.phrases, *find_identifiers(page.request.text)])
    return [one_line(word, maximum=40) for word in asked if word.casefold() in text][:3]


def _hit_buttons(view: ResultsView, hit: Hit) -> list[Block]:
    document = hit.document
    buttons = []
    if (link := link_to(document, view.workspace_url)) is not None:
        label = texts.of_result(texts.OPEN_IN_SLACK, hit.rank)
        buttons.append(link_button(texts.OPEN_IN_SLACK, OPEN_ACTION, url=link, label=label))
    try:
        buttons.append(_expand_button(view, hit))
        if view.with_more:
            value = view.signer.more(document.document_id, back=view.here, judged=_judged(view, hit))
            buttons.append(button(texts.MORE, MORE_ACTION, value=value, label=texts.of_result(texts.MORE, hit.rank)))
    except StateTooLargeError:
        # Only an id of more than a thousand characters gets here; the link still leads to the message.
        return buttons
    return buttons


def _judged(view: ResultsView, hit: Hit) -> Judged | None:
    """Return what a vote on a hit would be about; None where votes are not kept."""
    if not view.with_votes:
        return None
    request = view.page.request
    return Judged(
        query_key=query_key(request),
        text=request.text,
        understood=view.understood,
        command=view.here.command,
        mode=request.mode.value,
        rank=hit.rank,
        artifact_id=view.page.artifact_id,
    )


def _expand_button(view: ResultsView, hit: Hit) -> Block:
    document = hit.document
    if document.thread_id is not None and document.thread_size > 1:
        value = view.signer.thread(document.thread_id, document.document_id, back=view.here)
        label = texts.of_result(texts.EXPAND_THREAD, hit.rank)
        return button(texts.EXPAND_THREAD, THREAD_ACTION, value=value, label=label)
    value = view.signer.context(document.document_id, back=view.here)
    return button(texts.CONTEXT, CONTEXT_ACTION, value=value, label=texts.of_result(texts.CONTEXT, hit.rank))


def _navigation(view: ResultsView, shown: int) -> tuple[Block, list[str]]:
    """Return the row of page buttons, and the sentences that go under it."""
    previous, following = _previous_page(view), _next_page(view, shown)
    buttons, sentences = [], []
    try:
        if previous is not None:
            buttons.append(button(texts.PREVIOUS, PREVIOUS_ACTION, value=view.signer.page(previous)))
        if following is not None:
            buttons.append(button(texts.NEXT, NEXT_ACTION, value=view.signer.page(following)))
    except StateTooLargeError:
        sentences.append(texts.TOO_LONG_TO_PAGE)
    if following is None:
        sentences += _ending(view, shown)
    return actions([*_back_buttons(view), *buttons, _new_search_button(view)]), sentences


def _ending(view: ResultsView, shown: int) -> list[str]:
    """Return the last page's sentences: that it is the last, and what was not looked at."""
    end = texts.end_of_paging(_LAST_OFFSET) if _has_more(view, shown) else texts.END_OF_RESULTS
    is_ranked = not _is_listing(view.page)
    hybrid = [texts.HYBRID_ENDS] if is_ranked and view.page.request.mode is Mode.HYBRID else []
    similar = [texts.SIMILAR_ENDS] if view.here.is_similar else []
    return [end, *hybrid, *similar, *view.not_searched]


def _has_more(view: ResultsView, shown: int) -> bool:
    return shown < len(view.page.hits) or view.page.next_cursor is not None


def _next_page(view: ResultsView, shown: int) -> PageReference | None:
    offset = view.page.offset + shown
    if not _has_more(view, shown) or offset > _LAST_OFFSET:
        return None
    cursor = view.cursor_at(offset) if shown < len(view.page.hits) else view.page.next_cursor
    return view.here.model_copy(update={"cursor": cursor, "offset": offset})


def _previous_page(view: ResultsView) -> PageReference | None:
    if view.page.offset == 0:
        return None
    offset = max(0, view.page.offset - HITS_PER_PAGE)
    cursor = view.page.previous_cursor if offset else None
    return view.here.model_copy(update={"cursor": cursor, "offset": offset})


def _back_buttons(view: ResultsView) -> list[Block]:
    """Return the way back to the results that were left for these."""
    if view.here.back is None:
        return []
    return [button(texts.BACK_TO_RESULTS, BACK_ACTION, value=view.signer.page(view.here.back))]


def _new_search_button(view: ResultsView) -> Block:
    return button(texts.NEW_SEARCH, NEW_SEARCH_ACTION, value=view.signer.new_search(view.here.typed))


def _warnings(page: ResultPage) -> list[str]:
    """Return the engine's warnings; a degraded answer says so in our own words."""
    # What is shown first says nothing where nothing is shown.
    said = [one for one in page.warnings if page.hits or one not in {NEWEST_ONLY, OLDEST_ONLY}]
    if not page.degraded:
        return said
    # The engine's own sentence names the service and what it answered, which is for whoever runs the bot.
    return [texts.DEGRADED, *(one for one in said if not one.startswith(_DEGRADED))]


def _default_suggestions(page: ResultPage) -> list[str]:
    filters = page.request.filters
    filtered = (
        filters.channel_ids,
        filters.author_ids,
        filters.has,
        filters.phrases,
        filters.excluded_words,
        filters.excluded_phrases,
        filters.is_thread,
        filters.start_ts_us is not None,
        filters.end_ts_us is not None,
    )
    suggestions = [texts.TRY_WITHOUT_FILTERS] if any(filtered) else []
    if page.request.mode is Mode.LEXICAL:
        suggestions.append(texts.TRY_MEANING)
    if page.request.mode is Mode.SEMANTIC:
        suggestions.append(texts.TRY_KEYWORDS)
    return [*suggestions, texts.TRY_FEWER_WORDS]
