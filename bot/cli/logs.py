"""`slackquery logs`: the audit file as a table or as JSON, and votes as judged queries."""

import json
import re
import sqlite3
import sys
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from bot.audit import AuditEvent, AuditRecord, read_audit
from bot.cli.output import say
from bot.settings import EngineSettings, load_settings
from bot.store_file import NewerStoreError, StoreFile
from bot.store_records import Vote
from bot.vote_export import topics_of, write_topics

_AGO: Final = re.compile(r"^(\d{1,6})(m|h|d)$")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_WIDTH_WITHOUT_TERMINAL: Final = 200


class Moment(click.ParamType[datetime]):
    """A time: ISO 8601 (UTC where it has no zone), or how long ago (`30m`, `12h`, `7d`)."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment that was typed."""
        if isinstance(value, datetime):
            return value
        text = str(value)
        if ago := _AGO.match(text):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is no time; write 2026-03-01, 2026-03-01T14:00 or 7d.", param, ctx)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@click.command()
@click.option("--audit-dir", type=click.Path(path_type=Path), default=None, help="Default: SLACKQUERY_AUDIT_DIR.")
@click.option("--since", type=Moment(), default=None, help="Nothing before: 2026-03-01, 2026-03-01T14:00, 12h, 7d.")
@click.option("--until", type=Moment(), default=None, help="Nothing from this moment on.")
@click.option("--user", "users", multiple=True, metavar="USER_ID", help="Only this user; repeatable.")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice([event.value for event in AuditEvent]),
    help="Only this kind; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="The newest so many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option("--qrels", type=click.Path(path_type=Path), default=None, help="Write people's votes to this file.")
@click.option("--queries", type=click.Path(path_type=Path), default=None, help="Their queries. Default: beside it.")
@click.option("--store", type=click.Path(path_type=Path), default=None, help="Default: SLACKQUERY_STORE.")
def logs(
    *,
    audit_dir: Path | None,
    since: datetime | None,
    until: datetime | None,
    users: tuple[str, ...],
    events: tuple[str, ...],
    limit: int,
    as_json: bool,
    qrels: Path | None,
    queries: Path | None,
    store: Path | None,
) -> None:
    """Show who searched for what, when, and what went wrong; oldest first.

    With --qrels, people's votes on results are written instead, as TREC qrels with their queries beside them. They
    hold what people searched for, but nobody's name.

    \b
    slackquery logs --since 7d --event refused --event error
    slackquery logs --user U012ABC --json
    slackquery logs --qrels votes.qrels && slackquery eval --qrels votes.qrels --queries votes.queries.jsonl
    """
    if qrels is not None:
        if as_json or events:
            raise click.UsageError("--qrels writes votes; --json and --event have no meaning there.")
        votes = _votes(store, since=since, until=until, users=users)
        _export(votes, qrels=qrels, queries=queries or qrels.with_suffix(".queries.jsonl"))
        return
    if queries is not None or store is not None:
        raise click.UsageError("--queries and --store belong to --qrels.")
    folder = _folder(audit_dir)
    newest: deque[AuditRecord] = deque(maxlen=limit)
    newest.extend(
        record
        for record in read_audit(folder, since=since, until=until)
        if (not users or record.user_id in users) and (not events or record.event in events)
    )
    if as_json:
        entries = [record.model_dump(mode="json", exclude_defaults=True) for record in newest]
        sys.stdout.write(json.dumps({"entries": entries}, ensure_ascii=False, indent=2) + "\n")
    else:
        _print_table(list(newest))


def _folder(given: Path | None) -> Path:
    folder = given if given is not None else load_settings(EngineSettings).audit_dir
    if folder is None:
        raise click.UsageError("Say where the audit files are: --audit-dir DIR, or SLACKQUERY_AUDIT_DIR.")
    if not folder.is_dir():
        raise click.ClickException(f"There is no folder {folder}.")
    return folder


def _votes(given: Path | None, *, since: datetime | None, until: datetime | None, users: tuple[str, ...]) -> list[Vote]:
    path = given if given is not None else load_settings(EngineSettings).store
    if path is None:
        raise click.UsageError("Say where the votes are: --store FILE, or SLACKQUERY_STORE.")
    if not path.is_file():
        raise click.ClickException(f"There is no file {path}.")
    file = StoreFile(path)
    try:
        votes = file.votes()
    except (sqlite3.Error, OSError, NewerStoreError) as exc:
        raise click.ClickException(f"{path} cannot be read: {exc}") from exc
    finally:
        file.close()
    first = since.timestamp() * 1_000_000 if since is not None else float("-inf")
    last = until.timestamp() * 1_000_000 if until is not None else float("inf")
    return [vote for vote in votes if first <= vote.voted_us < last and (not users or vote.user_id in users)]


def _export(votes: list[Vote], *, qrels: Path, queries: Path) -> None:
    voted = topics_of(votes)
    if not any(topic.grades for topic in voted.topics):
        raise click.ClickException("There is no vote to write.")
    try:
        write_topics(voted, qrels=qrels, queries=queries)
    except OSError as exc:
        raise click.ClickException(f"{exc.filename} cannot be written: {exc.strerror}.") from exc
    judged = sum(len(topic.grades) for topic in voted.topics)
    say(f"{judged} judged documents in {qrels}, their queries in {queries}. They hold what people searched for.")
    if voted.contested:
        say(f"{voted.contested} documents with as many votes for as against were left out.")
    if voted.wordless:
        say(f"{voted.wordless} votes on queries without words were left out.")


def _print_table(records: list[AuditRecord]) -> None:
    table = Table("time (UTC)", "event", "user", "channel", "how", "hits", "ms", "query", "note")
    for record in records:
        table.add_row(
            record.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            record.event,
            record.user_id or "",
            record.channel_id or "",
            " ".join(filter(None, (record.mode, record.route, "degraded" if record.degraded else None))),
            _hits(record),
            f"{record.timings_ms['total']:.0f}" if "total" in record.timings_ms else "",
            _shown(record.query or record.query_hash),
            _shown(record.reason),
        )
    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    console.print(table if records else "No entry fits.")


def _hits(record: AuditRecord) -> str:
    if not record.hits:
        return "" if record.hits is None else "0"
    return f"{record.hits} from {(record.offset or 0) + 1}"


def _shown(text: str | None) -> str:
    """Return one line without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text or "")
