"""The node page: tables about the groups of the whole cluster, or of one tree node.

The tables show problems, recent changes, brokers, and the number of groups by type and state.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from kgtui.model.number_format import counted
from kgtui.model.slices import Slices, SupersededError
from kgtui.tui import text
from kgtui.tui.event_rows import EventRow, event_rows
from kgtui.tui.node_page import tables
from kgtui.tui.node_page.heading import PARTS, PageTitle, PartTabs
from kgtui.tui.node_page.summary import GroupSetSummary, summary_steps
from kgtui.tui.panes.base import SummaryLine
from kgtui.tui.panes.cells import ACCENT, MUTED, WARN, Cell, PaneLine, SafeText
from kgtui.tui.panes.table import LineTable
from kgtui.tui.problem_index import Problems
from kgtui.tui.sparkline import spark_rows
from kgtui.tui.tree.totals import GROUPS_SUMMED_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.tree.grouping import Path

MOST_EVENTS = 300
"""Maximum number of events (changes to groups or brokers) in the table of recent changes."""
ROWS_PER_GROUP = 2
"""Number of the newest events of each group that have their own rows in the table of recent changes.

If a group has two or more older events, the older events share one row.
"""
SPARKLINE_POINTS = 12
"""Maximum number of values in a sparkline. Each value, such as the total lag, comes from a different snapshot."""
TALL_PAGE_LINES = 28
"""Minimum height of the page, in lines, for showing all tables together. Otherwise, it shows one table at a time."""
SLICE_SECONDS = 0.004
"""Time, in seconds, after which the computation of the page pauses to let other tasks of the event loop run."""
GROUPS_PER_SECOND = 10_000
"""Maximum number of groups that are processed for the page per second, on average. This limits the CPU load.

For example, if the page is about 100,000 groups, it is computed again after a pause of 10 s.
"""


@dataclass(frozen=True, slots=True)
class PageSubject:
    """The set of groups that the page shows.

    Attributes:
        path: path of the tree node; None for the whole cluster.
        title: name of the cluster or tree node. Control characters in the name have not been escaped.
        parts: one or more sorted lists, which together contain the ids of all groups of the set.
    """

    path: Path | None
    title: str
    parts: Sequence[Sequence[str]]


SHORTEST_PAUSE = 1.0
"""Minimum pause between two computations of the page, in seconds, unless something urgent has changed.

The pause ends at once if the user selects a different tree node. In a cluster with at most `GROUPS_PER_SECOND` groups,
it also ends at once if the problem of a group has changed.
"""


class ProblemTable(LineTable[tables.ProblemRow]):
    """The table of the groups that need attention."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose('open')", "Go to the group", id="open", show=False),
        Binding("e", "choose('explain')", "Explain the problem", id="explain", show=False),
        Binding("A", "choose('acknowledge')", "Acknowledge the problem", id="acknowledge", show=False),
    ]
    """
    | key | does |
    |---|---|
    | enter | go to the group |
    | e | explain the problem of the group |
    | A | acknowledge the problem, so that the group leaves the table |
    """

    def action_choose(self, action: str) -> None:
        """Post a `GroupChosen` message for the group under the cursor. The handler of the message runs the action.

        Args:
            action: `open` (go to the group), `explain` (explain its problem) or `acknowledge` (hide its problem).
        """
        if self.row is not None:
            self.post_message(NodePage.GroupChosen(self.row.group, action))


class RecentEventTable(LineTable[EventRow]):
    """The table of the newest changes (events) of groups and brokers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Go to the group", id="open", show=False),
    ]
    """
    | key | does |
    |---|---|
    | enter | go to the group |
    """

    def action_choose(self) -> None:
        """Post a `GroupChosen` message for the group of the selected event. Do nothing for an event of a broker."""
        if self.row is not None and self.row.event.group is not None:
            self.post_message(NodePage.GroupChosen(self.row.event.group, "open"))


@dataclass(slots=True)
class _Sums:
    """The values of the page's sparklines. Each value is the sum over all groups of the page in one snapshot.

    Attributes:
        at: time of the newest snapshot, in epoch seconds.
        lag: total lags in records, one per snapshot, oldest first.
        written: records written per second, one value per snapshot, oldest first.
        consumed: records consumed per second, one value per snapshot, oldest first.
    """

    at: float = 0.0
    lag: deque[float] = field(default_factory=lambda: deque(maxlen=SPARKLINE_POINTS))
    written: deque[float] = field(default_factory=lambda: deque(maxlen=SPARKLINE_POINTS))
    consumed: deque[float] = field(default_factory=lambda: deque(maxlen=SPARKLINE_POINTS))

    def add(self, at: float, summary: GroupSetSummary) -> None:
        """Append the total lag and the rates of a snapshot, except unknown values.

        If the snapshot was already added, do nothing. If it is older than the previous one, remove all values first,
        because the user has gone back in a recording.

        Args:
            at: time of the snapshot, in epoch seconds.
        """
        if at == self.at:
            return
        sums = ((self.lag, summary.lag), (self.written, summary.written), (self.consumed, summary.consumed))
        back, self.at = at < self.at, at
        for values, value in sums:
            if back:
                values.clear()
            if value is not None:
                values.append(value)


class NodePage(Vertical):
    """The page with tables about the groups of the cluster or of a tree node.

    If the page has too few lines for all tables, it shows one table at a time.
    """

    DEFAULT_CSS = """
    NodePage {
        background: $surface;
        & SummaryLine { padding: 0 1; }
        & LineTable { height: 1fr; display: none; margin-left: 1; }
        & LineTable.-front { display: block; }
        & #page-reason { display: none; }
        & #page-reason.-front.-visible, &.-tall #page-reason.-visible { display: block; }
        & .part-title { display: none; height: 1; color: $kg-accent; padding: 0 1; }
        &.-tall LineTable, &.-tall .part-title { display: block; }
        &.-tall #page-attention { height: 2fr; }
        &.-tall #page-brokers, &.-tall #page-groups { height: 3; max-height: 9; }
    }
    """

    class GroupChosen(Message):
        """Posted when the user has chosen a group in a table of the page.

        Attributes:
            action: `open` (go to the group), `explain` (explain its problem) or `acknowledge` (hide its problem).
        """

        def __init__(self, group: str, action: str) -> None:
            super().__init__()
            self.group = group
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._subject: PageSubject | None = None
        self._problems = Problems()
        self._sums: dict[Path | None, _Sums] = {}
        self._since: float | None = None
        self._computing = False
        self._summary: tuple[Path | None, GroupSetSummary] | None = None
        self._summed_at = 0.0
        self._due, self._urgent = asyncio.Event(), asyncio.Event()

    def compose(self) -> ComposeResult:
        yield PageTitle()
        yield SummaryLine(id="page-summary")
        yield PartTabs()
        yield Static("Needs attention", classes="part-title")
        yield ProblemTable(tables.PROBLEM_COLUMNS, lambda row: row.group, id="page-attention", classes="-front")
        yield SummaryLine(id="page-reason").add_class("-front")
        yield Static("Recent changes", classes="part-title")
        yield RecentEventTable(tables.EVENT_COLUMNS, lambda row: row.key, id="page-changes")
        yield Static("Brokers", classes="part-title")
        yield LineTable(tables.BROKER_COLUMNS, lambda row: row.status.node, id="page-brokers")
        yield Static("Groups by type and state", classes="part-title")
        yield LineTable((), lambda row: row.label, id="page-groups")

    def on_mount(self) -> None:
        """Start the background worker that computes and draws the page."""
        self.run_worker(self._keep_current(), name="page", group="page")

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height >= TALL_PAGE_LINES, "-tall")

    @property
    def problem_table(self) -> ProblemTable:
        """The table of the groups that need attention."""
        return self.query_one("#page-attention", ProblemTable)

    @property
    def is_current(self) -> bool:
        """Whether the page shows the snapshot that was last passed to `show`.

        Always true for a hidden page, because nothing is computed for it.
        """
        return self._subject is None or (not self._due.is_set() and not self._computing)

    def show(self, snapshot: Snapshot, subject: PageSubject, problems: Problems) -> None:
        """Show a set of groups from a snapshot. The background worker of the page computes and draws the tables.

        Args:
            problems: the problems of all groups of the snapshot, including problems that the user has acknowledged.
        """
        if self._since is None and snapshot.swept:
            self._since = snapshot.taken_at
        other_subject = self._subject is None or subject.path != self._subject.path
        small = len(snapshot.groups) <= GROUPS_PER_SECOND
        if other_subject or (small and not problems.same_as(self._problems)):
            self._urgent.set()
        self._snapshot, self._subject, self._problems = snapshot, subject, problems
        self._due.set()

    def set_changes_placeholder(self, content: str) -> None:
        """Set the text that is shown while the table of recent changes is empty."""
        self.query_one("#page-changes", RecentEventTable).set_placeholder(content)

    def stop(self) -> None:
        """Stop computing the page, because the page is now hidden. The next call of `show` resumes the computation.

        The page drops its snapshot, because old snapshots of large clusters need much memory.
        """
        self._snapshot, self._subject, self._problems = None, None, Problems()
        self._due.clear()
        self._urgent.set()

    def bring(self, part: str) -> None:
        """Bring a table of the page to the front. If the page has the focus, move the focus to this table.

        Args:
            part: id of the table: `attention`, `changes`, `brokers` or `groups`.
        """
        for entry in PARTS:
            self.query_one(f"#page-{entry.id}").set_class(entry.id == part, "-front")
        self.query_one("#page-reason").set_class(part == PARTS[0].id, "-front")
        self.query_one(PartTabs).bring(part)
        if self.has_focus_within:
            self.enter()

    def enter(self) -> None:
        """Move the focus to the table that is in front, whose title is highlighted."""
        self.query_one(f"#page-{self.query_one(PartTabs).front}", LineTable).focus()

    @on(PartTabs.Chosen)
    def _part_chosen(self, message: PartTabs.Chosen) -> None:
        self.bring(message.tab)

    @on(LineTable.CursorMoved)
    def _show_reason(self) -> None:
        """Show the selected group and the full reason for its problem below the table, which cuts off long reasons."""
        row, line = self.problem_table.row, self.query_one("#page-reason", SummaryLine)
        cells: PaneLine = ()
        if row is not None:
            cells = (Cell(row.group, ACCENT), Cell(SafeText("  ")), Cell(row.judgment.reason, MUTED))
        line.set_cells(cells)

    async def _keep_current(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            self._urgent.clear()
            self._computing = True
            try:
                groups = await self._compute()
            except SupersededError:
                continue
            finally:
                self._computing = False
            with contextlib.suppress(TimeoutError):
                pause = max(SHORTEST_PAUSE, groups / GROUPS_PER_SECOND)
                await asyncio.wait_for(self._urgent.wait(), pause)

    async def _compute(self) -> int:
        """Compute and draw the page, and return the number of its groups; 0 if the page is hidden.

        This code is not in `_keep_current`, because a local variable there would keep the snapshot in memory during the
        pause between two computations.
        """
        snapshot, subject, problems = self._snapshot, self._subject, self._problems
        if snapshot is None or subject is None:
            return 0
        slices = Slices(asyncio.sleep, SLICE_SECONDS, lambda: not self._urgent.is_set())
        began, earlier = monotonic(), self._earlier_summary(subject)
        steps = summary_steps(snapshot, subject.parts, problems, all_groups=subject.path is None, earlier=earlier)
        summary = await slices.run(steps)
        if earlier is None:
            self._summed_at, self._summary = began, (subject.path, summary)
            self._sums.setdefault(subject.path, _Sums()).add(snapshot.taken_at, summary)
        await slices.run(self._drawing_steps(snapshot, subject, summary))
        return summary.groups

    def _earlier_summary(self, subject: PageSubject) -> GroupSetSummary | None:
        """Return the previous summary (sums and counts) if it can be reused for the same tree node; otherwise None.

        For example, a summary of 100,000 groups is reused for 40 s (see `GROUPS_SUMMED_PER_SECOND`). A summary of at
        most `GROUPS_PER_SECOND` groups is never reused, because computing it again is fast.
        """
        if self._summary is None or self._summary[0] != subject.path or self._summary[1].groups <= GROUPS_PER_SECOND:
            return None
        summary = self._summary[1]
        return summary if monotonic() < self._summed_at + summary.groups / GROUPS_SUMMED_PER_SECOND else None

    def _drawing_steps(
        self, snapshot: Snapshot, subject: PageSubject, summary: GroupSetSummary
    ) -> Generator[None, None, None]:
        """Draw the page. Yield between tables, because drawing a table takes milliseconds, and other tasks must run."""
        self.query_one(PageTitle).show(subject.title, summary.groups)
        self.query_one("#page-summary", SummaryLine).set_cells(self._summary_cells(snapshot, subject, summary))
        shown = tables.problem_rows(snapshot, summary.problems)
        yield
        self.problem_table.set_placeholder(no_problem_placeholder(summary))
        self.problem_table.set_rows(shown, at_top=not self.problem_table.has_focus)
        yield
        groups = None if subject.path is None else subject.parts
        changes = self.query_one("#page-changes", RecentEventTable)
        newest = tables.events_of(snapshot.events, groups, MOST_EVENTS)
        changes.set_rows(event_rows(newest, ROWS_PER_GROUP), at_top=not changes.has_focus or changes.cursor == 0)
        yield
        self.query_one("#page-brokers", LineTable).set_rows(tables.broker_rows(snapshot))
        rows, columns = tables.state_table(summary.states)
        self.query_one("#page-groups", LineTable).set_rows(rows, columns=columns)
        self._fit_height("#page-brokers", len(snapshot.brokers))
        self._fit_height("#page-groups", len(rows))
        self.query_one(PartTabs).show({"attention": sum(summary.problem_counts.values())})

    def _fit_height(self, selector: str, rows: int) -> None:
        table = self.query_one(selector, LineTable)
        if self.has_class("-tall") and (table.styles.height is None or table.styles.height.value != rows + 1):
            table.styles.height = rows + 1

    def _summary_cells(self, snapshot: Snapshot, subject: PageSubject, summary: GroupSetSummary) -> PaneLine:
        cells = [Cell(SafeText(f"{count} {kind.value}"), WARN) for kind, count in summary.problem_counts.items()]
        cells += [Cell(SafeText(f"{count} {kind.value}"), MUTED) for kind, count in summary.counted.items()]
        if summary.acknowledged:
            cells.append(Cell(SafeText(f"{summary.acknowledged} acknowledged"), MUTED))
        if snapshot.unobserved and subject.path is None:
            cells.append(
                Cell(SafeText(f"{counted(snapshot.unobserved, 'possible problem')} checked less often"), MUTED)
            )
        if not summary.problem_counts:
            cells.insert(0, Cell(SafeText(no_problem_text(snapshot, summary, self._since)), MUTED))
        sums = self._sums[subject.path]
        lag = text.lag(summary.lag, summary.lag_unknown > 0)
        cells.append(Cell(SafeText(f"lag {lag}{_sparkline(sums.lag)}")))
        for name, value, values in (
            ("written", summary.written, sums.written), ("consumed", summary.consumed, sums.consumed)
        ):  # fmt: skip
            if value is not None:
                cells.append(Cell(SafeText(f"{name} {text.short(round(value))}/s{_sparkline(values)}")))
        # Put the blanks between two cells at the start of the second cell, and not at the end of the first, because
        # `wrap_cells` does not break a line after a cell that ends with a blank.
        return (cells[0], *(cell._replace(text=SafeText(f"  {cell.text}")) for cell in cells[1:]))


def no_problem_placeholder(summary: GroupSetSummary) -> str:
    """Return the text that is shown while the table of problems is empty, such as `no group needs attention`."""
    if not summary.read:
        return "no group has been read yet"
    if summary.read < summary.groups:
        return f"no problem found so far; {text.exact(summary.read)} of {counted(summary.groups, 'group')} read"
    return "no group needs attention"


def no_problem_text(snapshot: Snapshot, summary: GroupSetSummary, since: float | None) -> str:
    """Return a text such as `no problem found; 90 of 100 groups read within 12 s, observed for 5 min`.

    In this example, kgtui has been reading groups for 5 min. It has read 90 groups, each of them at least once in the
    12 s before the snapshot. If no group has been read yet, the text is only `0 of 100 groups read`.

    Args:
        since: time of the first snapshot with data about at least one group, in epoch seconds; None if there is none.
    """
    found = "no other problem found" if summary.acknowledged or summary.counted else "no problem found"
    read = f"{text.exact(summary.read)} of {counted(summary.groups, 'group')} read"
    if summary.oldest_read is None or since is None:
        return read
    within = text.age(snapshot.taken_at - summary.oldest_read)
    return f"{found}; {read} within {within}, observed for {text.age(snapshot.taken_at - since)}"


def _sparkline(values: Sequence[float]) -> str:
    if len(values) < 2:
        return ""
    return " " + spark_rows(values, 1, max(values))[0]
