"""The model of the group tree: open nodes, marked groups, sort order, cursor, and the layout of the rows.

The layout is computed in short steps, so that the event loop is not blocked.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.defaults import TREE_COLUMNS
from kgtui.model.offsets import lag_of_group
from kgtui.model.query import FilterCache
from kgtui.model.query.sort_keys import NAME
from kgtui.model.slices import run_at_once
from kgtui.monitor.gc_tuning import untrack
from kgtui.tui.tree.columns import tree_row
from kgtui.tui.tree.grouping import TreeNodes, build_nodes, path_of
from kgtui.tui.tree.layout import RowKey, RowLayout
from kgtui.tui.tree.sorting import merge_sorted, sort_groups

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from kgtui.model.offsets import GroupOffsets, LagTotal
    from kgtui.model.query import Query
    from kgtui.model.slices import Slices
    from kgtui.model.snapshot import Reading, Snapshot
    from kgtui.tui.tree.columns import TreeRow
    from kgtui.tui.tree.grouping import Grouping, Node, Path
    from kgtui.tui.tree.totals import NodeTotal

OPEN_ALL_UP_TO = 200
"""All tree nodes are initially open if a filter matches at most this many groups."""
SORTED_AT_ONCE = 3_000
"""Maximum number of groups of a tree node that are sorted immediately when the user opens the node.

If a node has more groups, they are first shown in the order of their names. A background task then sorts them by the
chosen sort key, such as the lag.
"""


class TreeModel:
    """Rows, cursor and settings of the tree, without widgets.

    Attributes:
        title: name of the cluster, for the first row.
        totals: path of a node → total lag and worst problem of the node's groups.
        columns: ids of the columns, the most important first. A column is left out if it does not fit beside the more
            important columns.
        sort: a key of `SORT_KEYS`.
        cursor_key: key of the row to which the user moved the cursor; None before the first layout that has rows.
        cursor_row: number of the row that shows the cursor. Normally, this is the row of `cursor_key`. But while that
            row is hidden, for example because its node is closed, this is another row, such as the row of the node.
        filter_cache: groups whose ids matched the last filter. If the user extends the filter, only these groups are
            tested against the longer filter.
    """

    def __init__(self, snapshot: Snapshot, title: str = "") -> None:
        self.snapshot = snapshot
        self.title = title
        self.grouping: Grouping = "type"
        self.columns: tuple[str, ...] = TREE_COLUMNS
        self.sort = NAME
        self.descending = False
        self.nodes = TreeNodes()
        self.totals: dict[Path, NodeTotal] = {}
        self.marked: set[str] = set()
        self.cursor_key: RowKey | None = None
        self.cursor_row = 0
        self.filter_cache = FilterCache()
        self._opened_by_user: dict[Path, bool] = {}
        self._open_all = False
        self._open_parents = True
        self._merged: dict[Path, tuple[list[Sequence[str]], Sequence[str]]] = {}
        self._ordered: dict[Path, Sequence[str]] = {}
        self._lags: dict[str, tuple[Reading[GroupOffsets], LagTotal]] = {}
        self.layout = self._lay_out()

    def is_open(self, node: Node) -> bool:
        """Return whether a tree node is open.

        If the user has opened or closed the node, the user's choice applies. Otherwise, the decision of
        `set_initial_openness` applies.
        """
        by_hand = self._opened_by_user.get(node.path)
        if by_hand is not None:
            return by_hand
        return self._open_all or (self._open_parents and not node.parts)

    def set_open(self, path: Path, opened: bool) -> None:
        """Open or close the node with this path, and lay out the rows again."""
        self._opened_by_user[path] = opened
        self.relayout()

    def reveal(self, group: str) -> bool:
        """Open the nodes that contain a group, and put the cursor on the group.

        Return False if the tree does not contain the group, for example because the filter hides it.
        """
        path = path_of(self.nodes, self.snapshot, group)
        if path is None or path not in self.nodes.by_path:
            return False
        if path not in self.layout.opened:
            for length in range(1, len(path) + 1):
                self._opened_by_user[path[:length]] = True
            self.relayout()
        row = self.layout.find(RowKey(path, group))
        if row is None:
            return False
        self.put_cursor(row)
        return True

    def set_initial_openness(self, nodes: TreeNodes, height: int, *, filtered: bool = False) -> None:
        """Decide which nodes are initially open.

        Open all nodes if all rows fit on the screen, or if only a few groups match the filter. Otherwise, open only
        the nodes that have child nodes, so that all nodes are visible. If not even the nodes fit, open none of them.

        Call this method only for a new filter, grouping or order, because it can close nodes.

        Args:
            height: number of rows that the tree can show; 0 if unknown.
            filtered: whether the nodes contain only groups that match a filter.
        """
        height = height or OPEN_ALL_UP_TO
        rows_of_nodes = len(nodes.by_path) + 1
        self._open_all = rows_of_nodes + nodes.count <= height or (filtered and nodes.count <= OPEN_ALL_UP_TO)
        self._open_parents = rows_of_nodes <= height

    def reset_openness(self) -> None:
        """Forget which nodes the user has opened or closed, because a new grouping has different nodes."""
        self._opened_by_user.clear()

    def copy_open_nodes_and_cursor(self, model: TreeModel) -> None:
        """Copy from `model` which nodes the user has opened or closed, and the node or group under the cursor."""
        self._opened_by_user = dict(model._opened_by_user)
        self.cursor_key = model.cursor_key

    def set_nodes(self, nodes: TreeNodes, order: Mapping[Path, Sequence[str]]) -> None:
        """Replace the nodes, and lay out the rows again.

        Args:
            order: path of an open node → ids of its groups in display order; empty if groups are sorted by name.
        """
        self.nodes = nodes
        self._ordered = dict(order)
        self._merged = {path: kept for path, kept in self._merged.items() if path in nodes.by_path}
        self.relayout()

    def relayout(self) -> None:
        """Lay out the rows again and find the row of the cursor."""
        self.layout = self._lay_out()
        self.cursor_row = self._find_cursor_row()

    def _lay_out(self) -> RowLayout:
        return RowLayout(self.nodes, self.is_open, self.groups_in_order)

    def groups_by_name(self, node: Node) -> Generator[None, None, Sequence[str]]:
        """Return the ids of a node's groups, sorted by name, and cache them. Yield between steps of the computation."""
        kept = self._merged.get(node.path)
        # Compare the lists of group ids with `==` and not with `is`, because each new filter creates new lists, which
        # often contain the same ids.
        if kept is not None and kept[0] == node.parts:
            return kept[1]
        ids = untrack((yield from merge_sorted(node.parts)))
        self._merged[node.path] = (node.parts, ids)
        return ids

    def groups_in_order(self, node: Node) -> Sequence[str]:
        """Return the ids of a node's groups in display order.

        The groups of a large node are returned in the order of their names until a background task has sorted them in
        the chosen order.
        """
        ids = self._ordered.get(node.path)
        if ids is not None and self.sort != NAME:
            return ids
        ids = run_at_once(self.groups_by_name(node))
        if self.sort == NAME and not self.descending:
            return ids
        if self.sort != NAME and len(ids) > SORTED_AT_ONCE:
            return ids
        return run_at_once(sort_groups(ids, self.snapshot, self.sort, self.descending))

    @property
    def group(self) -> str | None:
        """Id of the group under the cursor; None if the cursor is on a node, or if there are no rows.

        A deleted group stays selected until the user moves the cursor, so that the user's next key does not act on a
        different group.
        """
        row_key = self.cursor_key if self.group_deleted else self.layout.row_key(self.cursor_row)
        return None if row_key is None else row_key.group

    @property
    def group_deleted(self) -> bool:
        """Whether the selected group no longer exists. If so, the tree shows no cursor."""
        anchor = self.cursor_key
        deleted = anchor is not None and anchor.group is not None and anchor.group not in self.snapshot.groups
        return deleted and bool(self.snapshot.groups)

    def put_cursor(self, row: int) -> None:
        """Move the cursor to the row with this number, or to the last row if there are fewer rows."""
        self.cursor_row = max(0, min(row, self.layout.rows - 1))
        self.cursor_key = self.layout.row_key(self.cursor_row)

    def next_group(self) -> int | None:
        """Find the next group below the cursor, and return its row number; None if there are no groups.

        If the search comes to a closed node before it comes to a group, open this node, and return the row number of
        its first group. After the last row, the search continues at the top.
        """
        start = self.cursor_row + 1
        for row in chain(range(start, self.layout.rows), range(min(start, self.layout.rows))):
            row_content = self.layout.at(row)
            if row_content is None:
                continue
            node, group = row_content
            if group is not None:
                return row
            if node.path not in self.layout.opened:
                for length in range(1, len(node.path) + 1):
                    self._opened_by_user[node.path[:length]] = True
                while node.children:
                    node = node.children[0]
                    self._opened_by_user[node.path] = True
                self.relayout()
                span = self.layout.span(node.path)
                return None if span is None else span[0]
        return None

    def _find_cursor_row(self) -> int:
        layout, anchor = self.layout, self.cursor_key
        if layout.rows == 0:
            return 0
        if anchor is None:
            self.put_cursor(0)
            return self.cursor_row
        row = layout.find(anchor)
        if row is None and anchor.group is not None:
            row = (
                self._row_after_move(anchor.group)
                if anchor.group in self.snapshot.groups
                else self._row_of_deleted_group(anchor)
            )
        if row is None:
            row = self._nearest_node_row(anchor.path)
        return min(self.cursor_row, layout.rows - 1) if row is None else row

    def _row_after_move(self, group: str) -> int | None:
        """Return the row number of a group that is now under a different tree node, and move `cursor_key` to this row.

        If the group is hidden because its new node is closed, return the row number of this node instead, and do not
        change `cursor_key`. If the node is hidden, too, return the row number of the closed ancestor that hides it. If
        the tree does not contain the new node, return None.
        """
        path = path_of(self.nodes, self.snapshot, group)
        if path is None:
            return None
        row = self.layout.find(RowKey(path, group))
        if row is not None:
            self.cursor_key = RowKey(path, group)
            return row
        return self._nearest_node_row(path) if path in self.nodes.by_path else None

    def _row_of_deleted_group(self, anchor: RowKey) -> int | None:
        """Return the number of the row in which a deleted group would be if it still existed.

        Return None if the node that contained the group is closed, or if the groups are not sorted by name.
        """
        span = self.layout.span(anchor.path)
        if span is None or anchor.group is None or self.sort != NAME:
            return None
        start, ids = span
        at = len(ids) - bisect_left(ids[::-1], anchor.group) if self.descending else bisect_left(ids, anchor.group)
        return start + min(at, len(ids) - 1)

    def _nearest_node_row(self, path: Path) -> int | None:
        for length in range(len(path), 0, -1):
            row = self.layout.node_row(path[:length])
            if row is not None:
                return row
        return None

    def group_row(self, group: str) -> TreeRow:
        """Return the values for the row of a group. If the newest read failed, the values are from an earlier read."""
        return tree_row(self.snapshot, group, self._lag(group), marked=group in self.marked)

    def _lag(self, group: str) -> LagTotal | None:
        reading = facts.current_offsets(self.snapshot, group)
        if reading is None:
            return facts.lag_total(self.snapshot, group)
        kept = self._lags.get(group)
        if kept is None or kept[0] is not reading:
            if len(self._lags) > 500:
                self._lags.clear()
            kept = self._lags[group] = (reading, lag_of_group(reading.value))
        return facts.with_hidden(self.snapshot, group, kept[1])

    def groups_of_row(self, row_key: RowKey) -> Sequence[str]:
        """Return the ids of the groups that a row stands for: one group, or all groups under a tree node."""
        if row_key.group is not None:
            return (row_key.group,)
        node = self.nodes.by_path.get(row_key.path)
        if not row_key.path:
            parts = self.nodes.root.parts if self.nodes.root is not None else []
        else:
            parts = [] if node is None else _parts(node)
        return [group for part in parts for group in part]

    def groups_under_cursor(self) -> tuple[Path, Sequence[Sequence[str]]]:
        """Return (path of the node under the cursor, ids of its groups in one or more sorted lists).

        If the cursor is on a group, use the node that contains the group. On the row of the cluster, return `((), ())`.
        """
        row_key = self.layout.row_key(self.cursor_row)
        node = None if row_key is None else self.nodes.by_path.get(row_key.path)
        return ((), ()) if node is None or not node.path else (node.path, _parts(node))

    def toggle_marks(self, groups: Collection[str]) -> None:
        """Mark the given groups, or unmark them if all are already marked."""
        if self.marked.issuperset(groups):
            self.marked.difference_update(groups)
        else:
            self.marked.update(groups)


def _parts(node: Node) -> list[Sequence[str]]:
    return [*node.parts, *(part for child in node.children for part in _parts(child))]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedLayout:
    """The result of `prepare_layout`: the tree nodes, and the order of their groups.

    Attributes:
        order: path of an open node → ids of its groups in display order; empty if the groups are sorted by name.
        shown: number of groups that match the filter.
        searched: progress of a filter that needs more data than the list of groups: (number of groups whose data has
            been read, number of groups whose data must be read in total). None for any other filter.
    """

    nodes: TreeNodes
    order: Mapping[Path, Sequence[str]]
    shown: int
    searched: tuple[int, int] | None


async def prepare_layout(model: TreeModel, query: Query, slices: Slices) -> PreparedLayout:
    """Filter and sort the groups of the model's snapshot, and put them under tree nodes.

    Args:
        slices: runs the computation in short steps.

    Raises:
        SupersededError: the user has meanwhile changed the filter, grouping or order, so this layout is not needed.
    """
    snapshot = model.snapshot
    chosen = None
    if query.terms:
        chosen = await slices.run(query.choose(snapshot, model.marked, cache=model.filter_cache))
    nodes = await slices.run(build_nodes(snapshot, model.grouping, chosen))
    order: dict[Path, Sequence[str]] = {}
    for node in nodes.by_path.values():
        if node.parts and (not node.path or model.is_open(node)):
            ids = await slices.run(model.groups_by_name(node))
            if model.sort != NAME:
                order[node.path] = await slices.run(sort_groups(ids, snapshot, model.sort, model.descending))
    searched = await slices.run(query.search_steps(snapshot)) if query.needs else None
    shown = len(snapshot.groups) if chosen is None else sum(len(ids) for ids in chosen.values())
    return PreparedLayout(nodes, order, shown, searched)
