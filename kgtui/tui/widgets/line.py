"""A widget of one line that redraws only the cells that differ: a clock in it costs a few bytes a tick."""

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
"""Harmless text, and the component class that colours it (`` for none)."""


class LineWidget(StyleCache):
    """One line of pieces on the left and on the right; what does not fit is cut at the end of the left."""

    DEFAULT_CSS = """
    LineWidget { height: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._pieces: tuple[Piece, ...] = ()

    def pieces(self, width: int) -> Sequence[Piece]:
        """What the line says in so many cells. Overridden."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again the cells that differ from what is on the screen."""
        new = tuple(self.pieces(self.size.width))
        old, self._pieces = self._pieces, new
        if new == old:
            return
        start, end = _changed(_cells(old), _cells(new))
        self.refresh(Region(start, 0, end - start, 1))

    def on_resize(self) -> None:
        """Another width has room for other pieces."""
        self._pieces = tuple(self.pieces(self.size.width))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line, filled to the width."""
        base = self.base_style
        width = self.size.width
        if y or not self._pieces:
            return Strip.blank(width, base)
        segments = [Segment(words, base + self.style_of(role)) for words, role in self._pieces]
        return Strip(segments).adjust_cell_length(width, base)

    def style_of(self, role: str) -> Style:
        """The style of a piece."""
        return self.component_style(role)


def spread(left: Iterable[Piece], right: Iterable[Piece], width: int) -> list[Piece]:
    """Pieces on the left and on the right with blanks between them; the left is cut where both do not fit."""
    left, right = list(left), list(right)
    taken = sum(cell_len(words) for words, _ in right)
    room = max(width - taken, 0)
    fitted: list[Piece] = []
    for words, role in left:
        shown = text.fit(words, room)
        fitted.append((shown, role))
        room -= cell_len(shown)
        if shown != words:
            break
    return [*fitted, (" " * room, ""), *right]


def _cells(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    cells: list[tuple[str, str]] = []
    for words, role in pieces:
        for char in words:
            size = cell_len(char)
            cells += [(char, role)] if size == 1 else [(char, role)] + [("", role)] * (size - 1)
    return cells


def _changed(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> tuple[int, int]:
    """From the first cell that differs to the last: Textual writes a widget's line from its beginning for each span."""
    length = max(len(old), len(new))
    differ = [at for at in range(length) if old[at : at + 1] != new[at : at + 1]]
    return (differ[0], differ[-1] + 1) if differ else (0, 0)
