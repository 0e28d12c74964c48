"""The note beside an artifact that was built and not published: why."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

REFUSAL_SUFFIX: Final = ".refusal.json"


class Refusal(BaseModel):
    """Why an artifact was kept and not published.

    Attributes:
        at: When, ISO 8601 with a zone.
        reasons: One plain sentence each, at least one.
        figures: What was measured, as text by name, in the order of the gate's checks.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str
    reasons: tuple[str, ...]
    figures: dict[str, str] = {}


def refusal_path(artifact: Path) -> Path:
    """Return where the note about the artifact file *artifact* stands."""
    return artifact.with_name(artifact.name.removesuffix(".duckdb") + REFUSAL_SUFFIX)


def write_refusal(artifact: Path, refusal: Refusal) -> None:
    """Write the note about *artifact* in one step.

    Raises:
        OSError: The folder cannot be written.
    """
    path = refusal_path(artifact)
    # The prefix is the publisher's, who removes what is left of an interrupted one.
    temporary = path.with_name(f".publishing-{path.name}")
    temporary.write_text(refusal.model_dump_json(indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def read_refusal(artifact: Path) -> Refusal | None:
    """Return the note about *artifact*, None where there is none; one that cannot be read is a refusal too."""
    path = refusal_path(artifact)
    try:
        return Refusal.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        return Refusal(at="", reasons=(f"{path.name} cannot be read.",))
