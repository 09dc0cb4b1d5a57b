"""The right side of the main screen: the panes of the selected group, or the node page (tables about many groups)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.message import Message

from kgtui.model.problem import ONLY_COUNTED
from kgtui.model.slices import Slices
from kgtui.tui.node_page.heading import PARTS
from kgtui.tui.node_page.page import SLICE_SECONDS, NodePage, PageSubject
from kgtui.tui.panes import PANES_BY_ID
from kgtui.tui.problem_index import Problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from kgtui.model.judgment import Judgment
    from kgtui.model.problem import Problem
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.problem_index import ProblemIndex
    from kgtui.tui.tree.model import TreeModel
    from kgtui.tui.widgets.group_detail import GroupDetail

SHORTEST_PAUSE = 1.0
"""Minimum pause between two searches for groups with a problem, in seconds."""


class RightSide(Vertical):
    """The right side of the main screen. It shows the panes of a group, or the page of a tree node.

    A background task of this widget also searches each new snapshot (data about the cluster) for groups with a problem.

    Args:
        detail: widget with the panes of a group.
    """

    DEFAULT_CSS = """
    RightSide {
        & NodePage { height: 1fr; }
        & GroupDetail { height: 1fr; display: none; }
    }
    """

    class ProblemsChanged(Message):
        """Posted after each search for groups with a problem.

        Also posted when the user acknowledges (hides) a problem, or withdraws an acknowledgment.
        """

    def __init__(self, detail: GroupDetail, index: ProblemIndex) -> None:
        super().__init__(id="right")
        self._detail = detail
        self._index = index
        self._problems = Problems()
        self._acknowledged: dict[str, Judgment] = {}
        self._snapshot: Snapshot | None = None
        self._subject: PageSubject | None = None
        self._due = asyncio.Event()

    @property
    def counts(self) -> Mapping[Problem, int]:
        """Problem → number of groups with this problem, including groups whose problem the user has acknowledged.

        Unused and abandoned groups (`ONLY_COUNTED`) are left out.
        """
        return self._problems.counts

    def compose(self) -> ComposeResult:
        yield self._detail
        yield NodePage()

    def on_mount(self) -> None:
        """Start the worker that searches each new snapshot for problems."""
        self.run_worker(self._keep_problems_current(), name="problems", group="problems")

    @property
    def page(self) -> NodePage:
        """The page about a tree node. This widget is hidden while the panes of a group are shown."""
        return self.query_one(NodePage)

    def set_snapshot(self, snapshot: Snapshot) -> None:
        """Set the newest snapshot. A background task then searches it for problems."""
        self._snapshot = snapshot
        self._due.set()

    def show_nothing(self) -> None:
        """Hide the panes and the page, because the filter matches no group."""
        self._switch(page=False, panes=False)

    def show_group(self, group: str) -> None:
        """Show the panes of a group instead of the page."""
        self._switch(page=False, panes=True)
        if self._snapshot is not None:
            self._detail.show(self._snapshot, group)

    def show_page(self, subject: PageSubject) -> None:
        """Show the node page for a set of groups, and hide the panes."""
        self._subject = subject
        self._switch(page=True, panes=False)
        if self._snapshot is not None:
            self.page.show(self._snapshot, subject, self._problems)

    def show_node(self, tree: TreeModel, cluster: str) -> None:
        """Show the page of the tree node under the cursor. For the row of the cluster, show the page of all groups.

        Args:
            cluster: name of the cluster, used as the title of the page of all groups.
        """
        path, parts = tree.groups_under_cursor()
        if path:
            self.show_page(PageSubject(path, " · ".join(path), parts))
        else:
            self.show_page(PageSubject(None, cluster, list(tree.snapshot.by_listing.values())))

    def bring(self, pane: str, *, of_group: bool) -> bool:
        """Show a pane of the group or, if `of_group` is false, the table of the node page that has the same key.

        For example, key `2` shows the pane Members or, on the node page, the table of recent changes. Return False if
        no table of the node page has the key of the pane.

        Args:
            pane: id of the pane, such as `members`.
        """
        if of_group:
            self._detail.bring(pane)
            return True
        number = int(PANES_BY_ID[pane].key)
        if number > len(PARTS):
            return False
        self.page.bring(PARTS[number - 1].id)
        return True

    def enter(self, *, of_group: bool) -> None:
        """Move the focus to the visible pane of the group or, if `of_group` is false, to the node page."""
        if of_group:
            self._detail.enter()
        else:
            self.page.enter()

    def _switch(self, *, page: bool, panes: bool) -> None:
        """Show or hide the page and the panes. Hidden widgets drop their snapshot, and a hidden page is not computed.

        Set the attribute `display` directly. If a CSS class were changed instead, Textual would compute the styles of
        all panes again.
        """
        if not page and self._subject is not None:
            self._subject = None
            self.page.stop()
        if not panes:
            self._detail.release_snapshot()
        self.page.display = page
        self._detail.display = panes

    def acknowledge(self, group: str) -> bool:
        """Hide the problem of a group (acknowledge it) until the problem or the health status of the group changes.

        Return False if the group has no problem that needs attention.
        """
        judgment = self._problems.judgments.get(group)
        if judgment is None or judgment.kind in ONLY_COUNTED:
            return False
        self._acknowledged[group] = judgment
        self._problems_changed()
        return True

    def withdraw_acknowledgment(self, group: str) -> bool:
        """Show the acknowledged problem of a group again. Return False if the problem was not acknowledged."""
        if self._acknowledged.pop(group, None) is None:
            return False
        self._problems_changed()
        return True

    def next_problem(self, group: str | None) -> str | None:
        """Return the group that follows `group` in the list of problems, which begins with the most severe problem.

        If `group` is the last group in the list, or is not in the list, return the first group of the list. Return None
        if the list is empty.
        """
        groups = [name for name, _ in self._problems.worst_first()]
        if not groups:
            return None
        return groups[(groups.index(group) + 1) % len(groups)] if group in groups else groups[0]

    async def _keep_problems_current(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            if self._snapshot is None:
                continue
            await Slices(asyncio.sleep, SLICE_SECONDS).run(self._index.steps(self._snapshot))
            self._problems_changed()
            await asyncio.sleep(SHORTEST_PAUSE)

    def _problems_changed(self) -> None:
        judgments = self._index.judgments
        self._acknowledged = {
            group: seen for group, seen in self._acknowledged.items() if _same_problem(seen, judgments.get(group))
        }
        self._problems = self._index.problems(hidden=self._acknowledged)
        if self._subject is not None:
            self.show_page(self._subject)
        self.post_message(self.ProblemsChanged())


def _same_problem(seen: Judgment, now: Judgment | None) -> bool:
    return now is not None and (seen.status, seen.kind) == (now.status, now.kind)
