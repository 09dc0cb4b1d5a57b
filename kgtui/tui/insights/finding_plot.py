"""The plot of a finding's group: lag and rates around the time since when it is so, from the lake's tables."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from textual import work

from kgtui.errors import KgtuiError
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

SHORTEST, USUAL, LONGEST = 6 * 3_600.0, 86_400.0, 14 * 86_400.0
"""Seconds that a plot covers at least, where nobody knows since when, and at most."""

KEPT = 64
"""Groups whose course stays in memory: going back to a finding reads nothing again."""


class FindingPlotRequest(NamedTuple):
    """What is to be seen: drawn again when it is another.

    Attributes:
        mark: since when it is so, in seconds since the epoch.
    """

    group: str
    since: float
    until: float
    mark: float | None
    width: int
    height: int
    utc: bool


class FindingPlot(TextLines):
    """Reads and draws beside the loop; of many wishes in a row only the last is drawn."""

    def __init__(self) -> None:
        super().__init__(focus=False)
        self._gold: Gold | None = None
        self._known: dict[tuple[str, float, float], GroupTimeline | None] = {}
        self._asked: tuple[str | None, Finding | None, float | None] = (None, None, None)
        self._drawn: FindingPlotRequest | None = None
        self.busy = False
        """Whether what is shown is being looked up or drawn."""

    @property
    def gold(self) -> Gold | None:
        """The tables to read."""
        return self._gold

    @gold.setter
    def gold(self, gold: Gold | None) -> None:
        self._gold, self._known, self._drawn = gold, {}, None

    @property
    def span(self) -> str:
        """How long a time is plotted, in words that follow the group's name."""
        wish = self.wish
        return "" if wish is None else f": {text.age(wish.until - wish.since)} to the end"

    def look_at(self, group: str | None, finding: Finding | None, as_of: float | None) -> None:
        """Plot this group until then, around the time of the finding."""
        self._asked = group, finding, as_of
        self._see()

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._see)

    @property
    def wish(self) -> FindingPlotRequest | None:
        """What is to be seen; None without a finding."""
        group, finding, as_of = self._asked
        if group is None or finding is None or as_of is None or not self.size.width:
            return None
        span = USUAL if finding.since is None else min(max(1.5 * (as_of - finding.since), SHORTEST), LONGEST)
        mark = finding.since if finding.since is not None and finding.since > as_of - span else None
        size = max(self.columns - 1, 20), self.scrollable_content_region.height
        return FindingPlotRequest(group, as_of - span, as_of, mark, *size, text.display_settings().utc)

    def _see(self) -> None:
        wish = self.wish
        if wish is None:
            self._drawn = None
            self.set_lines([], fresh=True)
        elif not self.busy and wish != self._drawn:
            self.busy = True
            self._draw()

    @work(group="plot", exit_on_error=False, description="plot")
    async def _draw(self) -> None:
        try:
            while (wish := self.wish) is not None and wish != self._drawn:
                try:
                    past = await self._past(wish)
                except KgtuiError as error:
                    lines: list[PaneLine] = [(Cell(f"{text.marks().fault} ", ERROR), Cell(single_line(str(error))))]
                else:
                    lines = await asyncio.to_thread(_lines, past, wish)
                self._drawn = wish
                if wish == self.wish and self.is_attached:
                    self.set_lines(lines, fresh=True)
        finally:
            self.busy = False

    async def _past(self, wish: FindingPlotRequest) -> GroupTimeline | None:
        key = (wish.group, wish.since, wish.until)
        if self._gold is not None and key not in self._known:
            while len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = await asyncio.to_thread(_read, self._gold, *key)
        return self._known.get(key)


def _read(gold: Gold, group: str, since: float, until: float) -> GroupTimeline | None:
    """How a group went; None when nothing is known of it. Raises `LakeError`."""
    from kgtui.insights.rules import instant

    history = gold.lag_histories({group}, since=instant(since), until=instant(until)).get(group)
    return None if history is None else history.timeline(since, until)


def _lines(past: GroupTimeline | None, wish: FindingPlotRequest) -> list[PaneLine]:
    """The plot; takes tens of milliseconds, and loads what draws curves."""
    if past is None:
        return [(Cell("no lag of it is known in this time", MUTED),)]
    drawn = curves.available()
    return plot_lines(past, wish.width, wish.height, with_curves=drawn, since=wish.mark, states=False)
