"""`slackquery logs`: the audit file as a table or as JSON."""

import json
import re
import sys
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from bot.audit import AuditEvent, AuditRecord, read_audit
from bot.settings import EngineSettings, load_settings

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
def logs(
    *,
    audit_dir: Path | None,
    since: datetime | None,
    until: datetime | None,
    users: tuple[str, ...],
    events: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """Show who searched for what, when, and what went wrong; oldest first.

    \b
    slackquery logs --since 7d --event refused --event error
    slackquery logs --user U012ABC --json
    """
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
