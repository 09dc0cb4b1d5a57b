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
GROUPS_LAID_OUT_PER_SECOND = 80_000
"""Groups a second that are arranged anew at most: a cluster of 100,000 every 1.25 seconds."""
GROUPS_SUMMED_PER_SECOND = 20_000
"""Groups a second whose lag is summed up at most: 100,000 every five seconds."""


class GroupTree(TreeRenderer, inherit_bindings=False):
    """Every group as a tree. A refresh moves neither cursor nor scroll, and opens and closes nothing."""

    class LaidOut(Message):
        """The rows were laid out anew, after a snapshot or a choice of the user.

        Attributes:
            shown: groups that the filter lets through.
            searched: of how many groups the filter's data was there, of how many; None when the list says all.
        """

        def __init__(self, shown: int, searched: tuple[int, int] | None) -> None:
            super().__init__()
            self.shown = shown
            self.searched = searched

    class SettingsChanged(Message):
        """Grouping or sorting changed, or marks did; what tells of them is out of date."""

    def __init__(self, snapshot: Snapshot, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(snapshot, id=id)
        self._query: Query = parse("")
        self._layout_due = asyncio.Event()
        self._layout_done = asyncio.Event()
        self._user_chose = asyncio.Event()
        self._layout_done.set()
        self._choice_number = 0
        self._choice_pending = True
        self._group_to_reveal: str | None = None
        self._totals_due = 0.0

    def on_mount(self) -> None:
        """Start the arranging worker; it ends with the widget."""
        self.run_worker(self._keep_layout_current(), name="arrange", group="tree")
        self._layout_due.set()

    # What others ask of the tree

    @property
    def group(self) -> str | None:
        """The group under the cursor; it stays while that group is gone, until the cursor is moved."""
        return self.model.group

    def show(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot. Cursor, scroll, expansion and focus stay."""
        self.model.snapshot = snapshot
        self._layout_due.set()

    def filter(self, query: Query) -> None:
        """Show only groups that the query chooses; its `sort:` overrides the order."""
        self._query = query
        if query.order and query.order[0].key in ("name", "lag", "members"):
            self.model.sort = query.order[0].key  # type: ignore[assignment]
            self.model.descending = query.order[0].descending
        self._choice_made()

    def group_by(self, grouping: Grouping) -> None:
        """Arrange the tree in another way; the cursor follows its group."""
        self.model.grouping = grouping
        self.model.reset_openness()
        self._choice_made()

    def sort_by(self, sort: Sort, *, descending: bool) -> None:
        """Sort the groups of every node."""
        self.model.sort, self.model.descending = sort, descending
        self._choice_made()

    def copy_arrangement(self, model: TreeModel, *, cursor: bool = False) -> None:
        """Group and sort as another tree does; with `cursor` stand where it stands, with the same nodes open."""
        self.model.grouping, self.model.sort, self.model.descending = model.grouping, model.sort, model.descending
        if cursor:
            self.model.copy_cursor(model)
        self._choice_made()

    def _choice_made(self) -> None:
        self._choice_number += 1
        self._user_chose.set()
        self._choice_pending = True
        self._layout_due.set()
        self.post_message(self.SettingsChanged())

    # Arranging

    async def wait_for_layout(self) -> None:
        """Wait until the newest snapshot and choice are arranged."""
        while self._layout_due.is_set() or not self._layout_done.is_set():
            await asyncio.sleep(0)
            await self._layout_done.wait()

    async def _keep_layout_current(self) -> None:
        while True:
            await self._layout_due.wait()
            self._layout_due.clear()
            # Before the pass: a choice made during it must not wait until the rest is over.
            self._user_chose.clear()
            self._layout_done.clear()
            try:
                await self._lay_out_once()
            except SupersededError:
                self._layout_due.set()
            finally:
                self._layout_done.set()
            await self._wait_for_more()

    async def _wait_for_more(self) -> None:
        """Let a large cluster's snapshots gather for a moment; a choice of the user ends the rest."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                self._user_chose.wait(), len(self.model.snapshot.groups) / GROUPS_LAID_OUT_PER_SECOND
            )

    async def _lay_out_once(self) -> None:
        choice, model = self._choice_number, self.model

        anew = self._choice_pending and bool(model.snapshot.groups)
        seconds = AWAITED_SLICE_SECONDS if anew else SLICE_SECONDS
        slices = Slices(asyncio.sleep, seconds, lambda: choice == self._choice_number)
        found = await prepare_layout(model, self._query, slices)
        before, scroll_anchor = model.group, self.scroll_anchor()
        if anew:
            self._choice_pending = False
            model.set_initial_openness(found.nodes)
        model.set_nodes(found.nodes, found.order)
        self.apply_layout(scroll_anchor)
        if anew:
            self.scroll_to_cursor()
        self._post_selection(before)
        sought, self._group_to_reveal = self._group_to_reveal, None
        if sought is not None:
            self.reveal(sought)
        self.post_message(self.LaidOut(found.shown, found.searched))
        if anew or monotonic() >= self._totals_due:
            model.totals = await slices.run(sum_nodes(found.nodes, model.snapshot))
            self._totals_due = monotonic() + len(model.snapshot.groups) / GROUPS_SUMMED_PER_SECOND
            self.refresh_changed()

    # Moving

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self.move_to(self.model.cursor_row + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by whole windows."""
        self.move(pages * max(1, self.size.height - 1))

    def move_to(self, row: int) -> None:
        """Move the cursor to a row, as far as there are rows."""
        if not self.model.layout.rows:
            return
        before, old = self.model.group, self.model.cursor_row
        self.model.put_cursor(row)
        self.refresh_line(old)
        self.refresh_line(self.model.cursor_row)
        self.scroll_to_cursor()
        self._post_selection(before)

    def _post_selection(self, before: str | None) -> None:
        if before != self.model.group:
            self.post_message(GroupSelected(self.model.group))

    def reveal(self, group: str) -> bool:
        """Put the cursor on a group, opening its nodes; False if it is not shown."""
        before, scroll_anchor = self.model.group, self.scroll_anchor()
        if not self.model.reveal(group):
            return False
        self.apply_layout(scroll_anchor)
        row, top = self.model.cursor_row, self.scroll_offset.y
        if not top <= row < top + self.size.height:
            self.scroll_to(y=max(row - self.size.height // 3, 0), animate=False)
        self._post_selection(before)
        return True

    def reveal_later(self, group: str) -> None:
        """Put the cursor on a group once the rows are arranged anew."""
        self._group_to_reveal = group
        self._choice_made()

    def unfold(self) -> None:
        """Open the node under the cursor; on an open one, go to its first row."""
        found = self.model.layout.at(self.model.cursor_row)
        if found is None or found[1] is not None:
            return
        if found[0].path in self.model.layout.opened:
            self.move(1)
        else:
            self._open_node(found[0], opened=True)

    def fold(self) -> None:
        """Close the node under the cursor; on a group or a closed node, go to the node above."""
        found = self.model.layout.at(self.model.cursor_row)
        if found is None:
            return
        node, group = found
        if group is None and node.path in self.model.layout.opened:
            self._open_node(node, opened=False)
            return
        above = node.path if group is not None else node.path[:-1]
        row = self.model.layout.node_row(above)
        if row is not None:
            self.move_to(row)

    def open(self) -> None:
        """Open or close a node; on a group, ask for its panes."""
        found = self.model.layout.at(self.model.cursor_row)
        if found is None:
            return
        node, group = found
        if group is None:
            self._open_node(node, opened=node.path not in self.model.layout.opened)
        else:
            self.post_message(GroupOpened(group))

    def _open_node(self, node: Node, *, opened: bool) -> None:
        before, scroll_anchor = self.model.group, self.scroll_anchor()
        self.model.set_open(node.path, opened)
        self.apply_layout(scroll_anchor)
        self.scroll_to_cursor()
        self._post_selection(before)
        if self.model.sort != "name":
            self._layout_due.set()

    def next_match(self) -> bool:
        """Go to the next group after the cursor, opening its node; from the last one to the first."""
        row = self.model.next_group()
        if row is None:
            return False
        self.apply_layout(self.scroll_anchor())
        self.move_to(row)
        return True

    # Marks

    def mark(self) -> None:
        """Mark the group under the cursor, or all groups of its node; a group's mark moves the cursor on."""
        row_key = self.model.layout.row_key(self.model.cursor_row)
        if row_key is None:
            return
        self.model.toggle_marks(self.model.groups_of_row(row_key))
        if row_key.group is not None:
            self.move(1)
        self._marks_changed()

    def mark_all(self) -> None:
        """Mark every group that is shown; unmark them if all are marked."""
        self.model.toggle_marks(
            [group for node in self.model.nodes.top for group in self.model.groups_of_row(RowKey(node.path))]
        )
        self._marks_changed()

    def set_marks(self, groups: Collection[str], *, marked: bool) -> None:
        """Mark these groups, shown or not, or unmark them."""
        (self.model.marked.update if marked else self.model.marked.difference_update)(groups)
        self._marks_changed()

    def unmark(self) -> None:
        """Take all marks away."""
        self.model.marked.clear()
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.refresh_changed()
        self.post_message(self.SettingsChanged())
        if "marked:" in self._query.describe():
            self._layout_due.set()

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; a click on a node opens or closes it, a double click on a group opens its panes."""
        row = self.scroll_offset.y + event.y
        found = self.model.layout.at(row)
        if found is None:
            return
        node, group = found
        self.move_to(row)
        if group is None:
            self._open_node(node, opened=node.path not in self.model.layout.opened)
        elif event.chain == 2:
            self.post_message(GroupOpened(group))
