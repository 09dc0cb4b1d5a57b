"""Columns of a table, and which of them fit: the essential ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len

from kgtui.tui import text
from kgtui.tui.panes.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kgtui.tui.text import Cut

RowT = TypeVar("RowT")
GAP = 1


@dataclass(frozen=True, slots=True)
class Column(Generic[RowT]):
    """One column.

    Attributes:
        id: names the column in messages and for sorting.
        value: what it is sorted and measured by; None sorts last.
        render: the cell; None for the value as it is.
        rank: 0 is always shown; of the others, the highest rank is left out first where it is narrow.
        right: flush right, for numbers.
        min_width: cells below which a text is not cut; numbers are never cut.
        max_width: cells beyond which it does not grow.
        full: what the detail line says; None for the cell.
    """

    id: str
    title: str
    value: Callable[[RowT], int | str | None]
    render: Callable[[RowT], Cell] | None = None
    rank: int = 0
    right: bool = False
    min_width: int = 8
    max_width: int = 40
    cut: Cut = "end"
    full: Callable[[RowT], Cell] | None = None

    def cell(self, row: RowT) -> Cell:
        """What stands in the column for a row."""
        if self.render is not None:
            return self.render(row)
        value = self.value(row)
        return Cell(text.marks().none, "kg-muted") if value is None else Cell(str(value))

    def full_cell(self, row: RowT) -> Cell:
        """What the detail line says for a row."""
        return self.full(row) if self.full is not None else self.cell(row)


def preferred_width(column: Column[RowT], rows: Sequence[RowT]) -> int:
    """Cells that the column would like: its title, its widest value, never more than `most`.

    Only distinct texts and the largest number are written out, so that 10,000 rows cost a few milliseconds.
    """
    widest = cell_len(column.title)
    if widest >= column.max_width:
        return column.max_width
    values = {column.value(row) for row in rows}
    numbers = [value for value in values if isinstance(value, int)]
    if numbers:
        widest = max(widest, len(text.exact(max(numbers))), len(text.exact(min(numbers))))
    texts = sorted((value for value in values if isinstance(value, str)), key=len, reverse=True)
    for value in texts[:20]:
        widest = max(widest, cell_len(text.plain(value, column.max_width)))
    return min(widest, column.max_width)


def fit_columns(
    columns: Sequence[Column[RowT]], wanted: Mapping[str, int], room: int
) -> list[tuple[Column[RowT], int]]:
    """The columns that fit into `room` cells with their widths, in their order."""
    shown = list(columns)

    def least(column: Column[RowT]) -> int:
        return wanted[column.id] if column.right else min(wanted[column.id], column.min_width)

    while len(shown) > 1 and sum(least(column) + GAP for column in shown) - GAP > room:
        last = max(shown, key=lambda column: (column.rank, columns.index(column)))
        if last.rank == 0:
            break
        shown.remove(last)
    widths = {column.id: least(column) for column in shown}
    spare = room - sum(width + GAP for width in widths.values()) + GAP
    for column in sorted(shown, key=lambda column: column.rank):
        more = max(0, min(spare, wanted[column.id] - widths[column.id]))
        widths[column.id] += more
        spare -= more
    return [(column, widths[column.id]) for column in shown]


def column_at(fitted: Sequence[tuple[Column[RowT], int]], x: int) -> str | None:
    """Id of the column at a cell of the line; None beyond the last."""
    left = 0
    for column, width in fitted:
        if left <= x < left + width + GAP:
            return column.id
        left += width + GAP
    return None
