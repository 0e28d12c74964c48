"""Every setting, its default and its meaning: the only reader of the environment."""

import difflib
import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from dotenv import dotenv_values
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

# numpy's matrix library reads this once, when numpy is loaded, which the next import does. A second thread gains
# nothing on a product that is bound by memory, and searches side by side get in each other's way (docs/speed.md).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from retrieval.manifest import ManifestKey
from retrieval.models import Fusion

PREFIX: Final = "SLACKQUERY_"
SLACK_API_URL: Final = "https://slack.com/api/"
_SettingsT = TypeVar("_SettingsT", bound="EngineSettings")
_SECRET_CHARACTERS: Final = 16
_SEPARATOR: Final = re.compile(r"[\s,]+")


class SettingsError(Exception):
    """A setting is missing or cannot be used; the sentence names the variable, never a secret's value.

    Attributes:
        variable: The environment variable's name.
    """

    def __init__(self, message: str, *, variable: str) -> None:
        super().__init__(message)
        self.variable = variable


class QueryText(StrEnum):
    """How much of a query's text the audit file keeps."""

    HASHED = "hashed"
    FULL = "full"
    NONE = "none"


def _split_ids(value: object) -> object:
    return [part for part in _SEPARATOR.split(value) if part] if isinstance(value, str) else value


def _split_pairs(value: object) -> object:
    if not isinstance(value, str):
        return value
    pairs: dict[str, str] = {}
    for part in filter(None, _SEPARATOR.split(value)):
        workspace_id, equals, team_id = part.partition("=")
        if not (workspace_id and equals and team_id):
            raise ValueError(f"{part!r} is not of the form workspace_id=team_id")
        pairs[workspace_id] = team_id
    return pairs


def _unless_off(value: object) -> object:
    return None if value == "off" else value


def _with_slash(value: str) -> str:
    if not value.startswith(("https://", "http://")):
        raise ValueError("it must start with https:// or http://")
    return value if value.endswith("/") else value + "/"


def _http_url(value: str | None) -> str | None:
    if value is not None and not value.startswith(("https://", "http://")):
        raise ValueError("it must start with https:// or http://")
    return value


def _bot_token(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith("xoxb-"):
        raise ValueError("it must start with xoxb-")
    return value


def _app_token(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith("xapp-"):
        raise ValueError("it must start with xapp-")
    return value


def _long_secret(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < _SECRET_CHARACTERS:
        raise ValueError(f"it must have {_SECRET_CHARACTERS} characters or more")
    return value


class EngineSettings(BaseSettings):
    """What commands need that run without Slack.

    Instances are frozen. Secrets are `SecretStr`, whose text form hides them.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    artifacts: Path | None = Field(None, description="Folder that holds `current.duckdb` and its artifacts.")
    embedding_url: str | None = Field(
        None,
        repr=False,
        description="Embedding service: Ollama's `/api/embed` or an OpenAI-compatible `/v1/embeddings`. "
        "Unset: the model that comes with the package.",
    )
    embedding_model: str | None = Field(
        None, description="Model to ask the embedding service for. Unset: the one the artifact names."
    )
    embedding_allow_public: bool = Field(
        False,
        description="`true` allows an embedding service outside loopback and private networks: it gets every query.",
    )
    embedding_seconds: Annotated[float, Field(ge=0.1, le=30)] = Field(
        3.0,
        description="How long a search waits for the query's vector before keywords alone answer, seconds.",
    )
    deny: Path | None = Field(
        None,
        description="File of channel, user and document ids, one a line, whose messages nobody is shown; "
        "obeyed at once, and by builds.",
    )
    fusion: Fusion = Field(
        Fusion.RRF, description="How hybrid joins its lists: `rrf`, `rrf-fixed`, `linear`, `linear-fixed`."
    )
    memory_mb: Annotated[int, Field(ge=64)] | None = Field(
        None, description="Memory that DuckDB may use, MB. Unset: DuckDB's own default."
    )
    resident_mb: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Memory that an archive may take to be searched from memory, MiB; one that needs more is searched "
        "by DuckDB, more slowly. Unset: about a third of the machine's.",
    )

    artifact_key: Annotated[SecretStr, AfterValidator(_long_secret)] | None = Field(
        None,
        description="Signs the manifests of builds; where it is set, the bot serves only what it signed. The same for "
        "builder and bot, 16 characters or more.",
    )

    audit_dir: Annotated[Path | None, BeforeValidator(_unless_off)] = Field(
        Path("var/audit"), description="Folder of the audit file; `off` to keep none."
    )
    store: Annotated[Path | None, BeforeValidator(_unless_off)] = Field(
        Path("var/store.sqlite3"),
        description="SQLite file of votes, recent searches and the ids of what Slack sent, shared by the bot's "
        "processes on one machine; `off` to keep none.",
    )

    @property
    def manifest_key(self) -> ManifestKey | None:
        """Return what signs manifests; None where nothing does."""
        return None if self.artifact_key is None else ManifestKey(self.artifact_key.get_secret_value().encode())


class Settings(EngineSettings):
    """What `slackquery serve` needs."""

    slack_bot_token: Annotated[SecretStr, AfterValidator(_bot_token)] = Field(
        validation_alias="SLACK_BOT_TOKEN", description="Bot token (`xoxb-`) of the installed app. Required."
    )
    slack_app_token: Annotated[SecretStr, AfterValidator(_app_token)] = Field(
        validation_alias="SLACK_APP_TOKEN",
        description="App-level token (`xapp-`) with `connections:write`. Required.",
    )
    slack_api_url: Annotated[str, AfterValidator(_with_slash)] = Field(
        SLACK_API_URL,
        validation_alias="SLACK_API_URL",
        description="Slack's Web API, or a stand-in for it.",
    )
    admins: Annotated[frozenset[str], NoDecode, BeforeValidator(_split_ids)] = Field(
        frozenset(),
        description="User ids, separated by commas, who also see sizes in `status`, how the bot is doing on the Home "
        "tab, and the logs by `/slackquery admin`.",
    )
    teams: Annotated[Mapping[str, str], NoDecode, BeforeValidator(_split_pairs)] = Field(
        default_factory=dict,
        description="`workspace_id=team_id` pairs, for archives whose workspace id is not the team's.",
    )
    dms: bool = Field(
        False,
        description="`true` searches direct messages and group DMs for those who take part in them, by the archive's "
        "own lists.",
    )
    secret: SecretStr | None = Field(
        None,
        description="Signs buttons and keys the audit file's hashes. Unset: derived from the bot token.",
    )
    swap_check_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(
        60, description="How often to look for a new `current.duckdb`, seconds."
    )
    artifact_url: Annotated[str | None, AfterValidator(_http_url)] = Field(
        None,
        repr=False,
        description="URL of a manifest on a web server; what it names is fetched into `SLACKQUERY_ARTIFACTS`. "
        "Unset: the folder alone.",
    )
    artifact_allow_public: bool = Field(
        False, description="`true` lets that server redirect to addresses outside loopback and private networks."
    )
    answer_seconds: Annotated[float, Field(ge=2, le=60)] = Field(
        10.0, description="Time budget of one answer, seconds, waiting in the queue included."
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(4, description="Searches that run at the same time.")
    queue_limit: Annotated[int, Field(ge=0, le=10_000)] = Field(
        100, description="Searches that may wait; above that users are asked to try again."
    )
    user_limit: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="Searches of one user that may run or wait at the same time."
    )
    votes: bool = Field(True, description="`false` takes no votes on results.")
    recents: bool = Field(True, description="`false` keeps nobody's recent searches.")
    audit_query_text: QueryText = Field(
        QueryText.HASHED, description="Query text in the audit file: `hashed`, `full` or `none`."
    )
    audit_days: Annotated[int, Field(ge=1, le=3650)] = Field(90, description="Days that audit entries are kept.")
    audit_file_mb: Annotated[int, Field(ge=1, le=1024)] = Field(
        20, description="Size at which the audit file is rotated, MB."
    )
    metrics_port: Annotated[int, Field(ge=0, le=65_535)] | None = Field(
        None,
        description="Port of 127.0.0.1 for `/metrics` (Prometheus), `/healthz` and `/readyz`; 0 for any. Unset: none.",
    )
    alert_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        60, description="How far back searches count for alerts, minutes; 0 for no alerts."
    )
    alert_searches: Annotated[int, Field(ge=1, le=10_000)] = Field(
        30, description="Searches in that time below which a route, workspace or language gives no alert."
    )
    alert_no_hit: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="Share of searches without a result above which an alert begins."
    )
    alert_degraded: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2, description="Share of answers by keywords alone, for want of the query's vector, above which one begins."
    )
    alert_p95_ms: Annotated[int, Field(ge=1)] = Field(
        3000, description="Time of 95 of 100 searches above which one begins, ms."
    )
    log_level: Annotated[str, Field(pattern="^(DEBUG|INFO|WARNING|ERROR)$")] = Field(
        "INFO", description="`DEBUG`, `INFO`, `WARNING` or `ERROR`."
    )

    def derive_key(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one purpose; the same in every process with the same settings."""
        base = self.secret or self.slack_bot_token
        return hmac.digest(base.get_secret_value().encode(), f"slackquery {purpose}".encode(), hashlib.sha256)

    def workspace_ids_of(self, team_id: str) -> tuple[str, ...]:
        """Return the archive's workspace ids that belong to a Slack team, sorted.

        The team's own id is one of them unless `teams` gives that id to another team.
        """
        mapped = {workspace_id for workspace_id, team in self.teams.items() if team == team_id}
        own = {team_id} if self.teams.get(team_id, team_id) == team_id else set()
        return tuple(sorted(mapped | own))

    @classmethod
    def of(cls, **values: object) -> Self:
        """Return settings with these values, by field name; what is not given comes from the environment alone."""
        options: dict[str, Any] = {"_env_file": None, **values}
        return cls(**options)

    @classmethod
    def load(cls, *, env_file: Path | None = Path(".env")) -> Self:
        """Return the settings from the environment, then from `env_file`.

        Raises:
            SettingsError: A variable is missing, unknown or unusable; the first one is named.
        """
        return load_settings(cls, env_file=env_file)


def variable_of(name: str, *, model: type[EngineSettings] = Settings) -> str:
    """Return the environment variable of a setting, such as `SLACKQUERY_FUSION` for `fusion`."""
    alias = model.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"


def load_settings(model: type[_SettingsT], *, env_file: Path | None = Path(".env")) -> _SettingsT:
    """Return the settings of `model` from the environment, then from `env_file` where it exists.

    Raises:
        SettingsError: A variable is missing, unknown or unusable; the first one is named.
    """
    unknown = _unknown_variables(env_file)
    if unknown:
        raise unknown[0]
    try:
        return _read(model, env_file)
    except ValidationError as exc:
        raise _problems_of(exc)[0] from None


def settings_problems(
    model: type[EngineSettings], *, env_file: Path | None = Path(".env")
) -> tuple[SettingsError, ...]:
    """Return everything that `load_settings` would stumble over, one after the other; none where all is well."""
    unknown = _unknown_variables(env_file)
    if any(one.variable == str(env_file) for one in unknown):
        return tuple(unknown)
    try:
        _read(model, env_file)
    except ValidationError as exc:
        return (*unknown, *_problems_of(exc))
    return tuple(unknown)


def _read(model: type[_SettingsT], env_file: Path | None) -> _SettingsT:
    # Type checkers know only the fields as arguments, not pydantic-settings' own.
    options: dict[str, Any] = {"_env_file": env_file}
    return model(**options)


def _problems_of(error: ValidationError) -> list[SettingsError]:
    found: dict[str, SettingsError] = {}
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        location = str(one["loc"][0]) if one["loc"] else ""
        variable = location if location.startswith("SLACK_") else f"{PREFIX}{location.upper()}"
        if one["type"] == "missing":
            message = f"{variable} is not set."
        else:
            reason = one["msg"].removeprefix("Value error, ")
            message = f"{variable} cannot be used: {reason[:1].lower()}{reason[1:]}."
        found.setdefault(variable, SettingsError(message, variable=variable))
    return list(found.values())


def _unknown_variables(env_file: Path | None) -> list[SettingsError]:
    known = {variable_of(name) for name in Settings.model_fields}
    written: set[str] = set()
    if env_file is not None and env_file.is_file():
        try:
            written = set(dotenv_values(env_file))
        except (UnicodeDecodeError, OSError):
            return [SettingsError(f"{env_file} cannot be read as text in UTF-8.", variable=str(env_file))]
    found = []
    for variable in sorted(written | set(os.environ)):
        if variable.upper().startswith(PREFIX) and variable.upper() not in known:
            nearest = difflib.get_close_matches(variable.upper(), known, n=1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            found.append(SettingsError(f"{variable} is not a setting.{hint}", variable=variable))
    return found


def settings_table() -> str:
    """Return the README's table of settings, Markdown, one row a variable, in the order of `Settings`."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        rows.append(f"| `{variable_of(name)}` | {default} | {field.description} |")
    return "\n".join(rows)


def _shown(default: object) -> str:
    return f"`{default}`" if default not in (None, frozenset(), {}) else ""
