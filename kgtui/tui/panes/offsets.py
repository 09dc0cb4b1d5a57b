"""The Offsets pane: committed offset, lag and owner of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from kgtui.model.access import NONE_VISIBLE
from kgtui.model.facts import hidden_offsets_fault, may_hide_offsets, may_hide_topics
from kgtui.model.query.sort_keys import joined
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import MUTED, WARN, Cell
from kgtui.tui.panes.offset_bars import OffsetRow
from kgtui.tui.panes.offset_rows import (
    CYCLED_COLUMNS,
    LARGEST_FIRST,
    filter_and_sort,
    offset_columns,
    offsets_summary,
    partition_rows,
)
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.snapshot import Snapshot


class OffsetsPane(Pane):
    """Pane with the offsets of a group, one row per partition. The user can sort and filter the rows.

    If the rows are sorted by topic, each topic with several partitions also has a row with its total lag.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort", id="sort", tooltip=f"Sort partitions by {joined(CYCLED_COLUMNS)}."),
        Binding("l", "only", "Lagging", id="only", tooltip="Show only partitions that lag."),
        Binding("slash", "filter", "Filter", id="filter", tooltip="Filter partitions by topic, owner or note."),
        Binding("escape", "drop_filter", "Remove filter", show=False),
    ]
    """
    | key | does |
    |---|---|
    | s | sort by the next column: topic, lag, lead or owner |
    | l | switch between lagging partitions and all partitions |
    | / | filter by topic, owner or note |
    | escape | remove the filter |
    """

    DEFAULT_CSS = """
    OffsetsPane Input { display: none; height: 1; border: none; padding: 0 1; background: $panel; }
    OffsetsPane.-filtering Input { display: block; }
    """

    reading_field: ClassVar[str] = "offsets"
    reading_name: ClassVar[str] = "the offsets"
    tool_view: ClassVar[View] = "offsets"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: list[OffsetRow] = []
        self._columns = offset_columns(share=False)
        self._order = CYCLED_COLUMNS[0]
        self._descending = False
        self._lagging = False

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield Input(placeholder="topic, owner or note", id="offsets-filter", select_on_focus=False)
        yield DetailedTable(LineTable[OffsetRow]((), lambda row: row.key, id="offsets-table"))

    @property
    def table(self) -> LineTable[OffsetRow]:
        return self.query_one("#offsets-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        return (snapshot.offsets.get(group), snapshot.details.get(group), snapshot.access)

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        reading = snapshot.offsets.get(group)
        return len(reading.value.committed) + len(reading.value.share) if reading is not None else 0

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[bool, list[OffsetRow]] | None:
        reading, details = snapshot.offsets.get(group), snapshot.details.get(group)
        if reading is None:
            return None
        rows = partition_rows(reading.value, details.value if details is not None else None)
        return bool(reading.value.share), rows

    def draw(self, prepared: tuple[bool, list[OffsetRow]] | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        share, self._rows = prepared
        self._columns = offset_columns(
            share=share, timed=any(row.lag.times for row in self._rows if row.lag is not None)
        )
        self._arrange(fresh=fresh)

    def clear(self) -> None:
        self._rows = []
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())

    def _arrange(self, *, fresh: bool = False) -> None:
        filter_text = self.query_one(Input).value.strip()
        shown = filter_and_sort(
            self._rows, self._order, descending=self._descending, lagging=self._lagging, filter_text=filter_text
        )
        self.table.set_sorted(self._order, descending=self._descending)
        self.table.set_rows(shown, columns=self._columns, fresh=fresh)
        if self._rows:
            hidden = self.snapshot is not None and may_hide_topics(self.snapshot, self.group or "")
            parts = offsets_summary(self._rows, hidden=hidden)
        else:
            parts = [(self._no_offsets(),)]
        if self._lagging or filter_text:
            count = sum(1 for row in shown if row.lag is not None)
            parts.insert(0, (Cell(f"{count} lagging" if self._lagging else f"{count} matching", WARN),))
        if self._order != CYCLED_COLUMNS[0] and self._rows:
            parts.append((Cell(f"by {self._order}, {'largest' if self._descending else 'smallest'} first", MUTED),))
        hint = "s sort  l show lagging  / filter" if self._rows else ""
        self.query_one(SummaryLine).set_cells(join_with_dots(parts), hint=hint)

    def _no_offsets(self) -> Cell:
        if self.snapshot is None or self.group is None or not may_hide_offsets(self.snapshot, self.group):
            return Cell("no committed offsets", MUTED)
        hidden = hidden_offsets_fault(self.snapshot, self.group) is not None
        return Cell(NONE_VISIBLE, WARN if hidden else MUTED)

    def action_sort(self) -> None:
        """Sort by the next column of `CYCLED_COLUMNS` (topic, lag, lead, owner)."""
        at = CYCLED_COLUMNS.index(self._order) if self._order in CYCLED_COLUMNS else -1
        self._sort_by(CYCLED_COLUMNS[(at + 1) % len(CYCLED_COLUMNS)])

    def action_only(self) -> None:
        """Show only partitions with unread or lost records, or with unknown lag. When called again, show all."""
        self._lagging = not self._lagging
        self._arrange()

    def action_filter(self) -> None:
        """Show the input line for the filter, and focus it."""
        self.add_class("-filtering")
        self.query_one(Input).focus()

    def action_drop_filter(self) -> None:
        """Remove the filter, hide its input line, and focus the table."""
        self.query_one(Input).value = ""
        self.remove_class("-filtering")
        self.table.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the action `drop_filter` while the filter's input line is hidden, so that the app handles Escape."""
        return action != "drop_filter" or self.has_class("-filtering")

    def _sort_by(self, column: str, *, descending: bool | None = None) -> None:
        self._order = column
        self._descending = column in LARGEST_FIRST if descending is None else descending
        self._arrange()

    @on(LineTable.HeadingPressed)
    def _heading_pressed(self, event: LineTable.HeadingPressed) -> None:
        same = event.column == self._order
        self._sort_by(event.column, descending=not self._descending if same else None)

    @on(Input.Changed)
    def _filter_changed(self) -> None:
        self._arrange()

    @on(Input.Submitted)
    def _filter_kept(self) -> None:
        self.table.focus()
