"""Tests of imports: which modules a new process loads, and that there are no import cycles.

`[tool.importlinter]` in `pyproject.toml` checks which packages are allowed to import which other packages.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import pkgutil
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import kgtui

# These tests run in one xdist worker, so that they share the cached results of `loaded_by`, which starts processes.
pytestmark = pytest.mark.xdist_group("layers")

HEAVY = {
    "aiokafka",
    "asyncio",
    "botocore",
    "cryptography",
    "deltalake",
    "javaproperties",
    "msgspec",
    "pyarrow",
    "pyspark",
    "re2",
    "rich",
    "ssl",
    "textual",
}
"""Modules that take a long time to import. Basic modules of kgtui, such as `kgtui.cli`, must not import them.

Of these modules, `kgtui --version` and `kgtui --help` are allowed to import only rich.
"""

PACKAGES = sorted(m.name for m in pkgutil.iter_modules(kgtui.__path__) if m.ispkg)


@cache
def loaded_by(program: str) -> frozenset[str]:
    """Run the Python source code `program` in a new process. Return the names of all modules that it has loaded."""
    code = f"{program}\nimport sys, json\nsys.stderr.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stderr))


def modules_of(package: str) -> list[str]:
    """Return the full names of all modules of a package of kgtui."""
    spec = importlib.util.find_spec(f"kgtui.{package}")
    assert spec is not None
    inside = pkgutil.walk_packages(spec.submodule_search_locations, f"kgtui.{package}.")
    return [f"kgtui.{package}", *(m.name for m in inside if not m.name.endswith(".__main__"))]


def loaded_by_package(package: str) -> frozenset[str]:
    """Import every module of a package of kgtui in a new process. Return the names of all loaded modules."""
    return loaded_by("".join(f"import {name}\n" for name in modules_of(package)))


@pytest.mark.parametrize("module", ["kgtui", "kgtui.cli", "kgtui.model", "kgtui.admin", "kgtui.admin.base"])
def test_importing_basic_modules_loads_no_slow_module(module: str) -> None:
    """A module is slow if it takes a long time to import. `HEAVY` contains the slow modules, such as asyncio."""
    assert not loaded_by(f"import {module}") & HEAVY


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_printing_the_version_or_the_help_loads_no_slow_module(argument: str) -> None:
    program = f"""
import contextlib, io
from kgtui.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main([{argument!r}])
assert "kgtui" in out.getvalue()
"""
    assert not loaded_by(program) & HEAVY - {"rich"}


def test_importing_the_app_loads_only_the_modules_that_the_first_screen_needs() -> None:
    loaded = loaded_by("import kgtui.tui.app")
    assert "kgtui.tui.screens.main" in loaded
    behind = {f"kgtui.tui.panes.{name}" for name in ("members", "assignments", "offsets", "history", "config")}
    assert not loaded & (
        behind
        | {
            "kgtui.tui.dialogs.delete",
            "kgtui.tui.dialogs.explain",
            "kgtui.tui.dialogs.recordings",
            "kgtui.tui.plots",
            "kgtui.model.timeline",
            "kgtui.history",
            "kgtui.insights.apply_rules",
            "kgtui.lake",
            "importlib.metadata",
        }
    )


@pytest.mark.parametrize("package", [package for package in PACKAGES if package not in ("tui", "commands")])
def test_textual_is_loaded_only_by_the_packages_tui_and_commands(package: str) -> None:
    assert "textual" not in loaded_by_package(package)


@pytest.mark.parametrize("package", [package for package in PACKAGES if package not in ("client", "admin", "commands")])
def test_aiokafka_is_loaded_only_by_three_packages(package: str) -> None:
    """The packages `client`, `admin` and `commands` load aiokafka. Other packages access Kafka through `GroupAdmin`.

    The simulator handles its sockets without aiokafka.
    """
    assert "aiokafka" not in loaded_by_package(package)


def test_the_packages_model_and_protocol_load_neither_asyncio_nor_sockets() -> None:
    for package in ("model", "protocol"):
        assert not loaded_by_package(package) & {"asyncio", "socket", "ssl", "selectors"}, package


def test_only_the_pipeline_loads_packages_that_are_optional_extras() -> None:
    """kgtui must start even if its optional extras are not installed. Only the package `pipeline` needs PySpark."""
    extras = {"cryptography", "deltalake", "pandas", "pyarrow", "pyspark"}
    for package in PACKAGES:
        assert not loaded_by_package(package) & (extras - {"pyspark"} if package == "pipeline" else extras), package


def test_the_pipeline_loads_only_packages_that_spark_executors_have() -> None:
    """Executors get only four packages and two modules of kgtui, and the third-party packages PySpark and PyArrow."""
    loaded = loaded_by_package("pipeline")
    assert "pyspark" in loaded
    assert not loaded & {"aiokafka", "deltalake", "javaproperties", "msgspec", "platformdirs", "re2", "rich", "textual"}
    packages = {name.split(".")[1] for name in loaded if name.startswith("kgtui.")}
    assert packages == {"pipeline", "lake", "protocol", "model", "errors", "private_files"}


def test_tests_of_the_model_run_without_any_kafka_client_package() -> None:
    program = """
import sys
for name in ("aiokafka", "confluent_kafka", "kafka", "kio"):
    sys.modules[name] = None
import pytest
quick = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
assert pytest.main([*quick, "--collect-only", "tests/unit/model"]) == 0
sys.exit(pytest.main([*quick, "tests/unit/model/test_group_types.py"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_docstring(package: str) -> None:
    spec = importlib.util.find_spec(f"kgtui.{package}")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert module.__doc__, f"kgtui/{package}/__init__.py has no docstring"


def imports_between_modules() -> dict[str, set[str]]:
    """Return a dict: module → the modules of kgtui that it imports.

    The result includes imports inside functions, and imports only for type checking.
    """
    root = Path(kgtui.__file__).parent
    sources = {
        ".".join(("kgtui", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in root.rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for module, path in sources.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                full_names = [f"{node.module}.{alias.name}" for alias in node.names]
                imported |= {name if name in sources else node.module for name in full_names}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
        imports[module] = imported & sources.keys()
    return imports


def test_modules_of_kgtui_do_not_import_each_other_in_cycles() -> None:
    try:
        TopologicalSorter(imports_between_modules()).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")
