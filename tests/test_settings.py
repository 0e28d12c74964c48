"""Settings come from the environment, and what is wrong with them is said by the variable's name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.settings import (
    EngineSettings,
    QueryText,
    Settings,
    SettingsError,
    load_settings,
    settings_table,
    variable_of,
)
from retrieval.models import Fusion


@pytest.fixture(autouse=True)
def _tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-test")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-test")


def load() -> Settings:
    return Settings.load(env_file=None)


def test_defaults_need_only_the_two_tokens() -> None:
    settings = load()

    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.fusion is Fusion.RRF
    assert settings.audit_query_text is QueryText.HASHED
    assert settings.swap_check_seconds == 60
    assert settings.teams == {}


def test_values_come_from_the_environment_before_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    env_file = tmp_path / ".env"
    env_file.write_text("SLACKQUERY_WORKERS=7\nSLACKQUERY_FUSION=linear\n")
    monkeypatch.setenv("SLACKQUERY_WORKERS", "9")

    settings = Settings.load(env_file=env_file)

    assert (settings.workers, settings.fusion) == (9, Fusion.LINEAR)


def test_lists_and_pairs_take_commas_and_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKQUERY_ADMINS", "U1, U2")
    monkeypatch.setenv("SLACKQUERY_TEAMS", "acme=T1,older=T1 other=T2")

    settings = load()

    assert settings.admins == {"U1", "U2"}
    assert settings.workspace_ids_of("T1") == ("T1", "acme", "older")
    assert settings.workspace_ids_of("T2") == ("T2", "other")


def test_a_team_does_not_own_its_id_where_another_team_was_given_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLACKQUERY_TEAMS", "T1=T2")

    assert load().workspace_ids_of("T1") == ()
    assert load().workspace_ids_of("T2") == ("T1", "T2")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SLACKQUERY_FUSION", "rff", "SLACKQUERY_FUSION cannot be used: input should be 'rrf'"),
        ("SLACKQUERY_WORKERS", "0", "SLACKQUERY_WORKERS cannot be used: input should be greater"),
        ("SLACKQUERY_TEAMS", "acme", "SLACKQUERY_TEAMS cannot be used: 'acme' is not of the form"),
        ("SLACK_API_URL", "slack.com/api", "SLACK_API_URL cannot be used: it must start with https://"),
        ("SLACK_BOT_TOKEN", "hunter2", "SLACK_BOT_TOKEN cannot be used: it must start with xoxb-"),
        ("SLACK_APP_TOKEN", "", "SLACK_APP_TOKEN is not set."),
        ("SLACKQUERY_ADMNS", "U1", "SLACKQUERY_ADMNS is not a setting. Did you mean SLACKQUERY_ADMINS?"),
    ],
)
def test_an_unusable_value_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsError) as caught:
        load()

    assert words in str(caught.value)
    assert caught.value.variable == variable


def test_a_secret_is_in_no_text_form_and_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-test-very-secret")
    assert "very-secret" not in repr(load())
    assert "very-secret" not in str(load())
    monkeypatch.setenv("SLACK_APP_TOKEN", "very-secret")

    with pytest.raises(SettingsError) as caught:
        load()

    assert "very-secret" not in repr(caught.value)


def test_the_audit_file_is_kept_unless_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().audit_dir == Path("var/audit")
    monkeypatch.setenv("SLACKQUERY_AUDIT_DIR", "off")

    assert load().audit_dir is None


def test_keys_differ_by_purpose_and_follow_the_token_unless_a_secret_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = load().derive_key("buttons")
    assert first == load().derive_key("buttons")
    assert first != load().derive_key("audit")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-test-rotated")
    assert load().derive_key("buttons") != first
    monkeypatch.setenv("SLACKQUERY_SECRET", "kept")
    kept = load().derive_key("buttons")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-test-rotated-again")

    assert load().derive_key("buttons") == kept


def test_the_command_line_needs_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    monkeypatch.delenv("SLACK_APP_TOKEN")
    monkeypatch.setenv("SLACKQUERY_ARTIFACTS", "/srv/archive")

    assert load_settings(EngineSettings, env_file=None).artifacts == Path("/srv/archive")


def test_the_table_has_a_row_and_a_meaning_for_every_setting() -> None:
    rows = settings_table().splitlines()[2:]

    assert [row.split("`")[1] for row in rows] == [variable_of(name) for name in Settings.model_fields]
    assert all(row.rsplit("|", 2)[1].strip() for row in rows)


_THREADS = (
    "import os, numpy; numpy.ones((512, 512)) @ numpy.ones((512, 512)); print(len(os.listdir('/proc/self/task')))"
)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Threads are counted where Linux lists them.")
@pytest.mark.parametrize("module", ["bot.cli.serve", "bot.settings"])
def test_a_server_multiplies_in_one_thread(module: str) -> None:
    """The matrix library asks the environment when it is loaded, so the setting must stand there before."""

    def threads(code: str, **more: str) -> int:
        environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"} | more
        ran = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        return int(ran.stdout)

    idle = threads(f"import {module}, os; print(len(os.listdir('/proc/self/task')))", OPENBLAS_NUM_THREADS="1")

    assert threads(f"import {module}; {_THREADS}") == idle
