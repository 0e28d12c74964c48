"""The log's stream, which nobody waits for: a full disk or a reader that hangs costs lines, not answers."""

import contextlib
import io
import queue
import threading
from typing import Final, TextIO

_WAITING: Final = 20_000


class PatientStream(io.TextIOBase):
    """Writes to another stream from a thread of its own; what cannot be written is dropped and counted.

    Once lines were lost and writing works again, a line of the log says how many. Thread-safe.

    Args:
        stream: Where lines go in the end.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(maxsize=_WAITING)
        self._counting = threading.Lock()
        self._lost = 0
        self._told = 0
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """How many writes were dropped."""
        return self._lost

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, text: str, /) -> int:
        """Queue a text and return its length at once."""
        try:
            self._waiting.put_nowait(text)
        except queue.Full:
            self._lose()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread flushes after each write."""

    def finish(self, *, timeout_seconds: float) -> None:
        """Write what waits and stop; gives up after the timeout."""
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=timeout_seconds)
            self._thread.join(timeout_seconds)

    def _write_all(self) -> None:
        while (text := self._waiting.get()) is not None:
            try:
                self._stream.write(text)
                if self._lost > self._told:
                    self._stream.write(f'{{"event": "log_lines_lost", "level": "error", "count": {self._lost}}}\n')
                self._stream.flush()
            except (OSError, ValueError):
                # ValueError: the stream is closed.
                self._lose()
            else:
                self._told = self._lost

    def _lose(self) -> None:
        with self._counting:
            self._lost += 1
