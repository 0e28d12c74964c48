"""Alerts about a part of the searches: once when they begin, once when they end."""

import pytest

from bot.alerts import AlertLimits, SegmentAlerts
from bot.audit import AuditEntry, AuditEvent
from tests.log_capture import captured_log

LIMITS = AlertLimits(window_seconds=600, searches=10, no_hit=0.5, degraded=0.2, p95_ms=1000)


class Watched:
    """Alerts whose clock a test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.alerts = SegmentAlerts(LIMITS, monotonic=lambda: self.now)
        self.told: list[str] = []

    def search(self, count: int = 1, *, route: str = "exact", language: str = "latin", **more: object) -> None:
        facts: dict[str, object] = {"hits": 3, "degraded": False, "timings_ms": {"total": 20.0}, **more}
        for _ in range(count):
            entry = AuditEntry(event=AuditEvent.SEARCH, team_id="T1", route=route, language=language, **facts)  # type: ignore[arg-type]
            self.told += [one.reason or "" for one in self.alerts.add(entry)]

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.told += [one.reason or "" for one in self.alerts.look()]


def test_one_route_that_finds_nothing_is_told_once_and_its_end_once() -> None:
    watched = Watched()
    with captured_log() as log:
        watched.search(40, route="mixed", language="latin")
        watched.search(12, hits=0, route="exact", language="cyrillic")
        watched.search(5, hits=0, route="exact", language="cyrillic")
        watched.search(30, route="exact", language="cyrillic")

    assert watched.told == [
        "no_hit language=cyrillic 100%",
        "no_hit route=exact 100%",
        "over: no_hit language=cyrillic",
        "over: no_hit route=exact",
    ]
    assert log.events() == ["segment_alert", "segment_alert", "segment_alert_over", "segment_alert_over"]
    began = log.lines()[0]
    assert (began["level"], began["segment"], began["measure"]) == ("warning", "language=cyrillic", "no_hit")
    assert (began["value"], began["limit"], began["searches"]) == (1.0, 0.5, 10)


@pytest.mark.parametrize(
    ("fault", "measure", "figure"),
    [
        ({"hits": 0}, "no_hit", "100%"),
        ({"degraded": True}, "degraded", "100%"),
        ({"timings_ms": {"total": 4000.0}}, "p95_ms", "4,000 ms"),
    ],
)
def test_each_measure_alerts_for_every_segment(fault: dict[str, object], measure: str, figure: str) -> None:
    watched = Watched()
    watched.search(10, **fault)

    assert watched.told == [
        f"{measure} {segment} {figure}" for segment in ("all", "language=latin", "route=exact", "workspace=T1")
    ]
    assert watched.alerts.active == tuple(sorted(watched.told, key=lambda told: told.split()[1]))


def test_too_few_searches_say_nothing() -> None:
    watched = Watched()
    watched.search(9, hits=0)

    assert watched.told == []


def test_figures_around_the_limit_do_not_begin_and_end_again_and_again() -> None:
    watched = Watched()
    watched.search(10, hits=0)
    for _ in range(30):
        watched.search(1)
        watched.search(1, hits=0)

    assert len([one for one in watched.told if one.startswith("no_hit all")]) == 1


def test_an_alert_ends_when_its_searches_are_too_old() -> None:
    watched = Watched()
    watched.search(10, hits=0)
    watched.wait(599)
    assert not any(one.startswith("over") for one in watched.told)
    watched.wait(2)

    assert [one for one in watched.told if one.startswith("over")] == [
        "over: no_hit all",
        "over: no_hit language=latin",
        "over: no_hit route=exact",
        "over: no_hit workspace=T1",
    ]
    assert watched.alerts.active == ()


def test_only_searches_count() -> None:
    watched = Watched()
    for event in (AuditEvent.PAGE, AuditEvent.ERROR):
        for _ in range(20):
            assert watched.alerts.add(AuditEntry(event=event, hits=0)) == []
