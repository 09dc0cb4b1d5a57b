"""Columns of the tables in panes, and the choice of columns that fit the width of the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len

from kgtui.model.fields import Missing
from kgtui.tui import text
from kgtui.tui.panes.cells import Cell, none_cell, number_cell, unknown_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kgtui.model.fields import Field
    from kgtui.tui.text import Cut

RowT = TypeVar("RowT")
RecordT = TypeVar("RecordT")
GAP = 1


@dataclass(frozen=True, slots=True)
class Column(Generic[RowT]):
    """One column of a table.

    Attributes:
        id: name of the column in messages and for sorting.
        value: returns the value of a row, which decides on the width of the column.
        render: returns the cell of a row; None to show the value.
        rank: 0 for a column that is always shown. On a narrow screen, the columns with the highest ranks are left out.
        right: whether it is right-aligned, as numbers are. Such a column is never cut.
        min_width: terminal cells that a left-aligned column keeps before columns of higher rank are left out.
        max_width: the most terminal cells that the column takes.
        full: returns the text of the row's detail below the table; None to show the cell.
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
        """Return the cell of a row, as the table shows it."""
        if self.render is not None:
            return self.render(row)
        value = self.value(row)
        return Cell(text.marks().none, "kg-muted") if value is None else Cell(str(value))

    def full_cell(self, row: RowT) -> Cell:
        """Return the text of a row, as the detail below the table shows it."""
        return self.full(row) if self.full is not None else self.cell(row)


def field_column(
    field: Field[[RecordT]],
    record_of: Callable[[RowT], RecordT | None],
    *,
    value: Callable[[RowT], int | str | None] | None = None,
    render: Callable[[RowT], Cell] | None = None,
    rank: int = 0,
    min_width: int = 8,
    max_width: int = 40,
    cut: Cut = "end",
    full: Callable[[RowT], Cell] | None = None,
) -> Column[RowT]:
    """Make a column with the name, title, alignment and format of a field of the catalog (`kgtui.model.fields`).

    Args:
        record_of: returns what the field takes its value from; None for a row in which the column stays blank.
        value: replaces the value of the field.
        render: replaces the format of the field.
    """

    def field_value(row: RowT) -> int | str | None:
        record = record_of(row)
        found = None if record is None else field.value(record)
        return found if found is None or field.align == "right" else field.format(found)

    def field_cell(row: RowT) -> Cell:
        if record_of(row) is None:
            return Cell("")
        found = field_value(row)
        if found is None or found == "":
            return none_cell() if field.missing is Missing.NONE else unknown_cell()
        return Cell(found) if isinstance(found, str) else number_cell(found)

    return Column(
        field.name, field.title, value or field_value, render or field_cell, rank=rank, right=field.align == "right",
        min_width=min_width, max_width=max_width, cut=cut, full=full,
    )  # fmt: skip


def preferred_width(column: Column[RowT], rows: Sequence[RowT]) -> int:
    """Return the width, in terminal cells, that fits the title and the widest value, but at most `max_width`.

    Only the longest texts and the largest number are measured, so that 10,000 rows take a few milliseconds.
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
    columns: Sequence[Column[RowT]], preferred: Mapping[str, int], room: int
) -> list[tuple[Column[RowT], int]]:
    """Choose the columns that fit into a width of `room` terminal cells, and return them in order with their widths."""
    shown = list(columns)

    def least(column: Column[RowT]) -> int:
        return preferred[column.id] if column.right else min(preferred[column.id], column.min_width)

    while len(shown) > 1 and sum(least(column) + GAP for column in shown) - GAP > room:
        last = max(shown, key=lambda column: (column.rank, columns.index(column)))
        if last.rank == 0:
            break
        shown.remove(last)
    widths = {column.id: least(column) for column in shown}
    spare = room - sum(width + GAP for width in widths.values()) + GAP
    for column in sorted(shown, key=lambda column: column.rank):
        more = max(0, min(spare, preferred[column.id] - widths[column.id]))
        widths[column.id] += more
        spare -= more
    return [(column, widths[column.id]) for column in shown]


def column_at(fitted: Sequence[tuple[Column[RowT], int]], x: int) -> str | None:
    """Return the id of the column at a horizontal position; None right of the last column."""
    left = 0
    for column, width in fitted:
        if left <= x < left + width + GAP:
            return column.id
        left += width + GAP
    return None
