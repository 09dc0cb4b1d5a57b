"""Two moments of a recording beside each other: what joined, left, moved and grew."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.tui import text
from kgtui.tui.panes.base import SummaryLine, join_with_dots, to_content
from kgtui.tui.panes.cells import ACCENT, MUTED, Cell, SafeText, fit_text
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable
from kgtui.tui.screens.comparison_rows import (
    COLUMNS,
    VIEWS,
    Difference,
    comparison_summary,
    differences,
    of_view,
)

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.history.point_in_time import Comparison


class DifferenceTable(LineTable[Difference]):
    """The rows; enter goes to the group."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.choose", "To the group", id="open", show=False)]
    """
    | key | does |
    |---|---|
    | enter | close, with the cursor on the group of the row |
    """


class ComparisonScreen(ModalScreen["str | None"]):
    """Shows what it was opened with; dismissed with the group to go to, or None."""

    DEFAULT_CSS = """
    ComparisonScreen {
        align: center middle;
        & #box {
            width: 100%; height: 100%; background: $surface; border: round $kg-accent;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted; padding: 0 1;
        }
        & #moments, & #view { height: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,M", "dismiss(None)", "Close", show=False),
        Binding("v", "view", "Next view", show=False),
        Binding("l", "only", "Only the group", show=False),
    ]
    """
    | key | does |
    |---|---|
    | v | everything, or groups, members, partitions, lag alone |
    | l | only the group that was selected, and all again |
    | escape, q, M | close |
    """

    def __init__(self, found: Comparison, group: str | None = None) -> None:
        """Show a comparison; `group` is the one that `l` keeps."""
        super().__init__()
        self._found = found
        self._group = group
        self._alone = False
        self._view = VIEWS[0]
        self._rows: list[Difference] = []
        self._left_out = 0

    def compose(self) -> ComposeResult:
        """The moments, how much differs, the rows."""
        with Vertical(id="box") as box:
            box.border_title = "Comparison"
            box.border_subtitle = "enter to the group  v view  l only the group selected  esc closes"
            yield Static(id="moments", markup=False)
            yield SummaryLine()
            yield Static(id="view", markup=False)
            yield DetailedTable(DifferenceTable(COLUMNS, lambda row: row.number, id="differences"))

    @property
    def table(self) -> DifferenceTable:
        """The rows."""
        return self.query_one("#differences", DifferenceTable)

    def on_mount(self) -> None:
        """Say which moments, and list what differs."""
        earlier, later = self._found.earlier.at, self._found.later.at
        words = f"{text.date(earlier)} {text.marks().arrow} {text.date(later)}"
        told = [Cell(SafeText(words), ACCENT), Cell(SafeText(f"  {text.age(later - earlier)} later"), MUTED)]
        self.query_one("#moments", Static).update(to_content([told]))
        self.query_one(SummaryLine).set_cells(join_with_dots(comparison_summary(self._found)))
        self.table.focus()
        self._list()

    @work(exclusive=True, description="differences")
    async def _list(self) -> None:
        only = self._group if self._alone else None
        self._rows, self._left_out = await asyncio.to_thread(differences, self._found, only)
        self._show()

    def _show(self) -> None:
        self.table.set_placeholder("nothing differs")
        self.table.set_rows(of_view(self._rows, self._view), fresh=True)
        everything = self._view == VIEWS[0]
        cells = [Cell("shown: ", MUTED), Cell("everything" if everything else f"{self._view} alone", ACCENT), Cell(" ")]
        if self._alone and self._group is not None:
            cells += [Cell("of ", MUTED), Cell(fit_text(self._group, 40, cut="middle"), ACCENT), Cell(" ")]
        if self._left_out:
            cells.append(Cell(f"and {self._left_out:,} more", MUTED))
        self.query_one("#view", Static).update(to_content([cells]))

    def action_view(self) -> None:
        """Everything, or one kind alone."""
        self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        self._show()

    def action_only(self) -> None:
        """Only the group that was selected, or all again."""
        if self._group is not None:
            self._alone = not self._alone
            self._list()

    def action_choose(self) -> None:
        """To the group of the row."""
        if self.table.row is not None:
            self.dismiss(self.table.row.group)
