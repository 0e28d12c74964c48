"""`slackquery logs`: the audit file as it is, as it comes, or summed up; and votes as judged queries."""

import re
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click

from bot.audit import AuditEvent
from bot.audit_reader import AuditRecord, AuditTail, LogFilter, follow, read_audit
from bot.cli.log_output import Form, print_records, print_stream, print_summary
from bot.cli.output import say
from bot.settings import EngineSettings, load_settings
from bot.store_file import NewerStoreError, StoreFile
from bot.store_records import Vote
from bot.summary import summarise
from bot.vote_export import topics_of, write_topics

_AGO: Final = re.compile(r"^(\d{1,6})(m|h|d)$")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_SUMMARY: Final = "summary"
_FOLLOW_SECONDS: Final = 0.5
_LIMIT: Final = 200


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
@click.argument("report", required=False, type=click.Choice([_SUMMARY]))
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
@click.option("--artifact", "artifacts", multiple=True, metavar="ID", help="Only over this artifact; repeatable.")
@click.option(
    "--request",
    "requests",
    multiple=True,
    metavar="ID",
    help="Only this request and presses in its answer; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), default=None, help="The newest so many.  [default: 200]")
@click.option("--follow", "-f", "follows", is_flag=True, help="Then show what comes, until Ctrl-C.")
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in Form]),
    default=None,
    help="Default: table.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--qrels", type=click.Path(path_type=Path), default=None, help="Write people's votes to this file.")
@click.option("--queries", type=click.Path(path_type=Path), default=None, help="Their queries. Default: beside it.")
@click.option("--store", type=click.Path(path_type=Path), default=None, help="Default: SLACKQUERY_STORE.")
def logs(
    *,
    report: str | None,
    audit_dir: Path | None,
    since: datetime | None,
    until: datetime | None,
    users: tuple[str, ...],
    events: tuple[str, ...],
    artifacts: tuple[str, ...],
    requests: tuple[str, ...],
    limit: int | None,
    follows: bool,
    form: str | None,
    as_json: bool,
    qrels: Path | None,
    queries: Path | None,
    store: Path | None,
) -> None:
    """Show who searched for what, when, and what went wrong; oldest first.

    With the word summary, the same entries are summed up: searches, people, times, what was not found, what was
    refused, which archive was served. Times are those that the nearest-rank percentile names.

    With --qrels, people's votes on results are written instead, as TREC qrels with their queries beside them. They
    hold what people searched for, but nobody's name.

    \b
    slackquery logs --since 7d --event refused --event error
    slackquery logs summary --since 24h
    slackquery logs --user U012ABC --follow
    slackquery logs --qrels votes.qrels && slackquery eval --qrels votes.qrels --queries votes.queries.jsonl
    """
    chosen = _form(form, as_json=as_json)
    wanted = LogFilter(since=since, until=until, users=users, events=events, artifacts=artifacts, requests=requests)
    if qrels is not None:
        if report or follows or as_json or form or events or artifacts or requests:
            raise click.UsageError(
                "--qrels writes votes; other filters than --since, --until and --user have no meaning there."
            )
        queries = queries or qrels.with_suffix(".queries.jsonl")
        if queries.resolve() == qrels.resolve():
            raise click.UsageError("--qrels and --queries name the same file.")
        votes = _votes(store, since=since, until=until, users=users)
        _export(votes, qrels=qrels, queries=queries)
        return
    if queries is not None or store is not None:
        raise click.UsageError("--queries and --store belong to --qrels.")
    folder = _folder(audit_dir)
    if report == _SUMMARY:
        if follows or limit is not None:
            raise click.UsageError("summary counts every entry that fits; --follow and --limit have no meaning there.")
        print_summary(summarise(read_audit(folder, wanted=wanted)), form=chosen)
    elif follows:
        with suppress(KeyboardInterrupt):
            print_stream(_following(AuditTail(folder, wanted=wanted), limit=limit or _LIMIT), form=chosen)
    else:
        newest: deque[AuditRecord] = deque(read_audit(folder, wanted=wanted), maxlen=limit or _LIMIT)
        print_records(list(newest), form=chosen)


def _form(given: str | None, *, as_json: bool) -> Form:
    if as_json and given not in (None, Form.JSON):
        raise click.UsageError("--json and --format say different things.")
    return Form.JSON if as_json else Form(given or Form.TABLE)


def _following(tail: AuditTail, *, limit: int) -> Iterator[AuditRecord]:
    """Yield the newest entries so far, then what comes, without end."""
    yield from deque(tail.read_new(), maxlen=limit)
    yield from follow(tail, pause=lambda: time.sleep(_FOLLOW_SECONDS))


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
