"""The plot of a finding (a problem of a group): the lag and the rates of the group, before and during the problem."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from textual import work

from kgtui.errors import KgtuiError
from kgtui.model.rfc3339 import utc_datetime
from kgtui.tui import text
from kgtui.tui.panes.base import single_line
from kgtui.tui.panes.cells import ERROR, MUTED, Cell, PaneLine
from kgtui.tui.panes.text_lines import TextLines
from kgtui.tui.plots import curves
from kgtui.tui.plots.stacked_plots import plot_lines

if TYPE_CHECKING:
    from kgtui.insights.finding import Finding
    from kgtui.lake.gold import Gold
    from kgtui.model.timeline import GroupTimeline

SHORTEST_SPAN, USUAL_SPAN, LONGEST_SPAN = 6 * 3_600.0, 86_400.0, 14 * 86_400.0
"""Minimum, default and maximum of the time span that the plot covers, in seconds.

The plot covers 1.5 times the duration of the problem, but at least `SHORTEST_SPAN` and at most `LONGEST_SPAN`. If the
duration is unknown, the plot covers `USUAL_SPAN`.
"""

MOST_TIMELINES = 64
"""Maximum number of plots whose data is cached.

Because of this cache, kgtui does not read the data of a finding's plot again when the cursor returns to the finding.
"""


class FindingPlotRequest(NamedTuple):
    """A request to plot the lag and the rates of one group. Times are in seconds since the epoch.

    Attributes:
        since: time at the left edge.
        until: time at the right edge.
        mark: time at which the problem began; None if this time is unknown or earlier than `since`.
        width: width of the plot in terminal cells.
        utc: whether the time axis is in UTC.
    """

    group: str
    since: float
    until: float
    mark: float | None
    width: int
    height: int
    utc: bool


class FindingPlot(TextLines):
    """The widget that plots the lag and rates of the group that a finding is about.

    A thread reads the data and draws the plot. If several plots are requested while the thread is busy, only the newest
    one is drawn.
    """

    def __init__(self) -> None:
        super().__init__(focus=False)
        self._gold: Gold | None = None
        self._timelines: dict[tuple[str, float, float], GroupTimeline | None] = {}
        self._finding: tuple[str | None, Finding | None, float | None] = (None, None, None)
        self._drawn: FindingPlotRequest | None = None
        self.busy = False
        """Whether the worker that draws the plot is running."""

    @property
    def gold(self) -> Gold | None:
        """Object that reads the gold tables, which Spark has computed from a recording.

        None before the Insights screen has read the tables. Also None if the folder with the tables cannot be opened.
        """
        return self._gold

    @gold.setter
    def gold(self, gold: Gold | None) -> None:
        self._gold, self._timelines, self._drawn = gold, {}, None

    @property
    def span(self) -> str:
        """Text for the end of a title, such as `: last 1 d` if the plot covers the last day; empty without a plot."""
        request = self.request
        return "" if request is None else f": last {text.age(request.until - request.since)}"

    def show_finding(self, group: str | None, finding: Finding | None, as_of: float | None) -> None:
        """Show the plot for one group of a finding (a problem of groups). If an argument is None, show no plot.

        Args:
            as_of: time at the right edge of the plot, in epoch seconds.
        """
        self._finding = group, finding, as_of
        self._update()

    def on_resize(self) -> None:
        # Textual ignores layout requests during a resize, so the plot is updated after the resize.
        self.call_after_refresh(self._update)

    @property
    def request(self) -> FindingPlotRequest | None:
        """The plot to draw: its group, time span and size. None if there is no finding, no data or no space."""
        group, finding, as_of = self._finding
        if group is None or finding is None or as_of is None or not self.size.width:
            return None
        span = (
            USUAL_SPAN
            if finding.since is None
            else min(max(1.5 * (as_of - finding.since), SHORTEST_SPAN), LONGEST_SPAN)
        )
        mark = finding.since if finding.since is not None and finding.since > as_of - span else None
        size = max(self.columns - 1, 20), self.scrollable_content_region.height
        return FindingPlotRequest(group, as_of - span, as_of, mark, *size, text.display_settings().utc)

    def _update(self) -> None:
        request = self.request
        if request is None:
            self._drawn = None
            self.set_lines([], fresh=True)
        elif not self.busy and request != self._drawn:
            self.busy = True
            self._draw()

    @work(group="plot", exit_on_error=False, description="plot")
    async def _draw(self) -> None:
        try:
            while (request := self.request) is not None and request != self._drawn:
                try:
                    timeline = await self._read_timeline(request)
                except KgtuiError as error:
                    lines: list[PaneLine] = [(Cell(f"{text.marks().fault} ", ERROR), Cell(single_line(str(error))))]
                else:
                    lines = await asyncio.to_thread(_lines, timeline, request)
                self._drawn = request
                if request == self.request and self.is_attached:
                    self.set_lines(lines, fresh=True)
        finally:
            self.busy = False

    async def _read_timeline(self, request: FindingPlotRequest) -> GroupTimeline | None:
        key = (request.group, request.since, request.until)
        if self._gold is not None and key not in self._timelines:
            while len(self._timelines) >= MOST_TIMELINES:
                self._timelines.pop(next(iter(self._timelines)))
            self._timelines[key] = await asyncio.to_thread(_read, self._gold, *key)
        return self._timelines.get(key)


def _read(gold: Gold, group: str, since: float, until: float) -> GroupTimeline | None:
    """Read the lag history of a group from the gold tables.

    Return None if the tables contain no lag of the group between the times `since` and `until`.

    Raises `LakeError` if the tables cannot be read.
    """
    history = gold.lag_histories({group}, since=utc_datetime(since), until=utc_datetime(until)).get(group)
    return None if history is None else history.timeline(since, until)


def _lines(timeline: GroupTimeline | None, request: FindingPlotRequest) -> list[PaneLine]:
    """Draw the plot, and return it as lines of text. This takes tens of milliseconds, so it runs in a thread."""
    if timeline is None:
        return [(Cell("no lag was recorded for this group in this period", MUTED),)]
    with_curves = curves.available()
    return plot_lines(
        timeline, request.width, request.height, with_curves=with_curves, since=request.mark, states=False
    )
