"""Test what a new user does first: move, search, open panes, group and sort the tree, and read the help."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

from tests.e2e.terminal import PROGRAM, clean_environment
from tests.e2e.ui import names_shown, shows_node

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kgtui.simulator import SimulatorProcess
    from tests.e2e.terminal import Terminal
    from tests.e2e.ui import Ui


def listed_groups(cluster: SimulatorProcess, folder: Path) -> list[str]:
    """Return the ids of the groups that `kgtui ls` prints."""
    done = subprocess.run(
        [PROGRAM, "ls", "--bootstrap-server", cluster.bootstrap, "--format", "json"],
        check=True, capture_output=True, env=clean_environment(folder), timeout=60,
    )  # fmt: skip
    assert done.stderr == b""
    return [row["group"] for row in json.loads(done.stdout)["groups"]]


def test_the_tree_shows_every_group_that_kgtui_ls_prints(ui: Ui, cluster: SimulatorProcess, tmp_path: Path) -> None:
    """Only short ids without special characters are compared. The tree shortens or escapes all other ids."""
    ids = listed_groups(cluster, tmp_path)
    terminal = ui.terminal
    # Look for the number of groups in the tree's row for the cluster. A narrow header shows problems instead of the
    # number of groups.
    terminal.wait_for(lambda screen: any(str(len(ids)) in line.split() for line in screen.splitlines()[2:]))
    # Press `b` five times to ungroup the tree. In a tree that is grouped by state, a group would move when its state
    # changes, and the test could miss this group.
    terminal.keys("b", "b", "b", "b", "b", "Home")
    terminal.wait_for(lambda screen: " ungrouped" in screen and "audit.sink" in screen)
    terminal.keys("End")
    last = max(names_shown(terminal.wait_for("web.recommend")) & set(ids))
    terminal.keys("Home")
    # Wait until the screen shows the beginning of the tree, and no longer the tree's last group.
    names = names_shown(terminal.wait_for(lambda screen: "audit.sink" in screen and last not in names_shown(screen)))
    terminal.keys("NPage")  # The first Page Down only moves the cursor to the last visible row.
    for _ in ids:
        if last in names:
            break
        terminal.keys("NPage")
        names |= names_shown(terminal.wait_for(_shows_more_than(frozenset(names))))
    plain = {name for name in ids if re.fullmatch(r"[\w.-]{1,25}", name, re.ASCII)}
    assert len(plain) > 100
    assert plain <= names
    terminal.keys("b")
    terminal.wait_for(" by type, state")
    terminal.keys("Home")
    terminal.wait_for(shows_node("classic"))


def test_the_tree_shows_only_matching_groups_while_a_filter_is_set(ui: Ui) -> None:
    screen = ui.filter("type:share", shown=6)
    assert "emails.workers" in screen
    assert not shows_node("classic")(screen)
    ui.remove_filter()
    ui.terminal.wait_for(shows_node("classic"))


def test_an_invalid_filter_is_reported_while_it_is_typed(ui: Ui) -> None:
    """While the typed filter is invalid, the previous filter stays active, and a message says what to type."""
    ui.filter("type:share", shown=6)
    ui.focus_filter()
    ui.terminal.type("d")
    screen = ui.terminal.wait_for("expected")
    assert "^" in screen
    assert "6 shown" in screen
    assert "emails.workers" in screen
    ui.terminal.keys("Escape")
    ui.terminal.wait_until_gone("expected")
    assert "6 shown" in ui.terminal.screen()
    ui.remove_filter()


def test_the_number_keys_open_the_panes_of_a_group(ui: Ui) -> None:
    """The keys 1 to 6 open the panes Overview, Members, Assignments, Offsets, History and Config."""
    ui.select("iot.aggregate")
    ui.pane("1", "ConsumerGroupDescribe")
    ui.pane("2", "aggregate-6")
    ui.pane("3", "settled")
    ui.pane("4", "iot.telemetry")
    ui.pane("5", "first read")
    ui.pane("6", "consumer.sess")
    ui.pane("1", "described by")
    ui.leave_pane()
    ui.remove_filter()


def test_the_key_f_maximizes_and_restores_the_pane(ui: Ui) -> None:
    ui.select("iot.aggregate")
    ui.leave_pane()
    ui.terminal.keys("f")
    ui.terminal.wait_until_gone("by type, state")
    ui.terminal.wait_for("described by")
    ui.terminal.keys("f")
    ui.terminal.wait_for("by type, state")
    ui.remove_filter()


def test_keys_b_and_s_change_tree_grouping_and_sort_order(ui: Ui) -> None:
    """Key `b` selects the next grouping, and `s` the next sort order. The first follows after the last."""
    ui.filter("kind:simple", shown=3)
    for name in ("by state", "by coordinator", "by topic", "by name", "ungrouped", "by type, state"):
        ui.terminal.keys("b")
        ui.terminal.wait_for(re.compile(rf"^ {name} ", re.MULTILINE).search)
        ui.terminal.wait_for("spark-checkpoints")
    ui.terminal.keys("s")
    ui.terminal.wait_for("lag ▾")
    by_lag = re.compile("flink-savepoint-7.*spark-checkpoints.*mirror-checkpoints", re.DOTALL)
    ui.terminal.wait_for(by_lag.search)
    ui.terminal.keys("s")
    ui.terminal.wait_for("count ▾")
    # The title of the sorted column shows the sort order. On a narrow screen without this column, the name of the sort
    # order is shown instead.
    for title in ("plot ▾|trend ▾", "timelag ▾", "problem ▾|verdict ▾"):
        ui.terminal.keys("s")
        ui.terminal.wait_for(re.compile(title).search)
    ui.terminal.keys("s")
    ui.terminal.wait_for(lambda screen: not re.search("problem ▾|verdict ▾", screen))
    ui.terminal.wait_for(lambda screen: screen.find("flink-savepoint-7") < screen.find("mirror-checkpoints"))
    ui.remove_filter()


def test_the_left_key_collapses_and_the_right_key_expands_a_tree_node(ui: Ui) -> None:
    ui.filter("kind:simple", shown=3)
    ui.terminal.keys("Home", "Down", "Left")
    ui.terminal.wait_for(lambda screen: "spark-checkpoints" not in names_shown(screen))
    ui.terminal.keys("Right")
    ui.terminal.wait_for(lambda screen: "spark-checkpoints" in names_shown(screen))
    ui.remove_filter()


def test_the_header_shows_the_number_of_marked_groups(ui: Ui) -> None:
    ui.filter("kind:simple", shown=3)
    ui.terminal.keys("*")
    ui.terminal.wait_for("3 marked")
    ui.terminal.keys("*")
    ui.terminal.wait_until_gone("marked")
    ui.remove_filter()


def test_the_help_screen_lists_keys_and_filter_terms(ui: Ui) -> None:
    ui.terminal.keys("?")
    ui.terminal.wait_for("Switch between the tree and the panes.")
    ui.terminal.keys("End")
    ui.terminal.wait_for("sort:lag-")
    ui.terminal.keys("Escape")
    ui.terminal.wait_for("by type, state")


def test_the_command_palette_runs_commands_and_finds_groups(ui: Ui) -> None:
    ui.terminal.keys("C-p")
    ui.terminal.wait_for("Search for commands")
    ui.terminal.type("aggregate")
    ui.terminal.wait_for("iot.aggregate")
    ui.terminal.keys("Down", "Enter")
    ui.terminal.wait_until_gone("Search for commands")
    ui.terminal.keys("1")
    ui.terminal.wait_for("described by")
    ui.leave_pane()
    ui.terminal.keys("C-p")
    ui.terminal.wait_for("Search for commands")
    ui.terminal.type("pause")
    ui.terminal.wait_for("Pause or resume polling")
    ui.terminal.keys("Down", "Enter")
    ui.terminal.wait_for("PAUSED")
    ui.terminal.keys("p")
    ui.terminal.wait_for("LIVE")
    ui.terminal.keys("Home")


def test_key_y_copies_the_group_id_and_shift_y_copies_a_kafka_command(ui: Ui) -> None:
    ui.select("iot.aggregate")
    ui.terminal.keys("y")
    ui.terminal.wait_for(lambda _: ui.terminal.clipboard() == "iot.aggregate")
    ui.terminal.keys("Y")
    ui.terminal.wait_for("Copied (OSC 52)")
    ui.terminal.wait_for(lambda _: ui.terminal.clipboard().startswith("kafka-consumer-groups.sh --bootstrap-server"))
    assert "--group iot.aggregate" in ui.terminal.clipboard()
    ui.terminal.keys("Escape")
    ui.terminal.wait_until_gone("Copied (OSC 52)")
    ui.leave_pane()
    ui.remove_filter()


def test_the_layout_adapts_when_the_terminal_is_resized(ui: Ui) -> None:
    """The UI is redrawn for each new size. At 60×20, the panes and the help can be opened."""
    terminal: Terminal = ui.terminal
    ui.filter("kind:simple", shown=3)
    for size in ((60, 20), (200, 50), (60, 20)):
        terminal.resize(*size)
        terminal.wait_for(_fits(*size))
        terminal.wait_for("spark-checkpoints")
    terminal.keys("n", "1")
    terminal.wait_for("described by")
    terminal.keys("?")
    terminal.wait_for("Move up one row.")
    terminal.keys("Escape")
    terminal.wait_for("described by")
    terminal.keys("Escape")
    terminal.wait_for("spark-checkpoints")
    terminal.resize(*terminal.size)
    terminal.wait_for(_fits(*terminal.size))
    terminal.wait_for("spark-checkpoints")
    ui.remove_filter()


def _shows_more_than(names: frozenset[str]) -> Callable[[str], object]:
    """Return a function that checks whether the screen shows a group whose id is not in `names`."""
    return lambda screen: names_shown(screen) - names


def _fits(width: int, height: int) -> Callable[[str], object]:
    """Return a function that checks whether the UI fills the terminal: header in the first row, footer in the last."""

    def fits(screen: str) -> bool:
        lines = screen.rstrip("\n").split("\n")
        return len(lines) == height and "LIVE" in lines[0] and "quit" in lines[-1] and max(map(len, lines)) <= width

    return fits
