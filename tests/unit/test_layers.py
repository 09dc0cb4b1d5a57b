"""What importing a room brings along, seen from a fresh process.

`[tool.importlinter]` judges what is written; this is about what is loaded when it runs.
"""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import subprocess
import sys
from functools import cache

import pytest

import kgtui

pytestmark = pytest.mark.xdist_group("layers")  # the processes are shared between the tests

HEAVY = {
    "aiokafka",
    "asyncio",
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
"""What costs time to load, and is not needed to tell the version or to show help."""

ROOMS = sorted(m.name for m in pkgutil.iter_modules(kgtui.__path__) if m.ispkg)


@cache
def loaded_by(program: str) -> frozenset[str]:
    """The modules in `sys.modules` after a program has run in a process of its own."""
    code = f"{program}\nimport sys, json\nsys.stderr.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stderr))


def modules_of(room: str) -> list[str]:
    """Every module of a room, by its full name."""
    spec = importlib.util.find_spec(f"kgtui.{room}")
    assert spec is not None
    inside = pkgutil.walk_packages(spec.submodule_search_locations, f"kgtui.{room}.")
    return [f"kgtui.{room}", *(m.name for m in inside if not m.name.endswith(".__main__"))]


def loaded_by_room(room: str) -> frozenset[str]:
    """What the whole of a room loads."""
    return loaded_by("".join(f"import {name}\n" for name in modules_of(room)))


@pytest.mark.parametrize("module", ["kgtui", "kgtui.cli", "kgtui.model", "kgtui.admin", "kgtui.admin.base"])
def test_first_imports_are_light(module: str) -> None:
    assert not loaded_by(f"import {module}") & HEAVY


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_telling_the_version_or_showing_help_loads_nothing_heavy(argument: str) -> None:
    program = f"""
import contextlib, io
from kgtui.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main([{argument!r}])
assert "kgtui" in out.getvalue()
"""
    assert not loaded_by(program) & HEAVY - {"rich"}


def test_the_first_frame_waits_for_no_pane_or_dialog_behind_it() -> None:
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
            "kgtui.insights.reader",
            "kgtui.lake",
            "importlib.metadata",
        }
    )


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ("tui", "commands")])
def test_textual_is_loaded_by_the_ui_only(room: str) -> None:
    assert "textual" not in loaded_by_room(room)


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ("client", "admin", "commands")])
def test_aiokafka_is_loaded_by_the_client_only(room: str) -> None:
    """The UI, the monitor and the actions see Kafka through an interface; the simulator has its own sockets."""
    assert "aiokafka" not in loaded_by_room(room)


def test_values_and_codecs_know_neither_event_loop_nor_sockets() -> None:
    for room in ("model", "protocol"):
        assert not loaded_by_room(room) & {"asyncio", "socket", "ssl", "selectors"}, room


def test_the_core_loads_nothing_of_the_extras() -> None:
    """A bastion host has no Arrow, no Delta and no Spark."""
    extras = {"deltalake", "pandas", "pyarrow", "pyspark"}
    for room in ROOMS:
        assert not loaded_by_room(room) & (extras - {"pyspark"} if room == "pipeline" else extras), room


def test_the_pipeline_loads_nothing_that_an_executor_does_not_have() -> None:
    """It is shipped with `protocol`, `model` and `lake`; the cluster has PySpark and Arrow."""
    loaded = loaded_by_room("pipeline")
    assert "pyspark" in loaded
    assert not loaded & {"aiokafka", "deltalake", "javaproperties", "msgspec", "platformdirs", "re2", "rich", "textual"}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("kgtui.")}
    assert rooms == {"pipeline", "lake", "protocol", "model", "errors"}


def test_model_tests_need_no_kafka_client_library() -> None:
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


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_is(room: str) -> None:
    spec = importlib.util.find_spec(f"kgtui.{room}")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert module.__doc__, f"kgtui/{room}/__init__.py has no docstring"
