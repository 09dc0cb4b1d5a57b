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
        value: returns the value of this column for a row, or None if the row has no value. The widest value determines
            the preferred width of the column.
        render: returns the formatted cell for a row. If `render` is None, the value is shown without formatting.
        rank: importance of the column. On a narrow screen, the columns with the highest ranks are left out first. A
            column with rank 0 is always shown.
        right: whether the column is right-aligned. A right-aligned column is never narrowed.
        min_width: smallest width of a left-aligned column, in terminal cells.
        max_width: largest width while other columns need the width, in terminal cells.
        cut: where a long text is shortened: at its end or in its middle.
        if_spare: whether to show the column only if all columns fit without being narrowed.
        if_values: whether to show the column only if at least one row has a value in it.
        not_over: ids of more important columns. If one of these would otherwise have to be narrowed, this column is
            left out.
        full: returns the cell for the detail area below the table, which shows one row in full. If `full` is None, the
            detail area shows the same cell as the table.
        field: the field of `kgtui.model.fields` that the column shows; None if there is none.
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
        """Return the cell for the detail area below the table, which shows one row in full."""
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
    """Return a column with the name, title and format of a field of `kgtui.model.fields`.

    Args:
        record_of: converts a row into the object from which the field takes its value. If the function returns None,
            the cell is blank.
        value: returns the value for a row. If `value` is None, the field computes the value.
        render: returns the formatted cell for a row. If `render` is None, the field formats the value.

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


def preferred_width(column: Column[RowT], rows: Sequence[RowT], most: int | None = None) -> int:
    """Return the width that the title and all values of a column need, in terminal cells, but at most `most`.

    Return 0 for a column that is hidden because no row has a value (`if_values`).

    Args:
        most: None for `Column.max_width`.
    """
    most = column.max_width if most is None else most
    if column.if_values and not any(column.value(row) for row in rows):
        return 0
    widest = cell_len(column.title)
    if widest >= most:
        return most
    values = {column.value(row) for row in rows}
    numbers = [value for value in values if isinstance(value, int)]
    if numbers:
        widest = max(widest, len(text.exact(max(numbers))), len(text.exact(min(numbers))))
    texts = sorted((value for value in values if isinstance(value, str)), key=len, reverse=True)
    for value in texts[:20]:
        widest = max(widest, cell_len(text.plain(value, most)))
    return min(widest, most)


def fit_columns(
    columns: Sequence[Column[RowT]], preferred: Mapping[str, int], room: int
) -> list[tuple[Column[RowT], int]]:
    """Choose the columns that fit the table, and return (column, width in terminal cells) for each.

    Args:
        preferred: column id → width that the column gets if all columns fit (`preferred_width`), in terminal cells.
        room: available width for all columns together, in terminal cells.
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
    shown = _most_important(shown, least, room)
    widths = {column.id: least(column) for column in shown}
    spare = room - sum(width + GAP for width in widths.values()) + GAP
    for column in sorted(shown, key=lambda column: column.rank):
        more = max(0, min(spare, preferred[column.id] - widths[column.id]))
        widths[column.id] += more
        spare -= more
    return [(column, widths[column.id]) for column in shown]


def widen_columns(
    fitted: Sequence[tuple[Column[RowT], int]], rows: Sequence[RowT], room: int
) -> list[tuple[Column[RowT], int]]:
    """Give width that is left over to columns whose values are cut off at `Column.max_width`.

    Args:
        fitted: result of `fit_columns`.
        room: available width for all columns together, in terminal cells.
    """
    spare = room - sum(width + GAP for _, width in fitted) + GAP
    widened: list[tuple[Column[RowT], int]] = []
    for column, width in fitted:
        if spare > 0 and column.min_width < column.max_width == width:
            more = preferred_width(column, rows, width + spare) - width
            width, spare = width + more, spare - more
        widened.append((column, width))
    return widened


def _most_important(
    columns: Sequence[Column[RowT]], least: Callable[[Column[RowT]], int], room: int
) -> list[Column[RowT]]:
    """Return the columns that fit, in the given order.

    Columns with the lowest `Column.rank` are chosen first. Columns with rank 0 are returned even if they do not fit.

    Args:
        least: returns the minimum width of a column, in terminal cells.
        room: available width for all columns together, in terminal cells.
    """
    shown: list[Column[RowT]] = []
    for column in sorted(columns, key=lambda column: column.rank):
        # Do not stop at the first column that does not fit, because a narrower column after it can still fit.
        if column.rank == 0 or not shown or sum(least(one) + GAP for one in (*shown, column)) - GAP <= room:
            shown.append(column)
    return sorted(shown, key=columns.index)


def column_at(fitted: Sequence[tuple[Column[RowT], int]], x: int) -> str | None:
    """Return the id of the column at terminal cell `x` of a line; None if `x` is right of the last column."""
    left = 0
    for column, width in fitted:
        if left <= x < left + width + GAP:
            return column.id
        left += width + GAP
    return None
