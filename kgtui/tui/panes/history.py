"""The History pane: lag, rates, members and states over time, and the log of what changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType

from kgtui.errors import KgtuiError
from kgtui.model.group_types import REBALANCING
from kgtui.model.timeline import Change, GroupTimeline, timeline_of
from kgtui.tui import text
from kgtui.tui.messages import MomentRequested
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots, single_line
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, PaneLine, SafeText, plural
from kgtui.tui.panes.columns import Column
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
"""Seconds that `v` goes through; of a session that is younger, what there is."""

SHORTEST = 60.0
"""Seconds that the plots show at least."""

MOST = 20
"""Lines that the plots take at most: the log is wanted too."""

WITHOUT_CURVES = "pip install 'kgtui[plots]' draws curves"


class HistoryPlotRequest(NamedTuple):
    """What is to be seen: drawn again when it is another.

    Attributes:
        newest: the last sample, while a session goes on.
        at: the moment to mark.
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
    """What changed; enter goes to the moment of a line, in a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Go there", id="open", show=False)]
    """
    | key | does |
    |---|---|
    | enter | to the moment of the row |
    """

    def action_select_cursor(self) -> None:
        """Ask for the moment of the row under the cursor."""
        if self.row is not None:
            self.post_message(MomentRequested(self.row.at))


class HistoryPane(Pane):
    """Plots over the log, of what the session has seen or of the recording around the moment shown."""

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
        self._known: tuple[tuple[object, ...], GroupTimeline] | None = None
        self.busy = False
        """Whether what is shown is being looked up or drawn."""
        self._placeholder = ""

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield TextLines(id="history-plots", focus=False)
        yield DetailedTable(ChangeTable(COLUMNS, lambda change: change.at, id="history-table"))

    @property
    def plots(self) -> TextLines:
        """The lines of the plots."""
        return self.query_one("#history-plots", TextLines)

    @property
    def table(self) -> ChangeTable:
        """The log."""
        return self.query_one("#history-table", ChangeTable)

    def focus_target(self) -> Widget:
        return self.table

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        # Samples come with every read, and a replay shows another moment with every step.
        return (snapshot,)

    def prepare(self, snapshot: Snapshot, group: str) -> None:
        """Nothing: see `_compose_past`."""

    def draw(self, prepared: Any, *, fresh: bool) -> None:
        if fresh:
            self._blank(
                f"reading its history{text.marks().ellipsis}" if self.replay_position is not None else self.placeholder
            )
        self._see()

    def redraw(self) -> None:
        self._shown = None
        super().redraw()

    def clear(self) -> None:
        self._blank(self.placeholder)

    def action_view(self) -> None:
        """The next of the spans."""
        self._span = (self._span + 1) % len(SPANS)
        self._see()

    def action_only(self) -> None:
        """The log alone, and the plots again."""
        self.toggle_class("-log")

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._see)

    def _blank(self, words: str) -> None:
        self._shown, self._placeholder = None, ""
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())
        self._put_lines([(Cell(words, MUTED),)] if words else [])

    def _set_placeholder(self, words: str) -> None:
        super()._set_placeholder(words)
        self.table.set_placeholder(words or self._placeholder)

    # What to show

    def _wish(self) -> HistoryPlotRequest | None:
        group = self.group
        if group is None or not self.is_mounted or not self.size.width:
            return None
        span = SPANS[self._span]
        height = max(MIN_LINES, min(MOST, self.size.height - 8))
        size = (max(self.size.width - 3, 20), height, text.display_settings().utc)
        if self.replay_position is not None:
            at, (first, last) = self.replay_position.at, self.replay_position.span
            since, until = _around(at, span, first, last)
            return HistoryPlotRequest(group, since, until, None, at, *size)
        series = self.series.get(group) if self.series is not None else None
        if series is None or not series.times:
            return None
        newest = series.times[-1]
        since = max(newest - span, min(series.times[0], newest - SHORTEST))
        return HistoryPlotRequest(group, since, newest, newest, None, *size)

    def _see(self) -> None:
        if not self.busy and self._wish() not in (None, self._shown):
            self.busy = True
            self._compose_past()

    @work(group="history", exit_on_error=False, description="history")
    async def _compose_past(self) -> None:
        """Until what is shown is what is wished for: of many wishes in a row only the last is looked into."""
        try:
            while (wish := self._wish()) is not None and wish != self._shown:
                self._shown = wish
                try:
                    past = await self._past(wish)
                except KgtuiError as error:
                    self._blank("")
                    self._shown = wish
                    self._put_lines([(Cell(f"{text.marks().fault} ", ERROR), Cell(single_line(str(error))))])
                else:
                    lines = await asyncio.to_thread(history_plot_lines, past, wish)
                    if wish.group == self.group and self.is_attached:
                        self._put_past(past, lines)
        finally:
            self.busy = False

    async def _past(self, wish: HistoryPlotRequest) -> GroupTimeline:
        """What is plotted; a recording is read anew only for another interval."""
        if self.replay_position is None:
            return timeline_of(self.series.get(wish.group) if self.series is not None else None, wish.since, wish.until)
        key = (wish.group, wish.since, wish.until)
        if self._known is None or self._known[0] != key:
            self._known = key, await self.replay_position.group_timeline(wish.group, wish.since, wish.until)
        return self._known[1]

    def _put_past(self, past: GroupTimeline, lines: list[PaneLine]) -> None:
        self.query_one(SummaryLine).set_cells(join_with_dots(history_summary(past)), hint="v other span")
        self._put_lines(lines)
        self._placeholder = "nothing of it changed in this time"
        self.table.set_placeholder(self._placeholder)
        self.table.set_rows(past.changes[::-1])

    def _put_lines(self, lines: list[PaneLine]) -> None:
        if self.plots.styles.height is None or self.plots.styles.height.value != len(lines):
            self.plots.styles.height = len(lines)
        self.plots.set_lines(lines)


def history_plot_lines(past: GroupTimeline, wish: HistoryPlotRequest) -> list[PaneLine]:
    """The plots as lines; takes tens of milliseconds, and loads what draws curves."""
    drawn = curves.available()
    lines = plot_lines(past, wish.width, wish.height - (not drawn), with_curves=drawn, at=wish.at)
    return lines if drawn else [*lines, (Cell(WITHOUT_CURVES, MUTED),)]


def _around(at: float, span: float, first: float, last: float) -> tuple[float, float]:
    """An interval with the moment in its third quarter, that stays where it is while the moment moves through it."""
    quarter = span / 4
    since = (at // quarter - 2) * quarter
    since = max(min(since, last - span), first)
    return since, max(min(since + span, last), since + SHORTEST)


MOST_NAMED = 100
"""Members that the detail of a line names."""


def _role(change: Change) -> str:
    now = change.now
    if not now.listed:
        return ERROR
    if now.gap or now.state in REBALANCING:
        return WARN
    return text.state_role(now.state) if change.before is None or change.before.state != now.state else MUTED


def _state(state: str | None) -> str:
    return text.plain(state, 24) if state is not None else text.marks().unknown


def _happened(change: Change) -> SafeText:
    """The state, and the one before where it was another."""
    before, now = change.before, change.now
    if not now.listed:
        return SafeText("no such group" if before is None else "deleted")
    if before is None:
        why = f"  {text.plain(now.gap, 40)}" if now.gap else "  first seen"
        return SafeText(_state(now.state) + why)
    if not before.listed:
        return SafeText(f"created, {_state(now.state)}")
    if before.state == now.state:
        return SafeText(_state(now.state))
    return SafeText(f"{_state(before.state)} {text.marks().arrow} {_state(now.state)}")


def _took(change: Change) -> str | None:
    """How long a rebalance took, or no look was taken."""
    if change.now.gap and change.now.since is not None:
        return text.age(change.at - change.now.since)
    return None if change.rebalanced is None else text.age(change.rebalanced)


def _pair(before: int | None, now: int | None) -> str | None:
    """`41→42`; one number where it is the same or nothing is known of before."""
    if now is None:
        return None
    return str(now) if before is None or before == now else f"{before}{text.marks().arrow}{now}"


def _paired(change: Change, name: str) -> Cell:
    before, now = getattr(change.before, name, None), getattr(change.now, name)
    words = _pair(before, now)
    if words is None:
        return Cell(SafeText(text.marks().none), MUTED)
    return Cell(SafeText(words), "" if before is not None and before != now else MUTED)


def _width(change: Change, name: str) -> str:
    return _pair(getattr(change.before, name, None), getattr(change.now, name)) or ""


def _who(change: Change, most: int = 3) -> SafeText:
    """Who joined and who left, and what else there is to say."""
    now = change.now
    words = [f"+{text.plain(name, 60, cut='middle')}" for name in now.joined[:most]]
    words += _more(len(now.joined) - most)
    words += [f"-{text.plain(name, 60, cut='middle')}" for name in now.left[:most]]
    words += _more(len(now.left) - most)
    if now.rewound:
        words.append(f"went back by {text.exact(now.rewound)}")
    return SafeText(" ".join(words))


def _more(count: int) -> list[str]:
    return [f"and {count:,} more"] if count > 0 else []


def _moved(change: Change) -> Cell:
    return Cell(text.exact(change.now.moved)) if change.now.moved else Cell("")


COLUMNS: tuple[Column[Change], ...] = (
    Column("at", "TIME", lambda change: "00:00:00", lambda change: Cell(SafeText(text.clock(change.at)), MUTED)),
    Column(
        "state", "STATE", _happened, lambda change: Cell(_happened(change), _role(change)),
        min_width=20, max_width=44,
    ),
    Column("took", "TOOK", _took, lambda change: Cell(SafeText(_took(change) or "")), rank=1, right=True),
    Column("epoch", "EPOCH", lambda change: _width(change, "epoch"), lambda change: _paired(change, "epoch"), rank=2,
           min_width=11),
    Column(
        "members", "MEMBERS", lambda change: _width(change, "members"), lambda change: _paired(change, "members"),
        rank=3,
    ),
    Column("moved", "MOVED", lambda change: change.now.moved, _moved, rank=4, right=True),
    Column(
        "who", "WHO", _who, lambda change: Cell(_who(change), ACCENT if change.now.rewound else ""),
        rank=5, min_width=10, max_width=60, full=lambda change: Cell(_who(change, MOST_NAMED)),
    ),
)  # fmt: skip


def history_summary(past: GroupTimeline) -> list[PaneLine]:
    """How often the group rebalanced in the interval, who came and went, and what was not seen."""
    changes = past.changes
    known = [change for change in changes if change.before is not None]
    rebalances = sum(1 for change in known if change.rebalanced is not None)
    joined, left = (sum(len(getattr(change.now, name)) for change in changes) for name in ("joined", "left"))
    parts: list[PaneLine] = [
        (Cell(f"{text.age(past.until - past.since)}", ACCENT),),
        (Cell(plural(rebalances, "rebalance"), WARN if rebalances else ""),),
    ]
    if joined or left:
        parts.append((Cell(f"{text.exact(joined)} joined, {text.exact(left)} left"),))
    moved = sum(change.now.moved for change in changes)
    if moved:
        parts.append((Cell(f"{plural(moved, 'partition')} moved"),))
    unseen = sum(min(end, past.until) - max(start, past.since) for start, end, _ in past.gaps)
    if unseen > 0:
        parts.append((Cell(f"{text.age(unseen)} not recorded", WARN),))
    return parts
