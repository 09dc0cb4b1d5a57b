"""Plots as inline SVG: lines over time, with gaps where nothing is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kgtui.insights.report_html import element, text
from kgtui.model.amounts import short

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

WIDTH, HEIGHT = 760, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 22, 8, 22
_MOST_POINTS = 380
"""Points of a line: one every two units; of more, the largest of each stretch is drawn."""

_STEPS = (60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_MOST_TIMES = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot.

    Attributes:
        title: of the legend.
        style: CSS class: its colour.
        values: None where nothing is known.
    """

    title: str
    style: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """What a plot covers, in seconds since the epoch."""

    since: float
    until: float

    def x(self, at: float) -> float:
        """Where a time is drawn."""
        span = max(self.until - self.since, 1.0)
        return _LEFT + (at - self.since) / span * (WIDTH - _LEFT - _RIGHT)

    def times(self) -> list[float]:
        """Round times to write below, in UTC."""
        span = max(self.until - self.since, 1.0)
        step = next((step for step in _STEPS if span / step <= _MOST_TIMES), _STEPS[-1])
        step *= max(1, math.ceil(span / step / _MOST_TIMES))
        first = math.ceil(self.since / step) * step
        return [float(first + index * step) for index in range(int((self.until - first) // step) + 1)]


def plot(
    title: str, axis: Axis, times: Sequence[float], lines: Sequence[Line],
    *, breaks: Collection[float] = (), mark: float | None = None,
) -> str:  # fmt: skip
    """Lines over time.

    Args:
        title: what is drawn, for those who cannot see it.
        times: of the values, growing, in seconds since the epoch.
        breaks: times that no line leads to.
        mark: a time to point out.
    """
    most = max((value for line in lines for value in line.values if value is not None), default=0.0)
    top = round_up(most)
    parts = [_frame(axis), *_levels(top)]
    if mark is not None and axis.since <= mark <= axis.until:
        x = axis.x(mark)
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>')
    for line in lines:
        points = list(thinned(times, line.values, breaks))
        for stretch in stretches(points):
            told = " ".join(f"{axis.x(at):.1f},{_y(value, top):.1f}" for at, value in stretch)
            if len(stretch) == 1:
                left, down = told.split(",")
                parts.append(f'<circle class="dot {line.style}" cx="{left}" cy="{down}" r="1.5"/>')
            else:
                parts.append(f'<polyline class="{line.style}" points="{told}"/>')
    legend = " ".join(f'<span class="key {line.style}">{text(line.title)}</span>' for line in lines)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    drawn = f'<svg {box} aria-label="{text(title)}">\n' + "\n".join(parts) + "\n</svg>"
    return element("figure", f"<figcaption>{text(title)} {legend}</figcaption>{drawn}")


def bars(title: str, axis: Axis, rows: Sequence[tuple[str, Sequence[tuple[float, float, str, str]]]]) -> str:
    """When something lasted from when to when: a line for each name with its spans.

    Args:
        rows: name, as HTML that is safe in SVG text, and spans of since, until, CSS class and what they are.
    """
    line, top = 18, _TOP
    height = top + line * len(rows) + _BOTTOM
    room = 190
    scale = (WIDTH - room - _RIGHT) / max(axis.until - axis.since, 1.0)
    parts = []
    for at in axis.times():
        x = room + (at - axis.since) * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - _BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{time_label(at, axis)}</text>')
    for index, (name, spans) in enumerate(rows):
        y = top + index * line
        parts.append(f'<text x="{room - 8}" y="{y + 13}" text-anchor="end">{name}</text>')
        for since, until, style, what in spans:
            begin = room + max(since - axis.since, 0.0) * scale
            width = max((min(until, axis.until) - max(since, axis.since)) * scale, 2.0)
            shape = f'<rect class="span {style}" x="{begin:.1f}" y="{y + 3}" width="{width:.1f}" height="{line - 6}">'
            parts.append(f"{shape}<title>{text(what)}</title></rect>")
    box = f'viewBox="0 0 {WIDTH} {height}" role="img"'
    return element("figure", f'<svg {box} aria-label="{text(title)}">\n' + "\n".join(parts) + "\n</svg>")


def thinned(
    times: Sequence[float], values: Sequence[float | None], breaks: Collection[float]
) -> Iterator[tuple[float, float | None]]:
    """The points of a line, not more than are seen; a None ends a stretch."""
    many = math.ceil(len(times) / _MOST_POINTS)
    best: tuple[float, float] | None = None
    held = 0
    for at, value in zip(times, values, strict=True):
        if value is None or at in breaks:
            if best is not None:
                yield best
            best, held = None, 0
            yield at, None
        if value is None:
            continue
        best = (at, value) if best is None or value >= best[1] else best
        held += 1
        if held >= many:
            yield best
            best, held = None, 0
    if best is not None:
        yield best


def stretches(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """Points that are to be connected."""
    found: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is None:
            found.append([])
        else:
            found[-1].append((at, value))
    return [stretch for stretch in found if stretch]


def round_up(most: float) -> float:
    """A round number that is not below."""
    if most <= 0:
        return 1.0
    size: float = 10.0 ** math.floor(math.log10(most))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= most * 0.9999)


def time_label(at: float, axis: Axis) -> str:
    """A time below a plot: the day where many are covered, else the hour."""
    moment = datetime.fromtimestamp(at, UTC)
    if axis.until - axis.since > 5 * 86_400 or (moment.hour == 0 and moment.minute == 0):
        return f"{moment:%d %b}"
    return f"{moment:%H:%M}"


def _y(value: float, top: float) -> float:
    return HEIGHT - _BOTTOM - value / top * (HEIGHT - _TOP - _BOTTOM)


def _levels(top: float) -> Iterator[str]:
    for part in (0.0, 0.5, 1.0):
        y = _y(top * part, top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(top * part)}</text>'


def _frame(axis: Axis) -> str:
    labels = []
    for at in axis.times():
        x = axis.x(at)
        labels.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>')
        labels.append(f'<text x="{x:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{time_label(at, axis)}</text>')
    return "\n".join(labels)
