"""The Assignments pane: current and target owners of partitions, and how many partitions each member owns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from kgtui.model.assignment import Assignment, Item, PlacementStatus, assignment_of
from kgtui.model.member_names import member_names
from kgtui.tui import text
from kgtui.tui.panes.assignment_rows import (
    PlacementRow,
    assignment_summary,
    lag_by_item,
    load_columns,
    load_rows,
    placement_columns,
    placement_rows,
    status_word,
)
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import ACCENT, MUTED, OK, WARN, Cell, PaneLine, SafeText
from kgtui.tui.panes.columns import GAP, Column, preferred_width
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable
from kgtui.tui.sparkline import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.snapshot import Snapshot


Prepared = tuple[Assignment | None, dict[str, str], dict[Item, int]]
"""Result of `AssignmentsPane.prepare`: (assignment, member id → name, partition or task → lag).

The assignment is None if the members are unknown.
"""


class AssignmentsPane(Pane):
    """Pane with the assignment of a group: which member owns which partition or task.

    It has three kinds of views: a list with one row per partition, a grid with one row per partition and one column per
    member, and tables with the number of partitions per member, host or rack.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "View", id="view", tooltip="Show a list, a grid, or the loads by member, host or rack."),
        Binding("left", "member(-1)", "Previous member", show=False, id="collapse"),
        Binding("right", "member(1)", "Next member", show=False, id="expand"),
        Binding(
            "l", "only", "Moving/unowned", id="only", tooltip="Show only partitions that must move or have no owner."
        ),
    ]
    """
    | key | does |
    |---|---|
    | v | show a list, a grid, or the number of partitions per member, host or rack |
    | left / right | choose the member in the previous or next column of the grid |
    | l | show only partitions that must move or have no owner |
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
        """Names of the available views: `partition` (the list), `grid`, `member`, `host` and `rack`.

        The view `rack` exists only if members report their racks.
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
            return
        if self._view not in self.views:
            self._view = "partition"
        parts = assignment_summary(assignment, self._names)
        legend_cells: PaneLine = ()
        if self._view == "grid":
            legend_cells = self._draw_grid(assignment, fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only moving or unowned", ACCENT),))
        elif self._view == "partition":
            rows = placement_rows(assignment, self._names, unsettled=self._unsettled)
            self.table.set_rows(rows, columns=placement_columns(assignment), fresh=fresh)
            if self._unsettled:
                parts.insert(0, (Cell("only moving or unowned", ACCENT),))
        else:
            skew = next(skew for skew in assignment.skews if skew.by == self._view)
            self.table.set_rows(load_rows(assignment, skew, self._names), columns=load_columns(skew), fresh=fresh)
            parts.insert(0, (Cell(f"by {self._view}", ACCENT),))
        summary = join_with_dots(parts or [(Cell("nothing is assigned", MUTED),)])
        self.query_one(SummaryLine).set_cells(
            summary, hint="v next view  l moving/unowned" if assignment.placements else ""
        )
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
        if self._view == "grid":
            # Textual ignores layout requests during a resize, so the grid is arranged after the resize.
            self.call_after_refresh(self._arrange)

    def action_member(self, step: int) -> None:
        """In the grid view, choose the member `step` columns to the right, or to the left if `step` is negative.

        If the column of the member is not visible, scroll to it. The list view and the load views have no columns for
        members. In these views, this action does nothing, so that Textual runs the next action for the same key.
        """
        if self._view != "grid":
            raise SkipAction
        self._member = max(0, min(self._member + step, len(self._members) - 1))
        self._arrange()

    def action_view(self) -> None:
        """Switch to the next of the available views (`views`), or from the last view to the first one."""
        views = self.views
        self._view = views[(views.index(self._view) + 1) % len(views)]
        self._arrange(fresh=True)

    def action_only(self) -> None:
        """Switch between all partitions and the partitions that must move or have no owner."""
        self._unsettled = not self._unsettled
        self._view = "grid" if self._view == "grid" else "partition"
        self._arrange()


LONGEST_MEMBER_TITLE = 4
"""Maximum width of the title of a member's column in the grid, in terminal cells.

The title of a column is the end of the member's name, such as `-10`. If no ends of at most this width are unique, the
members are numbered instead, and the titles are these numbers.
"""

TO_COME, TO_GO, IDLE, NOBODY = "+", "-", ":", "!"
_NAME, _OPEN = "item", "open"


@dataclass(frozen=True, slots=True)
class GridMember:
    """A member that has a column in the grid.

    Attributes:
        title: title of the member's column: the end of the member's name, or a number if the ends of the names are not
            unique.
        idle: whether the member owns nothing and gets nothing from the target assignment.
        reported: whether the broker reported the member's assignment.
    """

    member_id: str
    name: str
    title: str
    idle: bool = False
    reported: bool = True


def grid_members(assignment: Assignment, names: Mapping[str, str]) -> list[GridMember]:
    """Return the members of the grid, sorted by name.

    Numbers in names are compared as numbers: `app-9` precedes `app-10`.
    """
    idle, unreported = set(assignment.idle), set(assignment.unreported)
    ids = sorted(names, key=lambda one: (_natural(names[one]), one))
    titles = _titles([names[one] for one in ids])
    return [
        GridMember(one, names[one], title, one in idle, one not in unreported)
        for one, title in zip(ids, titles, strict=True)
    ]


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d{1,18}|\D+|\d+", name[:400])
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _titles(names: Sequence[str]) -> list[str]:
    """Return one unique title per name: the last characters of the name. All titles have the same number of characters.

    If unique titles need more than `LONGEST_MEMBER_TITLE` characters, the titles are the numbers 1, 2, 3 and so on.
    """
    shown = [text.plain(name, 40, cut="middle") for name in names]
    for length in range(1, LONGEST_MEMBER_TITLE + 1):
        ends = [name[-length:] for name in shown]
        if len(set(ends)) == len(ends) and all(end.strip() and cell_len(end) <= LONGEST_MEMBER_TITLE for end in ends):
            return ends
    return [str(number) for number in range(1, len(names) + 1)]


def grid_columns(
    rows: Sequence[PlacementRow], members: Sequence[GridMember], first: int, room: int
) -> tuple[list[Column[PlacementRow]], int]:
    """Return (columns of the grid, number of members that have a column).

    The first column shows the name of the partition or task, and the second one a symbol for its status. Each further
    column belongs to one member. Members for which there is no space have no column.

    Args:
        first: index of the leftmost member that has a column.
        room: width that is available for all columns, in terminal cells.
    """
    item: Column[PlacementRow] = Column(_NAME, "ITEM", item_name, min_width=14, max_width=44, cut="middle")
    width = max((cell_len(member.title) for member in members), default=1)
    preferred = min(preferred_width(item, rows), max(14, room - 2 - (width + GAP) * len(members)))
    left = room - max(14, min(preferred, room // 2 if room < 60 else room - 20)) - GAP - 2
    count = max(1, min(len(members) - first, left // (width + GAP)))
    columns: list[Column[PlacementRow]] = [
        item,
        Column(_OPEN, " ", lambda row: "", _open, min_width=1, max_width=1, full=_status),
    ]
    for member in members[first : first + count]:
        draw = partial(grid_mark, member)
        columns.append(
            Column(member.member_id, member.title, lambda row: "", lambda row, draw=draw: draw(row),  # type: ignore[misc]
                   right=True, max_width=width, min_width=width, full=lambda row: Cell(""))
        )  # fmt: skip
    return columns, count


def item_name(row: PlacementRow) -> str:
    """Return the name of a partition (`topic-3`), of a Kafka Streams task (`0_3 active`), or of a connector."""
    item = row.placement.item
    if item.role in ("", "task"):
        return f"{item.name}-{item.number}"
    if item.role == "connector":
        return item.name
    return f"{item.name}_{item.number} {'warm-up' if item.role == 'warmup' else item.role}"


def grid_mark(member: GridMember, row: PlacementRow) -> Cell:
    """Return the symbol for a member and a partition in the grid: the member owns it, must revoke it, or will get it.

    If the member owns the partition and keeps it, the height of the symbol shows the lag of the partition, and the
    symbol has a warning color if the lag is at least half of `row.scale`. If the member neither owns nor will get the
    partition, the cell is empty; only the columns of idle members and of members whose assignment the broker did not
    report are filled with a symbol.
    """
    placement = row.placement
    has = member.member_id in placement.owners
    goal = placement.targets
    if has:
        leaves = goal is not None and member.member_id not in goal
        return Cell(TO_GO, WARN) if leaves else _owned_mark(row)
    if goal is not None and member.member_id in goal:
        return Cell(TO_COME, ACCENT)
    if not member.reported:
        return Cell(text.marks().unknown, MUTED)
    return Cell(IDLE, WARN) if member.idle else Cell("")


def _owned_mark(row: PlacementRow) -> Cell:
    if not row.lag:
        return Cell(SafeText(text.marks().bar), OK)
    levels = _lag_levels()
    level = min(int(row.lag / row.scale * len(levels)), len(levels) - 1)
    return Cell(SafeText(levels[level]), WARN if 2 * row.lag >= row.scale else ACCENT)


def _lag_levels() -> str:
    return "12345678" if text.display_settings().ascii else BLOCKS[1:]


def _open(row: PlacementRow) -> Cell:
    return (
        Cell(NOBODY, WARN) if row.placement.status in (PlacementStatus.UNOWNED, PlacementStatus.ARRIVING) else Cell("")
    )


def _status(row: PlacementRow) -> Cell:
    status = f"{row.owners or 'no owner'}, {status_word(row.placement)}"
    if row.targets and row.targets != row.owners:
        status += f" {text.marks().arrow} {row.targets}"
    return Cell(status if row.lag is None else f"{status}, lag {text.exact(row.lag)}")


def legend(
    assignment: Assignment, members: Sequence[GridMember], at: int, first: int, count: int, scale: float = 0.0
) -> PaneLine:
    """Return the legend of the grid: the meaning of its symbols, and the name of the chosen member.

    Args:
        at: index of the chosen member.
        first: index of the leftmost member that has a column.
        count: number of members that have a column.
        scale: lag that the symbol of full height stands for; 0 if no partition has a known lag above 0.
    """
    marks = [(text.marks().bar, "no lag" if scale else "owns", OK)]
    if assignment.targeted:
        marks += [(TO_COME, "to assign", ACCENT), (TO_GO, "to revoke", WARN)]
    if any(member.idle for member in members):
        marks.append((IDLE, "idle member", WARN))
    if assignment.unreported:
        marks.append((text.marks().unknown, "not reported", MUTED))
    if assignment.count(PlacementStatus.UNOWNED, PlacementStatus.ARRIVING):
        marks.append((NOBODY, "no owner", WARN))
    if scale:
        levels = _lag_levels()
        span = f"{levels[0]}{text.marks().ellipsis}{levels[-1]}"
        marks.append((span, f"lag, up to {text.short(round(scale))}", ACCENT))
    cells: list[Cell] = []
    for mark, meaning, role in marks:
        cells += [Cell(SafeText(f"{mark} "), role), Cell(f"{meaning}  ", MUTED)]
    if members:
        window = f", {first + 1}-{first + count} shown" if count < len(members) else ""
        chosen = members[at]
        cells += [Cell(f"member {at + 1} of {len(members)}{window} ", MUTED), Cell(chosen.name, ACCENT)]
    return tuple(cells)
