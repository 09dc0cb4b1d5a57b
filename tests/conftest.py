"""Configuration for all tests: the option `--full`, the garbage collector, and the fixtures with real brokers."""

from __future__ import annotations

import gc
import signal
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

# Hypothesis must not fail a test whose examples are slow, because other tests keep the machine busy.
settings.register_profile("kgtui", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kgtui")

pytest_plugins = ["tests.brokers.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the long tests marked `full`")


def pytest_configure() -> None:
    """Let programs that are started by tests react to SIGINT.

    A shell makes programs that it starts in the background ignore this signal, and the tests would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked `full` unless `--full` is given."""
    if config.getoption("--full") or "full" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


def pytest_collection_finish() -> None:
    """Freeze all modules and collected tests, so that no garbage collection visits them.

    Otherwise, garbage collections take half of the time of a test that runs the terminal UI.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Freeze all objects again if a test of this module has unfrozen them, as tests of many groups do."""
    if nextitem is not None and nextitem.path != item.path and gc.get_freeze_count() == 0:
        gc.collect()
        gc.freeze()
