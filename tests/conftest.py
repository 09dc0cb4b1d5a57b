"""Pytest configuration for all tests: the option `--full`, garbage collection, and common fixtures."""

from __future__ import annotations

import gc
import random
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from kgtui.config import StateFolder
    from tests.scripted import ScriptedAdmin

# Do not let Hypothesis fail a test whose examples run slowly, because other tests can keep the machine busy.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("random"), derandomize=True, database=None, max_examples=50)

# Disable garbage collection while pytest collects the tests, because all new objects remain in use.
gc.disable()

pytest_plugins = ["tests.brokers.fixtures", "tests.spark.session_fixture"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the long tests marked `full`")


def pytest_configure(config: pytest.Config) -> None:
    """Make Hypothesis use random examples with `--full`, and otherwise the same examples in every run."""
    settings.load_profile("random" if config.getoption("--full") else "same")
    # If a shell starts pytest in the background, pytest and its child processes ignore SIGINT. Some tests send SIGINT,
    # so restore Python's default handler, which raises KeyboardInterrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def chance(pytestconfig: pytest.Config) -> random.Random:
    """Return a random number generator. With `--full`, its seed is random; otherwise, the seed is fixed.

    The seed is printed, so that it is in the output of a failed test.
    """
    seed = random.SystemRandom().randrange(10**6) if pytestconfig.getoption("--full") else 1
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


# The next two fixtures import kgtui inside the function. An import at the top of this module would load kgtui in every
# test process.


@pytest.fixture
def admin() -> ScriptedAdmin:
    """Return a `ScriptedAdmin`, a fake admin client for tests, without groups."""
    from tests.scripted import ScriptedAdmin

    return ScriptedAdmin()


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    """Return a `StateFolder` whose folder does not exist on disk yet."""
    from kgtui.config import StateFolder

    return StateFolder(tmp_path / "state")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked `full`, unless `--full` is given or the option `-m` names this mark."""
    if config.getoption("--full") or "full" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


def pytest_collection_finish() -> None:
    """Exclude all existing objects from garbage collection, which would otherwise take half of the time of UI tests."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """After the last test of a module, call `gc.freeze` again if a test of the module has called `gc.unfreeze`.

    `gc.freeze` excludes all existing objects from garbage collection. `gc.unfreeze` includes them again.
    """
    yield  # Tear down the fixtures first, because some of them check the number of frozen objects.
    if nextitem is not None and nextitem.path != item.path and gc.get_freeze_count() == 0:
        gc.collect()
        gc.freeze()
