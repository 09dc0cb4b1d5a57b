"""The panes: views of one group, each a widget with `show(snapshot, group)`. `PANES` names them in their order.

Imports `model` and the UI's own text; nothing here asks a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

from kgtui.tui.panes.assignments import AssignmentsPane
from kgtui.tui.panes.base import Pane
from kgtui.tui.panes.config import ConfigPane
from kgtui.tui.panes.members import MembersPane
from kgtui.tui.panes.offsets import OffsetsPane
from kgtui.tui.panes.overview import OverviewPane

__all__ = ["PANES", "AssignmentsPane", "ConfigPane", "MembersPane", "OffsetsPane", "OverviewPane", "Pane", "PaneEntry"]


class PaneEntry(NamedTuple):
    """One pane: its id, the key that opens it, its title, its widget."""

    id: str
    key: str
    title: str
    widget: type[Pane]


PANES: tuple[PaneEntry, ...] = (
    PaneEntry("overview", "1", "Overview", OverviewPane),
    PaneEntry("members", "2", "Members", MembersPane),
    PaneEntry("assignments", "3", "Assignments", AssignmentsPane),
    PaneEntry("offsets", "4", "Offsets", OffsetsPane),
    PaneEntry("config", "6", "Config", ConfigPane),
)
"""5 is left for History."""
