"""Test that group ids with control characters are displayed in an escaped form, and are copied exactly."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.ui import shows_node
from tests.hostile_ids import hostile_group_ids

if TYPE_CHECKING:
    from tests.e2e.ui import Ui

ID_BY_FILTER = {
    "[/red]": "[/red]",
    "[bold": "[bold red]not markup[/]",
    "31mred": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;new title\x07",
    "c1-control": "\x9b2Jc1-control",
    "gnp.exe": "\u202egnp.exe",
    "lines": "two\nlines",
    "DROP": "'; DROP TABLE groups; --",
    "long.x": hostile_group_ids()[-2],
    "longest.y": hostile_group_ids()[-1],
}
"""Filter expression → id of the only group that matches the filter."""

TEXT_BY_PANE = {
    "1": "described by",
    "2": r"no members|1 member\b",
    "3": "OWNER",
    "4": "partitions of",
    "5": "first read",
    "6": "no configs",
}
"""Key that opens a pane → regular expression for a text in this pane.

The expression for pane 2 matches, because each tested group has at most one member.
"""

CONTROL_CHARACTERS = "\x07\x1b\x9b\u200b\u202e\u2066\u2069"
"""Characters that terminals interpret. kgtui must not write them to the terminal as part of a group id."""


def test_the_tree_escapes_control_characters_in_group_ids(ui: Ui) -> None:
    """A group id in the tree must not change the terminal's window title, its colors or the order of letters."""
    terminal = ui.terminal
    terminal.keys("b", "b", "b", "b", "b", "Home")
    screen = terminal.wait_for(r"\x1b[31mred\x1b[0m")
    terminal.keys("End")
    screen += terminal.wait_for(r"\u202egnp.exe")
    assert not set(CONTROL_CHARACTERS) & set(screen)
    assert terminal.title != "new title"
    terminal.keys("b")
    terminal.wait_for(" by type, state")
    terminal.keys("Home")
    terminal.wait_for(shows_node("classic"))


@pytest.mark.parametrize("found_by", ID_BY_FILTER)
def test_every_pane_escapes_group_ids_and_the_key_y_copies_them_exactly(ui: Ui, found_by: str) -> None:
    """Ids with control characters are copied in shell quotes (`$'…'`), which a shell must parse into the exact id."""
    group, terminal = ID_BY_FILTER[found_by], ui.terminal
    assert group in hostile_group_ids()
    ui.select(found_by)
    for key, text in TEXT_BY_PANE.items():
        ui.open_pane(key)
        screen = terminal.wait_for(re.compile(text).search)
        lines = screen.split("\n")
        title = lines[next(row for row, line in enumerate(lines) if "1 Overview" in line) - 1]
        assert found_by in title
        assert not set(CONTROL_CHARACTERS) & set(screen), f"pane {key}"
        assert terminal.title != "new title"
    terminal.keys("y")
    terminal.wait_for(lambda _: _parsed_by_shell(terminal.clipboard()) == group)
    screen = terminal.wait_for("Copied")
    assert not set(CONTROL_CHARACTERS) & set(screen)
    assert terminal.title != "new title"
    ui.leave_pane()
    ui.remove_filter()


def _parsed_by_shell(copied: str) -> str:
    """Return the id that a shell parses from the copied text. Text without shell quotes is returned unchanged."""
    if not copied.startswith("$'") or not copied.endswith("'"):
        return copied
    printed = subprocess.run(["bash", "-c", f"printf %s {copied}"], capture_output=True, check=True)
    return printed.stdout.decode("utf-8", "surrogateescape")
