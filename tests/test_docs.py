"""What the documents say is so: settings, and the tests that they name."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from bot.settings import settings_table

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FAULTS = ROOT / "docs" / "faults.md"
# The numbers under which faults of such systems were collected; there are gaps.
REPORTED = (1, 2, 4, 6, 7, 10, 11, 13, 15, 18, 19, 23, 24, 25, 27, 28, 30, *range(33, 40), 41, 42, 44, 45, 46, 47)
_NAMED = re.compile(r"`(?:tests/)?(?P<file>test_\w+\.py)?::(?P<test>test_\w+)`")


@cache
def functions_of(file: str) -> dict[str, str]:
    """Return the test functions of a module with their docstrings."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.get_docstring(node) or "" for node in found}


def named_tests(text: str) -> list[tuple[str, str]]:
    """Return the tests that a text names, as file and function; `::name` alone is of the file named before."""
    named, file = [], ""
    for match in _NAMED.finditer(text):
        file = match["file"] or file
        named.append((file, match["test"]))
    return named


def fault_rows() -> dict[int, list[tuple[str, str]]]:
    """Return the tests of each reported fault."""
    rows = re.findall(r"^\| B(\d+) \|(.*)$", FAULTS.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(number): named_tests(row) for number, row in rows}


def test_the_readme_holds_the_table_of_settings_as_it_is() -> None:
    """Paste the output of `python -c "from bot.settings import settings_table; print(settings_table())"`."""
    assert settings_table() in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")))
def test_every_test_that_a_document_names_exists(document: str) -> None:
    named = named_tests((ROOT / document).read_text(encoding="utf-8"))

    assert [f"{file}::{test}" for file, test in named if test not in functions_of(file)] == []


def test_every_reported_fault_is_in_the_list() -> None:
    assert tuple(sorted(fault_rows())) == tuple(sorted(REPORTED))


@pytest.mark.parametrize("number", REPORTED)
def test_a_reported_fault_has_a_test_that_names_it(number: int) -> None:
    named = fault_rows()[number]

    assert any(re.search(rf"\bB{number}\b", functions_of(file)[test]) for file, test in named)
