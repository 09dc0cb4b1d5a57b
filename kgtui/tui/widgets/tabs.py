"""A line with the titles of tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events


class LineTabs(LineWidget):
    """A line with the titles of tabs. A click on a title posts `Chosen`. Subclasses override `titles`.

    Textual's own tabs consist of a dozen widgets, and are slower.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--front", "tabs--behind"}
    """
    | Class | Description |
    | :- | :- |
    | `tabs--front` | The title of the tab whose content is shown. |
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
        """Posted when the user has clicked a title.

        Attributes:
            tab: id of the tab.
        """

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, front: str) -> None:
        super().__init__()
        self.front = front
        """Id of the tab whose content is shown."""
        self._ends: list[tuple[int, str]] = []

    def titles(self, width: int) -> Mapping[str, str]:
        """Return a dict: tab id → title, from left to right. Subclasses must override this method.

        Args:
            width: number of terminal cells for the titles and one blank after each title.
        """
        raise NotImplementedError

    def bring(self, tab: str) -> None:
        """Highlight the title of the tab with the id `tab`, because the content of this tab is now shown."""
        self.front = tab
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the titles for a line of this width in terminal cells."""
        pieces: list[Piece] = []
        self._ends, end = [], 0
        # Subtract one cell for the blank before the first title. `titles` reserves cells for the blanks after titles.
        for tab, title in self.titles(width - 1).items():
            pieces += [(" ", ""), (title, "tabs--front" if tab == self.front else "tabs--behind")]
            end += 1 + len(title)
            self._ends.append((end, tab))
        return pieces

    def on_click(self, event: events.Click) -> None:
        """Post `Chosen` for the clicked title. A click on the blank before a title counts as a click on the title."""
        tab = next((tab for end, tab in self._ends if event.x < end), None)
        if tab is not None:
            self.post_message(self.Chosen(tab))
