"""A summary as plain lines of fixed width, to be read in a terminal or pasted into a message; as JSON; as CSV."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from bot.audit import AuditEvent
from bot.rich_text import one_line
from bot.summary import ModeFigures, ServedArtifact, Summary

_QUERY_CHARACTERS: Final = 44
_REASON_CHARACTERS: Final = 52
_HASH: Final = re.compile(r"#[0-9a-f]{16}")
_MARGIN: Final = "  "
_WIDTH: Final = 64
_SERVED_ROWS: Final = 6
_COUNTED: Final = (
    (AuditEvent.SEARCH, "search", "searches"),
    (AuditEvent.PAGE, "further page", "further pages"),
    (AuditEvent.SIMILAR, "for similar ones", "for similar ones"),
    (AuditEvent.EXPAND, "thread or hit opened", "threads and hits opened"),
    (AuditEvent.CONTEXT, "context opened", "contexts opened"),
    (AuditEvent.SHARE, "shared", "shared"),
    (AuditEvent.VOTE, "vote", "votes"),
    (AuditEvent.REFUSED, "refused", "refused"),
    (AuditEvent.ERROR, "error", "errors"),
    (AuditEvent.ALERT, "alert", "alerts"),
)


def summary_lines(summary: Summary) -> list[str]:
    """Return the summary as lines of at most 64 characters, tables apart by an empty line; times are UTC."""
    first, *others = summary_parts(summary)
    return [*first, *(line for part in others for line in ("", *part))]


def summary_parts(summary: Summary) -> list[list[str]]:
    """Return the same in parts: the period with what was counted, and each table that is not empty."""
    if summary.first_at is None or summary.last_at is None:
        return [["No entry fits."]]
    tables = (
        _mode_table(summary.modes),
        _missed_table(summary),
        _reason_table("refused because", summary.refused),
        _reason_table("errors", summary.errors),
        _served_table(summary.served),
    )
    period = f"{_minute(summary.first_at)} to {_minute(summary.last_at)} UTC"
    return [[period, *_counted(summary)], *(table for table in tables if table)]


def summary_json(summary: Summary) -> dict[str, object]:
    """Return the summary as a JSON document; times ISO 8601 in UTC, shares from 0 to 1, times in milliseconds."""
    return {
        "first_at": _iso(summary.first_at),
        "last_at": _iso(summary.last_at),
        "searches": summary.searches,
        "people": summary.people,
        "events": dict(summary.events),
        "modes": [
            {
                "mode": one.mode,
                "searches": one.searches,
                "p50_ms": one.p50_ms,
                "p95_ms": one.p95_ms,
                "no_hit": one.no_hit,
                "no_hit_share": one.no_hit / one.searches,
                "degraded": one.degraded,
                "degraded_share": one.degraded / one.searches,
            }
            for one in summary.modes
        ],
        "top_no_hit_queries": [
            {"query": one.text, "searches": one.searches, "people": one.people} for one in summary.missed
        ],
        "refused": dict(summary.refused),
        "errors": dict(summary.errors),
        "served": [
            {"at": _iso(one.at), "event": one.event, "artifact_id": one.artifact_id or None} for one in summary.served
        ],
    }


def summary_csv(summary: Summary) -> str:
    """Return the summary as CSV with the columns `figure`, `of`, `value`: one figure a row."""
    rows: list[tuple[str, str, object]] = [
        ("first_at", "", _iso(summary.first_at)),
        ("last_at", "", _iso(summary.last_at)),
        ("searches", "", summary.searches),
        ("people", "", summary.people),
        *(("events", event, count) for event, count in summary.events.items()),
    ]
    for one in summary.modes:
        rows += [
            ("searches", one.mode, one.searches),
            ("p50_ms", one.mode, one.p50_ms),
            ("p95_ms", one.mode, one.p95_ms),
            ("no_hit", one.mode, one.no_hit),
            ("degraded", one.mode, one.degraded),
        ]
    rows += [("no_hit_query", spreadsheet_safe(one.text), one.searches) for one in summary.missed]
    rows += [("refused", reason, count) for reason, count in summary.refused.items()]
    rows += [("error", reason, count) for reason, count in summary.errors.items()]
    rows += [(one.event, one.artifact_id, _iso(one.at)) for one in summary.served]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("figure", "of", "value"))
    writer.writerows(rows)
    return written.getvalue()


def spreadsheet_safe(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula, on one line."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def _counted(summary: Summary) -> list[str]:
    named = [
        f"{summary.events.get(event, 0):,} {one if summary.events.get(event) == 1 else many}"
        for event, one, many in _COUNTED
        if event in summary.events or event == AuditEvent.SEARCH
    ]
    named.insert(1, f"{summary.people:,} {'person' if summary.people == 1 else 'people'}")
    lines: list[str] = []
    line = ""
    for part in named:
        longer = f"{line}, {part}" if line else part
        if len(longer) > _WIDTH:
            lines.append(f"{line},")
            longer = part
        line = longer
    return [*lines, line]


def _mode_table(modes: Sequence[ModeFigures]) -> list[str]:
    rows = [("mode", "searches", "p50 ms", "p95 ms", "no hit", "degraded")]
    rows += [
        (
            one.mode,
            f"{one.searches:,}",
            _milliseconds(one.p50_ms),
            _milliseconds(one.p95_ms),
            _share(one.no_hit, one.searches),
            _share(one.degraded, one.searches),
        )
        for one in modes
    ]
    return _table(rows) if modes else []


def _missed_table(summary: Summary) -> list[str]:
    if not summary.missed:
        return []
    # Where no text is kept, a hash stands for it.
    are_hashes = all(_HASH.fullmatch(one.text) for one in summary.missed)
    rows = [(f"nothing found for{' (hash)' if are_hashes else ''}", "searches", "people")]
    rows += [
        (one_line(one.text, maximum=_QUERY_CHARACTERS), f"{one.searches:,}", f"{one.people:,}")
        for one in summary.missed
    ]
    return _table(rows)


def _reason_table(title: str, counts: Mapping[str, int]) -> list[str]:
    rows = [(title, "times")]
    rows += [(one_line(reason, maximum=_REASON_CHARACTERS), f"{count:,}") for reason, count in counts.items()]
    return _table(rows) if counts else []


def _served_table(served: Sequence[ServedArtifact]) -> list[str]:
    rows = [("archive served from (UTC)", "")]
    rows += [
        (f"{_minute(one.at)}  {one.event}", one_line(one.artifact_id or "none", maximum=36))
        for one in served[-_SERVED_ROWS:]
    ]
    return _table(rows, right=False) if served else []


def _table(rows: Sequence[Sequence[str]], *, right: bool = True) -> list[str]:
    """Return rows in columns: the first flush left, the others flush right or all flush left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        _MARGIN.join(
            text.rjust(width) if right and column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f}%"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _iso(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment is not None else None
