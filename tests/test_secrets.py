"""No secret stands in a text form, an error or a log line: tokens, keys, and passwords in URLs."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest
import structlog
from pydantic import SecretStr

from bot.app import StartError, start_bot
from bot.embedders import embedder_factory
from bot.log import configure_logging
from bot.settings import Settings, SettingsError, load_settings, settings_problems, variable_of
from localslack.server import LocalSlack
from retrieval import EmbeddingError
from retrieval.remote import RemoteArtifacts, RemoteOptions
from tests.bot_harness import MANIFEST, bot_settings, workspace

HIDDEN = "hiddenvalue77"
SECRETS = {
    "SLACK_BOT_TOKEN": f"xoxb-{HIDDEN}",
    "SLACK_APP_TOKEN": f"xapp-{HIDDEN}",
    "SLACKQUERY_SECRET": f"signing {HIDDEN}",
    "SLACKQUERY_ARTIFACT_KEY": f"artifact key {HIDDEN}",
    "SLACKQUERY_EMBEDDING_URL": f"http://ada:{HIDDEN}@127.0.0.1:9/api/embed",
    "SLACKQUERY_ARTIFACT_URL": f"http://ada:{HIDDEN}@127.0.0.1:9/current.manifest.json?sig={HIDDEN}",
}


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    for variable, value in SECRETS.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("SLACKQUERY_ARTIFACTS", str(tmp_path))
    return load_settings(Settings, env_file=None)


def test_no_text_form_of_the_settings_holds_a_secret(settings: Settings) -> None:
    assert HIDDEN not in repr(settings)
    assert HIDDEN not in str(settings)
    assert HIDDEN not in repr(settings.manifest_key)


def test_every_secret_setting_is_covered_here() -> None:
    """Whoever adds one adds it above."""
    secret = {name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    addresses = {name for name in Settings.model_fields if name.endswith("_url") and name != "slack_api_url"}

    assert {variable_of(name) for name in secret | addresses} == set(SECRETS)


@pytest.mark.parametrize("variable", sorted(SECRETS))
def test_an_error_about_a_setting_does_not_repeat_its_value(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"\t{HIDDEN}" if variable != "SLACKQUERY_ARTIFACT_KEY" else HIDDEN[:8])
    told = [str(one) for one in settings_problems(Settings, env_file=None)]
    try:
        load_settings(Settings, env_file=None)
    except SettingsError as error:
        told += [repr(error), repr(error.__cause__), repr(error.__context__) if not error.__suppress_context__ else ""]

    assert HIDDEN[:8] not in " ".join(told)


def test_an_embedding_service_that_is_away_is_named_without_its_password(settings: Settings) -> None:
    embedder = embedder_factory(settings).for_build("auto")
    assert embedder is not None
    with pytest.raises(EmbeddingError) as refused:
        embedder.embed_documents(["hello"])

    chain = [refused.value, refused.value.__cause__, refused.value.__context__]
    assert not any(HIDDEN in repr(one) for one in chain)


def test_an_artifact_server_that_is_away_is_named_without_its_password(settings: Settings, tmp_path: Path) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot reach {request.url}", request=request)

    options = RemoteOptions(transport=httpx.MockTransport(refuse))
    problem = RemoteArtifacts(cast("str", settings.artifact_url), tmp_path, options=options).pull()

    assert problem is not None
    assert HIDDEN not in problem
    assert HIDDEN not in repr(options)


async def test_a_token_that_slack_refuses_is_not_repeated(tmp_path: Path) -> None:
    async with LocalSlack(workspace(), MANIFEST) as slack:
        given = bot_settings(slack, tmp_path).model_copy(update={"slack_bot_token": SecretStr(f"xoxb-{HIDDEN}")})
        with pytest.raises(StartError) as refused:
            await start_bot(given)

    error: BaseException | None = refused.value
    while error is not None:
        assert HIDDEN not in str(error)
        error = error.__cause__


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging(level="DEBUG", stream=stream)
    yield stream
    structlog.reset_defaults()


class Holder:
    """Anything whose text form holds a token."""

    def __str__(self) -> str:
        return SECRETS["SLACK_BOT_TOKEN"]


@pytest.mark.parametrize(
    "value",
    [
        SECRETS["SLACK_BOT_TOKEN"],
        SECRETS["SLACK_BOT_TOKEN"].encode(),
        RuntimeError(SECRETS["SLACK_APP_TOKEN"]),
        Holder(),
        {"headers": {"Authorization": f"Bearer {SECRETS['SLACK_BOT_TOKEN']}"}},
        {SECRETS["SLACK_BOT_TOKEN"]: 1},
        [("token", SECRETS["SLACK_APP_TOKEN"])],
        frozenset({SECRETS["SLACK_APP_TOKEN"]}),
        f"wss://wss.example/link?ticket={HIDDEN}&app_id=1",
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_token_is_not_logged_in_whatever_it_comes(log: io.StringIO, value: object) -> None:
    structlog.get_logger("any").error("trouble", what=value)

    written = log.getvalue()
    assert json.loads(written)["event"] == "trouble"
    assert HIDDEN not in written


def test_settings_and_exceptions_are_logged_without_secrets(log: io.StringIO, settings: Settings) -> None:
    try:
        raise RuntimeError(f"could not use {SECRETS['SLACK_BOT_TOKEN']}") from ValueError(SECRETS["SLACK_APP_TOKEN"])
    except RuntimeError as error:
        structlog.get_logger("any").error("trouble", exc_info=error, settings=settings)

    assert log.getvalue().count("trouble") == 1
    assert HIDDEN not in log.getvalue()
