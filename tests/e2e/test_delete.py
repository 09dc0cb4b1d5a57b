"""Test deletion in the terminal UI.

kgtui deletes only groups in the state Empty, and only after the user has typed the group id or, for several groups,
their number.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from kgtui.simulator import SimulatorProcess
    from tests.e2e.terminal import Terminal

EMPTY_GROUPS = {120: "tmp-debug-anna", 80: "console-consumer-11877"}
"""Width of a terminal → id of the Empty group that a test deletes in this terminal.

All terminals show the same cluster, so the test deletes a different group in each terminal.
"""


def audit_entries(ui: Ui, group: str) -> list[str]:
    """Return the entries of the audit log about `group`, as JSON texts, oldest first."""
    (log,) = ui.terminal.state.glob("audit*")
    written = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [json.dumps(record) for record in written if group in json.dumps(record)]


def test_an_empty_group_is_deleted_after_the_group_id_is_typed(ui: Ui) -> None:
    """The dialog shows the data that will be lost, and the path of the backup.

    After the deletion, the backup exists, and the audit log has entries about the group.
    """
    terminal = ui.terminal
    group = EMPTY_GROUPS[terminal.size[0]]
    ui.select(group)
    terminal.keys("d")
    for words in ("To confirm, type the group id", "Lost", "Backup", "Cancel", "classic (consumer)", "Empty"):
        terminal.wait_for(words)
    terminal.type(group[:-1])
    terminal.keys("Enter")
    terminal.wait_for(re.compile(rf"│ {group[:-1]} ").search)
    assert "1 deleted" not in terminal.screen()
    terminal.type(group[-1])
    terminal.keys("Enter")
    terminal.wait_for("1 deleted")
    terminal.keys("Escape")
    terminal.wait_for("0 shown")
    assert len(audit_entries(ui, group)) >= 2
    backups = [path for path in (terminal.state / "backups").rglob("*") if path.is_file()]
    assert any(group in path.read_text(encoding="utf-8") for path in backups)
    ui.leave_pane()
    ui.remove_filter()


def test_canceling_the_delete_dialog_deletes_no_group(ui: Ui) -> None:
    """Key `d` opens the dialog with the focus on the Cancel button, so pressing enter next deletes nothing."""
    ui.select("perf-test-2025-11")
    ui.terminal.keys("d")
    ui.terminal.wait_for("To confirm, type the group id")
    ui.terminal.keys("Enter")
    ui.terminal.wait_until_gone("To confirm, type the group id")
    assert "1 shown" in ui.terminal.screen()
    ui.leave_pane()
    ui.remove_filter()


def test_deletion_of_a_live_group_is_refused_with_a_reason(ui: Ui) -> None:
    ui.select("iot.aggregate")
    ui.terminal.keys("d")
    ui.terminal.wait_for("stop them first")
    assert "To confirm, type the group id" not in ui.terminal.screen()
    ui.leave_pane()
    ui.remove_filter()


def test_the_delete_dialog_for_marked_groups_asks_for_the_number_of_groups(ui: Ui) -> None:
    """The user marks three groups: one has members, and two are Empty.

    The dialog refuses to delete the group with members. The dialog also shows how many of the two Empty groups are
    safe to delete, uncertain or not safe.
    """
    terminal = ui.terminal
    ui.filter("/^(mirror-checkpoints|flink-savepoint-7|customers.sync)$/", shown=3)
    terminal.keys("*")
    terminal.wait_for("3 marked")
    terminal.keys("d")
    screen = terminal.wait_for("To confirm, type the number of groups")
    for words in ("mirror-checkpoints", "flink-savepoint-7", "customers.sync", "1 refused"):
        assert words in screen
    counts = re.findall(r"(\d+) (?:safe to delete|uncertain|not safe)", screen)
    assert sum(map(int, counts)) == 2
    terminal.keys("Escape")
    terminal.wait_until_gone("To confirm, type the number of groups")
    terminal.keys("*")
    terminal.wait_until_gone("marked")
    ui.remove_filter()


@pytest.mark.parametrize(
    ("found_by", "asked"),
    [("[/red]", "[/red]"), ("gnp.exe", r"\u202egnp.exe"), ("lines", r"two\nlines"), ("longest", "yyyyyyyyyyyy 32000")],
)  # fmt: skip
def test_the_delete_dialog_asks_for_a_typable_form_of_unusual_group_ids(ui: Ui, found_by: str, asked: str) -> None:
    """To confirm, the user types an escaped form of an id with control characters.

    For a very long id, the user types a shortened form.
    """
    ui.select(found_by)
    ui.terminal.keys("d")
    screen = ui.terminal.wait_for("To confirm, type the")
    assert asked in screen
    ui.terminal.keys("Escape")
    ui.terminal.wait_until_gone("To confirm, type the")
    ui.leave_pane()
    ui.remove_filter()


def test_read_only_mode_does_not_offer_deletion(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """With `--read-only`, the footer and the command palette do not offer deletion, and the key `d` has no effect."""
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
    assert "To confirm, type the group id" not in terminal.screen()
    assert not (terminal.state / "backups").exists()
