"""Tests of the values on the page that summarizes all groups of the cluster, or the groups of a tree node."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.encoded_trail import last_rates
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.offsets import Position
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.slices import run_at_once
from kgtui.model.trail import Trail
from kgtui.tui.node_page.page import NodePage, PageSubject, _Sums, no_problem_placeholder
from kgtui.tui.node_page.summary import GroupSetSummary, summary_steps
from kgtui.tui.node_page.tables import BROKER_COLUMNS, PROBLEM_COLUMNS, broker_rows, problem_rows, state_table
from kgtui.tui.panes.cells import wrap_cells
from kgtui.tui.panes.columns import fit_columns, preferred_width
from kgtui.tui.panes.overview_health import time_text
from kgtui.tui.problem_index import ProblemIndex, Problems
from kgtui.tui.text import clock_minutes, display_settings
from kgtui.tui.widgets.header import groups_in_rebalance, problem_counts
from tests.pilot.scripted_monitor import NOW, Row, snapshot_of, summary

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot

ROWS: list[Row] = [
    ("a", "consumer", "consumer", "Stable", 1),
    ("b", "consumer", "consumer", "Empty", 2),
    ("c", "classic", "connect", "Stable", 1),
]


def trail(*reads: tuple[int, int, int]) -> bytes:
    """Return the offsets from the last reads of a group with one partition, encoded as in `Summary.trail`.

    Args:
        reads: `(time in seconds, committed offset, log end offset)` of each read.
    """
    made = Trail()
    for at, position, log_end in reads:
        made.add(at, [Position(("t", 0), position, log_end, log_end - position)])
    return made.encode()


def test_tree_node_page_shows_total_lag_and_rates_of_groups() -> None:
    found = {
        "a": replace(summary(30), trail=trail((100, 10, 20), (110, 20, 50))),
        "b": replace(summary(40), trail=trail((100, 0, 40)), lag_at=NOW - 60),
    }
    snapshot = snapshot_of(ROWS, summaries=found)
    made = run_at_once(summary_steps(snapshot, list(snapshot.by_listing.values()), Problems(), all_groups=True))
    assert (made.groups, made.read, made.oldest_read) == (3, 2, NOW - 60)
    assert (made.lag, made.lag_unknown) == (70, 1)
    assert (made.written, made.consumed) == (3.0, 1.0)
    assert made.states == {
        ("consumer", "Stable"): 1, ("consumer", "Empty"): 1, ("classic · connect", "Stable"): 1,
    }  # fmt: skip


def test_tree_node_page_lists_problems_except_those_of_unused_groups() -> None:
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED, message="no progress")
    unused = Judgment(GroupStatus.WARN, Problem.UNUSED, Basis.SCREENED)
    found = {group: replace(summary(5), screened=True) for group in "abc"}
    snapshot = snapshot_of(ROWS, summaries=found, screened={"a": stopped, "b": unused, "c": stopped})
    problems = problems_of(snapshot)
    made = run_at_once(summary_steps(snapshot, [["a"], ["b"]], problems, all_groups=False))
    assert (made.problems, made.problem_counts, made.counted) == (
        [("a", stopped)],
        {Problem.STOP: 1},
        {Problem.UNUSED: 1},
    )
    made = run_at_once(summary_steps(snapshot, [["a"], ["b"], ["c"]], problems, all_groups=True))
    assert (made.problems, made.problem_counts, made.counted) == (
        [("a", stopped), ("c", stopped)], {Problem.STOP: 2}, {Problem.UNUSED: 1},
    )  # fmt: skip


def test_tree_node_page_counts_acknowledged_problems_without_listing_them() -> None:
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED, message="no progress")
    found = {group: replace(summary(5), screened=True) for group in "abc"}
    snapshot = snapshot_of(ROWS, summaries=found, screened=dict.fromkeys("abc", stopped))
    problems = replace(problems_of(snapshot), hidden=frozenset("ac"))
    node = run_at_once(summary_steps(snapshot, [["a"], ["b"]], problems, all_groups=False))
    assert (node.problems, node.problem_counts, node.acknowledged) == ([("b", stopped)], {Problem.STOP: 1}, 1)
    cluster = run_at_once(summary_steps(snapshot, [["a"], ["b"], ["c"]], problems, all_groups=True))
    assert (cluster.problems, cluster.acknowledged) == ([("b", stopped)], 2)


def test_new_problems_of_a_tree_node_appear_without_recomputing_its_totals() -> None:
    """For a newer snapshot, kgtui updates only the problems. Totals, such as the lag, stay as in the older snapshot."""
    snapshot = snapshot_of(ROWS, lags={"a": 5, "b": 7})
    parts = list(snapshot.by_listing.values())
    earlier = run_at_once(summary_steps(snapshot, parts, Problems(), all_groups=True))
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED)
    later = snapshot_of(ROWS, lags={"a": 50}, screened={"b": stopped})
    for all_groups in (True, False):
        made = run_at_once(summary_steps(later, parts, problems_of(later), all_groups=all_groups, earlier=earlier))
        assert (made.lag, made.read, made.problems) == (12, 2, [("b", stopped)])
    assert earlier.problems == []


def test_totals_of_a_large_cluster_are_updated_at_most_every_40_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 100,000 groups, the page keeps its totals for 40 s. With 10,000 groups, every update computes them again."""
    page, cluster, node = NodePage(), PageSubject(None, "", []), PageSubject(("consumer",), "", [])
    now = 1_000.0
    monkeypatch.setattr("kgtui.tui.node_page.page.monotonic", lambda: now)
    large = GroupSetSummary(groups=100_000)
    page._summary, page._summed_at = (None, large), 961.0
    assert page._earlier_summary(cluster) is large
    assert page._earlier_summary(node) is None
    page._summed_at = 960.0
    assert page._earlier_summary(cluster) is None
    page._summary, page._summed_at = (None, GroupSetSummary(groups=10_000)), 1_000.0
    assert page._earlier_summary(cluster) is None


def test_totals_on_the_cluster_page_have_line_breaks_only_between_two_values() -> None:
    page, snapshot = NodePage(), snapshot_of(ROWS)
    page._sums[None] = _Sums(lag=deque((1.0, 2.0)), written=deque((3.0, 4.0)), consumed=deque((5.0, 6.0)))
    summary = GroupSetSummary(problem_counts={Problem.STOP: 2}, lag=165_000, written=1.0, consumed=200.0)
    cells = page._summary_cells(snapshot, PageSubject(None, "", []), summary)
    values = ["2 stopped", "lag 165k ▄█", "written 1/s ▆█", "consumed 200/s ▇█"]
    for width in range(max(map(len, values)), 80):
        lines = ["".join(cell.text for cell in line) for line in wrap_cells(cells, width)]
        assert [value for line in lines for value in line.split("  ")] == values


def problems_of(snapshot: Snapshot) -> Problems:
    index = ProblemIndex()
    run_at_once(index.steps(snapshot))
    return index.problems()


def test_problem_table_row_has_lags_of_the_last_reads() -> None:
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED)
    snapshot = snapshot_of(ROWS, summaries={"a": replace(summary(30), trail=trail((100, 10, 20), (110, 20, 50)))})
    rows = problem_rows(snapshot, [("a", stopped), ("c", stopped)])
    assert [(row.lag, row.lags) for row in rows] == [(30, (10, 30)), (None, ())]
    assert [(row.progress, row.first_seen) for row in rows] == [(110, 100), (None, None)]
    shown = {column.id: str(column.value(rows[0])) for column in PROBLEM_COLUMNS}
    assert (shown["progress"], shown["seen"]) == (time_text(110), time_text(100))
    preferred = {column.id: preferred_width(column, rows) for column in PROBLEM_COLUMNS}
    room = sum(width + 1 for width in preferred.values() if width) - 1
    for narrower, expected in ((0, ["reason", "progress", "seen"]), (1, ["reason", "progress"])):
        assert [column.id for column, _ in fit_columns(PROBLEM_COLUMNS, preferred, room - narrower)][
            -len(expected) :
        ] == expected


def test_produce_and_consume_rates_are_computed_from_the_last_two_reads() -> None:
    reads = [(100, 0, 10), (110, 20, 50), (130, 60, 60), (140, 50, 90)]
    found = [last_rates(trail(*reads[:count])) for count in range(5)]
    assert found == [None, None, (4.0, 2.0), (0.5, 2.0), (3.0, 0.0)]


def test_states_without_groups_are_omitted_on_the_page_of_a_tree_node() -> None:
    rows, columns = state_table({("consumer", "Empty"): 2, ("consumer", "Stable"): 3, ("share", "Stable"): 1})
    assert [column.id for column in columns] == ["type", "state-Stable", "state-Empty", "total"]
    assert [(row.label, row.total) for row in rows] == [("consumer", 5), ("share", 1), ("all", 6)]


def test_narrow_state_table_omits_columns_of_the_rarest_states_first() -> None:
    states = {("consumer", "PreparingRebalance"): 1, ("consumer", "Empty"): 9, ("share", "Stable"): 5}
    ranks = {column.id: column.rank for column in state_table(states)[1]}
    assert ranks["state-PreparingRebalance"] > ranks["state-Stable"] > ranks["state-Empty"] > ranks["type"]


def test_empty_table_of_problems_says_how_many_groups_were_read() -> None:
    assert no_problem_placeholder(GroupSetSummary(groups=3)) == "no group has been read yet"
    some = no_problem_placeholder(GroupSetSummary(groups=3, read=1))
    assert some == "no problem found so far; 1 of 3 groups read"
    assert no_problem_placeholder(GroupSetSummary(groups=3, read=3)) == "no group needs attention"


def test_column_since_shows_the_earliest_possible_start_of_a_stop() -> None:
    """If kgtui did not see the stop begin, the column shows `after` and a time at which the group still ran."""
    now = display_settings().now()
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, since=now, after=now - 1_500)
    column = next(column for column in PROBLEM_COLUMNS if column.id == "since")
    rows = problem_rows(snapshot_of(ROWS), [("a", stopped), ("b", replace(stopped, since_seen=True))])
    shown = [str(column.value(row)) for row in rows]
    assert shown == [f"after {clock_minutes(now - 1_500)}", clock_minutes(now)]


@pytest.mark.parametrize(
    ("took_ms", "throttle_ms", "shown"),
    [
        (18.0, 0, "<100 ms"),
        (18.0, 250, "<100 ms, throttled for 250 ms"),
        (140.0, 0, "140 ms"),
        (None, 0, "no response yet"),
    ],
)
def test_broker_row_shows_slow_responses_and_throttling(took_ms: float | None, throttle_ms: int, shown: str) -> None:
    snapshot = snapshot_of(ROWS)
    brokers = {
        node: replace(status, took_ms=took_ms, throttle_ms=throttle_ms) for node, status in snapshot.brokers.items()
    }
    column = next(column for column in BROKER_COLUMNS if column.id == "response")
    assert column.cell(broker_rows(replace(snapshot, brokers=brokers))[0]).text == shown


def test_header_counts_groups_whose_rebalance_has_just_begun() -> None:
    """A rebalance that has just begun is not a problem, so the header counts it without the warning color."""
    rows: list[Row] = [("a", "consumer", "consumer", "Reconciling", 1), ("b", "classic", "consumer", "Stable", 1)]
    assert groups_in_rebalance(snapshot_of(rows)) == 1
    assert [count.piece for count in problem_counts({}, rebalancing=1)] == [("↻ 1 rebalancing", "header--plain")]
    known = problem_counts({Problem.REBALANCING: 2}, rebalancing=1)
    assert [count.piece for count in known] == [("↻ 2 rebalancing", "header--warn")]


def test_each_count_of_problems_in_the_header_has_a_different_symbol() -> None:
    counts = {Problem.UNREADABLE: 1, Problem.REBALANCING: 2, Problem.STOP: 1, Problem.BEHIND: 3}
    assert [count.piece[0] for count in problem_counts(counts)] == [
        "✘ 1 stopped",
        "▴ 3 falling behind",
        "↻ 2 rebalancing",
        "! 1 unreadable",
    ]
