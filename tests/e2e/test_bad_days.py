"""Test what the terminal UI shows while brokers are stopped, do not respond, respond slowly or refuse requests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import Options, spawn
from kgtui.simulator.faults import DAMAGES
from tests.e2e.terminal import Terminal
from tests.e2e.ui import Ui, names_shown, shows_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator import SimulatorProcess

FAULT_TIMEOUT = 60.0
"""Maximum seconds until the screen shows that brokers have failed or have recovered.

The maximum is long, because requests time out only after ten seconds, and kgtui polls failed brokers less often than
other brokers.
"""


@pytest.fixture(scope="module")
def cluster_with_faults() -> Iterator[SimulatorProcess]:
    """Run a simulated cluster with five brokers, in which the tests cause faults."""
    with spawn(Options(scenario="wild", brokers=5)) as process:
        yield process


@pytest.fixture(scope="module")
def ui_of_module(cluster_with_faults: SimulatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Run the terminal UI on the cluster in which tests cause faults. All tests of this module share this UI."""
    with Terminal(tmp_path_factory.mktemp("home")) as terminal:
        ui = Ui(terminal, "--interval", "0.5", "--bootstrap-server", cluster_with_faults.bootstrap)
        ui.start()
        yield ui


@pytest.fixture
def ui(ui_of_module: Ui, cluster_with_faults: SimulatorProcess) -> Iterator[Ui]:
    """Return the running terminal UI, connected to the cluster. After the test, end all simulated faults."""
    ui_of_module.restore_start_state()
    yield ui_of_module
    cluster_with_faults.control("clear")
    ui_of_module.wait_until_complete(FAULT_TIMEOUT)


def test_a_silent_broker_affects_only_the_groups_that_it_coordinates(
    ui: Ui, cluster_with_faults: SimulatorProcess
) -> None:
    """One broker stops responding. The screen shows the time since its last response.

    Groups that this broker coordinates remain in the tree, and kgtui still reads the groups of all other brokers.
    """
    before = names_shown(ui.terminal.screen())
    cluster_with_faults.control("black_hole", node=4)
    screen = ui.terminal.wait_for("broker 4 has not responded for", FAULT_TIMEOUT)
    assert "brokers 4/5" in screen
    assert "LIVE" in screen
    assert "groups are as of" in screen or "group is as of" in screen
    assert names_shown(screen) & before
    cluster_with_faults.control("clear")
    ui.terminal.wait_until_gone("broker 4: no answer", FAULT_TIMEOUT)


def test_a_slow_broker_does_not_delay_the_reaction_to_keys(ui: Ui, cluster_with_faults: SimulatorProcess) -> None:
    """While a broker takes 8 s to respond, two keys collapse and expand a tree node within 7 s in total.

    The test presses the keys up to eight times, until the reaction is fast enough, because the machine can be busy.
    """
    cluster_with_faults.control("latency", node=2, seconds=8.0)
    ui.filter("kind:simple", shown=3)
    ui.terminal.keys("Home", "Down")
    for _ in range(8):
        began = time.monotonic()
        ui.terminal.keys("Left")
        ui.terminal.wait_for(lambda screen: "spark-checkpoints" not in names_shown(screen))
        ui.terminal.keys("Right")
        ui.terminal.wait_for(lambda screen: "spark-checkpoints" in names_shown(screen))
        if (took := time.monotonic() - began) < 7.0:
            break
    assert took < 7.0
    ui.remove_filter()


def test_no_group_is_missing_after_a_broker_was_restarted(ui: Ui, cluster_with_faults: SimulatorProcess) -> None:
    """While a broker is stopped, other brokers coordinate its groups.

    After the broker's restart, the header shows the same number of groups as before the broker was stopped.
    """
    groups = groups_in_header(ui.terminal.screen())
    cluster_with_faults.control("kill", node=3)
    ui.terminal.wait_for(lambda screen: "brokers 5/5" not in screen, FAULT_TIMEOUT)
    cluster_with_faults.control("restart", node=3)
    # The key `r` polls the cluster immediately. Without it, kgtui would poll the restarted broker later.
    ui.terminal.keys("r")
    screen = ui.terminal.wait_for("brokers 5/5", FAULT_TIMEOUT)
    assert groups_in_header(screen) == groups


def groups_in_header(screen: str) -> str:
    """Return the number of groups that the header shows, as text."""
    return next(part for part in screen.split("\n")[0].split(" · ") if "group" in part).split()[0]


@pytest.mark.parametrize("kind", DAMAGES)
def test_polling_continues_after_brokers_sent_damaged_responses(
    ui: Ui, cluster_with_faults: SimulatorProcess, kind: str
) -> None:
    """The next three responses of each broker are damaged, in the way that `kind` names.

    kgtui must continue to send requests after the damaged responses, and then receive correct responses from all
    brokers.
    """
    for node in range(1, 6):
        cluster_with_faults.control("damage", node=node, kind=kind, times=3)
    served = cluster_with_faults.control("stats")["requests"]["1"]
    ui.terminal.wait_for(lambda _: cluster_with_faults.control("stats")["requests"]["1"] > served + 8, FAULT_TIMEOUT)
    ui.wait_until_complete(FAULT_TIMEOUT)


def test_the_pane_of_a_group_mentions_a_missing_describe_permission(
    ui: Ui, cluster_with_faults: SimulatorProcess
) -> None:
    ui.select("iot.aggregate")
    cluster_with_faults.control("forbid_groups", patterns=["iot.*"])
    ui.terminal.wait_for("DESCRIBE", FAULT_TIMEOUT)
    ui.terminal.keys("e")
    screen = ui.terminal.wait_for("esc closes")
    assert "GROUP_AUTHORIZATION_FAILED" in screen
    assert "DESCRIBE" in screen
    ui.terminal.keys("Escape")
    ui.terminal.wait_until_gone("esc closes")
    ui.remove_filter()


def test_an_empty_tree_mentions_the_permission_that_could_be_missing(
    ui: Ui, cluster_with_faults: SimulatorProcess
) -> None:
    """If a user has DESCRIBE neither on the cluster nor on a group, brokers list no groups and return no error."""
    cluster_with_faults.control("forbid_cluster")
    cluster_with_faults.control("forbid_groups", patterns=["*"])
    ui.terminal.keys("r")
    screen = ui.terminal.wait_for("no group that this user is allowed to see", FAULT_TIMEOUT)
    assert "DESCRIBE" in screen
    cluster_with_faults.control("clear")
    ui.terminal.keys("r")
    ui.terminal.wait_for(shows_node("classic"), FAULT_TIMEOUT)


def test_an_open_pane_still_shows_its_group_after_the_group_is_deleted(
    ui: Ui, cluster_with_faults: SimulatorProcess
) -> None:
    """The pane says that the brokers no longer list the group. The pane does not switch to a different group."""
    ui.select("tmp-debug-anna")
    cluster_with_faults.control("remove_group", name="tmp-debug-anna")
    screen = ui.terminal.wait_for("no longer listed", FAULT_TIMEOUT)
    assert "tmp-debug-anna" in screen
    ui.remove_filter()
    ui.terminal.keys("Home")


def test_the_offsets_pane_marks_offsets_in_a_deleted_topic(ui: Ui, cluster_with_faults: SimulatorProcess) -> None:
    ui.select("search.index-blue")
    ui.pane("4", "search.documents")
    cluster_with_faults.control("delete_topic", name="search.documents")
    ui.terminal.wait_for("topic deleted", FAULT_TIMEOUT)
    ui.pane("1", "described by")
    ui.remove_filter()
