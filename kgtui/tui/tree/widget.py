"""The tree of groups: takes snapshots and choices, moves the cursor, and tells which group it stands for."""

from __future__ import annotations

import asyncio
import contextlib
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

from kgtui.model.query import parse
from kgtui.model.slices import Slices, SupersededError
from kgtui.tui.messages import GroupOpened, GroupSelected
from kgtui.tui.tree.grouping import sum_nodes
from kgtui.tui.tree.layout import RowKey, prepare_layout
from kgtui.tui.tree.renderer import TreeRenderer

if TYPE_CHECKING:
    from collections.abc import Collection

    from textual import events

    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.tree.grouping import Grouping, Node
    from kgtui.tui.tree.model import TreeModel
    from kgtui.tui.tree.sorting import Sort

SLICE_SECONDS = 0.004
"""Length of a slice of work for a new snapshot, in seconds."""
AWAITED_SLICE_SECONDS = 0.012
"""Length of a slice of work that the user waits for, such as a new filter: it may delay the next key a little more."""
ARRANGED_A_SECOND = 80_000
"""Groups a second that are arranged anew at most: a cluster of 100,000 every 1.25 seconds."""
TOTALLED_A_SECOND = 20_000
"""Groups a second whose lag is summed up at most: 100,000 every five seconds."""


class GroupTree(TreeRenderer, inherit_bindings=False):
    """Every group as a tree. A refresh moves neither cursor nor scroll, and opens and closes nothing."""

    class Arranged(Message):
        """The rows were laid out anew, after a snapshot or a choice of the user.

        Attributes:
            shown: groups that the filter lets through.
            searched: of how many groups the filter's data was there, of how many; None when the list says all.
        """

        def __init__(self, shown: int, searched: tuple[int, int] | None) -> None:
            super().__init__()
            self.shown = shown
            self.searched = searched

    class Reordered(Message):
        """Grouping or sorting changed, or marks did; what tells of them is out of date."""

    def __init__(self, snapshot: Snapshot, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(snapshot, id=id)
        self._query: Query = parse("")
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._choice = asyncio.Event()
        self._idle.set()
        self._turn = 0
        self._chosen_anew = True
        self._sought: str | None = None
        self._totals_due = 0.0

    def on_mount(self) -> None:
        """Start the arranging worker; it ends with the widget."""
        self.run_worker(self._arrange_forever(), name="arrange", group="tree")
        self._wake.set()

    # What others ask of the tree

    @property
    def group(self) -> str | None:
        """The group under the cursor; it stays while that group is gone, until the cursor is moved."""
        return self.view.group

    def show(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot. Cursor, scroll, expansion and focus stay."""
        self.view.snapshot = snapshot
        self._wake.set()

    def filter(self, query: Query) -> None:
        """Show only groups that the query chooses; its `sort:` overrides the order."""
        self._query = query
        if query.order and query.order[0].key in ("name", "lag", "members"):
            self.view.sort = query.order[0].key  # type: ignore[assignment]
            self.view.descending = query.order[0].descending
        self._choice_made()

    def group_by(self, grouping: Grouping) -> None:
        """Arrange the tree in another way; the cursor follows its group."""
        self.view.grouping = grouping
        self.view.forget_openness()
        self._choice_made()

    def sort_by(self, sort: Sort, *, descending: bool) -> None:
        """Sort the groups of every node."""
        self.view.sort, self.view.descending = sort, descending
        self._choice_made()

    def arrange_as(self, view: TreeModel, *, cursor: bool = False) -> None:
        """Group and sort as another tree does; with `cursor` stand where it stands, with the same nodes open."""
        self.view.grouping, self.view.sort, self.view.descending = view.grouping, view.sort, view.descending
        if cursor:
            self.view.stand_as(view)
        self._choice_made()

    def _choice_made(self) -> None:
        self._turn += 1
        self._choice.set()
        self._chosen_anew = True
        self._wake.set()
        self.post_message(self.Reordered())

    # Arranging

    async def wait_for_layout(self) -> None:
        """Wait until the newest snapshot and choice are arranged."""
        while self._wake.is_set() or not self._idle.is_set():
            await asyncio.sleep(0)
            await self._idle.wait()

    async def _arrange_forever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            # Before the pass: a choice made during it must not wait until the rest is over.
            self._choice.clear()
            self._idle.clear()
            try:
                await self._arrange_once()
            except SupersededError:
                self._wake.set()
            finally:
                self._idle.set()
            await self._rest()

    async def _rest(self) -> None:
        """Let a large cluster's snapshots gather for a moment; a choice of the user ends the rest."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._choice.wait(), len(self.view.snapshot.groups) / ARRANGED_A_SECOND)

    async def _arrange_once(self) -> None:
        turn, view = self._turn, self.view

        anew = self._chosen_anew and bool(view.snapshot.groups)
        seconds = AWAITED_SLICE_SECONDS if anew else SLICE_SECONDS
        slices = Slices(asyncio.sleep, seconds, lambda: turn == self._turn)
        found = await prepare_layout(view, self._query, slices)
        before, hold = view.group, self.hold()
        if anew:
            self._chosen_anew = False
            view.decide_openness(found.forest)
        view.settle(found.forest, found.order)
        self.laid_out(hold)
        if anew:
            self.scroll_to_cursor()
        self._tell_selection(before)
        sought, self._sought = self._sought, None
        if sought is not None:
            self.reveal(sought)
        self.post_message(self.Arranged(found.shown, found.searched))
        if anew or monotonic() >= self._totals_due:
            view.totals = await slices.run(sum_nodes(found.forest, view.snapshot))
            self._totals_due = monotonic() + len(view.snapshot.groups) / TOTALLED_A_SECOND
            self.refresh_changed()

    # Moving

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self.move_to(self.view.row + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by whole windows."""
        self.move(pages * max(1, self.size.height - 1))

    def move_to(self, row: int) -> None:
        """Move the cursor to a row, as far as there are rows."""
        if not self.view.layout.rows:
            return
        before, old = self.view.group, self.view.row
        self.view.put_cursor(row)
        self.refresh_line(old)
        self.refresh_line(self.view.row)
        self.scroll_to_cursor()
        self._tell_selection(before)

    def _tell_selection(self, before: str | None) -> None:
        if before != self.view.group:
            self.post_message(GroupSelected(self.view.group))

    def reveal(self, group: str) -> bool:
        """Put the cursor on a group, opening its nodes; False if it is not shown."""
        before, hold = self.view.group, self.hold()
        if not self.view.reveal(group):
            return False
        self.laid_out(hold)
        row, top = self.view.row, self.scroll_offset.y
        if not top <= row < top + self.size.height:
            self.scroll_to(y=max(row - self.size.height // 3, 0), animate=False)
        self._tell_selection(before)
        return True

    def reveal_later(self, group: str) -> None:
        """Put the cursor on a group once the rows are arranged anew."""
        self._sought = group
        self._choice_made()

    def unfold(self) -> None:
        """Open the node under the cursor; on an open one, go to its first row."""
        found = self.view.layout.at(self.view.row)
        if found is None or found[1] is not None:
            return
        if found[0].path in self.view.layout.opened:
            self.move(1)
        else:
            self._open_node(found[0], opened=True)

    def fold(self) -> None:
        """Close the node under the cursor; on a group or a closed node, go to the node above."""
        found = self.view.layout.at(self.view.row)
        if found is None:
            return
        node, group = found
        if group is None and node.path in self.view.layout.opened:
            self._open_node(node, opened=False)
            return
        above = node.path if group is not None else node.path[:-1]
        row = self.view.layout.header(above)
        if row is not None:
            self.move_to(row)

    def open(self) -> None:
        """Open or close a node; on a group, ask for its panes."""
        found = self.view.layout.at(self.view.row)
        if found is None:
            return
        node, group = found
        if group is None:
            self._open_node(node, opened=node.path not in self.view.layout.opened)
        else:
            self.post_message(GroupOpened(group))

    def _open_node(self, node: Node, *, opened: bool) -> None:
        before, hold = self.view.group, self.hold()
        self.view.set_open(node.path, opened)
        self.laid_out(hold)
        self.scroll_to_cursor()
        self._tell_selection(before)
        if self.view.sort != "name":
            self._wake.set()

    def next_match(self) -> bool:
        """Go to the next group after the cursor, opening its node; from the last one to the first."""
        row = self.view.next_group()
        if row is None:
            return False
        self.laid_out(self.hold())
        self.move_to(row)
        return True

    # Marks

    def mark(self) -> None:
        """Mark the group under the cursor, or all groups of its node; a group's mark moves the cursor on."""
        place = self.view.layout.place(self.view.row)
        if place is None:
            return
        self.view.toggle_marks(self.view.under(place))
        if place.group is not None:
            self.move(1)
        self._marks_changed()

    def mark_all(self) -> None:
        """Mark every group that is shown; unmark them if all are marked."""
        self.view.toggle_marks([group for node in self.view.forest.top for group in self.view.under(RowKey(node.path))])
        self._marks_changed()

    def set_marks(self, groups: Collection[str], *, marked: bool) -> None:
        """Mark these groups, shown or not, or unmark them."""
        (self.view.marked.update if marked else self.view.marked.difference_update)(groups)
        self._marks_changed()

    def unmark(self) -> None:
        """Take all marks away."""
        self.view.marked.clear()
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.refresh_changed()
        self.post_message(self.Reordered())
        if "marked:" in self._query.describe():
            self._wake.set()

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; a click on a node opens or closes it, a double click on a group opens its panes."""
        row = self.scroll_offset.y + event.y
        found = self.view.layout.at(row)
        if found is None:
            return
        node, group = found
        self.move_to(row)
        if group is None:
            self._open_node(node, opened=node.path not in self.view.layout.opened)
        elif event.chain == 2:
            self.post_message(GroupOpened(group))
