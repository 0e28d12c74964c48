"""Files at hand, matched to the messages that share them, as passages.

A file is matched by its Slack id (in its path: `F0123ABC/notes.md`, `F0123ABC-notes.md`, `F0123ABC.md`), else by its
name. A name alone counts only where it can mean just one file on both sides, or where the sizes tell: indexing a
private file's text under a public namesake would show it to everyone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval.builder.documents import DocumentMaker, DocumentRow, MappingRow, SharedFile, file_mappings
from retrieval.builder.file_text import MAX_FILE_BYTES, FileTextError, file_text, is_text_file
from retrieval.builder.members import FolderMembers
from retrieval.builder.passages import passages
from retrieval.builder.report import Ledger
from retrieval.builder.source import Attachment

_ID: Final = re.compile(r"(?:^|/)(F[A-Z0-9]{2,})(?=[-_./])")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePassages:
    """One file's documents and their mapping to the messages that share it."""

    documents: tuple[DocumentRow, ...]
    mappings: tuple[MappingRow, ...]


def folder_attachments(folder: Path) -> list[Attachment]:
    """Return the files of a folder given with `--files`.

    Raises:
        SourceError: The folder holds links or cannot be read.
    """
    members = FolderMembers(folder)
    return [
        Attachment(
            file_id=found.group(1) if (found := _ID.search(name)) else None,
            name=name.rsplit("/", 1)[-1],
            size=members.size(name),
            source=members,
            path=name,
        )
        for name in members.names()
    ]


def match_files(
    attachments: Sequence[Attachment], shared: Mapping[str, Sequence[SharedFile]], ledger: Ledger
) -> dict[str, Attachment]:
    """Return the file at hand for each Slack file id that has one.

    Args:
        attachments: The files at hand.
        shared: By file id, the messages that share it.
        ledger: Counts text files that no message shares, or that could be several.
    """
    texts = [attachment for attachment in attachments if is_text_file(attachment.name)]
    by_name: dict[str, list[Attachment]] = {}
    for attachment in texts:
        by_name.setdefault(attachment.name, []).append(attachment)
    ids: dict[str, list[str]] = {}
    for file_id, uses in shared.items():
        for name in {uses[0].file.name, uses[0].file.title} - {""}:
            ids.setdefault(name, []).append(file_id)
    matched = {a.file_id: a for a in texts if a.file_id is not None and a.file_id in shared}
    used = {id(attachment) for attachment in matched.values()}
    for name, candidates in by_name.items():
        unused = [candidate for candidate in candidates if id(candidate) not in used]
        for file_id, attachment in _by_name(unused, [i for i in ids.get(name, []) if i not in matched], shared):
            matched[file_id] = attachment
            used.add(id(attachment))
    ledger.count("unmatched_files", sum(id(attachment) not in used for attachment in texts))
    return matched


def _by_name(
    candidates: Sequence[Attachment], file_ids: Sequence[str], shared: Mapping[str, Sequence[SharedFile]]
) -> Iterator[tuple[str, Attachment]]:
    if len(candidates) == 1 and len(file_ids) == 1:
        yield file_ids[0], candidates[0]
        return
    for file_id in file_ids:
        size = shared[file_id][0].file.size
        same = [candidate for candidate in candidates if candidate.size == size]
        rivals = [other for other in file_ids if shared[other][0].file.size == size]
        if len(same) == 1 and len(rivals) == 1:
            yield file_id, same[0]


def file_passages(
    file_id: str,
    attachment: Attachment,
    uses: Sequence[SharedFile],
    *,
    maker: DocumentMaker,
    ledger: Ledger,
) -> FilePassages | None:
    """Return a file's passages, at the place of the oldest message that shares it; None where it has no text.

    Args:
        file_id: Its Slack id.
        attachment: The file at hand.
        uses: The messages that share it.
        maker: Makes the documents.
        ledger: Counts files that are too large or broken.
    """
    if attachment.size > MAX_FILE_BYTES:
        ledger.count("oversized_files")
        return None
    label = f"{attachment.source.label}/{attachment.path}"
    try:
        text = file_text(attachment.name, attachment.source.read(attachment.path))
    except FileTextError as error:
        ledger.count("broken_files")
        ledger.skip_file(label, None, str(error))
        return None
    messages = sorted({use.message.document_id: use.message for use in uses}.values(), key=lambda m: m.ts_us)
    documents = []
    mappings: list[MappingRow] = []
    for number, passage in enumerate(passages(text)):
        document_id = f"file:{messages[0].workspace_id}:{file_id}:{number:06d}"
        documents.append(maker.passage(document_id, passage, uses[0].file, messages[0]))
        mappings += file_mappings(document_id, messages)
    return FilePassages(documents=tuple(documents), mappings=tuple(mappings))
