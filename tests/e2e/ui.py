"""Control kgtui's terminal UI in a terminal, with a method for each step that several tests need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.terminal import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.terminal import Terminal

HINT = "filter: a word"
"""Beginning of the text that the filter bar shows while no filter is set."""


class Ui:
    """The terminal UI that runs in `terminal`."""

    def __init__(self, terminal: Terminal, *arguments: str) -> None:
        self.terminal = terminal
        self._arguments = arguments

    def start(self) -> None:
        """Start the program, and wait until every broker has responded and every group is listed."""
        self.terminal.start(*self._arguments)
        self.wait_until_complete()

    def wait_until_complete(self, timeout: float = TIMEOUT) -> str:
        """Wait until every broker has responded; return the screen's text."""
        return self.terminal.wait_for(_complete, timeout)

    @property
    def is_in_start_state(self) -> bool:
        """Whether the screen shows the tree in its default grouping, with no dialog, no filter and no marked groups."""
        lines = self.terminal.screen().rstrip("\n").split("\n")
        if len(lines) < 4 or HINT not in lines[1] or "q quit" not in lines[-1] or "marked" in lines[0]:
            return False
        return re.match(r" by type, state +(problem +)?count +lag ", f"{lines[2]} ") is not None and "LIVE" in lines[0]

    def restore_start_state(self) -> None:
        """If the screen is not in its start state (`is_in_start_state`), restart the program."""
        if self.is_in_start_state:
            return
        if not self.terminal.at_prompt():
            self.terminal.keys("C-c")
            self.terminal.status()
        self.start()

    def filter(self, expression: str, shown: int) -> str:
        """Type the filter `expression`, wait until `shown` groups match, and press enter; return the screen's text."""
        self.focus_filter()
        self.terminal.type(expression)
        return self.accept_filter(shown)

    def focus_filter(self) -> None:
        """Move the focus to the filter bar."""
        self.terminal.keys("/")
        self.terminal.wait_for(lambda _: self._typing)

    def accept_filter(self, shown: int) -> str:
        """Wait until `shown` groups match the typed filter, and press enter; return the screen's text."""
        self.terminal.wait_for(f"{shown} shown")
        self.terminal.keys("Enter")
        return self.terminal.wait_for(lambda _: not self._typing)

    @property
    def _typing(self) -> bool:
        """Whether the filter bar's text field has the focus. The background color of the field shows this."""
        bar = self.terminal.screen_with_colors().split("\n")[1]
        return len(set(re.findall(r"48;[25];[\d;]+", bar))) > 1

    def remove_filter(self) -> None:
        self.terminal.keys("Escape")
        self.terminal.wait_for(HINT)

    def select(self, expression: str, part: str = "") -> str:
        """Select the only group that matches a filter, wait for its complete Overview, and return the screen's text.

        Args:
            expression: the filter.
            part: part of the group id that the Overview must show; by default, `expression`.
        """
        self.filter(expression, shown=1)
        self.terminal.keys("n", "1")
        named = re.compile(rf"(?:^|▏) group +.*{re.escape(part or expression)}", re.MULTILINE)
        return self.terminal.wait_for(lambda screen: named.search(screen) and "described by" in screen)

    def pane(self, key: str, text: str) -> str:
        """Press `key`, which opens a pane, and wait until `text` is on the screen; return the screen's text."""
        self.terminal.keys(key)
        return self.terminal.wait_for(text)

    def open_pane(self, key: str) -> None:
        """Open a pane, and wait until the tab whose title begins with `key` is highlighted."""
        self.terminal.keys(key)
        highlighted = re.compile(rf"\x1b\[1m\x1b\[[\d;]+m\x1b\[48;[\d;]+m{key} ")
        self.terminal.wait_for(lambda _: highlighted.search(self.terminal.screen_with_colors()))

    def leave_pane(self) -> None:
        """If a pane is shown instead of the tree, as on a narrow screen, return to the tree."""
        if "by type, state" not in self.terminal.screen():
            self.terminal.keys("Escape")
            self.terminal.wait_for("by type, state")


def _complete(screen: str) -> bool:
    """Return whether the header says that all brokers have responded.

    A narrow header shows the number of problems instead of the number of brokers. For a narrow header, return whether
    the number of problems is shown.
    """
    found = re.search(r"LIVE · (?:read-only · )?brokers (\d+)/(\d+) · [\d,]+ group", screen)
    return found[1] == found[2] if found is not None else bool(re.search(r"LIVE · .*\d+ (more|problem)", screen))


def names_shown(screen: str) -> set[str]:
    """Return the names in the rows of the tree, such as group ids. Some are escaped or shortened."""
    return set(re.findall(r"^.\s*\S (\S.*?)\s{2,}", screen, re.MULTILINE))


def shows_node(name: str) -> Callable[[str], object]:
    """Return a function that checks whether the tree shows a top-level node whose name begins with `name`."""
    return re.compile(rf"^ [▾▸] {name}", re.MULTILINE).search
