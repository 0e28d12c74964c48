"""The arrows between packages: who may import whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("bot", "retrieval", "localslack")
FORBIDDEN = {
    "retrieval": ("bot", "localslack", "slack_bolt", "slack_sdk", "apscheduler", "click", "rich"),
    "localslack": ("bot", "retrieval", "slack_bolt", "slack_sdk", "duckdb"),
    "bot": ("duckdb", "httpx", "onnxruntime", "tokenizers"),
}
# Where DuckDB is opened, built, verified against or looked at.
DUCKDB = ("retrieval/artifact.py", "retrieval/builder/", "retrieval/verification.py", "retrieval/diagnosis.py")
HTTPX = ("retrieval/endpoint.py", "retrieval/endpoint_address.py", "retrieval/remote.py")
BUILDER = ("retrieval/builder/", "bot/cli/archive.py", "bot/cli/index.py", "bot/indexing.py", "bot/demo.py")
LOCALSLACK = ("localslack/", "bot/demo", "bot/cli/serve.py")


def sources() -> list[str]:
    """All Python files of the packages, relative to the project."""
    return [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "sample" not in path.parts
    ]


def imports(source: str) -> Iterator[str]:
    """The modules that *source* imports at run time; those for type checking alone do not count."""
    tree = ast.parse((ROOT / source).read_text(encoding="utf-8"))
    typing_only = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("source", sources())
def test_arrows_point_one_way(source: str) -> None:
    package = source.split("/", 1)[0]

    for module in imports(source):
        assert not any(within(module, name) for name in FORBIDDEN[package]), f"{source} imports {module}"
        if within(module, "duckdb"):
            assert source.startswith(DUCKDB), f"{source} imports duckdb"
        if within(module, "httpx"):
            assert source.startswith(HTTPX), f"{source} imports httpx"
        if within(module, "retrieval.builder"):
            assert source.startswith(BUILDER), f"{source} imports the builder"
        if within(module, "localslack"):
            assert source.startswith(LOCALSLACK), f"{source} imports the local Slack"


def test_the_environment_is_read_in_one_place() -> None:
    readers = [
        source
        for source in sources()
        if any(name in (ROOT / source).read_text(encoding="utf-8") for name in ("os.environ", "getenv("))
    ]

    assert readers == ["bot/settings.py"]


def test_no_file_has_the_token_or_the_address_of_a_registry() -> None:
    """Built in pieces, so that this test does not name them either."""
    hosts = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org"]
    made = {"__pycache__", "build", "var", "node_modules"}
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and not parts[0].startswith(".") and made.isdisjoint(parts):
            text = path.read_bytes()
            assert not any(host.encode() in text for host in hosts), path
