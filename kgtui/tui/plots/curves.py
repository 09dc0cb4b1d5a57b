"""Draw curves with textual-plotext, without axes or colors."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kgtui.tui import text
from kgtui.tui.textual_compat.plot_size import unlimited_plot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VALUES_PER_CELL = 2
"""Number of values of a curve per terminal cell: 2, because a braille character has two columns of dots."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@cache
def available() -> bool:
    """Return whether textual-plotext is installed, without importing it."""
    return find_spec("textual_plotext") is not None


def curve_rows(curves: Sequence[Sequence[float]], width: int, rows: int, top: float) -> list[str]:
    """Draw one or two curves, and return the lines from top to bottom.

    Args:
        curves: values of each curve, `VALUES_PER_CELL` per terminal cell. A NaN is drawn as a gap in the curve.
        width: width of a line in terminal cells.
        rows: number of lines.
        top: value at the upper edge of the plot. The value at the lower edge is 0.
    """
    first, second = ("*", "+") if text.display_settings().ascii else ("braille", "•")
    plot = unlimited_plot(width, rows)
    plot.theme("clear")
    plot.xlim(0, max(len(curves[0]) - 1, 1))
    plot.ylim(0, top or 1)
    plot.xaxes(False, False)
    plot.yaxes(False, False)
    plot.xticks([])
    plot.yticks([])
    for values, marker in zip(curves, (first, second), strict=False):
        for start, stretch in _known_stretches(values):
            plot.plot(list(range(start, start + len(stretch))), stretch, marker=marker)
    drawn = _ESCAPES.sub("", plot.build()).splitlines()
    return [line.rstrip("\n").ljust(width)[:width] for line in (*drawn, *[""] * rows)][:rows]


def is_second(character: str) -> bool:
    """Return whether a character in the result of `curve_rows` belongs to the second curve."""
    return character in "•+"


def _known_stretches(values: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
    """Split the values at each NaN (unknown value). For each part, yield (index of its first value, its values)."""
    stretch: list[float] = []
    for index, value in enumerate((*values, math.nan)):
        if not math.isnan(value):
            stretch.append(value)
        elif stretch:
            yield index - len(stretch), stretch
            stretch = []
