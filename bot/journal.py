"""What happens is written once: for the audit file, for the metrics and for the alerts."""

from pathlib import Path

from bot.alerts import SegmentAlerts
from bot.audit import AuditEntry, AuditFile
from bot.metrics import Metrics


class Journal:
    """Hands every entry to whoever keeps or counts it; neither raises nor waits. Thread-safe.

    Args:
        file: Where entries are kept; None to keep none.
        metrics: Counts them.
        alerts: Watches the figures of the last while; None to watch none.
    """

    def __init__(self, *, file: AuditFile | None, metrics: Metrics, alerts: SegmentAlerts | None) -> None:
        self._file = file
        self.metrics = metrics
        self.alerts = alerts

    @property
    def folder(self) -> Path | None:
        """Where the entries are kept; None where none are."""
        return self._file.folder if self._file is not None else None

    @property
    def dropped(self) -> int:
        """How many entries the disk did not take."""
        return self._file.dropped if self._file is not None else 0

    @property
    def problem(self) -> str | None:
        """Why entries are lost now, an error's name; None where they are written."""
        return self._file.problem if self._file is not None else None

    def write(self, entry: AuditEntry) -> None:
        """Keep and count one entry, and what changes by it."""
        if self._file is not None:
            self._file.write(entry)
        self.metrics.count(entry)
        if self.alerts is not None:
            for told in self.alerts.add(entry):
                self.write(told)

    def look(self) -> None:
        """Keep what has changed because time has passed: alerts that are over."""
        if self.alerts is not None:
            for told in self.alerts.look():
                self.write(told)

    def close(self, *, timeout_seconds: float) -> None:
        """Write what waits and stop; gives up after the timeout."""
        if self._file is not None:
            self._file.close(timeout_seconds=timeout_seconds)
