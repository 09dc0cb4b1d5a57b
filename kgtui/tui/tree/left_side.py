"""The left side of the screen: the tree with its heading. It saves columns and sort order to a file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical

from kgtui.config.state_folder import private_folder
from kgtui.errors import PARSE_ERRORS
from kgtui.model.defaults import TREE_COLUMNS
from kgtui.model.query.sort_keys import NAME, SORT_KEYS
from kgtui.private_files import open_private
from kgtui.tui.tree.renderer import TreeHeading
from kgtui.tui.tree.widget import GroupTree
from kgtui.tui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.problem_index import ProblemIndex
    from kgtui.tui.session import Session


@dataclass(frozen=True, slots=True)
class SavedView:
    """The saved columns and sort order of the tree.

    Attributes:
        configured: ids of the columns that `config.toml` listed when this object was saved. If `config.toml` lists
            other columns now, the saved `columns` are ignored.
        columns: ids of the columns to show, the most important first. A column is left out if it does not fit beside
            the more important columns.
        sort: value by which the groups are sorted, as a key of `SORT_KEYS`.
        descending: whether the largest value comes first.
    """

    configured: tuple[str, ...]
    columns: tuple[str, ...]
    sort: str
    descending: bool


def load_view(path: Path, configured: tuple[str, ...]) -> SavedView | None:
    """Return the columns and sort order that are saved in a file; None if the file is missing or invalid.

    Args:
        configured: ids of the columns that `config.toml` lists now. If `config.toml` listed other columns when the file
            was saved, the result contains `configured` instead of the saved columns.
    """
    try:
        with open(open_private(path, os.O_RDONLY), "rb") as file:
            content = json.load(file)
        known = [tuple(map(str, content[key])) for key in ("configured", "columns")]
        view = SavedView(known[0], known[1], str(content["sort"]), content["descending"] is True)
    except (OSError, TypeError, KeyError, *PARSE_ERRORS):
        return None
    if view.sort not in SORT_KEYS or not set(view.columns) <= set(TREE_COLUMNS):
        return None
    return view if view.configured == configured else SavedView(configured, configured, view.sort, view.descending)


def save_view(path: Path, view: SavedView) -> None:
    """Save the columns and the sort order of the tree in the file `path`. Create the folder if it is missing.

    Raises `OSError` if the file cannot be written.
    """
    private_folder(path.parent)
    with open(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(json.dumps(asdict(view)).encode())


class LeftSide(Vertical):
    """The tree with its heading, or the message that is shown instead of an empty tree.

    Args:
        problems: index of the problems of all groups, which the tree keeps up to date.
    """

    BLANK = True

    def __init__(self, snapshot: Snapshot, session: Session, problems: ProblemIndex) -> None:
        super().__init__(id="left")
        self._session = session
        self._order_before = (NAME, False)
        self.group_tree = GroupTree(snapshot, session.target.name, problems)

    def compose(self) -> ComposeResult:
        yield TreeHeading(self.group_tree.model)
        yield EmptyState()
        yield self.group_tree

    def show_empty_state(self, snapshot: Snapshot, query: Query | None) -> None:
        """Show the tree or, if it has no groups, a message that says why.

        Args:
            query: the filter, if the tree has no groups because none matches the filter; otherwise None.
        """
        self.group_tree.display = not self.query_one(EmptyState).show(snapshot, self._session, query)

    @on(GroupTree.SettingsChanged)
    def _redraw_heading(self) -> None:
        self.query_one(TreeHeading).redraw()

    def sort_by(self, sort: str, *, descending: bool) -> None:
        """Sort the groups by a key of `SORT_KEYS`, and save this order."""
        self.group_tree.sort_by(sort, descending=descending)
        self._save_view()

    def set_worst_first(self, *, enabled: bool) -> None:
        """Sort the groups by their problems, the worst first. If `enabled` is false, restore the previous order.

        The new order takes effect at the next layout of the tree, and is not saved to the file. The previous order is
        not restored if the user has meanwhile chosen a different order.
        """
        model = self.group_tree.model
        if enabled:
            self._order_before = model.sort, model.descending
            model.sort, model.descending = "verdict", True
        elif model.sort == "verdict":
            model.sort, model.descending = self._order_before

    def show_columns(self, columns: tuple[str, ...]) -> None:
        """Show the columns with these ids, and save the ids.

        The most important column comes first. A column is left out if it does not fit beside the more important
        columns.
        """
        self.group_tree.show_columns(columns)
        self._save_view()

    @on(TreeHeading.SortRequested)
    def _title_clicked(self, message: TreeHeading.SortRequested) -> None:
        model = self.group_tree.model
        again = model.sort == message.sort
        self.sort_by(message.sort, descending=not model.descending if again else SORT_KEYS[message.sort].largest_first)

    def restore_view(self) -> None:
        """Restore the saved columns and sort order. A `sort:` term in a filter can change the order later."""
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
