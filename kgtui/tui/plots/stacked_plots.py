"""Draw the plots of a group below each other on one time axis: lag, rates, members, states and changes."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from kgtui.model.group_types import REBALANCING, STABLE
from kgtui.model.timeline import largest
from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, MUTED, OK, Cell, PaneLine, SafeText
from kgtui.tui.plots import curves
from kgtui.tui.sparkline import spark_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.model.series import ChangePoint
    from kgtui.model.timeline import GroupTimeline

LABEL_WIDTH = 12
"""Width of the labels to the left of the plots, in terminal cells.

A label is a name and a value, such as `lag 1,505`.
"""

MIN_LINES = 7
"""Minimum height of all plots together, in lines."""

_CLOCK_WITH_SECONDS = 900.0
"""Maximum time span, in seconds, of plots whose time axis shows times with seconds, such as `10:04:23`."""

_CLOCK_WITH_DATE = 86_400.0
"""Maximum time span, in seconds, of plots whose time axis shows times without dates."""


_AVERAGED_SECONDS = 10.0
"""Minimum time over which each value in a plot of rates is averaged, in seconds."""


class StackedPlot(NamedTuple):
    """One of the plots of a group, such as the plot of its lag.

    Attributes:
        labels: labels to the left of the first rows, from top to bottom. If there are fewer labels than rows, the last
            row has the label `0` (the lower edge of the plot), and the rows in between have no label.
        rows: lines of text that form the plot, from top to bottom.
    """

    labels: list[PaneLine]
    rows: list[PaneLine]


def plot_lines(
    timeline: GroupTimeline,
    width: int,
    height: int,
    *,
    with_curves: bool,
    at: float | None = None,
    since: float | None = None,
    states: bool = True,
) -> list[PaneLine]:
    """Draw all plots of a group, and return them as lines.

    Args:
        width: width of a line in terminal cells.
        height: number of lines to return. If it is less than `MIN_LINES`, `MIN_LINES` lines are returned.
        with_curves: whether to draw curves, for which `curves.available()` must be true. If false, draw bars.
        at: displayed time of a recording, in seconds since the epoch. This time is marked, and the labels show the
            values at this time. If None, the labels show the latest values.
        since: start of a problem, in seconds since the epoch. This time is marked if `at` is None. The labels still
            show the latest values.
        states: whether to include the plots of the group's states and changes.
    """
    plot_width = max(width - LABEL_WIDTH - 1, 10)
    # The time axis and the plots of members, states and changes have one line each. The plots of lag and rates share
    # the remaining lines.
    free_lines = max(height, MIN_LINES) - (4 if states else 2)
    plots = (
        _curves(timeline, plot_width, free_lines, at) if with_curves else _sparks(timeline, plot_width, free_lines, at)
    )
    plots += [
        _members(timeline, plot_width, at),
        *([_states(timeline, plot_width), _changes(timeline, plot_width, at)] if states else []),
    ]
    lines = [line for plot in plots for line in _label_rows(plot)]
    mark = since if at is None else at
    column = None if mark is None else _column(timeline, mark, plot_width)
    if column is not None:
        lines = [_draw_stroke(line, LABEL_WIDTH + 1 + column) for line in lines]
    return [*lines, _clock(timeline, plot_width, column)]


def _label_rows(plot: StackedPlot) -> list[PaneLine]:
    blank = (Cell(SafeText(" " * LABEL_WIDTH)),)
    labels = [*plot.labels, *[blank] * len(plot.rows)][: len(plot.rows)]
    if len(labels) > len(plot.labels):
        labels[-1] = (Cell(SafeText("0".rjust(LABEL_WIDTH)), MUTED),)
    return [(*left, Cell(SafeText(" ")), *row) for left, row in zip(labels, plot.rows, strict=False)]


def _label(name: str, value: str, role: str = ACCENT) -> PaneLine:
    plot_width = LABEL_WIDTH - len(name) - 1
    return Cell(SafeText(f"{name} "), MUTED), Cell(SafeText(text.pad(value, plot_width, right=True)), role)


def rate(value: float | None) -> str:
    """Format records per second as `0/s`, `4.2/s` or `1.2k/s`; `?` for None."""
    if value is None:
        return text.marks().unknown
    return f"{value:.1f}/s" if 0 < value < 10 else f"{text.short(round(value))}/s"


def _count(value: float | None) -> str:
    return text.marks().unknown if value is None else text.short(round(value))


def _labels(timeline: GroupTimeline, at: float | None) -> tuple[list[PaneLine], list[PaneLine], list[PaneLine]]:
    lag = [
        _label("lag", _count(timeline.value_at(timeline.lag, at))),
        _label("max", _count(largest(timeline.lag)), MUTED),
    ]
    written, read = (
        [_label(name, rate(timeline.mean_at(values, _AVERAGED_SECONDS, at)), role)]
        for name, values, role in _flows(timeline)
    )
    return lag, written, read


def _drawn_flows(timeline: GroupTimeline, cells: int) -> list[list[float]]:
    """Return [write rates, read rates] for the plots. Each of the two lists contains `cells` moving averages.

    Without moving averages, the plot of the read rate would be jagged, because the read rate is 0 between two commits.
    """
    averaged = math.ceil(_AVERAGED_SECONDS * cells / max(timeline.until - timeline.since, 1e-9))
    return [smooth(resample(timeline, values, cells, "mean"), averaged) for _, values, _ in _flows(timeline)]


def _flows(timeline: GroupTimeline) -> tuple[tuple[str, Sequence[float], str], ...]:
    return ("in", timeline.written, ACCENT), ("out", timeline.read, OK)


def _curves(timeline: GroupTimeline, plot_width: int, free_lines: int, at: float | None) -> list[StackedPlot]:
    high = max(free_lines - free_lines * 2 // 5, 1)
    lag, written, read = _labels(timeline, at)
    value_count = plot_width * curves.VALUES_PER_CELL
    rows = curves.curve_rows(
        [resample(timeline, timeline.lag, value_count, "largest")], plot_width, high, largest(timeline.lag) or 0.0
    )
    flows = _drawn_flows(timeline, value_count)
    top = max((largest(flow) or 0.0 for flow in flows), default=0.0)
    both = curves.curve_rows(flows, plot_width, free_lines - high, top)
    labels = [*written, *read, _label("max", rate(top), MUTED)]
    return [
        StackedPlot(lag, [_split_curves(row) for row in rows]),
        StackedPlot(labels, [_split_curves(row) for row in both]),
    ]


def _split_curves(row: str) -> PaneLine:
    return tuple(
        Cell(SafeText("".join(run)), OK if second else ACCENT) for second, run in groupby(row, key=curves.is_second)
    )


def _sparks(timeline: GroupTimeline, plot_width: int, free_lines: int, at: float | None) -> list[StackedPlot]:
    low = min(max(free_lines * 3 // 10, 1), 3)
    high = max(free_lines - 2 * low, 1)
    lag, *labels = _labels(timeline, at)
    rows = spark_rows(resample(timeline, timeline.lag, plot_width, "largest"), high, largest(timeline.lag) or 0.0)
    plots = [StackedPlot(lag, [(Cell(SafeText(row), ACCENT),) for row in rows])]
    flows = _drawn_flows(timeline, plot_width)
    # Draw the write rate and the read rate with the same scale, so that the user can compare them.
    top = max((largest(flow) or 0.0 for flow in flows), default=0.0)
    for label, flow, (_, _, role) in zip(labels, flows, _flows(timeline), strict=True):
        plots.append(StackedPlot(label, [(Cell(SafeText(row), role),) for row in spark_rows(flow, low, top)]))
    return plots


def _members(timeline: GroupTimeline, plot_width: int, at: float | None) -> StackedPlot:
    values = resample(timeline, timeline.members, plot_width, "last")
    rows = spark_rows(values, 1, largest(timeline.members) or 0.0)
    return StackedPlot(
        [_label("members", _count(timeline.value_at(timeline.members, at)))],
        [(Cell(SafeText(row), MUTED),) for row in rows],
    )


def _states(timeline: GroupTimeline, plot_width: int) -> StackedPlot:
    """Plot the state of the group over time.

    Each terminal cell stands for a time span, and shows the symbol of one state. If the group was in several states in
    this time span, the cell shows a rebalancing state or, if there was none, a state other than Stable.
    """
    change_points = _by_cell(timeline, plot_width)
    marks: list[tuple[str, str]] = []
    for cell in range(plot_width):
        at = timeline.since + (cell + 1) * (timeline.until - timeline.since) / plot_width
        states = [point.state for point in change_points.get(cell, ()) if point.listed]
        point = timeline.change_point_at(at)
        if point is not None and point.listed:
            states.append(point.state)
        marks.append(_state_mark_of(states))
    return StackedPlot([_label("state", "")], [_join_marks(marks)])


def _state_mark_of(states: Sequence[str | None]) -> tuple[str, str]:
    if not states:
        return " ", ""
    odd = [state for state in states if state != STABLE]
    busy = [state for state in odd if state in REBALANCING]
    state = (busy or odd or list(states))[0]
    # Draw a horizontal line for Stable. A row of check marks, the usual symbol of Stable, would be hard to read.
    return text.marks().rule if state == STABLE else text.state_mark(state), text.state_role(state)


def _changes(timeline: GroupTimeline, plot_width: int, at: float | None) -> StackedPlot:
    """Plot the times at which the group changed, for example its state or its members.

    The label shows the epoch of the group at the time `at`, or its latest epoch if `at` is None. If the group has no
    epoch, the label is `changes`.
    """
    change_points = _by_cell(timeline, plot_width)
    last = timeline.change_point_at(timeline.until if at is None else at)
    label = _label("epoch", text.exact(last.epoch)) if last and last.epoch is not None else _label("changes", "")
    marks = [(text.marks().bar if change_points.get(cell) else " ", ACCENT) for cell in range(plot_width)]
    return StackedPlot([label], [_join_marks(marks)])


def _by_cell(timeline: GroupTimeline, plot_width: int) -> dict[int, list[ChangePoint]]:
    found: dict[int, list[ChangePoint]] = {}
    for change in timeline.changes:
        if change.before is not None or change.now.gap:
            cell = _column(timeline, change.at, plot_width)
            if cell is not None:
                found.setdefault(cell, []).append(change.now)
    return found


def _join_marks(marks: Sequence[tuple[str, str]]) -> PaneLine:
    return tuple(
        Cell(SafeText("".join(mark for mark, _ in run)), role) for role, run in groupby(marks, key=lambda mark: mark[1])
    )


def _column(timeline: GroupTimeline, at: float, plot_width: int) -> int | None:
    if not timeline.since <= at <= timeline.until:
        return None
    return min(int((at - timeline.since) / max(timeline.until - timeline.since, 1e-9) * plot_width), plot_width - 1)


def _draw_stroke(line: PaneLine, column: int) -> PaneLine:
    stroke = "|" if text.display_settings().ascii else "│"
    cells: list[Cell] = []
    left = 0
    for cell in line:
        offset = column - left
        left += len(cell.text)
        if 0 <= offset < len(cell.text) and cell.text[offset] in " \u2800":
            before, after = SafeText(cell.text[:offset]), SafeText(cell.text[offset + 1 :])
            cells += [Cell(before, cell.role), Cell(SafeText(stroke), MUTED), Cell(after, cell.role)]
        else:
            cells.append(cell)
    return tuple(cells)


def _clock(timeline: GroupTimeline, plot_width: int, column: int | None) -> PaneLine:
    span = timeline.until - timeline.since
    write: Callable[[float], str] = text.clock_minutes
    if span > _CLOCK_WITH_DATE:
        write = text.day_minutes
    elif span <= _CLOCK_WITH_SECONDS:
        write = text.clock
    size = len(write(timeline.since))
    line = [" "] * plot_width
    label_count = max(plot_width // (24 if span > _CLOCK_WITH_DATE else 20), 2)
    for number in range(label_count):
        part = number / (label_count - 1)
        start = min(max(round(part * plot_width - size / 2), 0), plot_width - size)
        if column is not None and start - 1 <= column <= start + size:
            # Leave out this label of the time axis, because the `^` at the marked time would overlap or touch it.
            continue
        line[start : start + size] = write(timeline.since + part * span)
    blank = Cell(SafeText(" " * (LABEL_WIDTH + 1)))
    if column is None:
        return blank, Cell(SafeText("".join(line)), MUTED)
    before, after = "".join(line[:column]), "".join(line[column + 1 :])
    return blank, Cell(SafeText(before), MUTED), Cell(SafeText("^"), ACCENT), Cell(SafeText(after), MUTED)


Summary = Literal["largest", "mean", "last"]


def resample(timeline: GroupTimeline, values: Sequence[float], count: int, summary: Summary) -> list[float]:
    """Divide the timeline into `count` equal time spans, and return one value for each time span.

    A time span without samples normally gets the value of the previous sample. But if it is before the first sample,
    after the last sample, or in a gap of the recording (a period without data), it gets NaN.

    Args:
        values: samples, such as lags, one for each time in `timeline.times`. An unknown sample is NaN.
        summary: which value to return for a time span with several samples: the largest, the mean or the last.
    """
    buckets: list[list[float]] = [[] for _ in range(count)]
    scale = count / max(timeline.until - timeline.since, 1e-9)
    cells = [min(max(int((at - timeline.since) * scale), 0), count - 1) for at in timeline.times]
    before = -1
    for index, (cell, value) in enumerate(zip(cells, values, strict=False)):
        if index and cell > before + 1 and not _over_gap(timeline, timeline.times[index - 1], timeline.times[index]):
            for empty in range(before + 1, cell):
                buckets[empty].append(values[index - 1])
        buckets[cell].append(value)
        before = cell
    return [_summarize(bucket, summary) for bucket in buckets]


def _over_gap(timeline: GroupTimeline, earlier: float, later: float) -> bool:
    return any(start <= earlier and later <= end for start, end, _ in timeline.gaps)


def _summarize(bucket: list[float], summary: Summary) -> float:
    known = [value for value in bucket if not math.isnan(value)]
    if not known:
        return math.nan
    if summary == "mean":
        return sum(known) / len(known)
    return max(known) if summary == "largest" else known[-1]


def smooth(values: Sequence[float], cells: int) -> list[float]:
    """Return one moving average per value: the mean of the value and the `cells - 1` values before it.

    A NaN (unknown value) stays NaN, and is left out of the averages of later values.
    """
    if cells <= 1:
        return list(values)
    found = []
    for index, value in enumerate(values):
        known = [one for one in values[max(0, index + 1 - cells) : index + 1] if not math.isnan(one)]
        found.append(value if math.isnan(value) else sum(known) / len(known))
    return found
