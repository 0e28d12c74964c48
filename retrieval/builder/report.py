"""What a build found: oddities counted by kind, rows and files that could not be used, sizes and times.

How the kinds are counted, so that the numbers can be checked against a source:

| kind | one for each |
|---|---|
| `unlisted_channels` | folder with messages that channels.json, groups.json, dms.json and mpims.json do not name |
| `canvas_objects` | object in place of a list in a channel folder, and list entry there with an `id` but no `ts` |
| `file_stubs` | entry of a message's `files` without a name: only an id, `hidden_by_limit` or `tombstone` |
| `missing_parents` | thread with replies whose root does not know of them: no row has `thread_ts` = `ts` or a \
`reply_count` there; the row is absent, or stands there as a plain message, which is then made the root |
| `deleted_parents` | thread with replies whose root stands there only as a tombstone |
| `broadcasts_kept_once` | reply also sent to the channel; its second row and the copy of its root are left out |
| `membership_messages` | join, leave or invitation (not indexed) |
| `service_messages` | notice of renaming, archiving, pinning, tabs and the like (not indexed) |
| `empty_messages` | message without anything to read, nor a named file (not indexed) |
| `edited_messages` | indexed message that was edited |
| `deleted_messages` | tombstone, deletion event, or message that the newest source of its day no longer has |
| `bot_posts` | indexed message posted by a bot or an app |
| `denied_messages` | message of a channel, a person or an id that the deny list names (not indexed) |
| `duplicate_messages` | further row with the same channel and ts in one source |
| `merged_messages` | further copy of a message in another source |
| `users_without_names` | person with neither a display name nor a real name |
| `deleted_users` | person whose account is deactivated |
| `single_file_keys` | message with the old `file` key |
| `empty_lists` | list that holds nothing but `""`, or nothing at all, where records belong |
| `odd_timestamps` | ts that is not written with six digits after the point |
| `invalid_rows` | row that cannot be used; `problems` names its file and index |
| `unreadable_files` | JSON file that cannot be parsed; `unreadable` names it and the byte |
| `tokens_removed` | Slack token (`xoxe-...` and its kin) taken out of a source's text while reading |
| `unmatched_files` | text file under `--files` that no message shares, or that could be more than one file |
| `oversized_files` | text file above 25 MB |
| `broken_files` | text file that cannot be parsed |
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from retrieval.redaction import redact

# A broken export can hold a problem in every row; the count is complete, the list is for reading.
MAX_PROBLEMS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that was skipped.

    Attributes:
        file: Its name, with the source in front.
        byte: Where reading failed, from 0; None where the whole file cannot be read.
        reason: What is wrong there.
    """

    file: str
    byte: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A row that was skipped: its file, its index in the file from 0, and why."""

    file: str
    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """The numbers of one build.

    Attributes:
        sources: The sources' names, oldest first.
        workspace_id: The workspace.
        messages: Message rows in the sources, each ts of a channel once in a source.
        documents: Documents by kind.
        channels: Conversations with at least one document.
        users: People known.
        vectors: Vectors written.
        embedded: Texts that the model was asked for; the others were reused.
        oddities: Counts by kind; only kinds that occurred, sorted by name.
        problems: The first rows that were skipped.
        unreadable: The files that were skipped.
        seconds: Wall time by stage.
    """

    sources: tuple[str, ...]
    workspace_id: str
    messages: int
    documents: Mapping[str, int]
    channels: int
    users: int
    vectors: int
    embedded: int
    oddities: Mapping[str, int]
    problems: tuple[Problem, ...]
    unreadable: tuple[Unreadable, ...]
    seconds: Mapping[str, float]

    def as_json(self) -> dict[str, object]:
        """Return the report as what `json.dumps` takes."""
        return {
            "sources": list(self.sources),
            "workspace_id": self.workspace_id,
            "messages": self.messages,
            "documents": dict(self.documents),
            "channels": self.channels,
            "users": self.users,
            "vectors": self.vectors,
            "embedded": self.embedded,
            "oddities": dict(self.oddities),
            "problems": [{"file": p.file, "index": p.index, "reason": p.reason} for p in self.problems],
            "unreadable": [{"file": u.file, "byte": u.byte, "reason": u.reason} for u in self.unreadable],
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
        }

    def lines(self) -> tuple[str, ...]:
        """Return the report as plain lines, one for each kind of oddity."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.documents.items()))
        head = [
            f"messages read: {self.messages:,}",
            f"documents: {kinds}",
            f"channels: {self.channels:,}",
            f"users: {self.users:,}",
        ]
        vectors = [f"vectors: {self.vectors:,} ({self.embedded:,} newly embedded)"]
        oddities = [f"{kind.replace('_', ' ')}: {count:,}" for kind, count in self.oddities.items()]
        problems = [f"skipped row: {p.file} [{p.index}]: {p.reason}" for p in self.problems]
        files = [
            f"skipped file: {u.file}{'' if u.byte is None else f' at byte {u.byte}'}: {u.reason}"
            for u in self.unreadable
        ]
        return tuple(head + vectors + oddities + problems + files)


@dataclass(slots=True)
class Ledger:
    """Collects what a build finds while it runs; one build, one thread.

    Attributes:
        oddities: Counts by kind.
        problems: The first rows that were skipped.
        unreadable: The files that were skipped.
        messages_read: Rows by source, whatever their subtype.
    """

    oddities: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    messages_read: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, number: int = 1) -> None:
        """Add to an oddity's count."""
        if number:
            self.oddities[kind] += number

    def skip_row(self, file: str, index: int, reason: str) -> None:
        """Note a row that cannot be used."""
        self.count("invalid_rows")
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file=redact(file), index=index, reason=redact(reason)))

    def skip_file(self, file: str, byte: int | None, reason: str) -> None:
        """Note a file that cannot be read."""
        self.count("unreadable_files")
        self.unreadable.append(Unreadable(file=redact(file), byte=byte, reason=redact(reason)))
