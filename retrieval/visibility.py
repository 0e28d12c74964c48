"""What an asker may see; every search, page and expansion takes one, and there is no default."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Visibility:
    """The channels, by workspace, whose documents an asker may see.

    Make one with `everything` or `of_channels`; the engine applies it before ranking, so that nothing
    outside it is ranked, counted or paged to.

    Attributes:
        allowed: Channel ids by workspace id; None means every channel of the artifact.
        denied_author_ids: People whose messages are left out.
        denied_document_ids: Single documents that are left out.
    """

    allowed: Mapping[str, frozenset[str]] | None
    denied_author_ids: frozenset[str] = frozenset()
    denied_document_ids: frozenset[str] = frozenset()

    @classmethod
    def everything(cls) -> Self:
        """Return the visibility that hides nothing; only the command line may ask for it."""
        return cls(allowed=None)

    @classmethod
    def of_channels(
        cls,
        allowed: Mapping[str, Iterable[str]],
        *,
        denied_author_ids: Iterable[str] = (),
        denied_document_ids: Iterable[str] = (),
    ) -> Self:
        """Return the visibility of exactly these channels.

        Args:
            allowed: Channel ids by workspace id.
            denied_author_ids: People whose messages are left out all the same.
            denied_document_ids: Documents that are left out all the same.
        """
        return cls(
            allowed={workspace: frozenset(channels) for workspace, channels in allowed.items()},
            denied_author_ids=frozenset(denied_author_ids),
            denied_document_ids=frozenset(denied_document_ids),
        )

    def allows_channel(self, workspace_id: str, channel_id: str) -> bool:
        """Return whether documents of that channel may be seen."""
        return self.allowed is None or channel_id in self.allowed.get(workspace_id, frozenset())

    def without(self, document_id: str) -> Self:
        """Return what is left to be seen without that document; file passages that it alone shares go with it."""
        return replace(self, denied_document_ids=self.denied_document_ids | {document_id})

    def fingerprint(self) -> str:
        """Return a digest of what may be seen, independent of order; 16 hex digits."""
        allowed = (
            None
            if self.allowed is None
            else {workspace: sorted(channels) for workspace, channels in sorted(self.allowed.items())}
        )
        content = [allowed, sorted(self.denied_author_ids), sorted(self.denied_document_ids)]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]
