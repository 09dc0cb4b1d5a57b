"""Curves through textual-plotext, as plain characters: axes, labels and colours are ours, for every theme alike."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FINE = 2
"""Values to a cell: a cell of braille is two dots wide."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@cache
def available() -> bool:
    """Whether textual-plotext is installed; nothing is loaded to find out."""
    return find_spec("textual_plotext") is not None


def curve_rows(curves: Sequence[Sequence[float]], width: int, rows: int, top: float) -> list[str]:
    """Lines from top to bottom with up to two curves; the second is drawn in another character (`is_second`).

    Args:
        curves: each of `FINE` values a cell; NaN interrupts it.
        top: the value at the upper edge; the lower is 0.
    """
    from textual_plotext.plot import Plot

    first, second = ("*", "+") if text.display_settings().ascii else ("braille", "•")
    plot = Plot()
    # Not cut to what plotext takes for the terminal, which may be narrower than the screen.
    plot._limit_size(False, False)  # type: ignore[attr-defined]
    plot.theme("clear")
    plot.plotsize(width, rows)
    plot.xlim(0, max(len(curves[0]) - 1, 1))
    plot.ylim(0, top or 1)
    plot.xaxes(False, False)
    plot.yaxes(False, False)
    plot.xticks([])
    plot.yticks([])
    for values, marker in zip(curves, (first, second), strict=False):
        for start, stretch in _stretches(values):
            plot.plot(list(range(start, start + len(stretch))), stretch, marker=marker)
    drawn = _ESCAPES.sub("", plot.build()).splitlines()
    return [line.rstrip("\n").ljust(width)[:width] for line in (*drawn, *[""] * rows)][:rows]


def is_second(character: str) -> bool:
    """Whether a character of `curve_rows` belongs to the second curve."""
    return character in "•+"


def _stretches(values: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
    """What is known without interruption, with where it begins."""
    stretch: list[float] = []
    for index, value in enumerate((*values, math.nan)):
        if not math.isnan(value):
            stretch.append(value)
        elif stretch:
            yield index - len(stretch), stretch
            stretch = []


BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " _.:-=+*#"


def spark_rows(values: Sequence[float], rows: int, top: float) -> list[str]:
    """Lines from top to bottom. Zero is the lowest bar, and what is not known is blank.

    Args:
        top: the value of a bar as high as all rows.
    """
    ramp = ASCII if text.display_settings().ascii else BLOCKS
    steps = len(ramp) - 1
    heights = [0 if math.isnan(value) else max(1, round(value / (top or 1) * rows * steps)) for value in values]
    return [
        "".join(ramp[min(max(height - row * steps, 0), steps)] for height in heights) for row in reversed(range(rows))
    ]
