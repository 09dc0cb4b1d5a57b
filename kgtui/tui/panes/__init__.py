"""The panes: each pane is a widget with one kind of data about one group, such as its members.

`PANES` lists the panes in the order of their keys, `1` to `6`. A pane shows data that has already been read, and sends
no requests.

| module | contents |
|---|---|
| `overview` | Overview pane: state, members, health, lag, permissions |
| `overview_health` | the fields of the Overview pane about health and data loss |
| `members` | Members pane |
| `member_loads` | the row of a member, with bars for its number of partitions, its lag, and its read rate |
| `member_rows` | rows and columns of the Members pane, by group type |
| `assignments` | Assignments pane: current and target owners of partitions |
| `assignment_grid` | grid of the Assignments pane: columns of the members, symbols and legend |
| `assignment_rows` | rows and columns of the Assignments pane |
| `offsets` | Offsets pane: committed offset, lag and owner per partition |
| `offset_bars` | the row of a partition, with bars for its lag and its lead (committed offset minus log start) |
| `offset_rows` | rows and columns of the Offsets pane |
| `history` | History pane: plots above a log of changes |
| `history_log` | columns of the log of changes, and the summary of the History pane |
| `config` | Config pane: configs of the group and their sources |
| `base` | `Pane`, the base class of the panes; the notice about old or missing data; the summary line |
| `table` | table widget that draws only visible rows |
| `row_detail` | a table, and below it the full values of the row under the cursor |
| `columns` | columns of a table, and the choice of the columns that fit the width of the table |
| `cells` | `Cell`: a piece of text with a color role |
| `text_lines` | scrolling text that can be selected with the mouse |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgtui.tui.panes.base import Pane


class PaneEntry(NamedTuple):
    """Description of a pane: its key, its titles, and the class of its widget.

    Attributes:
        id: id of the pane, and name of its module.
        short: title on a narrow screen.
        shortened: place of this pane in the order in which titles are shortened. If the line is too narrow for all
            titles, the pane with number 1 gets its `short` title first, then the pane with number 2, and so on.
        name: class name of the pane's widget.
        help: sentence in the help screen that says what the key shows.
        needs_configs: whether the pane shows the group's configs. Configs are read only while such a pane is visible.
    """

    id: str
    key: str
    title: str
    short: str
    shortened: int
    name: str
    help: str
    needs_configs: bool = False

    @property
    def widget(self) -> type[Pane]:
        """The class of the pane's widget. The module of this class is imported when the property is first read."""
        return getattr(import_module(f"{__name__}.{self.id}"), self.name)  # type: ignore[no-any-return]


PANES: tuple[PaneEntry, ...] = (
    PaneEntry("overview", "1", "Overview", "Over", 6, "OverviewPane", "Show a summary of the group."),
    PaneEntry("members", "2", "Members", "Memb", 5, "MembersPane", "Show the group's members."),
    PaneEntry(
        "assignments", "3", "Assignments", "Assign", 1, "AssignmentsPane",
        "Show which member owns which partition, and which partitions must still move.",
    ),
    PaneEntry(
        "offsets", "4", "Offsets", "Offs", 3, "OffsetsPane",
        "Show committed offsets and lag by topic and partition.",
    ),
    PaneEntry(
        "history", "5", "History", "Hist", 4, "HistoryPane",
        "Show lag, rates and members over time, and a log of rebalances.",
    ),
    PaneEntry(
        "config", "6", "Config", "Conf", 2, "ConfigPane",
        "Show the group's configuration, and where each value is set.", needs_configs=True,
    ),
)  # fmt: skip

PANES_BY_ID = {entry.id: entry for entry in PANES}


def pane_titles(width: int, gap: int = 1) -> dict[str, str]:
    """Return a dict: pane id → key and title, such as `2 Members`.

    If the titles together are too wide, titles are replaced with their short titles until all titles fit.

    Args:
        width: available width for all titles together, in terminal cells.
        gap: number of blanks after each title.
    """
    shown = {entry.id: f"{entry.key} {entry.title}" for entry in PANES}
    for entry in sorted(PANES, key=lambda entry: entry.shortened):
        if sum(len(title) + gap for title in shown.values()) <= width:
            break
        shown[entry.id] = f"{entry.key} {entry.short}"
    return shown
