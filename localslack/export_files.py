"""Reads the JSON of a Slack export, zip or folder, in place; nothing is unpacked."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from localslack.json_types import JsonObject
from localslack.workspace import WorkspaceError

_MEMBER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExportFiles:
    """An open export: the names of its files below its root, with ``/`` between folders."""

    label: str
    prefix: str
    names: frozenset[str]
    archive: zipfile.ZipFile | None
    root: Path

    def rows(self, name: str) -> list[JsonObject]:
        """Return a JSON list's objects; empty when there is no such file.

        Raises:
            WorkspaceError: the file is not JSON, not a list, or over 64 MB.
        """
        if name not in self.names:
            return []
        try:
            content = json.loads(self._read(name))
        except (json.JSONDecodeError, UnicodeDecodeError) as exc:
            raise WorkspaceError(f"{self.label}: {name}: not JSON: {exc}") from exc
        if not isinstance(content, list):
            raise WorkspaceError(f"{self.label}: {name}: expected a JSON list")
        return [row for row in content if isinstance(row, dict)]

    def day_files(self) -> dict[str, list[str]]:
        """Return each folder's message files, oldest day first."""
        days: dict[str, list[str]] = {}
        for name in sorted(self.names):
            folder, _, file = name.partition("/")
            if file.endswith(".json") and "/" not in file:
                days.setdefault(folder, []).append(name)
        return days

    def messages(self, name: str) -> Sequence[JsonObject]:
        """Return a day's messages; a file that is none (a canvas, a broken one) has none.

        The builder reports such files; here they only lack on the page.
        """
        try:
            return [row for row in self.rows(name) if isinstance(row.get("ts"), str)]
        except WorkspaceError:
            return []

    def _read(self, name: str) -> bytes:
        if self.archive is None:
            path = self.root / name
            self._check_size(name, path.stat().st_size)
            return path.read_bytes()
        member = self.archive.getinfo(self.prefix + name)
        self._check_size(name, member.file_size)
        with self.archive.open(member) as stream:
            return stream.read(_MEMBER_BYTES + 1)

    def _check_size(self, name: str, size: int) -> None:
        if size > _MEMBER_BYTES:
            raise WorkspaceError(f"{self.label}: {name}: over {_MEMBER_BYTES} bytes")


@contextmanager
def open_export(path: Path) -> Iterator[ExportFiles]:
    """Open an export; its root is the folder that holds users.json.

    Raises:
        WorkspaceError: it is neither a folder nor a zip, or holds no users.json.
    """
    if path.is_dir():
        found = [p.relative_to(path).as_posix() for p in path.rglob("*.json") if not p.is_symlink()]
        prefix = _root(path, found)
        yield ExportFiles(path.name, prefix, _below(prefix, found), None, path / prefix)
        return
    if not zipfile.is_zipfile(path):
        raise WorkspaceError(f"{path}: neither a folder nor a zip file")
    with zipfile.ZipFile(path) as archive:
        found = [name for name in archive.namelist() if not name.endswith("/")]
        prefix = _root(path, found)
        yield ExportFiles(path.name, prefix, _below(prefix, found), archive, path)


def _root(path: Path, names: Sequence[str]) -> str:
    homes = sorted((n.removesuffix("users.json") for n in names if PurePosixPath(n).name == "users.json"), key=len)
    if not homes:
        raise WorkspaceError(f"{path}: no users.json: not a Slack export")
    return homes[0]


def _below(prefix: str, names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.removeprefix(prefix) for name in names if name.startswith(prefix))
