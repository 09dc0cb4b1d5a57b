"""A table with a detail area below it. The detail area shows the values of the row under the cursor in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from textual import on
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import MUTED, Cell, PaneLine, wrap_cells
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.tui.panes.columns import Column

RowT = TypeVar("RowT")


class RowDetail(VerticalScroll, can_focus=False):
    """The detail area below a table. It shows the values of one row in full, with the titles of the columns."""

    DEFAULT_CSS = """
    RowDetail {
        height: auto; max-height: 40%; background: $panel; display: none; scrollbar-size-vertical: 1;
    }
    RowDetail.-visible { display: block; }
    RowDetail Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        yield Static()

    def describe(self, columns: tuple[Column[RowT], ...], row: RowT | None, width: int) -> None:
        """Show the values of a row, wrapped to `width` terminal cells. If `row` is None, hide the detail area."""
        self.set_class(row is not None, "-visible")
        lines = detail_lines(columns, row, max(16, width - 2)) if row is not None else []
        self.query_one(Static).update(to_content(lines))


def detail_lines(columns: tuple[Column[RowT], ...], row: RowT, width: int) -> list[PaneLine]:
    """Format a row as `title value   title value …`, wrapped to lines of `width` terminal cells.

    Columns that have no value in this row are left out.
    """
    cells: list[Cell] = []
    for column in columns:
        value = column.full_cell(row)
        if value.text:
            cells += [Cell(f"{column.title.lower()} ", MUTED), value, Cell("   ")]
    return wrap_cells(cells, width)


class DetailedTable(Vertical, Generic[RowT]):
    """A table with a detail area below it, which shows the row under the cursor in full.

    If the whole widget is less than 12 lines high, the detail area is hidden.
    """

    DEFAULT_CSS = """
    DetailedTable { height: 1fr; }
    DetailedTable.-low RowDetail { display: none; }
    """

    def __init__(self, table: LineTable[RowT], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.table = table
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield self.table
        yield RowDetail()

    def on_resize(self) -> None:
        self.set_class(self.size.height < 12, "-low")
        # Textual ignores layout requests during a resize, so the detail area is updated after the resize.
        self.call_after_refresh(self._update_detail, force=True)

    @on(LineTable.CursorMoved)
    def _cursor_moved(self) -> None:
        self._update_detail()

    def _update_detail(self, *, force: bool = False) -> None:
        row = self.table.row
        shown = (row, [column.id for column in self.table.columns])
        if force or shown != self._shown:
            self._shown = shown
            # Wrap the text to the width of this widget. The width of the detail area cannot be used, because it is 0
            # while the detail area is hidden.
            self.query_one(RowDetail).describe(self.table.columns, row, self.size.width)
