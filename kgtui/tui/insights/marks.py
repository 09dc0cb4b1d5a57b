"""Unused groups are marked in the tree: the delete of the main screen goes on from there, with all that guards it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.insights.finding import Kind
from kgtui.model.guard import READ_ONLY
from kgtui.tui.panes.cells import some

if TYPE_CHECKING:
    from kgtui.tui.insights.rows import Row
    from kgtui.tui.screens.main import MainScreen


def hand_over(row: Row, main: MainScreen, recorded: str | None) -> tuple[bool, str]:
    """Mark the groups of a finding that are there, or unmark them; whether that was done, and what to tell.

    Args:
        recorded: id of the cluster that the finding is of; None when that is not known.
    """
    why = _why_not(row, main, recorded)
    if why:
        return False, why
    there = [group for group in row.finding.groups if group in main.snapshot.groups]
    main.groups.set_marks(there, marked=not row.marked)
    missing = len(row.finding.groups) - len(there)
    gone = f", {missing:,} gone" if missing else ""
    many = some(len(there), "group")
    if row.marked:
        return True, f"{many} unmarked{gone}"
    return True, f"{many} marked{gone}; in the tree d deletes what is marked and Empty, and asks first"


def of_another_cluster(recorded: str | None, main: MainScreen) -> str:
    """That findings are of another cluster than that on the screen; ``""`` when they are not, or nobody knows."""
    live = main.snapshot.cluster.cluster_id
    if recorded is None or live is None or recorded == live:
        return ""
    return f"findings of another cluster: {recorded}; on the screen is {live}"


def _why_not(row: Row, main: MainScreen, recorded: str | None) -> str:
    if row.finding.kind is not Kind.UNUSED:
        return "only what is unused is marked from here; enter goes to the group"
    if main.session.timeline is not None:
        return "this is a recording: nothing can be deleted"
    if main.session.read_only:
        return READ_ONLY
    if of_another_cluster(recorded, main):
        return "these findings are of another cluster: nothing is marked by them here"
    if not any(group in main.snapshot.groups for group in row.finding.groups):
        return "none of its groups is there any more"
    return ""
