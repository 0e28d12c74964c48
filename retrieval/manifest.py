"""The manifest that stands beside an artifact: what it is, the digest it must have, and who says so."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.errors import ArtifactInvalidError, ArtifactMissingError

MANIFEST_SUFFIX: Final = ".manifest.json"
_MAX_BYTES: Final = 1_000_000


class Manifest(BaseModel):
    """One manifest, as it stands in its file.

    Attributes:
        artifact_id: The artifact's build_id.
        artifact_file: Its file name, in the same folder.
        schema_version: Of the artifact's tables.
        generation_id: Of its vectors.
        source_watermark: What of the source it holds.
        document_count: Its rows.
        vector_count: Its vectors.
        missing_vector_count: Messages and file chunks that have none, known and accepted.
        checksum_sha256: Of the artifact's file.
        fts_config: The options of its full-text index.
        built_at: ISO 8601 with a zone.
        code_version: Of the program that built it.
        signature_hmac_sha256: By whoever holds the key, of all of the above; empty where nobody signed it.
    """

    # Artifacts of other tools may carry further keys.
    model_config = ConfigDict(frozen=True, extra="ignore")

    artifact_id: str
    artifact_file: str
    schema_version: int
    generation_id: str
    source_watermark: str
    document_count: int
    vector_count: int
    missing_vector_count: int = 0
    checksum_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    fts_config: dict[str, object]
    built_at: str
    code_version: str = ""
    signature_hmac_sha256: str = ""


class ManifestKey:
    """A secret that builder and readers share: what it signed was made by whoever has it, and not altered since.

    The digest in a manifest only tells damage from what was meant: whoever can write both files can make them fit.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, manifest: Manifest) -> Manifest:
        """Return *manifest* with a signature."""
        return manifest.model_copy(update={"signature_hmac_sha256": self._signature(manifest)})

    def check(self, manifest: Manifest) -> None:
        """Make sure that *manifest* was signed with this key.

        Raises:
            ArtifactInvalidError: It was not, or it was altered since.
        """
        stated = manifest.signature_hmac_sha256
        if not hmac.compare_digest(self._signature(manifest).encode(), stated.encode("utf-8", "replace")):
            how = "is signed with another key, or was altered" if stated else "is not signed"
            raise ArtifactInvalidError(
                f"The manifest of {manifest.artifact_file} {how}; this machine takes only what its own key signed.",
                check="signature",
            )

    def _signature(self, manifest: Manifest) -> str:
        stated = manifest.model_dump(mode="json", exclude={"signature_hmac_sha256"})
        content = json.dumps(stated, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hmac.new(self._secret, b"slackquery manifest\n" + content.encode(), hashlib.sha256).hexdigest()


def manifest_path(artifact: Path) -> Path:
    """Return where the manifest of the artifact file *artifact* stands."""
    return artifact.with_name(artifact.name.removesuffix(".duckdb") + MANIFEST_SUFFIX)


def read_manifest(artifact: Path) -> Manifest:
    """Return the manifest of the artifact file *artifact*.

    Raises:
        ArtifactMissingError: There is none.
        ArtifactInvalidError: It cannot be read, or names another file.
    """
    path = manifest_path(artifact)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ArtifactInvalidError(f"{path.name} is too large for a manifest.", check="manifest")
        manifest = Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ArtifactMissingError(f"{artifact.name} has no manifest beside it ({path.name}).") from error
    except (OSError, ValidationError) as error:
        raise ArtifactInvalidError(f"{path.name} is not a readable manifest.", check="manifest") from error
    if manifest.artifact_file != artifact.name:
        raise ArtifactInvalidError(f"{path.name} is about another file.", check="manifest")
    return manifest
