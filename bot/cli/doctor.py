"""`slackquery doctor`."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from pydantic import ValidationError
from rich.text import Text

from bot.cli.opening import artifacts_option, json_option
from bot.cli.output import print_json, result_console
from bot.diagnosis import machine_findings, names_no_token, settings_findings, workspace_finding
from bot.embedders import embedder_factory
from bot.settings import EngineSettings, Settings, SettingsError, load_settings
from bot.slack_diagnosis import SlackDiagnosis, SlackIdentity
from retrieval import Artifact, EmbedderFactory, Finding, Level, RetrievalError, diagnose
from retrieval.publication import current_path

_STYLES: Final = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}
_WIDTH: Final = 14


@click.command()
@artifacts_option
@click.option("--verify", is_flag=True, help="Compare ranked lists with DuckDB's own functions.")
@click.option("--without-slack", is_flag=True, help="Leave Slack and its tokens out.")
@json_option
@click.pass_context
def doctor(context: click.Context, *, artifacts: Path | None, verify: bool, without_slack: bool, as_json: bool) -> None:
    """Check the set-up and say what to do about each fault. Exit code 1 where something fails.

    Python, DuckDB, settings, tokens and their scopes, the clock, the archive and what it can do, its indexer, the
    embedding model, disks, the audit folder and the small store. Slack is asked, but nothing is connected or changed;
    where --artifacts names an archive and no token is set, Slack is left out.

    \b
    slackquery doctor
    slackquery doctor --artifacts archive --verify
    """
    leaves_slack = without_slack or (artifacts is not None and names_no_token())
    findings: list[Finding] = []

    def tell(finding: Finding) -> None:
        findings.append(finding)
        if not as_json:
            result_console().print(_line(finding), soft_wrap=True)

    _Examination(artifacts=artifacts, verify=verify, with_slack=not leaves_slack, tell=tell).run()
    if leaves_slack and not without_slack:
        tell(Finding(name="slack", level=Level.WARN, detail="No token is set, so Slack was not asked.", remedy=_TOKENS))
    healthy = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": healthy, "findings": [_finding_json(finding) for finding in findings]})
    if not healthy:
        context.exit(1)


_TOKENS: Final = "Set SLACK_BOT_TOKEN and SLACK_APP_TOKEN where the bot shall run."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examination:
    artifacts: Path | None
    verify: bool
    with_slack: bool
    tell: Callable[[Finding], None]

    def run(self) -> None:
        """Look at everything that can be looked at, whatever else is broken."""
        for finding in settings_findings(with_slack=self.with_slack):
            self.tell(finding)
        engine = _usable_engine_settings()
        if engine is None:
            # DuckDB and the like need no settings.
            for finding in diagnose(self.artifacts, embedders=EmbedderFactory(), verify=self.verify):
                self.tell(finding)
        else:
            self._engine(engine)
            for finding in machine_findings(engine):
                self.tell(finding)
        if self.with_slack and (settings := _usable_settings()) is not None:
            self._slack(settings)

    def _engine(self, settings: EngineSettings) -> None:
        folder = self.artifacts if self.artifacts is not None else settings.artifacts
        if folder is None:
            self.tell(
                Finding(
                    name="artifact",
                    level=Level.FAIL,
                    detail="SLACKQUERY_ARTIFACTS is not set, so there is no archive to look at.",
                    remedy="slackquery build SOURCE --out archive --publish, and set SLACKQUERY_ARTIFACTS=archive",
                )
            )
        embedders = embedder_factory(settings)
        for finding in diagnose(folder, embedders=embedders, verify=self.verify, resident_mb=settings.resident_mb):
            self.tell(finding)

    def _slack(self, settings: Settings) -> None:
        diagnosis = SlackDiagnosis(settings)

        async def ask() -> None:
            async for finding in diagnosis.findings():
                self.tell(finding)

        asyncio.run(ask())
        for finding in self._workspace(settings, diagnosis.identity):
            self.tell(finding)

    def _workspace(self, settings: Settings, identity: SlackIdentity | None) -> Iterator[Finding]:
        folder = self.artifacts if self.artifacts is not None else settings.artifacts
        if identity is None or folder is None:
            return
        path = current_path(folder) if folder.is_dir() else folder
        if path is None or not path.exists():
            return
        # Where it cannot be opened, that was told before.
        with contextlib.suppress(RetrievalError), Artifact(path) as artifact:
            ids = settings.workspace_ids_of(identity.team_id)
            yield workspace_finding(artifact.info, team_id=identity.team_id, workspace_ids=ids)


def _usable_engine_settings() -> EngineSettings | None:
    try:
        return load_settings(EngineSettings)
    except (SettingsError, ValidationError):
        return None


def _usable_settings() -> Settings | None:
    try:
        return load_settings(Settings)
    except (SettingsError, ValidationError):
        return None


def _line(finding: Finding) -> Text:
    mark = (finding.level.value.upper().ljust(4), _STYLES[finding.level])
    line = Text.assemble(mark, f"  {finding.name:<{_WIDTH}} {finding.detail}")
    if finding.remedy:
        line.append(f"\n      {'':<{_WIDTH}} -> {finding.remedy}")
    return line


def _finding_json(finding: Finding) -> dict[str, object]:
    return {
        "name": finding.name,
        "level": finding.level.value,
        "ok": finding.ok,
        "detail": finding.detail,
        "remedy": finding.remedy,
    }
