"""Brokers that die, stall, stutter and refuse, seen by somebody who keeps looking at the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import Options, spawn
from kgtui.simulator.faults import DAMAGES
from tests.e2e.terminal import Terminal
from tests.e2e.ui import Ui, names_shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator import SimulatorProcess

PATIENCE = 30.0
"""Seconds: a broker has ten to answer, and one that failed is asked less often."""


@pytest.fixture(scope="module")
def five() -> Iterator[SimulatorProcess]:
    """Five brokers, and commits on topics that are gone."""
    with spawn(Options(scenario="wild", brokers=5)) as process:
        yield process


@pytest.fixture(scope="module")
def watching(five: SimulatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """The UI on them, polling fast."""
    with Terminal(tmp_path_factory.mktemp("home")) as terminal:
        ui = Ui(terminal, "--interval", "0.5", "--bootstrap-server", five.bootstrap)
        ui.start()
        yield ui


@pytest.fixture
def bad(watching: Ui, five: SimulatorProcess) -> Iterator[Ui]:
    """The UI while all is well, and all is well again afterwards."""
    watching.settle()
    yield watching
    five.control("clear")
    watching.wait_until_complete(PATIENCE)


def test_a_silent_broker_ages_only_its_own_groups(bad: Ui, five: SimulatorProcess) -> None:
    """Its line says since when; the tree keeps its groups; nothing of the others is lost."""
    before = names_shown(bad.terminal.screen())
    five.control("black_hole", node=4)
    screen = bad.terminal.wait_for("broker 4: no answer for", PATIENCE)
    assert "brokers 4/5" in screen
    assert "LIVE" in screen
    assert "groups are as of" in screen or "group is as of" in screen
    assert names_shown(screen) & before
    five.control("clear")
    bad.terminal.wait_until_gone("broker 4: no answer", PATIENCE)


def test_a_slow_broker_keeps_no_key_waiting(bad: Ui, five: SimulatorProcess) -> None:
    five.control("latency", node=2, seconds=3.0)
    bad.filter("kind:simple", shown=3)
    bad.terminal.keys("Home", "Left")
    bad.terminal.wait_until_gone("spark-checkpoints", timeout=3.0)
    bad.terminal.keys("Right")
    bad.terminal.wait_for("spark-checkpoints", timeout=3.0)
    bad.drop_filter()


def test_a_dead_broker_comes_back(bad: Ui, five: SimulatorProcess) -> None:
    """Others take its groups over; none leaves the tree."""
    groups = groups_in_header(bad.terminal.screen())
    five.control("kill", node=3)
    bad.terminal.wait_for(lambda screen: "brokers 5/5" not in screen, PATIENCE)
    five.control("restart", node=3)
    bad.terminal.keys("r")  # at once, where it would be found at the next look at the cluster
    screen = bad.terminal.wait_for("brokers 5/5", PATIENCE)
    assert groups_in_header(screen) == groups


def groups_in_header(screen: str) -> str:
    """How many groups the header tells."""
    return next(part for part in screen.split("\n")[0].split(" · ") if "group" in part).split()[0]


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_answers_cost_nothing_but_time(bad: Ui, five: SimulatorProcess, kind: str) -> None:
    for node in range(1, 6):
        five.control("damage", node=node, kind=kind, times=3)
    served = five.control("stats")["requests"]["1"]
    bad.terminal.wait_for(lambda _: five.control("stats")["requests"]["1"] > served + 8, PATIENCE)
    bad.wait_until_complete(PATIENCE)


def test_a_forbidden_group_names_the_missing_permission(bad: Ui, five: SimulatorProcess) -> None:
    bad.select("iot.aggregate")
    five.control("forbid_groups", patterns=["iot.*"])
    bad.terminal.wait_for("DESCRIBE", PATIENCE)
    bad.terminal.keys("e")
    screen = bad.terminal.wait_for("esc closes")
    assert "GROUP_AUTHORIZATION_FAILED" in screen
    assert "DESCRIBE" in screen
    bad.terminal.keys("Escape")
    bad.terminal.wait_until_gone("esc closes")
    bad.drop_filter()


def test_a_forbidden_cluster_is_no_error(bad: Ui, five: SimulatorProcess) -> None:
    """Without DESCRIBE on the cluster, a list is shorter and says nothing: what is left is shown."""
    five.control("forbid_cluster")
    five.control("forbid_groups", patterns=["*"])
    bad.terminal.keys("r")
    screen = bad.terminal.wait_for("no group that this user may see", PATIENCE)
    assert "DESCRIBE" in screen
    five.control("clear")
    bad.terminal.keys("r")
    bad.terminal.wait_for("customers.sync", PATIENCE)


def test_a_group_is_deleted_while_looked_at(bad: Ui, five: SimulatorProcess) -> None:
    """Its pane keeps what was known and says since when; nothing else is selected in its place."""
    bad.select("tmp-debug-anna")
    five.control("remove_group", name="tmp-debug-anna")
    screen = bad.terminal.wait_for("no longer listed", PATIENCE)
    assert "tmp-debug-anna" in screen
    bad.drop_filter()
    bad.terminal.keys("Home")


def test_a_topic_is_deleted_that_still_has_commits(bad: Ui, five: SimulatorProcess) -> None:
    bad.select("search.index-blue")
    bad.pane("4", "search.documents")
    five.control("delete_topic", name="search.documents")
    bad.terminal.wait_for("topic deleted", PATIENCE)
    bad.pane("1", "described by")
    bad.drop_filter()
