"""Tests of the table widget `LineTable`: new rows, drawing of visible rows, keys and clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widgets import Input

from kgtui.tui.panes.cells import Cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.table import LineTable
from tests.pilot.panes.pane_app import COLORS

if TYPE_CHECKING:
    from textual.app import ComposeResult


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    number: int


class TableApp(App[None]):
    """An app with a `LineTable` and a text field.

    `drawn` lists the names of the rows that were drawn. `pressed` lists the ids of the columns whose titles were
    clicked.
    """

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.drawn: list[str] = []
        self.pressed: list[str] = []
        self.first = rows

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return COLORS

    def compose(self) -> ComposeResult:
        def draw(row: Row) -> Cell:
            self.drawn.append(row.name)
            return Cell(row.name)

        columns: list[Column[Row]] = [
            Column("name", "NAME", lambda row: row.name, draw),
            Column("number", "NUMBER", lambda row: row.number, right=True),
        ]
        yield LineTable[Row](columns, lambda row: row.name)
        yield Input()

    def on_mount(self) -> None:
        self.table.set_rows(self.first, fresh=True)
        self.table.focus()

    @property
    def table(self) -> LineTable[Any]:
        return self.query_one(LineTable)

    def on_line_table_heading_pressed(self, event: LineTable.HeadingPressed) -> None:
        self.pressed.append(event.column)


def many(count: int, add: int = 0) -> list[Row]:
    return [Row(f"row-{index:05}", index + add) for index in range(count)]


async def test_keys_move_the_cursor_within_the_table() -> None:
    app = TableApp(many(100))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down", "j", "k")
        assert app.table.cursor == 1
        await pilot.press("up", "up", "up")
        assert app.table.cursor == 0
        await pilot.press("pagedown")
        assert app.table.cursor > 5
        await pilot.press("G")
        assert app.table.cursor == 99
        await pilot.press("down")
        assert app.table.cursor == 99
        await pilot.press("g")
        assert app.table.cursor == 0


async def test_refreshing_rows_keeps_the_cursor_scroll_position_and_focus() -> None:
    app = TableApp(many(500))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("end", "up", "up", "up")
        before = app.table.cursor, app.table.scroll_offset, app.focused
        app.table.set_rows(many(500, add=7))
        await pilot.pause()
        assert (app.table.cursor, app.table.scroll_offset, app.focused) == before
        app.query_one(Input).focus()
        await pilot.pause()
        app.table.set_rows(many(500, add=9))
        await pilot.pause()
        assert app.focused is app.query_one(Input)


async def test_adding_rows_above_the_cursor_keeps_the_cursor_on_its_row() -> None:
    app = TableApp(many(200))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("pagedown", "pagedown", "up", "up")
        row, line = app.table.row, app.table.cursor - app.table.scroll_offset.y
        app.table.set_rows([Row(f"new-{index}", 0) for index in range(5)] + many(200))
        await pilot.pause()
        assert app.table.row == row
        assert app.table.cursor - app.table.scroll_offset.y == line


async def test_removing_the_row_under_the_cursor_selects_the_next_row() -> None:
    app = TableApp(many(10))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down", "down")
        app.table.set_rows([row for row in many(10) if row.name != "row-00002"])
        await pilot.pause()
        assert app.table.row == Row("row-00003", 3)
        app.table.set_rows([])
        await pilot.pause()
        assert app.table.row is None
        await pilot.press("down", "up", "pagedown")
        assert app.table.cursor == 0


async def test_showing_a_different_group_moves_the_cursor_to_the_top() -> None:
    app = TableApp(many(100))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("end")
        app.table.set_rows(many(50), fresh=True)
        await pilot.pause()
        assert app.table.cursor == 0
        assert app.table.scroll_offset.y == 0


async def test_the_table_draws_only_its_visible_rows() -> None:
    app = TableApp(many(10_000))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.pause()
        assert len(set(app.drawn)) <= 14
        app.drawn.clear()
        await pilot.press("end")
        assert len(set(app.drawn)) <= 30


async def test_a_refresh_redraws_only_changed_rows() -> None:
    """If one row has changed, at most this row and the row under the cursor are redrawn. Otherwise, none is redrawn."""
    app = TableApp(many(1_000))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down")
        await pilot.pause()
        app.drawn.clear()
        changed = many(1_000)
        changed[4] = Row("row-00004", 5)
        app.table.set_rows(changed)
        await pilot.pause()
        assert set(app.drawn) <= {"row-00004", "row-00001"}
        app.drawn.clear()
        app.table.set_rows(list(changed))
        await pilot.pause()
        assert app.drawn == []


async def test_clicks_on_rows_move_the_cursor_and_clicks_on_column_titles_are_reported() -> None:
    app = TableApp(many(20))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.click(LineTable, offset=(2, 5))
        assert app.table.cursor == 4
        await pilot.click(LineTable, offset=(12, 0))
        assert app.pressed == ["number"]
        assert app.table.cursor == 4


async def test_markup_and_escape_sequences_in_cells_are_drawn_as_text() -> None:
    app = TableApp([Row("[/red]\x1b[31m\nx", 1), Row("名前 😀", 2)])
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.pause()
        assert "[/red]\\x1b[31m\\nx" in app.table.render_line(1).text
        assert all(app.table.render_line(y).cell_length == 40 for y in range(4))


async def test_table_lines_are_as_wide_as_the_terminal_after_a_resize() -> None:
    app = TableApp(many(20))
    async with app.run_test(size=(40, 14)) as pilot:
        assert app.table.shown == ("name", "number")
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert app.table.size.width == 60
        assert app.table.render_line(1).cell_length == 60
