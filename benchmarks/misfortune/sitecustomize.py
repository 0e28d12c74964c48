"""Loaded at the start of the bot's process by the fault matrix: its clock can jump and its look-ups of names can fail.

The file that FAULT_MATRIX_CONTROL names holds two numbers: the seconds that `time.time` is ahead (a double), and how
many look-ups of localhost are still to fail (a 64-bit integer). Without the variable nothing is changed.
"""

import mmap
import os
import socket
import struct
import time

if (_name := os.environ.get("FAULT_MATRIX_CONTROL")) is not None:
    with open(_name, "r+b") as _file:  # noqa: PTH123 - every import here delays the start
        _block = mmap.mmap(_file.fileno(), 16)
    _time, _look_up = time.time, socket.getaddrinfo

    def _jumping() -> float:
        return _time() + struct.unpack_from("d", _block, 0)[0]

    def _failing(host, *rest, **more):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        left = struct.unpack_from("q", _block, 8)[0]
        if host == "localhost" and left > 0:
            struct.pack_into("q", _block, 8, left - 1)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return _look_up(host, *rest, **more)

    time.time, socket.getaddrinfo = _jumping, _failing
