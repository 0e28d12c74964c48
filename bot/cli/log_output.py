"""Audit entries on stdout: as a table, as JSON, as CSV; all at once, or one by one as they come."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from enum import StrEnum
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from bot.audit_reader import AuditRecord
from bot.cli.output import print_json
from bot.summary import Summary
from bot.summary_text import spreadsheet_safe, summary_csv, summary_json, summary_lines

_WIDTH_WITHOUT_TERMINAL: Final = 200
_HEADINGS: Final = ("time (UTC)", "event", "user", "channel", "how", "hits", "ms", "query", "note")
_LINE_WIDTHS: Final = (19, 7, 11, 11, 24, 9, 6)
_CSV_COLUMNS: Final = (
    "at", "event", "request_id", "search_id", "user_id", "team_id", "channel_id", "mode", "route", "language", "hits",
    "offset", "degraded", "total_ms", "artifact_id", "reason", "query", "query_hash",
)  # fmt: skip


class Form(StrEnum):
    """How entries are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_records(records: Sequence[AuditRecord], *, form: Form) -> None:
    """Print entries, all at once."""
    if form is Form.JSON:
        print_json({"entries": [_as_json(record) for record in records]})
    elif form is Form.CSV:
        _print_csv(records, with_heading=True)
    else:
        _print_table(records)


def print_stream(records: Iterable[AuditRecord], *, form: Form) -> None:
    """Print entries one by one, each at once: lines of fixed columns, one JSON object a line, or CSV."""
    if form is Form.CSV:
        _print_csv([], with_heading=True)
    for record in records:
        if form is Form.JSON:
            click.echo(json.dumps(_as_json(record), ensure_ascii=False))
        elif form is Form.CSV:
            _print_csv([record], with_heading=False)
        else:
            click.echo(_line(record))
        sys.stdout.flush()


def print_summary(summary: Summary, *, form: Form) -> None:
    """Print figures."""
    if form is Form.JSON:
        print_json(summary_json(summary))
    elif form is Form.CSV:
        click.echo(summary_csv(summary), nl=False)
    else:
        click.echo("\n".join(summary_lines(summary)))


def _as_json(record: AuditRecord) -> dict[str, object]:
    content: dict[str, object] = record.model_dump(mode="json", exclude_defaults=True)
    return content


def _print_csv(records: Iterable[AuditRecord], *, with_heading: bool) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if with_heading:
        writer.writerow(_CSV_COLUMNS)
    for record in records:
        content = _as_json(record) | {"total_ms": record.timings_ms.get("total")}
        writer.writerow([_cell(content.get(column)) for column in _CSV_COLUMNS])


def _cell(value: object) -> object:
    return spreadsheet_safe(value) if isinstance(value, str) else value


def _print_table(records: Sequence[AuditRecord]) -> None:
    table = Table(*_HEADINGS)
    for record in records:
        table.add_row(*_cells(record))
    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    console.print(table if records else "No entry fits.")


def _line(record: AuditRecord) -> str:
    cells = list(_cells(record))
    fixed = (cell.ljust(width) for cell, width in zip(cells, _LINE_WIDTHS, strict=False))
    return "  ".join([*fixed, *cells[len(_LINE_WIDTHS) :]]).rstrip()


def _cells(record: AuditRecord) -> Iterator[str]:
    yield record.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    yield record.event
    yield record.user_id or ""
    yield record.channel_id or ""
    yield " ".join(filter(None, (record.mode, record.route, "degraded" if record.degraded else None)))
    yield _hits(record)
    yield f"{record.timings_ms['total']:.0f}" if "total" in record.timings_ms else ""
    yield _shown(record.query or record.query_hash)
    yield _shown(record.reason)


def _hits(record: AuditRecord) -> str:
    if not record.hits:
        return "" if record.hits is None else "0"
    return f"{record.hits} from {(record.offset or 0) + 1}"


def _shown(text: str | None) -> str:
    """Return one line without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text or "")
