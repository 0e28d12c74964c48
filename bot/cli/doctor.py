"""`slackquery doctor`."""

from pathlib import Path

import click
from rich.text import Text

from bot.cli.opening import artifacts_option, json_option
from bot.cli.output import print_json, result_console
from bot.embedders import embedder_factory
from bot.settings import EngineSettings, load_settings
from retrieval import Finding, diagnose


@click.command()
@artifacts_option
@click.option("--verify", is_flag=True, help="Compare ranked lists with DuckDB's own functions.")
@json_option
@click.pass_context
def doctor(context: click.Context, *, artifacts: Path | None, verify: bool, as_json: bool) -> None:
    """Check the set-up and say what to do about each fault. Exit code 1 where there is one."""
    settings = load_settings(EngineSettings)
    embedders = embedder_factory(settings)
    folder = artifacts if artifacts is not None else settings.artifacts
    findings: list[Finding] = []
    for finding in diagnose(folder, embedders=embedders, verify=verify, resident_mb=settings.resident_mb):
        findings.append(finding)
        if not as_json:
            result_console().print(_line(finding), soft_wrap=True)
    healthy = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": healthy, "findings": [_finding_json(finding) for finding in findings]})
    if not healthy:
        context.exit(1)


def _line(finding: Finding) -> Text:
    mark, style = ("ok   ", "green") if finding.ok else ("FAULT", "bold red")
    line = Text.assemble((mark, style), f"  {finding.name:<14} {finding.detail}")
    if finding.remedy:
        line.append(f"\n       {'':<14} -> {finding.remedy}")
    return line


def _finding_json(finding: Finding) -> dict[str, object]:
    return {"name": finding.name, "ok": finding.ok, "detail": finding.detail, "remedy": finding.remedy}
