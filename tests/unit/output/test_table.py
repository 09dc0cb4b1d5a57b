"""Tests of text tables: columns are aligned, and control characters in cells are escaped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.output import marks
from kgtui.output.table import MAX_PADDED_WIDTH, Column, cell_width, table

COLUMNS = (Column("GROUP"), Column("LAG", number=True), Column("STATE"))


def test_numbers_in_tables_are_right_aligned_without_trailing_blanks() -> None:
    assert table(COLUMNS, [("a", "5", "Empty"), ("long-name", "1234", "")], indent=" ") == (
        " GROUP       LAG  STATE\n a             5  Empty\n long-name  1234\n"
    )


def test_table_without_rows_still_has_a_header() -> None:
    assert table(COLUMNS, []) == "GROUP  LAG  STATE\n"
    assert table(COLUMNS, [], header=False) == ""
    assert table(COLUMNS, [("a", "1", "b")], header=False) == "a  1  b\n"


def test_wide_characters_in_tables_count_as_two_terminal_cells() -> None:
    text = table(COLUMNS, [("東京", "1", "x"), ("münze", "2", "y"), ("plain", "3", "z")])
    assert {cell_len(line) for line in text.splitlines()[1:]} == {len("GROUP  LAG  x")}


def test_symbols_in_tables_count_as_one_terminal_cell() -> None:
    assert table(COLUMNS, [("a", marks.NONE, "x"), ("b", marks.lag(5, 1), "y")]) == (
        "GROUP  LAG  STATE\na        –  x\nb      ≥ 5  y\n"
    )


def test_line_breaks_in_table_cells_are_escaped() -> None:
    text = table(COLUMNS, [("two\nlines", "1", "\x1b[31m"), ("x\u202ey", "2", "z")])
    assert text.splitlines()[1:] == [r"two\nlines    1  \x1b[31m", r"x\u202ey      2  z"]


def test_very_long_id_does_not_widen_the_other_lines_of_a_table() -> None:
    lines = table(COLUMNS, [("x" * 32_000, "1", "a"), *[("b", "2", "c")] * 3]).splitlines()
    assert len(lines[1]) > 32_000
    assert {len(line) for line in lines[2:]} == {MAX_PADDED_WIDTH + len("  LAG  c")}


cells = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a東🦄\x1b\n\u0301\u202e\ud800– ")), max_size=8)


@given(st.lists(st.tuples(cells, cells, cells), max_size=6))
def test_table_lines_with_random_cells_are_printable_and_equally_wide(rows: list[tuple[str, str, str]]) -> None:
    lines = table((*COLUMNS, Column("|")), [(*row, "|") for row in rows]).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)
    assert len({cell_width(line) for line in lines[:-1]}) == 1
