"""Plots of any size with plotext 5.3.2, which limits plots to the size of the terminal as it measures it.

plotext may measure a terminal that is narrower than the screen. It can lift the limit of its global figure only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual_plotext.plot import Plot


def unlimited_plot(width: int, height: int) -> Plot:
    """Create a plot of this size, in terminal cells, whatever the size of the terminal is."""
    from textual_plotext.plot import Plot

    plot = Plot()
    plot._limit_size(False, False)  # type: ignore[attr-defined]
    plot.plotsize(width, height)
    return plot
