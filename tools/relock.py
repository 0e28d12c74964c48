"""Remake requirements.lock and requirements-dev.lock from pyproject.toml: hashed, without any index host.

Run by `make lock`; needs pip-tools in the virtual environment.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

OPTIONS = (
    "--quiet",
    "--generate-hashes",
    "--strip-extras",
    "--allow-unsafe",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
    "--no-header",
    "--no-annotate",
)
# `pip install --editable .` without build isolation needs these on every machine, not only on developers'.
BUILD = ("editables", "hatchling")


def main() -> None:
    """Write both locks; the second is constrained by the first."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    dev = project["dependency-groups"]["dev"]
    run = [*project["project"]["dependencies"], *(line for line in dev if line.startswith(BUILD))]
    compile_lock(run, Path("requirements.lock"))
    compile_lock([*run, *dev], Path("requirements-dev.lock"), "--constraint", "requirements.lock")


def compile_lock(requirements: list[str], target: Path, *options: str) -> None:
    """Pin *requirements* with what they need into *target*."""
    with tempfile.NamedTemporaryFile("w", suffix=".in", encoding="utf-8") as source:
        source.write("\n".join(requirements) + "\n")
        source.flush()
        command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *options, "-o", str(target), source.name]
        subprocess.run(command, check=True)  # noqa: S603 - fixed arguments


if __name__ == "__main__":
    main()
