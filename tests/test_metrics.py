"""What monitoring is told on loopback: figures without names or words, health, readiness."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.app import StartError, start_bot
from bot.audit import AuditEntry, AuditEvent
from bot.metrics import Metrics
from bot.monitor import HOST, Monitor
from localslack.server import LocalSlack
from tests.bot_harness import ADA, BEN, MANIFEST, Office, bot_settings, build_archive, running_bot, workspace


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metrics") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(
        archive, audit_dir=tmp_path / "audit", store=tmp_path / "store.sqlite3", metrics_port=0
    ) as office:
        yield office


def figures(text: bytes) -> dict[tuple[str, ...], float]:
    """The samples by name and label values, labels in the order of their names, as Prometheus's parser reads them."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


async def get(port: int, path: str, *, host: str | None = None, method: str = "GET") -> tuple[int, bytes]:
    headers = {"Host": host} if host is not None else {}
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, f"http://{HOST}:{port}{path}", headers=headers) as response,
    ):
        return response.status, await response.read()


def port_of(office: Office) -> int:
    assert office.bot.monitor is not None
    return office.bot.monitor.port


async def test_searches_are_counted_by_mode_route_and_outcome(office: Office) -> None:
    answer = await office.ask("rate limit 429")
    await office.press(answer, "Next")
    await office.ask("xylophone mode:lexical", user=BEN)
    status, text = await get(port_of(office), "/metrics")
    told = figures(text)

    def total(event: str, mode: str, outcome: str) -> float:
        return sum(
            value
            for (name, *labels), value in told.items()
            if name == "slackquery_searches_total" and (labels[0], labels[1], labels[2]) == (event, mode, outcome)
        )

    assert status == 200
    assert (total("search", "hybrid", "hits"), total("page", "hybrid", "hits")) == (1, 1)
    assert total("search", "lexical", "no_hit") == 1
    assert told["slackquery_search_seconds_count", "hybrid"] == 2
    assert told["slackquery_stage_seconds_count", "lexical"] == 3
    assert told["slackquery_ack_seconds_count", "slash_commands"] == 2
    assert told["slackquery_ack_seconds_count", "interactive"] == 1
    assert told["slackquery_connections_total",] == 1
    assert told["slackquery_swaps_total",] == 1
    info = office.bot.services.watch.state.info
    assert info is not None
    assert told["slackquery_artifact", info.artifact_id] == 1
    assert told["slackquery_artifact_documents",] == info.document_count
    assert told["slackquery_artifact_age_seconds",] > 0
    for name in ("audit_lines_lost", "log_lines_lost", "store_failures", "searches_in_flight", "searches_waiting"):
        assert told[f"slackquery_{name}",] == 0


async def test_every_figure_is_explained_and_none_names_anybody(office: Office) -> None:
    await office.ask("merger")
    await office.ask("merger", user=BEN)
    _, text = await get(port_of(office), "/metrics")

    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation.endswith(".")
    labels = {value for _, *values in figures(text) for value in values}
    assert labels.isdisjoint({ADA, BEN, "merger"})
    assert b"merger" not in text


async def test_the_bot_is_healthy_and_ready_until_its_connection_or_archive_is_missing(office: Office) -> None:
    port = port_of(office)
    assert await get(port, "/healthz") == (200, b'{"ok": true, "problems": []}\n')
    assert await get(port, "/readyz") == (200, b'{"ok": true, "problems": []}\n')
    await office.bot.connection.stop(seconds=0.1)
    office.bot.connection._down_since = office.bot.services.monotonic() - 1000
    status, text = await get(port, "/readyz")
    assert (status, b"no connection to Slack" in text) == (503, True)
    status, text = await get(port, "/healthz")
    assert (status, b"for 1000 seconds" in text) == (503, True)


async def test_without_an_archive_it_is_healthy_but_not_ready(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    async with running_bot(tmp_path / "empty", metrics_port=0) as office:
        assert (await get(port_of(office), "/healthz"))[0] == 200
        assert await get(port_of(office), "/readyz") == (
            503,
            b'{"ok": false, "problems": ["There is no archive to search."]}\n',
        )


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:9", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:1", 403),
    ],
)
async def test_only_the_machines_own_names_are_answered(office: Office, host: str, status: int) -> None:
    assert (await get(port_of(office), "/metrics", host=host))[0] == status


async def test_it_only_gives(office: Office) -> None:
    assert (await get(port_of(office), "/metrics", method="POST"))[0] == 405
    assert (await get(port_of(office), "/anything"))[0] == 404


async def test_it_is_off_unless_a_port_is_set(archive: Path) -> None:
    async with running_bot(archive) as office:
        assert office.bot.monitor is None


async def test_a_port_that_is_taken_is_one_sentence(archive: Path) -> None:
    async def fine() -> tuple[str, ...]:
        return ()

    first = Monitor(Metrics(), sick=fine, unready=fine)
    await first.start(0)
    async with LocalSlack(workspace(), MANIFEST) as slack:
        with pytest.raises(StartError, match=f"SLACKQUERY_METRICS_PORT: port {first.port} cannot be used"):
            await start_bot(bot_settings(slack, archive, metrics_port=first.port))
    await first.stop()


def test_refusals_errors_and_missing_vectors_are_counted_by_reason() -> None:
    metrics = Metrics()
    metrics.count(AuditEntry(event=AuditEvent.REFUSED, reason="other_team", user_id=ADA))
    metrics.count(AuditEntry(event=AuditEvent.ERROR, reason="TimeoutError"))
    metrics.count(
        AuditEntry(event=AuditEvent.SEARCH, mode="hybrid", route="mixed", hits=0, degraded=True, query="words")
    )
    metrics.embedding_failed("EmbeddingUnavailableError")
    told = figures(metrics.render())

    assert told["slackquery_refused_total", "other_team"] == 1
    assert told["slackquery_errors_total", "TimeoutError"] == 1
    assert told["slackquery_degraded_total", "hybrid"] == 1
    assert told["slackquery_embedding_failures_total", "EmbeddingUnavailableError"] == 1
    assert told["slackquery_events_total", "search"] == 1
