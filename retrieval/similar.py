"""What a message is like: by its stored vector, where it has one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.errors import NotFoundError
from retrieval.expansion import find_document
from retrieval.models import Document
from retrieval.visibility import Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What others are compared with.

    Attributes:
        document: The message or file passage, as the asker may see it.
        vector: Its vector, `(dims,)` float32, None where the artifact has none of it.
    """

    document: Document
    vector: NDArray[np.float32] | None


def find_source(
    artifact: Artifact, cursor: "DuckDBPyConnection", document_id: str, *, visibility: Visibility
) -> Source:
    """Return a message or file passage with its vector.

    Raises:
        NotFoundError: No such document, or not for this asker: the same words.
    """
    document = find_document(artifact, cursor, document_id, visibility)
    if document is None:
        raise NotFoundError(kind="message", identifier=document_id)
    row = None
    if artifact.info.vector_count:
        row = cursor.execute(f"SELECT embedding FROM {schema.VECTORS} WHERE document_id = ?", [document_id]).fetchone()
    return Source(document=document, vector=np.array(row[0], dtype=np.float32) if row is not None else None)
