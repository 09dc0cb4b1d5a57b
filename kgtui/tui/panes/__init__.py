"""The panes: widgets that show one group of a snapshot, each with the method `show(snapshot, group)`.

`PANES` lists them in the order of their keys. The package imports `model` and the texts and widgets of the screen; it
sends no requests. A pane's module is imported when the pane is opened, so that the first frame comes sooner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kgtui.tui.panes.assignments import AssignmentsPane
    from kgtui.tui.panes.base import Pane
    from kgtui.tui.panes.config import ConfigPane
    from kgtui.tui.panes.history import HistoryPane
    from kgtui.tui.panes.members import MembersPane
    from kgtui.tui.panes.offsets import OffsetsPane
    from kgtui.tui.panes.overview import OverviewPane

__all__ = [
    "PANES", "AssignmentsPane", "ConfigPane", "HistoryPane", "MembersPane", "OffsetsPane", "OverviewPane", "Pane",
    "PaneEntry", "pane_titles",
]  # fmt: skip

_MODULES = {
    "Pane": "base",
    "OverviewPane": "overview",
    "MembersPane": "members",
    "AssignmentsPane": "assignments",
    "OffsetsPane": "offsets",
    "HistoryPane": "history",
    "ConfigPane": "config",
}
"""Class of a pane → the module that is imported when the pane is opened."""


class PaneEntry(NamedTuple):
    """One pane of the group's panes.

    Attributes:
        key: the key that opens it.
        short: the title on a narrow screen.
        name: class name of its widget.
        help: what its key does, one sentence.
    """

    id: str
    key: str
    title: str
    short: str
    name: str
    help: str

    @property
    def widget(self) -> type[Pane]:
        """The widget's class. The first access imports its module."""
        found: type[Pane] = __getattr__(self.name)
        return found


PANES: tuple[PaneEntry, ...] = (
    PaneEntry("overview", "1", "Overview", "Over", "OverviewPane", "Show a summary of the group."),
    PaneEntry("members", "2", "Members", "Memb", "MembersPane", "Show the group's members."),
    PaneEntry(
        "assignments",
        "3",
        "Assignments",
        "Assign",
        "AssignmentsPane",
        "Show which member owns which partition, and what must still move.",
    ),
    PaneEntry(
        "offsets", "4", "Offsets", "Offs", "OffsetsPane", "Show committed offsets and lag by topic and partition."
    ),
    PaneEntry(
        "history",
        "5",
        "History",
        "Hist",
        "HistoryPane",
        "Show lag, rates and members over time, and a log of rebalances.",
    ),
    PaneEntry(
        "config", "6", "Config", "Conf", "ConfigPane", "Show the group's configuration, and where each value is set."
    ),
)

_GIVE_WAY = ("assignments", "config", "offsets", "history", "members", "overview")
"""Order in which titles are shortened when the screen gets narrower."""


def pane_titles(width: int, gap: int = 1) -> dict[str, str]:
    """Return the title of each pane by its id, with its key; on a narrow screen some titles are short.

    Args:
        width: terminal cells for all titles.
        gap: blank cells after each title.
    """
    shown = {entry.id: f"{entry.key} {entry.title}" for entry in PANES}
    by_id = {entry.id: entry for entry in PANES}
    for name in _GIVE_WAY:
        if sum(len(title) + gap for title in shown.values()) <= width:
            break
        shown[name] = f"{by_id[name].key} {by_id[name].short}"
    return shown


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
