"""The names of channels and people that an artifact knows, and who of them an asker meets in it."""

from retrieval import schema
from retrieval.artifact import Artifact
from retrieval.directory import NamedChannel, NameDirectory, NamedPerson
from retrieval.filters import place_predicate
from retrieval.models import Filters
from retrieval.visibility import Visibility


def read_names(artifact: Artifact, *, visibility: Visibility) -> NameDirectory:
    """Return a directory of the channels and authors that stand in what *visibility* allows.

    Thread-safe.
    """
    visible = place_predicate(Filters(), visibility)
    with artifact.cursor() as cursor:
        channels = cursor.execute(
            f"SELECT d.channel_id, max(d.channel_name) FROM {schema.DOCUMENTS} d "
            f"WHERE d.document_kind = 'message' AND ({visible.sql}) GROUP BY d.channel_id ORDER BY d.channel_id",
            list(visible.parameters),
        ).fetchall()
        authors = cursor.execute(
            f"SELECT d.author_id, max(d.author_name) FROM {schema.DOCUMENTS} d WHERE d.document_kind = 'message' "
            f"AND d.author_id IS NOT NULL AND ({visible.sql}) GROUP BY d.author_id ORDER BY d.author_id",
            list(visible.parameters),
        ).fetchall()
        users = (
            cursor.execute(
                f"SELECT user_id, name, display_name, real_name, deleted FROM {schema.USERS} ORDER BY user_id"
            ).fetchall()
            if schema.USERS in artifact.info.capabilities
            else []
        )
    known = {row[0]: row[1:] for row in users}
    people = []
    for author_id, author_name in authors:
        name, display_name, real_name, deleted = known.get(author_id, (None, None, None, False))
        people.append(
            NamedPerson(
                user_id=author_id,
                name=name or author_name or author_id,
                display_name=display_name or author_name or "",
                real_name=real_name or "",
                deleted=bool(deleted),
            )
        )
    return NameDirectory(
        channels=[NamedChannel(channel_id=row[0], name=row[1] or row[0]) for row in channels], people=people
    )


def find_author_ids(artifact: Artifact, *, visibility: Visibility) -> frozenset[str]:
    """Return who wrote any message that *visibility* allows.

    Thread-safe.
    """
    visible = place_predicate(Filters(), visibility)
    with artifact.cursor() as cursor:
        rows = cursor.execute(
            f"SELECT DISTINCT d.author_id FROM {schema.DOCUMENTS} d WHERE d.document_kind = 'message' "
            f"AND d.author_id IS NOT NULL AND ({visible.sql})",
            list(visible.parameters),
        ).fetchall()
    return frozenset(row[0] for row in rows)
