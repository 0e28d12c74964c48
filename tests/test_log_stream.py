"""The log's stream loses lines rather than answers, and says how many."""

import io
import json
import os
import threading
import time

from bot.log_stream import PatientStream


class Failing(io.StringIO):
    """Refuses writes while it is told to."""

    fails = False

    def write(self, text: str, /) -> int:
        if self.fails:
            raise OSError(28, "No space left on device")
        return super().write(text)


def drain(stream: PatientStream) -> None:
    while not stream._waiting.empty():
        time.sleep(0.001)
    time.sleep(0.02)


def test_lines_arrive_in_order() -> None:
    behind = io.StringIO()
    stream = PatientStream(behind)
    for number in range(100):
        stream.write(f"{number}\n")
    stream.finish(timeout_seconds=5)

    assert behind.getvalue().split() == [str(number) for number in range(100)]
    assert stream.lost == 0


def test_what_a_full_disk_did_not_take_is_counted_and_told_once_it_takes_lines_again() -> None:
    behind = Failing()
    stream = PatientStream(behind)
    behind.fails = True
    for number in range(3):
        stream.write(f'{{"n": {number}}}\n')
    drain(stream)
    behind.fails = False
    stream.write('{"n": 3}\n')
    stream.write('{"n": 4}\n')
    stream.finish(timeout_seconds=5)

    assert stream.lost == 3
    lines = [json.loads(line) for line in behind.getvalue().splitlines()]
    assert lines == [{"n": 3}, {"event": "log_lines_lost", "level": "error", "count": 3}, {"n": 4}]


def test_a_reader_that_hangs_delays_nobody() -> None:
    """A pipe that nobody reads takes 64 KiB and then blocks whoever writes to it."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as pipe:
        stream = PatientStream(pipe)
        began = time.thread_time()
        for _ in range(25_000):
            stream.write("x" * 99 + "\n")
        spent = time.thread_time() - began
        lost = stream.lost
        stream.finish(timeout_seconds=0.05)
        threading.Thread(target=_read_all, args=(reader,), daemon=True).start()
        stream.finish(timeout_seconds=20)

    assert spent < 2.5
    assert lost > 0


def _read_all(reader: int) -> None:
    while os.read(reader, 65_536):
        pass
    os.close(reader)
