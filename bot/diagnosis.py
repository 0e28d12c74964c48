"""What is right and wrong with the bot's set-up on this machine: settings, deny list, audit folder, small store."""

import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bot.deny_list import DenyListError, read_denied_ids
from bot.settings import EngineSettings, Settings, SettingsError, settings_problems
from bot.store_file import NewerStoreError, StoreFile
from retrieval import ArtifactInfo, Finding, Level
from retrieval.diagnosis import disk_finding

_APPS: Final = "api.slack.com/apps > your app"
_REMEDIES: Final = {
    "SLACK_BOT_TOKEN": f"Set it to the bot token (xoxb-) from {_APPS} > OAuth & Permissions.",
    "SLACK_APP_TOKEN": f"Set it to an app-level token (xapp-) with connections:write from {_APPS} > Basic Information.",
}
_TOKENS: Final = frozenset(_REMEDIES)


def settings_findings(*, env_file: Path | None = Path(".env"), with_slack: bool = True) -> Iterator[Finding]:
    """Yield one finding for each variable that is missing, unknown or cannot be used; else that all are well.

    Args:
        env_file: Read beside the environment.
        with_slack: Whether the tokens must be there.
    """
    problems = settings_problems(Settings, env_file=env_file)
    if not with_slack:
        problems = tuple(one for one in problems if one.variable not in _TOKENS)
    for problem in problems:
        yield Finding(name="settings", level=Level.FAIL, detail=str(problem), remedy=_remedy(problem))
    if not problems:
        yield Finding(name="settings", level=Level.OK, detail="Every variable that is set can be used.")
    if env_file is not None and env_file.is_file() and stat.S_IMODE(env_file.stat().st_mode) & 0o077:
        yield Finding(
            name="env file",
            level=Level.WARN,
            detail=f"Others on this machine may read {env_file}, which may hold tokens.",
            remedy=f"chmod 600 {env_file}",
        )


def names_no_token(*, env_file: Path | None = Path(".env")) -> bool:
    """Return whether neither token is set at all."""
    missing = {one.variable for one in settings_problems(Settings, env_file=env_file) if "is not set" in str(one)}
    return missing >= _TOKENS


def _remedy(problem: SettingsError) -> str:
    if problem.variable in _REMEDIES:
        return _REMEDIES[problem.variable]
    return "Correct or remove it; README.md has the table of settings."


def machine_findings(settings: EngineSettings) -> Iterator[Finding]:
    """Yield whether the files beside the artifacts can be used."""
    if settings.deny is not None:
        yield _deny_list(settings.deny)
    if settings.audit_dir is None:
        yield Finding(name="audit file", level=Level.OK, detail="Switched off: no search is kept.")
    else:
        yield _writable("audit file", settings.audit_dir, variable="SLACKQUERY_AUDIT_DIR")
        yield from _open_to_others(settings.audit_dir)
        yield disk_finding("audit disk", settings.audit_dir)
    if settings.store is None:
        yield Finding(name="store", level=Level.OK, detail="Switched off: no votes, no recent searches.")
    else:
        yield _store(settings.store)


def _deny_list(path: Path) -> Finding:
    try:
        count = len(read_denied_ids(path))
    except DenyListError as exc:
        return Finding(
            name="deny list",
            level=Level.FAIL,
            detail=str(exc),
            remedy="Mend the file: while it cannot be read, nobody is shown anything.",
        )
    return Finding(name="deny list", level=Level.OK, detail=f"{count:,} ids are shown to nobody.")


def _writable(name: str, folder: Path, *, variable: str) -> Finding:
    """Return whether a file can be made in a folder, or the folder itself made."""
    place = next((one for one in (folder, *folder.absolute().parents) if one.exists()), folder)
    try:
        if place != folder and not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(place))
        with tempfile.TemporaryFile(dir=place) as probe:
            probe.write(b"a line\n")
    except OSError as exc:
        return Finding(
            name=name,
            level=Level.FAIL,
            detail=f"{folder} cannot be written ({exc.strerror}).",
            remedy=f"Let this account write there (chown, chmod), or set {variable} to another folder.",
        )
    return Finding(name=name, level=Level.OK, detail=f"{folder} can be written.")


def _open_to_others(folder: Path) -> Iterator[Finding]:
    if folder.is_dir() and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        yield Finding(
            name="audit file",
            level=Level.WARN,
            detail=f"Others on this machine may look into {folder}.",
            remedy=f"chmod 700 {folder}",
        )


def _store(path: Path) -> Finding:
    if not path.exists():
        return _writable("store", path.parent, variable="SLACKQUERY_STORE")
    file = StoreFile(path)
    try:
        votes = len(file.votes())
    except NewerStoreError as exc:
        return Finding(
            name="store",
            level=Level.FAIL,
            detail=str(exc),
            remedy="Run the version that made it, or move the file away.",
        )
    except (sqlite3.Error, OSError) as exc:
        return Finding(
            name="store",
            level=Level.FAIL,
            detail=f"{path} cannot be used ({exc}).",
            remedy="Let this account write it; where it is no SQLite file any more, move it away: a new one is made.",
        )
    finally:
        file.close()
    if not os.access(path, os.W_OK):
        return Finding(
            name="store",
            level=Level.FAIL,
            detail=f"{path} cannot be written.",
            remedy="Let this account write it (chown, chmod).",
        )
    return Finding(name="store", level=Level.OK, detail=f"{votes:,} votes; it can be written.")


def workspace_finding(info: ArtifactInfo, *, team_id: str, workspace_ids: Sequence[str]) -> Finding:
    """Return whether anything of an archive belongs to the bot's team.

    Args:
        info: The archive.
        team_id: The bot's team.
        workspace_ids: The archive's workspace ids that are this team's, by settings.
    """
    if not set(workspace_ids).isdisjoint(info.workspace_ids):
        return Finding(name="workspace", level=Level.OK, detail=f"The archive belongs to the bot's team {team_id}.")
    held = ", ".join(info.workspace_ids) or "no workspace"
    first = re.sub(r"\s", "", info.workspace_ids[0]) if info.workspace_ids else "WORKSPACE"
    return Finding(
        name="workspace",
        level=Level.FAIL,
        detail=f"The archive holds {held}, and nothing of the bot's team {team_id}: every search would be empty.",
        remedy=f"If that is the same workspace, set SLACKQUERY_TEAMS={first}={team_id}; else serve another archive.",
    )
