"""`slackquery similar`."""

from pathlib import Path

import click

from bot.cli.opening import artifacts_option, as_option, caller_visibility, json_option, opened_artifact, query_embedder
from bot.cli.output import print_json, result_console
from bot.cli.search import page_json, print_page
from bot.rich_text import one_line
from retrieval import Mode, ResultPage, SearchRequest, search_slack
from retrieval.lexemes import whole_characters

_QUOTED_CHARACTERS = 80


@click.command()
@click.argument("document_id", callback=lambda _context, _argument, value: whole_characters(value))
@artifacts_option
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="Hits a page.")
@click.option("--cursor", default=None, help="Go on where an earlier page ended.")
@as_option
@json_option
def similar(
    *, document_id: str, artifacts: Path | None, limit: int, cursor: str | None, as_user: str | None, as_json: bool
) -> None:
    """Show what means about the same as a message, nearest first, without it; one hit a thread.

    \b
    slackquery similar T0LINDWERK:C0LWPAYMENT:1762320022.390034 --artifacts archive
    """
    request = SearchRequest(
        text="", mode=Mode.SEMANTIC, limit=limit, cursor=cursor, similar_to=document_id, folds_threads=True
    )
    with opened_artifact(artifacts) as artifact:
        visibility = caller_visibility(artifact, as_user)
        page = search_slack(artifact, request, visibility=visibility, embedder=query_embedder(artifact))
    if as_json:
        print_json({"similar_to": document_id, **page_json(page, _understood(page))})
    else:
        print_page(result_console(), page, _understood(page), explain=False)


def _understood(page: ResultPage) -> str:
    text = page.source.text if page.source is not None else ""
    return f"similar to “{one_line(text, maximum=_QUOTED_CHARACTERS)}”"
