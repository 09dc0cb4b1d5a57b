"""What the tree remembers from one snapshot to the next: what is open, marked, sorted, and where the cursor is."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.offsets import LagTotal, lags, total
from kgtui.model.query import FilterCache
from kgtui.model.slices import run_at_once
from kgtui.monitor.collector import set_apart
from kgtui.tui.tree.grouping import TreeNodes, path_of
from kgtui.tui.tree.layout import RowKey, RowLayout
from kgtui.tui.tree.rows import TreeRow
from kgtui.tui.tree.sorting import Sort, merge_sorted, sort_groups

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Reading, Snapshot
    from kgtui.tui.tree.grouping import Grouping, Node, NodeTotal, Path

OPENS_BY_ITSELF = 200
"""With at most so many groups shown, every node starts open."""
SORTED_AT_ONCE = 3_000
"""Groups of one node that are sorted without a pause when it is opened."""
LIVE_SECONDS = 15.0
"""Data of a row in view that is older than this shows its age."""
VERDICT_SECONDS = 60.0
"""A verdict from reads older than this is shown as stale."""


class TreeModel:
    """The rows of the tree, its cursor and its choices. Knows no widget.

    Attributes:
        anchor: what the cursor stands for; it stays while the group is out of sight or gone.
        row: the row in which the cursor is drawn.
        totals: lag by node, of the newest pass.
        sieve: what filters have let through so far.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.grouping: Grouping = "type"
        self.sort: Sort = "name"
        self.descending = False
        self.forest = TreeNodes()
        self.totals: dict[Path, NodeTotal] = {}
        self.marked: set[str] = set()
        self.anchor: RowKey | None = None
        self.row = 0
        self.sieve = FilterCache()
        self._by_hand: dict[Path, bool] = {}
        self._leaves_open = False
        self._merged: dict[Path, tuple[list[Sequence[str]], Sequence[str]]] = {}
        self._ordered: dict[Path, Sequence[str]] = {}
        self._lags: dict[str, tuple[Reading[GroupOffsets], LagTotal]] = {}
        self.layout = self._lay_out()

    # Opening and closing

    def is_open(self, node: Node) -> bool:
        """Whether a node is open: by hand, or because few groups are shown or it holds nodes only."""
        by_hand = self._by_hand.get(node.path)
        if by_hand is not None:
            return by_hand
        return self._leaves_open or not node.parts

    def set_open(self, path: Path, opened: bool) -> None:
        """Open or close a node, and lay the rows out again around the cursor."""
        self._by_hand[path] = opened
        self.relayout()

    def reveal(self, group: str) -> bool:
        """Open the nodes above a group and put the cursor there; False if the tree does not show it."""
        path = path_of(self.snapshot, group, self.grouping)
        if path is None or path not in self.forest.nodes:
            return False
        if path not in self.layout.opened:
            for length in range(1, len(path) + 1):
                self._by_hand[path[:length]] = True
            self.relayout()
        row = self.layout.find(RowKey(path, group))
        if row is None:
            return False
        self.put_cursor(row)
        return True

    def decide_openness(self, forest: TreeNodes) -> None:
        """Let the number of groups shown now decide which nodes start open; a refresh does not ask again."""
        self._leaves_open = forest.count <= OPENS_BY_ITSELF

    def forget_openness(self) -> None:
        """Start again with what is open, as when the grouping changes."""
        self._by_hand.clear()

    def stand_as(self, view: TreeModel) -> None:
        """Open the nodes that are open in another tree, with the cursor where it is there."""
        self._by_hand = dict(view._by_hand)
        self.anchor = view.anchor

    # Rows

    def settle(self, forest: TreeNodes, order: Mapping[Path, Sequence[str]]) -> None:
        """Take a forest just arranged; `order` has the groups of open nodes where they are not sorted by name."""
        self.forest = forest
        self._ordered = dict(order)
        self._merged = {path: kept for path, kept in self._merged.items() if path in forest.nodes}
        self.relayout()

    def relayout(self) -> None:
        """Lay the rows out again; the cursor follows its group."""
        self.layout = self._lay_out()
        self.row = self._locate()

    def _lay_out(self) -> RowLayout:
        return RowLayout(self.forest, self.is_open, self.leaves)

    def by_name(self, node: Node) -> Generator[None, None, Sequence[str]]:
        """The groups of a node sorted by name, merged again only when its lists differ. Yields at slices."""
        kept = self._merged.get(node.path)
        # Each letter of a filter makes new lists, which often are like those before.
        if kept is not None and kept[0] == node.parts:
            return kept[1]
        ids = set_apart((yield from merge_sorted(node.parts)))
        self._merged[node.path] = (node.parts, ids)
        return ids

    def leaves(self, node: Node) -> Sequence[str]:
        """The groups of a node in drawing order; by name for now where the order takes longer to make."""
        ids = self._ordered.get(node.path)
        if ids is not None and self.sort != "name":
            return ids
        ids = run_at_once(self.by_name(node))
        if self.sort == "name" and not self.descending:
            return ids
        if self.sort != "name" and len(ids) > SORTED_AT_ONCE:
            return ids
        return run_at_once(sort_groups(ids, self.snapshot, self.sort, self.descending))

    # The cursor

    @property
    def group(self) -> str | None:
        """The group that the cursor stands for, even when it is gone or its node is closed."""
        return self.anchor.group if self.anchor else None

    def put_cursor(self, row: int) -> None:
        """Move the cursor to a row, as far as there are rows."""
        self.row = max(0, min(row, self.layout.rows - 1))
        self.anchor = self.layout.place(self.row)

    def next_group(self) -> int | None:
        """The row of the next group after the cursor, opening the node that it is in; the first one after the last."""
        start = self.row + 1
        for row in chain(range(start, self.layout.rows), range(min(start, self.layout.rows))):
            found = self.layout.at(row)
            if found is None:
                continue
            node, group = found
            if group is not None:
                return row
            if node.path not in self.layout.opened:
                for length in range(1, len(node.path) + 1):
                    self._by_hand[node.path[:length]] = True
                while node.children:
                    node = node.children[0]
                    self._by_hand[node.path] = True
                self.relayout()
                span = self.layout.span(node.path)
                return None if span is None else span[0]
        return None

    def _locate(self) -> int:
        layout, anchor = self.layout, self.anchor
        if layout.rows == 0:
            return 0
        if anchor is None:
            self.put_cursor(0)
            return self.row
        row = layout.find(anchor)
        if row is None and anchor.group is not None:
            row = self._follow(anchor.group) if anchor.group in self.snapshot.groups else self._beside(anchor)
        if row is None:
            row = self._nearest_header(anchor.path)
        return min(self.row, layout.rows - 1) if row is None else row

    def _follow(self, group: str) -> int | None:
        """The row of a group that moved to another node, or the line of the closed node that it is in."""
        path = path_of(self.snapshot, group, self.grouping)
        if path is None:
            return None
        row = self.layout.find(RowKey(path, group))
        if row is not None:
            self.anchor = RowKey(path, group)
            return row
        return self._nearest_header(path) if path in self.forest.nodes else None

    def _beside(self, anchor: RowKey) -> int | None:
        """The row where a group that is gone would be."""
        span = self.layout.span(anchor.path)
        if span is None or anchor.group is None or self.sort != "name":
            return None
        start, ids = span
        at = len(ids) - bisect_left(ids[::-1], anchor.group) if self.descending else bisect_left(ids, anchor.group)
        return start + min(at, len(ids) - 1)

    def _nearest_header(self, path: Path) -> int | None:
        for length in range(len(path), 0, -1):
            row = self.layout.header(path[:length])
            if row is not None:
                return row
        return None

    # What rows show

    def group_row(self, group: str) -> TreeRow:
        """What the row of a group shows, from the newest that is known."""
        snapshot = self.snapshot
        at = facts.read_at(snapshot, group)
        age = None if at is None else snapshot.taken_at - at
        verdict, told_at = _verdict(snapshot, group)
        return TreeRow(
            group,
            snapshot.state_of(group),
            facts.member_count(snapshot, group),
            self._lag(group),
            age if age is not None and age > LIVE_SECONDS else None,
            facts.has_fault(snapshot, group),
            group in self.marked,
            verdict,
            bool(verdict) and snapshot.taken_at - told_at > VERDICT_SECONDS,
        )

    def _lag(self, group: str) -> LagTotal | None:
        reading = facts.measured(self.snapshot, group)
        if reading is None:
            return facts.lag_total(self.snapshot, group)
        kept = self._lags.get(group)
        if kept is None or kept[0] is not reading:
            if len(self._lags) > 500:
                self._lags.clear()
            kept = self._lags[group] = (reading, total(lags(reading.value)))
        return kept[1]

    # Marks

    def under(self, place: RowKey) -> Sequence[str]:
        """The groups that a row stands for: its own, or all under its node."""
        if place.group is not None:
            return (place.group,)
        node = self.forest.nodes.get(place.path)
        return () if node is None else [group for part in _parts(node) for group in part]

    def toggle_marks(self, groups: Collection[str]) -> None:
        """Mark these groups; unmark them if all are marked."""
        if self.marked.issuperset(groups):
            self.marked.difference_update(groups)
        else:
            self.marked.update(groups)


def _verdict(snapshot: Snapshot, group: str) -> tuple[str, float]:
    """A verdict that is worth a look, and when its newest read was made."""
    health = snapshot.health.get(group)
    if health is None or health.read_at is None or health.status.name not in ("WARN", "ERR"):
        return "", 0.0
    return health.status.name, health.read_at


def _parts(node: Node) -> list[Sequence[str]]:
    return [*node.parts, *(part for child in node.children for part in _parts(child))]
