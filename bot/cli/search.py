"""`slackquery search`, `message` and `thread`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bot.cli.opening import (
    artifacts_option,
    as_option,
    caller_visibility,
    json_option,
    opened_artifact,
    query_embedder,
)
from bot.cli.output import iso_time, print_json, result_console, say
from bot.rich_text import harmless
from bot.settings import EngineSettings, load_settings
from retrieval import (
    MAX_THREAD_LIMIT,
    Artifact,
    Directory,
    Document,
    DocumentKind,
    Filters,
    Hit,
    Mode,
    NotFoundError,
    ResultPage,
    Retriever,
    SearchRequest,
    Thread,
    Visibility,
    get_slack_message,
    get_slack_thread,
    make_passage,
    parse_instant,
    parse_query,
    read_names,
    search_slack,
)
from retrieval.lexemes import whole_characters

_RANKS = (
    (Retriever.EXACT, "exact"),
    (Retriever.LEXICAL, "keyword"),
    (Retriever.SEMANTIC, "meaning"),
    (Retriever.CONTEXT, "thread"),
    (Retriever.RECENCY, "recent"),
)


class QueryCommand(click.Command):
    """A command whose argument may begin with `-word`, as exclusions do, without a `--` before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*, with what looks like an exclusion taken for the argument that it is."""
        options = {name: param for param in self.get_params(ctx) for name in param.opts}
        if "--" not in args:
            for position, argument in enumerate(args):
                before = options.get(args[position - 1]) if position else None
                is_value = isinstance(before, click.Option) and not before.is_flag
                if not is_value and _is_exclusion(argument, options):
                    args = [*args[:position], *args[position + 1 :], "--", argument]
                    break
        return super().parse_args(ctx, args)


def _is_exclusion(argument: str, options: Mapping[str, click.Parameter]) -> bool:
    if not re.match(r"-[^-]", argument) or argument in options:
        return False
    # `-aDIR` is an option with its value.
    short = options.get(argument[:2])
    return not isinstance(short, click.Option) or short.is_flag or " " in argument


def _whole(_context: click.Context, _argument: click.Parameter, value: str) -> str:
    return whole_characters(value)


@click.command(cls=QueryCommand)
@click.argument("query", callback=_whole)
@artifacts_option
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), default=None, help="Default: hybrid.")
@click.option("--channel", "channels", multiple=True, metavar="X", help="Channel id or name; repeatable.")
@click.option("--author", "authors", multiple=True, metavar="X", help="Author id or name; repeatable.")
@click.option("--workspace", "workspaces", multiple=True, metavar="X", help="Workspace id; repeatable.")
@click.option("--after", metavar="T", default=None, help="ISO time or date, inclusive.")
@click.option("--before", metavar="T", default=None, help="ISO time or date, inclusive.")
@click.option("--timezone", default="UTC", show_default=True, help="Time zone of dates.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="Hits a page.")
@click.option("--cursor", default=None, help="Go on where an earlier page ended.")
@as_option
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@json_option
def search(
    *,
    query: str,
    artifacts: Path | None,
    mode: str | None,
    channels: tuple[str, ...],
    authors: tuple[str, ...],
    workspaces: tuple[str, ...],
    after: str | None,
    before: str | None,
    timezone: str,
    limit: int,
    cursor: str | None,
    as_user: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Search the archive. QUERY may hold the modifiers that work in Slack.

    \b
    slackquery search "rate limit 429 in:#payments after:2026-03-01" --artifacts archive
    """
    zone = _zone(timezone)
    with opened_artifact(artifacts) as artifact:
        visibility = caller_visibility(artifact, as_user)
        names = read_names(artifact, visibility=visibility)
        parsed = parse_query(query, directory=names, now=datetime.now(UTC), timezone=zone, me=as_user)
        filters = _narrowed(parsed.filters, names, channels, authors, workspaces)
        filters = replace(
            filters,
            start_ts_us=_latest(
                filters.start_ts_us, parse_instant(after, timezone=zone, end=False) if after is not None else None
            ),
            end_ts_us=_earliest(
                filters.end_ts_us, parse_instant(before, timezone=zone, end=True) if before is not None else None
            ),
        )
        request = SearchRequest(
            text=parsed.text,
            mode=Mode(mode) if mode else parsed.mode or Mode.HYBRID,
            filters=filters,
            sort=parsed.sort,
            limit=limit,
            cursor=cursor,
        )
        page = _search(artifact, request, visibility)
    if as_json:
        print_json({"query": query, **page_json(page, parsed.understood)})
    else:
        print_page(result_console(), page, parsed.understood, explain=explain)


@click.command()
@click.argument("document_id", callback=_whole)
@artifacts_option
@click.option("--before", type=click.IntRange(0, 100), default=5, show_default=True, help="Neighbours before it.")
@click.option("--after", type=click.IntRange(0, 100), default=5, show_default=True, help="Neighbours after it.")
@as_option
@json_option
def message(
    *, document_id: str, artifacts: Path | None, before: int, after: int, as_user: str | None, as_json: bool
) -> None:
    """Show a message with its neighbours in the channel."""
    with opened_artifact(artifacts) as artifact:
        visibility = caller_visibility(artifact, as_user)
        context = get_slack_message(
            artifact, document_id, visibility=visibility, context_before=before, context_after=after
        )
        artifact_id = artifact.info.artifact_id
    if as_json:
        print_json(
            {
                "artifact_id": artifact_id,
                "message": _document_json(context.message),
                "before": [_document_json(one) for one in context.before],
                "after": [_document_json(one) for one in context.after],
            }
        )
        return
    console = result_console()
    for one in (*context.before, context.message, *context.after):
        _print_message(console, one, marked=one is context.message)


@click.command()
@click.argument("thread_id", callback=_whole)
@artifacts_option
@click.option(
    "--limit", type=click.IntRange(1, MAX_THREAD_LIMIT), default=200, show_default=True, help="Messages at most."
)
@as_option
@json_option
def thread(*, thread_id: str, artifacts: Path | None, limit: int, as_user: str | None, as_json: bool) -> None:
    """Show a thread, oldest message first. THREAD_ID may also be the id of any message in it."""
    with opened_artifact(artifacts) as artifact:
        found = _find_thread(artifact, thread_id, visibility=caller_visibility(artifact, as_user), limit=limit)
        artifact_id = artifact.info.artifact_id
    if as_json:
        print_json(
            {
                "artifact_id": artifact_id,
                "thread_id": found.thread_id,
                "total": found.total,
                "warnings": list(found.warnings),
                "messages": [_document_json(one) for one in found.messages],
            }
        )
        return
    console = result_console()
    for warning in found.warnings:
        say(warning)
    for one in found.messages:
        _print_message(console, one, marked=False)
    if found.total > len(found.messages):
        more = "; --limit shows more" if len(found.messages) < MAX_THREAD_LIMIT else ""
        say(f"{len(found.messages)} of {found.total} messages{more}.")


def _find_thread(artifact: Artifact, identifier: str, *, visibility: Visibility, limit: int) -> Thread:
    try:
        return get_slack_thread(artifact, identifier, visibility=visibility, limit=limit)
    except NotFoundError:
        thread_id = _thread_of(artifact, identifier, visibility)
        if thread_id is None:
            raise
    return get_slack_thread(artifact, thread_id, visibility=visibility, limit=limit, around=identifier)


def _thread_of(artifact: Artifact, document_id: str, visibility: Visibility) -> str | None:
    try:
        context = get_slack_message(artifact, document_id, visibility=visibility, context_before=0, context_after=0)
    except NotFoundError:
        return None
    return context.message.thread_id


def _search(artifact: Artifact, request: SearchRequest, visibility: Visibility) -> ResultPage:
    embedder = None if request.mode is Mode.LEXICAL or not request.text else query_embedder(artifact)
    fusion = load_settings(EngineSettings).fusion
    return search_slack(artifact, request, visibility=visibility, embedder=embedder, fusion=fusion)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise click.BadParameter(f"{name} is not a time zone.", param_hint="--timezone") from error


def _narrowed(
    filters: Filters, names: Directory, channels: tuple[str, ...], authors: tuple[str, ...], workspaces: tuple[str, ...]
) -> Filters:
    return replace(
        filters,
        channel_ids=(*filters.channel_ids, *(names.find_channel(name).channel_id for name in channels)),
        author_ids=(*filters.author_ids, *(names.find_person(name).user_id for name in authors)),
        workspace_ids=(*filters.workspace_ids, *workspaces),
    )


def _latest(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


def page_json(page: ResultPage, understood: str) -> dict[str, object]:
    """Return a page of results for `--json`, with how the search was understood."""
    return {
        "understood": understood,
        "mode": page.request.mode.value,
        "route": page.route.value,
        "effective_weights": dict(page.weights),
        "artifact_id": page.artifact_id,
        "generation_id": page.generation_id,
        "warnings": list(page.warnings),
        "timings_ms": dict(page.timings_ms),
        "results": [_hit_json(hit, hybrid=page.request.mode is Mode.HYBRID) for hit in page.hits],
        "next_cursor": page.next_cursor,
    }


def _hit_json(hit: Hit, *, hybrid: bool) -> dict[str, object]:
    lists = {one.retriever: one for one in hit.contributions}

    def rank(retriever: Retriever) -> int | None:
        return (lists[retriever].rank or None) if retriever in lists else None

    def score(retriever: Retriever) -> float | None:
        return lists[retriever].score if retriever in lists else None

    return {
        **_document_json(hit.document),
        "rank": hit.rank,
        "fused_score": hit.score if hybrid else None,
        "lexical_rank": rank(Retriever.LEXICAL),
        "lexical_score": score(Retriever.LEXICAL),
        "semantic_rank": rank(Retriever.SEMANTIC),
        "semantic_score": score(Retriever.SEMANTIC),
        "contextual_rank": rank(Retriever.CONTEXT),
        "exact_rank": rank(Retriever.EXACT),
        "more_in_thread": hit.more_in_thread,
        "contributions": [
            {
                "retriever": one.retriever.value,
                "rank": one.rank or None,
                "score": one.score,
                "weight": one.weight,
                "value": one.value,
            }
            for one in hit.contributions
        ],
    }


def _document_json(document: Document) -> dict[str, object]:
    return {
        "document_id": document.document_id,
        "document_kind": document.document_kind.value,
        "workspace_id": document.workspace_id,
        "channel_id": document.channel_id,
        "channel_name": document.channel_name,
        "author_id": document.author_id,
        "author_name": document.author_name,
        "ts_us": document.ts_us,
        "timestamp": iso_time(document.ts_us),
        "thread_id": document.thread_id,
        "thread_root_id": document.thread_root_id,
        "text": document.text,
        "permalink": document.permalink,
    }


def print_page(console: Console, page: ResultPage, understood: str, *, explain: bool) -> None:
    """Print a page of results, notes on standard error."""
    shown = f"{page.offset + 1} to {page.offset + len(page.hits)}" if page.hits else "no hits"
    console.print(
        Text(f"{harmless(understood)}  |  {page.request.mode.value}, {page.route.value}  |  {shown}", style="dim")
    )
    for hit in page.hits:
        _print_hit(console, page, hit, explain=explain)
    for warning in page.warnings:
        say(f"Note: {warning}")
    if not page.hits:
        say(
            "Nothing matched. That is no proof that nothing is there: try other words, another --mode or fewer filters."
        )
    if page.next_cursor is not None:
        say(f"More: --cursor {page.next_cursor}")


def _print_hit(console: Console, page: ResultPage, hit: Hit, *, explain: bool) -> None:
    console.print()
    console.print(Text.assemble((f"{hit.rank}. ", "bold"), _heading(hit.document)))
    passage = make_passage(hit.document.text, terms=page.terms, phrases=page.request.filters.phrases)
    text = Text("… " if passage.cut_start else "")
    for segment in passage.segments:
        text.append(harmless(segment.text), style="bold" if segment.matched else "")
    text.append(" …" if passage.cut_end else "")
    console.print(Padding(text, (0, 0, 0, 3), expand=False))
    console.print(Padding(Text(_why(hit), style="dim"), (0, 0, 0, 3), expand=False))
    place = "  ".join(filter(None, (hit.document.permalink, hit.document.document_id)))
    console.print(Text(f"   {place}", style="dim"), soft_wrap=True)
    if explain:
        console.print(Padding(Text(_explanation(hit), style="dim"), (0, 0, 0, 3), expand=False))


def _heading(document: Document) -> Text:
    author = document.author_name or document.author_id or "unknown author"
    # The name of a direct message is that of its people.
    sigil = "" if document.channel_id.startswith("D") else "#"
    channel = f"{sigil}{document.channel_name}" if document.channel_name else document.channel_id
    when = iso_time(document.ts_us)[:16].replace("T", " ")
    heading = Text.assemble((harmless(author), "bold cyan"), f"  {harmless(channel)}  {when} UTC")
    if document.document_kind is DocumentKind.FILE_CHUNK:
        heading.append("  file")
    elif document.thread_size > 1:
        heading.append(f"  thread of {document.thread_size}")
    return heading


def _why(hit: Hit) -> str:
    ranks = {one.retriever: one.rank for one in hit.reasons}
    parts = [
        name if retriever is Retriever.RECENCY else f"{name} #{ranks[retriever]}"
        for retriever, name in _RANKS
        if retriever in ranks
    ]
    more = f"  |  {hit.more_in_thread} more in this thread" if hit.more_in_thread else ""
    return f"{', '.join(parts) or 'by time'}{more}"


def _explanation(hit: Hit) -> str:
    addends = [
        f"{one.retriever.value}: rank {one.rank or '-'}, score {one.score:.6f}, weight {one.weight:.3f} "
        f"-> {one.value:.6f}"
        for one in hit.contributions
    ]
    return "\n".join([*addends, f"sum {hit.score:.6f}  {hit.document.document_id}"])


def _print_message(console: Console, document: Document, *, marked: bool) -> None:
    console.print(Text.assemble(("> " if marked else "  ", "bold"), _heading(document)))
    console.print(Padding(Text(harmless(document.text)), (0, 0, 1, 4), expand=False))
