"""One or two lines of what matters most, above a pane's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.widgets import Static

from kgtui.tui import text
from kgtui.tui.panes.base import ink
from kgtui.tui.panes.cells import MUTED, Cell, Shown, wrap

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
    """Says its cells, wrapped, with a hint at the end where there is room; repaints only when they differ."""

    DEFAULT_CSS = """
    SummaryLine { height: auto; max-height: 3; color: $foreground; display: none; }
    SummaryLine.-said { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._cells: tuple[Cell, ...] = ()
        self._hint = ""
        self._shape = (0, 0)

    def say(self, cells: tuple[Cell, ...], *, hint: str = "") -> None:
        """Show these cells, and the keys that help where there is room; nothing hides the line."""
        if (cells, hint) != (self._cells, self._hint):
            self._cells, self._hint = cells, hint
            self._write()

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        self.set_class(bool(self._cells), "-said")
        width = max(16, self.size.width or 80)
        lines = hinted(wrap(self._cells, width), self._hint, width)
        # A layout draws the whole screen again: only for more lines or fewer.
        self.update(ink(lines), layout=(width, len(lines)) != self._shape)
        self._shape = (width, len(lines))


def hinted(lines: list[tuple[Cell, ...]], hint: str, width: int) -> list[tuple[Cell, ...]]:
    """Lines with a hint flush right on the last, if three cells stay free before it."""
    if not hint or not lines:
        return lines
    free = width - sum(cell_len(cell.text) for cell in lines[-1]) - cell_len(hint)
    if free < 3:
        return lines
    return [*lines[:-1], (*lines[-1], Cell(Shown(" " * free + hint), MUTED))]
