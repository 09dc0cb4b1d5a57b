"""The Members pane: who is in the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kgtui.tui.panes.base import Notice, Pane
from kgtui.tui.panes.detail import DetailedTable
from kgtui.tui.panes.member_columns import columns_for
from kgtui.tui.panes.member_rows import MemberRow, member_rows, members_summary
from kgtui.tui.panes.summary import SummaryLine, joined
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.group import GroupDescription
    from kgtui.model.snapshot import Snapshot


class MembersPane(Pane):
    """One row a member; columns follow the kind of group."""

    reads: ClassVar[str] = "details"
    what: ClassVar[str] = "the members"
    tool: ClassVar[View] = "members"

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield DetailedTable(LineTable[MemberRow]((), lambda row: row.key, id="members-table"))

    @property
    def table(self) -> LineTable[MemberRow]:
        """The table of members."""
        return self.query_one("#members-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def weight(self, snapshot: Snapshot, group: str) -> int:
        reading = snapshot.details.get(group)
        return reading.value.member_count or 0 if reading is not None else 0

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[GroupDescription, list[MemberRow]] | None:
        reading = snapshot.details.get(group)
        return None if reading is None else (reading.value, member_rows(reading.value))

    def draw(self, prepared: tuple[GroupDescription, list[MemberRow]] | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        description, rows = prepared
        self.table.set_rows(rows, columns=columns_for(description), fresh=fresh)
        self.query_one(SummaryLine).say(joined(members_summary(description)))

    def clear(self) -> None:
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).say(())
