"""The lines of a table as strips: its heading and one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.segment import Segment
from textual.strip import Strip

from kgtui.tui import text
from kgtui.tui.panes.cells import fitted
from kgtui.tui.panes.columns import GAP, Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style

RowT = TypeVar("RowT")
Arranged = list[tuple[Column[RowT], int]]


def heading(arranged: Arranged[RowT], sorted_by: tuple[str, bool] | None, style: Style, chosen: Style) -> Strip:
    """The titles; that of the sorted column in `chosen`."""
    segments: list[Segment] = []
    for column, width in arranged:
        is_sorted = sorted_by is not None and sorted_by[0] == column.id
        title = text.pad(column.title, width, right=column.right)
        segments += [Segment(title, chosen if is_sorted else style), Segment(" " * GAP, style)]
    return Strip(segments)


def line(arranged: Arranged[RowT], row: RowT, base: Style, ink: Callable[[str], Style] | None) -> Strip:
    """One row; `ink` gives the colour of a role, None leaves all of it in `base`."""
    segments: list[Segment] = []
    for column, width in arranged:
        cell = column.cell(row)
        style = base + ink(cell.role) if ink is not None and cell.role else base
        said = text.pad(fitted(cell.text, width, cut=column.cut), width, right=column.right)
        segments += [Segment(said, style), Segment(" " * GAP, base)]
    return Strip(segments)
