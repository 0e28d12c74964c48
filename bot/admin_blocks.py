"""What `admin` shows: the last day in figures, the last entries of the audit file, the archives that were served."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot import texts
from bot.action_state import AdminPage
from bot.audit_reader import AuditRecord
from bot.buttons import ADMIN_ACTIONS, ADMIN_NEWER_ACTION, ADMIN_OLDER_ACTION, Signer
from bot.citations import bold_element, local_time
from bot.elements import Block, RenderedMessage, actions, button, context, header, mrkdwn, plain_text, section
from bot.fallback import fallback_text
from bot.notes import note_blocks, note_lines
from bot.rich_text import cut, one_line
from bot.summary import Summary
from bot.summary_text import summary_lines, summary_parts

ENTRIES_PER_PAGE: Final = 10
MOST_ENTRIES: Final = 200
"""How far one can page; `slackquery logs` shows the rest."""

# Five tables at most.
_TABLE_CHARACTERS: Final = 1_500
_PART_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminView:
    """Everything that one page of `admin` shows.

    Attributes:
        page: Which page.
        signer: Makes the buttons' values.
        summary: The last 24 hours, on the first page alone.
        entries: Entries of this page, newest first.
        names: People's names by id, as far as Slack told them.
        has_older: Whether there are older entries.
        notices: Sentences about what is wrong now; literal.
    """

    page: AdminPage
    signer: Signer
    summary: Summary | None = None
    entries: Sequence[AuditRecord] = ()
    names: dict[str, str]
    has_older: bool = False
    notices: tuple[str, ...] = ()


def render_admin(view: AdminView) -> RenderedMessage:
    """Return one page of what admins see of the logs."""
    title = texts.ADMIN_TITLES[view.page.view]
    small = note_lines([texts.ADMIN_HINT, *view.notices])
    body, said = _summary(view.summary) if view.summary is not None else _entries(view)
    blocks = [header(title), *note_blocks(small), *body]
    if (paging := _paging(view)) is not None:
        blocks.append(paging)
    blocks.append(_views(view))
    return RenderedMessage(text=fallback_text(head=[title, *small, *said]), blocks=tuple(blocks))


def _summary(summary: Summary) -> tuple[list[Block], list[str]]:
    first, *tables = summary_parts(summary)
    blocks = [section(plain_text("\n".join(first)))]
    if tables:
        blocks.append({"type": "rich_text", "elements": [_preformatted("\n".join(table)) for table in tables]})
    return blocks, summary_lines(summary)


def _preformatted(table: str) -> Block:
    text = cut(table, _TABLE_CHARACTERS)
    return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}


def _entries(view: AdminView) -> tuple[list[Block], list[str]]:
    if not view.entries:
        return [section(plain_text(texts.ADMIN_NOTHING))], [texts.ADMIN_NOTHING]
    rows: list[Block] = []
    said: list[str] = []
    for record in view.entries:
        at_us = int(record.at.timestamp() * 1_000_000)
        parts = [one_line(part, maximum=_PART_CHARACTERS) for part in _parts(record, view.names)]
        rows.append(
            context([mrkdwn(local_time(at_us)), bold_element(record.event), *(plain_text(one) for one in parts if one)])
        )
        said.append(f"{texts.moment(at_us)}: {', '.join([record.event, *filter(None, parts)])}")
    return rows, said


def _parts(record: AuditRecord, names: dict[str, str]) -> list[str]:
    """Return what is to say of an entry beside its time and kind; eight at most."""
    who = f"{names.get(record.user_id, '')} {record.user_id}".strip() if record.user_id else ""
    how = " ".join(filter(None, (record.mode, record.route, texts.ADMIN_DEGRADED if record.degraded else "")))
    hits = texts.admin_hits(record.hits) if record.hits is not None else ""
    # Only searches take a time that is worth a word.
    total_ms = record.timings_ms.get("total") if record.mode is not None else None
    spent = texts.admin_milliseconds(total_ms) if total_ms is not None else ""
    archive = record.artifact_id if record.event in ("swap", "start") and record.artifact_id else ""
    return [who, how, hits, spent, record.reason or "", archive, f"“{record.query}”" if record.query else ""]


def _paging(view: AdminView) -> Block | None:
    page = view.page
    newer = page.model_copy(update={"offset": max(0, page.offset - ENTRIES_PER_PAGE)})
    older = page.model_copy(update={"offset": page.offset + ENTRIES_PER_PAGE})
    buttons = []
    if page.offset > 0:
        buttons.append(button(texts.ADMIN_NEWER, ADMIN_NEWER_ACTION, value=view.signer.admin(newer)))
    if view.has_older:
        buttons.append(button(texts.ADMIN_OLDER, ADMIN_OLDER_ACTION, value=view.signer.admin(older)))
    return actions(buttons) if buttons else None


def _views(view: AdminView) -> Block:
    """Return the buttons that lead to each of the three; each begins anew, with what has come since."""
    return actions(
        [
            button(
                texts.marked(label) if name == view.page.view else label,
                ADMIN_ACTIONS[name],
                value=view.signer.admin(AdminPage(view=name)),
            )
            for name, label in texts.ADMIN_LABELS.items()
        ]
    )
