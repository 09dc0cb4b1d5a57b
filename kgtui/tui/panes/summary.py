"""One or two lines of what matters most, above a pane's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from kgtui.tui import text
from kgtui.tui.panes.base import ink
from kgtui.tui.panes.cells import MUTED, Cell, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def joined(parts: Iterable[Cell | Sequence[Cell]]) -> tuple[Cell, ...]:
    """Parts with a dot between them."""
    cells: list[Cell] = []
    for part in parts:
        if cells:
            cells.append(Cell(f" {text.marks().dot} ", MUTED))
        cells += [part] if isinstance(part, Cell) else part
    return tuple(cells)


class SummaryLine(Static):
    """Says its cells, wrapped; repaints only when they differ."""

    DEFAULT_CSS = """
    SummaryLine { height: auto; max-height: 3; color: $foreground; display: none; }
    SummaryLine.-said { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._cells: tuple[Cell, ...] = ()

    def say(self, cells: tuple[Cell, ...]) -> None:
        """Show these cells; nothing hides the line."""
        if cells != self._cells:
            self._cells = cells
            self._write()

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        self.set_class(bool(self._cells), "-said")
        self.update(ink(wrap(self._cells, max(16, (self.size.width or 80)))))
