"""Tables stay aligned and harmless whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.output import marks
from kgtui.output.table import MAX_PADDED_WIDTH, Column, cell_width, table

COLUMNS = (Column("GROUP"), Column("LAG", number=True), Column("STATE"))


def test_numbers_are_on_the_right_and_no_line_ends_in_blanks() -> None:
    assert table(COLUMNS, [("a", "5", "Empty"), ("long-name", "1234", "")], indent=" ") == (
        " GROUP       LAG  STATE\n a             5  Empty\n long-name  1234\n"
    )


def test_without_rows_there_are_the_titles() -> None:
    assert table(COLUMNS, []) == "GROUP  LAG  STATE\n"
    assert table(COLUMNS, [], header=False) == ""
    assert table(COLUMNS, [("a", "1", "b")], header=False) == "a  1  b\n"


def test_wide_characters_take_two_cells() -> None:
    text = table(COLUMNS, [("東京", "1", "x"), ("münze", "2", "y"), ("plain", "3", "z")])
    assert {cell_len(line) for line in text.splitlines()[1:]} == {len("GROUP  LAG  x")}


def test_marks_do_not_disturb_the_alignment() -> None:
    assert table(COLUMNS, [("a", marks.NONE, "x"), ("b", marks.lag(5, 1), "y")]) == (
        "GROUP  LAG  STATE\na        –  x\nb      ≥ 5  y\n"
    )


def test_an_id_cannot_break_out_of_its_line() -> None:
    text = table(COLUMNS, [("two\nlines", "1", "\x1b[31m"), ("x\u202ey", "2", "z")])
    assert text.splitlines()[1:] == [r"two\nlines    1  \x1b[31m", r"x\u202ey      2  z"]


def test_one_very_long_id_does_not_widen_every_other_line() -> None:
    lines = table(COLUMNS, [("x" * 32_000, "1", "a"), *[("b", "2", "c")] * 3]).splitlines()
    assert len(lines[1]) > 32_000
    assert {len(line) for line in lines[2:]} == {MAX_PADDED_WIDTH + len("  LAG  c")}


cells = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a東🦄\x1b\n\u0301\u202e\ud800– ")), max_size=8)


@given(st.lists(st.tuples(cells, cells, cells), max_size=6))
def test_every_line_is_printable_and_as_wide_as_the_others(rows: list[tuple[str, str, str]]) -> None:
    lines = table((*COLUMNS, Column("|")), [(*row, "|") for row in rows]).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)
    assert len({cell_width(line) for line in lines[:-1]}) == 1
