"""Tests of the tree of groups: grouping, sorting, totals, columns and rows. The app is not started."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.access import Access
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.query import SORT_KEYS, SortKey, ordered
from kgtui.model.slices import run_at_once
from kgtui.model.summary import Summary
from kgtui.tui.problem_index import ProblemIndex
from kgtui.tui.tree.columns import LAG_WIDTH
from kgtui.tui.tree.grouping import GROUPINGS, Grouping, build_nodes, family_of, path_of
from kgtui.tui.tree.layout import RowKey, RowLayout
from kgtui.tui.tree.model import TreeModel
from kgtui.tui.tree.rows import TreeLine, group_line, node_line
from kgtui.tui.tree.sorting import merge_sorted, sort_groups
from kgtui.tui.tree.totals import NodeTotal, sum_nodes
from tests.pilot.scripted_monitor import Row, many_groups, snapshot_of, summary
from tests.unit.tui.tree_lines import STOPPED, fitted

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence


IDS = st.lists(st.text("abc.-\u65e5", max_size=6), unique=True, max_size=40)


STATES = ("Stable", "Empty", "Reconciling", "Unheard", None)


LISTED = st.lists(
    st.tuples(
        st.text("abc.-_", min_size=1, max_size=6),
        st.sampled_from(["consumer", "classic", "share", "strange", None]),
        st.sampled_from(["consumer", "connect", ""]),
        st.sampled_from(STATES),
        st.integers(1, 3),
    ),
    unique_by=lambda row: row[0],
    max_size=60,
)


@given(st.lists(IDS, min_size=1, max_size=5))
def test_several_sorted_lists_of_group_ids_are_merged_into_one_sorted_list(parts: list[list[str]]) -> None:
    lists = [sorted(part) for part in parts]
    assert list(run_at_once(merge_sorted(lists))) == sorted(group for part in parts for group in part)


def test_merging_60_000_group_ids_pauses_for_the_event_loop() -> None:
    parts = [[f"{number:06d}" for number in range(start, 60_000, 3)] for start in range(3)]
    pauses: list[None] = []
    joined: list[Sequence[str]] = []

    def run() -> Generator[None, None, None]:
        joined.append((yield from merge_sorted(parts)))

    pauses += run()
    assert joined == [[f"{number:06d}" for number in range(60_000)]]
    assert len(pauses) >= 7


@given(LISTED, st.sampled_from(GROUPINGS))
def test_every_group_is_under_exactly_one_node_of_the_tree(rows: list[Row], grouping: Grouping) -> None:
    """For each group, `path_of` returns the path of the node that contains the group.

    The count of a node includes the groups of its child nodes.
    """
    snapshot = snapshot_of(rows)
    nodes = run_at_once(build_nodes(snapshot, grouping))
    found = {group: node.path for node in nodes.by_path.values() for part in node.parts for group in part}
    assert sorted(found) == sorted(snapshot.groups)
    assert nodes.count == len(snapshot.groups)
    for node in nodes.by_path.values():
        assert node.count == sum(map(len, node.parts)) + sum(child.count for child in node.children)
    assert all(path_of(nodes, snapshot, group) == path for group, path in found.items())


@given(LISTED, st.sampled_from(GROUPINGS), st.sets(st.text("abc.-_", min_size=1, max_size=6)))
def test_filtered_tree_contains_only_the_matching_groups(rows: list[Row], grouping: Grouping, chosen: set[str]) -> None:
    snapshot = snapshot_of(rows)
    chosen |= {row[0] for row in rows[::2]}
    lists = {listing: [group for group in ids if group in chosen] for listing, ids in snapshot.by_listing.items()}
    nodes = run_at_once(build_nodes(snapshot, grouping, lists))
    shown = {group for node in nodes.by_path.values() for part in node.parts for group in part}
    assert shown == chosen & set(snapshot.groups)


def test_tree_by_topic_shows_a_group_under_each_of_its_topics() -> None:
    rows: list[Row] = [(name, "consumer", "consumer", "Stable", 1) for name in "abc"]
    topics: dict[str, tuple[str, ...] | None] = {"a": ("x", "y"), "b": (), "c": None}
    snapshot = snapshot_of(rows, summaries={group: summary(topics=value) for group, value in topics.items()})
    nodes = run_at_once(build_nodes(snapshot, "topic"))
    assert [(node.path, node.parts) for node in nodes.top] == [
        (("x",), [["a"]]), (("y",), [["a"]]), (("no topic",), [["b"]]), (("not read yet",), [["c"]]),
    ]  # fmt: skip


def test_tree_by_coordinator_contains_groups_with_unknown_states() -> None:
    rows: list[Row] = [("a", "consumer", "consumer", "broker x", 1), ("b", "consumer", "consumer", "Stable", 10)]
    nodes = run_at_once(build_nodes(snapshot_of(rows), "coordinator"))
    assert [node.path for node in nodes.top] == [("broker 1",), ("broker 10",)]
    assert ("broker 1", "broker x") in nodes.by_path


def test_tree_uses_states_from_describegroups_if_listgroups_returns_no_states() -> None:
    """Before Kafka 2.6, ListGroups returns no states, so kgtui uses the states from DescribeGroups."""
    known = Summary(0, 0, 0, 0, (), "", 1.0, 1.0, state="Empty", type="classic")
    rows: list[Row] = [(name, None, "consumer", None, 1) for name in ("known", "new")]
    nodes = run_at_once(build_nodes(snapshot_of(rows, summaries={"known": known}), "type"))
    assert {node.path: node.count for node in nodes.by_path.values() if node.parts} == {
        ("classic · consumer", "Empty"): 1, ("unknown type · consumer", "unknown state"): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group", "prefix"),
    [("team-007.settle", "team-007.*"), ("a.b.c", "a.*"), ("connect-sink", "connect-*"), ("x_y-z", "x_*"),
     ("plain", None), (".hidden", None), ("trailing.", None), ("", None)],
)  # fmt: skip
def test_group_id_prefix_ends_at_dot_otherwise_underscore_or_hyphen(group: str, prefix: str | None) -> None:
    assert family_of(group) == prefix


def test_total_of_a_tree_node_counts_groups_with_unknown_lag() -> None:
    rows: list[Row] = [
        (name, "consumer", "consumer", state, 1)
        for name, state in [("a", "Stable"), ("b", "Stable"), ("c", "Empty"), ("d", "Empty")]
    ]
    found = {"a": summary(5), "b": summary(None, unknown=2), "c": summary(None)}
    snapshot = snapshot_of(rows, summaries=found)
    sums = run_at_once(sum_nodes(run_at_once(build_nodes(snapshot, "type")), snapshot, ProblemIndex()))
    assert sums["consumer", "Stable"] == NodeTotal(5, 1)
    assert sums["consumer", "Empty"] == NodeTotal(None, 1)
    assert sums["consumer",] == NodeTotal(5, 2)


@pytest.mark.parametrize(("any_topic", "lags"), [(True, ["5", "–", "–"]), (False, ["≥ 5", "?", "–"])])
def test_tree_shows_lags_as_lower_bounds_if_topics_are_possibly_forbidden(any_topic: bool, lags: list[str]) -> None:
    """A group can have additional lag in a forbidden topic. Connect groups commit no offsets, so their lag is `–`."""
    rows: list[Row] = [
        ("a", "consumer", "consumer", "Stable", 1),
        ("b", "consumer", "consumer", "Empty", 1),
        ("c", "classic", "connect", "Stable", 1),
    ]
    found = {"a": summary(5), "b": replace(summary(None), partitions=0), "c": replace(summary(None), partitions=0)}
    snapshot = replace(snapshot_of(rows, summaries=found), access=Access(any_topic=any_topic))
    model, totals = (
        TreeModel(snapshot),
        run_at_once(sum_nodes(run_at_once(build_nodes(snapshot, "type")), snapshot, ProblemIndex())),
    )
    assert totals["consumer",] == NodeTotal(5, 0 if any_topic else 2)
    assert [lag_cell(group_line(model.group_row(group), 1, fitted(50), cursor=False)) for group, *_ in rows] == lags
    nodes = run_at_once(build_nodes(snapshot, "type"))
    node = nodes.by_path["consumer", "Stable"]
    line = node_line(node, nodes, totals[node.path], fitted(50), opened=True, cursor=False)
    assert lag_cell(line) == lags[0]


def lag_cell(line: TreeLine) -> str:
    """Return the text in the lag column of a tree row. The lag column must be the last column of the row."""
    return "".join(piece for piece, _ in line.pieces).rstrip()[-LAG_WIDTH:].strip()


@given(
    st.dictionaries(st.text("abc", min_size=1), st.none() | st.integers(0, 9)),
    st.sampled_from(("name", "lag", "members")),
    st.booleans(),
)
def test_tree_sorts_equal_values_by_id_and_unknown_values_last(
    values: dict[str, int | None], sort: str, down: bool
) -> None:
    rows: list[Row] = [(name, "consumer", "consumer", "Stable", 1) for name in values]
    snapshot = snapshot_of(rows, summaries={name: summary(value, value) for name, value in values.items()})
    found = list(run_at_once(sort_groups(sorted(values), snapshot, sort, down)))
    if sort == "name":
        assert found == sorted(values, reverse=down)
        return
    known = [name for name in values if values[name] is not None]
    expected = sorted(known, key=lambda name: (-(values[name] or 0) if down else (values[name] or 0), name))
    assert found == expected + sorted(name for name in values if values[name] is None)


@given(LISTED, st.sampled_from(tuple(SORT_KEYS)), st.booleans())
def test_tree_and_filter_query_sort_groups_in_the_same_order(rows: list[Row], sort: str, down: bool) -> None:
    snapshot = snapshot_of(rows)
    ids = sorted(snapshot.groups)
    found = list(run_at_once(sort_groups(ids, snapshot, sort, down)))
    assert found == ordered(ids, (SortKey(sort, down),), snapshot)


@pytest.mark.parametrize("sort", SORT_KEYS)
def test_groups_deleted_after_the_tree_was_built_are_still_sorted(sort: str) -> None:
    model = _model(20)
    model.sort = sort
    model.snapshot = snapshot_of(many_groups(10))
    shown = [group for node in model.nodes.by_path.values() if node.parts for group in model.groups_in_order(node)]
    assert len(shown) == 20


def _model(count: int) -> TreeModel:
    model = TreeModel(snapshot_of(many_groups(count)))
    nodes = run_at_once(build_nodes(model.snapshot, "type"))
    model.set_initial_openness(nodes, 200)
    model.set_nodes(nodes, {})
    return model


@pytest.mark.parametrize("height", [3, 20, 60])
def test_first_view_of_the_tree_shows_all_top_level_nodes(height: int) -> None:
    """kgtui opens as many levels of tree nodes as fit on the screen. It shows groups only if all groups fit.

    In a filtered tree, all nodes are open, even if they do not fit.
    """
    rows: list[Row] = [
        (f"g-{number:02}", kind, "consumer", state, 1)
        for number, (kind, state, _) in enumerate(product(("classic", "consumer"), ("Empty", "Stable"), range(8)))
    ]
    model = TreeModel(snapshot_of(rows))
    nodes = run_at_once(build_nodes(model.snapshot, "type"))
    model.set_initial_openness(nodes, height)
    model.set_nodes(nodes, {})
    assert model.layout.rows == {3: 3, 20: 7, 60: 39}[height]
    assert all((model.layout.node_row(node.path) or height) < height for node in nodes.top)
    model.set_initial_openness(nodes, height, filtered=True)
    model.relayout()
    assert model.layout.rows == 39


def test_tree_layout_converts_row_numbers_to_row_keys_and_back() -> None:
    model = _model(150)
    layout = model.layout
    assert layout.rows == 1 + len(model.nodes.by_path) + 150
    for row in range(layout.rows):
        row_key = layout.row_key(row)
        assert row_key is not None
        assert layout.find(row_key) == row
    assert layout.at(layout.rows) is None
    assert layout.at(-1) is None
    assert layout.find(RowKey(("consumer", "Stable"), "no such group")) is None


def test_tree_nodes_that_the_user_opened_stay_open_after_a_refresh() -> None:
    model = _model(500)
    stable = ("consumer", "Stable")
    assert stable not in model.layout.opened
    model.set_open(stable, True)
    rows = model.layout.rows
    model.snapshot = snapshot_of(many_groups(501))
    model.set_nodes(run_at_once(build_nodes(model.snapshot, "type")), {})
    assert stable in model.layout.opened
    assert model.layout.rows in (rows, rows + 1)


def test_tree_layout_finds_the_row_of_a_group_among_100_000_rows() -> None:
    model = _model(100_000)
    model.set_open(("consumer", "Stable"), True)
    assert model.layout.rows > 80_000
    assert isinstance(model.layout, RowLayout)
    span = model.layout.span(("consumer", "Stable"))
    assert span is not None
    start, ids = span
    assert model.layout.find(RowKey(("consumer", "Stable"), ids[777])) == start + 777
    assert bisect_left(ids, ids[777]) == 777


def test_tree_node_shows_how_many_of_its_groups_have_the_most_severe_problem() -> None:
    warn = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED)
    rows: list[Row] = [
        (name, "consumer", "consumer", state, 1) for name, state in zip("abcd", ["Stable"] * 3 + ["Empty"], strict=True)
    ]
    screened = {"a": warn, "b": STOPPED, "c": STOPPED, "d": warn}
    snapshot = replace(snapshot_of(rows), screened=screened)
    nodes = run_at_once(build_nodes(snapshot, "type"))
    totals = run_at_once(sum_nodes(nodes, snapshot, ProblemIndex()))
    stable, empty = totals["consumer", "Stable"], totals["consumer", "Empty"]
    assert (stable.severity, stable.problems, empty.severity, empty.problems) == (4, 2, 3, 1)
    assert totals["consumer",].problems == 2
    line = node_line(nodes.top[0], nodes, totals["consumer",], fitted(60), opened=True, cursor=False)
    assert "✘2" in "".join(piece for piece, _ in line.pieces)


@pytest.mark.parametrize(
    ("total", "mark"),
    [
        (NodeTotal(0), "✓"),
        (NodeTotal(0, severity=4, problems=1), "·"),
        (NodeTotal(0, unknown=1), "·"),
        (None, "·"),
    ],
)
def test_tree_node_has_a_check_mark_only_if_all_its_groups_are_ok(total: NodeTotal | None, mark: str) -> None:
    """`total` (lag and problems of all groups of the node) is None if kgtui has not computed it yet."""
    nodes = run_at_once(build_nodes(snapshot_of([("a", "consumer", "consumer", "Stable", 1)]), "type"))
    line = node_line(nodes.by_path["consumer", "Stable"], nodes, total, fitted(60), opened=False, cursor=False)
    assert "".join(piece for piece, _ in line.pieces).split()[1:3] == [mark, "Stable"]


def test_tree_node_shows_unused_groups_only_without_a_worse_problem() -> None:
    """A node shows only its most severe problem. The problem UNUSED is the least severe one."""
    rows: list[Row] = [(name, "consumer", "consumer", "Empty", 1) for name in "abc"]
    empty, unused = (Judgment(GroupStatus.WARN, kind, Basis.SCREENED) for kind in (Problem.EMPTY, Problem.UNUSED))
    for judgments, shown in (((unused, unused, empty), (3, 1)), ((unused, unused, unused), (1, 3))):
        snapshot = replace(snapshot_of(rows), screened=dict(zip("abc", judgments, strict=True)))
        total = run_at_once(sum_nodes(run_at_once(build_nodes(snapshot, "type")), snapshot, ProblemIndex()))
        assert (total["consumer",].severity, total["consumer",].problems) == shown
