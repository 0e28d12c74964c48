"""Fixtures that several test modules share."""

import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from localslack.driver import Person
from tests.log_capture import captured_log
from tests.log_scan import indiscretions, type_heard

_PREFIXES = ("SLACK_", "SLACKQUERY_")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test without the settings and proxies of the machine it runs on."""
    for name in list(os.environ):
        if name.startswith(_PREFIXES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections that would leave the machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host not in {"127.0.0.1", "::1", "localhost"}:
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def discreet_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test whose log holds a token, an archived message, or what somebody typed."""
    type_line = Person.type

    async def heard(self: Person, text: str, **more: Any) -> Any:
        type_heard(text)
        return await type_line(self, text, **more)

    monkeypatch.setattr(Person, "type", heard)
    with captured_log() as log:
        logging.captureWarnings(capture=False)
        yield
    assert indiscretions(log.getvalue()) == []
