"""The screen in a terminal, with a method for each step that tests repeat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.terminal import TIMEOUT

if TYPE_CHECKING:
    from tests.e2e.terminal import Terminal

HINT = "filter: a word"
"""Text of the filter bar while there is no filter."""


class Ui:
    """A running screen; `terminal` is the terminal that it runs in."""

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
        """Return whether the tree is shown without a dialog and without a filter, as after the start."""
        lines = self.terminal.screen().rstrip("\n").split("\n")
        if len(lines) < 4 or HINT not in lines[1] or "q quit" not in lines[-1] or "marked" in lines[0]:
            return False
        return bool(re.match(r" by type, state +count +lag ", f"{lines[2]} ")) and "LIVE" in lines[0]

    def restore_start_state(self) -> None:
        """Return to the state after the start, if necessary by starting the program again."""
        if self.is_in_start_state:
            return
        if not self.terminal.at_prompt():
            self.terminal.keys("C-c")
            self.terminal.status()
        self.start()

    def filter(self, expression: str, shown: int) -> str:
        """Set a filter, wait until it shows a number of groups, and return the screen."""
        self.begin_filter()
        self.terminal.type(expression)
        return self.keep_filter(shown)

    def begin_filter(self) -> None:
        """Move the focus to the filter bar."""
        self.terminal.keys("/")
        self.terminal.wait_for(lambda _: self._typing)

    def keep_filter(self, shown: int) -> str:
        """Accept the filter that was typed, once it shows a number of groups; return the screen."""
        self.terminal.wait_for(f"{shown} shown")
        self.terminal.keys("Enter")
        return self.terminal.wait_for(lambda _: not self._typing)

    @property
    def _typing(self) -> bool:
        """Return whether the filter has the focus, in which case its field has another background than the bar."""
        bar = self.terminal.screen_with_colors().split("\n")[1]
        return len(set(re.findall(r"48;[25];[\d;]+", bar))) > 1

    def drop_filter(self) -> None:
        """Remove the filter."""
        self.terminal.keys("Escape")
        self.terminal.wait_for(HINT)

    def select(self, expression: str, part: str = "") -> str:
        """Select the only group that matches a filter, wait until it is described, and return the screen.

        On a narrow screen, its Overview replaces the tree.

        Args:
            part: a part of its id as displayed, if the filter itself is no such part.
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
