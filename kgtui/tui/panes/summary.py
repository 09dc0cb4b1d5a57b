"""One or two lines of what matters most, above a pane's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from kgtui.tui import text
from kgtui.tui.panes.base import Said
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


class SummaryLine(Said):
    """Says its cells, wrapped, with a hint at the end where there is room; repaints only when they differ."""

    DEFAULT_CSS = "SummaryLine { max-height: 3; color: $foreground; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._cells: tuple[Cell, ...] = ()
        self._hint = ""

    def say(self, cells: tuple[Cell, ...], *, hint: str = "") -> None:
        """Show these cells, and the keys that help where there is room; nothing hides the line."""
        if (cells, hint) != (self._cells, self._hint):
            self._cells, self._hint = cells, hint
            self.write()

    def lines(self, width: int) -> list[tuple[Cell, ...]]:
        return hinted(wrap(self._cells, width), self._hint, width) if self._cells else []


def hinted(lines: list[tuple[Cell, ...]], hint: str, width: int) -> list[tuple[Cell, ...]]:
    """Lines with a hint flush right on the last, if three cells stay free before it."""
    if not hint or not lines:
        return lines
    free = width - sum(cell_len(cell.text) for cell in lines[-1]) - cell_len(hint)
    if free < 3:
        return lines
    return [*lines[:-1], (*lines[-1], Cell(Shown(" " * free + hint), MUTED))]
