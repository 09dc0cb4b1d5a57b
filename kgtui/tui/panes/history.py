"""The History pane: plots of lag, rates, members and states, above a log of changes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType

from kgtui.errors import KgtuiError
from kgtui.model.facts import may_hide_topics, members_of
from kgtui.model.timeline import Change, GroupTimeline, timeline_of
from kgtui.tui import text
from kgtui.tui.messages import TimeRequested
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots, single_line
from kgtui.tui.panes.cells import ERROR, MUTED, Cell, PaneLine
from kgtui.tui.panes.history_log import COLUMNS, history_summary, observed_times, with_member_names
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable
from kgtui.tui.panes.text_lines import TextLines
from kgtui.tui.plots import curves
from kgtui.tui.plots.stacked_plots import MIN_LINES, plot_lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.snapshot import Snapshot

SPANS = (3600.0, 21_600.0, 86_400.0, 900.0)
"""Time spans that the plots can cover, in seconds. Key `v` switches to the next time span.

On a live cluster, the plots may cover a shorter time, because kgtui has no samples from the time before its start, and
keeps only the newest `kgtui.model.series.LENGTH` samples of each group.
"""

SHORTEST_SPAN = 60.0
"""Minimum time span of the plots, in seconds. If less data is available, a part of the plots is empty."""

MOST_LINES = 20
"""Maximum height of all plots together, in lines. The log of changes is shown in the remaining lines of the pane."""

WITHOUT_CURVES = "To draw curves: pip install 'kgtui[plots]'"


class HistoryPlotRequest(NamedTuple):
    """The group, time span and size of the plots to draw. All times are in seconds since the epoch.

    Attributes:
        since: time at the left edge of the plots.
        until: time at the right edge of the plots.
        newest: time of the group's newest lag sample, the same as `until`; None if the plots are from a recording.
        at: displayed time of the recording; None for a live cluster.
        width: width of the plots in terminal cells.
        utc: whether the time axis is in UTC.
    """

    group: str
    since: float
    until: float
    newest: float | None
    at: float | None
    width: int
    height: int
    utc: bool


class ChangeTable(LineTable[Change]):
    """The table with the log of changes to a group.

    The key Enter shows the state of the cluster at the time of the change under the cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Go to this time", id="open", show=False)
    ]
    """
    | key | does |
    |---|---|
    | enter | show the cluster as it was at the time of the change under the cursor |
    """

    def action_select_cursor(self) -> None:
        """Ask the screen to show the cluster as it was at the time of the change under the cursor."""
        if self.row is not None:
            self.post_message(TimeRequested(self.row.at))


class HistoryPane(Pane):
    """Pane with plots of a group above the log of its changes, for a live cluster or a recording."""

    reading_name: ClassVar[str] = "the group"

    DEFAULT_CSS = """
    HistoryPane {
        & #history-plots { height: auto; }
        &.-log #history-plots { display: none; }
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._span = 0
        self._shown: HistoryPlotRequest | None = None
        self._last_timeline: tuple[tuple[object, ...], GroupTimeline] | None = None
        self.busy = False
        """Whether the worker that draws the plots is running."""
        self._placeholder = ""

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield TextLines(id="history-plots", focus=False)
        yield DetailedTable(ChangeTable(COLUMNS, lambda change: (change.at, change.event), id="history-table"))

    @property
    def plots(self) -> TextLines:
        return self.query_one("#history-plots", TextLines)

    @property
    def table(self) -> ChangeTable:
        return self.query_one("#history-table", ChangeTable)

    def focus_target(self) -> Widget:
        return self.table

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        # Redraw the pane for each snapshot, because the plots change: on a live cluster, a snapshot adds a lag sample,
        # and in a recording, it changes the marked time.
        return (snapshot,)

    def prepare(self, snapshot: Snapshot, group: str) -> None:
        """Do nothing, because the background worker `_draw_requests` reads the data of this pane."""

    def draw(self, prepared: Any, *, fresh: bool) -> None:
        if fresh:
            self._show_empty(
                f"reading the history of the group{text.marks().ellipsis}"
                if self.replay_position is not None
                else self.placeholder
            )
        self._update_plots()

    def redraw(self) -> None:
        self._shown = None
        super().redraw()

    def clear(self) -> None:
        self._show_empty(self.placeholder)

    def action_view(self) -> None:
        """Switch to the next time span in `SPANS`, and draw the plots for it."""
        self._span = (self._span + 1) % len(SPANS)
        self._update_plots()

    def action_only(self) -> None:
        """Hide or show the plots above the log of changes."""
        self.toggle_class("-log")

    def on_resize(self) -> None:
        # Textual ignores layout requests during a resize, so the plots are updated after the resize.
        self.call_after_refresh(self._update_plots)

    def _show_empty(self, content: str) -> None:
        self._shown, self._placeholder = None, ""
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())
        self._show_lines([(Cell(content, MUTED),)] if content else [])

    def _set_placeholder(self, content: str) -> None:
        super()._set_placeholder(content)
        self.table.set_placeholder(content or self._placeholder)

    def _request(self) -> HistoryPlotRequest | None:
        group = self.group
        if group is None or not self.is_mounted or not self.size.width:
            return None
        span = SPANS[self._span]
        height = max(MIN_LINES, min(MOST_LINES, self.size.height - 8))
        size = (max(self.size.width - 3, 20), height, text.display_settings().utc)
        if self.replay_position is not None:
            at, (first, last) = self.replay_position.at, self.replay_position.span
            since, until = _interval_around(at, span, first, last)
            return HistoryPlotRequest(group, since, until, None, at, *size)
        series = self.series.get(group) if self.series is not None else None
        if series is None or not series.times:
            return None
        newest = series.times[-1]
        since = max(newest - span, min(series.times[0], newest - SHORTEST_SPAN))
        return HistoryPlotRequest(group, since, newest, newest, None, *size)

    def _update_plots(self) -> None:
        if not self.busy and self._request() not in (None, self._shown):
            self.busy = True
            self._draw_requests()

    @work(group="history", exit_on_error=False, description="history")
    async def _draw_requests(self) -> None:
        """Draw the plots of the selected group. If the group, time or size changes meanwhile, draw them again."""
        try:
            while (request := self._request()) is not None and request != self._shown:
                self._shown = request
                try:
                    timeline = await self._read_timeline(request)
                except KgtuiError as error:
                    self._show_empty("")
                    self._shown = request
                    self._show_lines([(Cell(f"{text.marks().fault} ", ERROR), Cell(single_line(str(error))))])
                else:
                    lines = await asyncio.to_thread(history_plot_lines, timeline, request)
                    if request.group == self.group and self.is_attached:
                        self._show_timeline(timeline, lines)
        finally:
            self.busy = False

    async def _read_timeline(self, request: HistoryPlotRequest) -> GroupTimeline:
        """Return the history of a group: read it from the recording or, on a live cluster, take it from memory."""
        if self.replay_position is None:
            series = self.series.get(request.group) if self.series is not None else None
            hidden = self.snapshot is not None and may_hide_topics(self.snapshot, request.group)
            begin = request.until - SPANS[self._span]
            every = self.snapshot.events if self.snapshot is not None else ()
            events = tuple(event for event in every if event.group == request.group and event.at > begin)
            return replace(timeline_of(series, request.since, request.until), may_lack_topics=hidden, events=events)
        key = (request.group, request.since, request.until)
        if self._last_timeline is None or self._last_timeline[0] != key:
            self._last_timeline = (
                key,
                await self.replay_position.group_timeline(request.group, request.since, request.until),
            )
        return self._last_timeline[1]

    def _show_timeline(self, timeline: GroupTimeline, lines: list[PaneLine]) -> None:
        times: dict[str, float | None] = {}
        if self.replay_position is None and self.snapshot is not None and self.group is not None:
            times = observed_times(self.snapshot, self.group)
        self.query_one(SummaryLine).set_cells(join_with_dots(history_summary(timeline, times)), hint="v next span")
        self._show_lines(lines)
        self._placeholder = "no changes in this period"
        self.table.set_placeholder(self._placeholder)
        members = () if self.snapshot is None or self.group is None else members_of(self.snapshot, self.group)
        # If the cursor is on the first row (the newest change), keep it on the first row when newer changes are added.
        self.table.set_rows(with_member_names(timeline.log[::-1], members), at_top=self.table.cursor == 0)

    def _show_lines(self, lines: list[PaneLine]) -> None:
        if self.plots.styles.height is None or self.plots.styles.height.value != len(lines):
            self.plots.styles.height = len(lines)
        self.plots.set_lines(lines)


def history_plot_lines(timeline: GroupTimeline, request: HistoryPlotRequest) -> list[PaneLine]:
    """Draw the plots, and return them as lines of text.

    This takes tens of milliseconds, so the pane calls this function in a thread.
    """
    with_curves = curves.available()
    lines = plot_lines(
        timeline, request.width, request.height - (not with_curves), with_curves=with_curves, at=request.at
    )
    return lines if with_curves else [*lines, (Cell(WITHOUT_CURVES, MUTED),)]


def _interval_around(at: float, span: float, first: float, last: float) -> tuple[float, float]:
    """Return (start, end) of a time axis that contains the displayed time of a recording.

    All times are in seconds since the epoch. Start and end are within the recording, unless the recording is shorter
    than `SHORTEST_SPAN`. When the user goes to a different time, the time axis moves only in steps of a quarter of
    `span`, so that the recording is read less often.

    Args:
        at: the displayed time.
        span: time span of the plots, in seconds.
        first: time at which the recording begins.
        last: time at which the recording ends.
    """
    quarter = span / 4
    since = (at // quarter - 2) * quarter
    since = max(min(since, last - span), first)
    return since, max(min(since + span, last), since + SHORTEST_SPAN)
