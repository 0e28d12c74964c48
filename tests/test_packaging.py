"""The distribution: what the wheel holds, and where the packages come from."""

import importlib.metadata
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_our_packages_are_ours() -> None:
    """`bot` and `retrieval` are common names; another distribution must not have overwritten them."""
    owners = importlib.metadata.packages_distributions()

    for name in ("bot", "retrieval", "localslack"):
        assert set(owners.get(name, ["slackquery"])) == {"slackquery"}
        module = __import__(name)
        assert Path(str(module.__file__)).parent == ROOT / name


def test_the_wheel_holds_the_program_and_its_data(tmp_path: Path) -> None:
    """The builder, the page and the sample archive are in; and the program starts from it, away from here."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("slackquery-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")

    assert "retrieval/builder/writer.py" in names
    assert "localslack/page/index.html" in names
    assert "localslack/sample/export/users.json" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
    done = subprocess.run(
        [sys.executable, "-c", "from bot.cli import main; import bot; print(bot.__file__); main(['--help'])"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "site") in done.stdout
    assert "slackquery build" in done.stdout


def test_locks_are_hashed_and_name_no_index() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert all("==" in line for line in pins)
        assert not any(line.startswith("-") or "://" in line for line in lines)
        assert lines.count("") == 0
        assert sum("--hash=sha256:" in line for line in lines) >= len(pins)


def test_locks_hold_every_dependency_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {_name(line) for line in project["project"]["dependencies"]}
    locked = {
        line.split("==")[0]
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith((" ", "#"))
    }

    assert wanted <= locked


def _name(requirement: str) -> str:
    for separator in "=<>!~[; ":
        requirement = requirement.split(separator, maxsplit=1)[0]
    return requirement.lower()
