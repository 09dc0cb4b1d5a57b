"""Which row is what: open nodes as segments with cumulative starts, so that no object stands for a row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.tui.tree.grouping import build_nodes
from kgtui.tui.tree.sorting import sort_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kgtui.model.query import Query
    from kgtui.model.slices import Slices
    from kgtui.tui.tree.grouping import Node, Path, TreeNodes
    from kgtui.tui.tree.model import TreeModel


@dataclass(frozen=True, slots=True)
class RowKey:
    """What a row is: a node's own line (`group` is None), or a group under a node."""

    path: Path
    group: str | None = None


class RowLayout:
    """The rows of a forest, given which nodes are open and in which order the groups of each are.

    Args:
        is_open: whether a node is open, by its path.
        leaves: the groups of a node without children, in drawing order.
    """

    def __init__(
        self, nodes: TreeNodes, is_open: Callable[[Node], bool], groups_in_order: Callable[[Node], Sequence[str]]
    ) -> None:
        self.nodes = nodes
        self._nodes: list[Node] = []
        self._leaves: list[Sequence[str] | None] = []
        self._starts: list[int] = []
        self._header_at: dict[Path, int] = {}
        self._leaves_at: dict[Path, int] = {}
        self.rows = 0
        self.opened: set[Path] = set()
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
            self._leaves_at[node.path] = len(self._nodes)
            self._append(node, ids, len(ids))

    def _append(self, node: Node, ids: Sequence[str] | None, length: int) -> None:
        self._nodes.append(node)
        self._leaves.append(ids)
        self._starts.append(self.rows)
        self.rows += length

    def row_key(self, row: int) -> RowKey | None:
        """What is in a row; None outside."""
        found = self.at(row)
        return None if found is None else RowKey(found[0].path, found[1])

    def at(self, row: int) -> tuple[Node, str | None] | None:
        """Node and group in a row; None outside."""
        if not 0 <= row < self.rows:
            return None
        index = bisect_right(self._starts, row) - 1
        ids = self._leaves[index]
        return self._nodes[index], None if ids is None else ids[row - self._starts[index]]

    def node_row(self, path: Path) -> int | None:
        """The row of a node's own line; None if it is not shown."""
        index = self._header_at.get(path)
        return None if index is None else self._starts[index]

    def find(self, row_key: RowKey) -> int | None:
        """The row of a place; None if it is not shown."""
        if row_key.group is None:
            return self.node_row(row_key.path)
        span = self.span(row_key.path)
        if span is None:
            return None
        start, ids = span
        at = position(ids, row_key.group)
        return None if at is None else start + at

    def span(self, path: Path) -> tuple[int, Sequence[str]] | None:
        """First row and groups of an open node that holds groups itself."""
        index = self._leaves_at.get(path)
        if index is None:
            return None
        ids = self._leaves[index]
        return None if ids is None else (self._starts[index], ids)

    def groups(self, first: int, last: int) -> Iterator[str]:
        """The groups in rows `first` … `last` (exclusive)."""
        for row in range(max(first, 0), min(last, self.rows)):
            found = self.at(row)
            if found is not None and found[1] is not None:
                yield found[1]


def position(ids: Sequence[str], group: str) -> int | None:
    """Where a group is in a list that is usually, but not always, sorted by name."""
    at = bisect_left(ids, group)
    if at < len(ids) and ids[at] == group:
        return at
    try:
        return ids.index(group)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedLayout:
    """What a pass found.

    Attributes:
        order: the groups of open nodes, where they are not sorted by name.
        shown: how many groups are shown.
        searched: of how many groups the filter's data was there, of how many; None when the list says all.
    """

    nodes: TreeNodes
    order: Mapping[Path, Sequence[str]]
    shown: int
    searched: tuple[int, int] | None


async def prepare_layout(model: TreeModel, query: Query, slices: Slices) -> PreparedLayout:
    """Arrange the view's snapshot. Raises `SupersededError` once the user has chosen otherwise."""
    snapshot = model.snapshot
    chosen = None
    if query.terms:
        chosen = await slices.run(query.choose(snapshot, model.marked, sieve=model.filter_cache))
    nodes = await slices.run(build_nodes(snapshot, model.grouping, chosen))
    order: dict[Path, Sequence[str]] = {}
    for node in nodes.by_path.values():
        if node.parts and (not node.path or model.is_open(node)):
            ids = await slices.run(model.groups_by_name(node))
            if model.sort != "name":
                order[node.path] = await slices.run(sort_groups(ids, snapshot, model.sort, model.descending))
    searched = await slices.run(query.search_steps(snapshot)) if query.needs else None
    shown = len(snapshot.groups) if chosen is None else sum(len(ids) for ids in chosen.values())
    return PreparedLayout(nodes, order, shown, searched)
