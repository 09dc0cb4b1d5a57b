"""A line with the titles of tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events


class LineTabs(LineWidget):
    """The line with the titles of tabs. A click on a title brings the tab to the front. Subclasses override `titles`.

    Textual's own tabs are not used, because they consist of a dozen widgets, which would slow down each frame.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--front", "tabs--behind"}
    """
    | Class | Description |
    | :- | :- |
    | `tabs--front` | The title of the tab in front. |
    | `tabs--behind` | The titles of the other tabs. |
    """

    DEFAULT_CSS = """
    LineTabs {
        background: $surface;
        & > .tabs--front {
            color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
        }
        & > .tabs--behind { color: $kg-muted; }
    }
    """

    class Chosen(Message):
        """Posted when the user has clicked the title of a tab.

        Attributes:
            tab: id of the tab.
        """

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, front: str) -> None:
        super().__init__()
        self.front = front
        """Id of the tab in front."""
        self._ends: list[tuple[int, str]] = []

    def titles(self, width: int) -> Mapping[str, str]:
        """Return the titles of all tabs, from left to right, by tab id. Subclasses must override this method.

        Args:
            width: number of terminal cells that are available for the titles and one blank after each of them.
        """
        raise NotImplementedError

    def bring(self, tab: str) -> None:
        """Highlight the title of a tab that has been brought to the front."""
        self.front = tab
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the titles of the tabs, for a line of this width in terminal cells."""
        pieces: list[Piece] = []
        self._ends, end = [], 0
        # The titles get one cell less than the width, because a blank precedes the first title.
        for tab, title in self.titles(width - 1).items():
            pieces += [(" ", ""), (title, "tabs--front" if tab == self.front else "tabs--behind")]
            end += 1 + len(title)
            self._ends.append((end, tab))
        return pieces

    def on_click(self, event: events.Click) -> None:
        """Post `Chosen`, so that the parent widget brings the clicked tab to the front.

        A click on the blank before a title counts as a click on the title.
        """
        tab = next((tab for end, tab in self._ends if event.x < end), None)
        if tab is not None:
            self.post_message(self.Chosen(tab))
