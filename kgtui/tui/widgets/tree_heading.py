"""The line above the tree, with the grouping, the titles of the columns, and the sort order of the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kgtui.tui.tree import rows
from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence


class TreeHeading(LineWidget):
    """The line above the tree, with the grouping of the tree and the titles of its columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree-heading--heading",
        "tree-heading--sorted",
        "tree-heading--stale",
        "tree-heading--leaf",
    }
    """
    | Class | Description |
    | :- | :- |
    | `tree-heading--heading`, `--stale` | The title of a column. |
    | `tree-heading--sorted` | The title of the column by which groups are sorted. |
    """

    DEFAULT_CSS = """
    TreeHeading {
        background: $background;
        & > .tree-heading--heading { color: $kg-muted; }
        & > .tree-heading--stale { color: $kg-muted; }
        & > .tree-heading--sorted { color: $kg-accent; text-style: bold; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown = ("by type, state", "name", False)

    def show(self, grouping: str, sort: str, *, descending: bool) -> None:
        """Show the name of a grouping, and the column by which groups are sorted."""
        self._shown = (grouping, sort, descending)
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the titles, as wide as the columns of the tree.

        The last cell is empty above the scroll bar of the tree.
        """
        grouping, sort, descending = self._shown
        line = rows.heading_line(max(width - 1, 1), grouping, sort, descending)
        return [(words, f"tree-heading--{role}") for words, role in line.pieces]
