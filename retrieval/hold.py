"""The note that a rollback leaves: until somebody publishes by hand, nothing is published by itself."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

HOLD_NAME: Final = "hold.json"


class Hold(BaseModel):
    """A rollback that still holds.

    Attributes:
        at: When it was made, ISO 8601 in UTC.
        artifact_id: What it went back to.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str
    artifact_id: str

    @property
    def reason(self) -> str:
        """Why nothing is published by itself, one sentence."""
        return (
            f"The rollback of {self.at} to {self.artifact_id} holds; "
            "`slackquery publish` of an artifact of your choice ends that."
        )


def write_hold(folder: Path, artifact_id: str) -> None:
    """Hold *folder* at an artifact; only for who holds the publisher's lock.

    Raises:
        OSError: The folder cannot be written.
    """
    hold = Hold(at=datetime.now(UTC).isoformat(timespec="seconds"), artifact_id=artifact_id)
    # The prefix is the publisher's, who removes what is left of an interrupted one.
    temporary = folder / f".publishing-{HOLD_NAME}"
    temporary.write_text(hold.model_dump_json() + "\n", encoding="utf-8")
    temporary.replace(folder / HOLD_NAME)


def read_hold(folder: Path) -> Hold | None:
    """Return the rollback that holds *folder*, None where none does; a note that cannot be read holds."""
    try:
        return Hold.model_validate_json((folder / HOLD_NAME).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        return Hold(at="an unknown time", artifact_id="an unknown artifact")


def end_hold(folder: Path) -> None:
    """Let builds be published again.

    Raises:
        OSError: The folder cannot be written.
    """
    (folder / HOLD_NAME).unlink(missing_ok=True)
