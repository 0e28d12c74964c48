"""What a build takes over from the artifact before it: the tokens of texts that have not changed.

A text's tokens depend on nothing but the text and the analyzer's version, so the new artifact is the same whether they
are taken over or made again. They are the largest part of reading that need not be done twice.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from retrieval import schema
from retrieval.analyzer import ANALYZER_VERSION
from retrieval.artifact import Artifact
from retrieval.errors import ArtifactError
from retrieval.models import DocumentKind
from retrieval.publication import current_path

_KINDS = (DocumentKind.MESSAGE.value, DocumentKind.FILE_CHUNK.value)


class PreviousTokens:
    """The tokens that the current artifact of a folder holds; one thread."""

    def __init__(self, artifact: Artifact | None) -> None:
        self._artifact = artifact

    def of_channel(self, channel_id: str) -> Mapping[str, str]:
        """Return a channel's `text_lexical` by `text_display`; empty where it cannot be read."""
        if self._artifact is None:
            return {}
        sql = (
            f"SELECT text_display, text_lexical FROM {schema.DOCUMENTS} "
            "WHERE channel_id = ? AND document_kind IN (?, ?)"
        )
        try:
            with self._artifact.cursor() as cursor:
                return dict(cursor.execute(sql, [channel_id, *_KINDS]).fetchall())
        except ArtifactError:
            # It costs time and nothing else; whoever serves it will say what is wrong with it.
            self._artifact = None
            return {}


@contextlib.contextmanager
def previous_tokens(folder: Path) -> Iterator[PreviousTokens]:
    """Open the current artifact of *folder* for the block, where it is one of this analyzer's."""
    path = current_path(folder)
    try:
        artifact = Artifact(path) if path is not None else None
    except ArtifactError:
        artifact = None
    try:
        usable = artifact is not None and artifact.info.analyzer == ANALYZER_VERSION
        yield PreviousTokens(artifact if usable else None)
    finally:
        if artifact is not None:
            artifact.close()
