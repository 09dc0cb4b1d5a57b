"""Draw the rows of the tree and their heading. Only lines whose content has changed are redrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.message import Message
from textual.strip import Strip

from kgtui.model.query.sort_keys import NAME
from kgtui.tui.textual_compat.key_order import run_binding
from kgtui.tui.textual_compat.line_view import LineView, shift_lines
from kgtui.tui.tree import rows
from kgtui.tui.tree.columns import fit_columns
from kgtui.tui.tree.grouping import GROUPING_TITLES
from kgtui.tui.tree.model import TreeModel
from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.tree.columns import FittedColumns
    from kgtui.tui.tree.layout import RowKey

_MOST_CACHED_STRIPS = 400
"""Maximum number of rendered lines in the cache.

Because of the cache, scrolling by one row renders only one new line.
"""

ROLES = (
    "node", "guide", "leaf", "count", "lag", "muted", "stale", "mark", "kg-ok", "kg-warn", "kg-error", "kg-muted",
)  # fmt: skip


class TreeRenderer(LineView, can_focus=True, inherit_bindings=False):
    """Base class of the tree widget: draws and scrolls the rows of a `TreeModel`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "group-tree--cursor",
        "group-tree--cursor-blurred",
        *(f"group-tree--{role}" for role in ROLES),
    }
    """
    | Class | Description |
    | :- | :- |
    | `group-tree--cursor` | The row under the cursor while the tree has the focus. |
    | `group-tree--cursor-blurred` | The row under the cursor while another widget has the focus. |
    | `group-tree--node` | The name of a node. |
    | `group-tree--guide` | The arrow in front of a node, which shows whether the node is open. |
    | `group-tree--count` | The number of groups under a node. |
    | `group-tree--leaf` | The name of a group. |
    | `group-tree--lag` | A number that is known and not zero. |
    | `group-tree--muted` | A number that is zero or unknown, the name of a state, or the plot of a lag. |
    | `group-tree--stale` | Old data. |
    | `group-tree--mark` | The symbol in front of a group that the user has marked. |
    | `group-tree--kg-…` | The symbol of a state or problem, or the name of a problem. |
    """

    DEFAULT_CSS = """
    TreeRenderer {
        background: $background;
        & > .group-tree--node { text-style: bold; }
        & > .group-tree--guide { color: $kg-muted; }
        & > .group-tree--count { color: $kg-muted; }
        & > .group-tree--muted { color: $kg-muted; }
        & > .group-tree--stale { color: $kg-stale; text-style: italic; }
        & > .group-tree--mark { color: $kg-accent; text-style: bold; }
        & > .group-tree--kg-ok { color: $kg-ok; }
        & > .group-tree--kg-warn { color: $kg-warn; }
        & > .group-tree--kg-error { color: $kg-error; }
        & > .group-tree--kg-muted { color: $kg-muted; }
        & > .group-tree--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
        }
        & > .group-tree--cursor-blurred {
            background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
        }
    }
    """

    class ViewChanged(Message):
        """Posted when the set of visible groups has changed, for example because the user has scrolled.

        Attributes:
            groups: ids of the visible groups, from top to bottom.
        """

        def __init__(self, groups: tuple[str, ...]) -> None:
            super().__init__()
            self.groups = groups

    def __init__(self, snapshot: Snapshot, title: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self.model = TreeModel(snapshot, title)
        # Line number in the widget → content of the row that was last drawn there.
        self._drawn: dict[int, rows.TreeLine | None] = {}
        self._strip_cache: dict[rows.TreeLine | None, Strip] = {}
        self._columns = 0
        self._in_view: tuple[str, ...] = ()

    @property
    def columns(self) -> int:
        """Width of a row in terminal cells, without the scroll bar."""
        return self._columns

    def scroll_anchor(self) -> tuple[RowKey | None, int]:
        """Return the row that must not move on the screen when rows change, as (key of the row, line in the widget).

        If the cursor is visible, this is the row of the cursor, and None is returned instead of its key. Otherwise,
        this is the first visible row.
        """
        top, cursor = self.scroll_offset.y, self.model.cursor_row
        if top <= cursor < top + self.size.height:
            return None, cursor - top
        return self.model.layout.row_key(top), 0

    def apply_layout(self, scroll_anchor: tuple[RowKey | None, int]) -> None:
        """Adjust the scroll position after the rows have changed.

        Only changed lines are redrawn, because some terminals are slow.

        Args:
            scroll_anchor: the result of calling `scroll_anchor` before the layout changed.
        """
        nothing_yet = not self.virtual_size.height
        self.set_line_count(self.model.layout.rows)
        row_key, offset = scroll_anchor
        row = self.model.cursor_row if row_key is None else self.model.layout.find(row_key)
        if nothing_yet:
            self.set_top_line(self.model.cursor_row - self.size.height + 1)
        else:
            self.set_top_line(self.scroll_offset.y if row is None else row - offset)
        self.refresh_changed()

    def scroll_to_cursor(self) -> None:
        """Scroll by as few rows as possible to make the cursor visible."""
        row, top, height = self.model.cursor_row, self.scroll_offset.y, self.size.height
        if row < top:
            self.scroll_to(y=row, animate=False)
        elif height and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Post `ViewChanged` if different groups have become visible."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._post_view_change()

    def on_resize(self) -> None:
        """Adapt the columns to the new width."""
        self._columns = self.scrollable_content_region.width
        self._drawn.clear()
        self._strip_cache.clear()
        # Draw all lines again, because Textual may already have drawn them in the new size, but with the old columns.
        self.refresh()
        self._post_view_change()

    def _post_view_change(self) -> None:
        top = self.scroll_offset.y
        groups = tuple(self.model.layout.groups(top, top + self.size.height))
        if groups != self._in_view:
            self._in_view = groups
            self.post_message(self.ViewChanged(groups))

    async def on_key(self, event: events.Key) -> None:
        """Run the action of a key immediately.

        Without this method, the key event would first pass through the message queue of each parent widget.
        """
        if await run_binding(self.app, event.key):
            event.stop()

    def render_line(self, y: int) -> Strip:
        """Render line `y` of the widget. The line ends before the scroll bar, so that Textual need not cut it."""
        line = self._tree_line(self.scroll_offset.y + y)
        self._drawn[y] = line
        strip = self._strip_cache.get(line)
        if strip is None:
            if len(self._strip_cache) > _MOST_CACHED_STRIPS:
                self._strip_cache.clear()
            strip = self._strip_cache[line] = self._styled(line)
        return strip

    def notify_style_update(self) -> None:
        """Discard the cached lines, because their style has changed with the theme or the focus."""
        super().notify_style_update()
        self._strip_cache.clear()

    def shift_cached_lines(self, lines: int) -> None:
        """Adjust the line numbers of the cached lines after scrolling down by `lines` lines (up if negative)."""
        super().shift_cached_lines(lines)
        self._drawn = shift_lines(self._drawn, lines, self.FIXED_LINES, self.size.height)

    def finish_line(self, strip: Strip) -> Strip:
        """Return the line unchanged. Its width and colors are already right for the terminal (see `render_line`)."""
        return strip

    def _styled(self, line: rows.TreeLine | None) -> Strip:
        width = self.columns
        if line is None:
            return Strip.blank(width, self.terminal_style())
        over: tuple[str, ...] = ()
        if line.cursor:
            over = ("group-tree--cursor" if self.has_focus else "group-tree--cursor-blurred",)
        segments = [Segment(piece, self.terminal_style(f"group-tree--{role}", *over)) for piece, role in line.pieces]
        return Strip(segments).adjust_cell_length(width, self.terminal_style(*over))

    def _tree_line(self, row: int) -> rows.TreeLine | None:
        model = self.model
        row_content = model.layout.at(row)
        if row_content is None:
            return None
        node, group = row_content
        cursor = row == model.cursor_row and not model.group_deleted
        columns = fit_columns(self.columns, model.columns, model.grouping)
        if group is None:
            opened = node.path in model.layout.opened
            total = model.totals.get(node.path)
            return rows.node_line(node, model.nodes, total, columns, title=model.title, opened=opened, cursor=cursor)
        return rows.group_line(model.group_row(group), len(node.path), columns, cursor=cursor)

    def refresh_changed(self) -> None:
        """Redraw the visible lines whose content has changed."""
        top = self.scroll_offset.y
        for y in range(self.size.height):
            if y not in self._drawn or self._drawn[y] != self._tree_line(top + y):
                self.refresh_line(top + y)
        self._post_view_change()


class TreeHeading(LineWidget):
    """The line above the tree: the grouping, and the titles of the columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree-heading--heading",
        "tree-heading--sorted",
        "tree-heading--leaf",
    }
    """
    | Class | Description |
    | :- | :- |
    | `tree-heading--heading` | The grouping, and the titles of columns. |
    | `tree-heading--sorted` | The title of the column by which groups are sorted. |
    | `tree-heading--leaf` | The blank before the titles, which has no style. |
    """

    DEFAULT_CSS = """
    TreeHeading {
        background: $background;
        & > .tree-heading--heading { color: $kg-muted; }
        & > .tree-heading--sorted { color: $kg-accent; text-style: bold; }
    }
    """

    class SortRequested(Message):
        """Posted when the user has clicked the title of a column to sort the groups by this column.

        Attributes:
            sort: the value to sort by, as a key of `SORT_KEYS`.
        """

        def __init__(self, sort: str) -> None:
            super().__init__()
            self.sort = sort

    def __init__(self, model: TreeModel) -> None:
        super().__init__()
        self._model = model

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the grouping and the column titles, with their styles. Titles are padded to the column widths."""
        model = self._model
        line = rows.heading_line(self._columns(width), GROUPING_TITLES[model.grouping], model.sort, model.descending)
        return [(words, f"tree-heading--{role}") for words, role in line.pieces]

    def _columns(self, width: int) -> FittedColumns:
        # Leave the last cell of the heading empty, because it is above the scroll bar of the tree.
        return fit_columns(max(width - 1, 1), self._model.columns, self._model.grouping)

    def on_click(self, event: events.Click) -> None:
        """Post `SortRequested` for the clicked title. A click to the left of the columns sorts by name."""
        column = self._columns(self.size.width).column_at(event.x)
        self.post_message(self.SortRequested(NAME if column is None else column.sort))
