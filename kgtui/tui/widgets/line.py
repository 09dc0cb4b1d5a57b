"""A widget with one line of text. It redraws only changed cells, so that a clock in it causes little output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from kgtui.tui import text
from kgtui.tui.textual_compat.rendering import StyleCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style

Piece = tuple[str, str]
"""(text without control characters, component class for its style). The component class can be empty."""


class LineWidget(StyleCache):
    """One line that consists of pieces of text. Subclasses override `pieces`."""

    DEFAULT_CSS = """
    LineWidget { height: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._pieces: tuple[Piece, ...] = ()
        self._width = 0  # width of the widget when `_pieces` was computed, in terminal cells

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the pieces of text for a line of `width` terminal cells. Subclasses must override this method."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Compute the text of the line again, and redraw the cells whose content or style has changed."""
        old, new = self._pieces, self._fitted_pieces()
        if new == old:
            return
        start, end = _changed_cells(_cells(old), _cells(new))
        self.refresh(Region(start, 0, end - start, 1))

    def on_resize(self) -> None:
        self._fitted_pieces()
        self.refresh()

    def _fitted_pieces(self) -> tuple[Piece, ...]:
        self._width = self.size.width
        self._pieces = tuple(self.pieces(self._width))
        return self._pieces

    def render_line(self, y: int) -> Strip:
        base = self.base_style
        width = self.size.width
        if width != self._width:
            # The width of the widget has changed, for example because the widget was hidden before. Compute the pieces
            # of text for the new width.
            self._fitted_pieces()
        if y or not self._pieces:
            return Strip.blank(width, base)
        segments = [Segment(piece, base + self.style_of(role)) for piece, role in self._pieces]
        return Strip(segments).adjust_cell_length(width, base)

    def style_of(self, role: str) -> Style:
        """Return the style for a component class, such as `footer--key`. Subclasses may override this method."""
        return self.component_style(role)


def spread(left: Iterable[Piece], right: Iterable[Piece], width: int) -> list[Piece]:
    """Return the pieces of a line of `width` terminal cells: `left`, then blanks, then `right`, aligned to the right.

    If the line is too narrow for `left` and `right` together, the end of `left` is cut off.
    """
    left, right = list(left), list(right)
    free = max(width - sum(cell_len(piece) for piece, _ in right), 0)
    fitted: list[Piece] = []
    for piece, role in left:
        shown = text.fit(piece, free)
        fitted.append((shown, role))
        free -= cell_len(shown)
        if shown != piece:
            break
    return [*fitted, (" " * free, ""), *right]


def _cells(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    cells: list[tuple[str, str]] = []
    for piece, role in pieces:
        for char in piece:
            size = cell_len(char)
            cells += [(char, role)] if size == 1 else [(char, role)] + [("", role)] * (size - 1)
    return cells


def _changed_cells(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> tuple[int, int]:
    """Return the range of cells to redraw: (first changed cell, last changed cell + 1); (0, 0) if nothing changed."""
    length = max(len(old), len(new))
    differ = [index for index in range(length) if old[index : index + 1] != new[index : index + 1]]
    return (differ[0], differ[-1] + 1) if differ else (0, 0)
