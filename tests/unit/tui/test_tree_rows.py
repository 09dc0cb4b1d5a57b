"""Tests of the rows and columns of the tree: symbols, widths, lag, trend, and the age of data."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.model.answer import Fault
from kgtui.model.offsets import LagTotal, Position
from kgtui.model.slices import run_at_once
from kgtui.model.trail import Trail
from kgtui.tui import text as display
from kgtui.tui.node_page.tables import PROBLEM_COLUMNS, problem_rows
from kgtui.tui.panes.overview_health import lag_fields
from kgtui.tui.tree.columns import TreeRow, fit_columns
from kgtui.tui.tree.grouping import GROUPINGS, Node, build_nodes
from kgtui.tui.tree.model import TreeModel
from kgtui.tui.tree.rows import TreeLine, group_line, heading_line, node_line
from kgtui.tui.tree.totals import NodeTotal
from tests.pilot.scripted_monitor import NOW, Row, snapshot_of, summary
from tests.unit.tui.tree_lines import STOPPED, fitted, shown


def line_width(line: TreeLine) -> int:
    """Return the width of a line of the tree in terminal cells."""
    return sum(cell_len(piece) for piece, _ in line.pieces)


def test_tree_row_has_a_symbol_for_the_problem_or_state_of_the_group() -> None:
    """A Stable group has a check mark if it is healthy, or a dot if kgtui does not know yet whether it is healthy."""
    snapshot = snapshot_of(
        [(name, "consumer", "consumer", "Stable", 1) for name in "abc"],
        summaries={"b": replace(summary(), screened=True)},
        screened={"a": STOPPED},
    )
    model = TreeModel(snapshot)
    lines = [
        "".join(piece for piece, _ in group_line(model.group_row(group), 0, fitted(100), cursor=False).pieces)
        for group in "abc"
    ]
    assert lines[0].split()[:3] == ["✘", "a", "stopped"]
    assert [line.split()[:2] for line in lines[1:]] == [["✓", "b"], ["·", "c"]]


@given(st.integers(3, 200))
def test_tree_rows_and_heading_are_exactly_as_wide_as_the_tree(width: int) -> None:
    node = Node(("classic · consumer", "PreparingRebalance"), count=123_456)
    nodes = run_at_once(build_nodes(snapshot_of([]), "type"))
    row = TreeRow("\u65e5" * 90 + "\u202e", "Stable", 12, None, 75.0, True, STOPPED)
    if width >= 8:
        assert line_width(
            node_line(node, nodes, NodeTotal(10**15, 3, 4, 12_345), fitted(width), opened=True, cursor=False)
        ) <= max(width, 24)
    if width >= 24:
        assert line_width(node_line(node, nodes, None, fitted(width), opened=True, cursor=False)) == width
        assert line_width(group_line(row, 2, fitted(width), cursor=False)) == width
        assert line_width(heading_line(fitted(width), "by type, state", "lag", True)) == width


def test_narrow_tree_hides_the_members_column_before_the_lag_column() -> None:
    assert shown(110) == {"lag", "members", "problem", "plot", "trend", "timelag", "age"}
    assert shown(90) == {"lag", "members", "problem", "plot", "age", "trend"}
    assert shown(79) == {"lag", "members", "problem", "plot", "age"}
    assert shown(63) == {"lag", "members", "problem", "plot"}
    assert shown(46) == {"lag", "members"}
    assert shown(30) == {"lag"}
    assert not shown(12)


def test_tree_shows_state_column_unless_nodes_already_show_the_state() -> None:
    assert [grouping for grouping in GROUPINGS if "state" in shown(79, grouping)] == ["topic", "family", "flat"]


def test_columns_that_the_user_lists_first_are_kept_in_a_narrow_tree() -> None:
    """The user chooses three columns, but only two fit. The last column of the user's list is left out."""
    narrow = fit_columns(46, ("timelag", "plot", "lag"), "type")
    assert [column.id for column in narrow.shown] == ["plot", "timelag"]


def test_clicked_tree_column_is_found_from_the_horizontal_mouse_position() -> None:
    fitted_columns = fitted(90)
    heading = "".join(piece for piece, _ in heading_line(fitted_columns, "by state", "name", False).pieces)
    for title, column in (("problem", "problem"), ("count", "members"), ("lag/s", "trend")):
        at = heading.index(title)
        assert {found.id for x in range(at, at + len(title)) if (found := fitted_columns.column_at(x))} == {column}
    assert fitted_columns.column_at(heading.index("by state")) is None


def test_tree_row_shows_the_lag_as_a_number_plot_trend_and_age() -> None:
    trail = Trail()
    for at, lag in ((10, 0), (20, 50), (30, 400), (40, 200)):
        trail.add(at, [Position(("t", 0), 1_000 - lag, 1_000, lag)])
    rows: list[Row] = [(name, "consumer", "consumer", "Stable", 1) for name in ("read", "once", "none")]
    found = {"read": replace(summary(200), trail=trail.encode()), "once": summary(7), "none": summary(None)}
    model = TreeModel(snapshot_of(rows, summaries=found))
    lines = {group: cells(group_line(model.group_row(group), 1, fitted(110), cursor=False)) for group in found}
    assert lines["read"][-5:] == ["▁▁█▄", "+6.7", "≥", "30", "s"]
    assert lines["once"][-3:] == ["7", "?", "?"]
    assert lines["none"][-3:] == ["–", "–", "–"]


def test_tree_in_ascii_mode_draws_plot_trend_and_time_lag_in_ascii() -> None:
    row = TreeRow("g", "Stable", 1, LagTotal(9), lags=(1, 5, 9), trend=-1_234.0, time_lag=(75.0, True))
    display.use_display_settings(display.DisplaySettings(ascii=True))
    try:
        line = group_line(row, 1, fitted(110), cursor=False)
    finally:
        display.use_display_settings(display.DisplaySettings())
    assert cells(line)[-4:] == ["_-#", "-1.2k", ">=1", "min"]


def cells(line: TreeLine) -> list[str]:
    return "".join(piece for piece, _ in line.pieces).split()


def test_age_below_a_minute_is_rounded_down_to_multiples_of_ten_seconds() -> None:
    assert [display.coarse_age(age) for age in (9, 16, 19.9, 20, 61)] == ["<10 s", "10 s", "10 s", "20 s", "1 min"]


def test_tree_row_shows_the_age_of_a_lag_after_a_failed_read() -> None:
    """After a failed read, the row still shows the lag of the last successful read, and how old this lag is."""
    fault = Fault("NOT_COORDINATOR", "This is not the coordinator.", 16, group="orders")
    kept = replace(summary(lag=7), at=NOW - 1, lag_at=NOW - 3, fault=fault)
    rows: list[Row] = [("orders", "consumer", "consumer", "Stable", 1)]
    snapshot = snapshot_of(rows, summaries={"orders": kept})
    row = TreeModel(snapshot).group_row("orders")
    assert row.total == LagTotal(7, 0, 1)
    assert row.age == 3.0
    line = "".join(piece for piece, _ in group_line(row, 1, fitted(80), cursor=False).pieces)
    assert line.split()[-3:] == ["7", "<10", "s"]


def test_forbidden_group_keeps_the_lag_of_the_last_read() -> None:
    """The tree, the Overview pane and the table of problems show the lag of the last successful read."""
    fault = Fault("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.", 30, group="orders")
    kept = replace(summary(lag=7), at=NOW - 3, lag_at=NOW - 3, fault=fault)
    rows: list[Row] = [("orders", "consumer", "consumer", "Stable", 1)]
    snapshot = snapshot_of(rows, summaries={"orders": kept}, group_faults={"orders": fault})
    assert TreeModel(snapshot).group_row("orders").age == 3.0
    (total, *_) = lag_fields(snapshot, "orders", None)
    assert "ago)" in "".join(cell.text for cell in total.lines[0])
    (row,) = problem_rows(snapshot, [("orders", snapshot.judgment("orders"))])
    lag = next(column for column in PROBLEM_COLUMNS if column.id == "lag")
    assert lag.cell(row).text == "7, <10 s ago"


def test_tree_row_with_a_lag_from_the_newest_read_shows_no_age() -> None:
    rows: list[Row] = [("orders", "consumer", "consumer", "Stable", 1)]
    snapshot = snapshot_of(rows, summaries={"orders": summary(lag=7)})
    assert TreeModel(snapshot).group_row("orders").age is None
