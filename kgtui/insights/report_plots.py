"""Draw the plots of the report with matplotlib, as SVG elements.

The SVG has no script, link or `id`. Its colors are CSS variables, so that it fits light and dark mode.
"""

from __future__ import annotations

import io
import math
import re
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from kgtui.errors import LakeError
from kgtui.model.number_format import short
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kgtui.model.timeline import LagHistory

MAX_POINTS = 380
"""Approximate maximum number of points in a plotted line.

If a series has more points, it is split into intervals, and only the largest value of each interval is drawn.
"""

_WIDTH = 9.5
"""Width of a figure in inches. The page scales figures to the browser window."""

_BAR_HEIGHT = 0.22
"""Height of one row of the bar chart, in inches."""

_LABEL_MARGIN = 0.25
"""Width of the space for group ids at the left of the bar chart, as a fraction of the width of the figure."""

_SHORTEST_BAR = 0.003
"""Minimum length of a bar, as a fraction of the time axis, so that bars of short time spans are visible."""

# Placeholder colors, because matplotlib does not accept CSS variables as colors. `_to_markup` replaces them with CSS
# variables.
_LAG, _IN, _OUT, _ERROR, _WARN, _TEXT, _RULE = (f"#00000{digit}" for digit in range(1, 8))
_CSS_VARIABLES = {
    _LAG: "--one",
    _IN: "--two",
    _OUT: "--three",
    _ERROR: "--error",
    _WARN: "--warn",
    _TEXT: "--faint",
    _RULE: "--rule",
}
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "kgtui", "font.size": 8.0, "text.parse_math": False}

_TIMES = ["%Y", "%d %b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"]
_ROUND_TIMES = ["", "%d %b", "%d %b", "%d %b", "%H:%M", "%H:%M"]
"""Formats of time labels for matplotlib's `ConciseDateFormatter`.

The six formats are for labels of years, months, days, hours, minutes and seconds. `_ROUND_TIMES` is used for
labels at the start of a larger unit, such as midnight, which shows the date. `_TIMES` is used for all other labels.
"""

_SVG = "{http://www.w3.org/2000/svg}"
_DROPPED = {f"{_SVG}{tag}" for tag in ("metadata", "defs", "title")}
_KEPT_STYLES = ("fill", "stroke", "text-anchor")
"""Prefixes of the style properties that stay in the SVG.

All other properties, such as fonts, are removed, because the page sets them.
"""


class Bar(NamedTuple):
    """A time span in the bar chart.

    Attributes:
        since, until: start and end, in epoch seconds.
        is_error: whether the bar has the error color instead of the warning color.
        tooltip: text without control characters.
    """

    since: float
    until: float
    is_error: bool
    tooltip: str


def plot_lag_history(history: LagHistory, since: float, until: float, mark: float | None) -> str:
    """Plot the lag of a group and, below the lag, the records written and read per second. Return one SVG element.

    Args:
        since, until: start and end of the time axis, in epoch seconds.
        mark: time at which a vertical line is drawn, in epoch seconds; None for no line.
    """
    figure = _new_figure(2.6)
    lag, rates = figure.subplots(2, 1, sharex=True)
    for axes, title, lines in (
        (lag, "unread records", ((_LAG, history.lag),)),
        (rates, "records per second", ((_IN, history.rate_in), (_OUT, history.rate_out))),
    ):
        axes.set_title(title, loc="left", color=_TEXT, fontsize=8.0)
        for color, values in lines:
            _plot_line(axes, history.minutes, values, history.breaks, color)
        if mark is not None and since <= mark <= until:
            axes.axvline(utc_datetime(mark), color=_ERROR, linewidth=0.8, linestyle="--", clip_on=False)
        largest = max((value for _, values in lines for value in values if value is not None), default=0.0)
        axes.set_ylim(0.0, 1.05 * largest or 1.0)
        axes.yaxis.set_major_formatter(lambda value, _: short(value))
        axes.locator_params(axis="y", nbins=3)
    _set_time_axis(rates, since, until)
    figure.subplots_adjust(left=0.07, right=0.98, top=0.91, bottom=0.1, hspace=0.45)
    description = "plots of the unread records, and of the records that were written and read per second, over time"
    return _to_markup(figure, description)


def plot_episodes(rows: Sequence[tuple[str, Sequence[Bar]]], since: float, until: float) -> str:
    """Draw a bar chart of the times at which groups were unhealthy, and return an SVG element.

    Args:
        rows: `(label, bars)` of each group, from top to bottom. Labels must not contain control characters.
        since, until: start and end of the time axis, in epoch seconds.
    """
    height = _BAR_HEIGHT * len(rows) + 0.4
    figure = _new_figure(height)
    axes = figure.subplots()
    texts: dict[str, str] = {}
    for row, (label, bars) in enumerate(rows):
        texts[f"row {row}"] = label
        for number, bar in enumerate(bars):
            start = max(bar.since, since)
            width = max(min(bar.until, until) - start, _SHORTEST_BAR * (until - since))
            (drawn,) = axes.barh(
                row, width / 86_400, 0.6, utc_datetime(start), color=_ERROR if bar.is_error else _WARN, clip_on=False
            )
            drawn.set_gid(f"bar {row} {number}")
            texts[f"bar {row} {number}"] = bar.tooltip
    # matplotlib's fonts lack many characters of group ids. Therefore, matplotlib draws placeholders as labels, and
    # `_to_markup` replaces them with the group ids.
    axes.set_yticks(range(len(rows)), [f"row {row}" for row in range(len(rows))])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _set_time_axis(axes, since, until)
    figure.subplots_adjust(left=_LABEL_MARGIN, right=0.98, top=1 - 0.05 / height, bottom=0.3 / height)
    return _to_markup(figure, "bar chart of the times at which groups were unhealthy", texts)


def thin_out(
    times: Sequence[float], values: Sequence[float | None], breaks: Collection[float] = ()
) -> Iterator[tuple[float, float]]:
    """Reduce a line to about `MAX_POINTS` points: yield a pair (time, value) for the largest value of each interval.

    Where the line has a gap, yield a pair with the value NaN. There is a gap at each None in `values`, and before each
    time in `breaks`.
    """
    interval = math.ceil(len(times) / MAX_POINTS)
    peak: tuple[float, float] | None = None
    count = 0
    for at, value in zip(times, values, strict=True):
        if value is None or at in breaks:
            if peak is not None:
                yield peak
            peak, count = None, 0
            yield at, math.nan
        if value is None:
            continue
        peak = (at, value) if peak is None or value >= peak[1] else peak
        count += 1
        if count >= interval:
            yield peak
            peak, count = None, 0
    if peak is not None:
        yield peak


def _new_figure(height: float) -> Any:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise LakeError(
            f"the report needs {error.name}, which is not installed. Run: pip install 'kgtui[report]'"
        ) from error
    matplotlib.rcParams.update(_STYLE)
    return Figure(figsize=(_WIDTH, height))


def _plot_line(
    axes: Any, times: Sequence[float], values: Sequence[float | None], breaks: Collection[float], color: str
) -> None:
    points = list(thin_out(times, values, breaks))
    instants, numbers = [utc_datetime(at) for at, _ in points], [value for _, value in points]
    axes.plot(instants, numbers, color=color, linewidth=1.2, solid_joinstyle="round", clip_on=False)
    known = [not math.isnan(value) for value in (math.nan, *numbers, math.nan)]
    alone = [index for index in range(len(numbers)) if known[index : index + 3] == [False, True, False]]
    # A line with only one point would be invisible, so a vertical line is drawn at this point instead.
    if alone:
        axes.vlines([instants[i] for i in alone], 0, [numbers[i] for i in alone], color=color, linewidth=1.2)


def _set_time_axis(axes: Any, since: float, until: float) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(tz=UTC, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        ConciseDateFormatter(locator, tz=UTC, formats=_TIMES, zero_formats=_ROUND_TIMES, show_offset=False)
    )
    axes.set_xlim(utc_datetime(since), utc_datetime(max(until, since + 1.0)))
    for each in axes.figure.axes:
        each.grid(color=_RULE, linewidth=0.6, clip_on=False)
        each.set_axisbelow(True)
        each.tick_params(bottom=False, left=False, labelcolor=_TEXT)
        for spine in each.spines.values():
            spine.set_visible(False)


def _to_markup(figure: Any, description: str, texts: Mapping[str, str] | None = None) -> str:
    """Render a figure as an SVG element.

    Args:
        description: text for screen readers.
        texts: dict with two kinds of entries: placeholder label in the figure → text that replaces the label; id of a
            shape in the figure → tooltip of the shape.
    """
    texts = texts or {}
    file = io.BytesIO()
    figure.savefig(file, format="svg", transparent=True)
    root = ElementTree.fromstring(file.getvalue())  # noqa: S314 - written by matplotlib just now
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        tooltip = texts.get(element.get("id", ""))
        if tooltip is not None:
            ElementTree.SubElement(element, "title").text = tooltip
        element.text = texts.get(element.text or "", element.text)
        element.tag = element.tag.removeprefix(_SVG)
        style = [part.strip() for part in element.get("style", "").split(";")]
        kept = "; ".join(part for part in style if part.startswith(_KEPT_STYLES))
        element.attrib = {name: value for name, value in element.items() if name in ("d", "x", "y", "transform")}
        if kept:
            element.set("style", re.sub("#00000[1-7]", lambda color: f"var({_CSS_VARIABLES[color[0]]})", kept))
    width, tall = (72 * inches for inches in figure.get_size_inches())
    root.attrib = {"viewBox": f"0 0 {width:g} {tall:g}", "role": "img", "aria-label": description}
    return ElementTree.tostring(root, encoding="unicode")
