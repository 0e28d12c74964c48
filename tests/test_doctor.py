"""`slackquery doctor` names each fault of a broken set-up and what to do about it, and exits 1."""

import asyncio
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.settings import Settings
from bot.slack_diagnosis import NEEDED_SCOPES, SlackDiagnosis
from localslack.server import LocalSlack
from retrieval import EmbedderFactory, Finding, Level, RetrievalError, diagnosis, fts
from retrieval.build_status import BuildOutcome, BuildStatus, write_status
from retrieval.embedding import with_probe
from retrieval.hold import write_hold
from tests.artifact_factory import Row, write_artifact
from tests.bot_harness import ADA, DORA, MANIFEST, TEAM_ID, workspace
from tests.fake_endpoint import FakeEndpoint, Fault

ROWS = (
    Row(key="1.1", workspace=TEAM_ID, text="rate limit 429", minute=1),
    Row(key="1.2", workspace=TEAM_ID, text="lunch at noon", minute=2),
)


@contextmanager
def slack_in_a_thread(manifest: dict[str, Any]) -> Iterator[LocalSlack]:
    """Run a local Slack beside a command that has an event loop of its own."""
    slack = LocalSlack(workspace(), manifest)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    try:
        wait(slack.start())
        yield slack
    finally:
        wait(slack.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with slack_in_a_thread(MANIFEST) as started:
        yield started


@dataclass
class Setup:
    """A set-up that works, until a test breaks it."""

    folder: Path
    slack: LocalSlack
    environment: dict[str, str] = field(default_factory=dict)

    def doctor(self, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
        """Run the doctor and return its exit code and findings."""
        result = CliRunner(env=self.environment).invoke(main, ["doctor", "--json", *arguments])
        return result.exit_code, json.loads(result.stdout)["findings"]


@pytest.fixture
def setup(tmp_path: Path, slack: LocalSlack, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.chdir(tmp_path)
    slack.faults.clear()
    artifacts = tmp_path / "archive"
    artifacts.mkdir()
    write_artifact(artifacts, ROWS, publish=True)
    environment = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "SLACKQUERY_ARTIFACTS": str(artifacts),
        "SLACKQUERY_AUDIT_DIR": str(tmp_path / "audit"),
        "SLACKQUERY_STORE": str(tmp_path / "store.sqlite3"),
    }
    return Setup(folder=artifacts, slack=slack, environment=environment)


def bad(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in findings if one["level"] != "ok"]


def test_nothing_is_wrong_with_a_set_up_that_works(setup: Setup) -> None:
    code, findings = setup.doctor("--verify")

    assert (code, bad(findings)) == (0, [])
    assert {one["name"] for one in findings} >= {
        "python", "duckdb", "fts extension", "settings", "disk", "artifact", "embedding", "memory", "verify",
        "audit file", "store", "bot token", "scopes", "clock", "app token", "workspace",
    }  # fmt: skip


def current(setup: Setup) -> Path:
    return (setup.folder / "current.duckdb").resolve()


def having(name: str, value: str | None) -> Callable[[Setup, pytest.MonkeyPatch], None]:
    def change(setup: Setup, _: pytest.MonkeyPatch) -> None:
        if value is None:
            del setup.environment[name]
        else:
            setup.environment[name] = value

    return change


def swap_tokens(setup: Setup, _: pytest.MonkeyPatch) -> None:
    setup.environment["SLACK_BOT_TOKEN"], setup.environment["SLACK_APP_TOKEN"] = (
        setup.slack.app_token,
        setup.slack.bot_token,
    )


def fault(method: str, error: str) -> Callable[[Setup, pytest.MonkeyPatch], None]:
    def change(setup: Setup, _: pytest.MonkeyPatch) -> None:
        setup.slack.fault("error", method=method, error=error)

    return change


def unpublish(setup: Setup, _: pytest.MonkeyPatch) -> None:
    (setup.folder / "current.duckdb").unlink()


def corrupt(setup: Setup, _: pytest.MonkeyPatch) -> None:
    current(setup).write_bytes(b"no database " * 1000)


def old_duckdb(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb, "__version__", "1.1.3")


def no_extension(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RetrievalError("The full-text extension is not installed.")

    monkeypatch.setattr(fts, "load_fts", fail)


def full_disk(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda _: usage)


def audit_in_the_way(setup: Setup, _: pytest.MonkeyPatch) -> None:
    Path(setup.environment["SLACKQUERY_AUDIT_DIR"]).write_text("a file where the folder should be")


def broken_store(setup: Setup, _: pytest.MonkeyPatch) -> None:
    Path(setup.environment["SLACKQUERY_STORE"]).write_bytes(b"no database " * 1000)


def newer_store(setup: Setup, _: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(setup.environment["SLACKQUERY_STORE"]) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()


def other_workspace(setup: Setup, _: pytest.MonkeyPatch) -> None:
    for path in list(setup.folder.iterdir()):
        path.unlink()
    write_artifact(setup.folder, [Row(key="1.1", workspace="T0ELSEWHERE", text="words", minute=1)], publish=True)


def denied_name(setup: Setup, _: pytest.MonkeyPatch) -> None:
    path = setup.folder / "deny.txt"
    path.write_text("#payments\n")
    setup.environment["SLACKQUERY_DENY"] = str(path)


BROKEN: dict[str, tuple[Callable[[Setup, pytest.MonkeyPatch], None], str, str, str]] = {
    "bot token missing": (having("SLACK_BOT_TOKEN", None), "settings", "SLACK_BOT_TOKEN is not set", "xoxb-"),
    "app token missing": (having("SLACK_APP_TOKEN", None), "settings", "SLACK_APP_TOKEN is not set", "xapp-"),
    "wrong kind of token": (having("SLACK_BOT_TOKEN", "xoxp-1"), "settings", "must start with xoxb-", "xoxb-"),
    "tokens swapped": (swap_tokens, "settings", "SLACK_APP_TOKEN cannot be used", "xapp-"),
    "setting misspelt": (having("SLACKQUERY_FUSON", "rrf"), "settings", "Did you mean SLACKQUERY_FUSION", "README"),
    "setting of no value": (having("SLACKQUERY_WORKERS", "x"), "settings", "SLACKQUERY_WORKERS cannot", "README"),
    "token not Slack's": (fault("auth.test", "invalid_auth"), "bot token", "invalid_auth", "Copy the bot token"),
    "app uninstalled": (fault("auth.test", "token_revoked"), "bot token", "token_revoked", "install it"),
    "app token revoked": (fault("apps.connections.open", "not_authed"), "app token", "not_authed", "connections:write"),
    "app token without scope": (
        fault("apps.connections.open", "missing_scope"), "app token", "lacks the scope", "App-Level Tokens"
    ),
    "slack out of reach": (
        having("SLACK_API_URL", "http://127.0.0.1:9/api/"), "slack", "cannot be reached", "SLACK_API_URL"
    ),
    "no artifact": (unpublish, "artifact", "Nothing is published", "slackquery build"),
    "folder of artifacts not set": (
        having("SLACKQUERY_ARTIFACTS", None), "artifact", "SLACKQUERY_ARTIFACTS is not set", "slackquery build"
    ),
    "corrupt artifact": (corrupt, "artifact", "", "slackquery rollback"),
    "another workspace's archive": (other_workspace, "workspace", "T0ELSEWHERE", f"T0ELSEWHERE={TEAM_ID}"),
    "old duckdb": (old_duckdb, "duckdb", "1.1.3", "pip install duckdb==1.5.5"),
    "no full-text extension": (no_extension, "fts extension", "not installed", "duckdb-extension-fts"),
    "disk full": (full_disk, "disk", "0.0 GB free", "Free some space"),
    "audit folder is a file": (audit_in_the_way, "audit file", "cannot be written", "SLACKQUERY_AUDIT_DIR"),
    "store is no database": (broken_store, "store", "cannot be used", "move it away"),
    "store of a later version": (newer_store, "store", "", "move the file away"),
    "deny list with a name": (denied_name, "deny list", "is a name", "Mend the file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_fault_is_named_with_its_remedy(setup: Setup, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    damage, name, detail, remedy = BROKEN[kind]
    damage(setup, monkeypatch)
    code, findings = setup.doctor()

    assert code == 1
    fitting = [one for one in findings if one["level"] == "fail" and one["name"] == name and detail in one["detail"]]
    assert fitting, bad(findings)
    assert remedy in fitting[0]["remedy"]
    assert setup.slack.bot_token not in json.dumps(findings)
    assert setup.slack.app_token not in json.dumps(findings)


@pytest.fixture
def endpoint(setup: Setup) -> Iterator[FakeEndpoint]:
    """An embedding service that made the archive's vectors."""
    with FakeEndpoint() as service:
        spec = with_probe(EmbedderFactory(service.ollama_url, "nomic-embed-text").for_build())
        vectors = {"1.1": 0, "1.2": 1}
        rows = [
            replace(row, vector=tuple(float(place == vectors[row.key]) for place in range(spec.dimensions)))
            for row in ROWS
        ]
        for path in list(setup.folder.iterdir()):
            path.unlink()
        write_artifact(setup.folder, rows, spec=spec, publish=True)
        setup.environment["SLACKQUERY_EMBEDDING_URL"] = service.ollama_url
        yield service


def embedding_of(setup: Setup) -> tuple[int, dict[str, Any]]:
    code, findings = setup.doctor()
    (found,) = (one for one in findings if one["name"] == "embedding")
    return code, found


def test_an_embedding_service_that_answers_is_no_fault(setup: Setup, endpoint: FakeEndpoint) -> None:
    code, found = embedding_of(setup)

    assert (code, found["level"], found["detail"]) == (0, "ok", "nomic-embed-text answers.")


def test_an_embedding_service_that_is_down_is_named(setup: Setup, endpoint: FakeEndpoint) -> None:
    endpoint.fault = Fault.STATUS_503
    code, found = embedding_of(setup)

    assert (code, found["level"]) == (1, "fail")
    assert "Start the service" in found["remedy"]


def test_another_model_than_the_archives_is_named(setup: Setup, endpoint: FakeEndpoint) -> None:
    endpoint.fault = Fault.OTHER_MODEL
    code, found = embedding_of(setup)

    assert (code, found["level"]) == (1, "fail")
    assert "build it anew" in found["remedy"]


def test_a_model_that_needs_a_service_asks_for_its_address(setup: Setup, endpoint: FakeEndpoint) -> None:
    del setup.environment["SLACKQUERY_EMBEDDING_URL"]
    code, found = embedding_of(setup)

    assert (code, found["level"]) == (1, "fail")
    assert "SLACKQUERY_EMBEDDING_URL" in found["remedy"]


def test_each_bad_setting_is_named_at_once(setup: Setup) -> None:
    del setup.environment["SLACK_APP_TOKEN"]
    setup.environment |= {"SLACKQUERY_WORKERS": "0", "SLACKQUERY_NONSENSE": "1"}
    _, findings = setup.doctor()

    named = [one["detail"] for one in findings if one["name"] == "settings"]
    assert [sentence.split()[0] for sentence in named] == [
        "SLACKQUERY_NONSENSE",
        "SLACK_APP_TOKEN",
        "SLACKQUERY_WORKERS",
    ]


def test_a_missing_scope_is_named(tmp_path: Path, setup: Setup) -> None:
    manifest = yaml.safe_load(yaml.safe_dump(MANIFEST))
    manifest["oauth_config"]["scopes"]["bot"].remove("groups:read")
    # Slack takes no manifest whose events lack their scopes.
    manifest["settings"]["event_subscriptions"]["bot_events"] = []
    with slack_in_a_thread(manifest) as other:
        setup.environment |= {
            "SLACK_API_URL": other.api_url,
            "SLACK_BOT_TOKEN": other.bot_token,
            "SLACK_APP_TOKEN": other.app_token,
        }
        code, findings = setup.doctor()

    (scopes,) = (one for one in findings if one["name"] == "scopes")
    assert (code, scopes["level"], "lacks groups:read" in scopes["detail"]) == (1, "fail", True)
    assert "manifest.yaml" in scopes["remedy"]


def test_the_scopes_are_those_of_the_manifest() -> None:
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == NEEDED_SCOPES


@pytest.mark.parametrize(("ahead", "level"), [(2, Level.OK), (90, Level.WARN), (-900, Level.FAIL)])
def test_a_clock_that_is_wrong_is_told(slack: LocalSlack, ahead: float, level: Level) -> None:
    settings = Settings.of(
        slack_bot_token=slack.bot_token, slack_app_token=slack.app_token, slack_api_url=slack.api_url
    )

    async def ask() -> list[Finding]:
        return [one async for one in SlackDiagnosis(settings, clock=lambda: time.time() + ahead).findings()]

    (clock,) = (one for one in asyncio.run(ask()) if one.name == "clock")
    assert clock.level is level
    assert ("timedatectl" in clock.remedy) == (level is not Level.OK)


def test_what_one_can_live_with_is_a_warning_and_no_fault(setup: Setup) -> None:
    write_hold(setup.folder, "a1")
    status = BuildStatus(
        started_at="2026-11-30T10:00:00+00:00", outcome=BuildOutcome.REFUSED, reason="The gate said no.", failures=2
    )
    write_status(setup.folder, status)
    audit = Path(setup.environment["SLACKQUERY_AUDIT_DIR"])
    audit.mkdir()
    audit.chmod(0o755)
    setup.environment["SLACKQUERY_ADMINS"] = f"{ADA},{DORA},U9NOBODY"
    code, findings = setup.doctor()

    warned = {(one["name"], one["level"]) for one in bad(findings)}
    assert code == 0
    assert warned == {("hold", "warn"), ("indexer", "warn"), ("audit file", "warn"), ("admins", "warn")}
    assert any("The gate said no." in one["detail"] for one in findings)
    assert {one["detail"].split()[2].rstrip(",") for one in findings if one["name"] == "admins"} == {DORA, "U9NOBODY"}


def test_an_archive_that_is_named_is_looked_at_without_slack(setup: Setup) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        del setup.environment[name]

    code, findings = setup.doctor("--artifacts", str(setup.folder))
    assert (code, [one["name"] for one in bad(findings)]) == (0, ["slack"])
    assert setup.doctor()[0] == 1
    code, others = setup.doctor("--without-slack")
    assert (code, bad(others)) == (0, [])
    assert [one["name"] for one in others] == [one["name"] for one in findings if one["name"] != "slack"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written_is_a_fault(setup: Setup) -> None:
    path = Path(setup.environment["SLACKQUERY_STORE"])
    sqlite3.connect(path).close()
    path.chmod(0o400)

    assert setup.doctor()[0] == 1


def test_each_line_begins_with_how_bad_it_is(setup: Setup) -> None:
    (setup.folder / "current.duckdb").unlink()
    text = CliRunner(env=setup.environment).invoke(main, ["doctor"]).stdout

    assert "OK    python " in text
    assert "FAIL  artifact " in text
    assert "-> slackquery build SOURCE" in text
