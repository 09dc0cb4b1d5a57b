"""A table widget that draws only visible rows, so that 10,000 rows scroll as fast as ten.

When the rows are replaced, the cursor stays on the row with the same key, if one of the new rows has this key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from kgtui.model.marks import ROLES
from kgtui.tui import text
from kgtui.tui.panes.cells import MUTED, fit_text
from kgtui.tui.panes.columns import GAP, Column, column_at, fit_columns, preferred_width, widen_columns
from kgtui.tui.textual_compat.line_view import LineView, movement_bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

RowT = TypeVar("RowT")


class LineTable(LineView, Generic[RowT], can_focus=True):
    """A table with a cursor, and with a heading that stays in place while the rows scroll."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--heading",
        "table--sorted",
        "table--cursor",
        "table--cursor-blurred",
    } | {f"table--{role}" for role in ROLES}
    """
    | class | description |
    |---|---|
    | `table--heading` | the line of titles |
    | `table--sorted` | the title of the column by which rows are sorted |
    | `table--cursor` | the row under the cursor, while the table has the focus |
    | `table--cursor-blurred` | the row under the cursor, while another widget has the focus |
    | `table--kg-…` | text of cells with the color role that follows `table--`, such as `kg-error` |
    """

    BINDINGS: ClassVar[list[BindingType]] = movement_bindings(
        "cursor(-1)", "cursor(1)", "page(-1)", "page(1)", "edge(-1)", "edge(1)"
    )
    """
    | key | does |
    |---|---|
    | up, k / down, j | move the cursor by one row |
    | pageup / pagedown | move the cursor by one page |
    | home, g / end, G | go to the first or to the last row |
    """

    DEFAULT_CSS = """
    LineTable {
        height: 1fr;
        background: $surface;
        color: $foreground;
        scrollbar-background: $surface; scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
        & > .table--heading { color: $kg-muted; text-style: bold; }
        & > .table--sorted { color: $kg-accent; text-style: bold underline; }
        & > .table--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        & > .table--cursor-blurred { background: $block-cursor-blurred-background; }
        & > .table--kg-ok { color: $kg-ok; }
        & > .table--kg-warn { color: $kg-warn; }
        & > .table--kg-error { color: $kg-error; }
        & > .table--kg-muted { color: $kg-muted; }
        & > .table--kg-accent { color: $kg-accent; }
        & > .table--kg-stale { color: $kg-stale; }
    }
    """

    FIXED_LINES = 1

    class CursorMoved(Message):
        """Posted after the cursor has moved to a different row, and after rows or columns were replaced."""

        def __init__(self, table: LineTable[Any]) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> LineTable[Any]:
            """The table that sent this message. Textual applies the selector in `@on(message, selector)` to it."""
            return self.table

    class HeadingPressed(Message):
        """Posted when the user has clicked the title of a column."""

        def __init__(self, table: LineTable[Any], column: str) -> None:
            super().__init__()
            self.table = table
            self.column = column
            """Id of the column whose title was clicked."""

        @property
        def control(self) -> LineTable[Any]:
            """The table that sent this message. Textual applies the selector in `@on(message, selector)` to it."""
            return self.table

    cursor = reactive(0, repaint=False)
    """Index of the row under the cursor; 0 while the table is empty."""

    def __init__(
        self,
        columns: Sequence[Column[RowT]],
        key: Callable[[RowT], Hashable],
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._key = key
        self._rows: Sequence[RowT] = ()
        self._preferred: dict[str, int] = {}
        self._fitted: list[tuple[Column[RowT], int]] = []
        self._placeholder = ""
        self.sorted_by: tuple[str, bool] | None = None

    @property
    def rows(self) -> Sequence[RowT]:
        """The rows in display order."""
        return self._rows

    @property
    def row(self) -> RowT | None:
        """The row under the cursor; None while the table is empty."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def columns(self) -> tuple[Column[RowT], ...]:
        """All columns, including columns that do not fit the width of the table."""
        return self._columns

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the columns that fit the width of the table."""
        return tuple(column.id for column, _ in self._fitted)

    def set_placeholder(self, content: str) -> None:
        """Set the text that is shown while the table has no rows.

        Control characters in the text are not escaped, so the caller must escape strings from the cluster.
        """
        if content != self._placeholder:
            self._placeholder = content
            if not self._rows:
                self.refresh()

    def set_sorted(self, column: str, *, descending: bool) -> None:
        """Highlight the title of the column by which the caller has sorted the rows. This does not sort them."""
        if self.sorted_by != (column, descending):
            self.sorted_by = (column, descending)
            self.refresh()

    def set_rows(
        self,
        rows: Sequence[RowT],
        *,
        columns: Sequence[Column[RowT]] | None = None,
        fresh: bool = False,
        at_top: bool = False,
    ) -> None:
        """Show these rows, and replace the columns if `columns` is not None.

        Unless `fresh` or `at_top` is true, the cursor stays on the row with the same key. If no new row has this key,
        the cursor stays at the same index or, if there are fewer rows, moves to the last row.

        Args:
            fresh: whether the rows are about something else than before, such as a different group. If so, the cursor
                moves to the first row, and columns can become narrower.
            at_top: whether to move the cursor to the first row even if `fresh` is false.
        """
        old, at = self._rows, self.cursor
        if columns is not None:
            other = [column.id for column in columns] != [column.id for column in self._columns]
            self._preferred = {} if other else self._preferred
            self._columns = tuple(columns)
        if fresh:
            self._preferred = {}
        elif old == rows and columns is None:
            return
        self._rows = rows
        target = 0 if fresh or at_top else self._find(old, at)
        self.set_line_count(len(rows) + 1)
        top = self.scroll_offset.y
        in_sight = top <= at < top + self._lines
        if fresh or at_top:
            self.scroll_to(y=0, animate=False)
        elif target != at and in_sight:
            self.scroll_to(y=max(0, top + target - at), animate=False, immediate=True)
        fitted = self._fitted
        self._arrange()
        self.set_reactive(LineTable.cursor, target)
        if fresh or self.scroll_offset.y != top or bool(old) != bool(rows):
            self.refresh()
        elif columns is not None or self._fitted != fitted:
            for y in range(self._lines + 1):
                self.refresh_if_different(y)
        else:
            for index in {at, target, *self._changed_rows(old)}:
                self._refresh_row_if_different(index)
        self.post_message(self.CursorMoved(self))

    def redraw(self) -> None:
        """Draw all rows again, because the display settings, such as the time zone, have changed."""
        self._preferred = {}
        self._arrange()
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Redraw the row with this index if it is visible."""
        line = index - self.scroll_offset.y
        if 0 <= line < self._lines:
            self.refresh(Region(0, line + 1, self.size.width, 1))

    @property
    def _lines(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def _find(self, old: Sequence[RowT], at: int) -> int:
        if at >= len(old) or not self._rows:
            return 0
        key = self._key(old[at])
        if at < len(self._rows) and self._key(self._rows[at]) == key:
            return at
        for index, row in enumerate(self._rows):
            if self._key(row) == key:
                return index
        return min(at, len(self._rows) - 1)

    def _changed_rows(self, old: Sequence[RowT]) -> Iterator[int]:
        """Yield the indexes of the visible rows that differ from the previous rows (`old`)."""
        top = self.scroll_offset.y
        for index in range(top, top + self._lines):
            if old[index : index + 1] != self._rows[index : index + 1]:
                yield index

    def _refresh_row_if_different(self, index: int) -> None:
        line = index - self.scroll_offset.y
        if 0 <= line < self._lines:
            self.refresh_if_different(line + 1)

    def _arrange(self) -> None:
        for column in self._columns:
            preferred = preferred_width(column, self._rows)
            self._preferred[column.id] = max(preferred, self._preferred.get(column.id, 0))
        room = self.scrollable_content_region.width - 1
        self._fitted = widen_columns(fit_columns(self._columns, self._preferred, room), self._rows, room)

    def on_resize(self) -> None:
        self._arrange()
        self.refresh()

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_row(old)
        self.refresh_row(new)
        self._scroll_to_cursor()
        self.post_message(self.CursorMoved(self))

    def validate_cursor(self, index: int) -> int:
        return max(0, min(index, len(self._rows) - 1))

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self.refresh_row(self.cursor)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def _scroll_to_cursor(self) -> None:
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + self._lines:
            self.scroll_to(y=self.cursor - self._lines + 1, animate=False, immediate=True)

    def action_cursor(self, step: int) -> None:
        """Move the cursor down by `step` rows, or up if `step` is negative."""
        self.cursor += step

    def action_page(self, step: int) -> None:
        """Move the cursor down by `step` pages, or up if `step` is negative."""
        self.cursor += step * max(1, self._lines - 1)

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first row (-1) or to the last row (1)."""
        self.cursor = 0 if side < 0 else len(self._rows) - 1

    async def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row. If the title of a column was clicked, post `HeadingPressed`."""
        if event.y == 0:
            column = column_at(self._fitted, event.x)
            if column is not None:
                self.post_message(self.HeadingPressed(self, column))
        elif event.y - 1 + self.scroll_offset.y < len(self._rows):
            self.cursor = event.y - 1 + self.scroll_offset.y

    def render_line(self, y: int) -> Strip:
        """Render line `y` of the widget. Line 0 shows the column titles or, if there are no rows, the placeholder."""
        width = self.size.width
        index = y - 1 + self.scroll_offset.y
        if not self._rows and y == 0 and self._placeholder:
            muted = self.base_style + self._role_style(MUTED)
            return Strip([Segment(self._placeholder, muted)]).adjust_cell_length(width, self.base_style)
        if not self._rows or index >= len(self._rows):
            return Strip.blank(width, self.base_style)
        if y == 0:
            styles = self.get_component_rich_style("table--heading"), self.get_component_rich_style("table--sorted")
            return heading_strip(self._fitted, self.sorted_by, *styles).adjust_cell_length(width, self.base_style)
        base = self._row_base(index)
        role_style = None if index == self.cursor and self.has_focus else self._role_style
        return row_strip(self._fitted, self._rows[index], base, role_style).adjust_cell_length(width, base)

    def _row_base(self, index: int) -> Style:
        if index != self.cursor:
            return self.base_style
        return self.get_component_rich_style("table--cursor" if self.has_focus else "table--cursor-blurred")

    def _role_style(self, role: str) -> Style:
        return self.component_style(f"table--{role}")


FittedColumns = list[tuple[Column[RowT], int]]


def heading_strip(
    fitted: FittedColumns[RowT], sorted_by: tuple[str, bool] | None, style: Style, chosen: Style
) -> Strip:
    """Render the line with the titles of the columns.

    Args:
        fitted: (column, width in terminal cells) of each column that fits the table.
        sorted_by: (id of the column by which rows are sorted, whether descending); None for unsorted rows.
        style: style of the titles.
        chosen: style of the title of the column by which rows are sorted.
    """
    segments: list[Segment] = []
    for column, width in fitted:
        is_sorted = sorted_by is not None and sorted_by[0] == column.id
        title = text.pad(column.title, width, right=column.right)
        segments += [Segment(title, chosen if is_sorted else style), Segment(" " * GAP, style)]
    return Strip(segments)


def row_strip(fitted: FittedColumns[RowT], row: RowT, base: Style, role_style: Callable[[str], Style] | None) -> Strip:
    """Render one row of a table.

    Args:
        fitted: (column, width in terminal cells) of each column that fits the table.
        base: style of the row.
        role_style: returns the style of a color role, such as `kg-error`; None to draw all cells in `base`.
    """
    segments: list[Segment] = []
    for column, width in fitted:
        cell = column.cell(row)
        style = base + role_style(cell.role) if role_style is not None and cell.role else base
        content = text.pad(fit_text(cell.text, width, cut=column.cut), width, right=column.right)
        segments += [Segment(content, style), Segment(" " * GAP, base)]
    return Strip(segments)
