"""The layout of the tree: find the node or group that a row shows, and the row that shows a node or group."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.monitor.sorted_ids import index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kgtui.tui.tree.grouping import Node, Path, TreeNodes


@dataclass(frozen=True, slots=True)
class RowKey:
    """Identifies a row of the tree. A row shows either a tree node or a group.

    Attributes:
        path: path of the node or, if the row shows a group, of the node that contains the group.
        group: id of the group; None if the row shows a node.
    """

    path: Path
    group: str | None = None


class RowLayout:
    """Finds the node or group in a row of the tree, and the row of a node or group. Rows are numbered from 0.

    A `RowLayout` stores no object per row, so that 100,000 groups are laid out quickly.

    Args:
        is_open: returns whether a node is open, so that its child nodes or groups have rows.
        groups_in_order: returns the ids of a node's groups in display order.
    """

    def __init__(
        self, nodes: TreeNodes, is_open: Callable[[Node], bool], groups_in_order: Callable[[Node], Sequence[str]]
    ) -> None:
        self.nodes = nodes
        self._nodes: list[Node] = []
        self._group_ids: list[Sequence[str] | None] = []
        self._starts: list[int] = []
        self._header_at: dict[Path, int] = {}
        self._groups_at: dict[Path, int] = {}
        self.rows = 0
        self.opened: set[Path] = set()
        if nodes.root is not None:
            self._header_at[()] = 0
            self._append(nodes.root, None, 1)
            self.opened.add(())
        for node in nodes.top:
            self._add_node(node, is_open, groups_in_order)

    def _add_node(
        self, node: Node, is_open: Callable[[Node], bool], groups_in_order: Callable[[Node], Sequence[str]]
    ) -> None:
        if node.path:
            self._header_at[node.path] = len(self._nodes)
            self._append(node, None, 1)
            if not is_open(node):
                return
        self.opened.add(node.path)
        for child in node.children:
            self._add_node(child, is_open, groups_in_order)
        if node.parts:
            ids = groups_in_order(node)
            self._groups_at[node.path] = len(self._nodes)
            self._append(node, ids, len(ids))

    def _append(self, node: Node, ids: Sequence[str] | None, length: int) -> None:
        self._nodes.append(node)
        self._group_ids.append(ids)
        self._starts.append(self.rows)
        self.rows += length

    def row_key(self, row: int) -> RowKey | None:
        """Return the key of a row; None if there is no such row."""
        row_content = self.at(row)
        return None if row_content is None else RowKey(row_content[0].path, row_content[1])

    def at(self, row: int) -> tuple[Node, str | None] | None:
        """Return (node, group id) for a row; None if there is no such row.

        The group id is None if the row shows the node itself.
        """
        if not 0 <= row < self.rows:
            return None
        index = bisect_right(self._starts, row) - 1
        ids = self._group_ids[index]
        return self._nodes[index], None if ids is None else ids[row - self._starts[index]]

    def node_row(self, path: Path) -> int | None:
        """Return the number of a node's row; None if the node does not exist, or if a closed ancestor hides it."""
        index = self._header_at.get(path)
        return None if index is None else self._starts[index]

    def find(self, row_key: RowKey) -> int | None:
        """Return the number of the row with this key; None if there is no such row, or if a closed node hides it."""
        if row_key.group is None:
            return self.node_row(row_key.path)
        span = self.span(row_key.path)
        if span is None:
            return None
        start, ids = span
        at = position(ids, row_key.group)
        return None if at is None else start + at

    def span(self, path: Path) -> tuple[int, Sequence[str]] | None:
        """Return (row number of a node's first group, ids of the node's groups in display order).

        Return None if the node contains only child nodes, or if the groups are hidden because the node or one of its
        ancestors is closed.
        """
        index = self._groups_at.get(path)
        if index is None:
            return None
        ids = self._group_ids[index]
        return None if ids is None else (self._starts[index], ids)

    def groups(self, first: int, last: int) -> Iterator[str]:
        """Yield the ids of the groups in the rows from `first` to `last - 1`."""
        for row in range(max(first, 0), min(last, self.rows)):
            row_content = self.at(row)
            if row_content is not None and row_content[1] is not None:
                yield row_content[1]


def position(ids: Sequence[str], group: str) -> int | None:
    """Return the index of a group in a list of group ids; None if the group is not in the list.

    If the ids are sorted, a binary search finds the group. Otherwise, the whole list is searched, which is slower.
    """
    at = index_of(ids, group)
    if at is not None:
        return at
    try:
        return ids.index(group)
    except ValueError:
        return None
