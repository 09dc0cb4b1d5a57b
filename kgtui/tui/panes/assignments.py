"""The Assignments pane: current and target owners of partitions, and how many partitions each member owns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from kgtui.model.assignment import Assignment, Item, assignment_of
from kgtui.model.member_names import member_names
from kgtui.tui.panes.assignment_grid import GridMember, grid_columns, grid_members, legend
from kgtui.tui.panes.assignment_rows import (
    assignment_summary,
    lag_by_item,
    load_columns,
    load_rows,
    placement_columns,
    placement_rows,
)
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import ACCENT, MUTED, WARN, Cell, PaneLine
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.snapshot import Snapshot


Prepared = tuple[Assignment | None, dict[str, str], dict[Item, int]]
"""Result of `AssignmentsPane.prepare`: (assignment, {member id: name}, {partition or task: lag}).

The assignment is None if the members of the group are unknown.
"""


class AssignmentsPane(Pane):
    """Pane with the current and target owner of each partition or task.

    The user can switch between a list, a grid with one column per member, and tables that count the partitions of each
    member, host or rack.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "View", id="view", tooltip="Show a list, a grid, or the loads by member, host or rack."),
        Binding("left", "member(-1)", "Previous member", show=False, id="collapse"),
        Binding("right", "member(1)", "Next member", show=False, id="expand"),
        Binding(
            "l",
            "only",
            "Unsettled",
            id="only",
            tooltip="Show only partitions that must move, have no owner, or have an unknown owner.",
        ),
    ]
    """
    | key | does |
    |---|---|
    | v | show a list, a grid, or the number of partitions per member, host or rack |
    | left / right | in the grid, choose the next member to the left or right; the legend shows its name |
    | l | show only partitions that must move, have no owner, or have an unknown owner; press again to show all |
    """

    reading_field: ClassVar[str] = "details"
    reading_name: ClassVar[str] = "the assignment"
    tool_view: ClassVar[View] = "members"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._assignment: Assignment | None = None
        self._names: dict[str, str] = {}
        self._lags: dict[Item, int] = {}
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
        """The table widget with the rows of the current view."""
        return self.query_one("#assignments-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        return (snapshot.details.get(group), snapshot.offsets.get(group))

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        details, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        held = sum(member.assigned_count or 0 for member in details.value.members or ()) if details is not None else 0
        return held + (len(offsets.value.committed) + len(offsets.value.share) if offsets is not None else 0)

    def prepare(self, snapshot: Snapshot, group: str) -> Prepared | None:
        details, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        if details is None:
            return None
        read = offsets.value if offsets is not None else None
        return (
            assignment_of(details.value, read),
            member_names(details.value.members or ()),
            lag_by_item(details.value, read),
        )

    def draw(self, prepared: Prepared | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        self._assignment, self._names, self._lags = prepared
        self._members = grid_members(self._assignment, self._names) if self._assignment else []
        self._member = 0 if fresh else min(self._member, max(len(self._members) - 1, 0))
        self._first = 0 if fresh else self._first
        self._arrange(fresh=fresh)

    def clear(self) -> None:
        self._assignment = None
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())
        self.query_one("#legend", SummaryLine).set_cells(())

    @property
    def views(self) -> list[str]:
        """Names of the available views, out of `partition` (the list), `grid`, `member`, `host` and `rack`.

        Only the list is always available. The grid needs at least one member and one partition or task. The views
        `member` and `host` need a known assignment, and `rack` also needs a member that reports its rack.
        """
        if self._assignment is None:
            return ["partition"]
        grid = ["grid"] if self._assignment.placements and self._names else []
        return ["partition", *grid, *(skew.by for skew in self._assignment.skews)]

    def _arrange(self, *, fresh: bool = False) -> None:
        assignment = self._assignment
        if assignment is None:
            self.table.set_rows((), fresh=True)
            self.query_one(SummaryLine).set_cells((Cell("the broker did not report the members", WARN),))
            self.query_one("#legend", SummaryLine).set_cells(())
            return
        if self._view not in self.views:
            self._view = "partition"
        parts = assignment_summary(assignment, self._names)
        legend_cells: PaneLine = ()
        if self._view == "grid":
            legend_cells = self._draw_grid(assignment, fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only moving, unowned or unknown", ACCENT),))
        elif self._view == "partition":
            rows = placement_rows(assignment, self._names, unsettled=self._unsettled)
            self.table.set_rows(rows, columns=placement_columns(assignment), fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only moving, unowned or unknown", ACCENT),))
        else:
            skew = next(skew for skew in assignment.skews if skew.by == self._view)
            self.table.set_rows(load_rows(assignment, skew, self._names), columns=load_columns(skew), fresh=fresh)
            parts.insert(0, (Cell(f"by {self._view}", ACCENT),))
        summary = join_with_dots(parts or [(Cell("nothing is assigned", MUTED),)])
        self.query_one(SummaryLine).set_cells(summary, hint="v next view  l unsettled" if assignment.placements else "")
        self.query_one("#legend", SummaryLine).set_cells(legend_cells)

    def _draw_grid(self, assignment: Assignment, *, fresh: bool) -> PaneLine:
        rows = placement_rows(assignment, self._names, unsettled=self._unsettled, lag_of=self._lags)
        room = self.table.scrollable_content_region.width - 1
        _, count = grid_columns(rows, self._members, 0, room)
        if not self._first <= self._member < self._first + count:
            self._first = self._member if self._member < self._first else self._member - count + 1
        self._first = max(0, min(self._first, len(self._members) - count))
        columns, self._columns = grid_columns(rows, self._members, self._first, room)
        self.table.set_rows(rows, columns=columns, fresh=fresh)
        if self._members:
            self.table.set_sorted(self._members[self._member].member_id, descending=False)
        scale = rows[0].scale if rows else 0.0
        return legend(assignment, self._members, self._member, self._first, self._columns, scale)

    def on_resize(self) -> None:
        """Draw the grid again, because the number of member columns that fit can differ at the new width."""
        if self._view == "grid" and self._assignment is not None:
            # Textual ignores layout requests during a resize, so the grid is arranged after the resize.
            self.call_after_refresh(self._arrange)

    def action_member(self, step: int) -> None:
        """In the grid view, choose the member `step` columns to the right, or to the left if `step` is negative.

        In all other views, the parent widgets handle the key.
        """
        if self._view != "grid":
            raise SkipAction
        self._member = max(0, min(self._member + step, len(self._members) - 1))
        self._arrange()

    def action_view(self) -> None:
        """Switch to the next available view, such as the grid, or from the last view to the first one."""
        views = self.views
        self._view = views[(views.index(self._view) + 1) % len(views)]
        self._arrange(fresh=True)

    def action_only(self) -> None:
        """Show only partitions that must move, have no owner, or have an unknown owner; when called again, show all.

        The views that count partitions per member, host or rack have no such filter. From these views, switch to the
        list of partitions.
        """
        self._unsettled = not self._unsettled
        self._view = "grid" if self._view == "grid" else "partition"
        self._arrange()
