"""The left side of the screen, with the tree and its heading. It saves the columns and the order of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical

from kgtui.model.query.sort_keys import SORT_KEYS
from kgtui.tui.tree.renderer import TreeHeading
from kgtui.tui.tree.saved_view import SavedView, load_view, save_view
from kgtui.tui.tree.widget import GroupTree
from kgtui.tui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.problem_index import ProblemIndex
    from kgtui.tui.session import Session


class LeftSide(Vertical):
    """The tree with its heading, or the message that replaces an empty tree.

    Args:
        problems: the problems of all groups, which the page shows too.
    """

    BLANK = True

    def __init__(self, snapshot: Snapshot, session: Session, problems: ProblemIndex) -> None:
        super().__init__(id="left")
        self._session = session
        self.group_tree = GroupTree(snapshot, session.target.name, problems)

    def compose(self) -> ComposeResult:
        """Create the widgets from top to bottom."""
        yield TreeHeading(self.group_tree.model)
        yield EmptyState()
        yield self.group_tree

    def show_empty_state(self, snapshot: Snapshot, query: Query | None) -> None:
        """Show the tree or, if the tree is empty, a message that says why. `query` is a filter without a match."""
        self.group_tree.display = not self.query_one(EmptyState).show(snapshot, self._session, query)

    @on(GroupTree.SettingsChanged)
    def _redraw_heading(self) -> None:
        self.query_one(TreeHeading).redraw()

    def sort_by(self, sort: str, *, descending: bool) -> None:
        """Sort the groups by a key of `SORT_KEYS`, and save this order for the next start of kgtui."""
        self.group_tree.sort_by(sort, descending=descending)
        self._save_view()

    def show_columns(self, columns: tuple[str, ...]) -> None:
        """Show these columns, and save them for the next start of kgtui.

        Args:
            columns: ids of the columns, the most important one first.
        """
        self.group_tree.show_columns(columns)
        self._save_view()

    @on(TreeHeading.SortRequested)
    def _title_clicked(self, message: TreeHeading.SortRequested) -> None:
        model = self.group_tree.model
        again = model.sort == message.sort
        self.sort_by(message.sort, descending=not model.descending if again else SORT_KEYS[message.sort].largest_first)

    def restore_view(self) -> None:
        """Restore the saved columns and order. A `sort:` term in the filter has precedence over the saved order."""
        configured = self._session.ui.columns
        view = load_view(self._session.state_folder.view, configured)
        if view is not None:
            self.group_tree.sort_by(view.sort, descending=view.descending)
        self.group_tree.show_columns(configured if view is None else view.columns)

    def _save_view(self) -> None:
        model = self.group_tree.model
        view = SavedView(self._session.ui.columns, model.columns, model.sort, model.descending)
        try:
            save_view(self._session.state_folder.view, view)
        except OSError as error:
            message = f"The choice is lost when kgtui ends, because it could not be saved: {error.strerror or error}"
            self.notify(message, timeout=6, markup=False)
