"""Controls the program in a terminal, with a method for each step that several tests need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.terminal import TIMEOUT

if TYPE_CHECKING:
    from tests.e2e.terminal import Terminal

HINT = "filter: a word"
"""Start of the text that the filter bar shows while there is no filter."""


class Ui:
    """The program that runs in `terminal`."""

    def __init__(self, terminal: Terminal, *arguments: str) -> None:
        self.terminal = terminal
        self._arguments = arguments

    def start(self) -> None:
        """Start the program, and wait until every broker has answered and every group is listed."""
        self.terminal.start(*self._arguments)
        self.wait_until_complete()

    def wait_until_complete(self, timeout: float = TIMEOUT) -> str:
        """Wait until every broker has answered, and return the screen."""
        return self.terminal.wait_for(_complete, timeout)

    @property
    def is_in_start_state(self) -> bool:
        """Whether the screen shows the tree as after the start: no dialog, no filter, no marks, default grouping."""
        lines = self.terminal.screen().rstrip("\n").split("\n")
        if len(lines) < 4 or HINT not in lines[1] or "q quit" not in lines[-1] or "marked" in lines[0]:
            return False
        return bool(re.match(r" by type, state +count +lag ", f"{lines[2]} ")) and "LIVE" in lines[0]

    def restore_start_state(self) -> None:
        """If the screen no longer shows the tree as after the start, start the program again."""
        if self.is_in_start_state:
            return
        if not self.terminal.at_prompt():
            self.terminal.keys("C-c")
            self.terminal.status()
        self.start()

    def filter(self, expression: str, shown: int) -> str:
        """Type a filter, wait until `shown` groups match it, accept it, and return the screen."""
        self.focus_filter()
        self.terminal.type(expression)
        return self.accept_filter(shown)

    def focus_filter(self) -> None:
        """Move the focus to the filter bar."""
        self.terminal.keys("/")
        self.terminal.wait_for(lambda _: self._typing)

    def accept_filter(self, shown: int) -> str:
        """Wait until `shown` groups match the typed filter, accept the filter, and return the screen."""
        self.terminal.wait_for(f"{shown} shown")
        self.terminal.keys("Enter")
        return self.terminal.wait_for(lambda _: not self._typing)

    @property
    def _typing(self) -> bool:
        """Whether the text field of the filter bar has the focus, recognized by the background color of the field."""
        bar = self.terminal.screen_with_colors().split("\n")[1]
        return len(set(re.findall(r"48;[25];[\d;]+", bar))) > 1

    def remove_filter(self) -> None:
        """Remove the filter."""
        self.terminal.keys("Escape")
        self.terminal.wait_for(HINT)

    def select(self, expression: str, part: str = "") -> str:
        """Select the only group that matches a filter, wait until its Overview is complete, and return the screen.

        On a narrow screen, the Overview replaces the tree.

        Args:
            expression: the filter.
            part: text to wait for, a part of the group's id as the Overview displays it; by default, `expression`.
        """
        self.filter(expression, shown=1)
        self.terminal.keys("n", "1")
        named = re.compile(rf"(?:^|▏) group +.*{re.escape(part or expression)}", re.MULTILINE)
        return self.terminal.wait_for(lambda screen: named.search(screen) and "described by" in screen)

    def pane(self, key: str, text: str) -> str:
        """Open a pane, wait for a text in it, and return the screen."""
        self.terminal.keys(key)
        return self.terminal.wait_for(text)

    def leave_pane(self) -> None:
        """Return to the tree if a pane replaces it."""
        if "by type, state" not in self.terminal.screen():
            self.terminal.keys("Escape")
            self.terminal.wait_for("by type, state")


def _complete(screen: str) -> bool:
    found = re.search(r"LIVE · (?:read-only · )?brokers (\d+)/(\d+) · [\d,]+ group", screen)
    return found is not None and found[1] == found[2]


def names_shown(screen: str) -> set[str]:
    """Return the group ids in the lines of the tree, as displayed."""
    return set(re.findall(r"^.\s*\S (\S.*?)\s{2,}", screen, re.MULTILINE))
