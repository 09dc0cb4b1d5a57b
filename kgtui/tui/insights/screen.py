"""The Insights screen: the table of findings (problems of groups), and details of the finding under the cursor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from kgtui.insights.finding import Kind
from kgtui.model.command_line import join
from kgtui.tui import text
from kgtui.tui.insights.evidence import EvidenceTable, evidence_title
from kgtui.tui.insights.finding_plot import FindingPlot
from kgtui.tui.insights.findings import (
    FINDING_COLUMNS,
    FindingRow,
    cluster_mismatch,
    describe_finding,
    finding_rows,
    findings_summary,
    no_findings_lines,
    table_warnings,
    toggle_marks,
)
from kgtui.tui.panes.base import Notice, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import WARN, Cell, PaneLine
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable
from kgtui.tui.panes.text_lines import TextLines
from kgtui.tui.recording import FindingsRead, lake_of, read_findings
from kgtui.tui.screen_actions.action import UTC_KEY

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from kgtui.insights.finding import Finding
    from kgtui.tui.screens.cluster import ClusterScreen

DETAILS_DELAY = 0.1
"""Delay between a move of the cursor and the display of the finding's details, in seconds.

Because of this delay, kgtui does not read the details of every finding that the cursor passes while a key is held down.
"""

LOW_SCREEN, LOWEST_SCREEN = 32, 22
"""Heights of the screen, in lines, that decide which details of a finding (a problem of a group) are shown.

With at least `LOW_SCREEN` lines, the screen can show the plot and the evidence together. With fewer lines, it shows
either the plot or the evidence. With fewer than `LOWEST_SCREEN` lines, it never shows the plot.
"""

KEYS = "enter go to group  space mark  v next kind  l evidence  Y copy  esc close"


class FindingText(TextLines):
    """The widget with the description of a finding. A description that does not fit the widget is cut off."""

    def __init__(self) -> None:
        super().__init__(id="description", focus=False)
        self._row: FindingRow | None = None

    def show(self, row: FindingRow | None) -> None:
        """Show the description of a finding, or no text if `row` is None."""
        self._row = row
        self._write()

    def on_resize(self) -> None:
        # Write the text after the layout, because the text depends on the new height of the widget.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        row = self._row
        self.set_lines([] if row is None else describe_finding(row, max(self.columns, 20), max(self.size.height, 4)))


class InsightsScreen(ModalScreen["str | None"]):
    """Shows findings. A finding is a problem that kgtui has found in gold tables, which a Spark job computes.

    The screen's result is the id of the group that the user has chosen, to which the main screen should go. If the user
    has only closed the screen, the result is None.
    """

    DEFAULT_CSS = """
    InsightsScreen {
        & #box {
            width: 100%; height: 100%; background: $surface; border: round $kg-accent;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted; padding: 0 1;
        }
        & FindingTable { height: 1fr; min-height: 3; }
        & .part { border-top: solid $panel; border-title-color: $kg-muted; height: 6; }
        &.-narrow #description-part { height: 7; }
        &.-low #description-part { height: 6; }
        & #no-findings { display: none; }
        &.-low #evidence { display: none; }
        &.-evidence #plot-part, &.-lowest #plot-part { display: none; }
        &.-evidence #evidence { display: block; }
        & #evidence.-one EvidenceTable { display: none; }
        & #evidence.-one RowDetail { display: block; max-height: 100%; background: $surface; }
        &.-none FindingTable, &.-none .part, &.-reading .part { display: none; }
        &.-none #no-findings { display: block; }
    }
    """

    # If `BLANK` is true, Textual fills the background with one color, which is faster than rendering the widget. The
    # background is not visible anyway, because the container `#box` covers the whole screen.
    BLANK = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - declared as in Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("q,I", "dismiss(None)", "Close", show=False),
        Binding("v", "kind", "Next kind", show=False),
        Binding("l", "evidence", "Show the evidence", show=False),
        Binding("r", "again", "Read again", show=False),
        Binding("Y", "copy", "Copy the command", show=False),
        Binding(UTC_KEY, "utc", "Switch to UTC", show=False),
    ]
    """
    | key | does |
    |---|---|
    | v | show only findings of the next kind, such as `unused`; after the last kind, show all findings |
    | l | hide the plot and show the evidence, or show the plot again |
    | tab | move the focus to the evidence, or back to the findings |
    | r | read the tables again, and find problems in them |
    | Y | copy the command line that the finding under the cursor recommends as the next step |
    | U | switch between UTC and local time |
    | escape | return from the evidence to the findings, or close the screen |
    | q, I | close the screen |
    """

    def __init__(self, main: ClusterScreen) -> None:
        """Create the screen.

        Args:
            main: the main screen, in whose group tree the user can mark the groups of a finding.
        """
        super().__init__(classes="-reading")
        self._main = main
        self._lake = lake_of(main.session)
        self._read = FindingsRead()
        self._kind: Kind | None = None
        self._finding: Finding | None = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Insights"
            box.border_subtitle = KEYS
            yield SummaryLine()
            yield Notice()
            yield FindingTable(FINDING_COLUMNS, lambda row: row.number, id="findings")
            yield TextLines(id="no-findings")
            with Vertical(id="description-part", classes="part"):
                yield FindingText()
            with Vertical(id="plot-part", classes="part"):
                yield FindingPlot()
            with Vertical(id="evidence", classes="part"):
                yield DetailedTable(EvidenceTable())

    @property
    def findings(self) -> FindingTable:
        return self.query_one("#findings", FindingTable)

    @property
    def evidence_table(self) -> EvidenceTable:
        return self.query_one(EvidenceTable)

    @property
    def plot(self) -> FindingPlot:
        return self.query_one(FindingPlot)

    @property
    def group(self) -> str | None:
        """Id of the group that the plot shows, and to which the key Enter goes; None if there is no finding.

        Normally, this is the first group of the selected finding that still exists or, if none exists any more, the
        first group. But if the evidence table has the focus, and its row under the cursor contains the id of a group of
        the finding, it is this group.
        """
        row = self.findings.row
        if row is None:
            return None
        groups, existing = row.finding.groups, self._main.snapshot.groups
        fact = self.evidence_table.row if self.focused is self.evidence_table else None
        named = next((value for value in fact.values if value in groups), None) if fact is not None else None
        if isinstance(named, str):
            return named
        return next((group for group in groups if group in existing), next(iter(groups), None))

    def on_mount(self) -> None:
        self.findings.focus()
        self.action_again()

    def action_again(self) -> None:
        """Read the gold tables (computed by Spark) again, find problems in them, and show these findings."""
        where = text.plain(str(self._lake.path), max(self.app.size.width - 44, 16), cut="middle")
        self.query_one("#box").border_title = Content(f"Insights: {where} ({self._lake.reason})")
        self.findings.set_placeholder(f"reading the tables{text.marks().ellipsis}")
        self._read_tables()

    @work(exclusive=True, group="read", description="findings")
    async def _read_tables(self) -> None:
        self._read = await asyncio.to_thread(read_findings, self._lake.path)
        self._show()

    def _show(self) -> None:
        read, found, now = self._read, self._read.insights, text.display_settings().now()
        self.plot.gold = read.gold
        self.remove_class("-reading")
        self.set_class(found is None, "-none")
        if found is None:
            self._show_no_findings(read)
            return
        self.query_one(SummaryLine).set_cells(join_with_dots(findings_summary(found, now)))
        self.query_one(Notice).set_lines([*self._other_cluster_notice(), *table_warnings(found, self._lake.path, now)])
        self._show_findings()

    def _show_no_findings(self, read: FindingsRead) -> None:
        self.query_one(SummaryLine).set_cells(())
        self.query_one(Notice).set_lines([])
        width, seeds = max(self.size.width - 8, 30), self._main.snapshot.cluster.seeds
        lines = no_findings_lines(self._lake, read.error, recorded=read.recorded, seeds=seeds, width=width)
        where = self.query_one("#no-findings", TextLines)
        where.set_lines(lines, fresh=True)
        where.focus()

    def _other_cluster_notice(self) -> list[PaneLine]:
        warning = cluster_mismatch(self._read.cluster, self._main)
        return [(Cell(f"{text.marks().fault} ", WARN), Cell(warning))] if warning else []

    def _show_findings(self) -> None:
        found = self._read.insights
        if found is None:
            return
        main = self._main
        rows = finding_rows(found, main.snapshot.groups, main.marked, self._kind)
        self.findings.set_placeholder("no findings in the readable tables" if found.missing else "no findings")
        self.findings.set_rows(rows)
        only = f"only: {self._kind.value}  " if self._kind is not None else ""
        self.query_one("#box").border_subtitle = f"{only}{KEYS}"
        self._show_current()

    @on(LineTable.CursorMoved)
    def _cursor_moved(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DETAILS_DELAY, self._show_current)

    def _show_current(self) -> None:
        row = self.findings.row
        self.query_one(FindingText).show(row)
        finding = None if row is None else row.finding
        if finding is not self._finding:
            self._finding = finding
            self._show_evidence(finding)
        found = self._read.insights
        group = self.group
        self.plot.show_finding(group, finding, None if found is None else found.as_of)
        name = None if group is None else Content(f"{text.plain(group, 60, cut='middle')}{self.plot.span}")
        self.query_one("#plot-part").border_title = name

    def _show_evidence(self, finding: Finding | None) -> None:
        box, evidence = self.query_one("#evidence"), None if finding is None else finding.evidence
        box.border_title = None if evidence is None else Content(text.plain(evidence_title(evidence)))
        box.set_class(evidence is not None and len(evidence.rows) == 1, "-one")
        self.evidence_table.show(evidence)

    def on_resize(self) -> None:
        # Textual ignores layout requests during a resize, so the heights are set after the resize.
        self.call_after_refresh(self._divide_height)

    def _divide_height(self) -> None:
        height = self.size.height
        low = height < LOW_SCREEN
        self.set_class(low, "-low")
        self.set_class(height < LOWEST_SCREEN, "-lowest")
        plot, evidence = self.query_one("#plot-part"), self.query_one("#evidence")
        plot.styles.height = max(8, height // 3) if low else min(height // 3, 16)
        evidence.styles.height = plot.styles.height if low else min(height // 5, 14)
        self._show_current()

    def action_back(self) -> None:
        """Move the focus from the evidence back to the findings. If the findings have the focus, close the screen."""
        if self.focused is self.evidence_table:
            self.findings.focus()
            self._show_current()
        else:
            self.dismiss(None)

    def action_kind(self) -> None:
        """Show only findings of the next kind, for example only findings about unused groups.

        After the last kind, show the findings of all kinds.
        """
        found = self._read.insights
        existing_kinds = {finding.kind for finding in found.findings} if found is not None else set()
        kinds: list[Kind | None] = [None, *(kind for kind in Kind if kind in existing_kinds)]
        at = kinds.index(self._kind) if self._kind in kinds else 0
        self._kind = kinds[(at + 1) % len(kinds)]
        self._show_findings()

    def action_evidence(self) -> None:
        """Hide the plot to make room for the evidence of the finding, or show the plot again.

        On a screen with fewer than `LOW_SCREEN` lines, the evidence is shown only while the plot is hidden.
        """
        self.toggle_class("-evidence")
        self.findings.focus()

    def action_utc(self) -> None:
        """Switch between UTC and local time."""
        look = text.display_settings()
        look.utc = not look.utc
        self._finding = None
        self._show()
        self.findings.refresh()

    def action_copy(self) -> None:
        """Copy the command line that the finding under the cursor recommends as the next step."""
        from kgtui.tui.dialogs.copied import CopiedDialog

        row = self.findings.row
        if row is not None and row.finding.command:
            command = join(row.finding.command)
            self.app.copy_to_clipboard(command)
            self.app.push_screen(CopiedDialog(command))

    def action_choose(self) -> None:
        """Close the screen, and move the cursor of the group tree to the selected group (the property `group`).

        If this group does not exist, show a message instead.
        """
        group = self.group
        if group is None:
            return
        if group in self._main.snapshot.groups:
            self.dismiss(group)
        else:
            name = text.plain(group, 80, cut="middle")
            replaying = self._main.session.replay_position is not None
            self._notify(f"{name} {'did not exist at this time' if replaying else 'no longer exists on this cluster'}")

    def action_mark(self) -> None:
        """Mark the unused groups of the finding in the group tree or, if all of them are marked, unmark them."""
        row = self.findings.row
        if row is not None:
            changed, message = toggle_marks(row, self._main, self._read.cluster)
            self._notify(message)
            if changed:
                self._show_findings()
                self.findings.action_cursor(1)

    def _notify(self, message: str) -> None:
        self.notify(message, timeout=6, markup=False)


class FindingTable(LineTable[FindingRow]):
    """The table of findings (problems of groups), the most urgent first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.choose", "Go to the group", id="open", show=False),
        Binding("space", "screen.mark", "Mark", id="mark", show=False),
    ]
    """
    | key | does |
    |---|---|
    | enter | close the screen and move the tree's cursor to the group |
    | space | mark the finding's unused groups in the tree, or unmark them |
    """
