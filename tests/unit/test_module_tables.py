"""Tests that the docstring of each package has a table of its modules, with one row for each module."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest

import kgtui

ROOT = Path(kgtui.__file__).parent
MOST_WITHOUT_TABLE = 3
"""A package with this many modules and subpackages, or fewer, needs no table in its docstring."""

HEADING = ["| module | contents |", "|---|---|"]
ROW = re.compile(r"\| `(\w+)` \| .*\S \|")


def docstring(package: Path) -> str:
    """Return the docstring of a package, without importing the package."""
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""


def modules(package: Path) -> list[str]:
    """Return the names of the modules and subpackages of a package, sorted, without `__main__`."""
    return sorted(module.name for module in pkgutil.iter_modules([str(package)]) if module.name != "__main__")


def module_table(text: str) -> list[str] | None:
    """Return the rows of the table of modules in a docstring; None if the docstring has no such table."""
    lines = text.splitlines()
    if HEADING[0] not in lines:
        return None
    start = lines.index(HEADING[0])
    assert lines[start : start + 2] == HEADING
    rows = lines[start + 2 :]
    return rows[: rows.index("")] if "" in rows else rows


PACKAGES = {".".join(path.parent.relative_to(ROOT).parts): path.parent for path in sorted(ROOT.rglob("__init__.py"))}
del PACKAGES[""]  # The docstring of the package `kgtui` needs no table, because CONTRIBUTING.md lists its subpackages.


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_in_a_package_docstring_has_one_row_per_module(package: str) -> None:
    expected, rows = modules(PACKAGES[package]), module_table(docstring(PACKAGES[package]))
    if rows is None:
        assert len(expected) <= MOST_WITHOUT_TABLE, f"kgtui.{package} needs a table of its modules in its docstring"
        return
    matches = {row: ROW.fullmatch(row) for row in rows}
    assert [row for row, match in matches.items() if match is None] == [], "rows that are not | `module` | contents |"
    listed = [match[1] for match in matches.values() if match is not None]
    assert [module for module in expected if module not in listed] == [], "modules without a row in the table"
    assert [module for module in listed if module not in expected] == [], "rows of modules that do not exist"
    assert len(listed) == len(expected), "a module has two rows"


def test_contributing_md_lists_every_package_of_kgtui() -> None:
    text = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `kgtui/(\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted(package for package in PACKAGES if "." not in package)
