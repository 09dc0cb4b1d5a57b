"""Tests of the widths of table columns, and of text that is wrapped to a width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.tui.panes.cells import (
    Cell,
    SafeText,
    safe_text,
    wrap_cells,
)
from kgtui.tui.panes.columns import Column, column_at, fit_columns, preferred_width, widen_columns

COLUMNS: list[Column[tuple[str, int, str]]] = [
    Column("name", "NAME", lambda row: row[0], min_width=6, max_width=20),
    Column("count", "COUNT", lambda row: row[1], right=True),
    Column("note", "NOTE", lambda row: row[2], rank=1, min_width=6, max_width=30),
]


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(min_value=4, max_value=30))
def test_wrapped_table_cells_fit_the_width_and_keep_every_word(texts: list[str], width: int) -> None:
    lines = wrap_cells([Cell(text) for text in texts], width)
    for line in lines:
        assert cell_len("".join(cell.text for cell in line).rstrip()) <= width
    before = "".join("".join(safe_text(text) for text in texts).split())
    after = "".join("".join("".join(cell.text for cell in line) for line in lines).split())
    assert after == before


def test_wrapped_table_cells_are_escaped_only_once() -> None:
    """Escaped text has the type `SafeText`, so that it is not escaped again."""
    (line,) = wrap_cells([Cell("a\x1b")], 20)
    assert line[0].text == "a\\x1b"
    assert isinstance(line[0].text, SafeText)


def test_preferred_column_width_fits_title_and_values_up_to_maximum() -> None:
    rows = [("ab", 1, ""), ("x" * 50, 1_234_567, "")]
    assert [preferred_width(column, rows) for column in COLUMNS] == [20, 9, 4]


def test_narrow_table_leaves_out_unimportant_columns_and_never_cuts_off_numbers() -> None:
    preferred = {"name": 20, "count": 9, "note": 10}
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 41)] == [
        ("name", 20), ("count", 9), ("note", 10),
    ]  # fmt: skip
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 24)] == [
        ("name", 7), ("count", 9), ("note", 6),
    ]  # fmt: skip
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 20)] == [("name", 10), ("count", 9)]


@pytest.mark.parametrize(("room", "widths"), [(60, [40, 9, 4]), (45, [30, 9, 4]), (35, [20, 9, 4])])
def test_long_values_are_cut_off_only_if_the_width_is_used_up(room: int, widths: list[int]) -> None:
    """`Column.max_width` is the largest width of a column only as long as other columns need the width."""
    rows = [("x" * 40, 1_234_567, "")]
    fitted = fit_columns(COLUMNS, {column.id: preferred_width(column, rows) for column in COLUMNS}, room)
    assert [width for _, width in widen_columns(fitted, rows, room)] == widths


def test_clicked_table_column_is_found_from_the_horizontal_mouse_position() -> None:
    arranged = fit_columns(COLUMNS, {"name": 6, "count": 5, "note": 6}, 80)
    assert [column_at(arranged, x) for x in (0, 6, 7, 13, 19, 20)] == ["name", "name", "count", "note", "note", None]


def test_optional_column_is_left_out_if_it_is_empty_or_does_not_fit() -> None:
    columns: list[Column[str]] = [
        Column("name", "name", lambda row: row, max_width=48),
        Column("since", "since", lambda _: "", rank=1, if_values=True),
        Column("plot", "plot", lambda _: "xxxxx", rank=3, min_width=5, not_over=("name",)),
        Column("reason", "reason", lambda row: row * 3, rank=2, min_width=24),
    ]
    rows = ["a" * 20]
    preferred = {column.id: preferred_width(column, rows) for column in columns}
    assert [column.id for column, _ in fit_columns(columns, preferred, 52)] == ["name", "plot", "reason"]
    assert [(column.id, width) for column, width in fit_columns(columns, preferred, 50)] == [
        ("name", 20), ("reason", 29)
    ]  # fmt: skip
    assert [(column.id, width) for column, width in fit_columns(columns, preferred, 40)] == [
        ("name", 15), ("reason", 24)
    ]  # fmt: skip


def test_less_important_column_is_shown_if_a_more_important_one_is_too_wide() -> None:
    columns: list[Column[str]] = [
        Column("name", "name", lambda row: row, min_width=10),
        Column("lag", "lag", lambda _: 12_345, rank=2, right=True),
        Column("reason", "reason", lambda row: row * 3, rank=1, min_width=24),
    ]
    preferred = {"name": 20, "lag": 6, "reason": 60}
    assert [(column.id, width) for column, width in fit_columns(columns, preferred, 30)] == [("name", 20), ("lag", 6)]
