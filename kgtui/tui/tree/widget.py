"""The widget of the group tree. It shows the newest data, handles keys, and posts messages about the selected group."""

from __future__ import annotations

import asyncio
import contextlib
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

from kgtui.model.query import parse
from kgtui.model.query.sort_keys import NAME
from kgtui.model.slices import Slices, SupersededError
from kgtui.tui.messages import GroupOpened, GroupSelected
from kgtui.tui.problem_index import ProblemIndex
from kgtui.tui.tree.layout import RowKey
from kgtui.tui.tree.model import prepare_layout
from kgtui.tui.tree.renderer import TreeRenderer
from kgtui.tui.tree.totals import GROUPS_SUMMED_PER_SECOND, sum_nodes

if TYPE_CHECKING:
    from collections.abc import Collection

    from textual import events

    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.tree.grouping import Grouping, Node, Path
    from kgtui.tui.tree.model import TreeModel

SLICE_SECONDS = 0.004
"""Maximum time for which one step of a layout blocks the event loop while the user does not wait for it, in seconds.

For example, the user does not wait for the new layout of the rows after kgtui has read new data.
"""
AWAITED_SLICE_SECONDS = 0.012
"""Maximum time for which one step of a layout blocks the event loop while the user waits for the layout, in seconds.

For example, the user waits for the new layout of the rows after setting a filter.
"""
GROUPS_LAID_OUT_PER_SECOND = 50_000
"""Maximum number of groups that are laid out per second, on average.

To stay below this number, the tree pauses after each layout, for example for 2 s with 100,000 groups.
"""


LINES_AROUND_TREE = 4
"""Number of screen lines that other widgets occupy: header, filter bar, titles of the columns, and footer."""


class GroupTree(TreeRenderer, inherit_bindings=False):
    """The tree of all groups. New data does not change the cursor, the scroll position or the open nodes.

    Args:
        problems: index of the problems of all groups, which the tree keeps up to date.
    """

    class LaidOut(Message):
        """Posted after the rows have been laid out for new data, or for a new filter, grouping or order.

        Attributes:
            shown: number of groups that match the filter.
            searched: progress of a filter that needs more data than the list of groups: (number of groups whose data
                has been read, number of groups whose data must be read in total). None for any other filter.
        """

        def __init__(self, shown: int, searched: tuple[int, int] | None) -> None:
            super().__init__()
            self.shown = shown
            self.searched = searched

    class SettingsChanged(Message):
        """Posted when the user has changed the filter, the grouping, the order, the columns or the marked groups.

        Receivers should redraw the heading of the tree and the number of marked groups.
        """

    def __init__(self, snapshot: Snapshot, title: str = "", problems: ProblemIndex | None = None) -> None:
        super().__init__(snapshot, title)
        self._problems = problems or ProblemIndex()
        self._query: Query = parse("")
        self._layout_due = asyncio.Event()
        self._layout_done = asyncio.Event()
        self._user_chose = asyncio.Event()
        self._layout_done.set()
        self._choice_number = 0
        self._choice_pending = True
        self._group_to_reveal: str | None = None
        self._match_to_select: str | None = None
        self.match_selected = asyncio.Event()
        """Event that is set unless the cursor is about to move to a group that matches a new filter.

        Enter in the filter bar clears the event. It is set again when the tree shows the matching groups.
        """
        self.match_selected.set()
        self._shown = 0
        self._totals_due = 0.0
        self._node_under_cursor: Path | None = None

    def on_mount(self) -> None:
        """Start the worker that lays out the rows."""
        self.run_worker(self._keep_layout_current(), name="arrange", group="tree")
        self._layout_due.set()

    @property
    def group(self) -> str | None:
        """Id of the group under the cursor; None if the cursor is on a node, or if there are no rows."""
        return self.model.group

    def show(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot (all data about the cluster). Cursor, scroll position and open nodes do not change."""
        self.model.snapshot = snapshot
        self._layout_due.set()

    def filter(self, query: Query) -> None:
        """Show only the groups that match a filter. If the filter has a `sort:` term, also change the sort order."""
        self._query = query
        self._match_to_select = None
        self.match_selected.set()
        if query.order:
            self.model.sort, self.model.descending = query.order[0].key, query.order[0].descending
        self._choice_made()

    def group_by(self, grouping: Grouping) -> None:
        """Change the grouping of the tree, for example to one node per topic. The cursor stays on its group."""
        self.model.grouping = grouping
        self.model.reset_openness()
        self._choice_made()

    def sort_by(self, sort: str, *, descending: bool) -> None:
        """Sort the groups by a key of `SORT_KEYS`."""
        self.model.sort, self.model.descending = sort, descending
        self._choice_made()

    def show_columns(self, columns: tuple[str, ...]) -> None:
        """Show the columns with these ids.

        The most important column comes first. A column is left out if it does not fit beside the more important
        columns.
        """
        self.model.columns = columns
        self.refresh_changed()
        self.post_message(self.SettingsChanged())

    def copy_arrangement(self, model: TreeModel, *, cursor: bool = False) -> None:
        """Copy the grouping, the sort order and the columns of another tree.

        If `cursor` is true, also copy the position of the cursor, and which nodes the user has opened or closed.
        """
        self.model.grouping, self.model.sort, self.model.descending = model.grouping, model.sort, model.descending
        self.model.columns = model.columns
        if cursor:
            self.model.copy_open_nodes_and_cursor(model)
        self._choice_made()

    def _choice_made(self) -> None:
        self._choice_number += 1
        self._user_chose.set()
        self._choice_pending = True
        self._layout_due.set()
        self.post_message(self.SettingsChanged())

    async def _keep_layout_current(self) -> None:
        while True:
            await self._layout_due.wait()
            self._layout_due.clear()
            # Clear `_user_chose` before the layout, not after it. If the user changes a setting during the layout,
            # `_user_chose` is set again, so that `_wait_for_more` does not wait before the next layout.
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
        """Pause after a layout, longer if there are more groups. A new filter, grouping or order ends the pause."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                self._user_chose.wait(), len(self.model.snapshot.groups) / GROUPS_LAID_OUT_PER_SECOND
            )

    async def _lay_out_once(self) -> None:
        choice, model = self._choice_number, self.model

        user_waits = self._choice_pending and bool(model.snapshot.groups)
        seconds = AWAITED_SLICE_SECONDS if user_waits else SLICE_SECONDS
        slices = Slices(asyncio.sleep, seconds, lambda: choice == self._choice_number)
        prepared = await prepare_layout(model, self._query, slices)
        before, scroll_anchor = model.group, self.scroll_anchor()
        if user_waits:
            self._choice_pending = False
            # Before the tree shows the first groups, it has no size. Compute its height from the height of the screen.
            height = self.size.height or max(self.app.size.height - LINES_AROUND_TREE, 0)
            model.set_initial_openness(prepared.nodes, height, filtered=bool(self._query.terms))
        model.set_nodes(prepared.nodes, prepared.order)
        self.apply_layout(scroll_anchor)
        if user_waits:
            self.scroll_to_cursor()
        sought, self._group_to_reveal = self._group_to_reveal, None
        if sought is None and model.group is None:
            # The group that was under the cursor is now in a closed node, for example because the group's state has
            # changed. Open this node.
            sought = before
        if sought is not None:
            self.reveal(sought)
        self._post_selection(before)
        self._shown = prepared.shown
        if not self._choice_pending:
            self._select_match()
        self.post_message(self.LaidOut(prepared.shown, prepared.searched))
        if user_waits or monotonic() >= self._totals_due:
            model.totals = await slices.run(sum_nodes(prepared.nodes, model.snapshot, self._problems))
            self._totals_due = monotonic() + len(model.snapshot.groups) / GROUPS_SUMMED_PER_SECOND
            self.refresh_changed()

    def move(self, rows: int) -> None:
        """Move the cursor down by `rows` rows, or up if `rows` is negative."""
        self.move_to(self.model.cursor_row + rows)

    def page(self, pages: int) -> None:
        """Move the cursor down by `pages` pages, or up if `pages` is negative."""
        self.move(pages * max(1, self.size.height - 1))

    def move_to(self, row: int) -> None:
        """Move the cursor to the row with this number, or to the last row if there are fewer rows."""
        if not self.model.layout.rows:
            return
        before, old = self.model.group, self.model.cursor_row
        self.model.put_cursor(row)
        self.refresh_line(old)
        self.refresh_line(self.model.cursor_row)
        self.scroll_to_cursor()
        self._post_selection(before)

    def _post_selection(self, before: str | None) -> None:
        row_key = self.model.layout.row_key(self.model.cursor_row)
        node = None if row_key is None or row_key.group is not None else row_key.path
        if before != self.model.group or node != self._node_under_cursor:
            self._node_under_cursor = node
            self.post_message(GroupSelected())

    def reveal(self, group: str) -> bool:
        """Open the nodes that contain a group, and put the cursor on the group.

        Return False if the tree does not contain the group, for example because the filter hides it.
        """
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
        """Put the cursor on a group after the next layout. Use this if the tree does not contain the group yet."""
        self._group_to_reveal = group
        self._choice_made()

    def select_match(self, expression: str) -> None:
        """Move the cursor to the group that the user probably means, as soon as the tree shows the filtered groups.

        This is the group whose id equals the filter `expression` or, if there is no such group, the only group that
        matches the filter. If several groups match, do not move the cursor.
        """
        self._match_to_select = expression or None
        if not expression:
            return
        self.match_selected.clear()
        if not self._choice_pending and self._layout_done.is_set():
            self._select_match()

    def _select_match(self) -> None:
        expression, self._match_to_select = self._match_to_select, None
        self.match_selected.set()
        if expression is not None and not self.reveal(expression) and self._shown == 1:
            self.next_match()

    def unfold(self) -> None:
        """Open the node under the cursor. If the node is already open, move the cursor down by one row."""
        row_content = self.model.layout.at(self.model.cursor_row)
        if row_content is None or row_content[1] is not None:
            return
        if row_content[0].path in self.model.layout.opened:
            self.move(1)
        else:
            self._open_node(row_content[0], opened=True)

    def fold(self) -> None:
        """Close the node under the cursor. From a group or a closed node, move the cursor to the parent node."""
        row_content = self.model.layout.at(self.model.cursor_row)
        if row_content is None:
            return
        node, group = row_content
        if group is None and node.path and node.path in self.model.layout.opened:
            self._open_node(node, opened=False)
            return
        above = node.path if group is not None else node.path[:-1]
        row = self.model.layout.node_row(above)
        if row is not None:
            self.move_to(row)

    def open(self) -> None:
        """Open or close the node under the cursor. On a group or the row of the cluster, post `GroupOpened`."""
        row_content = self.model.layout.at(self.model.cursor_row)
        if row_content is None:
            return
        node, group = row_content
        if group is None and node.path:
            self._open_node(node, opened=node.path not in self.model.layout.opened)
        else:
            self.post_message(GroupOpened(group))

    def _open_node(self, node: Node, *, opened: bool) -> None:
        before, scroll_anchor = self.model.group, self.scroll_anchor()
        self.model.set_open(node.path, opened)
        self.apply_layout(scroll_anchor)
        self.scroll_to_cursor()
        self._post_selection(before)
        if self.model.sort != NAME:
            self._layout_due.set()

    def next_match(self) -> bool:
        """Move the cursor to the next group in the tree. If its node is closed, open the node.

        After the last group, move the cursor to the first one. Return False if the tree has no groups.
        """
        row = self.model.next_group()
        if row is None:
            return False
        self.apply_layout(self.scroll_anchor())
        self.move_to(row)
        return True

    def mark(self) -> None:
        """Mark or unmark the group under the cursor, and move the cursor to the next row.

        If the cursor is on a node, mark or unmark all groups of the node, and do not move the cursor.
        """
        row_key = self.model.layout.row_key(self.model.cursor_row)
        if row_key is None:
            return
        self.model.toggle_marks(self.model.groups_of_row(row_key))
        if row_key.group is not None:
            self.move(1)
        self._marks_changed()

    def mark_all(self) -> None:
        """Mark all groups that match the filter, or unmark them if all are marked."""
        self.model.toggle_marks(
            [group for node in self.model.nodes.top for group in self.model.groups_of_row(RowKey(node.path))]
        )
        self._marks_changed()

    def set_marks(self, groups: Collection[str], *, marked: bool) -> None:
        """Mark or unmark groups, even if the filter or a closed node hides them."""
        (self.model.marked.update if marked else self.model.marked.difference_update)(groups)
        self._marks_changed()

    def unmark(self) -> None:
        self.model.marked.clear()
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.refresh_changed()
        self.post_message(self.SettingsChanged())
        if self._query.has_term("marked"):
            self._layout_due.set()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row. Open or close a clicked node.

        After a double click on a group or on the row of the cluster, post `GroupOpened`.
        """
        row = self.scroll_offset.y + event.y
        row_content = self.model.layout.at(row)
        if row_content is None:
            return
        node, group = row_content
        self.move_to(row)
        if group is None and node.path:
            self._open_node(node, opened=node.path not in self.model.layout.opened)
        elif event.chain == 2:
            self.post_message(GroupOpened(group))
