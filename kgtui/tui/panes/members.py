"""The Members pane: one row per member of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kgtui.model.assignment import assignment_of, is_idle
from kgtui.model.group_types import CLASSIC
from kgtui.model.number_format import counted
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import MUTED, WARN, Cell, PaneLine
from kgtui.tui.panes.member_loads import MemberRow, member_loads
from kgtui.tui.panes.member_rows import member_columns, member_rows
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.group import GroupDescription
    from kgtui.model.snapshot import Snapshot


class MembersPane(Pane):
    """Pane with one row per member. The columns depend on the type and protocol of the group."""

    reading_field: ClassVar[str] = "details"
    reading_name: ClassVar[str] = "the members"
    tool_view: ClassVar[View] = "members"

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield DetailedTable(LineTable[MemberRow]((), lambda row: row.key, id="members-table"))

    @property
    def table(self) -> LineTable[MemberRow]:
        return self.query_one("#members-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        reading, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        members = reading.value.member_count or 0 if reading is not None else 0
        return members + (len(offsets.value.partitions) if offsets is not None else 0)

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        return (snapshot.details.get(group), snapshot.offsets.get(group), snapshot.health.get(group))

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[GroupDescription, list[MemberRow]] | None:
        reading, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
        if reading is None:
            return None
        read = offsets.value if offsets is not None else None
        assignment = assignment_of(reading.value, read)
        loads = member_loads(reading.value, read, snapshot.health.get(group))
        return reading.value, member_rows(reading.value, () if assignment is None else assignment.blockers, loads)

    def draw(self, prepared: tuple[GroupDescription, list[MemberRow]] | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        description, rows = prepared
        self.table.set_rows(rows, columns=member_columns(description, rows), fresh=fresh)
        self.query_one(SummaryLine).set_cells(join_with_dots(members_summary(description)))

    def clear(self) -> None:
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())


def members_summary(description: GroupDescription) -> list[PaneLine]:
    """Return the parts of the summary above the table, such as `3 members`, `2 hosts` and `1 idle` (1 idle member)."""
    members = description.members
    if members is None:
        return [(Cell("the broker did not report the members", WARN),)]
    if not members:
        return [(Cell("no members", MUTED),)]
    parts: list[PaneLine] = [(Cell(counted(len(members), "member")),)]
    processes = {member.streams.process for member in members if member.streams}
    if processes:
        parts.append((Cell(counted(len(processes), "process", "processes"), MUTED),))
    parts.append((Cell(counted(len({member.host for member in members}), "host"), MUTED),))
    target_epoch = description.assignment_epoch
    behind = sum(
        1 for member in members if target_epoch is not None and member.epoch is not None and member.epoch < target_epoch
    )
    if behind:
        parts.append((Cell(f"{counted(behind, 'member')} behind epoch {target_epoch}", WARN),))
    idle = sum(map(is_idle, members))
    if idle:
        parts.append((Cell(f"{idle} idle", WARN),))
    classic = sum(1 for member in members if member.protocol == CLASSIC)
    if classic and description.type != CLASSIC:
        parts.append((Cell(f"{counted(classic, 'member')} still on the classic protocol", WARN),))
    if all(member.assignment is None for member in members) and description.kind == "consumer":
        parts.append((Cell(f"assignments are not reported while the group is {description.state}", MUTED),))
    return parts
