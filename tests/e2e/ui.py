"""The UI in a terminal, by what a person wants of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.terminal import TIMEOUT

if TYPE_CHECKING:
    from tests.e2e.terminal import Terminal

HINT = "filter: a word"
"""What stands in the filter bar while there is no filter."""


class Ui:
    """A running UI; `terminal` is the one it runs in."""

    def __init__(self, terminal: Terminal, *arguments: str) -> None:
        self.terminal = terminal
        self._arguments = arguments

    def start(self) -> None:
        """Start it and wait until every broker has answered and every group is listed."""
        self.terminal.start(*self._arguments)
        self.wait_until_complete()

    def wait_until_complete(self, timeout: float = TIMEOUT) -> str:
        """Wait until every broker has answered; the screen."""
        return self.terminal.wait_for(_complete, timeout)

    @property
    def at_rest(self) -> bool:
        """Whether the tree is on the screen with no dialog and no filter, as at the start."""
        lines = self.terminal.screen().rstrip("\n").split("\n")
        if len(lines) < 4 or HINT not in lines[1] or "q quit" not in lines[-1] or "marked" in lines[0]:
            return False
        return bool(re.match(r" by type, state +count +lag ", f"{lines[2]} ")) and "LIVE" in lines[0]

    def settle(self) -> None:
        """Bring a UI that a test has left in another state back to its start, if need be by starting it anew."""
        if self.at_rest:
            return
        if not self.terminal.at_prompt():
            self.terminal.keys("C-c")
            self.terminal.status()
        self.start()

    def filter(self, expression: str, shown: int) -> str:
        """Put a filter in force and wait for so many groups; the screen."""
        self.begin_filter()
        self.terminal.type(expression)
        return self.keep_filter(shown)

    def begin_filter(self) -> None:
        """Put the focus into the filter bar."""
        self.terminal.keys("/")
        self.terminal.wait_for(lambda _: self._typing)

    def keep_filter(self, shown: int) -> str:
        """Keep the filter that was typed, once it shows so many groups; the screen."""
        self.terminal.wait_for(f"{shown} shown")
        self.terminal.keys("Enter")
        return self.terminal.wait_for(lambda _: not self._typing)

    @property
    def _typing(self) -> bool:
        """Whether the filter has the focus: its field has another background than the rest of the bar then."""
        bar = self.terminal.painted().split("\n")[1]
        return len(set(re.findall(r"48;[25];[\d;]+", bar))) > 1

    def drop_filter(self) -> None:
        """Take the filter away."""
        self.terminal.keys("Escape")
        self.terminal.wait_for(HINT)

    def select(self, expression: str, part: str = "") -> str:
        """Put the cursor on the one group that a filter lets through, and wait until it is described; the screen.

        On a narrow screen its Overview takes the tree's place.

        Args:
            part: what its id has in it as it is shown, where that is not the filter itself.
        """
        self.filter(expression, shown=1)
        self.terminal.keys("n", "1")
        named = re.compile(rf"(?:^|▏) group +.*{re.escape(part or expression)}", re.MULTILINE)
        return self.terminal.wait_for(lambda screen: named.search(screen) and "described by" in screen)

    def pane(self, key: str, text: str) -> str:
        """Bring a pane to the front and wait for a text of it; the screen."""
        self.terminal.keys(key)
        return self.terminal.wait_for(text)

    def leave_pane(self) -> None:
        """Back to the tree, where a pane is in its place."""
        if "by type, state" not in self.terminal.screen():
            self.terminal.keys("Escape")
            self.terminal.wait_for("by type, state")


def _complete(screen: str) -> bool:
    found = re.search(r"LIVE · (?:read-only · )?brokers (\d+)/(\d+) · [\d,]+ group", screen)
    return found is not None and found[1] == found[2]


def names_shown(screen: str) -> set[str]:
    """Groups in the lines of the tree, as they are shown."""
    return set(re.findall(r"^.\s*\S (\S.*?)\s{2,}", screen, re.MULTILINE))
