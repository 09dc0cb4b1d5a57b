"""The panes: widgets that each show one group of a snapshot, such as its members or its offsets.

`PANES` lists the panes in the order of their keys, `1` to `6`. A pane shows what the snapshot contains and sends no
requests. The module of a pane is imported when the pane is first opened, so that the first frame of the app comes
sooner.
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
"""The module of this package that contains each pane class, by class name. It is imported at the first use."""


class PaneEntry(NamedTuple):
    """A pane in the list of panes.

    Attributes:
        key: the key that opens the pane.
        short: the title of the pane on a narrow screen.
        name: class name of the pane's widget.
        help: one sentence for the help screen that says what the key does.
    """

    id: str
    key: str
    title: str
    short: str
    name: str
    help: str

    @property
    def widget(self) -> type[Pane]:
        """The class of the pane's widget. The first access imports the module of the class."""
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

_SHORTENING_ORDER = ("assignments", "config", "offsets", "history", "members", "overview")
"""Ids of the panes. On a narrow screen, the title of the first pane is shortened first, then that of the second."""


def pane_titles(width: int, gap: int = 1) -> dict[str, str]:
    """Return the titles of all panes, such as `2 Members`, by pane id. As many titles are shortened as necessary.

    Args:
        width: number of terminal cells that all titles and gaps together may take.
        gap: number of blank cells after each title.
    """
    shown = {entry.id: f"{entry.key} {entry.title}" for entry in PANES}
    by_id = {entry.id: entry for entry in PANES}
    for name in _SHORTENING_ORDER:
        if sum(len(title) + gap for title in shown.values()) <= width:
            break
        shown[name] = f"{by_id[name].key} {by_id[name].short}"
    return shown


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
