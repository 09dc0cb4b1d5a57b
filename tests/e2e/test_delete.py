"""Deleting from the screen: an Empty group goes after its name was typed, and a live one never."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from kgtui.simulator import SimulatorProcess
    from tests.e2e.terminal import Terminal

EMPTY = {120: "tmp-debug-anna", 80: "console-consumer-11877"}
"""A group to delete on a screen of each width."""


def records(ui: Ui, group: str) -> list[str]:
    """What the audit log has of a group, in order."""
    (log,) = ui.terminal.state.glob("audit*")
    written = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [json.dumps(record) for record in written if group in json.dumps(record)]


def test_an_empty_group_is_deleted_by_its_name(ui: Ui) -> None:
    """The dialog says what is lost and where the backup goes; afterwards the group is gone and both files are there."""
    terminal = ui.terminal
    group = EMPTY[terminal.size[0]]
    ui.select(group)
    terminal.keys("d")
    screen = terminal.wait_for("Type its name")
    for words in ("Lost", "Backup", "Cancel", "classic (consumer)", "Empty"):
        assert words in screen
    terminal.type(group[:-1])
    terminal.keys("Enter")
    terminal.wait_for(re.compile(rf"│ {group[:-1]} ").search)
    assert "1 deleted" not in terminal.screen()
    terminal.type(group[-1])
    terminal.keys("Enter")
    terminal.wait_for("1 deleted")
    terminal.keys("Escape")
    terminal.wait_for("0 shown")
    assert len(records(ui, group)) >= 2
    backups = [path for path in (terminal.state / "backups").rglob("*") if path.is_file()]
    assert any(group in path.read_text(encoding="utf-8") for path in backups)
    ui.leave_pane()
    ui.drop_filter()


def test_a_cancelled_dialog_changes_nothing(ui: Ui) -> None:
    """Cancel has the focus: enter right after `d` is harmless."""
    ui.select("perf-test-2025-11")
    ui.terminal.keys("d")
    ui.terminal.wait_for("Type its name")
    ui.terminal.keys("Enter")
    ui.terminal.wait_until_gone("Type its name")
    assert "1 shown" in ui.terminal.screen()
    ui.leave_pane()
    ui.drop_filter()


def test_a_live_group_is_refused_with_the_reason(ui: Ui) -> None:
    ui.select("iot.aggregate")
    ui.terminal.keys("d")
    ui.terminal.wait_for("stop them first")
    assert "Type its name" not in ui.terminal.screen()
    ui.leave_pane()
    ui.drop_filter()


def test_marked_groups_are_planned_together(ui: Ui) -> None:
    """Allowed and refused are told apart, and the number of groups is asked for."""
    terminal = ui.terminal
    ui.filter("/^(mirror-checkpoints|flink-savepoint-7|customers.sync)$/", shown=3)
    terminal.keys("*")
    terminal.wait_for("3 marked")
    terminal.keys("d")
    screen = terminal.wait_for("Type the number of groups")
    for words in ("mirror-checkpoints", "flink-savepoint-7", "customers.sync", "2 would be deleted", "1 refused"):
        assert words in screen
    terminal.keys("Escape")
    terminal.wait_until_gone("Type the number of groups")
    terminal.keys("*")
    terminal.wait_until_gone("marked")
    ui.drop_filter()


@pytest.mark.parametrize(
    ("found_by", "asked"),
    [("[/red]", "[/red]"), ("gnp.exe", r"\u202egnp.exe"), ("lines", r"two\nlines"), ("longest", "yyyyyyyyyyyy 32000")],
)  # fmt: skip
def test_a_hostile_name_is_asked_for_as_one_can_type_it(ui: Ui, found_by: str, asked: str) -> None:
    ui.select(found_by)
    ui.terminal.keys("d")
    screen = ui.terminal.wait_for("Type its")
    assert asked in screen
    ui.terminal.keys("Escape")
    ui.terminal.wait_until_gone("Type its")
    ui.leave_pane()
    ui.drop_filter()


def test_read_only_has_no_delete(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """Neither in the footer, nor by key, nor in the palette."""
    ui = Ui(terminal, "--read-only", "--bootstrap-server", cluster.bootstrap)
    ui.start()
    assert "read-only" in terminal.screen()
    assert "d delete" not in terminal.screen()
    ui.select("perf-test-2025-11")
    terminal.keys("d")
    terminal.keys("C-p")
    terminal.wait_for("Search for commands")
    terminal.type("delete")
    terminal.wait_for("No matches found")
    terminal.keys("Escape")
    terminal.wait_until_gone("Search for commands")
    assert "Type its name" not in terminal.screen()
    assert not (terminal.state / "backups").exists()
