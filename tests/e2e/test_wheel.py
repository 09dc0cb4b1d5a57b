"""Test that the wheel contains all files that the installed program needs, and no tests."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel without network access; return the names of the files in the wheel."""
    if find_spec("hatchling") is None:
        pytest.fail("hatchling is not installed; run tests/run --setup")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    built = subprocess.run(build, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    with ZipFile(path) as archive:
        return set(archive.namelist())


def test_the_wheel_contains_exactly_the_package_files_and_theme_files(wheel: set[str]) -> None:
    package = [path for path in (REPOSITORY / "kgtui").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    files = {path.relative_to(REPOSITORY).as_posix() for path in package}
    files |= {f"kgtui/themes/{path.name}" for path in (REPOSITORY / "themes").iterdir()}
    assert {name for name in wheel if ".dist-info/" not in name} == files


@pytest.mark.parametrize(
    "name",
    [
        "kgtui/insights/templates/report.html.j2",
        "kgtui/pipeline/log4j2.properties",
        "kgtui/pipeline/s3_jars.txt",
        "kgtui/py.typed",
        "kgtui/simulator/demo_history/incidents.toml",
        "kgtui/simulator/scenarios/company.toml",
        "kgtui/themes/kgtui-dark.toml",
    ],
)
def test_the_wheel_contains_each_kind_of_data_file(wheel: set[str], name: str) -> None:
    assert name in wheel


def test_the_wheel_contains_no_tests(wheel: set[str]) -> None:
    assert not [name for name in wheel if "tests" in Path(name).parts]
    assert {Path(name).parts[0].partition("-")[0] for name in wheel} == {"kgtui"}
