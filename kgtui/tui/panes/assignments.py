"""The Assignments pane: who has what, who shall have it, and how evenly it is spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from kgtui.model.assignment import Assignment, assignment_of
from kgtui.tui.panes.assignment_rows import (
    load_columns,
    load_rows,
    names_of,
    placement_columns,
    placement_rows,
    summary,
)
from kgtui.tui.panes.base import Notice, Pane
from kgtui.tui.panes.cells import ACCENT, MUTED, WARN, Cell
from kgtui.tui.panes.detail import DetailedTable
from kgtui.tui.panes.summary import SummaryLine, joined
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.snapshot import Snapshot


class AssignmentsPane(Pane):
    """Partitions or tasks with owner and target; or the loads of members, hosts and racks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "View", id="view", tooltip="Show partitions, or loads by member, host or rack."),
        Binding("l", "only", "Unsettled", id="only", tooltip="Show only what is not settled."),
    ]
    """
    | key | does |
    |---|---|
    | v | partitions, or loads by member, host, rack |
    | l | only what is not settled |
    """

    reads: ClassVar[str] = "details"
    what: ClassVar[str] = "the assignment"
    tool: ClassVar[View] = "members"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._assignment: Assignment | None = None
        self._names: dict[str, str] = {}
        self._view = "partition"
        self._unsettled = False

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield DetailedTable(LineTable[Any]((), lambda row: row.key, id="assignments-table"))

    @property
    def table(self) -> LineTable[Any]:
        """The table of placements or loads."""
        return self.query_one("#assignments-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def basis(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        return (snapshot.details.get(group), snapshot.offsets.get(group))

    def weight(self, snapshot: Snapshot, group: str) -> int:
        details, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        held = sum(member.assigned_count or 0 for member in details.value.members or ()) if details is not None else 0
        return held + (len(offsets.value.committed) + len(offsets.value.share) if offsets is not None else 0)

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[Assignment | None, dict[str, str]] | None:
        details, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        if details is None:
            return None
        found = assignment_of(details.value, offsets.value if offsets is not None else None)
        return found, names_of(details.value)

    def draw(self, prepared: tuple[Assignment | None, dict[str, str]] | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        self._assignment, self._names = prepared
        self._arrange(fresh=fresh)

    def clear(self) -> None:
        self._assignment = None
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).say(())

    @property
    def views(self) -> list[str]:
        """The views that this assignment has: racks only where a member tells its rack."""
        return ["partition", *(skew.by for skew in self._assignment.skews)] if self._assignment else ["partition"]

    def _arrange(self, *, fresh: bool = False) -> None:
        assignment = self._assignment
        if assignment is None:
            self.table.set_rows((), fresh=True)
            self.query_one(SummaryLine).say((Cell("the broker withheld the members", WARN),))
            return
        if self._view not in self.views:
            self._view = "partition"
        parts = summary(assignment, self._names)
        if self._view == "partition":
            rows = placement_rows(assignment, self._names, unsettled=self._unsettled)
            self.table.set_rows(rows, columns=placement_columns(assignment), fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only unsettled", ACCENT),))
        else:
            skew = next(skew for skew in assignment.skews if skew.by == self._view)
            self.table.set_rows(load_rows(assignment, skew, self._names), columns=load_columns(skew), fresh=fresh)
            parts.insert(0, (Cell(f"by {self._view}", ACCENT),))
        said = joined(parts or [(Cell("nothing is assigned", MUTED),)])
        self.query_one(SummaryLine).say(said, hint="v view  l unsettled" if assignment.placements else "")

    def action_view(self) -> None:
        """Partitions, then loads by member, host and rack."""
        views = self.views
        self._view = views[(views.index(self._view) + 1) % len(views)]
        self._arrange(fresh=True)

    def action_only(self) -> None:
        """Only what must move or is nobody's, and all again."""
        self._unsettled = not self._unsettled
        self._view = "partition"
        self._arrange()
