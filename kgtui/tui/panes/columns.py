"""The columns of tables, and the choice of the columns that fit the width of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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
        id: identifies the column when rows are sorted, and in Textual messages.
        value: returns the value of this column for a row. The widest value determines the width of the column.
        render: returns the cell to draw for a row; None to draw the value.
        rank: 0 for a column that is always shown. On a narrow screen, the columns with the highest ranks are left out.
        right: whether the column is right-aligned, as numbers are. A right-aligned column is never narrowed.
        min_width: smallest width of a left-aligned column, in terminal cells. If the columns do not fit even at their
            smallest width, the column with the highest rank is left out.
        max_width: largest width of the column, in terminal cells.
        cut: where a text that is too long is shortened: at its end or in its middle.
        if_spare: if true, the column is shown only if there is enough space to show the texts of all columns in full.
        if_values: whether the column is shown only if some row has a value in it.
        not_over: ids of columns whose texts are not shortened to make room for this column. This column is left out
            instead.
        full: returns the text for the detail area below the table; None to use the cell.
        field: the field of `kgtui.model.fields` that the column shows; None for a column that shows no such field.
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
    if_spare: bool = False
    if_values: bool = False
    not_over: tuple[str, ...] = ()
    full: Callable[[RowT], Cell] | None = None
    field: Field[Any] | None = None

    def cell(self, row: RowT) -> Cell:
        if self.render is not None:
            return self.render(row)
        value = self.value(row)
        return Cell(text.marks().none, "kg-muted") if value is None else Cell(str(value))

    def full_cell(self, row: RowT) -> Cell:
        """Return the text of this column in the detail area below the table, which shows one row in full."""
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
    """Return a column for a field of the catalog `kgtui.model.fields`, with the field's name, title and format.

    Args:
        record_of: returns the object from which the field reads its value for a row. If it returns None, the cell is
            blank.
        value: returns the value of a row; None to use the value of the field.
        render: returns the cell of a row; None to show the value of the field in the field's format.

    The other parameters have the same meaning as in `Column`.
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
        min_width=min_width, max_width=max_width, cut=cut, full=full, field=field,
    )  # fmt: skip


def preferred_width(column: Column[RowT], rows: Sequence[RowT]) -> int:
    """Return the width of the title or of the widest value, in terminal cells, but at most `max_width`.

    It is 0 for a column that is shown only if it has values, and has none.

    Not all values are measured, so that 10,000 rows take only a few milliseconds. Only the 20 texts with the most
    characters, the largest number and the smallest number are measured.
    """
    if column.if_values and not any(column.value(row) for row in rows):
        return 0
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
    """Choose the columns that fit the available width. Return each with its width in terminal cells.

    Args:
        preferred: column id → width at which no value of the column is cut off.
        room: width that is available for all columns, in terminal cells.
    """
    shown = [column for column in columns if preferred[column.id] or not column.if_values]
    for column in reversed(shown[:]):
        if column.if_spare and sum(preferred[one.id] + GAP for one in shown) - GAP > room:
            shown.remove(column)

    def least(column: Column[RowT]) -> int:
        return preferred[column.id] if column.right else min(preferred[column.id], column.min_width)

    for column in reversed(shown[:]):
        wanted = sum((preferred[one.id] if one.id in column.not_over else least(one)) + GAP for one in shown) - GAP
        if column.not_over and wanted > room:
            shown.remove(column)
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
    """Return the id of the column that covers terminal cell `x` of a line; None if `x` is right of the last column."""
    left = 0
    for column, width in fitted:
        if left <= x < left + width + GAP:
            return column.id
        left += width + GAP
    return None
