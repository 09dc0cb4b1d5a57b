"""The Assignments pane: who has what, who shall have it, and how evenly it is spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from kgtui.model.assignment import Assignment, assignment_of
from kgtui.tui.panes.assignment_grid import GridMember, grid_columns, grid_members, legend
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
    """Partitions or tasks with owner and target, or in a grid with members; or the loads of members, hosts, racks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "View", id="view", tooltip="A list, a grid, or loads by member, host or rack."),
        Binding("left", "member(-1)", "Member before", show=False, id="collapse"),
        Binding("right", "member(1)", "Next member", show=False, id="expand"),
        Binding("l", "only", "Unsettled", id="only", tooltip="Show only what is not settled."),
    ]
    """
    | key | does |
    |---|---|
    | v | partitions as a list, in a grid with the members, or loads by member, host, rack |
    | left / right | in the grid, the member before or after |
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
        self._members: list[GridMember] = []
        self._member = 0
        self._first = 0
        self._columns = 1

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield SummaryLine(id="legend")
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
        self._members = grid_members(self._assignment, self._names) if self._assignment else []
        self._member = 0 if fresh else min(self._member, max(len(self._members) - 1, 0))
        self._first = 0 if fresh else self._first
        self._arrange(fresh=fresh)

    def clear(self) -> None:
        self._assignment = None
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).say(())
        self.query_one("#legend", SummaryLine).say(())

    @property
    def views(self) -> list[str]:
        """The views that this assignment has: racks only where a member tells its rack."""
        if self._assignment is None:
            return ["partition"]
        grid = ["grid"] if self._assignment.placements and self._names else []
        return ["partition", *grid, *(skew.by for skew in self._assignment.skews)]

    def _arrange(self, *, fresh: bool = False) -> None:
        assignment = self._assignment
        if assignment is None:
            self.table.set_rows((), fresh=True)
            self.query_one(SummaryLine).say((Cell("the broker withheld the members", WARN),))
            return
        if self._view not in self.views:
            self._view = "partition"
        parts = summary(assignment, self._names)
        said: tuple[Cell, ...] = ()
        if self._view == "grid":
            said = self._draw_grid(assignment, fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only unsettled", ACCENT),))
        elif self._view == "partition":
            rows = placement_rows(assignment, self._names, unsettled=self._unsettled)
            self.table.set_rows(rows, columns=placement_columns(assignment), fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only unsettled", ACCENT),))
        else:
            skew = next(skew for skew in assignment.skews if skew.by == self._view)
            self.table.set_rows(load_rows(assignment, skew, self._names), columns=load_columns(skew), fresh=fresh)
            parts.insert(0, (Cell(f"by {self._view}", ACCENT),))
        words = joined(parts or [(Cell("nothing is assigned", MUTED),)])
        self.query_one(SummaryLine).say(words, hint="v view  l unsettled" if assignment.placements else "")
        self.query_one("#legend", SummaryLine).say(said)

    def _draw_grid(self, assignment: Assignment, *, fresh: bool) -> tuple[Cell, ...]:
        """The members around the chosen one that there is room for; returns the legend."""
        rows = placement_rows(assignment, self._names, unsettled=self._unsettled)
        room = self.table.scrollable_content_region.width - 1
        _, count = grid_columns(rows, self._members, 0, room)
        if not self._first <= self._member < self._first + count:
            self._first = self._member if self._member < self._first else self._member - count + 1
        self._first = max(0, min(self._first, len(self._members) - count))
        columns, self._columns = grid_columns(rows, self._members, self._first, room)
        self.table.set_rows(rows, columns=columns, fresh=fresh)
        if self._members:
            self.table.set_sorted(self._members[self._member].member_id, descending=False)
        return legend(assignment, self._members, self._member, self._first, self._columns)

    def on_resize(self) -> None:
        """Another width has room for other members."""
        if self._view == "grid":
            # A layout asked for while this one is under way would be lost.
            self.call_after_refresh(self._arrange)

    def action_member(self, step: int) -> None:
        """In the grid, choose the member before or after; the columns follow."""
        if self._view != "grid":
            raise SkipAction
        self._member = max(0, min(self._member + step, len(self._members) - 1))
        self._arrange()

    def action_view(self) -> None:
        """Partitions, then loads by member, host and rack."""
        views = self.views
        self._view = views[(views.index(self._view) + 1) % len(views)]
        self._arrange(fresh=True)

    def action_only(self) -> None:
        """Only what must move or is nobody's, and all again."""
        self._unsettled = not self._unsettled
        self._view = "grid" if self._view == "grid" else "partition"
        self._arrange()
