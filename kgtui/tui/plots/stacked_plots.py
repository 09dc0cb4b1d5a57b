"""All that is plotted of a group, one above the other over the same time: lag, rates, members, states, changes."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from kgtui.model.group_types import REBALANCING, STABLE
from kgtui.model.timeline import largest
from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, MUTED, OK, Cell, PaneLine, SafeText
from kgtui.tui.plots import curves
from kgtui.tui.plots.curves import spark_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.series import ChangePoint
    from kgtui.model.timeline import GroupTimeline

LABEL = 12
"""Cells on the left of every lane: its name, and the value at the end of the interval."""

MIN_LINES = 7
"""Lines that the plots take at least."""

_SHORT = 900.0
"""Seconds of an interval up to which its clock shows seconds."""

_LONG = 86_400.0
"""Seconds of an interval beyond which its clock shows the day."""


_CALM = 10.0
"""Seconds over which rates are averaged at least."""


class StackedPlot(NamedTuple):
    """One plot: the words on its left, a line each, and its rows as cells."""

    words: list[PaneLine]
    rows: list[PaneLine]


def plot_lines(
    past: GroupTimeline,
    width: int,
    height: int,
    *,
    drawn: bool,
    at: float | None = None,
    since: float | None = None,
    states: bool = True,
) -> list[PaneLine]:
    """Plots of so many cells and lines.

    Args:
        drawn: as curves (`curves.available`); otherwise as sparks.
        at: the moment that is shown: its values stand beside the plots, and it is marked.
        since: a moment to mark while the values are those of the end.
        states: with lanes of states and of changes.
    """
    room = max(width - LABEL - 1, 10)
    free = max(height, MIN_LINES) - (4 if states else 2)  # each of the lanes below and the clock take a line
    lanes = _curves(past, room, free, at) if drawn else _sparks(past, room, free, at)
    lanes += [_members(past, room, at), *([_states(past, room), _changes(past, room, at)] if states else [])]
    lines = [line for lane in lanes for line in _beside(lane)]
    mark = since if at is None else at
    column = None if mark is None else _column(past, mark, room)
    if column is not None:
        lines = [_marked(line, LABEL + 1 + column) for line in lines]
    return [*lines, _clock(past, room, column)]


def _beside(lane: StackedPlot) -> list[PaneLine]:
    blank = (Cell(SafeText(" " * LABEL)),)
    words = [*lane.words, *[blank] * len(lane.rows)][: len(lane.rows)]
    if len(words) > len(lane.words):
        words[-1] = (Cell(SafeText("0".rjust(LABEL)), MUTED),)
    return [(*left, Cell(SafeText(" ")), *row) for left, row in zip(words, lane.rows, strict=False)]


def _label(name: str, value: str, role: str = ACCENT) -> PaneLine:
    room = LABEL - len(name) - 1
    return Cell(SafeText(f"{name} "), MUTED), Cell(SafeText(text.pad(value, room, right=True)), role)


def rate(value: float | None) -> str:
    """`0/s`, `4.2/s`, `1.2k/s`; `?` for what is not known."""
    if value is None:
        return text.marks().unknown
    return f"{value:.1f}/s" if 0 < value < 10 else f"{text.short(round(value))}/s"


def _count(value: float | None) -> str:
    return text.marks().unknown if value is None else text.short(round(value))


# -- lag and rates ---------------------------------------------------------------------------------------------------


def _words(past: GroupTimeline, at: float | None) -> tuple[list[PaneLine], list[PaneLine], list[PaneLine]]:
    """What stands beside lag, written, read."""
    lag = [_label("lag", _count(past.value_at(past.lag, at))), _label("max", _count(largest(past.lag)), MUTED)]
    written, read = ([_label(name, rate(past.mean_at(values, _CALM, at)), role)] for name, values, role in _flows(past))
    return lag, written, read


def _drawn_flows(past: GroupTimeline, cells: int) -> list[list[float]]:
    """Rates to draw: clients commit every few seconds, and polls in between would draw a comb."""
    calm = math.ceil(_CALM * cells / max(past.until - past.since, 1e-9))
    return [smooth(resample(past, values, cells, "mean"), calm) for _, values, _ in _flows(past)]


def _flows(past: GroupTimeline) -> tuple[tuple[str, Sequence[float], str], ...]:
    return ("in", past.written, ACCENT), ("out", past.read, OK)


def _curves(past: GroupTimeline, room: int, free: int, at: float | None) -> list[StackedPlot]:
    high = max(free - free * 2 // 5, 1)
    lag, written, read = _words(past, at)
    fine = room * curves.FINE
    rows = curves.curve_rows([resample(past, past.lag, fine, "largest")], room, high, largest(past.lag) or 0.0)
    flows = _drawn_flows(past, fine)
    top = max((largest(flow) or 0.0 for flow in flows), default=0.0)
    both = curves.curve_rows(flows, room, free - high, top)
    words = [*written, *read, _label("max", rate(top), MUTED)]
    return [StackedPlot(lag, [_inked(row) for row in rows]), StackedPlot(words, [_inked(row) for row in both])]


def _inked(row: str) -> PaneLine:
    """A row of two curves in their colours."""
    return tuple(
        Cell(SafeText("".join(run)), OK if second else ACCENT) for second, run in groupby(row, key=curves.is_second)
    )


def _sparks(past: GroupTimeline, room: int, free: int, at: float | None) -> list[StackedPlot]:
    low = min(max(free * 3 // 10, 1), 3)
    high = max(free - 2 * low, 1)
    lag, *words = _words(past, at)
    rows = spark_rows(resample(past, past.lag, room, "largest"), high, largest(past.lag) or 0.0)
    lanes = [StackedPlot(lag, [(Cell(SafeText(row), ACCENT),) for row in rows])]
    flows = _drawn_flows(past, room)
    top = max((largest(flow) or 0.0 for flow in flows), default=0.0)  # one scale, so that the two can be compared
    for told, flow, (_, _, role) in zip(words, flows, _flows(past), strict=True):
        lanes.append(StackedPlot(told, [(Cell(SafeText(row), role),) for row in spark_rows(flow, low, top)]))
    return lanes


def _members(past: GroupTimeline, room: int, at: float | None) -> StackedPlot:
    values = resample(past, past.members, room, "last")
    rows = spark_rows(values, 1, largest(past.members) or 0.0)
    return StackedPlot(
        [_label("members", _count(past.value_at(past.members, at)))], [(Cell(SafeText(row), MUTED),) for row in rows]
    )


# -- states and changes ----------------------------------------------------------------------------------------------


def _states(past: GroupTimeline, room: int) -> StackedPlot:
    """A mark for each cell: of a cell in which the group rebalanced that one."""
    seen = _by_cell(past, room)
    marks: list[tuple[str, str]] = []
    for cell in range(room):
        at = past.since + (cell + 1) * (past.until - past.since) / room
        states = [point.state for point in seen.get(cell, ()) if point.listed]
        point = past.change_point_at(at)
        if point is not None and point.listed:
            states.append(point.state)
        marks.append(_mark(states))
    return StackedPlot([_label("state", "")], [_runs(marks)])


def _mark(states: Sequence[str | None]) -> tuple[str, str]:
    if not states:
        return " ", ""
    odd = [state for state in states if state != STABLE]
    busy = [state for state in odd if state in REBALANCING]
    state = (busy or odd or list(states))[0]
    # A line of ticks would be hard to look at.
    return text.marks().rule if state == STABLE else text.state_mark(state), text.state_role(state)


def _changes(past: GroupTimeline, room: int, at: float | None) -> StackedPlot:
    """A mark where members came or went, the epoch went on, or partitions moved."""
    seen = _by_cell(past, room)
    last = past.change_point_at(past.until if at is None else at)
    told = _label("epoch", text.exact(last.epoch)) if last and last.epoch is not None else _label("changes", "")
    marks = [(text.marks().bar if seen.get(cell) else " ", ACCENT) for cell in range(room)]
    return StackedPlot([told], [_runs(marks)])


def _by_cell(past: GroupTimeline, room: int) -> dict[int, list[ChangePoint]]:
    found: dict[int, list[ChangePoint]] = {}
    for change in past.changes:
        if change.before is not None or change.now.gap:
            cell = _column(past, change.at, room)
            if cell is not None:
                found.setdefault(cell, []).append(change.now)
    return found


def _runs(marks: Sequence[tuple[str, str]]) -> PaneLine:
    return tuple(
        Cell(SafeText("".join(mark for mark, _ in run)), role) for role, run in groupby(marks, key=lambda mark: mark[1])
    )


# -- time ------------------------------------------------------------------------------------------------------------


def _column(past: GroupTimeline, at: float, room: int) -> int | None:
    """The cell of a moment; None outside of the interval."""
    if not past.since <= at <= past.until:
        return None
    return min(int((at - past.since) / max(past.until - past.since, 1e-9) * room), room - 1)


def _marked(line: PaneLine, column: int) -> PaneLine:
    """A line with a stroke at a cell, where nothing is drawn there."""
    stroke = "|" if text.display_settings().ascii else "│"
    cells: list[Cell] = []
    left = 0
    for cell in line:
        place = column - left
        left += len(cell.text)
        if 0 <= place < len(cell.text) and cell.text[place] in " \u2800":
            before, after = SafeText(cell.text[:place]), SafeText(cell.text[place + 1 :])
            cells += [Cell(before, cell.role), Cell(SafeText(stroke), MUTED), Cell(after, cell.role)]
        else:
            cells.append(cell)
    return tuple(cells)


def _clock(past: GroupTimeline, room: int, column: int | None) -> PaneLine:
    """Times below the plots, and where the marked moment is."""
    long = past.until - past.since > _LONG
    size = 11 if long else 8 if past.until - past.since <= _SHORT else 5
    line = [" "] * room
    labels = max(room // (24 if long else 20), 2)
    for number in range(labels):
        part = number / (labels - 1)
        moment = past.since + part * (past.until - past.since)
        words = (text.date(moment)[5:] if long else text.clock(moment))[:size]
        start = min(max(round(part * room - size / 2), 0), room - size)
        line[start : start + size] = words
    blank = Cell(SafeText(" " * (LABEL + 1)))
    if column is None:
        return blank, Cell(SafeText("".join(line)), MUTED)
    before, after = "".join(line[:column]), "".join(line[column + 1 :])
    return blank, Cell(SafeText(before), MUTED), Cell(SafeText("^"), ACCENT), Cell(SafeText(after), MUTED)


Summary = Literal["largest", "mean", "last"]


def resample(past: GroupTimeline, values: Sequence[float], count: int, summary: Summary) -> list[float]:
    """`count` values over the whole interval, NaN where nothing is known.

    A value holds until the next sample, but not over a gap and not beyond the last one.
    """
    buckets: list[list[float]] = [[] for _ in range(count)]
    scale = count / max(past.until - past.since, 1e-9)
    places = [min(max(int((at - past.since) * scale), 0), count - 1) for at in past.times]
    before = -1
    for index, (place, value) in enumerate(zip(places, values, strict=False)):
        if index and place > before + 1 and not _over_gap(past, past.times[index - 1], past.times[index]):
            for empty in range(before + 1, place):
                buckets[empty].append(values[index - 1])
        buckets[place].append(value)
        before = place
    return [_one(bucket, summary) for bucket in buckets]


def _over_gap(past: GroupTimeline, earlier: float, later: float) -> bool:
    return any(start <= earlier and later <= end for start, end, _ in past.gaps)


def _one(bucket: list[float], summary: Summary) -> float:
    known = [value for value in bucket if not math.isnan(value)]
    if not known:
        return math.nan
    if summary == "mean":
        return sum(known) / len(known)
    return max(known) if summary == "largest" else known[-1]


def smooth(values: Sequence[float], cells: int) -> list[float]:
    """The mean of so many known values up to each; what is not known stays so."""
    if cells <= 1:
        return list(values)
    found = []
    for index, value in enumerate(values):
        known = [one for one in values[max(0, index + 1 - cells) : index + 1] if not math.isnan(one)]
        found.append(value if math.isnan(value) else sum(known) / len(known))
    return found
