"""Fixtures of the end-to-end tests: a simulated cluster, a terminal, and a terminal UI that several tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import Options, spawn
from tests.brokers.fixtures import requested_by
from tests.e2e.terminal import Terminal
from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kgtui.simulator import SimulatorProcess

SIZES = ((120, 40), (80, 24))


@pytest.hookimpl(tryfirst=True)  # This hook must add `xdist_group` marks before xdist's own hook reads them.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests in this folder with `e2e`, and run the tests of each module in the same xdist worker.

    Exception: tests with a real broker run in the worker that starts the broker.
    """
    for item in items:
        if item.path.parent.name == "e2e":
            item.add_marker(pytest.mark.e2e)
            if not requested_by(item):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))
            # In the wide terminal, run these two modules only with `tests/run --full`. Without `--full`, the narrow
            # terminal is enough, because most layout errors appear only there.
            if item.path.stem in {"test_hostile", "test_delete"} and "120x40" in item.name:
                item.add_marker(pytest.mark.full)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatorProcess]:
    """Run a simulated cluster in which some group ids contain quotes, markup or control characters."""
    with spawn(Options(scenario="wild")) as process:
        yield process


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path) as terminal:
        yield terminal


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def running(
    request: pytest.FixtureRequest, cluster: SimulatorProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ui]:
    """Run the terminal UI, connected to `cluster`. Each test module starts one UI per terminal size."""
    with Terminal(tmp_path_factory.mktemp("home"), size=request.param) as terminal:
        ui = Ui(terminal, "--bootstrap-server", cluster.bootstrap)
        ui.start()
        # Check that `is_in_start_state` becomes true after the start. Otherwise, nobody would notice an error in
        # `is_in_start_state`: `restore_start_state` would restart the program before every test, and the tests would
        # only be slower.
        terminal.wait_for(lambda _: ui.is_in_start_state)
        yield ui


@pytest.fixture
def ui(running: Ui) -> Ui:
    """Return the running terminal UI, connected to `cluster` and in the same state as after its start."""
    running.restore_start_state()
    return running
