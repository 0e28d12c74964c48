"""Messages, thread windows and file passages as rows of the artifact."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from retrieval.analyzer import tokenize
from retrieval.builder.blocks import attachments_text, blocks_text, is_unfurl
from retrieval.builder.directory import Channel, Directory
from retrieval.builder.markup import Names, readable_text
from retrieval.builder.report import Ledger
from retrieval.builder.rows import FileRow, MessageRow
from retrieval.builder.threads import ThreadIndex, Utterance, index_threads, window_text, windows
from retrieval.builder.timestamps import format_ts
from retrieval.builder.workspace import Workspace
from retrieval.models import DocumentKind
from retrieval.permalinks import message_permalink
from retrieval.redaction import holds_token, redact

MEMBERSHIP: Final = frozenset(
    {"channel_join", "channel_leave", "group_join", "group_leave", "bot_add", "bot_remove", "bot_enable", "bot_disable"}
)
SERVICE: Final = frozenset(
    {
        "channel_archive", "channel_unarchive", "channel_name", "group_archive", "group_unarchive", "group_name",
        "channel_convert_to_private", "channel_convert_to_public", "channel_posting_permissions", "pinned_item",
        "unpinned_item", "channel_tab_added", "channel_tab_removed", "channel_tab_updated", "channel_canvas_updated",
        "welcome_party", "reminder_add", "ekm_access_denied", "message_replied", "joiner_notification",
    }
)  # fmt: skip
DELETED: Final = frozenset({"tombstone"})

# A model reads some hundred words; the rest of a longer text would be cut there anyway.
EMBEDDING_CHARACTERS: Final = 4000
# Slack cuts messages at 40,000 characters; only broken data is longer.
MAX_CHARACTERS: Final = 400_000
_URL: Final = re.compile(r"https?://\S")
_CODE: Final = re.compile(r"```|`[^`\n]+`")
_WORD: Final = re.compile(r"[^\W_]+")
_to_json: Final = json.JSONEncoder(ensure_ascii=False).encode
# Of the words of two renderings of one message, how many may differ.
_SAME_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A row of search_documents, without its time column; `timestamp` is made from `ts_us`."""

    document_id: str
    document_kind: str
    workspace_id: str
    workspace_name: str | None
    workspace_slug: str
    channel_id: str
    channel_name: str | None
    author_id: str | None
    author_name: str | None
    ts_us: int
    thread_id: str | None
    thread_root_id: str | None
    is_thread_parent: bool
    is_thread_reply: bool
    is_thread_broadcast: bool
    text_display: str
    text_lexical: str
    text_embedding: str
    source_version: str
    metadata_json: str
    permalink: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRow:
    """A row of document_messages."""

    document_id: str
    position: int
    message_id: str
    channel_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A named file with a message that shares it."""

    file: FileRow
    message: DocumentRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelDocuments:
    """Everything that one channel gives: documents, mappings of its windows, and the files shared in it."""

    documents: tuple[DocumentRow, ...]
    mappings: tuple[MappingRow, ...]
    files: tuple[SharedFile, ...]


class DocumentMaker:
    """Makes the rows of one workspace."""

    def __init__(
        self, workspace: Workspace, directory: Directory, ledger: Ledger, *, denied: frozenset[str] = frozenset()
    ) -> None:
        """Prepare to make documents.

        Args:
            workspace: The workspace.
            directory: Its people and channels.
            ledger: Counts what is found.
            denied: Ids of channels, people and messages that give no document.
        """
        self._workspace = workspace
        self._denied = denied
        self._directory = directory
        self._names: Names = directory.names()
        self._ledger = ledger
        self._tokens: Mapping[str, str] = {}

    def channel_documents(
        self, channel: Channel, rows: Sequence[MessageRow], *, tokens: Mapping[str, str] | None = None
    ) -> ChannelDocuments:
        """Return a channel's documents in time order, its threads' windows after them.

        Args:
            channel: The channel.
            rows: Its messages in time order, each ts once.
            tokens: What `lexical_text` gives for some of its texts, from an earlier build.
        """
        self._tokens = tokens or {}
        threads = index_threads(rows, self._ledger)
        messages: list[DocumentRow] = []
        files: list[SharedFile] = []
        for row in rows:
            if self._is_denied(channel, row):
                self._ledger.count("denied_messages")
                continue
            self._count_files(row)
            if (document := self._message(channel, row, threads)) is not None:
                messages.append(document)
                files += [SharedFile(file=file, message=document) for file in row.all_files if not file.is_stub]
        contexts, mappings = self._contexts(channel, messages)
        return ChannelDocuments(documents=(*messages, *contexts), mappings=tuple(mappings), files=tuple(files))

    def _is_denied(self, channel: Channel, row: MessageRow) -> bool:
        if not self._denied:
            return False
        message_id = self._message_id(channel, format_ts(row.ts_us))
        return not self._denied.isdisjoint(filter(None, (channel.channel_id, self._author(row)[0], message_id)))

    def _message(self, channel: Channel, row: MessageRow, threads: ThreadIndex) -> DocumentRow | None:
        text = self._text(row)
        if not self._is_indexed(row, text):
            return None
        thread_us = threads.thread_of(row)
        ts, thread_ts = format_ts(row.ts_us), None if thread_us is None else format_ts(thread_us)
        thread_id = None if thread_ts is None else self._message_id(channel, thread_ts)
        is_reply = thread_ts is not None and thread_ts != ts
        return self._document(
            DocumentKind.MESSAGE,
            channel,
            document_id=self._message_id(channel, ts),
            author=self._author(row),
            ts_us=row.ts_us,
            thread_id=thread_id,
            flags=(thread_ts == ts, is_reply, row.subtype == "thread_broadcast"),
            text=text,
            metadata=self._metadata(row, text),
            permalink=message_permalink(self._workspace.url, channel.channel_id, ts, thread_ts),
        )

    def _document(
        self,
        kind: DocumentKind,
        channel: Channel,
        *,
        document_id: str,
        author: tuple[str | None, str | None],
        ts_us: int,
        thread_id: str | None,
        flags: tuple[bool, bool, bool],
        text: str,
        metadata: Mapping[str, object],
        permalink: str | None,
        lexical: str | None = None,
    ) -> DocumentRow:
        is_parent, is_reply, is_broadcast = flags
        metadata_json = redact(_to_json(metadata))
        determining = [text, *author, channel.name, thread_id, flags, metadata_json, permalink]
        return DocumentRow(
            document_id=document_id,
            document_kind=kind.value,
            workspace_id=self._workspace.workspace_id,
            workspace_name=self._workspace.name,
            workspace_slug=self._workspace.slug,
            channel_id=channel.channel_id,
            channel_name=channel.name or None,
            author_id=author[0],
            author_name=author[1],
            ts_us=ts_us,
            thread_id=thread_id,
            thread_root_id=thread_id,
            is_thread_parent=is_parent,
            is_thread_reply=is_reply,
            is_thread_broadcast=is_broadcast,
            text_display=text,
            text_lexical=self._lexical(text) if lexical is None else lexical,
            text_embedding=text[:EMBEDDING_CHARACTERS],
            source_version=_digest(determining),
            metadata_json=metadata_json,
            permalink=permalink,
        )

    def _lexical(self, text: str) -> str:
        known = self._tokens.get(text)
        return lexical_text(text) if known is None else known

    def _is_indexed(self, row: MessageRow, text: str) -> bool:
        if row.subtype in MEMBERSHIP:
            self._ledger.count("membership_messages")
        elif row.subtype in SERVICE:
            self._ledger.count("service_messages")
        elif row.subtype in DELETED:
            self._ledger.count("deleted_messages")
        elif not text:
            self._ledger.count("empty_messages")
        else:
            self._ledger.count("broadcasts_kept_once", int(row.subtype == "thread_broadcast"))
            self._ledger.count("edited_messages", int(row.edited is not None))
            self._ledger.count("bot_posts", int(row.is_bot))
            return True
        return False

    def _text(self, row: MessageRow) -> str:
        """Return what a reader sees: the text, or the blocks where they say more, and a bot's attachments."""
        text = readable_text(row.text, self._names)
        if row.blocks:
            text = _fuller(text, blocks_text(row.blocks, self._names))
        own = [attachment for attachment in row.attachments if not is_unfurl(attachment)]
        shown = row.attachments if not text else own if row.is_bot else []
        if shown:
            text = _fuller(text, attachments_text(shown, self._names))
        if not text:
            text = "\n".join(file.title or file.name for file in row.all_files if not file.is_stub)
        return clean(redact(text[:MAX_CHARACTERS])).strip()

    def _author(self, row: MessageRow) -> tuple[str | None, str | None]:
        person = self._directory.people.get(row.user)
        bot_name = row.username or (row.bot_profile.name if row.bot_profile else "")
        profile = row.user_profile
        own = (profile.display_name or profile.real_name) if profile else ""
        name = (bot_name if row.is_bot else "") or (person.label if person else "") or own or bot_name
        return row.user or row.bot_id or None, redact(name) or None

    def _metadata(self, row: MessageRow, text: str) -> dict[str, object]:
        files = [
            {"id": file.id, "name": file.name, "mimetype": file.mimetype, "size": file.size}
            for file in row.all_files
            if not file.is_stub
        ]
        reactions = [
            {"name": reaction.name, "count": reaction.count or len(reaction.users)} for reaction in row.reactions
        ]
        app = (row.bot_profile.name if row.bot_profile else "") or (row.username if row.is_bot else "")
        values: dict[str, object] = {
            "subtype": row.subtype,
            "bot": row.is_bot,
            "app": app,
            "edited_ts_us": row.edited_us,
            "reactions": reactions,
            "files": files,
            "links": len(_URL.findall(text)),
            "has_code": _CODE.search(text) is not None,
            "reply_count": row.reply_count,
        }
        return {key: value for key, value in values.items() if value}

    def _contexts(
        self, channel: Channel, messages: Sequence[DocumentRow]
    ) -> tuple[list[DocumentRow], list[MappingRow]]:
        documents: list[DocumentRow] = []
        mappings: list[MappingRow] = []
        for thread_id, group in _threads(messages).items():
            by_id = {message.document_id: message for message in group}
            for number, window in enumerate(windows([_utterance(message) for message in group])):
                covered = [by_id[utterance.document_id] for utterance in window]
                document_id = f"thread:{thread_id}:{number}"
                documents.append(self._context(channel, document_id, covered, window_text(window)))
                mappings += _mappings(document_id, covered)
        return documents, mappings

    def _context(self, channel: Channel, document_id: str, covered: Sequence[DocumentRow], text: str) -> DocumentRow:
        # No token reaches over a line break, so a window's tokens are its messages'; making them again would
        # take as long as making them did.
        whole = "\n".join(message.text_display for message in covered) == text
        return self._document(
            DocumentKind.THREAD_CONTEXT,
            channel,
            document_id=document_id,
            author=(None, None),
            ts_us=covered[0].ts_us,
            thread_id=covered[0].thread_id,
            flags=(False, False, False),
            text=text,
            metadata={"messages": len(covered)},
            permalink=covered[0].permalink,
            lexical=" ".join(m.text_lexical for m in covered if m.text_lexical) if whole else None,
        )

    def passage(self, document_id: str, text: str, file: FileRow, first: DocumentRow) -> DocumentRow:
        """Return a file's passage as a document at the place of the first message that shares the file.

        Args:
            document_id: The passage's id.
            text: Its text.
            file: The file.
            first: The oldest message that shares it.
        """
        channel = self._directory.channels[first.channel_id]
        record = {"id": file.id, "name": file.name, "mimetype": file.mimetype, "size": file.size}
        return self._document(
            DocumentKind.FILE_CHUNK,
            channel,
            document_id=document_id,
            author=(first.author_id, first.author_name),
            ts_us=first.ts_us,
            thread_id=first.thread_id,
            flags=(False, first.is_thread_reply, False),
            text=clean(redact(text)),
            metadata={"files": [record]},
            permalink=first.permalink,
        )

    def _count_files(self, row: MessageRow) -> None:
        self._ledger.count("single_file_keys", int(row.file is not None))
        self._ledger.count("file_stubs", sum(file.is_stub for file in row.all_files))

    def _message_id(self, channel: Channel, ts: str) -> str:
        return f"{self._workspace.workspace_id}:{channel.channel_id}:{ts}"


def file_mappings(document_id: str, messages: Sequence[DocumentRow]) -> list[MappingRow]:
    """Return the mapping of a file's passage to the messages that share the file, in time order."""
    return list(_mappings(document_id, sorted(messages, key=lambda m: (m.ts_us, m.document_id))))


def lexical_text(text: str) -> str:
    """Return the tokens that the index holds for *text*, separated by spaces.

    Folding can make a token of what was none (full-width letters, accents), so the result is checked again.
    """
    lexical = " ".join(tokenize(text))
    return redact(lexical) if holds_token(lexical) else lexical


def clean(text: str) -> str:
    """Return *text* without what a database cannot hold: NUL, and halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def column_names() -> tuple[str, ...]:
    """Return the columns of a document row in order."""
    return tuple(field.name for field in fields(DocumentRow))


def _fuller(text: str, other: str) -> str:
    """Return the text that says more; both where each says what the other does not.

    The two are renderings of one message, which never agree to the letter; a few odd words are no difference.
    """
    own, others = set(_WORD.findall(text.lower())), set(_WORD.findall(other.lower()))
    if len(others - own) <= len(others) * _SAME_SHARE:
        return text
    return other if len(own - others) <= len(own) * _SAME_SHARE else f"{text}\n{other}"


def _threads(messages: Sequence[DocumentRow]) -> dict[str, list[DocumentRow]]:
    groups: dict[str, list[DocumentRow]] = {}
    for message in messages:
        if message.thread_id is not None:
            groups.setdefault(message.thread_id, []).append(message)
    return groups


def _utterance(message: DocumentRow) -> Utterance:
    return Utterance(document_id=message.document_id, ts_us=message.ts_us, text=message.text_display)


def _mappings(document_id: str, messages: Sequence[DocumentRow]) -> Iterator[MappingRow]:
    for position, message in enumerate(messages):
        yield MappingRow(
            document_id=document_id,
            position=position,
            message_id=message.document_id,
            channel_id=message.channel_id,
        )


def _digest(values: Sequence[object]) -> str:
    return hashlib.sha256(_to_json(values).encode("utf-8", "replace")).hexdigest()[:16]
